//! Facts about a packet that few disciplines need: its hosts, its TCP header, its framing.
//!
//! The caller of a discipline owns them. It is asked, through [`Cx::flow_info`](crate::Cx::flow_info), only by those
//! that need them.

use crate::{FlowKey, Packet, Time};

/// Facts about a packet that arrives, beyond its [`Packet`] properties, from the caller of a discipline.
///
/// Only about the arriving packet, during [`Discipline::enqueue`](crate::Discipline::enqueue): a caller may forget the
/// headers of a packet that is queued.
pub trait FlowInfo<P> {
    /// The hosts between which the packet travels.
    fn hosts(&self, packet: &P) -> Hosts;

    /// Its TCP header, if it has one that is visible.
    fn tcp_header(&self, packet: &P) -> Option<TcpHeader>;

    /// Bytes of its length that are not its IP packet: the header of the link layer, and framing that is counted.
    fn framing_bytes(&self, packet: &P) -> u32;

    /// Whether it belongs to the address resolution protocol.
    fn is_arp(&self, packet: &P) -> bool;

    /// Bytes of its flow from the first of this packet on, if its sender states them: 0 for an ACK.
    fn remaining_bytes(&self, _packet: &P) -> Option<u64> {
        None
    }

    /// The time at which it left its source, if it shows that.
    fn departure(&self, _packet: &P) -> Option<Time> {
        None
    }
}

/// The source and the destination of a packet, as opaque keys: equal for the packets of a host, different (with
/// overwhelming probability) for those of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    /// The sender.
    pub source: u64,
    /// The receiver.
    pub destination: u64,
}

/// The parts of a TCP header that an ACK filter reads (RFC 9293, section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// The flags, in the bits of the header's 16-bit word: see the constants.
    pub flags: u16,
    /// The cumulative number.
    pub number: u32,
    /// Whether the segment carries no data.
    pub is_pure: bool,
    /// The blocks of its SACK option (RFC 2018).
    pub sack: SackOption,
    /// Its timestamps, TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Whether it has an option other than padding, SACK, timestamps and the MD5 signature, or one of these that is
    /// malformed.
    pub has_other_options: bool,
}

impl TcpHeader {
    /// FIN.
    pub const FIN: u16 = 1;
    /// SYN.
    pub const SYN: u16 = 1 << 1;
    /// ACK.
    pub const ACK: u16 = 1 << 4;
    /// ECN echo (RFC 3168).
    pub const ECE: u16 = 1 << 6;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u16 = 1 << 7;
    /// Accurate ECN (RFC 9768).
    pub const AE: u16 = 1 << 8;
    /// All flags, with the reserved bits.
    pub const ALL: u16 = 0x0fff;
}

/// Up to four blocks of a SACK option: first number, and the number after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackOption {
    blocks: [(u32, u32); Self::CAPACITY],
    len: u8,
}

impl SackOption {
    /// The most that an option has room for.
    pub const CAPACITY: usize = 4;

    /// The first of these blocks.
    #[must_use]
    pub fn new(blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut taken = Self::default();
        for (place, block) in taken.blocks.iter_mut().zip(blocks) {
            *place = block;
            taken.len += 1;
        }
        taken
    }

    /// The blocks.
    #[must_use]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// The answers of a caller that knows packets by their flows only: each flow has hosts of its own, and no header is
/// visible.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowKeysOnly;

impl<P: Packet> FlowInfo<P> for FlowKeysOnly {
    fn hosts(&self, packet: &P) -> Hosts {
        let FlowKey(key) = packet.flow();
        Hosts { source: key, destination: key }
    }

    fn tcp_header(&self, _packet: &P) -> Option<TcpHeader> {
        None
    }

    fn framing_bytes(&self, _packet: &P) -> u32 {
        0
    }

    fn is_arp(&self, _packet: &P) -> bool {
        false
    }
}
