//! The signals that ask a daemon for something, as a descriptor to wait for.

#![allow(unsafe_code, reason = "std blocks and takes no signals")]

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd as _, OwnedFd};

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: end.
    End,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// Pending signals that are not yet read.
#[derive(Debug)]
pub struct Signals {
    file: File,
}

impl Signals {
    /// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all that it starts later, and has them come here instead.
    ///
    /// To be called before any other thread is started: one that does not block them would die of them.
    ///
    /// # Errors
    /// No more files may be open.
    pub fn block() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: the call fills `set`.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            // SAFETY: `set` was filled above.
            unsafe { libc::sigaddset(set.as_mut_ptr(), signal) };
        }
        // SAFETY: `set` was filled above; a null pointer asks for no old set.
        let result = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) };
        if result != 0 {
            return Err(io::Error::from_raw_os_error(result));
        }
        // SAFETY: `set` was filled above; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, and it is not shared.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { file: File::from(fd) })
    }

    /// The next signal that came; does not wait.
    pub fn take(&mut self) -> Option<Signal> {
        // A record of the kernel has this length, and begins with the number.
        let mut record = [0; 128];
        self.file.read_exact(&mut record).ok()?;
        let number = u32::from_ne_bytes([record[0], record[1], record[2], record[3]]);
        Some(if number.cast_signed() == libc::SIGHUP { Signal::Reload } else { Signal::End })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_to_a_thread_are_read_in_place_of_killing_the_process() {
        std::thread::spawn(|| {
            let mut signals = Signals::block().expect("a descriptor");
            assert_eq!(signals.take(), None);
            for (number, signal) in [(libc::SIGHUP, Signal::Reload), (libc::SIGTERM, Signal::End)] {
                // SAFETY: it takes nothing and always returns.
                let this = unsafe { libc::pthread_self() };
                // SAFETY: this thread is alive, and has the signal blocked.
                let result = unsafe { libc::pthread_kill(this, number) };
                assert_eq!(result, 0);
                assert_eq!(signals.take(), Some(signal));
            }
        })
        .join()
        .expect("no panic");
    }
}
