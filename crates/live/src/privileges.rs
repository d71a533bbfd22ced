//! Drops the privileges that forwarding does not need, after setup, and reads back the rest.
//!
//! Packet sockets, rings and programs that are open go on working without any privilege. The order of a start is:
//! everything that needs a privilege, then [`drop`], then the first thread. Threads started later lack the privileges
//! that a thread drops. Running threads keep them, which [`drop`] detects and refuses.

use std::fs;
use std::io;

use serde::Serialize;
use thiserror::Error;

pub use crate::sys::identity::CapabilitySet;
pub use crate::sys::seccomp::Otherwise;
use crate::sys::{identity, seccomp};

/// The user and group `nobody`, which replace root.
pub const NOBODY: u32 = 65534;

/// Why privileges could not be dropped.
#[derive(Debug, Error)]
pub enum PrivilegeError {
    /// A call of the kernel failed.
    #[error("cannot {what}: {source}")]
    Refused {
        /// The failed step.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// All steps succeeded, but privileges remain.
    #[error("after dropping all privileges, {what}: start no thread before")]
    Left {
        /// The remaining privileges.
        what: String,
    },
}

/// Leaves this process `kept` and nothing else: no other capability, none for a program that it might run, a user
/// without rights, and only the system calls that forwarding needs.
///
/// # Errors
/// The kernel refuses a step, or another thread kept something.
pub fn drop(kept: CapabilitySet, otherwise: Otherwise) -> Result<(), PrivilegeError> {
    let refused = |what| move |source| PrivilegeError::Refused { what, source };
    let has = identity::effective().map_err(refused("read the capabilities"))?;
    // Without CAP_SETPCAP the bounding set stays; no new privileges, below, makes it meaningless.
    if has.contains(CapabilitySet::SETPCAP) {
        identity::empty_bounding_set().map_err(refused("empty the bounding set"))?;
    }
    if identity::geteuid().is_root() {
        identity::become_user(NOBODY).map_err(refused("switch to the user `nobody`"))?;
    }
    identity::keep_only(kept).map_err(refused("give up the capabilities"))?;
    identity::no_new_privileges().map_err(refused("forbid new privileges"))?;
    seccomp::install(otherwise).map_err(refused("install the filter of system calls"))?;
    let left = read_back().map_err(refused("read /proc/self/task"))?;
    let complaint = left.complaint(kept);
    complaint.map_or(Ok(()), |what| Err(PrivilegeError::Left { what }))
}

/// The privileges of this process, over all its threads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InForce {
    /// The users that its threads are.
    pub users: Vec<u32>,
    /// Capabilities that some thread has or can have, as bits.
    pub capabilities: u64,
    /// No thread can get new privileges.
    pub no_new_privileges: bool,
    /// All threads have a filter of system calls.
    pub filtered: bool,
    pub threads: usize,
}

impl InForce {
    fn complaint(&self, kept: CapabilitySet) -> Option<String> {
        let too_many = self.capabilities & !kept.bits();
        if self.users.contains(&0) {
            Some("a thread is root".into())
        } else if too_many != 0 {
            Some(format!("a thread has the capabilities {too_many:#x}"))
        } else if !self.no_new_privileges {
            Some("a thread can regain privileges".into())
        } else if !self.filtered {
            Some("a thread has no filter of system calls".into())
        } else {
            None
        }
    }
}

/// Reads back what is really in force, from the kernel's own account of each thread.
///
/// # Errors
/// `/proc` is not mounted.
pub fn read_back() -> io::Result<InForce> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(entry?.path().join("status")) else { continue };
        threads.push(text);
    }
    Ok(in_force(&threads))
}

fn in_force(threads: &[String]) -> InForce {
    let mut found =
        InForce { users: Vec::new(), capabilities: 0, no_new_privileges: true, filtered: true, threads: threads.len() };
    for text in threads {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map_or("", str::trim)
        };
        let bits = |name: &str| u64::from_str_radix(field(name), 16).unwrap_or(u64::MAX);
        found.users.extend(field("Uid").split_whitespace().map(|user| user.parse().unwrap_or(0)));
        found.capabilities |= bits("CapPrm") | bits("CapEff") | bits("CapInh") | bits("CapAmb");
        found.no_new_privileges &= field("NoNewPrivs") == "1";
        found.filtered &= field("Seccomp") == "2";
    }
    found.users.sort_unstable();
    found.users.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "Name:\tx\nUid:\t65534\t65534\t65534\t65534\nCapInh:\t0000000000000000\n\
        CapPrm:\t0000000000001000\nCapEff:\t0000000000001000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n\
        Seccomp_filters:\t1\n";

    #[test]
    fn what_was_dropped_everywhere_leaves_no_complaint() {
        let found = in_force(&[CLEAN.into(), CLEAN.into()]);
        assert_eq!((found.users.as_slice(), found.capabilities, found.threads), (&[NOBODY][..], 1 << 12, 2));
        assert_eq!(found.complaint(CapabilitySet::NET_ADMIN), None);
        assert!(found.complaint(CapabilitySet::empty()).is_some());
    }

    #[test]
    fn one_thread_that_kept_something_is_seen() {
        let kept = CapabilitySet::NET_ADMIN;
        for (from, to) in [
            ("65534\t65534\n", "65534\t0\n"),
            ("CapPrm:\t0000000000001000", "CapPrm:\t0000000000003000"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("CapEff:\t0000000000001000", "CapEff:\tnonsense"),
        ] {
            let other = CLEAN.replace(from, to);
            assert_ne!(other, CLEAN);
            assert!(in_force(&[CLEAN.into(), other]).complaint(kept).is_some(), "{to}");
        }
    }
}
