//! The identity and privileges of this process: capabilities, user and group, no new privileges.
//!
//! Capabilities belong to a thread. Threads that are started later lack the privileges dropped here; those that run
//! already keep them.

#![allow(unsafe_code, reason = "capget(2), capset(2) and prctl(2) have no wrapper in std")]

use std::fmt;
use std::io;

/// The privileges of a process beyond its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Capability {
    /// Become another group.
    Setgid = 6,
    /// Become another user.
    Setuid = 7,
    /// Make its bounding set smaller.
    Setpcap = 8,
    /// Change interfaces.
    NetAdmin = 12,
    /// Open packet sockets.
    NetRaw = 13,
    /// Keep memory from being swapped.
    IpcLock = 14,
    /// Do nearly everything.
    SysAdmin = 21,
    /// Run before others.
    SysNice = 23,
    /// Load programs into the kernel.
    Bpf = 39,
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Setgid => "CAP_SETGID",
            Self::Setuid => "CAP_SETUID",
            Self::Setpcap => "CAP_SETPCAP",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::Bpf => "CAP_BPF",
        })
    }
}

/// Some capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u64);

impl Capabilities {
    pub fn of(list: &[Capability]) -> Self {
        Self(list.iter().fold(0, |bits, capability| bits | 1 << *capability as u8))
    }

    /// Whether it is among them.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }
}

/// The version of capget(2) and capset(2) with 64 capabilities, in two halves.
const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    thread: libc::c_int,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The privileges of this thread.
///
/// # Errors
/// None that is known.
pub fn effective() -> io::Result<Capabilities> {
    let mut header = Header { version: VERSION_3, thread: 0 };
    let mut halves = [Half::default(); 2];
    // SAFETY: `header` and both `halves`, which this version fills, live through the call.
    let result = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr()) };
    done(result)?;
    Ok(Capabilities(u64::from(halves[1].effective) << 32 | u64::from(halves[0].effective)))
}

/// Leaves this thread these capabilities and no others, and gives none of them on to a program that it runs.
///
/// # Errors
/// It does not have them.
pub fn keep_only(kept: Capabilities) -> io::Result<()> {
    let mut header = Header { version: VERSION_3, thread: 0 };
    let [low, high] = [kept.0 & u64::from(u32::MAX), kept.0 >> 32].map(|half| u32::try_from(half).unwrap_or_default());
    let halves = [low, high].map(|bits| Half { effective: bits, permitted: bits, inheritable: 0 });
    // SAFETY: `header` and both `halves`, which this version reads, live through the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw mut header, halves.as_ptr()) };
    done(result)
}

/// Empties the bounding and the ambient set: no program that this thread runs gets a capability.
///
/// # Errors
/// It lacks `CAP_SETPCAP`.
pub fn empty_bounding_set() -> io::Result<()> {
    prctl(libc::PR_CAP_AMBIENT, [to_argument(libc::PR_CAP_AMBIENT_CLEAR_ALL), 0])?;
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, [capability, 0]) {
            // Beyond the last one of this kernel.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => break,
            other => other?,
        }
    }
    Ok(())
}

/// No program that this thread runs gets more than the thread has.
///
/// # Errors
/// None that is known.
pub fn no_new_privileges() -> io::Result<()> {
    prctl(libc::PR_SET_NO_NEW_PRIVS, [1, 0])
}

/// Becomes this user and group, with all threads, and keeps this thread's permitted capabilities.
///
/// # Errors
/// It lacks `CAP_SETUID` or `CAP_SETGID`.
pub fn become_user(id: u32) -> io::Result<()> {
    prctl(libc::PR_SET_KEEPCAPS, [1, 0])?;
    // SAFETY: a list of no groups, for which the pointer is not read.
    done(libc::c_long::from(unsafe { libc::setgroups(0, std::ptr::null()) }))?;
    // SAFETY: three numbers.
    done(libc::c_long::from(unsafe { libc::setresgid(id, id, id) }))?;
    // SAFETY: three numbers.
    done(libc::c_long::from(unsafe { libc::setresuid(id, id, id) }))?;
    prctl(libc::PR_SET_KEEPCAPS, [0, 0])
}

/// The user that this process is.
pub fn user() -> u32 {
    // SAFETY: it takes nothing and always returns.
    unsafe { libc::geteuid() }
}

fn to_argument(number: libc::c_int) -> libc::c_ulong {
    libc::c_ulong::try_from(number).unwrap_or_default()
}

/// The calls of prctl(2) above, which take numbers only.
fn prctl(option: libc::c_int, [second, third]: [libc::c_ulong; 2]) -> io::Result<()> {
    const UNUSED: libc::c_ulong = 0;
    // SAFETY: none of the options used in this file takes a pointer.
    done(libc::c_long::from(unsafe { libc::prctl(option, second, third, UNUSED, UNUSED) }))
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let set = Capabilities::of(&[Capability::NetRaw, Capability::Bpf]);
        assert_eq!(set.0, 1 << 13 | 1 << 39);
        assert!(set.has(Capability::Bpf) && !set.has(Capability::NetAdmin));
    }

    #[test]
    fn what_the_kernel_says_agrees_with_its_own_text() {
        let text = std::fs::read_to_string("/proc/thread-self/status").expect("/proc is mounted");
        let line = text.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("the line is there");
        let bits = u64::from_str_radix(line.trim(), 16).expect("a number");
        assert_eq!(effective().expect("an answer"), Capabilities(bits));
    }
}
