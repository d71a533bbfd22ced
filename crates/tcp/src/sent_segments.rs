//! The data in flight, segment by segment: when each was last sent, and its state.

use alloc::collections::VecDeque;

use crate::Time;
use crate::delivery_rate::TransmissionNumber;
use crate::scoreboard::Scoreboard;
use crate::segment::Ack;

/// A segment that was sent and is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentSegment {
    /// Its first number, and the number after its last.
    pub start: u64,
    pub end: u64,
    /// The time of its last transmission.
    pub sent: Time,
    /// The number of that transmission, where delivery is measured.
    pub transmission: TransmissionNumber,
    pub is_retransmitted: bool,
    /// Whether it has arrived out of order.
    is_sacked: bool,
    /// Whether it is lost and has not been sent again since then.
    is_lost: bool,
    /// Whether it was found lost and has not arrived, sent again or not (Linux's `TCPCB_LOST`).
    is_unrepaired: bool,
}

impl SentSegment {
    fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Whether it was found lost before, and sent again.
    pub fn is_resent_loss(&self) -> bool {
        self.is_unrepaired && !self.is_lost
    }
}

/// The segments in flight, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct SentSegments {
    segments: VecDeque<SentSegment>,
    /// The first number that is not acknowledged cumulatively.
    first: u64,
    /// The data that has arrived above it.
    scoreboard: Scoreboard,
    sacked_bytes: u64,
    sacked: usize,
    lost_bytes: u64,
    lost: usize,
    /// Segments found lost that have not arrived, sent again or not (Linux's `lost_out`).
    unrepaired: usize,
    /// No segment below this is lost and unsent.
    lost_from: u64,
    /// Segments in flight that were sent more than once.
    retransmitted: usize,
}

impl SentSegments {
    /// Nothing in flight; the first byte of data has number 1.
    pub fn new() -> Self {
        Self {
            segments: VecDeque::new(),
            first: 1,
            scoreboard: Scoreboard::default(),
            sacked_bytes: 0,
            sacked: 0,
            lost_bytes: 0,
            lost: 0,
            unrepaired: 0,
            lost_from: 0,
            retransmitted: 0,
        }
    }

    /// The first segment from `from` on that has not arrived.
    pub fn first_missing(&self, from: u64) -> Option<SentSegment> {
        let index = self.segments.partition_point(|segment| segment.start < from);
        self.segments.range(index..).find(|segment| !segment.is_sacked).copied()
    }

    /// The segment with the highest number.
    pub fn last(&self) -> Option<SentSegment> {
        self.segments.back().copied()
    }

    /// The data that has arrived out of order.
    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Segments that have arrived out of order (RACK.segs_sacked).
    pub fn sacked_segments(&self) -> usize {
        self.sacked
    }

    /// Whether anything was found lost and has not arrived, sent again or not.
    pub fn has_unrepaired(&self) -> bool {
        self.unrepaired > 0
    }

    /// Segments in the network: all but those that have arrived and those that are lost.
    pub fn in_flight_segments(&self) -> usize {
        self.segments.len() - self.sacked - self.lost
    }

    /// Retransmissions that may still arrive. The one of the segment that ends at `probe_end` is among them, whatever
    /// became of the segment.
    pub fn resent_in_flight(&self, probe_end: Option<u64>) -> u64 {
        if self.retransmitted == 0 {
            return 0;
        }
        let is_resent = |segment: &&SentSegment| {
            Some(segment.end) == probe_end || segment.is_retransmitted && !segment.is_sacked && !segment.is_lost
        };
        self.segments.iter().filter(is_resent).count() as u64
    }

    /// The data that is lost and has not been sent again.
    #[cfg(test)]
    pub fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// The data in the network: all except arrived and lost data (RFC 6675's pipe).
    pub fn in_flight_bytes(&self) -> u64 {
        let end = self.segments.back().map_or(self.first, |last| last.end);
        end - self.first - self.sacked_bytes - self.lost_bytes
    }

    /// Whether anything in flight may have been sent before `latest`, (time, end) of a segment that has arrived.
    pub fn may_be_overtaken(&self, latest: (Time, u64)) -> bool {
        self.sacked_bytes > 0
            || self.retransmitted > 0
            || self.segments.front().is_some_and(|first| (first.sent, first.end) < latest)
    }

