//! TCP Vegas: the window follows the delay, not the losses.
//!
//! # What it does
//! Vegas estimates how many of its segments wait in queues: the window times the part of the round trip that exceeds
//! the shortest one. Once a round trip, it adds a segment if fewer than `alpha` wait and takes one away if more than
//! `beta` wait. Slow start ends when more than `gamma` wait.
//!
//! # When to use it
//! Use it to study control by delay: a few flows share a link with almost no queue and without losses. Flows that fill
//! the queue, such as CUBIC, displace it. A flow that starts while a queue exists counts it as part of the path.
//!
//! # Example
//! ```toml
//! transport.tcp = { congestion_control = "vegas", sack = true }
//! ```
//!
//! # Source
//! Brakmo & Peterson 1995, "TCP Vegas: end to end congestion avoidance on a global Internet", sections IV.B and IV.C.
//! The rules in whole segments follow ns-3 (`tcp-vegas.cc`) and Linux (`tcp_vegas.c`), read for their rules.
//!
//! # Where we differ
//! Slow start doubles the window every round trip, as in ns-3 and Linux; in the paper it does so every second one.
//! Retransmissions follow the recovery in use, not the paper's finer timeouts. A sign of congestion halves the window,
//! as in Linux; the paper and ns-3 take less. The extra segments are those beyond the expected window, rounded down,
//! as in ns-3; Linux computes them from the extra delay. The window keeps its fraction. The shortest round trip
//! outlasts an idle time, as in the paper; Linux measures it again. `slow_start` has no effect.
//!
//! # Parameters
//! `transport.tcp.congestion_control`: `"vegas"`, or a table `vegas` with these.

use alloc::boxed::Box;

use crate::control::loss_based::Reduction;
use crate::control::setup::Setup;
use crate::{AckSample, CongestionSample, CongestionSignal, Control, Controller, Needs, ParameterError, Span, require};

/// Samples in a round trip that are too few to judge it: one may be that of a delayed ACK, and the next one too.
const TOO_FEW_SAMPLES: u32 = 2;

forebay_units::configuration! {
    /// The parameters of Vegas.
    #[derive(Copy)]
    pub struct VegasConfig {
        /// The window grows while fewer segments than this wait in queues (Linux and ns-3: 2).
        pub alpha: u32 = 2;
        /// The window shrinks while more segments than this wait in queues (Linux and ns-3: 4). At least `alpha`.
        pub beta: u32 = 4;
        /// Slow start ends when more segments than this wait in queues (Linux and ns-3: 1).
        pub gamma: u32 = 1;
    }
}

impl VegasConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.beta >= self.alpha, "congestion_control.vegas.beta", "be at least alpha")
    }
}

pub(crate) fn build(config: &VegasConfig, setup: &Setup) -> Box<dyn Controller> {
    Box::new(Vegas::new(*config, Reduction::new(setup)))
}

#[derive(Clone, Debug)]
struct Vegas {
    config: VegasConfig,
    reduction: Reduction,
    /// The shortest round trip of the connection (BaseRTT).
    base: Span,
    /// The shortest in this round trip, and the number of samples.
    shortest_in_round: Span,
    samples: u32,
    /// The round trip ends when more than this is acknowledged.
    round_end: u64,
    /// Reno's rules apply until this is acknowledged: a sign of congestion came before it was sent.
    reno_end: u64,
}

impl Vegas {
    fn new(config: VegasConfig, reduction: Reduction) -> Self {
        Self { config, reduction, base: Span::MAX, shortest_in_round: Span::MAX, samples: 0, round_end: 0, reno_end: 0 }
    }

