//! The one clock of the data plane, and waiting until a time or a file descriptor.
#![allow(unsafe_code, reason = "clock_gettime and ppoll")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use forebay_units::{Span, Time};

const PICOSECONDS_PER_NANOSECOND: u64 = 1_000;
const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// The most file descriptors that one [`wait`] can watch.
pub const MOST_WATCHED: usize = 16;

/// The time by CLOCK_MONOTONIC since the first call in this process.
///
/// Counted from there and not from the machine's start, because a [`Time`] ends after 213 days; a process that runs
/// longer stays at [`Time::NEVER`].
#[must_use]
pub fn now() -> Time {
    static START: OnceLock<u64> = OnceLock::new();
    let nanoseconds = monotonic();
    let start = *START.get_or_init(|| nanoseconds);
    Time::from_picoseconds(nanoseconds.saturating_sub(start).saturating_mul(PICOSECONDS_PER_NANOSECOND))
}

/// The processor time that this thread has used so far, its own code and the kernel's for it.
#[must_use]
pub fn thread_time() -> Span {
    Span::from_nanoseconds(read(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Nanoseconds of CLOCK_MONOTONIC.
fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of a clock that every Linux has.
fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing; the call cannot fail with such a clock and a valid pointer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    // Neither is ever negative.
    time.tv_sec as u64 * NANOSECONDS_PER_SECOND + time.tv_nsec as u64
}

/// The time of day at [`Time::ZERO`], in nanoseconds since the Unix epoch.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "captures and records tell when they were made")]
pub fn unix_ns_at_zero() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let nanoseconds = since_epoch.map_or(0, |since| since.as_nanos() as u64);
    nanoseconds.saturating_sub(now().picoseconds() / PICOSECONDS_PER_NANOSECOND)
}

/// Which of the watched file descriptors are ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready(u32);

impl Ready {
    /// Whether the one at `index` is: those to be read first, those to be written after them.
    #[must_use]
    pub const fn has(self, index: usize) -> bool {
        index < MOST_WATCHED && self.0 & (1 << index) != 0
    }

    /// Whether any is.
    #[must_use]
    pub const fn any(self) -> bool {
        self.0 != 0
    }
}

/// Waits until one of `fds` is readable or has failed, or until `until` ([`Time::NEVER`]: without end); also returns,
/// with nothing ready, when a signal came.
///
/// # Errors
/// More than [`MOST_WATCHED`], or what ppoll says.
pub fn wait(fds: &[BorrowedFd<'_>], until: Time) -> io::Result<Ready> {
    wait_for(fds, &[], until)
}

/// Waits as [`wait`] does, and also until one of `writable` can be written.
///
/// # Errors
/// As [`wait`].
pub fn wait_for(readable: &[BorrowedFd<'_>], writable: &[BorrowedFd<'_>], until: Time) -> io::Result<Ready> {
    let count = readable.len() + writable.len();
    if count > MOST_WATCHED {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more file descriptors than one wait can watch"));
    }
    let mut watched = [libc::pollfd { fd: -1, events: 0, revents: 0 }; MOST_WATCHED];
    let wanted = readable.iter().map(|fd| (fd, libc::POLLIN)).chain(writable.iter().map(|fd| (fd, libc::POLLOUT)));
    for (entry, (fd, events)) in watched.iter_mut().zip(wanted) {
        entry.fd = fd.as_raw_fd();
        entry.events = events;
    }
    poll(&mut watched[..count], until)?;
    let bits = watched[..count].iter().enumerate().filter(|(_, entry)| entry.revents != 0);
    Ok(Ready(bits.fold(0, |bits, (index, _)| bits | 1 << index)))
}

fn poll(watched: &mut [libc::pollfd], until: Time) -> io::Result<()> {
    let timeout = timespec(until);
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `watched` is valid for reading and writing its length of entries, `timeout` is null or points at a
    // timespec that outlives the call, and a null mask is allowed.
    let result = unsafe { libc::ppoll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, timeout, std::ptr::null()) };
    match super::checked(result) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// The time left until `until`; nothing for a time that never comes.
fn timespec(until: Time) -> Option<libc::timespec> {
    if until == Time::NEVER {
        return None;
    }
    // Rounded up: waking a nanosecond early means to wait once more.
    let nanoseconds = until.since(now()).picoseconds().div_ceil(PICOSECONDS_PER_NANOSECOND);
    // A u64 of picoseconds has fewer than 2^25 seconds.
    Some(libc::timespec {
        tv_sec: (nanoseconds / NANOSECONDS_PER_SECOND) as libc::time_t,
        tv_nsec: (nanoseconds % NANOSECONDS_PER_SECOND) as libc::c_long,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn waits_until_a_time_and_not_longer_than_for_a_byte() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let until = now() + Span::from_milliseconds(5);
        assert!(!wait(&[reader.as_fd()], until).unwrap().any());
        assert!(now() >= until);
        writer.write_all(b"x").unwrap();
        let ready = wait(&[reader.as_fd()], Time::NEVER).unwrap();
        assert!(ready.has(0) && !ready.has(1) && !ready.has(99));
        let ready = wait_for(&[reader.as_fd()], &[writer.as_fd()], now()).unwrap();
        assert!(ready.has(0) && ready.has(1));
    }

    #[test]
    fn a_thread_that_sleeps_uses_no_processor() {
        let (start, used) = (now(), thread_time());
        wait(&[], start + Span::from_milliseconds(50)).unwrap();
        assert!(thread_time() - used < Span::from_milliseconds(25));
        while thread_time() == used {}
    }

    #[test]
    fn a_time_gone_by_does_not_wait() {
        let start = now();
        assert!(!wait(&[], Time::ZERO).unwrap().any());
        assert!(now().since(start) < Span::from_seconds(5));
    }
}
