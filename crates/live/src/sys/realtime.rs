//! Scheduling: real-time priority, a processor of one's own, memory that is not swapped.

#![allow(unsafe_code, reason = "rustix has no call for a scheduling policy")]

use std::io;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The scheduling of a thread by the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Shares the core with other threads.
    Normal,
    /// `SCHED_FIFO`: before all that have a lower priority, 1 to 99.
    Fifo(u8),
}

/// Sets how this thread is scheduled. Threads that it starts later begin with the same.
///
/// A lower priority needs no privilege. So the first thread takes the highest one before it drops its privileges, and
/// each thread that it starts then lowers its own.
///
/// # Errors
/// The process lacks `CAP_SYS_NICE` and the priority is above the present one.
pub fn schedule(wanted: Schedule) -> io::Result<()> {
    let (policy, priority) = match wanted {
        Schedule::Normal => (libc::SCHED_OTHER, 0),
        Schedule::Fifo(priority) => (libc::SCHED_FIFO, libc::c_int::from(priority)),
    };
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameter` lives through the call; 0 is this thread.
    super::checked(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) })?;
    Ok(())
}

/// Pins this thread to a processor.
///
/// # Errors
/// There is no such processor, or the process may not use it.
pub fn pin(processor: usize) -> io::Result<()> {
    if processor >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut only = CpuSet::new();
    only.set(processor);
    Ok(sched_setaffinity(None, &only)?)
}

/// The processors that this thread may use.
///
/// # Errors
/// None that is known.
pub fn processors() -> io::Result<Vec<usize>> {
    let usable = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&processor| usable.is_set(processor)).collect())
}

/// Keeps in memory what this process has of it now. Not what it gets later: without `CAP_IPC_LOCK`, every new thread
/// would then count against `RLIMIT_MEMLOCK`, and fail.
///
/// # Errors
/// The process lacks `CAP_IPC_LOCK` and has more memory than `RLIMIT_MEMLOCK` allows.
pub fn lock_memory() -> io::Result<()> {
    Ok(mlockall(MlockAllFlags::CURRENT)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_pins_itself_where_it_may_and_nowhere_else() {
        std::thread::spawn(|| {
            let first = processors().expect("an answer")[0];
            pin(first).expect("it may use this one");
            assert_eq!(processors().expect("an answer"), [first]);
            assert_eq!(pin(1 << 20).expect_err("no such processor").kind(), io::ErrorKind::InvalidInput);
            assert!(pin(1023).is_err());
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn a_normal_thread_may_stay_normal() {
        schedule(Schedule::Normal).expect("allowed to all");
    }
}
