//! TAP interfaces: tun(4).
#![allow(unsafe_code, reason = "ioctl with a request structure")]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use super::{checked, interface_request};

/// Opens the TAP interface `name`, which is made if there is none and is gone when the file is closed. It carries whole
/// Ethernet frames, one a call, and does not block.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
    // Both are below 2^15.
    let flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    let mut request = interface_request(name, libc::__c_anonymous_ifr_ifru { ifru_flags: flags })?;
    // SAFETY: this call reads and writes an `ifreq`.
    checked(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(file)
}
