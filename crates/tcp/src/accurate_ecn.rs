//! Accurate ECN: the receiver counts marks and the sender reads its counters.
//!
//! # What it does
//! The receiver counts packets and bytes that arrive marked. Each ACK carries the packet counter modulo 8 in the three
//! header bits AE, CWR and ECE (the field ACE). ACKs after a mark also carry the byte counter in a TCP option. The
//! sender derives from both how many marks are new. If ACKs were lost, so that the counter may have wrapped, it assumes
//! the larger number unless the byte counter speaks against it.
//!
//! # Source
//! RFC 9768, sections 3.1 (handshake), 3.2.1 (counters), 3.2.2 (ACE and its decoding, with appendix A.2), 3.2.2.5 (when
//! to acknowledge), 3.2.3 (the option).
//!
//! # Where we differ
//! Data flows one way, so that only the ACKs carry feedback, and marks on ACKs are not reported. Both ends have the
//! same configuration: there is no fallback to another mode, and no path clears the bits. The option has only the
//! counter of marked bytes and that of the codepoint in use (8 bytes); traces show the header bits and not the option.
//! Linux sends the option on every ACK by default, and an ACK at once where a run of marks begins or ends. Here the
//! option comes after marks and the ACK at the first mark, so that a long ACK without the option counts as a full turn
//! of ACE. Linux takes the smaller count then if ACKs report more than four packets on average; here the larger counts.
//! A mark on the SYN does not reduce the initial window. Recoveries without the time of each segment take the number of
//! newly acknowledged packets from the cumulative number alone.
//!
//! # Parameters
//! `ecn_feedback`.

/// The counter of marked packets at the start (r.cep, s.cep).
const INITIAL_PACKETS: u64 = 5;
/// The values of ACE.
const ACE_VALUES: u64 = 8;
/// Byte counters have 24 bits.
const BYTES_MASK: u64 = (1 << 24) - 1;
/// Marks after which an ACK is due while data is unacknowledged (n of section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// Bytes of the option with two counters, which ACKs after a mark carry.
pub const OPTION_BYTES: u64 = 8;

/// ACE on a SYN-ACK: the codepoint with which the SYN arrived (table 2). Bits AE, CWR, ECE.
pub(crate) mod syn_ack {
    pub const NOT_ECT: u8 = 0b010;
    pub const ECT1: u8 = 0b011;
    pub const ECT0: u8 = 0b100;
    pub const CE: u8 = 0b110;

    /// Whether it agrees to accurate ECN: 001 is that of RFC 3168, 000 and 111 are none. 101 is reserved, and counts.
    pub fn agrees(ace: u8) -> bool {
        !matches!(ace, 0b000 | 0b001 | 0b111)
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// Packets that arrived marked (r.cep).
    packets: u64,
    /// Payload that arrived marked (r.ceb).
    bytes: u64,
    /// The byte counter of the last option.
    reported_bytes: u64,
    /// The last packet arrived marked.
    is_marked: bool,
    /// Marks since the last ACK.
    unreported: u32,
}

impl Default for Counters {
    fn default() -> Self {
        Self { packets: INITIAL_PACKETS, bytes: 0, reported_bytes: 0, is_marked: false, unreported: 0 }
    }
}

impl Counters {
    /// A packet arrives. Returns whether it calls for an ACK at once.
    pub fn count(&mut self, is_marked: bool, payload_bytes: u32) -> bool {
        let is_first = is_marked && !self.is_marked;
        self.is_marked = is_marked;
        if is_marked {
            self.packets += 1;
            self.bytes += u64::from(payload_bytes);
            self.unreported += 1;
        }
        is_first || self.unreported >= MARKS_PER_ACK
    }

    /// The feedback of an ACK that is sent now: ACE, and the byte counter if it has changed.
    pub fn report(&mut self) -> (u8, Option<u32>) {
        self.unreported = 0;
        let has_changed = self.bytes != self.reported_bytes;
        self.reported_bytes = self.bytes;
        ((self.packets % ACE_VALUES) as u8, has_changed.then_some((self.bytes & BYTES_MASK) as u32))
    }
}

/// A sender's copies of the counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoder {
    /// Marked packets (s.cep).
    packets: u64,
    /// Marked bytes modulo 2^24 (s.ceb).
    bytes: u64,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { packets: INITIAL_PACKETS, bytes: 0 }
    }
}

