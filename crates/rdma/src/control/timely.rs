//! TIMELY: changes the rate by the gradient of the round trip.
//!
//! # What it does
//! Below a low threshold of the round trip the rate grows by a fixed step, above a high one it shrinks in proportion to
//! the excess. In between, a falling round trip lets the rate grow and a rising one cuts it by the gradient. The rate
//! changes once per round trip.
//!
//! # When to use it
//! Use it to reproduce published results. The algorithm has no fixed point: where its flows end depends on where they
//! begin. `patched_timely` has one.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "timely", window = "none" }
//! ```
//!
//! # Source
//! Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015; the rules and defaults are
//! those of HPCC's simulator (rdma-hw.cc, UpdateRateTimely).
//!
//! # Where we differ
//! Nothing is known. As in the source, hyper-active increase is one fixed step and no multiple of the additive one.
//!
//! # Parameters
//! `low_threshold`, `high_threshold`, `min_round_trip`, `gain`, `decrease`, `additive_increase`, `hyper_increase`,
//! `hyper_stage`, `min_rate`.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, Needs};
use forebay_units::{ParameterError, Rate, Span, require};

use crate::controller::{NicController, Setup, rate};

forebay_units::configuration! {
    /// The parameters of TIMELY.
    pub struct TimelyConfig {
        /// Below this round trip the rate always grows (T_low).
        pub low_threshold: Span = Span::from_microseconds(50);
        /// Above this round trip the rate always shrinks (T_high).
        pub high_threshold: Span = Span::from_microseconds(500);
        /// The unit of the gradient.
        pub min_round_trip: Span = Span::from_microseconds(20);
        /// Weight of the newest difference of round trips (the paper's alpha).
        pub gain: f64 = 0.875;
        /// Factor of a decrease (the paper's beta).
        pub decrease: f64 = 0.8;
        /// Additive increase in an update (the paper's delta). Default: 10 Mb/s for each 10 Gb/s of the port.
        pub additive_increase: Option<Rate> = None;
        /// Increase from `hyper_stage` on. Default: 50 Mb/s for each 10 Gb/s of the port.
        pub hyper_increase: Option<Rate> = None;
        /// Increases in a row after which `hyper_increase` replaces `additive_increase`.
        pub hyper_stage: u32 = 5;
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(1_000);
    }
}

impl TimelyConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let bound = "be at least `low_threshold`, and both more than 0";
        let is_ordered = self.low_threshold > Span::ZERO && self.low_threshold <= self.high_threshold;
        require(is_ordered, "control.timely.high_threshold", bound)?;
        require(self.min_round_trip > Span::ZERO, "control.timely.min_round_trip", "be more than 0")?;
        require(self.gain > 0.0 && self.gain <= 1.0, "control.timely.gain", "be more than 0 and at most 1")?;
        require(self.decrease > 0.0 && self.decrease < 1.0, "control.timely.decrease", "be between 0 and 1")
    }
}

#[derive(Debug)]
struct Timely {
    config: TimelyConfig,
    rate_bps: f64,
    line_bps: f64,
    increase_bps: f64,
    hyper_bps: f64,
    /// Ends the round trip of the last update.
    last_update: u64,
    last_round_trip_ps: f64,
    /// The average difference of round trips.
    difference_ps: f64,
    increases: u32,
}

pub(crate) fn build(config: &TimelyConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(Timely::new(config, setup))
}

impl Timely {
    fn new(config: &TimelyConfig, setup: &Setup) -> Self {
        let step = |given: Option<Rate>, scaled: u64| {
            given.map_or(setup.scaled_bps(Rate::megabits(scaled), Rate::megabits(10_000)), |rate| {
                rate.bits_per_second() as f64
            })
        };
        Self {
            config: config.clone(),
            rate_bps: setup.line_bps(),
            line_bps: setup.line_bps(),
            increase_bps: step(config.additive_increase, 10),
            hyper_bps: step(config.hyper_increase, 50),
            last_update: 0,
            last_round_trip_ps: 0.0,
            difference_ps: 0.0,
            increases: 0,
        }
    }

