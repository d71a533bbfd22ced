//! AF_XDP sockets in copy mode: a program of six instructions at the interface hands every frame to us before the rest
//! of the kernel sees it. On every driver; less work for each frame than packet sockets are.
//!
//! Two facts are not available here, unlike with packet sockets. A VLAN tag that the driver took out of the frame is
//! lost, and a checksum left to the network card is not visible. Receive VLAN offload must therefore be off at the
//! interface, and segmentation and checksum offload at its peer if that is a veth. Frames longer than the interface's
//! MTU are dropped by the kernel and counted.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{Halves, Interface, OpenError, Receive, ReceivedFrame, Transmit};
use crate::sys::ethtool::Ethtool;
use crate::sys::netlink::Netlink;
use crate::sys::socket;
use crate::sys::xdp::{self, Failed, Plan, Receiving, Sending};

/// The options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Frames that wait at most for us to take them; made a power of two.
    pub receive_frames: u32,
    /// Frames at most that are on their way out; made a power of two.
    pub send_frames: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { receive_frames: 4096, send_frames: 2048 }
    }
}

/// An interface whose sockets and rings are ready, and whose frames still go where they always went.
pub struct Prepared {
    interface: Interface,
    receive: Receiving,
    transmit: Sending,
    promiscuous: OwnedFd,
}

/// Opens both halves of `interface` and takes its frames from now on.
///
/// # Errors
/// A refusal of the kernel or a mismatch, with the remedy.
pub fn open(interface: &Interface, options: Options) -> Result<Halves, OpenError> {
    prepare(interface, options)?.start()
}

/// Makes the sockets and rings of `interface` ready. Where two interfaces are one forwarder, both are prepared before
/// the first is started, so that no frame comes that could not go on.
///
/// # Errors
/// As [`open`].
pub fn prepare(interface: &Interface, options: Options) -> Result<Prepared, OpenError> {
    let name = &interface.name;
    let failed = |(call, error): Failed| OpenError::kernel(name, call, error);
    let plan = Plan::new(options.receive_frames, options.send_frames, interface.longest_frame());
    let plan = plan.ok_or_else(|| OpenError::Unfit {
        interface: name.clone(),
        reason: format!("its MTU of {} is too large for AF_XDP's copy mode", interface.mtu),
        remedy: format!("run `ip link set {name} mtu 3822`, or use `io.method = \"af_packet\"`"),
    })?;
    let link = Netlink::open().and_then(|mut kernel| kernel.find(name));
    let link = link.map_err(|error| failed(("RTM_GETLINK", error)))?;
    // Frames of other queues than the first would pass us by.
    let queues = Ethtool::open().map_err(|error| failed(("socket(AF_UNIX)", error)))?.receive_queues(&link);
    if queues > 1 {
        return Err(OpenError::Unfit {
            interface: name.clone(),
            reason: format!("it receives into {queues} queues, but AF_XDP reads only one of them"),
            remedy: format!("run `ethtool -L {name} combined 1` (or `rx 1 tx 1`), or use `io.method = \"af_packet\"`"),
        });
    }
    // The kernel lets the socket be bound while the interface is down.
    if !link.is_up() {
        return Err(failed(("bind(AF_XDP)", io::Error::from_raw_os_error(libc::ENETDOWN))));
    }
    let promiscuous = socket::open_packet().map_err(|error| failed(("socket(AF_PACKET)", error)))?;
    let (receive, transmit) = xdp::open(plan, interface.index).map_err(failed)?;
    Ok(Prepared { interface: interface.clone(), receive, transmit, promiscuous })
}

impl Prepared {
    /// Takes the interface's frames from now on. The thread must be in the network namespace of [`prepare`].
    ///
    /// # Errors
    /// A refusal of the kernel, with the remedy.
    pub fn start(mut self) -> Result<Halves, OpenError> {
        let failed = |(call, error): Failed| OpenError::kernel(&self.interface.name, call, error);
        // The kernel looks the number up where the calling thread is, and there it may be another interface's.
        if !self.interface.is_here(self.promiscuous.as_fd()) {
            return Err(OpenError::Unfit {
                interface: self.interface.name,
                reason: "this thread is in another network namespace than the interface".to_owned(),
                remedy: "start it in that namespace".to_owned(),
            });
        }
        socket::be_promiscuous(self.promiscuous.as_fd(), self.interface.index)
            .map_err(|error| failed(("setsockopt(PACKET_ADD_MEMBERSHIP)", error)))?;
        self.receive.attach(self.interface.index).map_err(failed)?;
        let receive = Box::new(Receiver { ring: self.receive, _promiscuous: self.promiscuous, dropped: 0 });
        Ok(Halves { receive, transmit: Box::new(Transmitter { ring: self.transmit, interface: self.interface }) })
    }
}

struct Receiver {
    ring: Receiving,
    /// The interface is promiscuous as long as this is open.
    _promiscuous: OwnedFd,
    dropped: u64,
}

impl Receive for Receiver {
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize> {
        let shown = self.ring.show(most, |bytes| {
            let wire_bytes = bytes.len() as u32;
            take(ReceivedFrame { bytes, vlan: None, wire_bytes, checksum_unfinished: false });
        });
        if shown == 0 && most > 0 {
            self.ring.check()?;
        }
        Ok(shown)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }

    fn dropped_by_kernel(&mut self) -> u64 {
        // If the kernel does not answer, its last answer applies.
        self.dropped = self.ring.dropped().unwrap_or(self.dropped);
        self.dropped
    }
}

struct Transmitter {
    ring: Sending,
    interface: Interface,
}

impl Transmit for Transmitter {
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize> {
        self.ring.send(self.interface.carried(frames)?)
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.ring.fd()
    }
}
