//! The fair share of a link, estimated without any state for flows.

use super::rate_estimator::{AveragingTime, RateEstimator};
use crate::{Rate, Span, Time};

/// The factor of the fair share for each overflow of the buffer (paper, link fair rate estimation).
const OVERFLOW_FACTOR: f64 = 0.99;
/// The least factor for any number of overflows until it is estimated again.
const OVERFLOW_FLOOR: f64 = 0.75;

/// The estimate of the fair share, alpha in the paper: the rate limit per flow at which all flows together fill the
/// link. In bits per second and for a weight of 1, as labels are.
#[derive(Clone, Debug)]
pub(super) struct FairShare {
    /// C in the paper.
    capacity: f64,
    averaging_time: AveragingTime,
    window: Span,
    /// alpha in the paper.
    share: f64,
    /// The share as it was last estimated.
    estimated: f64,
    /// A in the paper: all that arrives.
    arrival: RateEstimator,
    /// F in the paper: the rate that passes the drop rule.
    accepted: RateEstimator,
    congested: bool,
    window_start: Time,
    largest_label: f64,
}

impl FairShare {
    pub fn new(link_rate: Rate, averaging_time: AveragingTime, window: Span) -> Self {
        let capacity = link_rate.bits_per_second() as f64;
        Self {
            capacity,
            averaging_time,
            window,
            share: capacity,
            estimated: capacity,
            arrival: RateEstimator::default(),
            accepted: RateEstimator::default(),
            congested: false,
            window_start: Time::ZERO,
            largest_label: 0.0,
        }
    }

    /// The probability with which a packet with this label is dropped, so that its flow is left with the fair share.
    /// Nothing is dropped while there is neither congestion nor a long queue.
    pub fn drop_probability(&self, label: f64, queue_is_long: bool) -> f64 {
        if label > self.share && (self.congested || queue_is_long) { 1.0 - self.share / label } else { 0.0 }
    }

    /// A packet has arrived and was accepted or not: the paper's `estimate_alpha`.
    pub fn update(&mut self, label: f64, len_bits: f64, accepted: bool, queue_is_long: bool, now: Time) {
        let arrival = self.arrival.update(len_bits, self.averaging_time, now);
        if accepted {
            self.accepted.update(len_bits, self.averaging_time, now);
        }
        self.largest_label = self.largest_label.max(label);
        let congested = arrival >= self.capacity && (self.congested || queue_is_long);
        if congested != self.congested {
            self.congested = congested;
            self.restart(now);
        } else if now.since(self.window_start) >= self.window {
            let share = if congested { self.share * self.scale(now) } else { self.largest_label };
            // More than the link, or than any flow sends, has no meaning; less than a bit per second would last.
            self.share = share.clamp(1.0, self.capacity.max(self.largest_label));
            self.estimated = self.share;
            self.restart(now);
        }
    }

    /// C/F of the paper: by how much the share was too small for the link.
    fn scale(&self, now: Time) -> f64 {
        // The estimate of what is accepted stands still while nothing is; it would keep a share that lets nothing pass.
        let stale = self.accepted.last() < self.window_start;
        let accepted = if stale { self.accepted.faded(self.averaging_time, now) } else { self.accepted.rate() };
        self.capacity / accepted
    }

    fn restart(&mut self, now: Time) {
        self.window_start = now;
        self.largest_label = 0.0;
    }

    /// The buffer has overflowed: the share was too large.
    pub fn overflow(&mut self) {
        self.share = (self.share * OVERFLOW_FACTOR).max(self.estimated * OVERFLOW_FLOOR);
    }

    /// The fair share in bits per second.
    pub fn bits_per_second(&self) -> f64 {
        self.share
    }

    /// The rate of all arrivals in bits per second.
    pub fn arrival_rate(&self) -> f64 {
        self.arrival.rate()
    }

    /// The rate in bits per second of what the drop rule lets pass.
    pub fn accepted_rate(&self) -> f64 {
        self.accepted.rate()
    }

