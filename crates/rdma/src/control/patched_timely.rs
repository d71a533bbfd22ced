//! Patched TIMELY: TIMELY with a fixed point.
//!
//! # What it does
//! Outside the thresholds of the round trip the rules are TIMELY's. Between them, a weight that rises with the gradient
//! mixes an increase with a decrease that depends on the round trip itself. So all flows reach the same rate, and the
//! round trip a value that grows with the number of flows.
//!
//! # When to use it
//! Use it instead of `timely`. It is stable up to about 40 flows at 10 Gb/s.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "patched_timely", window = "none" }
//! ```
//!
//! # Source
//! Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016, section 5 and the
//! authors' model.
//!
//! # Where we differ
//! Nothing is known. A sample is due after each chunk of acknowledged bytes; the model computes with the time of a
//! chunk.
//!
//! # Parameters
//! `low_threshold`, `high_threshold`, `min_round_trip`, `gain`, `decrease`, `additive_increase`, `chunk_bytes`,
//! `min_rate`.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, Needs};
use forebay_units::{Bytes, ParameterError, Rate, Span, require};

use crate::controller::{NicController, Setup, rate};

forebay_units::configuration! {
    /// The parameters of patched TIMELY.
    pub struct PatchedTimelyConfig {
        /// Below this round trip the rate always grows (T_low); also the reference of the decrease.
        pub low_threshold: Span = Span::from_microseconds(50);
        /// Above this round trip the rate always shrinks (T_high).
        pub high_threshold: Span = Span::from_microseconds(500);
        /// The unit of the gradient (D_minRTT).
        pub min_round_trip: Span = Span::from_microseconds(20);
        /// Weight of the newest difference of round trips (the paper's alpha).
        pub gain: f64 = 0.875;
        /// Factor of a decrease (the paper's beta).
        pub decrease: f64 = 0.008;
        /// Additive increase in an update (the paper's delta). Default: 10 Mb/s for each 10 Gb/s of the port.
        pub additive_increase: Option<Rate> = None;
        /// Acknowledged bytes between two updates.
        pub chunk_bytes: Bytes = Bytes(16_000);
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(10);
    }
}

impl PatchedTimelyConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let bound = "be at least `low_threshold`, and both more than 0";
        let is_ordered = self.low_threshold > Span::ZERO && self.low_threshold <= self.high_threshold;
        require(is_ordered, "control.patched_timely.high_threshold", bound)?;
        require(self.min_round_trip > Span::ZERO, "control.patched_timely.min_round_trip", "be more than 0")?;
        require(self.gain > 0.0 && self.gain <= 1.0, "control.patched_timely.gain", "be more than 0 and at most 1")?;
        require(self.decrease > 0.0 && self.decrease < 1.0, "control.patched_timely.decrease", "be between 0 and 1")
    }
}

#[derive(Debug)]
struct PatchedTimely {
    config: PatchedTimelyConfig,
    rate_bps: f64,
    line_bps: f64,
    increase_bps: f64,
    /// Acknowledged bytes from which on the next sample is due.
    next_update: u64,
    last_round_trip_ps: Option<f64>,
    difference_ps: f64,
}

pub(crate) fn build(config: &PatchedTimelyConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(PatchedTimely::new(config, setup))
}

impl PatchedTimely {
    fn new(config: &PatchedTimelyConfig, setup: &Setup) -> Self {
        let scaled = setup.scaled_bps(Rate::megabits(10), Rate::megabits(10_000));
        Self {
            config: config.clone(),
            rate_bps: setup.line_bps(),
            line_bps: setup.line_bps(),
            increase_bps: config.additive_increase.map_or(scaled, |rate| rate.bits_per_second() as f64),
            next_update: 0,
            last_round_trip_ps: None,
            difference_ps: 0.0,
        }
    }

    fn update(&mut self, round_trip: Span) {
        let config = &self.config;
        let new_ps = round_trip.picoseconds() as f64;
        let Some(last_ps) = self.last_round_trip_ps.replace(new_ps) else { return };
        self.difference_ps = (1.0 - config.gain) * self.difference_ps + config.gain * (new_ps - last_ps);
        let gradient = self.difference_ps / config.min_round_trip.picoseconds() as f64;
        let low_ps = config.low_threshold.picoseconds() as f64;
        let wanted_bps = if round_trip < config.low_threshold {
            self.rate_bps + self.increase_bps
        } else if round_trip > config.high_threshold {
            let high_ps = config.high_threshold.picoseconds() as f64;
            self.rate_bps * (1.0 - config.decrease * (1.0 - high_ps / new_ps))
        } else {
            let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
            let error = (new_ps - low_ps) / low_ps;
            self.increase_bps * (1.0 - weight) + self.rate_bps * (1.0 - config.decrease * weight * error)
        };
        let min_bps = (config.min_rate.bits_per_second() as f64).min(self.line_bps);
        self.rate_bps = wanted_bps.clamp(min_bps, self.line_bps);
    }
}

