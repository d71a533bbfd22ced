//! TAP interfaces: made by opening them, gone when they are closed; we read the frames that the kernel sends, and it
//! receives those that we write. For teaching and tests: one call a frame, nothing takes over when we die.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::{Halves, Interface, OpenError, Receive, ReceivedFrame, Transmit};
use crate::sys::netlink::{Link, Netlink};
use crate::sys::tun;

/// The longest frame at any MTU.
const LONGEST_FRAME: usize = 1 << 17;

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The longest packet that it carries, without the Ethernet header.
    pub mtu: u32,
    /// Frames that wait at most for us to take them.
    pub queue_frames: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { mtu: 1500, queue_frames: 4096 }
    }
}

/// Makes the TAP interface `name`, or opens one that was made to persist, and switches it on.
///
/// # Errors
/// A refusal of the kernel, with the remedy.
pub fn open(name: &str, options: Options) -> Result<(Interface, Halves), OpenError> {
    let failed = |call| move |error| OpenError::kernel(name, call, error);
    let file = Arc::new(tun::open(name).map_err(failed("ioctl(/dev/net/tun, TUNSETIFF)"))?);
    let mut kernel = Netlink::open().map_err(failed("socket(AF_NETLINK)"))?;
    let interface = Interface { mtu: options.mtu, ..Interface::find(name)? };
    kernel.set_sizes(interface.index, options.mtu, options.queue_frames).map_err(failed("RTM_SETLINK(IFLA_MTU)"))?;
    kernel.set_up(interface.index).map_err(failed("RTM_SETLINK(IFF_UP)"))?;
    let buffer = vec![0; LONGEST_FRAME];
    let receiver = Receiver { file: file.clone(), buffer, kernel, index: interface.index, dropped: 0 };
    let transmitter = Transmitter { file, interface: interface.clone() };
    Ok((interface, Halves { receive: Box::new(receiver), transmit: Box::new(transmitter) }))
}

struct Receiver {
    file: Arc<File>,
    buffer: Vec<u8>,
    /// A connection to the network namespace where the interface was made.
    kernel: Netlink,
    index: u32,
    dropped: u64,
}

impl Receiver {
    /// The interface as the kernel describes it now. An ioctl would need its name, which may have changed, and the
    /// filter of system calls does not allow one.
    fn link(&mut self) -> io::Result<Link> {
        self.kernel.link(self.index)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }
}

impl Receive for Receiver {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        for shown in 0..most {
            match (&*self.file).read(&mut self.buffer) {
                Ok(bytes) => take(ReceivedFrame {
                    bytes: &self.buffer[..bytes],
                    // The driver has put the tag back and finished the checksum, because we declared that we can do
                    // neither.
                    vlan: None,
                    wire_bytes: bytes as u32,
                    checksum_unfinished: false,
                }),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(shown),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // A TAP interface that is down looks like one that has nothing to send.
                    return if shown > 0 || self.link()?.is_up() { Ok(shown) } else { Err(down()) };
                }
                Err(error) => return Err(error),
            }
        }
        Ok(most)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn dropped_by_kernel(&mut self) -> u64 {
        // If the kernel does not answer, the last answer holds.
        if let Ok(link) = self.link() {
            self.dropped = link.transmit_dropped;
        }
        self.dropped
    }
}

struct Transmitter {
    file: Arc<File>,
    interface: Interface,
}

impl Transmit for Transmitter {
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        let frames = self.interface.carried(frames)?;
        for (sent, frame) in frames.iter().enumerate() {
            match (&*self.file).write(frame) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(sent);
                }
                // An error is reported when it is the first.
                Err(_) if sent > 0 => return Ok(sent),
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => return Ok(0),
                Err(error) if error.raw_os_error() == Some(libc::EIO) => return Err(down()),
                Err(error) => return Err(error),
            }
        }
        Ok(frames.len())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn down() -> io::Error {
    io::Error::from_raw_os_error(libc::ENETDOWN)
}