    /// The rate after a round trip of `round_trip`.
    fn update(&mut self, round_trip: Span) {
        let config = &self.config;
        let new_ps = round_trip.picoseconds() as f64;
        let difference_ps = new_ps - self.last_round_trip_ps;
        self.difference_ps = (1.0 - config.gain) * self.difference_ps + config.gain * difference_ps;
        let gradient = self.difference_ps / config.min_round_trip.picoseconds() as f64;
        let factor = if round_trip < config.low_threshold {
            None
        } else if round_trip > config.high_threshold {
            Some(1.0 - config.decrease * (1.0 - config.high_threshold.picoseconds() as f64 / new_ps))
        } else if gradient <= 0.0 {
            None
        } else {
            Some((1.0 - config.decrease * gradient).max(0.0))
        };
        let min_bps = (config.min_rate.bits_per_second() as f64).min(self.line_bps);
        if let Some(factor) = factor {
            self.rate_bps = (self.rate_bps * factor).max(min_bps);
            self.increases = 0;
        } else {
            let is_hyper = self.increases >= config.hyper_stage;
            let step_bps = if is_hyper { self.hyper_bps } else { self.increase_bps };
            self.rate_bps = (self.rate_bps + step_bps).min(self.line_bps);
            self.increases = self.increases.saturating_add(1);
        }
    }
}

impl Controller for Timely {
    fn needs(&self) -> Needs {
        Needs { every_round_trip: true, answers_marks: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let Some(round_trip) = ack.round_trips.latest else { return };
        if ack.acknowledged <= self.last_update {
            return;
        }
        if self.last_update != 0 {
            self.update(round_trip);
            control.pacing_rate = Some(rate(self.rate_bps));
        }
        if ack.next > self.last_update {
            self.last_update = ack.next;
            self.last_round_trip_ps = round_trip.picoseconds() as f64;
        }
    }

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}
}

impl NicController for Timely {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::{ack_after, setup};

    fn timely() -> Timely {
        Timely::new(&TimelyConfig::default(), &Setup { line_rate: Rate::megabits(10_000), ..setup() })
    }

    /// Gigabits per second after each of these round trips, in microseconds.
    fn rates(timely: &mut Timely, round_trips: &[u64]) -> alloc::vec::Vec<f64> {
        let update = |&microseconds: &u64| {
            let round_trip = Span::from_microseconds(microseconds);
            timely.update(round_trip);
            timely.last_round_trip_ps = round_trip.picoseconds() as f64;
            (timely.rate_bps / 1e5 + 0.5) as u64 as f64 / 1e4
        };
        round_trips.iter().map(update).collect()
    }

    #[test]
    fn thresholds_decide_before_the_gradient() {
        let mut timely = timely();
        timely.rate_bps = 5e9;
        // Five additive steps of 10 Mb/s, then steps of 50 Mb/s.
        let below = rates(&mut timely, &[49; 7]);
        assert_eq!(below, [5.01, 5.02, 5.03, 5.04, 5.05, 5.1, 5.15]);
        // 1 - 0.8 (1 - 500 / 1000).
        assert_eq!(rates(&mut timely, &[1_000]), [3.09]);
        assert_eq!(timely.increases, 0);
    }

    #[test]
    fn a_rising_round_trip_cuts_by_its_gradient() {
        let mut timely = timely();
        (timely.rate_bps, timely.last_round_trip_ps) = (8e9, 100e6);
        // 0.875 * 10 us / 20 us = 0.4375; 1 - 0.8 * 0.4375 = 0.65.
        assert_eq!(rates(&mut timely, &[110]), [5.2]);
        // 0.125 * 8.75 us - 0.875 * 20 us is negative.
        assert_eq!(rates(&mut timely, &[90]), [5.21]);
        // A gradient above 1.25 leaves the least rate.
        assert_eq!(rates(&mut timely, &[300]), [1.0]);
    }

    #[test]
    fn the_rate_changes_once_in_a_round_trip() {
        let mut timely = timely();
        timely.rate_bps = 5e9;
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let mut step = |acknowledged, next| {
            let sample = ack_after(Span::from_microseconds(30), acknowledged, next);
            timely.on_ack(&sample, &mut control);
            control.pacing_rate.map(|rate| rate.bits_per_second() / 1_000_000)
        };
        assert_eq!(step(1_000, 10_000), None);
        assert_eq!(step(10_000, 12_000), None);
        assert_eq!(step(10_001, 20_000), Some(5_010));
        assert_eq!(step(20_000, 21_000), Some(5_010));
        assert_eq!(step(20_001, 21_000), Some(5_020));
    }
}
