//! The messages of TCP: data segments one way, acknowledgements the other.

use crate::Time;

/// One segment in the data direction.
///
/// Sequence numbers are 64-bit byte offsets that never wrap: the SYN is at 0, the first byte of data at 1, and the FIN
/// comes after the last byte. SYN and FIN take one number each and are segments of their own, without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN or FIN.
    pub seq: u64,
    /// Bytes of data that it carries.
    pub payload_bytes: u32,
    /// Opens the connection.
    pub syn: bool,
    /// Ends the data.
    pub fin: bool,
    /// "Congestion window reduced": the sender has seen the receiver's ECN echo (RFC 3168, 6.1.2).
    pub cwr: bool,
    /// Whether a SYN asks for ECN (ECE and CWR both set, RFC 3168, 6.1.1).
    pub ecn_setup: bool,
    /// Whether a SYN asks for accurate ECN (AE, CWR and ECE set, RFC 9768, section 3.1.1).
    pub accurate_ecn_setup: bool,
    /// The packet is ECN-capable: routers may mark it.
    pub ect: bool,
    /// Whether it was sent before; ECN-capable only with `ecn_retransmissions` or `ecn_control_packets` (RFC 3168,
    /// 6.1.5, forbids it).
    pub retransmission: bool,
    /// The time of sending: the value of its timestamp, if timestamps are on (TSval, RFC 7323).
    pub sent: Time,
}

impl Segment {
    /// The sequence number after this segment, whose ACK covers all of it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }
}

/// Up to three SACK blocks, newest first (RFC 2018; three fit with timestamps).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u64, u64); Self::CAPACITY],
    len: u8,
}

impl SackBlocks {
    /// The most blocks that an ACK can carry.
    pub const CAPACITY: usize = 3;

    /// Adds the block `[left, right)`; false, and nothing added, where there is no room.
    pub fn push(&mut self, left: u64, right: u64) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks as `(left, right)`, `right` being the first number after the block.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.iter().copied().take(usize::from(self.len))
    }

    /// The number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there is no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// One acknowledgement, as the receiver sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next sequence number that the receiver waits for: everything below has arrived.
    pub ack: u64,
    /// Whether it is a SYN-ACK.
    pub syn: bool,
    /// ECN echo: a mark has arrived and no CWR since. On a SYN-ACK: the receiver agrees to ECN.
    pub ece: bool,
    /// Feedback of accurate ECN: the bits AE, CWR and ECE (RFC 9768, section 3.2.2). On a SYN-ACK: how the SYN arrived.
    pub ace: Option<u8>,
    /// Option of accurate ECN: the low 24 bits of the counter of marked bytes (RFC 9768, section 3.2.3).
    pub marked_bytes: Option<u32>,
    /// The packet is ECN-capable.
    pub ect: bool,
    /// The data that has arrived above `ack`; the first block may instead report a duplicate (RFC 2883).
    pub sack: SackBlocks,
    /// The timestamp of the segment that is acknowledged (TSecr, RFC 7323); [`Time::NEVER`] without timestamps.
    pub echo: Time,
}

impl Ack {
    /// The duplicate in the first SACK block (RFC 2883, section 4): it is below the cumulative number or within the
    /// second block.
    #[must_use]
    pub fn duplicate_block(&self) -> Option<(u64, u64)> {
        let mut blocks = self.sack.iter();
        let (left, right) = blocks.next()?;
        let is_within = |(l, r): (u64, u64)| l <= left && right <= r;
        (right <= self.ack || blocks.next().is_some_and(is_within)).then_some((left, right))
    }
}

impl Default for Ack {
    fn default() -> Self {
        Self {
            ack: 0,
            syn: false,
            ece: false,
            ace: None,
            marked_bytes: None,
            ect: false,
            sack: SackBlocks::default(),
            echo: Time::NEVER,
        }
    }
}

/// Takes the segments that a sender emits, in order.
pub trait SegmentOut {
    /// Takes one segment.
    fn segment(&mut self, segment: Segment);

    /// When the last segment leaves the sender's host; any time in the past if that is not known.
    fn departure(&self) -> Time {
        Time::ZERO
    }
}

/// Takes the ACKs that a receiver emits, in order.
pub trait AckOut {
    /// Takes one ACK.
    fn ack(&mut self, ack: Ack);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_segment_end_after_payload_syn_and_fin() {
        let segment = Segment { seq: 100, payload_bytes: 10, ..Segment::default() };
        assert_eq!(segment.end(), 110);
        assert_eq!(Segment { syn: true, ..segment }.end(), 111);
        assert_eq!(Segment { syn: true, fin: true, ..segment }.end(), 112);
    }

    #[test]
    fn an_ack_carries_three_blocks() {
        let mut blocks = SackBlocks::default();
        assert!(blocks.is_empty());
        for count in 1..=3 {
            assert!(blocks.push(10 * count, 10 * count + 5));
            assert_eq!((blocks.len(), blocks.is_empty()), (count as usize, false));
        }
        assert!(!blocks.push(90, 95));
        assert!(blocks.iter().eq([(10, 15), (20, 25), (30, 35)]));
    }

    #[test]
    fn the_first_block_tells_of_a_duplicate_below_the_ack_or_within_the_second_block() {
        let duplicate = |blocks: &[(u64, u64)]| {
            let mut ack = Ack { ack: 50, ..Ack::default() };
            for &(left, right) in blocks {
                ack.sack.push(left, right);
            }
            ack.duplicate_block()
        };
        assert_eq!(duplicate(&[]), None);
        assert_eq!(duplicate(&[(40, 50)]), Some((40, 50)));
        assert_eq!(duplicate(&[(45, 51)]), None);
        assert_eq!(duplicate(&[(60, 70), (60, 70)]), Some((60, 70)));
        assert_eq!(duplicate(&[(62, 68), (60, 70)]), Some((62, 68)));
        assert_eq!(duplicate(&[(59, 70), (60, 70)]), None);
        assert_eq!(duplicate(&[(60, 71), (60, 70)]), None);
        assert_eq!(duplicate(&[(80, 90), (60, 70)]), None);
    }
}
