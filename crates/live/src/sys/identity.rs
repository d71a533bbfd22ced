//! The identity and privileges of this process: capabilities, user and group, no new privileges.
//!
//! Capabilities belong to a thread. Threads that are started later lack the privileges dropped here; those that run
//! already keep them.

#![allow(unsafe_code, reason = "rustix sets the user and group of one thread, the C library those of all threads")]

use std::io;

use rustix::io::Errno;
pub use rustix::process::geteuid;
pub use rustix::thread::CapabilitySet;
use rustix::thread::{self, CapabilitySets};

use super::checked;

/// The privileges of this thread.
///
/// # Errors
/// None that is known.
pub fn effective() -> io::Result<CapabilitySet> {
    Ok(thread::capabilities(None)?.effective)
}

/// Leaves this thread these capabilities and no others, and gives none of them on to a program that it runs.
///
/// # Errors
/// It does not have them.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(thread::set_capabilities(None, sets)?)
}

/// Empties the bounding and the ambient set: no program that this thread runs gets a capability.
///
/// # Errors
/// It lacks `CAP_SETPCAP`.
pub fn empty_bounding_set() -> io::Result<()> {
    thread::clear_ambient_capability_set()?;
    for bit in 0..u64::BITS {
        match thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            // Beyond the last one of this kernel.
            Err(Errno::INVAL) => break,
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
    Ok(thread::set_no_new_privs(true)?)
}

/// Becomes this user and group, with all threads, and keeps this thread's permitted capabilities.
///
/// # Errors
/// It lacks `CAP_SETUID` or `CAP_SETGID`.
pub fn become_user(id: u32) -> io::Result<()> {
    thread::set_keep_capabilities(true)?;
    // SAFETY: a list of no groups, for which the pointer is not read.
    checked(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    // SAFETY: three numbers.
    checked(unsafe { libc::setresgid(id, id, id) })?;
    // SAFETY: three numbers.
    checked(unsafe { libc::setresuid(id, id, id) })?;
    Ok(thread::set_keep_capabilities(false)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_agree_with_the_text_of_the_kernel() {
        let text = std::fs::read_to_string("/proc/thread-self/status").expect("/proc is mounted");
        let line = text.lines().find_map(|line| line.strip_prefix("CapEff:")).expect("the line is there");
        let bits = u64::from_str_radix(line.trim(), 16).expect("a number");
        assert_eq!(effective().expect("an answer").bits(), bits);
    }
}