    /// A new segment is sent.
    pub fn note_new(&mut self, start: u64, end: u64, transmission: TransmissionNumber, now: Time) {
        self.segments.push_back(SentSegment {
            start,
            end,
            sent: now,
            transmission,
            is_retransmitted: false,
            is_sacked: false,
            is_lost: false,
            is_unrepaired: false,
        });
    }

    /// The segment that starts at `start` is sent again.
    pub fn note_retransmission(&mut self, start: u64, transmission: TransmissionNumber, now: Time) {
        let index = self.segments.partition_point(|segment| segment.start < start);
        let Some(segment) = self.segments.get_mut(index) else { return };
        self.retransmitted += usize::from(!segment.is_retransmitted);
        segment.sent = now;
        segment.transmission = transmission;
        segment.is_retransmitted = true;
        if core::mem::take(&mut segment.is_lost) {
            self.lost_bytes -= segment.bytes();
            self.lost -= 1;
        }
    }

    /// Bytes that an ACK newly reports as arrived.
    pub fn news_of(&self, ack: &Ack) -> u64 {
        let unknown = |mut from: u64, to: u64| {
            let mut bytes = 0;
            while let Some((start, end)) = self.scoreboard.hole(from, to) {
                bytes += end - start;
                from = end;
            }
            bytes
        };
        let blocks = ack.sack.iter().skip(usize::from(ack.duplicate_block().is_some()));
        let above = blocks.map(|(left, right)| unknown(left.max(ack.ack), right));
        unknown(self.first, ack.ack) + above.sum::<u64>()
    }

    /// Takes out the next segment below the cumulative ACK that had not been known to have arrived.
    pub fn pop_acknowledged(&mut self, acknowledged: u64) -> Option<SentSegment> {
        while let Some(segment) = self.segments.front_mut()
            && segment.start < acknowledged
        {
            let mut arrived = *segment;
            if segment.end > acknowledged {
                // A part of it: the rest is a separate segment.
                arrived.end = acknowledged;
                segment.start = acknowledged;
            } else {
                self.segments.pop_front();
                self.retransmitted -= usize::from(arrived.is_retransmitted);
                self.sacked -= usize::from(arrived.is_sacked);
                self.lost -= usize::from(arrived.is_lost);
                self.unrepaired -= usize::from(arrived.is_unrepaired);
            }
            self.first = arrived.end;
            if arrived.is_lost {
                self.lost_bytes -= arrived.bytes();
            }
            if arrived.is_sacked {
                self.sacked_bytes -= arrived.bytes();
                continue;
            }
            return Some(arrived);
        }
        self.first = self.first.max(acknowledged);
        self.scoreboard.advance(self.first);
        None
    }

    /// Returns the next segment from `from` on, in a SACK block up to `right`, whose arrival is news, and moves `from`
    /// behind it. Segments that a block covers in part have not arrived.
    pub fn sack_next(&mut self, from: &mut u64, right: u64) -> Option<SentSegment> {
        let (start, _) = self.scoreboard.hole(*from, right)?;
        let index = self.segments.partition_point(|segment| segment.start < start);
        let segment = self.segments.get_mut(index).filter(|segment| segment.end <= right)?;
        *from = segment.end;
        segment.is_sacked = true;
        self.sacked += 1;
        self.unrepaired -= usize::from(core::mem::take(&mut segment.is_unrepaired));
        if core::mem::take(&mut segment.is_lost) {
            self.lost_bytes -= segment.bytes();
            self.lost -= 1;
        }
        let segment = *segment;
        self.sacked_bytes += segment.bytes();
        self.scoreboard.insert(segment.start, segment.end);
        Some(segment)
    }

    /// Checks for loss each segment that was sent before `latest`, (time, end) of a segment that has arrived. Segments
    /// that have arrived or are known to be lost are skipped. Returns the bytes of newly lost ones.
    pub fn mark_lost(&mut self, latest: (Time, u64), mut is_lost: impl FnMut(&SentSegment) -> bool) -> u64 {
        let before = self.lost_bytes;
        let mut from = self.first;
        while let Some((start, end)) = self.scoreboard.hole(from, u64::MAX) {
            let mut index = self.segments.partition_point(|segment| segment.start < start);
            while let Some(segment) = self.segments.get_mut(index)
                && segment.start < end
            {
                let is_before = (segment.sent, segment.end) < latest;
                if !is_before && !segment.is_retransmitted {
                    // Whatever follows was sent later still.
                    return self.lost_bytes - before;
                }
                if is_before && !segment.is_lost && is_lost(segment) {
                    self.mark(index);
                }
                index += 1;
            }
            if index >= self.segments.len() {
                break;
            }
            from = end;
        }
        self.lost_bytes - before
    }

