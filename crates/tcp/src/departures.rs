//! The departures of segments, for controllers that watch the delay.

use alloc::collections::VecDeque;

use crate::{Span, Time};

/// The departures of the first segments of each round trip, or of all. An ACK of one of them is a round-trip sample, so
/// that there are several at the start of a round, where the estimate of [`crate::RoundTrip`] takes one in a round.
#[derive(Debug)]
pub(crate) struct Departures {
    /// The numbers after the segments, ascending, and when they were sent.
    sent: VecDeque<(u64, Time)>,
    /// The number of segments of this round that are still noted.
    room: usize,
    /// Its value at the start of a round.
    most: usize,
    /// The round ends when more than this is acknowledged.
    round_end: u64,
}

impl Departures {
    /// Enough for eight samples even where every second segment is acknowledged, with some to spare.
    const IN_A_ROUND: usize = 24;

    pub fn new() -> Self {
        Self::of(Self::IN_A_ROUND)
    }

    /// The departures of all segments.
    pub fn of_all() -> Self {
        Self::of(usize::MAX)
    }

    fn of(most: usize) -> Self {
        Self { sent: VecDeque::new(), room: most, most, round_end: 0 }
    }

    /// A new segment, `end` the number after it, is sent.
    pub fn note(&mut self, end: u64, now: Time) {
        if self.room > 0 {
            self.room -= 1;
            self.sent.push_back((end, now));
        }
    }

    /// Something is sent again, and an ACK need not answer the first transmission (Karn).
    pub fn forget(&mut self) {
        self.sent.clear();
    }

    /// The round trip of the last segment that an ACK up to `acknowledged` covers, where its departure was noted. The
    /// ACK may begin a round, of which `next` is the first byte.
    pub fn sample(&mut self, acknowledged: u64, next: u64, now: Time) -> Option<Span> {
        if acknowledged > self.round_end {
            self.round_end = next;
            self.room = self.most;
        }
        let mut sample = None;
        while let Some(&(end, sent)) = self.sent.front()
            && end <= acknowledged
        {
            sample = (end == acknowledged).then(|| now.since(sent));
            self.sent.pop_front();
        }
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TcpConfig;
    use crate::connection::Connection;
    use alloc::boxed::Box;

    const fn at_ms(ms: u64) -> Time {
        Time::from_picoseconds(Span::from_milliseconds(ms).picoseconds())
    }

    #[test]
    fn an_ack_measures_the_last_segment_that_it_covers() {
        let mut departures = Departures::new();
        for segment in 1..=4 {
            departures.note(1000 * segment, at_ms(segment));
        }
        assert_eq!(departures.sample(2000, 5000, at_ms(10)), Some(Span::from_milliseconds(8)));
        assert_eq!(departures.sample(2000, 5000, at_ms(11)), None);
        // Between two segments' ends nothing is known for sure.
        assert_eq!(departures.sample(3500, 5000, at_ms(12)), None);
        departures.forget();
        assert_eq!(departures.sample(4000, 5000, at_ms(13)), None);
    }

    #[test]
    fn new_data_is_timed_until_something_is_sent_again() {
        struct Nowhere;
        impl crate::SegmentOut for Nowhere {
            fn segment(&mut self, _segment: crate::Segment) {}
        }
        for (sent_again, sample) in [(false, Some(Span::from_milliseconds(9))), (true, None)] {
            let mut connection = Connection::new(&TcpConfig { handshake: false, ..TcpConfig::default() });
            connection.departures = Some(Box::new(Departures::new()));
            let first = connection.next;
            let end = connection.transmit(first, 1000, at_ms(1), &mut Nowhere);
            connection.transmit(end, 1000, at_ms(2), &mut Nowhere);
            if sent_again {
                connection.transmit(first, 1000, at_ms(3), &mut Nowhere);
            }
            connection.unacknowledged = end;
            assert_eq!(connection.sample_round_trip(at_ms(10)), sample);
        }
    }

    #[test]
    fn only_the_first_segments_of_a_round_are_noted() {
        let mut departures = Departures::new();
        for segment in 1..=100 {
            departures.note(segment, at_ms(0));
        }
        assert_eq!(departures.sent.len(), Departures::IN_A_ROUND);
        // The next byte opens a round.
        departures.sample(1, 101, at_ms(5));
        departures.note(102, at_ms(5));
        assert_eq!(departures.sample(102, 103, at_ms(9)), Some(Span::from_milliseconds(4)));
    }

    #[test]
    fn all_segments_of_a_round_are_noted_on_demand() {
        let mut departures = Departures::of_all();
        for segment in 1..=100 {
            departures.note(segment, at_ms(0));
        }
        assert_eq!(departures.sample(99, 101, at_ms(5)), Some(Span::from_milliseconds(5)));
        departures.note(101, at_ms(5));
        assert_eq!(departures.sample(101, 102, at_ms(9)), Some(Span::from_milliseconds(4)));
    }
}
