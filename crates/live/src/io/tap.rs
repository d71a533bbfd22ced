//! TAP interfaces: made by opening them, gone when they are closed; what the kernel sends on one we read, what we write
//! it receives. For teaching and tests: one call a frame, nothing takes over when we die.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use super::{Halves, Interface, OpenError, Receive, ReceivedFrame, Transmit};
use crate::sys::interface::{self, Switch};
use crate::sys::tun;

/// No frame is longer, whatever the MTU.
const LONGEST_FRAME: usize = 1 << 17;
/// Where the number of dropped frames stands among those behind an interface's name in `/proc/net/dev`.
const SEND_DROPS_COLUMN: usize = 11;

/// What can be chosen.
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
/// What the kernel refused, with the remedy.
pub fn open(name: &str, options: Options) -> Result<(Interface, Halves), OpenError> {
    let failed = |call| move |error| OpenError::kernel(name, call, error);
    let file = Arc::new(tun::open(name).map_err(failed("ioctl(/dev/net/tun, TUNSETIFF)"))?);
    interface::set_mtu(name, options.mtu).map_err(failed("ioctl(SIOCSIFMTU)"))?;
    interface::set_queue(name, options.queue_frames).map_err(failed("ioctl(SIOCSIFTXQLEN)"))?;
    interface::switch_on(name).map_err(failed("ioctl(SIOCSIFFLAGS)"))?;
    let switch = Switch::of(name).map_err(failed("socket(AF_INET)"))?;
    // Of the network namespace that this thread is in now.
    let counters = File::open("/proc/thread-self/net/dev").map_err(failed("open(/proc/thread-self/net/dev)"))?;
    let interface = Interface::find(name)?;
    let buffer = vec![0; LONGEST_FRAME];
    let receiver = Receiver { file: file.clone(), buffer, switch, counters, name: name.to_owned(), dropped: 0 };
    let transmitter = Transmitter { file, interface: interface.clone() };
    Ok((interface, Halves { receive: Box::new(receiver), transmit: Box::new(transmitter) }))
}

struct Receiver {
    file: Arc<File>,
    buffer: Vec<u8>,
    switch: Switch,
    /// `/proc/net/dev`, to be read again from its start.
    counters: File,
    name: String,
    dropped: u64,
}

impl Receive for Receiver {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        for shown in 0..most {
            match (&*self.file).read(&mut self.buffer) {
                Ok(bytes) => take(ReceivedFrame {
                    bytes: &self.buffer[..bytes],
                    // The driver has put the tag back and finished the checksum: it was told that we can do neither.
                    vlan: None,
                    wire_bytes: bytes as u32,
                    checksum_unfinished: false,
                }),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(shown),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // A TAP interface that is down looks like one that has nothing to send.
                    return if shown > 0 || self.switch.is_on()? { Ok(shown) } else { Err(down()) };
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
        let mut text = String::new();
        let read = self.counters.rewind().and_then(|()| self.counters.read_to_string(&mut text));
        // Where the kernel does not answer, the last that it said holds.
        if let (Ok(_), Some(dropped)) = (read, dropped(&text, &self.name)) {
            self.dropped = dropped;
        }
        self.dropped
    }
}

/// What the text of `/proc/net/dev` says that the interface `name` dropped instead of sending it to us.
fn dropped(text: &str, name: &str) -> Option<u64> {
    let numbers = text.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    numbers.split_ascii_whitespace().nth(SEND_DROPS_COLUMN)?.parse().ok()
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
                // What is wrong is told when it is the first.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_from_the_kernels_table() {
        let text = "Inter-|   Receive                            |  Transmit\n \
                    face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo ...\n  \
                    tap10: 1 2 3 4 5 6 7 8 9 10 11 99 13 14 15 16\n   \
                    tap1:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
        assert_eq!(dropped(text, "tap1"), Some(12));
        assert_eq!(dropped(text, "tap10"), Some(99));
        assert_eq!(dropped(text, "tap"), None);
    }
}
