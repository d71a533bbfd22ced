//! The one clock of the data plane, and waiting until a time or a file descriptor.

use std::array;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::time::Instant;

use forebay_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

const PICOSECONDS_PER_NANOSECOND: u64 = 1_000;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The most file descriptors that one [`wait`] can watch.
pub const MOST_WATCHED: usize = 16;

/// The time by CLOCK_MONOTONIC since the first call in this process.
///
/// Counted from there and not from the machine's start, because a [`Time`] ends after 213 days; a process that runs
/// longer stays at [`Time::NEVER`].
#[must_use]
#[expect(clippy::disallowed_methods, reason = "packets are forwarded in real time")]
pub fn now() -> Time {
    // Not by rustix, whose first reading makes a call that the filter of system calls does not allow.
    static START: OnceLock<Instant> = OnceLock::new();
    let now = Instant::now();
    let since_start = now.saturating_duration_since(*START.get_or_init(|| now));
    Time::from_picoseconds((since_start.as_nanos() as u64).saturating_mul(PICOSECONDS_PER_NANOSECOND))
}

/// The time of day at [`Time::ZERO`], in nanoseconds since the Unix epoch.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "captures and records tell when they were made")]
pub fn unix_ns_at_zero() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let nanoseconds = since_epoch.map_or(0, |since| since.as_nanos() as u64);
    nanoseconds.saturating_sub(now().picoseconds() / PICOSECONDS_PER_NANOSECOND)
}

/// Waits until one of `fds` is readable or has failed, or until `until` ([`Time::NEVER`]: without end); also returns
/// when a signal came. Returns whether one is ready.
///
/// # Errors
/// More than [`MOST_WATCHED`], or what ppoll says.
pub fn wait(fds: &[BorrowedFd<'_>], until: Time) -> io::Result<bool> {
    if fds.len() > MOST_WATCHED {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more file descriptors than one wait can watch"));
    }
    let timeout = timespec(until);
    let result = match fds.first() {
        None => poll(&mut [], timeout.as_ref()),
        Some(first) => {
            let watched = |index| PollFd::from_borrowed_fd(*fds.get(index).unwrap_or(first), PollFlags::IN);
            let mut watched: [_; MOST_WATCHED] = array::from_fn(watched);
            poll(&mut watched[..fds.len()], timeout.as_ref())
        }
    };
    match result {
        Err(Errno::INTR) => Ok(false),
        other => Ok(other? > 0),
    }
}

/// The time left until `until`; nothing for a time that never comes.
fn timespec(until: Time) -> Option<Timespec> {
    if until == Time::NEVER {
        return None;
    }
    // Rounded up: waking a nanosecond early means to wait once more.
    let nanoseconds = until.since(now()).picoseconds().div_ceil(PICOSECONDS_PER_NANOSECOND);
    // A u64 of picoseconds has fewer than 2^25 seconds.
    Some(Timespec {
        tv_sec: (nanoseconds / NANOSECONDS_PER_SECOND) as i64,
        tv_nsec: (nanoseconds % NANOSECONDS_PER_SECOND) as i64,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use forebay_units::Span;

    use super::*;

    #[test]
    fn waits_until_a_time_and_not_longer_than_for_a_byte() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let until = now() + Span::from_milliseconds(5);
        assert!(!wait(&[reader.as_fd()], until).unwrap());
        assert!(now() >= until);
        writer.write_all(b"x").unwrap();
        assert!(wait(&[reader.as_fd()], Time::NEVER).unwrap());
    }

    #[test]
    fn a_time_gone_by_does_not_wait() {
        let start = now();
        assert!(!wait(&[], Time::ZERO).unwrap());
        assert!(now().since(start) < Span::from_seconds(5));
    }
}
