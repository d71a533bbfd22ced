//! DCTCP in hardware: reduces the rate by the share of marked packets.
//!
//! # What it does
//! The rules are those of DCTCP, with a rate in place of the window. The adapter keeps an average of the share of
//! marked packets. It cuts its rate once per round trip by half of that share, and otherwise adds a fixed step. Flows
//! start at the rate of the line, and each packet is acknowledged.
//!
//! # When to use it
//! Use it for RoCE fabrics whose switches mark at a threshold: 3 KB for each 1 Gb/s of the port. For hosts that run TCP
//! use TCP's `dctcp`.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "dctcp" }
//! ```
//!
//! # Source
//! Alizadeh et al., "Data Center TCP", SIGCOMM 2010; the form for adapters is that of HPCC's simulator (rdma-hw.cc,
//! HandleAckDctcp).
//!
//! # Where we differ
//! Nothing is known.
//!
//! # Parameters
//! `gain`, `additive_increase`, `min_rate`.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, EcnNeed, Needs};
use forebay_units::{ParameterError, Rate, require};

use crate::controller::{NicController, Setup, rate};

forebay_units::configuration! {
    /// The parameters of DCTCP in hardware.
    pub struct DctcpConfig {
        /// Weight of a round trip in the share of marks (the paper's g).
        pub gain: f64 = 1.0 / 16.0;
        /// Increase in a round trip: 1000 bytes in 13 us.
        pub additive_increase: Rate = Rate::megabits(615);
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(1_000);
    }
}

impl DctcpConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.gain > 0.0 && self.gain <= 1.0, "control.dctcp.gain", "be more than 0 and at most 1")
    }
}

#[derive(Debug)]
struct Dctcp {
    config: DctcpConfig,
    line_bps: f64,
    rate_bps: f64,
    payload_bytes: u64,
    /// The share of marks.
    alpha: f64,
    marked: u64,
    /// Packets of this round trip.
    packets: u64,
    /// Ends the round trip.
    last_update: u64,
    /// No cut until this is acknowledged.
    reduced_until: Option<u64>,
}

pub(crate) fn build(config: &DctcpConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(Dctcp::new(config, setup))
}

impl Dctcp {
    fn new(config: &DctcpConfig, setup: &Setup) -> Self {
        Self {
            config: config.clone(),
            line_bps: setup.line_bps(),
            rate_bps: setup.line_bps(),
            payload_bytes: u64::from(setup.payload_bytes.max(1)),
            alpha: 1.0,
            marked: 0,
            packets: 0,
            last_update: 0,
            reduced_until: None,
        }
    }

    /// Whether a round trip ends with this ACK. If so, updates the share.
    fn ends_round(&mut self, ack: &AckSample<'_>) -> bool {
        if ack.acknowledged <= self.last_update {
            return false;
        }
        if self.last_update != 0 {
            let share = (self.marked as f64 / self.packets as f64).min(1.0);
            self.alpha = (1.0 - self.config.gain) * self.alpha + self.config.gain * share;
            self.marked = 0;
            self.packets = ack.next.saturating_sub(ack.acknowledged) / self.payload_bytes + 1;
        } else {
            self.packets = ack.next / self.payload_bytes + 1;
        }
        self.last_update = ack.next;
        true
    }
}

impl Controller for Dctcp {
    fn needs(&self) -> Needs {
        Needs { marks: true, answers_marks: true, ecn: EcnNeed::Dctcp, ..Needs::default() }
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        self.marked += u64::from(ack.echoes_mark);
        let ends_round = self.ends_round(ack);
        if self.reduced_until.is_some_and(|end| ack.acknowledged > end) {
            self.reduced_until = None;
        }
        if ack.echoes_mark && self.reduced_until.is_none() {
            let min_bps = (self.config.min_rate.bits_per_second() as f64).min(self.line_bps);
            self.rate_bps = (self.rate_bps * (1.0 - self.alpha / 2.0)).max(min_bps);
            self.reduced_until = Some(ack.next);
        }
        if ends_round && self.reduced_until.is_none() {
            let increase_bps = self.config.additive_increase.bits_per_second() as f64;
            self.rate_bps = (self.rate_bps + increase_bps).min(self.line_bps);
        }
        control.pacing_rate = Some(rate(self.rate_bps));
    }

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
    }
}

impl NicController for Dctcp {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::{ack, setup};

    #[test]
    fn a_mark_cuts_once_in_a_round_trip_and_alpha_follows_the_share() {
        let mut dctcp = Dctcp::new(&DctcpConfig::default(), &setup());
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let mut step = |acknowledged, next, echoes_mark| {
            let sample = AckSample { echoes_mark, ..ack(0, acknowledged, next) };
            dctcp.on_ack(&sample, &mut control);
            (control.pacing_rate.unwrap().bits_per_second() / 1_000_000, (dctcp.alpha * 1e4) as u64)
        };
        // The first mark halves, as alpha starts at 1.
        assert_eq!(step(1_000, 10_000, true), (50_000, 10_000));
        assert_eq!(step(2_000, 11_000, true), (50_000, 10_000));
        // The round of 11 packets ends with three marks. The reduction lasts until 10 000 is passed, which this ACK
        // does: 1/16 of 3/11 and 15/16; then the cut by half of it.
        assert_eq!(step(11_000, 20_000, true), (26_136, 9_545));
        // Ten packets follow without a mark: 15/16, and the step.
        assert_eq!(step(20_000, 29_000, false), (26_136, 9_545));
        assert_eq!(step(21_000, 30_000, false), (26_751, 8_948));
    }
}
