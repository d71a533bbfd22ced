//! Information of the kernel about an interface by ioctl.
#![allow(unsafe_code, reason = "if_nametoindex and ioctl with a request structure")]

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;

use super::checked;

/// The index of the interface called `name`.
///
/// # Errors
/// There is none.
pub fn index(name: &str) -> io::Result<u32> {
    let text = CString::new(name).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: `text` ends with a zero byte.
    match unsafe { libc::if_nametoindex(text.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// The longest packet that it carries, without the Ethernet header.
///
/// # Errors
/// There is no such interface.
pub fn mtu(name: &str) -> io::Result<u32> {
    let request = ask(name, libc::SIOCGIFMTU)?;
    // SAFETY: the kernel filled in this member.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    Ok(u32::try_from(mtu).unwrap_or(0))
}

/// Sets it.
///
/// # Errors
/// There is no such interface, or it does not carry that much.
pub(crate) fn set_mtu(name: &str, mtu: u32) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_mtu = i32::try_from(mtu).unwrap_or(i32::MAX);
    call(libc::SIOCSIFMTU, &mut request)
}

/// Sets how many frames wait at most to be sent.
///
/// # Errors
/// There is no such interface.
pub(crate) fn set_queue(name: &str, frames: u32) -> io::Result<()> {
    let mut request = request(name)?;
    // The kernel's name for it, `ifr_qlen`, is the same number of the union.
    request.ifr_ifru.ifru_mtu = i32::try_from(frames).unwrap_or(i32::MAX);
    call(libc::SIOCSIFTXQLEN, &mut request)
}

/// Switches it on.
///
/// # Errors
/// There is no such interface.
pub(crate) fn switch_on(name: &str) -> io::Result<()> {
    let mut request = ask(name, libc::SIOCGIFFLAGS)?;
    // SAFETY: the kernel filled in this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    call(libc::SIOCSIFFLAGS, &mut request)
}

/// Whether it is switched on (whether or not a cable is in it).
///
/// # Errors
/// There is no such interface.
pub fn is_up(name: &str) -> io::Result<bool> {
    let request = ask(name, libc::SIOCGIFFLAGS)?;
    // SAFETY: the kernel filled in this member.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(i32::from(flags) & libc::IFF_UP != 0)
}

/// The number of its receive queues, if its driver reports it.
///
/// # Errors
/// There is no such interface, or it has no say in it (`EOPNOTSUPP`).
pub fn receive_queues(name: &str) -> io::Result<u32> {
    const ETHTOOL_GCHANNELS: u32 = 0x3c;
    /// `struct ethtool_channels` of linux/ethtool.h.
    #[repr(C)]
    #[derive(Default)]
    struct Channels {
        command: u32,
        /// Receive, transmit, other, combined.
        most: [u32; 4],
        now: [u32; 4],
    }
    let mut channels = Channels { command: ETHTOOL_GCHANNELS, ..Channels::default() };
    let mut request = request(name)?;
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    call(libc::SIOCETHTOOL, &mut request)?;
    let [receive, _, _, combined] = channels.now;
    Ok(receive + combined)
}

/// Asks `what` about `name`, an ioctl whose answer is in the request itself.
fn ask(name: &str, what: libc::Ioctl) -> io::Result<libc::ifreq> {
    let mut request = request(name)?;
    call(what, &mut request)?;
    Ok(request)
}

/// A request about the interface `name`.
pub(super) fn request(name: &str) -> io::Result<libc::ifreq> {
    let bytes = name.as_bytes();
    if bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // SAFETY: a structure of integers, and of a union with a pointer; all zero is a value of it.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(bytes) {
        *to = from.cast_signed() as libc::c_char;
    }
    Ok(request)
}

/// One ioctl about an interface, on a socket of any kind.
fn call(what: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    let socket = super::socket::open(libc::AF_INET, libc::SOCK_DGRAM)?;
    // SAFETY: each of the calls used here reads and writes an `ifreq` and what its `ifru_data` points at, which the
    // caller has made of the size that belongs to the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), what, std::ptr::from_mut(request)) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_known_and_an_invented_one_is_not() {
        assert!(index("lo").unwrap() > 0);
        assert!(mtu("lo").unwrap() >= 1500);
        assert_eq!(index("no-such-one").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert_eq!(mtu("a-name-longer-than-the-kernel-has").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        assert!(receive_queues("lo").is_err());
    }
}
