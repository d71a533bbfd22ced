//! When the next segment may leave: pacing, and small queues below the sender.
//!
//! # What it does
//! A paced sender sends bursts of about a millisecond at its pacing rate, each when the one before has had its time. A
//! burst that leaves late makes the next wait less, by up to half. With small queues, a sender stops while too many of
//! its own bytes wait in its host's uplink, until the first of these have left. Otherwise it builds up its window
//! there, and its round trip measures its own queue.
//!
//! # Source
//! Linux 6.12, read for its rules: `tcp_update_pacing_rate` (the rate), `tcp_update_skb_after_send` (late bursts; the
//! first ten segments are not paced), `tcp_tso_autosize` (bursts), `tcp_small_queue_check` (small queues).
//!
//! # Where we differ
//! The segments of a burst are packets of their own (no segmentation offload). Linux makes bursts longer on paths with
//! a round trip of some milliseconds, and lets a queue exceed its limit by one burst; we do not. Tail loss probes and
//! the first segment after a timeout do not wait. Recoveries other than `rack` and `recovery = "quic"` send without
//! a pacer.
//!
//! # Parameters
//! `pacing`, `small_queues`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use forebay_units::control::{Control, Pacing};

use crate::connection::Connection;
use crate::{Rate, Span, Time};

/// The first segments of a connection are not paced.
const UNPACED_SEGMENTS: u64 = 10;
/// The longest burst, as in Linux (`GSO_MAX_SIZE`).
const LONGEST_BURST_BYTES: u64 = 65_536;
/// From this rate on a burst has the least number of segments; below it has one (`bbr_min_tso_rate`).
const SLOW_BITS_PER_SECOND: u64 = 1_200_000;
/// The share of the rate that may wait in the uplink (`sk_pacing_shift`).
const QUEUE_TIME: Span = Span::from_milliseconds(1);

/// Linux's rate of a sender whose controller sets none: twice the window in a round trip at first, 1.2 times later.
/// `None` without a round trip.
pub(crate) fn default_rate(
    control: &Control,
    in_flight: f64,
    segment_bytes: u64,
    smoothed: Option<Span>,
) -> Option<Rate> {
    let seconds = smoothed?.seconds();
    let window = control.congestion_window.max(in_flight);
    let is_early = control.congestion_window < control.slow_start_threshold / 2.0;
    let factor = if is_early { 2.0 } else { 1.2 };
    Rate::new((factor * window * segment_bytes as f64 * 8.0 / seconds).max(1.0) as u64)
}

/// The state of a sender that does not send all at once.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// `None` if it does not pace, and only keeps the queue small.
    pacing: Option<Pacing>,
    /// The earliest time of the next burst.
    next: Time,
    /// The time of the current burst, and the bytes that it may still send.
    burst: (Time, u64),
    /// How much too late the current burst was, less what has been made up for.
    late: Span,
    unpaced_segments: u64,
    keeps_queue_small: bool,
    /// The bytes in the uplink and when they leave it, in order.
    queued: VecDeque<(Time, u64)>,
    queued_bytes: u64,
    segment_bytes: u64,
}

impl Pacer {
    /// Without `pacing` it only keeps the queue small.
    pub fn new(pacing: Option<Pacing>, keeps_queue_small: bool, segment_bytes: u64) -> Self {
        Self {
            pacing,
            next: Time::ZERO,
            burst: (Time::ZERO, 0),
            late: Span::ZERO,
            unpaced_segments: UNPACED_SEGMENTS,
            keeps_queue_small,
            queued: VecDeque::new(),
            queued_bytes: 0,
            segment_bytes,
        }
    }

    /// The earliest time of the next burst.
    pub fn next_departure(&self) -> Time {
        self.next
    }

    /// Bytes that wait in the uplink.
    pub fn queued_bytes(&mut self, now: Time) -> u64 {
        while let Some(&(departure, bytes)) = self.queued.front()
            && departure <= now
        {
            self.queued_bytes -= bytes;
            self.queued.pop_front();
        }
        self.queued_bytes
    }

    /// Whether a segment of these bytes may leave now, whatever the pacing rate is.
    #[inline]
    fn lets_go_at_any_rate(&mut self, bytes: u64, now: Time) -> bool {
        let room = (2 * self.segment_bytes).saturating_sub(bytes);
        // Segments that have left since the last look only make more room.
        self.pacing.is_none() && (self.queued_bytes <= room || self.queued_bytes(now) <= room)
    }

    /// The time from which a segment of these bytes may leave, at this pacing rate: `now`, or later.
    pub fn earliest(&mut self, bytes: u64, rate: Option<Rate>, now: Time) -> Time {
        let Some(rate) = rate else { return now };
        let paced = self.earliest_by_pace(bytes, rate, now);
        if paced > now || !self.keeps_queue_small { paced } else { self.earliest_by_queue(bytes, rate, now) }
    }

