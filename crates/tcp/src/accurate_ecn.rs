//! Accurate ECN: the receiver counts marks and the sender reads its counters.
//!
//! # What it does
//! The receiver counts packets and bytes that arrive marked. Each ACK carries the packet counter modulo 8 in the three
//! header bits AE, CWR and ECE (the field ACE), and the byte counter in a TCP option. The sender derives from both how
//! many marks are new. If an ACK reports so many packets that ACE may have wrapped, the share of marked bytes decides.
//! Without the option the sender assumes the larger number, unless ACKs report more than four packets on average, as on
//! paths that drop or merge ACKs.
//!
//! # Source
//! RFC 9768, sections 3.1 (handshake), 3.2.1 (counters), 3.2.2 (ACE and its decoding, with appendix A.2), 3.2.2.5 (when
//! to acknowledge), 3.2.3 (the option). The patches that became Linux's accurate ECN: `__tcp_accecn_process` (the
//! share of bytes, the average of packets for each ACK, ACKs that were overtaken), `tcp_ecn_received_counters` (ACKs
//! where marks end). RFC 9768 asks for these ACKs only where marks begin.
//!
//! # Where we differ
//! Data flows one way, so that only the ACKs carry feedback, and marks on ACKs are not reported. Both ends have the
//! same configuration: there is no fallback to another mode, and no path clears the bits. The option has only the
//! counter of marked bytes and that of the codepoint in use (8 bytes); Linux also sends the third where it has room.
//! Linux also decodes an ACK without news if its timestamp is newer; here the next ACK with news has its marks. Linux
//! uses the share of bytes without SACK only outside of recovery. An option whose counters go back counts there as
//! absent.
//! Traces show the header bits and not the option. A mark on the SYN does not reduce the initial window. Recoveries
//! without the time of each segment take the number of newly acknowledged packets from the cumulative number alone.
//!
//! # Parameters
//! `ecn_feedback`, `ecn_option`.

/// The counter of marked packets at the start (r.cep, s.cep).
const INITIAL_PACKETS: u64 = 5;
/// The values of ACE.
const ACE_VALUES: u64 = 8;
/// Byte counters have 24 bits.
const BYTES_MASK: u32 = (1 << 24) - 1;
/// Marks after which an ACK is due while data is unacknowledged (n of section 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// From so many packets on ACE may have wrapped more than once.
const PACKETS_OF_TWO_TURNS: u64 = 2 * ACE_VALUES;
/// An ACK has this part, 2^-6, in the average of packets for each ACK (`PKTS_ACKED_WEIGHT`).
const AVERAGE_WEIGHT: u32 = 6;
/// The fractional bits of that average (`PKTS_ACKED_PREC`).
const AVERAGE_BITS: u32 = 6;
/// With more packets on average, an ACK of many packets is usual (`ACK_COMP_THRESH`).
const USUAL_PACKETS: u16 = 4;
/// Bytes of the option with two counters.
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
    /// The last packet arrived marked.
    is_marked: bool,
    /// Marks since the last ACK.
    unreported: u32,
}

impl Default for Counters {
    fn default() -> Self {
        Self { packets: INITIAL_PACKETS, bytes: 0, is_marked: false, unreported: 0 }
    }
}

impl Counters {
    /// A packet arrives. Returns whether it calls for an ACK at once: a run of marks begins or ends with it, or marks
    /// are due.
    pub fn count(&mut self, is_marked: bool, payload_bytes: u32) -> bool {
        let is_edge = is_marked != self.is_marked;
        self.is_marked = is_marked;
        if is_marked {
            self.packets += 1;
            self.bytes += u64::from(payload_bytes);
            self.unreported += 1;
        }
        is_edge || self.unreported >= MARKS_PER_ACK
    }

    /// The feedback of an ACK that is sent now: ACE and the byte counter.
    pub fn report(&mut self) -> (u8, u32) {
        self.unreported = 0;
        ((self.packets % ACE_VALUES) as u8, self.bytes as u32 & BYTES_MASK)
    }
}

/// A sender's copies of the counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoder {
    /// Marked packets (s.cep).
    packets: u64,
    /// Marked bytes modulo 2^24 (s.ceb).
    bytes: u32,
    /// The average of the packets that an ACK newly reports as arrived; 0 before the first one.
    average: u16,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { packets: INITIAL_PACKETS, bytes: 0, average: 0 }
    }
}

