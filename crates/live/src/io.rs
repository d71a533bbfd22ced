//! Where frames come from and go to: two halves of an interface behind two traits.
//!
//! Both halves belong to one thread each, so nothing here locks. Frames are shown where they lie, in a ring that the
//! kernel shares with us, and copied once, into a buffer of the [pool](crate::pool).

pub mod af_packet;
pub mod af_xdp;
mod interface;
pub mod tap;

pub use interface::{Interface, OpenError};

use std::io;
use std::num::NonZeroU32;
use std::os::fd::BorrowedFd;

/// A VLAN tag as in the frame after the source address: TPID and TCI, of which at least one bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag(NonZeroU32);

impl VlanTag {
    /// Bytes of a tag.
    pub const BYTES: usize = 4;

    /// The tag of these bytes; four zeros are none.
    #[must_use]
    pub fn new(bytes: [u8; Self::BYTES]) -> Option<Self> {
        NonZeroU32::new(u32::from_be_bytes(bytes)).map(Self)
    }

    /// Its bytes in their order.
    #[must_use]
    pub fn bytes(self) -> [u8; Self::BYTES] {
        self.0.get().to_be_bytes()
    }
}

/// A frame as an interface hands it over.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame<'a> {
    /// From the destination address on, without the frame check sequence, and without a VLAN tag that the kernel took
    /// out.
    pub bytes: &'a [u8],
    /// The VLAN tag that the kernel took out of the frame.
    pub vlan: Option<VlanTag>,
    /// The length that the frame had, without that tag: more than `bytes` where the ring cut it.
    pub wire_bytes: u32,
    /// Its transport checksum is still to be filled in: the sender left that to the network card. It must not be sent
    /// on as it is.
    pub checksum_unfinished: bool,
}

/// Takes frames in at an interface.
pub trait Receive: Send {
    /// Shows up to `most` frames that are there, in their order, without waiting. Returns how many.
    ///
    /// # Errors
    /// The interface is gone or down. That may be reported only once, and frames arrive again when it is up again.
    fn receive(&mut self, most: usize, take: &mut dyn FnMut(ReceivedFrame<'_>)) -> io::Result<usize>;

    /// Becomes readable when there are frames.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Frames that the kernel dropped since the start because the ring was full.
    fn dropped_by_kernel(&mut self) -> u64;
}

/// Sends frames out at an interface.
pub trait Transmit: Send {
    /// Sends frames in order, without waiting. Returns how many were taken; the others must be offered again, when
    /// [`Transmit::fd`] is writable or a little later.
    ///
    /// # Errors
    /// The interface is gone or down, or refuses the first frame for good (longer than its MTU allows): `InvalidInput`
    /// means that the first frame alone is refused and the others may be offered again.
    fn send(&mut self, frames: &[&[u8]]) -> io::Result<usize>;

    /// The event that signals room.
    fn fd(&self) -> BorrowedFd<'_>;
}

pub struct Halves {
    /// Arriving frames.
    pub receive: Box<dyn Receive>,
    /// Departing frames.
    pub transmit: Box<dyn Transmit>,
}