    /// Whether more arrives than the link can carry.
    pub fn is_congested(&self) -> bool {
        self.congested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Span = Span::from_milliseconds(100);

    /// The share of a link of 10 Mb/s, at which packets of 1000 B and of this label arrive each `gap_us`; all or none
    /// are accepted.
    struct Arrivals {
        share: FairShare,
        now: Time,
    }

    impl Arrivals {
        fn new() -> Self {
            Self { share: FairShare::new(Rate::megabits(10), AveragingTime::new(WINDOW), WINDOW), now: Time::ZERO }
        }

        fn run(&mut self, packets: u64, gap_us: u64, label: f64, long: bool) {
            for _ in 0..packets {
                self.now += Span::from_microseconds(gap_us);
                self.share.update(label, 8000.0, true, long, self.now);
            }
        }
    }

    #[test]
    fn without_congestion_the_share_is_the_largest_label_of_the_last_window() {
        let mut arrivals = Arrivals::new();
        arrivals.run(25, 2000, 3e6, true);
        arrivals.run(24, 2000, 2e6, true);
        assert_eq!(arrivals.share.bits_per_second(), 10e6);
        arrivals.run(1, 2000, 1e6, true);
        assert_eq!(arrivals.share.bits_per_second(), 3e6);
        arrivals.run(50, 2000, 1e6, true);
        assert_eq!(arrivals.share.bits_per_second(), 1e6);
    }

    #[test]
    fn under_congestion_the_share_is_scaled_by_what_the_link_could_take() {
        // 20 Mb/s, all accepted.
        let mut arrivals = Arrivals::new();
        arrivals.run(10_000, 400, 2e6, false);
        assert!(!arrivals.share.is_congested(), "the queue is short");
        assert_eq!(arrivals.share.bits_per_second(), 2e6);
        arrivals.run(1, 400, 2e6, true);
        assert!(arrivals.share.is_congested());
        arrivals.run(249, 400, 2e6, false);
        assert_eq!(arrivals.share.bits_per_second(), 2e6);
        arrivals.run(1, 400, 2e6, false);
        assert!((arrivals.share.bits_per_second() / 1e6 - 1.0).abs() < 1e-6);
        // Congestion ends with the arrivals, not with the queue.
        arrivals.run(1000, 2000, 2e6, true);
        assert!(!arrivals.share.is_congested());
    }

    #[test]
    fn a_share_from_which_nothing_passes_recovers_and_stays_below_the_link() {
        let mut arrivals = Arrivals::new();
        arrivals.run(1000, 400, 5e6, true);
        for _ in 0..100_000 {
            arrivals.now += Span::from_microseconds(400);
            arrivals.share.update(5e6, 8000.0, false, true, arrivals.now);
        }
        assert_eq!(arrivals.share.bits_per_second(), 10e6);
    }

    #[test]
    fn overflows_shrink_the_share_by_a_hundredth_each_and_a_quarter_in_all() {
        let mut share = Arrivals::new().share;
        share.overflow();
        assert!((share.bits_per_second() - 9.9e6).abs() < 1.0);
        for _ in 0..27 {
            share.overflow();
        }
        assert!((share.bits_per_second() / 10e6 - libm::pow(0.99, 28.0)).abs() < 1e-9);
        for _ in 0..100 {
            share.overflow();
        }
        assert_eq!(share.bits_per_second(), 7.5e6);
    }

    #[test]
    fn a_flow_over_the_share_loses_what_it_sends_too_much() {
        let mut arrivals = Arrivals::new();
        arrivals.run(100, 2000, 1e6, true);
        assert_eq!(arrivals.share.drop_probability(4e6, true), 0.75);
        assert_eq!(arrivals.share.drop_probability(1e6, true), 0.0);
        assert_eq!(arrivals.share.drop_probability(0.5e6, true), 0.0);
        // Neither congested nor a long queue.
        assert_eq!(arrivals.share.drop_probability(4e6, false), 0.0);
    }
}
