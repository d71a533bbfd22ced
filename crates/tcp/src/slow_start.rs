//! The seam for slow start, and the departures of segments, for a slow start that watches the delay.
//!
//! The standard slow start (RFC 5681, equation 2) adds what an ACK covers and ends with the first loss; it needs no
//! policy. Others end it earlier.

use alloc::collections::VecDeque;
use core::fmt;

use crate::connection::Connection;
use crate::{Span, Time};

/// A slow start other than the standard one.
pub(crate) trait SlowStartPolicy: fmt::Debug + Send {
    /// An ACK of `acked_segments` new segments during slow start: opens the window, or ends slow start by setting the
    /// threshold to it.
    fn on_ack(&mut self, connection: &mut Connection, acked_segments: f64, now: Time);

    /// The retransmission timer has expired: slow start begins again.
    fn on_timeout(&mut self) {}
}

/// The departures of the first segments of each round trip. An ACK of one of them is a round-trip sample, so that there
/// are several at the start of a round, where the estimate of [`crate::RoundTrip`] takes one in a round.
#[derive(Debug)]
pub(crate) struct Departures {
    /// The numbers after the segments, ascending, and when they were sent.
    sent: VecDeque<(u64, Time)>,
    /// The number of segments of this round that are still noted.
    room: usize,
}

impl Departures {
    /// Enough for eight samples even where every second segment is acknowledged, with some to spare.
    const IN_A_ROUND: usize = 24;

    pub fn new() -> Self {
        Self { sent: VecDeque::new(), room: Self::IN_A_ROUND }
    }

    /// The next segment to be sent is the first of a round.
    pub fn begin_round(&mut self) {
        self.room = Self::IN_A_ROUND;
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

    /// The round trip of the last segment that an ACK up to `acknowledged` covers, where its departure was noted.
    pub fn sample(&mut self, acknowledged: u64, now: Time) -> Option<Span> {
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
pub(crate) mod tests {
    use super::*;
    use crate::TcpConfig;
    use alloc::boxed::Box;

    /// A sender in slow start whose path the test makes up, round by round.
    pub(crate) struct Rounds {
        pub connection: Connection,
        pub now: Time,
    }

    impl Rounds {
        pub fn new(initial_window_segments: u32) -> Self {
            let config = TcpConfig { initial_window_segments, handshake: false, ..TcpConfig::default() };
            let mut connection = Connection::new(&config);
            connection.departures = Some(Box::new(Departures::new()));
            Self { connection, now: Time::ZERO }
        }

        /// Sends a window at once; the ACKs begin after `round_trip` and come `gap` apart.
        pub fn round(&mut self, policy: &mut dyn SlowStartPolicy, round_trip: Span, gap: Span) {
            let (segments, bytes) = (self.window() as u64, self.connection.segment_bytes);
            for _ in 0..segments {
                self.connection.next += bytes;
                let departures = self.connection.departures.as_mut().unwrap();
                departures.note(self.connection.next, self.now);
            }
            let sent = self.now;
            for segment in 0..segments {
                self.now = sent + round_trip + gap * segment;
                self.connection.unacknowledged += bytes;
                if self.is_in_slow_start() {
                    policy.on_ack(&mut self.connection, 1.0, self.now);
                }
            }
        }

        pub fn window(&self) -> f64 {
            self.connection.window.congestion_window
        }

        pub fn is_in_slow_start(&self) -> bool {
            self.window() < self.connection.window.slow_start_threshold
        }
    }

    const fn at_ms(ms: u64) -> Time {
        Time::from_picoseconds(Span::from_milliseconds(ms).picoseconds())
    }

    #[test]
    fn an_ack_measures_the_last_segment_that_it_covers() {
        let mut departures = Departures::new();
        for segment in 1..=4 {
            departures.note(1000 * segment, at_ms(segment));
        }
        assert_eq!(departures.sample(2000, at_ms(10)), Some(Span::from_milliseconds(8)));
        assert_eq!(departures.sample(2000, at_ms(11)), None);
        // Between two segments' ends nothing is known for sure.
        assert_eq!(departures.sample(3500, at_ms(12)), None);
        departures.forget();
        assert_eq!(departures.sample(4000, at_ms(13)), None);
    }

    #[test]
    fn new_data_is_timed_until_something_is_sent_again() {
        struct Nowhere;
        impl crate::SegmentOut for Nowhere {
            fn segment(&mut self, _segment: crate::Segment) {}
        }
        for (sent_again, sample) in [(false, Some(Span::from_milliseconds(9))), (true, None)] {
            let mut connection = Rounds::new(4).connection;
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
        departures.begin_round();
        departures.note(101, at_ms(5));
        assert_eq!(departures.sample(101, at_ms(9)), Some(Span::from_milliseconds(4)));
    }
}
