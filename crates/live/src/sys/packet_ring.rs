//! The ring into which a packet socket receives: TPACKET_V2 of packet(7).
#![allow(unsafe_code, reason = "memory that the kernel writes")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;

use super::mapping::{Mapping, acquire, release};
use super::socket;

/// A block is not smaller than this: the kernel allocates it in one piece.
const LEAST_BLOCK_BYTES: usize = 64 * 1024;
/// Slots begin at the start of a line of the cache.
const SLOT_ALIGNMENT: usize = 64;
/// The space that the kernel leaves in front of the network header: its own header, and the room for an Ethernet header
/// at least 16 bytes long, rounded up.
const HEADER_BYTES: usize = (libc::TPACKET2_HDRLEN + 16).next_multiple_of(libc::TPACKET_ALIGNMENT);

/// The places of the slots of a ring: blocks of a fixed length with as many slots as fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    slot_bytes: usize,
    slots_per_block: usize,
    block_bytes: usize,
    blocks: usize,
}

impl Layout {
    /// Plans at least `slots` slots for frames of at most `frame_bytes`.
    fn new(slots: usize, frame_bytes: usize) -> Self {
        let slot_bytes = (HEADER_BYTES + frame_bytes).next_multiple_of(SLOT_ALIGNMENT);
        let block_bytes = slot_bytes.next_power_of_two().max(LEAST_BLOCK_BYTES);
        let slots_per_block = block_bytes / slot_bytes;
        Self { slot_bytes, slots_per_block, block_bytes, blocks: slots.div_ceil(slots_per_block).max(1) }
    }

    const fn slots(self) -> usize {
        self.slots_per_block * self.blocks
    }

    const fn bytes(self) -> usize {
        self.block_bytes * self.blocks
    }

    /// The offset of the slot `index`.
    const fn start(self, index: usize) -> usize {
        index / self.slots_per_block * self.block_bytes + index % self.slots_per_block * self.slot_bytes
    }

    const fn after(self, index: usize) -> usize {
        if index + 1 == self.slots() { 0 } else { index + 1 }
    }

    fn request(self) -> libc::tpacket_req {
        // Each was checked by `PacketRing::new` to fit.
        libc::tpacket_req {
            tp_block_size: self.block_bytes as u32,
            tp_block_nr: self.blocks as u32,
            tp_frame_size: self.slot_bytes as u32,
            tp_frame_nr: self.slots() as u32,
        }
    }
}

/// A frame in its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    /// The captured part of the frame.
    pub(crate) bytes: &'a [u8],
    /// The length that it had.
    pub(crate) wire_bytes: u32,
    /// Bits `TP_STATUS_*`.
    pub(crate) status: u32,
    /// Tag control information and tag protocol of the VLAN tag that was taken out, where the status says that they
    /// hold.
    pub(crate) vlan: (u16, u16),
}

/// A packet socket with its ring. It receives once it is bound.
pub(crate) struct PacketRing {
    // Dropped in this order: the memory first.
    memory: Mapping,
    socket: OwnedFd,
    layout: Layout,
    next: usize,
}

impl PacketRing {
    /// A ring of at least `slots` slots for frames of at most `frame_bytes`.
    pub(crate) fn new(socket: OwnedFd, slots: usize, frame_bytes: usize) -> io::Result<Self> {
        let layout = Layout::new(slots, frame_bytes);
        if u32::try_from(layout.bytes()).is_err() {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        socket::set_number(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        // SAFETY: the option's structure, without an address: the ring is the kernel's memory.
        unsafe { socket::set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_RX_RING, &layout.request()) }?;
        let memory = Mapping::of(socket.as_fd(), layout.bytes(), 0)?;
        Ok(Self { memory, socket, layout, next: 0 })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Shows up to `most` frames that are there, in order, and gives their slots back. Returns how many.
    pub(crate) fn show(&mut self, most: usize, mut take: impl FnMut(Slot<'_>)) -> usize {
        for shown in 0..most {
            let start = self.layout.start(self.next);
            let word = self.status(start);
            let status = acquire(word);
            if status & libc::TP_STATUS_USER == 0 {
                return shown;
            }
            if let Some(slot) = self.slot(start, status) {
                self.prefetch_next(slot.bytes.len());
                take(slot);
            }
            release(word, libc::TP_STATUS_KERNEL);
            self.next = self.layout.after(self.next);
        }
        most
    }

    fn status(&self, start: usize) -> &AtomicU32 {
        self.memory.word(start + std::mem::offset_of!(libc::tpacket2_hdr, tp_status))
    }

    /// Prefetches the next frame, if it is there, as if it were as long as this one.
    fn prefetch_next(&self, frame_bytes: usize) {
        let start = self.layout.start(self.layout.after(self.next));
        if acquire(self.status(start)) & libc::TP_STATUS_USER != 0 {
            self.memory.prefetch(start, HEADER_BYTES + frame_bytes);
        }
    }

    /// The frame in the slot at `start`, whose status says that it is ours; none where its header is not of this slot.
    fn slot(&self, start: usize, status: u32) -> Option<Slot<'_>> {
        // SAFETY: the slot is ours until its status changes, and a header consists of numbers.
        let header: libc::tpacket2_hdr = unsafe { self.memory.read(start) };
        let (at, bytes) = (usize::from(header.tp_mac), header.tp_snaplen as usize);
        if at + bytes > self.layout.slot_bytes {
            return None;
        }
        Some(Slot {
            // SAFETY: the slot is ours until its status changes, which `show` does after the slice's end.
            bytes: unsafe { self.memory.slice(start + at, bytes) },
            wire_bytes: header.tp_len,
            status,
            vlan: (header.tp_vlan_tci, header.tp_vlan_tpid),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_hold_a_frame_and_do_not_cross_blocks() {
        for (slots, frame_bytes) in [(1, 60), (4096, 1518), (100, 9018), (3, 65_553)] {
            let layout = Layout::new(slots, frame_bytes);
            assert!(layout.slots() >= slots && layout.slot_bytes >= HEADER_BYTES + frame_bytes, "{layout:?}");
            assert_eq!(layout.slot_bytes % libc::TPACKET_ALIGNMENT, 0, "the kernel asks for it");
            assert!(layout.block_bytes.is_power_of_two(), "{layout:?}");
            let mut end = 0;
            for index in 0..layout.slots() {
                let start = layout.start(index);
                assert!(start >= end, "slot {index} of {layout:?} overlaps the one before");
                end = start + layout.slot_bytes;
                assert_eq!(start / layout.block_bytes, (end - 1) / layout.block_bytes, "{layout:?}");
            }
            assert!(end <= layout.bytes());
        }
    }

    #[test]
    fn the_last_slot_is_followed_by_the_first() {
        let layout = Layout::new(50, 1518);
        assert_eq!(layout.after(0), 1);
        assert_eq!(layout.after(layout.slots() - 1), 0);
    }
}
