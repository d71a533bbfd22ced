//! SACK blocks of the ACKs in flight, separate from the 32-byte packets.

use forebay_tcp::SackBlocks;

use crate::packet::{Packet, ack_stamp};

/// A slab of SACK blocks. Slot 0 means "none".
#[derive(Debug, Default)]
pub struct SackTable {
    slots: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackTable {
    /// Stores `blocks`; returns the slot to put into [`crate::Packet::stamp`]. No blocks take no slot.
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

    /// Takes the blocks of an ACK with this [`crate::Packet::stamp`] out of their slot.
    #[inline]
    pub fn take(&mut self, stamp: u64) -> SackBlocks {
        let slot = ack_stamp::slot(stamp);
        if slot == 0 {
            return SackBlocks::default();
        }
        self.free.push(slot as u32);
        self.slots[slot as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_qdisc::Time;

    #[test]
    fn an_ack_that_also_returns_a_timestamp_gives_its_slot_back() {
        let mut table = SackTable::default();
        let echo = Time::from_picoseconds(12_345_678_000);
        assert!(table.take(ack_stamp::of(0, echo)).is_empty());
        let mut blocks = SackBlocks::default();
        assert!(blocks.push(3000, 4000));
        let stamp = ack_stamp::of(table.put(blocks), echo);
        assert_eq!(table.take(stamp), blocks);
        // The slot is free: the next ACK has the same one.
        assert_eq!(ack_stamp::of(table.put(blocks), echo), stamp);
    }
}