impl Decoder {
    /// The packets newly reported as marked by an ACK that newly reports so many packets as arrived.
    pub fn decode(&mut self, ace: u8, byte_counter: Option<u32>, newly_acknowledged: u64, segment_bytes: u64) -> u64 {
        let marked_bytes = byte_counter.map(|counter| {
            let bytes = u64::from(counter).wrapping_sub(self.bytes) & BYTES_MASK;
            self.bytes = u64::from(counter);
            bytes
        });
        let least = (u64::from(ace) + ACE_VALUES - self.packets % ACE_VALUES) % ACE_VALUES;
        let marked = safer(least, newly_acknowledged, marked_bytes, segment_bytes);
        self.packets += marked;
        marked
    }
}

/// Appendix A.2.1: how many marks there may have been, if ACE shows `least` modulo 8.
fn safer(least: u64, newly_acknowledged: u64, marked_bytes: Option<u64>, segment_bytes: u64) -> u64 {
    if newly_acknowledged < least {
        return least;
    }
    // Appendix A.2.2: the byte counter shows that the counter has not wrapped. Its second condition, less than half a
    // segment per mark otherwise, follows, as `least` is below 8.
    if marked_bytes.is_some_and(|bytes| bytes <= least * segment_bytes) {
        return least;
    }
    newly_acknowledged - (newly_acknowledged - least) % ACE_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_may_have_wrapped_counts_as_wrapped() {
        // Appendix A.2: newly acknowledged packets, difference of ACE, marks.
        for (newly, least, marked) in
            [(0, 0, 0), (1, 1, 1), (7, 2, 2), (8, 0, 8), (9, 2, 2), (10, 2, 10), (18, 2, 18), (19, 2, 18)]
        {
            assert_eq!(safer(least, newly, None, 1460), marked, "{newly} {least}");
        }
        assert_eq!(safer(2, 10, Some(1460), 1460), 2);
        assert_eq!(safer(2, 10, Some(2 * 1460), 1460), 2);
        assert_eq!(safer(2, 10, Some(2 * 1460 + 1), 1460), 10);
        assert_eq!(safer(2, 10, Some(10 * 1460), 1460), 10);
        // More marks than packets: others than these were marked.
        assert_eq!(safer(5, 1, None, 1460), 5);
    }

    #[test]
    fn the_sender_follows_the_receiver() {
        let (mut counters, mut decoder) = (Counters::default(), Decoder::default());
        assert_eq!(counters.report(), (5, None));
        assert_eq!(decoder.decode(5, None, 1, 1460), 0);
        for (marks, total) in [(1_u64, 1_u64), (3, 4), (0, 4), (7, 11)] {
            for _ in 0..marks {
                counters.count(true, 1460);
            }
            counters.count(false, 1460);
            let (ace, bytes) = counters.report();
            assert_eq!(u64::from(ace), (INITIAL_PACKETS + total) % 8);
            assert_eq!(bytes.is_some(), marks > 0);
            assert_eq!(decoder.decode(ace, bytes, marks + 1, 1460), marks);
        }
    }

    #[test]
    fn a_syn_ack_agrees_unless_it_shows_another_mode() {
        // Table 2: Not-ECT, ECT(1), ECT(0), the reserved value, and CE.
        let agrees: [bool; 8] = core::array::from_fn(|ace| syn_ack::agrees(ace as u8));
        assert_eq!(agrees, [false, false, true, true, true, true, true, false]);
    }

    #[test]
    fn the_byte_counter_wraps_at_24_bits() {
        let mut counters = Counters { bytes: 33_554_432, ..Counters::default() };
        counters.count(true, 1);
        assert_eq!(counters.report(), (6, Some(1)));
        // Section 3.2.1: it starts at 0. A byte more than one segment is more than one mark, of 20 - (20 - 1) % 8.
        assert_eq!(Decoder::default().decode(6, Some(1460), 20, 1460), 1);
        assert_eq!(Decoder::default().decode(6, Some(1461), 20, 1460), 17);
        let mut decoder = Decoder { packets: 5, bytes: 33_554_433 & BYTES_MASK };
        // 1 + 1460.
        assert_eq!(decoder.decode(6, Some(1461), 20, 1460), 1);
        assert_eq!(decoder.bytes, 1461);
        let mut decoder = Decoder { packets: 5, bytes: BYTES_MASK };
        assert_eq!(decoder.decode(6, Some(1459), 20, 1460), 1);
    }

    #[test]
    fn the_first_mark_and_every_second_one_calls_for_an_ack() {
        assert!(Counters::default().count(true, 10));
        let mut counters = Counters::default();
        assert!(!counters.count(false, 10));
        assert!(counters.count(true, 10));
        counters.report();
        assert!(!counters.count(true, 10));
        assert!(counters.count(true, 10));
        counters.report();
        assert!(!counters.count(false, 10));
        assert!(counters.count(true, 10));
    }
}
