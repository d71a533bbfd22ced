//! SACK blocks of the ACKs in flight, beside the 32-byte packets.

use forebay_tcp::SackBlocks;

use crate::packet::{Packet, ack_stamp};

/// A slab of SACK blocks. Slot 0 stands for "none".
#[derive(Debug, Default)]
pub struct SackTable {
    slots: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackTable {
    /// Stores `blocks`; gives the slot to put into [`crate::Packet::stamp`]. No blocks take no slot.
    pub fn put(&mut self, blocks: SackBlocks) -> u64 {
        if blocks.is_empty() {
            return 0;
        }
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize - 1] = blocks;
            return u64::from(slot);
        }
        self.slots.push(blocks);
        self.slots.len() as u64
    }

    /// The blocks of an ACK, if it has any.
    #[must_use]
    pub fn get(&self, packet: &Packet) -> Option<&SackBlocks> {
        if !packet.is_ack() {
            return None;
        }
        self.slots.get((ack_stamp::slot(packet.stamp) as usize).checked_sub(1)?)
    }

    /// Takes the blocks out of `slot`.
    pub fn take(&mut self, slot: u64) -> SackBlocks {
        if slot == 0 {
            return SackBlocks::default();
        }
        self.free.push(slot as u32);
        self.slots[slot as usize - 1]
    }
}
