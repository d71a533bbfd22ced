//! Scheduling: real-time priority, a processor of one's own, memory that is not swapped.

#![allow(unsafe_code, reason = "std has none of these calls")]

use std::io;
use std::mem;

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
    done(unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) })
}

/// The scheduling of this thread, as reported by the kernel.
///
/// # Errors
/// None that is known.
pub fn scheduled() -> io::Result<Schedule> {
    // SAFETY: a number; 0 is this thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    done(policy)?;
    let mut parameter = libc::sched_param { sched_priority: 0 };
    // SAFETY: `parameter` lives through the call, which fills it; 0 is this thread.
    done(unsafe { libc::sched_getparam(0, &raw mut parameter) })?;
    let priority = u8::try_from(parameter.sched_priority).unwrap_or_default();
    // The kernel keeps a flag in addition to the policy.
    Ok(if policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO {
        Schedule::Fifo(priority)
    } else {
        Schedule::Normal
    })
}

/// Pins this thread to a processor.
///
/// # Errors
/// There is no such processor, or the process may not use it.
pub fn pin(processor: usize) -> io::Result<()> {
    let mut mask = [0_u64; mem::size_of::<libc::cpu_set_t>() / 8];
    let Some(word) = mask.get_mut(processor / 64) else { return Err(io::ErrorKind::InvalidInput.into()) };
    *word = 1 << (processor % 64);
    // SAFETY: `mask` is as long as the set that the call reads, and lives through it; 0 is this thread.
    done(unsafe { libc::sched_setaffinity(0, mem::size_of_val(&mask), mask.as_ptr().cast()) })
}

/// The processors that this thread may use.
///
/// # Errors
/// None that is known.
pub fn processors() -> io::Result<Vec<usize>> {
    let mut mask = [0_u64; mem::size_of::<libc::cpu_set_t>() / 8];
    // SAFETY: `mask` is as long as the set that the call fills, and lives through it; 0 is this thread.
    done(unsafe { libc::sched_getaffinity(0, mem::size_of_val(&mask), mask.as_mut_ptr().cast()) })?;
    Ok((0..mask.len() * 64).filter(|cpu| mask[cpu / 64] & (1 << (cpu % 64)) != 0).collect())
}

/// Keeps in memory what this process has of it now. Not what it gets later: without `CAP_IPC_LOCK`, every new thread
/// would then count against `RLIMIT_MEMLOCK`, and fail.
///
/// # Errors
/// The process lacks `CAP_IPC_LOCK` and has more memory than `RLIMIT_MEMLOCK` allows.
pub fn lock_memory() -> io::Result<()> {
    // SAFETY: a number.
    done(unsafe { libc::mlockall(libc::MCL_CURRENT) })
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
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
    fn a_normal_thread_stays_normal() {
        schedule(Schedule::Normal).expect("allowed to all");
        assert_eq!(scheduled().expect("an answer"), Schedule::Normal);
    }
}
