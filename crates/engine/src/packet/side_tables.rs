//! Data that only some packets carry, apart from the 32 bytes of a packet.
//!
//! An ACK holds the slot of its options in [`Packet::stamp`]. A control frame holds that of its message, and a packet
//! of an RDMA transport that of its header, in [`Packet::number`].

use std::collections::VecDeque;
use std::ops::Range;

use forebay_qdisc::{Rate, Time};
use forebay_rdma::Telemetry;
use forebay_switching::congestion::Message;
use forebay_tcp::SackBlocks;

use crate::driver::prefetch::prefetch;
use crate::packet::flow_sizes::FlowSizes;
use crate::packet::header::Carried;
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

/// The options of an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOptions {
    pub sack: SackBlocks,
    /// The counter of marked bytes (accurate ECN).
    pub marked_bytes: Option<u32>,
}

/// The tables of all kinds of data.
#[derive(Debug, Default)]
pub struct SideTables {
    options: SideTable<AckOptions>,
    pub messages: SideTable<Message>,
    headers: SideTable<Carried>,
    telemetry: SideTable<Telemetry>,
    /// For queues that rank packets by the bytes left.
    pub sizes: Option<FlowSizes>,
    /// Flow numbers of the packets with messages.
    with_message: Range<FlowId>,
}

/// Data on its way to the tables of another thread, in the order of its packets.
#[derive(Default)]
pub struct Detached {
    options: VecDeque<AckOptions>,
    messages: VecDeque<Message>,
    headers: VecDeque<Carried>,
    telemetry: VecDeque<Telemetry>,
}

impl SideTables {
    /// Tables for a network where packets of these flows have messages.
    pub fn new(with_message: Range<FlowId>) -> Self {
        Self { with_message, ..Self::default() }
    }

    /// Empty tables for another thread.
    pub fn of_thread(&self) -> Self {
        Self { sizes: self.sizes.clone(), ..Self::new(self.with_message.clone()) }
    }

    /// Stores the options of an ACK. Returns what [`ack_stamp::of`] takes. No options take no slot.
    pub fn put_options(&mut self, options: AckOptions) -> u64 {
        let is_bare = options.sack.is_empty() && options.marked_bytes.is_none();
        if is_bare { 0 } else { u64::from(self.options.put(options)) }
    }

    /// The options of an ACK, if it has any.
    #[must_use]
    pub fn options_of(&self, packet: &Packet) -> Option<&AckOptions> {
        if !packet.is_ack() {
            return None;
        }
        self.options.slots.get((ack_stamp::slot(packet.stamp) as usize).checked_sub(1)?)
    }

    /// Takes out the options of an ACK with this [`Packet::stamp`].
    #[inline]
    pub fn take_options(&mut self, stamp: u64) -> AckOptions {
        match ack_stamp::slot(stamp) as u32 {
            0 => AckOptions::default(),
            slot => self.options.take(slot),
        }
    }

    /// Stores the header of a packet. Returns its slot.
    #[inline]
    pub fn put_header(&mut self, carried: Carried) -> u32 {
        self.headers.put(carried)
    }

    /// Takes out the header of a packet. The slot of its telemetry is then the caller's.
    #[inline]
    pub fn take_header(&mut self, packet: &Packet) -> Carried {
        self.headers.take(packet.number())
    }

    /// Bytes of its flow by which a queue may rank a data packet, if they are known.
    #[must_use]
    pub fn remaining_bytes(&self, packet: &Packet) -> Option<u64> {
        if packet.has_header() {
            let carried = self.headers.slots.get((packet.number() as usize).checked_sub(1)?)?;
            return Some(carried.remaining_bytes);
        }
        self.sizes.as_ref()?.remaining(packet)
    }

    /// Stores telemetry. Returns its slot.
    pub fn put_telemetry(&mut self, telemetry: Telemetry) -> u32 {
        self.telemetry.put(telemetry)
    }

    /// Takes telemetry out of its slot; `None` of slot 0.
    pub fn take_telemetry(&mut self, slot: u32) -> Option<Telemetry> {
        (slot != 0).then(|| self.telemetry.take(slot))
    }

    /// A port of `rate`, which has sent `sent_bytes` and has `queued_bytes` in its queue, begins to send a packet.
    /// Appends this to its telemetry, if it takes any.
    pub fn append_telemetry(&mut self, packet: &Packet, now: Time, sent_bytes: u64, queued_bytes: u64, rate: Rate) {
        if packet.has_header() && !packet.is_ack() {
            let slot = self.headers.get_mut(packet.number()).telemetry;
            if slot != 0 {
                self.telemetry.get_mut(slot).append(now, sent_bytes, queued_bytes, rate);
            }
        }
    }

    /// Frees what a packet that ends here has in the tables, but for its message.
    #[inline]
    pub fn release(&mut self, packet: &Packet) {
        if packet.has_header() {
            let Carried { telemetry, .. } = self.take_header(packet);
            self.take_telemetry(telemetry);
        } else if packet.is_ack() && packet.stamp != 0 {
            self.take_options(packet.stamp);
        }
    }

