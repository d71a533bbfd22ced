//! The receiver of Ultra Ethernet: reassembly, selective ACKs, notices of trimmed packets.
//!
//! Source: UecSink of the Consortium's simulator.

use super::{ACK_BYTES, HEADER_BYTES, TrimReply, UecAck, UecNack, UecPacket};
use crate::arrived::Reassembly;

/// The receiver of a flow.
#[derive(Clone, Debug, Default)]
pub struct UecReceiver {
    packets: Reassembly,
    /// Bytes on the wire, without duplicates.
    received_bytes: u64,
    payload_bytes: u64,
    /// Bytes since the last ACK.
    unacknowledged_bytes: u32,
    /// An ACK was requested and is repeated when the gaps are closed.
    is_ack_requested: bool,
}

impl UecReceiver {
    /// Payload that has arrived, without duplicates.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// The first packet that is missing.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.packets.expected()
    }

    /// A whole data packet has arrived.
    pub fn on_data(&mut self, packet: &UecPacket, is_marked: bool) -> Option<UecAck> {
        if self.packets.is_too_far(packet.number) {
            return None;
        }
        self.unacknowledged_bytes = self.unacknowledged_bytes.saturating_add(packet.wire_bytes);
        if self.packets.has(packet.number) {
            // The sender is mistaken: it hears at once.
            self.unacknowledged_bytes = 0;
            return Some(self.ack(packet, is_marked, is_marked));
        }
        let mut is_forced = self.payload_bytes == 0 || is_marked;
        self.payload_bytes += u64::from(packet.wire_bytes.saturating_sub(HEADER_BYTES));
        self.received_bytes += u64::from(packet.wire_bytes);
        if packet.requests_ack {
            is_forced = true;
            self.is_ack_requested = true;
        }
        self.packets.insert(packet.number);
        if !self.packets.has_gaps() && core::mem::take(&mut self.is_ack_requested) {
            is_forced = true;
        }
        if !is_forced && self.unacknowledged_bytes < ACK_BYTES {
            return None;
        }
        self.unacknowledged_bytes = 0;
        Some(self.ack(packet, is_marked, is_marked || packet.requests_ack))
    }

    /// A packet without its payload has arrived.
    pub fn on_trimmed(&mut self, packet: &UecPacket, is_marked: bool, is_last_hop: bool) -> TrimReply {
        if self.packets.has(packet.number) {
            return TrimReply::Ack(self.ack(packet, false, false));
        }
        TrimReply::Nack(UecNack { number: packet.number, entropy: packet.entropy, is_last_hop, is_marked })
    }

    /// A request to send has arrived.
    pub fn on_request(&mut self, entropy: u16) -> UecAck {
        self.acknowledgement(None, self.expected() + 1, false, false, entropy)
    }

    /// `starts_here`: the bitmap starts with the packet itself; else it ends with it, above the cumulative ACK.
    fn ack(&self, packet: &UecPacket, is_marked: bool, starts_here: bool) -> UecAck {
        let base = if starts_here { packet.number } else { packet.number.saturating_sub(63).max(self.expected() + 1) };
        self.acknowledgement(Some(packet.number), base, is_marked, packet.is_retransmission, packet.entropy)
    }

    fn acknowledgement(
        &self,
        number: Option<u64>,
        bitmap_base: u64,
        is_marked: bool,
        is_of_retransmission: bool,
        entropy: u16,
    ) -> UecAck {
        UecAck {
            cumulative: self.expected(),
            number,
            bitmap_base,
            bitmap: self.packets.bitmap(bitmap_base),
            received_bytes: self.received_bytes,
            is_marked,
            is_of_retransmission,
            entropy,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn packet(number: u64) -> UecPacket {
        UecPacket {
            number,
            wire_bytes: 4_150,
            entropy: 7,
            is_retransmission: false,
            requests_ack: false,
            pull_target: 0,
        }
    }

    #[test]
    fn acks_come_for_the_first_and_then_each_16_kilobytes() {
        let mut receiver = UecReceiver::default();
        let acked: Vec<_> = (0..10).map(|number| receiver.on_data(&packet(number), false).is_some()).collect();
        assert_eq!(acked, [true, false, false, false, true, false, false, false, true, false]);
        assert_eq!((receiver.payload_bytes(), receiver.expected()), (40_860, 10));
    }

    #[test]
    fn marked_duplicate_and_requested_packets_are_acknowledged_at_once() {
        let mut receiver = UecReceiver::default();
        receiver.on_data(&packet(0), false);
        let marked = receiver.on_data(&packet(1), true).unwrap();
        assert!(marked.is_marked && marked.cumulative == 2 && marked.received_bytes == 8_300);
        let duplicate = receiver.on_data(&packet(1), false).unwrap();
        assert_eq!((duplicate.received_bytes, duplicate.number), (8_300, Some(1)));
        let requested = UecPacket { requests_ack: true, ..packet(4) };
        let ack = receiver.on_data(&requested, false).unwrap();
        assert_eq!((ack.cumulative, ack.bitmap_base, ack.bitmap), (2, 4, 1));
        // The request is answered again when the gap is closed.
        assert_eq!(receiver.on_data(&packet(3), false), None);
        assert_eq!(receiver.on_data(&packet(2), false).unwrap().cumulative, 5);
    }

    #[test]
    fn the_bitmap_ends_with_the_packet_that_causes_the_ack() {
        let mut receiver = UecReceiver::default();
        receiver.on_data(&packet(0), false);
        let numbers = [2, 3, 5, 100];
        let ack = numbers.map(|number| receiver.on_data(&packet(number), false))[3].unwrap();
        assert_eq!((ack.cumulative, ack.bitmap_base, ack.bitmap), (1, 37, 1 << 63));
        let ack = receiver.on_data(&packet(5), false).unwrap();
        assert_eq!((ack.bitmap_base, ack.bitmap), (2, 0b1011));
    }

    #[test]
    fn a_trimmed_packet_is_asked_for_unless_it_has_arrived() {
        let mut receiver = UecReceiver::default();
        receiver.on_data(&packet(0), false);
        let nack = UecNack { number: 1, entropy: 7, is_last_hop: true, is_marked: false };
        assert_eq!(receiver.on_trimmed(&packet(1), false, true), TrimReply::Nack(nack));
        assert!(matches!(receiver.on_trimmed(&packet(0), false, true), TrimReply::Ack(_)));
        assert_eq!(receiver.on_request(3).cumulative, 1);
    }

    proptest! {
        #[test]
        fn any_order_delivers_every_packet_once(
            order in Just((0_u64..300).collect::<Vec<_>>()).prop_shuffle(),
            repeats in prop::collection::vec(0_u64..300, 0..50),
        ) {
            let mut receiver = UecReceiver::default();
            for number in order.iter().take(150).chain(&repeats).chain(&order) {
                if let Some(ack) = receiver.on_data(&packet(*number), false) {
                    for bit in (0..64).filter(|bit| ack.bitmap >> bit & 1 == 1) {
                        prop_assert!(receiver.packets.has(ack.bitmap_base + bit));
                    }
                    prop_assert!(!receiver.packets.has(ack.cumulative));
                }
            }
            prop_assert_eq!((receiver.expected(), receiver.payload_bytes()), (300, 300 * 4_086));
            prop_assert!(receiver.packets.holds_nothing());
        }
    }
}