impl Decoder {
    /// The packets newly reported as marked by an ACK that newly reports so many bytes as arrived. An ACK without such
    /// news may have been overtaken, and a later one has its marks.
    pub fn decode(&mut self, ace: u8, byte_counter: Option<u32>, arrived_bytes: u64, segment_bytes: u64) -> u64 {
        if arrived_bytes == 0 {
            return 0;
        }
        let marked_bytes = byte_counter.map(|counter| {
            let bytes = counter.wrapping_sub(self.bytes) & BYTES_MASK;
            self.bytes = counter;
            u64::from(bytes)
        });
        let packets = arrived_bytes.div_ceil(segment_bytes);
        self.note_length(packets);
        let least = (u64::from(ace) + ACE_VALUES - self.packets % ACE_VALUES) % ACE_VALUES;
        let most = least + packets.saturating_sub(least) / ACE_VALUES * ACE_VALUES;
        let marked = match marked_bytes {
            None if self.average > USUAL_PACKETS << AVERAGE_BITS => least,
            None => most,
            Some(marked) if packets >= PACKETS_OF_TWO_TURNS => {
                let share = (marked * packets).div_ceil(arrived_bytes);
                most.min(least + share / ACE_VALUES * ACE_VALUES)
            }
            // Appendix A.2.2. Its second condition, less than half a segment per mark otherwise, follows, as `least` is
            // below 8.
            Some(marked) if marked <= least * segment_bytes => least,
            Some(_) => most,
        };
        self.packets += marked;
        marked
    }

    /// Averages the packets for each ACK, in Linux's arithmetic.
    fn note_length(&mut self, packets: u64) {
        let packets = packets << AVERAGE_BITS;
        let average = match self.average {
            0 => packets,
            average => ((u64::from(average) << AVERAGE_WEIGHT) - u64::from(average) + packets) >> AVERAGE_WEIGHT,
        };
        self.average = average.min(u16::MAX.into()) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1460;

    /// The marks that a new sender reads from an ACK of so many segments that shows the start of ACE plus `least`.
    fn decoded(packets: u64, least: u64, marked_bytes: Option<u32>) -> u64 {
        let ace = ((INITIAL_PACKETS + least) % ACE_VALUES) as u8;
        // The first ACK, of one packet, makes long ones unusual.
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(5, Some(0), SEGMENT, SEGMENT), 0);
        decoder.decode(ace, marked_bytes, packets * SEGMENT, SEGMENT)
    }

    #[test]
    fn a_counter_that_may_have_wrapped_counts_as_wrapped() {
        // Appendix A.2: newly acknowledged packets, difference of ACE, marks.
        for (packets, least, marked) in
            [(1, 0, 0), (1, 1, 1), (7, 2, 2), (8, 0, 8), (9, 2, 2), (10, 2, 10), (18, 2, 18), (19, 2, 18)]
        {
            assert_eq!(decoded(packets, least, None), marked, "{packets} {least}");
        }
        // More marks than packets: others than these were marked.
        assert_eq!(decoded(1, 5, None), 5);
        assert_eq!(decoded(1, 5, Some(5 * 1460)), 5);
    }

    #[test]
    fn the_counter_of_bytes_decides_whether_the_other_has_wrapped() {
        for (marked_bytes, marked) in [(0, 2), (1460, 2), (2 * 1460, 2), (2 * 1460 + 1, 10), (10 * 1460, 10)] {
            assert_eq!(decoded(10, 2, Some(marked_bytes)), marked, "{marked_bytes}");
        }
    }

    /// Linux: from 16 packets on, the marked share of the bytes says how often ACE has wrapped.
    #[test]
    fn the_share_of_marked_bytes_counts_the_turns() {
        for (packets, least, marked_packets, marked) in [
            (15, 1, 9, 9),
            (16, 0, 0, 0),
            (16, 0, 7, 0),
            (16, 0, 8, 8),
            (40, 2, 2, 2),
            (40, 2, 10, 10),
            (40, 7, 15, 15),
            (40, 0, 40, 40),
            // At most what ACE allows: 16 + 7 would be more marks than packets. Other packets may have been marked.
            (16, 7, 16, 15),
            (16, 0, 40, 16),
        ] {
            assert_eq!(decoded(packets, least, Some(marked_packets * 1460)), marked, "{packets} {least}");
        }
        // A share of a packet counts as one.
        assert_eq!(decoded(40, 0, Some(7 * 1460 + 1)), 8);
        assert_eq!(decoded(40, 0, Some(7 * 1460)), 0);
    }