    /// Prefetches the header of a packet.
    #[inline]
    pub fn prefetch_header(&self, packet: &Packet) {
        if packet.has_header()
            && let Some(carried) = self.headers.slots.get((packet.number() as usize).wrapping_sub(1))
        {
            prefetch(carried);
        }
    }

    /// A packet has lost its payload at a port that leads to a host, or not.
    pub fn note_trimmed(&mut self, packet: &Packet, is_last_hop: bool) {
        if packet.has_header() {
            self.headers.get_mut(packet.number()).trimmed_at_last_hop = is_last_hop;
        }
    }

    /// By this a packet chooses among equal paths, in addition to its flow; 0 without a header.
    #[inline]
    #[must_use]
    pub fn entropy(&self, packet: &Packet) -> u16 {
        if !packet.has_header() {
            return 0;
        }
        self.headers.slots.get((packet.number() as usize).wrapping_sub(1)).map_or(0, |carried| carried.header.entropy())
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
        if packet.has_header() {
            let mut carried = *self.headers.get_mut(packet.number());
            if carried.telemetry != 0 {
                let telemetry = *self.telemetry.get_mut(carried.telemetry);
                carried.telemetry = self.telemetry.put(telemetry);
            }
            return packet.with_number(self.headers.put(carried));
        }
        match self.options_of(packet).copied() {
            Some(options) => {
                let stamp = ack_stamp::with_slot(packet.stamp, self.put_options(options));
                Packet { stamp, ..*packet }
            }
            None => *packet,
        }
    }

    /// Takes out what belongs to a packet, for another thread.
    pub fn detach(&mut self, packet: &Packet, detached: &mut Detached) {
        if self.with_message.contains(&packet.flow_id()) {
            detached.messages.push_back(self.messages.take(packet.number()));
        } else if packet.has_header() {
            let carried = self.take_header(packet);
            detached.telemetry.extend(self.take_telemetry(carried.telemetry));
            detached.headers.push_back(carried);
        } else if self.options_of(packet).is_some() {
            detached.options.push_back(self.take_options(packet.stamp));
        }
    }

    /// Puts in what belongs to a packet from another thread. Returns the packet with its slot.
    pub fn attach(&mut self, mut packet: Packet, detached: &mut Detached) -> Packet {
        if self.with_message.contains(&packet.flow_id()) {
            let message = detached.messages.pop_front().expect("each message comes with its frame");
            return packet.with_number(self.messages.put(message));
        }
        if packet.has_header() {
            let mut carried = detached.headers.pop_front().expect("each header comes with its packet");
            if carried.telemetry != 0 {
                let telemetry = detached.telemetry.pop_front().expect("telemetry comes with its header");
                carried.telemetry = self.telemetry.put(telemetry);
            }
            return packet.with_number(self.headers.put(carried));
        }
        if packet.is_ack() && ack_stamp::slot(packet.stamp) != 0 {
            let options = detached.options.pop_front().expect("the options come with their ACK");
            packet.stamp = ack_stamp::with_slot(packet.stamp, self.put_options(options));
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Ecn, Time};

    use super::*;
    use crate::packet::{PacketFields, flags};

    fn blocks() -> AckOptions {
        let mut options = AckOptions::default();
        assert!(options.sack.push(3000, 4000));
        options
    }

    #[test]
    fn an_ack_that_also_returns_a_timestamp_gives_its_slot_back() {
        let mut tables = SideTables::default();
        let echo = Time::from_picoseconds(12_345_678_000);
        assert!(tables.take_options(ack_stamp::of(0, echo)).sack.is_empty());
        let stamp = ack_stamp::of(tables.put_options(blocks()), echo);
        assert_eq!(tables.take_options(stamp), blocks());
        // The slot is free: the next ACK has the same one.
        assert_eq!(ack_stamp::of(tables.put_options(blocks()), echo), stamp);
    }

    #[test]
    fn data_follow_their_packets_to_another_thread() {
        let packet = |flow, flags, stamp, number| {
            let (time, len_bytes, class, ecn) = (Time::ZERO, 64, 0, Ecn::NotCapable);
            Packet::new(PacketFields { time, stamp, number, flow, len_bytes, flags, class, ecn })
        };
        let (mut here, mut there) = (SideTables::new(8..16), SideTables::new(8..16));
        there.put_options(blocks());
        let message = Message::BcnZero { from: forebay_switching::congestion::CongestionPointId(3) };
        let with_blocks = packet(1, flags::ACK, here.put_options(blocks()), 7);
        let with_message = packet(9, 0, 0, here.messages.put(message));
        let (bare, mut detached) = (packet(2, flags::ACK, 0, 5), Detached::default());
        for packet in [with_message, bare, with_blocks] {
            here.detach(&packet, &mut detached);
        }
        let came = [with_message, bare, with_blocks].map(|packet| there.attach(packet, &mut detached));
        assert_eq!(there.messages.take(came[0].number()), message);
        assert_eq!(came[1], bare);
        assert_eq!((came[2].stamp, there.options_of(&came[2])), (2, Some(&blocks())));
        // All is free here.
        assert_eq!((here.put_options(blocks()), here.messages.put(message)), (1, 1));
    }
}
