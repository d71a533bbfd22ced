//! The simulated packet: 32 bytes, by value.

use forebay_qdisc::{Ecn, FlowKey, Time};

/// Which of the network's flows a packet belongs to: an index.
pub type FlowId = u32;

/// What a packet is, as bits of [`Packet::flags`].
pub mod flags {
    /// It travels against the data: a TCP acknowledgement.
    pub const ACK: u8 = 1;
    /// TCP SYN.
    pub const SYN: u8 = 1 << 1;
    /// TCP FIN.
    pub const FIN: u8 = 1 << 2;
    /// TCP ECN echo.
    pub const ECE: u8 = 1 << 3;
    /// TCP congestion window reduced.
    pub const CWR: u8 = 1 << 4;
    /// A SYN that offers, or a SYN-ACK that accepts, ECN.
    pub const ECN_SETUP: u8 = 1 << 5;
    /// Sent before.
    pub const RETRANSMISSION: u8 = 1 << 6;
}

/// A packet in flight. 32 bytes on purpose: at 40 bytes a packet-hop was measured to cost an eighth more, at 64 a third.
/// What only some packets need is kept in side tables ([`crate::SackTable`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it arrives at the next process.
    pub time: Time,
    /// Of data: when it left its source, in picoseconds. Of an ACK: its slot in the [`crate::SackTable`] (0: none).
    pub stamp: u64,
    /// Of data: the sequence number; of an ACK: the acknowledged number. The low 32 bits, as on the wire.
    pub number: u32,
    /// Its flow.
    pub flow: FlowId,
    /// Length on the wire in bytes.
    pub len_bytes: u16,
    /// The input port by which it reached the node where it is.
    pub input_port: u16,
    /// See [`flags`].
    pub flags: u8,
    /// How many processes of its path it has reached.
    pub hop: u8,
    /// Traffic class.
    pub class: u8,
    /// ECN codepoint.
    pub ecn: Ecn,
}

const _: () = assert!(size_of::<Packet>() == 32);

impl Packet {
    /// Whether it travels against the data of its flow.
    #[must_use]
    pub const fn is_ack(&self) -> bool {
        self.flags & flags::ACK != 0
    }

    /// Index of (flow, direction): even for data, odd for ACKs.
    #[must_use]
    pub const fn direction_index(&self) -> usize {
        (self.flow as usize) * 2 + (self.flags & flags::ACK) as usize
    }
}

impl forebay_qdisc::Packet for Packet {
    fn flow(&self) -> FlowKey {
        flow_key(self.flow, self.is_ack())
    }

    fn len_bytes(&self) -> u32 {
        u32::from(self.len_bytes)
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn input_port(&self) -> u16 {
        self.input_port
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }
}

/// The key under which queue disciplines know a simulated flow: its ACKs are a flow of their own, as a five-tuple is.
#[must_use]
pub const fn flow_key(flow: FlowId, ack: bool) -> FlowKey {
    FlowKey((flow as u64) << 1 | ack as u64)
}

/// The 64-bit number nearest to `reference` whose low 32 bits are `low`: undoes the wrap of a 32-bit sequence number.
#[must_use]
pub const fn unwrap_number(low: u32, reference: u64) -> u64 {
    let difference = low.wrapping_sub(reference as u32) as i32;
    reference.wrapping_add_signed(difference as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_survive_the_wrap() {
        let four_gigabytes = 1_u64 << 32;
        for number in [0, 1, 5_000, four_gigabytes - 1, four_gigabytes, four_gigabytes + 70_000, 3 * four_gigabytes] {
            for reference in [number.saturating_sub(1 << 30), number, number + (1 << 30)] {
                assert_eq!(unwrap_number(number as u32, reference), number);
            }
        }
    }
}