    /// The segment at `index` is lost.
    fn mark(&mut self, index: usize) {
        let segment = &mut self.segments[index];
        segment.is_lost = true;
        self.lost += 1;
        self.lost_bytes += segment.bytes();
        self.lost_from = self.lost_from.min(segment.start);
        self.unrepaired += usize::from(!core::mem::replace(&mut segment.is_unrepaired, true));
    }

    /// The first segment in flight is lost. Returns it if it was not found lost before.
    pub fn mark_first_lost(&mut self) -> Option<SentSegment> {
        let first = self.segments.front().copied().filter(|first| !first.is_lost && !first.is_sacked)?;
        self.mark(0);
        Some(first)
    }

    /// Whether something is lost and has not been sent again.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The first segment that is lost and has not been sent again.
    pub fn next_lost(&mut self) -> Option<SentSegment> {
        if self.lost_bytes == 0 {
            self.lost_from = u64::MAX;
            return None;
        }
        let index = self.segments.partition_point(|segment| segment.start < self.lost_from);
        let lost = self.segments.range(index..).find(|segment| segment.is_lost).copied();
        self.lost_from = lost.map_or(u64::MAX, |segment| segment.start);
        lost
    }

    /// Nothing counts as lost any more.
    pub fn forgive(&mut self) {
        for segment in &mut self.segments {
            (segment.is_lost, segment.is_unrepaired) = (false, false);
        }
        (self.lost_bytes, self.lost, self.unrepaired) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;
    use alloc::vec::Vec;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(ms)
    }

    /// Segments of ten numbers from 1 on, sent a millisecond apart.
    fn sent(count: u64) -> SentSegments {
        let mut segments = SentSegments::new();
        for index in 0..count {
            segments.note_new(1 + 10 * index, 11 + 10 * index, 0, at(index));
        }
        segments
    }

    fn sack(segments: &mut SentSegments, left: u64, right: u64) -> Vec<u64> {
        let mut from = left;
        core::iter::from_fn(|| segments.sack_next(&mut from, right)).map(|segment| segment.start).collect()
    }

    #[test]
    fn what_arrives_out_of_order_leaves_the_network_once() {
        let mut segments = sent(6);
        assert_eq!(segments.in_flight_bytes(), 60);
        assert_eq!(sack(&mut segments, 21, 41), [21, 31]);
        assert_eq!(sack(&mut segments, 21, 51), [41]);
        // A part of a segment is nothing.
        assert!(sack(&mut segments, 51, 55).is_empty());
        assert_eq!((segments.in_flight_bytes(), segments.sacked_bytes()), (30, 30));
        let acknowledged: Vec<u64> =
            core::iter::from_fn(|| segments.pop_acknowledged(51)).map(|segment| segment.start).collect();
        assert_eq!(acknowledged, [1, 11]);
        assert_eq!((segments.in_flight_bytes(), segments.sacked_bytes(), segments.first), (10, 0, 51));
    }

    /// RFC 9768, appendix A.2.1: packets count when they are first reported, be it by SACK.
    #[test]
    fn bytes_are_news_once() {
        let mut segments = sent(8);
        let ack = |ack: u64, blocks: &[(u64, u64)]| {
            let mut report = Ack { ack, ..Ack::default() };
            blocks.iter().for_each(|&(left, right)| assert!(report.sack.push(left, right)));
            report
        };
        assert_eq!(segments.news_of(&ack(11, &[(31, 41)])), 20);
        sack(&mut segments, 31, 61);
        assert_eq!(segments.news_of(&ack(1, &[(31, 71), (31, 61)])), 10);
        assert_eq!(segments.news_of(&ack(71, &[])), 40);
        // A duplicate is none.
        assert_eq!(segments.news_of(&ack(71, &[(1, 11)])), 40);
        segments.pop_acknowledged(11);
        assert_eq!(segments.news_of(&ack(11, &[])), 0);
    }

