//! Data that only some packets carry, apart from the 32 bytes of a packet.
//!
//! An ACK holds the slot of its SACK blocks in [`Packet::stamp`], a control frame that of its message in
//! [`Packet::number`].

use std::collections::VecDeque;
use std::ops::Range;

use forebay_switching::congestion::Message;
use forebay_tcp::SackBlocks;

use crate::packet::{FlowId, Packet, ack_stamp};

/// Values of packets in flight, by slot. Slot 0 is none.
#[derive(Debug)]
pub struct SideTable<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for SideTable<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> SideTable<T> {
    /// Stores a value. Returns its slot.
    pub fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize - 1] = value;
            return slot;
        }
        self.slots.push(value);
        self.slots.len() as u32
    }

    /// The value in a slot.
    pub fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize - 1]
    }

    /// Takes a value out and frees its slot.
    #[inline]
    pub fn take(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize - 1]
    }
}

/// The tables of all kinds of data.
#[derive(Debug, Default)]
pub struct SideTables {
    blocks: SideTable<SackBlocks>,
    pub messages: SideTable<Message>,
    /// Flow numbers of the packets with messages.
    with_message: Range<FlowId>,
}

/// Data on its way to the tables of another thread, in the order of its packets.
#[derive(Default)]
pub struct Detached {
    blocks: VecDeque<SackBlocks>,
    messages: VecDeque<Message>,
}

impl SideTables {
    /// Tables for a network where packets of these flows have messages.
    pub fn new(with_message: Range<FlowId>) -> Self {
        Self { with_message, ..Self::default() }
    }

    /// Empty tables for another thread.
    pub fn of_thread(&self) -> Self {
        Self::new(self.with_message.clone())
    }

    /// Stores the blocks of an ACK. Returns what [`ack_stamp::of`] takes. No blocks take no slot.
    pub fn put_blocks(&mut self, blocks: SackBlocks) -> u64 {
        if blocks.is_empty() { 0 } else { u64::from(self.blocks.put(blocks)) }
    }

    /// The blocks of an ACK, if it has any.
    #[must_use]
    pub fn blocks_of(&self, packet: &Packet) -> Option<&SackBlocks> {
        if !packet.is_ack() {
            return None;
        }
        self.blocks.slots.get((ack_stamp::slot(packet.stamp) as usize).checked_sub(1)?)
    }

    /// Takes out the blocks of an ACK with this [`Packet::stamp`].
    #[inline]
    pub fn take_blocks(&mut self, stamp: u64) -> SackBlocks {
        match ack_stamp::slot(stamp) as u32 {
            0 => SackBlocks::default(),
            slot => self.blocks.take(slot),
        }
    }

    /// Frees what a packet that ends here has in the tables, but for its message.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        if packet.is_ack() && packet.stamp != 0 {
            self.take_blocks(packet.stamp);
        }
    }

    /// Frees all that a packet has in the tables.
    pub fn discard(&mut self, packet: &Packet) {
        if self.with_message.contains(&packet.flow_id()) {
            self.messages.take(packet.number());
        } else {
            self.release(packet);
        }
    }

    /// A copy of a packet, with data of its own.
    pub fn copy(&mut self, packet: &Packet) -> Packet {
        if self.with_message.contains(&packet.flow_id()) {
            let message = *self.messages.get_mut(packet.number());
            return packet.with_number(self.messages.put(message));
        }
        match self.blocks_of(packet).copied() {
            Some(blocks) => {
                let stamp = ack_stamp::with_slot(packet.stamp, self.put_blocks(blocks));
                Packet { stamp, ..*packet }
            }
            None => *packet,
        }
    }

    /// Takes out what belongs to a packet, for another thread.
    pub fn detach(&mut self, packet: &Packet, detached: &mut Detached) {
        if self.with_message.contains(&packet.flow_id()) {
            detached.messages.push_back(self.messages.take(packet.number()));
        } else if self.blocks_of(packet).is_some() {
            detached.blocks.push_back(self.take_blocks(packet.stamp));
        }
    }

    /// Puts in what belongs to a packet from another thread. Returns the packet with its slot.
    pub fn attach(&mut self, mut packet: Packet, detached: &mut Detached) -> Packet {
        if self.with_message.contains(&packet.flow_id()) {
            let message = detached.messages.pop_front().expect("each message comes with its frame");
            return packet.with_number(self.messages.put(message));
        }
        if packet.is_ack() && ack_stamp::slot(packet.stamp) != 0 {
            let blocks = detached.blocks.pop_front().expect("the blocks come with their ACK");
            packet.stamp = ack_stamp::with_slot(packet.stamp, self.put_blocks(blocks));
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Ecn, Time};

    use super::*;
    use crate::packet::{PacketFields, flags};

    fn blocks() -> SackBlocks {
        let mut blocks = SackBlocks::default();
        assert!(blocks.push(3000, 4000));
        blocks
    }

    #[test]
    fn an_ack_that_also_returns_a_timestamp_gives_its_slot_back() {
        let mut tables = SideTables::default();
        let echo = Time::from_picoseconds(12_345_678_000);
        assert!(tables.take_blocks(ack_stamp::of(0, echo)).is_empty());
        let stamp = ack_stamp::of(tables.put_blocks(blocks()), echo);
        assert_eq!(tables.take_blocks(stamp), blocks());
        // The slot is free: the next ACK has the same one.
        assert_eq!(ack_stamp::of(tables.put_blocks(blocks()), echo), stamp);
    }

    #[test]
    fn data_follow_their_packets_to_another_thread() {
        let packet = |flow, flags, stamp, number| {
            let (time, len_bytes, class, ecn) = (Time::ZERO, 64, 0, Ecn::NotCapable);
            Packet::new(PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn })
        };
        let (mut here, mut there) = (SideTables::new(8..16), SideTables::new(8..16));
        there.put_blocks(blocks());
        let message = Message::BcnZero { from: forebay_switching::congestion::CongestionPointId(3) };
        let with_blocks = packet(1, flags::ACK, here.put_blocks(blocks()), 7);
        let with_message = packet(9, 0, 0, here.messages.put(message));
        let (bare, mut detached) = (packet(2, flags::ACK, 0, 5), Detached::default());
        for packet in [with_message, bare, with_blocks] {
            here.detach(&packet, &mut detached);
        }
        let came = [with_message, bare, with_blocks].map(|packet| there.attach(packet, &mut detached));
        assert_eq!(there.messages.take(came[0].number()), message);
        assert_eq!(came[1], bare);
        assert_eq!((came[2].stamp, there.blocks_of(&came[2])), (2, Some(&blocks())));
        // All is free here.
        assert_eq!((here.put_blocks(blocks()), here.messages.put(message)), (1, 1));
    }
}