    /// Section IV.C, once a round trip: compares the window with the one that would leave the queues empty.
    fn adjust(&self, acked_segments: f64, control: &mut Control) {
        let window = libm::floor(control.congestion_window);
        // The expected throughput is window / base, the actual one window / shortest in this round trip.
        let expected = libm::floor(window * self.base.seconds() / self.shortest_in_round.seconds());
        let extra = window - expected;
        if control.congestion_window < control.slow_start_threshold {
            if extra > f64::from(self.config.gamma) {
                // IV.B: slow start has gone beyond the path's capacity.
                lower(control.congestion_window.min(expected + 1.0), control);
            } else {
                control.congestion_window += acked_segments;
            }
        } else if extra > f64::from(self.config.beta) {
            lower(control.congestion_window - 1.0, control);
        } else if extra < f64::from(self.config.alpha) {
            control.congestion_window += 1.0;
        }
        // Slow start leads back to most of the window, after an idle time for example.
        control.slow_start_threshold = control.slow_start_threshold.max(0.75 * control.congestion_window);
    }

    fn reduce(&mut self, congestion: &CongestionSample, signal: CongestionSignal, control: &mut Control) {
        if !congestion.keeps_threshold {
            self.reno_end = self.reno_end.max(congestion.next);
        }
        self.reduction.halve(congestion, signal, control);
    }

    fn begin_round(&mut self, end: u64) {
        self.round_end = end;
        (self.shortest_in_round, self.samples) = (Span::MAX, 0);
    }
}

/// Continues with this window, at least 2 segments, in congestion avoidance.
fn lower(window: f64, control: &mut Control) {
    control.congestion_window = window.max(2.0).min(control.congestion_window);
    control.slow_start_threshold = control.slow_start_threshold.min(control.congestion_window - 1.0).max(2.0);
}

/// RFC 5681, equations 2 and 3.
fn grow_like_reno(acked_segments: f64, control: &mut Control) {
    let window = control.congestion_window;
    let is_in_slow_start = window < control.slow_start_threshold;
    control.congestion_window += if is_in_slow_start { acked_segments } else { acked_segments / window };
}