    fn earliest_by_pace(&mut self, bytes: u64, rate: Rate, now: Time) -> Time {
        let Some(pacing) = self.pacing else { return now };
        if self.unpaced_segments > 0 || self.burst.0 == now && self.burst.1 >= bytes {
            return now;
        }
        if self.next <= now {
            let least =
                if rate.bits_per_second() < SLOW_BITS_PER_SECOND { 1 } else { u64::from(pacing.least_segments) };
            let segments = rate.bytes_in(pacing.burst).min(LONGEST_BURST_BYTES) / self.segment_bytes;
            self.burst = (now, segments.max(least) * self.segment_bytes);
            self.late = now.since(self.next);
            self.next = now;
        }
        self.next
    }

    fn earliest_by_queue(&mut self, bytes: u64, rate: Rate, now: Time) -> Time {
        let limit = rate.bytes_in(QUEUE_TIME).max(2 * self.segment_bytes);
        let mut excess = (self.queued_bytes(now) + bytes).saturating_sub(limit);
        for &(departure, bytes) in &self.queued {
            if excess == 0 {
                break;
            }
            excess = excess.saturating_sub(bytes);
            if excess == 0 {
                return departure;
            }
        }
        now
    }

    /// A segment joins the uplink, which it leaves at `departure`.
    fn queue(&mut self, bytes: u64, departure: Time, now: Time) {
        if self.keeps_queue_small && departure > now {
            self.queued.push_back((departure, bytes));
            self.queued_bytes += bytes;
        }
    }

    /// A segment leaves the sender.
    pub fn pace(&mut self, bytes: u64, rate: Option<Rate>, now: Time) {
        if self.unpaced_segments > 0 {
            self.unpaced_segments -= 1;
            return;
        }
        let Some(rate) = rate else { return };
        self.burst.1 = self.burst.1.saturating_sub(bytes);
        let time = rate.transmission_time(bytes);
        let made_up = self.late.min(Span::from_picoseconds(time.picoseconds() / 2));
        self.late = self.late.saturating_sub(made_up);
        self.next = self.next.max(now) + time.saturating_sub(made_up);
    }
}

impl Connection {
    /// The rate at which payload leaves if it is paced; `None` before the first round-trip sample.
    pub fn pacing_rate(&self) -> Option<Rate> {
        let in_flight = self.flight_bytes() as f64 / self.segment_bytes as f64;
        let by_window = || default_rate(&self.window, in_flight, self.segment_bytes, self.round_trip.smoothed());
        self.window.pacing_rate.or_else(by_window)
    }

    /// Whether a segment of so much payload may leave now, as far as the pacer is concerned. If not, it may at
    /// [`Connection::resume_at`].
    #[inline(always)]
    pub fn may_send(&mut self, payload: u64, now: Time) -> bool {
        self.pacer.is_none() || self.is_let_go(payload, now)
    }

    #[inline(never)]
    fn is_let_go(&mut self, payload: u64, now: Time) -> bool {
        if self.pacer.as_mut().is_some_and(|pacer| pacer.lets_go_at_any_rate(payload, now)) {
            self.resume_at = Time::NEVER;
            return true;
        }
        let rate = self.pacing_rate();
        let earliest = self.pacer.as_mut().map_or(now, |pacer| pacer.earliest(payload, rate, now));
        let is_let_go = earliest <= now;
        self.resume_at = if is_let_go { Time::NEVER } else { earliest };
        is_let_go
    }

    /// A segment of so much payload has left the sender, and leaves its host at `departure`. A sender that does not
    /// pace needs a pacer only once its segments wait in an uplink.
    #[inline(always)]
    pub fn pace(&mut self, payload: u64, departure: Time, now: Time) {
        if self.pacer.is_some() || self.keeps_queue_small && departure > now {
            self.note_sent(payload, departure, now);
        }
    }