impl Controller for PatchedTimely {
    fn needs(&self) -> Needs {
        Needs { every_round_trip: true, answers_marks: true, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let Some(round_trip) = ack.round_trips.latest else { return };
        if ack.acknowledged < self.next_update {
            return;
        }
        self.next_update = ack.acknowledged + self.config.chunk_bytes.0;
        self.update(round_trip);
        control.pacing_rate = Some(rate(self.rate_bps));
    }

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}
}

impl NicController for PatchedTimely {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::control::tests::{ack_after, setup};

    const LINK_BPS: f64 = 10e9;

    /// The rates of `flows` and the round trip in microseconds after two seconds at a link whose queue is the round
    /// trip, in steps of a microsecond.
    fn equilibrium(flows: usize) -> (Vec<f64>, f64) {
        let setup = Setup { line_rate: Rate::megabits(10_000), ..setup() };
        let mut controllers: Vec<_> =
            (0..flows).map(|_| PatchedTimely::new(&PatchedTimelyConfig::default(), &setup)).collect();
        // Unequal starts.
        for (index, controller) in controllers.iter_mut().enumerate() {
            controller.rate_bps = LINK_BPS * (index + 1) as f64 * 2.0 / (flows * (flows + 1)) as f64;
        }
        let (mut queue_bits, mut acknowledged) = (0.0_f64, alloc::vec![0.0; flows]);
        let (mut average, mut samples) = (0.0, 0.0);
        for microsecond in 0..2_000_000 {
            let offered: f64 = controllers.iter().map(|controller| controller.rate_bps).sum();
            queue_bits = (queue_bits + (offered - LINK_BPS) * 1e-6).max(0.0);
            let round_trip = queue_bits / LINK_BPS;
            for (controller, acknowledged) in controllers.iter_mut().zip(&mut acknowledged) {
                *acknowledged += controller.rate_bps / 8.0 * 1e-6;
                let mut control = Control::new(f64::INFINITY, f64::INFINITY);
                let sample = ack_after(Span::from_seconds_f64(round_trip), *acknowledged as u64, 0);
                controller.on_ack(&sample, &mut control);
            }
            if microsecond >= 1_000_000 {
                (average, samples) = (average + round_trip * 1e6, samples + 1.0);
            }
        }
        (controllers.iter().map(|controller| controller.rate_bps).collect(), average / samples)
    }

    #[test]
    fn flows_share_equally_at_the_round_trip_of_the_theorem() {
        for flows in [2, 10] {
            let (rates, round_trip) = equilibrium(flows);
            let theorem = 50.0 * (1.0 + flows as f64 * 10e6 / (0.008 * LINK_BPS));
            assert!((round_trip / theorem - 1.0).abs() < 0.05, "{flows}: {round_trip} instead of {theorem}");
            let share = LINK_BPS / flows as f64;
            assert!(rates.iter().all(|rate| (rate / share - 1.0).abs() < 0.05), "{rates:?}");
        }
    }

    #[test]
    fn the_weight_mixes_increase_and_decrease() {
        let setup = Setup { line_rate: Rate::megabits(10_000), ..setup() };
        let after = |last: u64, new: u64| {
            let mut timely = PatchedTimely::new(&PatchedTimelyConfig::default(), &setup);
            timely.rate_bps = 5e9;
            timely.update(Span::from_microseconds(last));
            timely.update(Span::from_microseconds(new));
            timely.rate_bps
        };
        let near = |rate: f64, expected: f64| assert!((rate - expected).abs() < 1.0, "{rate} {expected}");
        // No change of the round trip: half of each, at twice the reference.
        near(after(100, 100), 5e6 + 5e9 * (1.0 - 0.004));
        // Falling fast: only the increase. Rising fast: only the decrease.
        near(after(200, 100), 5.01e9);
        near(after(60, 100), 5e9 * (1.0 - 0.008));
        near(after(100, 49), 5.01e9);
        near(after(100, 1_000), 5e9 * (1.0 - 0.004));
    }
}