impl Controller for Vegas {
    fn needs(&self) -> Needs {
        Needs { latest_round_trip: true, every_round_trip: true, owns_slow_start: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        if let Some(sample) = ack.round_trips.latest {
            self.base = self.base.min(sample);
            self.shortest_in_round = self.shortest_in_round.min(sample);
            self.samples = self.samples.saturating_add(1);
        }
        let may_adjust = ack.is_window_used && !ack.echoes_mark;
        if ack.acknowledged < self.reno_end {
            self.begin_round(ack.next);
            if may_adjust {
                grow_like_reno(ack.acked_segments, control);
            }
            return;
        }
        let is_round_over = ack.acknowledged > self.round_end;
        if may_adjust && is_round_over && self.samples > TOO_FEW_SAMPLES {
            self.adjust(ack.acked_segments, control);
        } else if may_adjust && (is_round_over || control.congestion_window < control.slow_start_threshold) {
            grow_like_reno(ack.acked_segments, control);
        }
        if is_round_over {
            self.begin_round(ack.next);
        }
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduce(congestion, CongestionSignal::Loss, control);
    }

    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduce(congestion, CongestionSignal::EcnEcho, control);
    }

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.reduce(congestion, CongestionSignal::Timeout, control);
    }

    fn undo(&mut self) {
        self.reno_end = 0;
    }

    fn restart(&mut self) {
        self.begin_round(self.round_end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, RoundTrips, Time};

    const fn ms(ms: u64) -> Span {
        Span::from_milliseconds(ms)
    }

    /// A sender of segments of one byte.
    struct Flow {
        vegas: Vegas,
        control: Control,
        acknowledged: u64,
    }

    impl Flow {
        /// A flow with a shortest round trip of 100 ms.
        fn new(window: f64, threshold: f64) -> Self {
            let mut vegas = Vegas::new(VegasConfig::default(), Reduction::new(&Setup::default()));
            vegas.base = ms(100);
            Self { vegas, control: Control::new(window, threshold), acknowledged: 0 }
        }

        fn ack(&mut self, sample: Option<Span>, is_window_used: bool, echoes_mark: bool) {
            self.acknowledged += 1;
            let ack = AckSample {
                now: Time::ZERO,
                acked_segments: 1.0,
                delivered_segments: 1.0,
                acknowledged: self.acknowledged,
                next: self.acknowledged + 1000,
                is_window_used,
                echoes_mark,
                marked_segments: 0.0,
                phase: Phase::Open,
                round_trips: RoundTrips { latest: sample, ..RoundTrips::default() },
                delivery: None,
            };
            self.vegas.on_ack(&ack, &mut self.control);
        }

        /// The ACK that ends a round trip with this many samples, of which the last is the shortest.
        fn end_round(&mut self, samples: u32, round_trip: Span) -> (f64, f64) {
            self.vegas.begin_round(self.acknowledged);
            self.vegas.samples = samples - 1;
            self.ack(Some(round_trip), true, false);
            (self.control.congestion_window, self.control.slow_start_threshold)
        }

        fn congestion(&self) -> CongestionSample {
            CongestionSample {
                now: Time::ZERO,
                used_segments: self.control.congestion_window,
                acknowledged: self.acknowledged,
                next: self.acknowledged + 10,
                keeps_threshold: false,
            }
        }
    }

    #[test]
    fn between_alpha_and_beta_the_window_stays() {
        // Section IV.C. Window 20, base 100 ms: extra = 20 - floor(2000 / round trip in ms).
        let cases = [
            (100, 21.0), // 0 wait
            (105, 21.0), // 20 - floor(19.05) = 1
            (106, 20.0), // 20 - floor(18.87) = 2 = alpha
            (111, 20.0), // 20 - floor(18.02) = 2
            (125, 20.0), // 20 - 16 = 4 = beta
            (126, 19.0), // 20 - floor(15.87) = 5
            (900, 19.0), // never more than one
        ];
        for (round_trip, window) in cases {
            let mut flow = Flow::new(20.0, 2.0);
            assert_eq!(flow.end_round(3, ms(round_trip)).0, window, "{round_trip} ms");
        }
    }

    #[test]
    fn beyond_gamma_slow_start_ends_at_the_expected_window_and_one() {
        // Section IV.B. 40 - floor(4000 / 102) = 1 = gamma: slow start continues.
        assert_eq!(Flow::new(40.0, f64::INFINITY).end_round(3, ms(102)), (41.0, f64::INFINITY));
        // 40 - floor(4000 / 103) = 2: min(W, 38 + 1), and ssthresh = max(min(ssthresh, W - 1), 2).
        assert_eq!(Flow::new(40.0, f64::INFINITY).end_round(3, ms(103)), (39.0, 38.0));
        // 40 - floor(4000 / 200) = 20.
        assert_eq!(Flow::new(40.0, 50.0).end_round(3, ms(200)), (21.0, 20.0));
        // The least window is 2, as is the least threshold.
        assert_eq!(Flow::new(3.0, 50.0).end_round(3, ms(900)), (2.0, 2.0));
        // A window of one segment does not grow by it.
        let mut flow = Flow::new(1.0, 50.0);
        flow.vegas.config.gamma = 0;
        assert_eq!(flow.end_round(3, ms(900)).0, 1.0);
    }

    #[test]
    fn the_threshold_is_at_least_three_quarters_of_the_window() {
        assert_eq!(Flow::new(40.0, 2.0).end_round(3, ms(100)), (41.0, 30.75));
        assert_eq!(Flow::new(40.0, 2.0).end_round(3, ms(200)), (39.0, 29.25));
        assert_eq!(Flow::new(40.0, 40.0).end_round(3, ms(200)), (39.0, 38.0));
    }

    #[test]
    fn two_samples_are_too_few() {
        // Linux: with two delayed ACKs, both samples may be too long. Reno adds 1 / W, or 1 in slow start.
        assert_eq!(Flow::new(20.0, 2.0).end_round(2, ms(300)), (20.05, 2.0));
        assert_eq!(Flow::new(20.0, 50.0).end_round(2, ms(300)), (21.0, 50.0));
        assert_eq!(Flow::new(20.0, 2.0).end_round(3, ms(300)).0, 19.0);
    }

    #[test]
    fn the_window_moves_once_a_round_trip_except_in_slow_start() {
        let mut flow = Flow::new(20.0, 2.0);
        flow.end_round(3, ms(100));
        for _ in 0..999 {
            flow.ack(Some(ms(100)), true, false);
        }
        assert_eq!(flow.control.congestion_window, 21.0);
        // All samples of the round trip count, and the shortest decides: 21 - floor(2100 / 150) > 4 but for that one.
        flow.ack(Some(ms(150)), true, false);
        assert_eq!(flow.vegas.samples, 1000);
        flow.ack(Some(ms(150)), true, false);
        assert_eq!((flow.control.congestion_window, flow.vegas.samples), (22.0, 0));
        for (threshold, window) in [(22.0, 22.0), (100.0, 23.0)] {
            flow.control.slow_start_threshold = threshold;
            flow.ack(Some(ms(300)), true, false);
            assert_eq!(flow.control.congestion_window, window);
        }
    }

    #[test]
    fn an_unused_window_or_an_echo_changes_nothing() {
        for (is_used, echoes) in [(false, false), (true, true)] {
            let mut flow = Flow::new(20.0, 2.0);
            flow.vegas.samples = 10;
            flow.ack(Some(ms(100)), is_used, echoes);
            assert_eq!((flow.control.congestion_window, flow.vegas.samples), (20.0, 0));
            flow.vegas.reno_end = 100;
            flow.ack(None, is_used, echoes);
            assert_eq!(flow.control.congestion_window, 20.0);
        }
    }

    #[test]
    fn reno_rules_until_a_loss_is_recovered() {
        // Linux and ns-3: Vegas pauses while the recovery is under way.
        type Signal = fn(&mut Vegas, &CongestionSample, &mut Control);
        for (signal, window) in [(Vegas::on_loss as Signal, 10.0), (Vegas::on_ecn, 10.0), (Vegas::on_timeout, 1.0)] {
            let mut flow = Flow::new(20.0, 2.0);
            let congestion = flow.congestion();
            signal(&mut flow.vegas, &congestion, &mut flow.control);
            assert_eq!((flow.control.congestion_window, flow.control.slow_start_threshold), (window, 10.0));
            flow.control.congestion_window = 10.0;
            let mut expected = 10.0;
            for _ in 1..10 {
                flow.ack(Some(ms(900)), true, false);
                expected += 1.0 / expected;
            }
            assert_eq!(flow.control.congestion_window, expected);
            // From the last ACK on, a round trip of Vegas: none of the samples before counts.
            flow.ack(Some(ms(900)), true, false);
            assert_eq!((flow.control.congestion_window, flow.vegas.samples), (expected, 1));
        }
        let mut flow = Flow::new(20.0, 2.0);
        let congestion = flow.congestion();
        flow.vegas.on_loss(&congestion, &mut flow.control);
        flow.vegas.undo();
        flow.control.congestion_window = 20.0;
        assert_eq!(flow.end_round(3, ms(300)).0, 19.0);
    }

    #[test]
    fn a_repeated_timeout_leaves_the_threshold() {
        let mut flow = Flow::new(20.0, 15.0);
        let congestion = CongestionSample { keeps_threshold: true, ..flow.congestion() };
        flow.vegas.on_timeout(&congestion, &mut flow.control);
        assert_eq!(flow.control, Control::new(1.0, 15.0));
    }

    #[test]
    fn samples_before_an_idle_time_do_not_count() {
        let mut flow = Flow::new(20.0, 2.0);
        for _ in 0..5 {
            flow.ack(Some(ms(100)), true, false);
        }
        flow.vegas.restart();
        assert_eq!((flow.vegas.samples, flow.vegas.base), (0, ms(100)));
    }

    #[test]
    fn beta_is_at_least_alpha() {
        for (alpha, beta, is_valid) in [(2, 2, true), (3, 2, false)] {
            assert_eq!(VegasConfig { alpha, beta, gamma: 1 }.validate().is_ok(), is_valid);
        }
    }
}