    #[inline(never)]
    fn note_sent(&mut self, payload: u64, departure: Time, now: Time) {
        let unpaced = || Box::new(Pacer::new(None, true, self.segment_bytes));
        let pacer = self.pacer.get_or_insert_with(unpaced);
        pacer.queue(payload, departure, now);
        if pacer.pacing.is_some() {
            let rate = self.pacing_rate();
            self.pacer.as_mut().expect("it is there").pace(payload, rate, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1000;

    const fn us(time: u64) -> Time {
        Time::from_picoseconds(Span::from_microseconds(time).picoseconds())
    }

    /// Sends all that may leave at `now`; returns the number of segments, and when the next may leave.
    fn send(pacer: &mut Pacer, rate: Rate, now: Time) -> (u64, Time) {
        let mut count = 0;
        loop {
            let earliest = pacer.earliest(SEGMENT, Some(rate), now);
            if earliest > now {
                return (count, earliest);
            }
            pacer.pace(SEGMENT, Some(rate), now);
            count += 1;
        }
    }

    #[test]
    fn bursts_of_a_millisecond_follow_the_first_ten_segments() {
        let mut pacer = Pacer::new(Some(Pacing::LINUX), false, SEGMENT);
        // 80 Mb/s are 10 segments a millisecond, of which 9 fit into 2^-10 s.
        let rate = Rate::megabits(80);
        assert_eq!(send(&mut pacer, rate, us(1000)), (10 + 9, us(1000 + 900 - 500 + 50)));
        assert_eq!(pacer.next_departure(), us(1450));
        // The first ten leave whenever they may, and none of them begins a burst.
        let mut pacer = Pacer::new(Some(Pacing::LINUX), false, SEGMENT);
        for _ in 0..10 {
            assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(1000)), us(1000));
            pacer.pace(SEGMENT, Some(rate), us(1000));
        }
        assert_eq!(send(&mut pacer, rate, us(1010)), (9, us(1010 + 450)));
    }

    #[test]
    fn the_rest_of_a_burst_waits_for_the_next_one() {
        let mut pacer = Pacer::new(Some(Pacing::LINUX), false, SEGMENT);
        let rate = Rate::megabits(80);
        (pacer.unpaced_segments, pacer.next) = (0, us(5000));
        for _ in 0..3 {
            assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(5000)), us(5000));
            pacer.pace(SEGMENT, Some(rate), us(5000));
        }
        assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(5001)), us(5300));
        // A probe does not ask, and the time that it takes counts from then on.
        pacer.pace(SEGMENT, Some(rate), us(9000));
        assert_eq!(pacer.next_departure(), us(9100));
    }

    #[test]
    fn a_paced_sender_keeps_its_queue_small_too() {
        let mut pacer = Pacer::new(Some(Pacing::LINUX), true, SEGMENT);
        let rate = Rate::megabits(1);
        for _ in 0..2 {
            assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(0)), us(0));
            pacer.queue(SEGMENT, us(100), us(0));
            pacer.pace(SEGMENT, Some(rate), us(0));
        }
        assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(0)), us(100));
        // The queue is empty, but the pace is the limit.
        (pacer.unpaced_segments, pacer.next) = (0, us(500));
        assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(100)), us(500));
    }

    #[test]
    fn a_late_burst_makes_up_for_at_most_half_of_itself() {
        let mut pacer = Pacer::new(Some(Pacing::LINUX), false, SEGMENT);
        pacer.unpaced_segments = 0;
        let rate = Rate::megabits(80);
        pacer.next = us(5000);
        assert_eq!(send(&mut pacer, rate, us(5000)), (9, us(5900)));
        assert_eq!(send(&mut pacer, rate, us(5800)), (0, us(5900)));
        // 100 us late: the next is 100 us early.
        assert_eq!(send(&mut pacer, rate, us(6000)), (9, us(6800)));
        assert_eq!(send(&mut pacer, rate, us(9000)), (9, us(9450)));
    }

    #[test]
    fn a_slow_sender_sends_single_segments_and_a_fast_one_at_most_64_kilobytes() {
        for (rate, segments) in
            [(Rate::new(1_199_999).unwrap(), 1), (Rate::new(1_200_000).unwrap(), 2), (Rate::megabits(10_000), 65)]
        {
            let mut pacer = Pacer::new(Some(Pacing::LINUX), false, SEGMENT);
            pacer.unpaced_segments = 0;
            assert_eq!(send(&mut pacer, rate, us(7)).0, segments, "{rate}");
        }
    }

    #[test]
    fn a_small_queue_holds_two_segments_or_a_millisecond() {
        for (rate, most) in [(Rate::megabits(1), 2), (Rate::megabits(40), 5)] {
            let mut pacer = Pacer::new(None, true, SEGMENT);
            let mut departure = us(0);
            for _ in 0..most {
                assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(0)), us(0));
                departure += Span::from_microseconds(100);
                pacer.queue(SEGMENT, departure, us(0));
            }
            assert_eq!(pacer.queued_bytes(us(0)), most * SEGMENT);
            assert_eq!(pacer.queued_bytes(us(99)), most * SEGMENT);
            // The first of them makes room.
            assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(50)), us(100));
            assert_eq!(pacer.earliest(SEGMENT, Some(rate), us(100)), us(100));
            assert_eq!(pacer.queued_bytes(us(100)), (most - 1) * SEGMENT);
            assert_eq!(pacer.earliest(2 * SEGMENT, Some(rate), us(100)), us(200));
        }
    }

    #[test]
    fn the_default_rate_is_that_of_linux() {
        let rtt = Some(Span::from_milliseconds(40));
        let rate = |window, threshold, in_flight| default_rate(&Control::new(window, threshold), in_flight, 1000, rtt);
        assert_eq!(rate(10.0, f64::INFINITY, 0.0), Rate::new(4_000_000));
        assert_eq!(rate(10.0, 20.0, 0.0), Rate::new(2_400_000));
        assert_eq!(rate(10.0, 20.1, 20.0), Rate::new(8_000_000));
        assert_eq!(default_rate(&Control::new(10.0, 2.0), 0.0, 1000, None), None);
        // The segments in flight count where they are more than the window.
        let mut connection = Connection::new(&crate::TcpConfig::default());
        connection.round_trip.sample(Time::ZERO, us(40_000), false);
        (connection.unacknowledged, connection.next) = (1, 1 + 20 * connection.segment_bytes);
        assert_eq!(connection.pacing_rate(), Rate::new(2 * 20 * 1460 * 8 * 25));
    }
}