    #[test]
    fn a_lost_segment_is_in_flight_again_when_it_is_sent_again() {
        let mut segments = sent(6);
        sack(&mut segments, 31, 51);
        let mut asked = Vec::new();
        let lost = segments.mark_lost((at(4), 51), |segment| {
            asked.push(segment.start);
            segment.start != 11
        });
        // Segments sent after the latest arrival were not overtaken.
        assert_eq!((asked.as_slice(), lost), ([1, 11, 21].as_slice(), 20));
        assert_eq!((segments.in_flight_bytes(), segments.lost_bytes()), (20, 20));
        assert_eq!(segments.next_lost().map(|segment| segment.start), Some(1));
        segments.note_retransmission(1, 0, at(50));
        assert_eq!(segments.next_lost().map(|segment| segment.start), Some(21));
        assert_eq!((segments.in_flight_bytes(), segments.lost_bytes()), (30, 10));
        // The retransmission can be lost in turn.
        assert_eq!(segments.mark_lost((at(51), 51), |segment| segment.sent == at(50)), 10);
        segments.forgive();
        assert_eq!((segments.in_flight_bytes(), segments.next_lost()), (40, None));
    }

    #[test]
    fn a_part_of_a_segment_may_be_acknowledged() {
        let mut segments = sent(2);
        assert!(segments.mark_first_lost().is_some());
        assert_eq!(segments.pop_acknowledged(6).map(|segment| (segment.start, segment.end)), Some((1, 6)));
        assert_eq!((segments.in_flight_bytes(), segments.lost_bytes()), (10, 5));
        assert_eq!(segments.next_lost().map(|segment| (segment.start, segment.end)), Some((6, 11)));
    }
    #[test]
    fn a_segment_may_be_overtaken_by_one_sent_later_or_when_something_is_out_of_order() {
        let segments = sent(3);
        assert!(!segments.may_be_overtaken((at(0), 11)));
        assert!(segments.may_be_overtaken((at(0), 12)));
        assert!(segments.may_be_overtaken((at(1), 0)));
        assert!(!SentSegments::new().may_be_overtaken((at(9), 99)));
        let mut sacked = sent(3);
        sack(&mut sacked, 11, 21);
        assert!(sacked.may_be_overtaken((at(0), 0)));
        let mut again = sent(3);
        again.note_retransmission(1, 0, at(5));
        again.note_retransmission(1, 0, at(6));
        assert!(again.may_be_overtaken((at(0), 0)));
        while again.pop_acknowledged(11).is_some() {}
        assert!(!again.may_be_overtaken((at(0), 0)));
    }

    #[test]
    fn segments_are_counted_whatever_their_size() {
        let mut segments = SentSegments::new();
        for (start, end) in [(1, 11), (11, 12), (12, 13), (13, 23), (23, 24)] {
            segments.note_new(start, end, 0, at(0));
        }
        assert_eq!((segments.in_flight_segments(), segments.sacked_segments()), (5, 0));
        sack(&mut segments, 11, 13);
        assert_eq!((segments.in_flight_segments(), segments.sacked_segments()), (3, 2));
        assert_eq!(segments.mark_lost((at(1), 0), |segment| segment.start != 23), 20);
        assert_eq!((segments.in_flight_segments(), segments.has_unrepaired()), (1, true));
        segments.note_retransmission(1, 0, at(5));
        assert_eq!((segments.in_flight_segments(), segments.has_unrepaired()), (2, true));
        // Both are repaired, the second by its original.
        while segments.pop_acknowledged(13).is_some() {}
        assert_eq!((segments.in_flight_segments(), segments.sacked_segments()), (1, 0));
        assert!(segments.has_unrepaired());
        sack(&mut segments, 13, 23);
        assert_eq!((segments.in_flight_segments(), segments.sacked_segments()), (1, 1));
        assert!(!segments.has_unrepaired());
    }

    #[test]
    fn losses_found_one_after_another_add_up_until_they_arrive() {
        let mut segments = sent(6);
        assert_eq!(segments.mark_lost((at(5), 61), |segment| segment.start == 11), 10);
        // Now everything was sent before the latest that has arrived.
        assert_eq!(segments.mark_lost((at(9), 0), |segment| segment.start == 31), 10);
        assert_eq!(segments.lost_bytes(), 20);
        assert_eq!(sack(&mut segments, 11, 21), [11]);
        assert_eq!((segments.lost_bytes(), segments.sacked_bytes()), (10, 10));
        while segments.pop_acknowledged(41).is_some() {}
        assert_eq!((segments.lost_bytes(), segments.sacked_bytes(), segments.in_flight_bytes()), (0, 0, 20));
        assert_eq!(segments.last().map(|segment| segment.start), Some(51));
    }
}
