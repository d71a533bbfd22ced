//! Network namespaces: for tests and examples, which keep their traffic inside namespaces of their own.
#![allow(unsafe_code, reason = "setns")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Moves the calling thread into the network namespace at `path` (`/run/netns/NAME`). Sockets stay in the namespace
/// where they were opened.
///
/// # Errors
/// There is none at `path`, or the thread may not (CAP_SYS_ADMIN).
pub fn enter(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    // SAFETY: changes a property of the calling thread only; the file descriptor is open.
    let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
    super::checked(result)?;
    Ok(())
}