    /// Linux: (63 · average + 64 · packets) / 64, truncated; 4 packets are 256.
    #[test]
    fn where_acks_of_many_packets_are_usual_the_counter_has_not_wrapped() {
        let mut decoder = Decoder::default();
        let mut decode = |ace, bytes, packets| {
            let marked = decoder.decode(ace, bytes, packets * SEGMENT, SEGMENT);
            (marked, decoder.average)
        };
        assert_eq!(decode(5, None, 2), (0, 128));
        assert_eq!(decode(5, None, 9), (8, 135), "an ACK of nine packets is unusual");
        assert_eq!(decode(5, None, 0), (0, 135), "an ACK that reports no packet does not count");
        let lengthened = (1..).find(|_| decode(5, None, 9).0 == 0);
        // 135 + (576 - 135) (1 - (63/64)^n) exceeds 256 from n = 21 on; truncation takes two more.
        assert_eq!(lengthened, Some(23));
        assert_eq!(decode(6, None, 10).0, 1);
        assert_eq!(decode(7, Some(2 * 1460), 10).0, 9, "the byte counter decides where it is known");
        assert_eq!(decode(7, None, 1_000_000).1, 65_535);
        // Four packets on average are not usual yet: (63 · 252 + 64 · 8) / 64 is 256.
        for (average, marked) in [(252, 8), (253, 0)] {
            let mut decoder = Decoder { average, ..Decoder::default() };
            assert_eq!(decoder.decode(5, None, 8 * SEGMENT, SEGMENT), marked);
        }
    }

    /// Linux: without forward progress, its ACE may be that of an earlier time.
    #[test]
    fn an_overtaken_ack_shows_no_marks() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(7, Some(2 * 1460), 3 * SEGMENT, SEGMENT), 2);
        assert_eq!(decoder.decode(6, Some(1460), 0, SEGMENT), 0);
        assert_eq!(decoder.decode(0, Some(3 * 1460), 2 * SEGMENT, SEGMENT), 1);
    }

    #[test]
    fn the_sender_follows_the_receiver() {
        let (mut counters, mut decoder) = (Counters::default(), Decoder::default());
        assert_eq!(counters.report(), (5, 0));
        for (marks, total) in [(1_u64, 1_u64), (3, 4), (0, 4), (7, 11), (40, 51)] {
            for _ in 0..marks {
                counters.count(true, 1460);
            }
            counters.count(false, 1460);
            let (ace, bytes) = counters.report();
            assert_eq!((u64::from(ace), u64::from(bytes)), ((INITIAL_PACKETS + total) % 8, total * SEGMENT));
            assert_eq!(decoder.decode(ace, Some(bytes), (marks + 1) * SEGMENT, SEGMENT), marks);
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
        assert_eq!(counters.report(), (6, 1));
        // Section 3.2.1: it starts at 0. A byte more than one segment is more than one mark, of 14 - (14 - 1) % 8.
        assert_eq!(decoded(14, 1, Some(1460)), 1);
        assert_eq!(decoded(14, 1, Some(1461)), 9);
        for (before, counter) in [(33_554_433 & BYTES_MASK, 1461), (BYTES_MASK, 1459)] {
            let mut decoder = Decoder { bytes: before, ..Decoder::default() };
            assert_eq!(decoder.decode(6, Some(counter), 14 * SEGMENT, SEGMENT), 1);
            assert_eq!(decoder.bytes, counter);
        }
    }

    #[test]
    fn the_first_mark_every_second_one_and_the_end_of_marks_call_for_an_ack() {
        assert!(Counters::default().count(true, 10));
        let mut counters = Counters::default();
        assert!(!counters.count(false, 10));
        assert!(counters.count(true, 10));
        counters.report();
        assert!(!counters.count(true, 10));
        assert!(counters.count(true, 10));
        counters.report();
        assert!(counters.count(false, 10));
        assert!(!counters.count(false, 10));
        assert!(counters.count(true, 10));
    }
}
