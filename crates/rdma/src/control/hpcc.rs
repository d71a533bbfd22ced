//! HPCC: computes the rate from the utilization that switches report.
//!
//! # What it does
//! Each switch appends its clock, its counter of sent bytes, its queue length and its rate to every data packet; the
//! ACK returns them. The sender computes the utilization of each link and scales its rate so that the busiest link
//! reaches a target below 1. Queues stay close to empty. The reaction is multiplicative and refers to a rate that is
//! stored once per round trip, so that several ACKs of one round trip do not repeat a correction.
//!
//! # When to use it
//! Use it for lossless fabrics of 25, 50, 100, 200 or 400 Gb/s whose switches support telemetry. Telemetry adds 42
//! bytes to each packet, about 4 % at a payload of 1000 bytes.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "hpcc" }
//! ```
//!
//! # Source
//! Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019; the rules and their order are those of the
//! authors' simulator (rdma-hw.cc, UpdateRateHp).
//!
//! # Where we differ
//! - The window, `W_init * R / R_line`, holds with any `window` of the queue pair. It is at least a packet, which the
//!   source sends, too.
//! - The source can keep a rate for each hop (`MULTI_RATE`). Its published configurations switch that off, and we have
//!   one rate.
//! - A link without progress of its clock between two ACKs is skipped: the source divides by zero.
//! - If the number of hops changes, the packet took another path. Its records replace the stored ones and change no
//!   rate; the source would compare different ports.
//! - An ACK without telemetry changes nothing.
//!
//! # Parameters
//! `target_utilization`, `max_stage`, `additive_increase`, `min_rate`, `fast_reaction`. The paper prints a `max_stage`
//! of 5; its authors state that their simulations used 0.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, Needs};
use forebay_units::{ParameterError, Rate, require};

use crate::controller::{NicController, Setup, rate};
use crate::telemetry::{Hop, MAX_HOPS, multiplier};

forebay_units::configuration! {
    /// The parameters of HPCC.
    pub struct HpccConfig {
        /// The utilization of the busiest link (the paper's eta).
        pub target_utilization: f64 = 0.95;
        /// Additive round trips before a multiplicative one (the paper's maxStage).
        pub max_stage: u32 = 0;
        /// Additive increase in an update (W_AI, as a rate). Default: 10 Mb/s for each 25 Gb/s of the port.
        pub additive_increase: Option<Rate> = None;
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(1_000);
        /// Whether every ACK changes the rate, not only the first of a round trip.
        pub fast_reaction: bool = true;
    }
}

impl HpccConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let eta = self.target_utilization;
        require(eta > 0.0 && eta <= 1.0, "control.hpcc.target_utilization", "be more than 0 and at most 1")
    }
}

/// The change of a link's state between two ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct LinkSample {
    nanoseconds: u64,
    sent_bytes: u64,
    /// The shorter of both queues.
    queued_bytes: u64,
    rate_bps: f64,
}

#[derive(Debug)]
struct Hpcc {
    /// Records of the last ACK (the paper's L).
    stored: [Hop; MAX_HOPS],
    hops: u8,
    stage: u32,
    max_stage: u32,
    fast_reaction: bool,
    multiplier: u32,
    /// Ends the round trip of the last full update.
    last_update: u64,
    /// The average utilization of the busiest link (U).
    utilization: f64,
    /// The rate at the last full update (Rc).
    reference_bps: f64,
    target_utilization: f64,
    increase_bps: f64,
    min_bps: f64,
    line_bps: f64,
    /// The base round trip (T).
    base_nanoseconds: f64,
    window_bytes: f64,
    payload_bytes: f64,
}

pub(crate) fn build(config: &HpccConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(Hpcc::new(config, setup))
}

impl Hpcc {
    fn new(config: &HpccConfig, setup: &Setup) -> Self {
        let line_bps = setup.line_bps();
        let scaled = setup.scaled_bps(Rate::megabits(10), Rate::megabits(25_000));
        Self {
            stored: [Hop::default(); MAX_HOPS],
            hops: 0,
            stage: 0,
            max_stage: config.max_stage,
            fast_reaction: config.fast_reaction,
            multiplier: multiplier(setup.line_rate),
            last_update: 0,
            utilization: 1.0,
            reference_bps: line_bps,
            target_utilization: config.target_utilization,
            increase_bps: config.additive_increase.map_or(scaled, |rate| rate.bits_per_second() as f64),
            min_bps: (config.min_rate.bits_per_second() as f64).min(line_bps),
            line_bps,
            base_nanoseconds: setup.base_round_trip.picoseconds().max(1_000) as f64 / 1_000.0,
            window_bytes: setup.window_bytes.max(1) as f64,
            payload_bytes: f64::from(setup.payload_bytes.max(1)),
        }
    }

    /// The window at a rate, in packets.
    fn window(&self, rate_bps: f64) -> f64 {
        (self.window_bytes * rate_bps / self.line_bps / self.payload_bytes).max(1.0)
    }

    /// The changes since the stored records, which these replace. `None` if they cannot be compared.
    fn samples(&mut self, telemetry: &[Hop]) -> Option<([LinkSample; MAX_HOPS], usize)> {
        let count = telemetry.len().min(MAX_HOPS);
        let mut samples = [LinkSample::default(); MAX_HOPS];
        let is_same_path = count == usize::from(self.hops);
        for ((sample, stored), &hop) in samples.iter_mut().zip(&mut self.stored).zip(telemetry) {
            *sample = LinkSample {
                nanoseconds: hop.nanoseconds_since(*stored),
                sent_bytes: hop.bytes_since(*stored, self.multiplier),
                queued_bytes: hop.queued_bytes(self.multiplier).min(stored.queued_bytes(self.multiplier)),
                rate_bps: hop.rate_bps() as f64,
            };
            *stored = hop;
        }
        self.hops = count as u8;
        is_same_path.then_some((samples, count))
    }

    /// The rate that follows from these samples, and the stage of a full update.
    fn respond(&mut self, samples: &[LinkSample]) -> (f64, u32) {
        let (mut busiest, mut nanoseconds) = (0.0, 0.0);
        for link in samples.iter().filter(|link| link.nanoseconds > 0 && link.rate_bps > 0.0) {
            let sent_bps = link.sent_bytes as f64 * 8.0 / (link.nanoseconds as f64 * 1e-9);
            let queue = link.queued_bytes as f64 * self.line_bps / link.rate_bps / self.window_bytes;
            let utilization = sent_bps / link.rate_bps + queue;
            if utilization > busiest {
                (busiest, nanoseconds) = (utilization, link.nanoseconds as f64);
            }
        }
        let weight = nanoseconds.min(self.base_nanoseconds) / self.base_nanoseconds;
        self.utilization = self.utilization * (1.0 - weight) + busiest * weight;
        let correction = self.utilization / self.target_utilization;
        let (wanted_bps, stage) = if correction >= 1.0 || self.stage >= self.max_stage {
            (self.reference_bps / correction + self.increase_bps, 0)
        } else {
            (self.reference_bps + self.increase_bps, self.stage + 1)
        };
        (wanted_bps.clamp(self.min_bps, self.line_bps), stage)
    }
}

impl Controller for Hpcc {
    fn needs(&self) -> Needs {
        Needs { answers_marks: true, ..Needs::default() }
    }

    fn initial_window(&self, _congestion_window: f64) -> f64 {
        self.window(self.line_bps)
    }

    fn on_ack(&mut self, _ack: &AckSample<'_>, _control: &mut Control) {}

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("utilization", self.utilization);
        visit("reference_bps", self.reference_bps);
    }
}

impl NicController for Hpcc {
    fn on_acknowledgement(&mut self, ack: &AckSample<'_>, telemetry: &[Hop], control: &mut Control) {
        if telemetry.is_empty() {
            return;
        }
        // The first ACK only stores its records.
        let is_first = self.last_update == 0;
        let is_full = is_first || ack.acknowledged > self.last_update;
        if !is_full && !self.fast_reaction {
            return;
        }
        if let Some((samples, count)) = self.samples(telemetry)
            && !is_first
        {
            let (rate_bps, stage) = self.respond(&samples[..count]);
            control.pacing_rate = Some(rate(rate_bps));
            control.congestion_window = self.window(rate_bps);
            if is_full {
                (self.reference_bps, self.stage) = (rate_bps, stage);
            }
        }
        if is_full {
            self.last_update = self.last_update.max(ack.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::{Span, Time};

    use super::*;
    use crate::control::tests::{ack, setup};

    fn hpcc(config: &HpccConfig) -> Hpcc {
        let setup = Setup { base_round_trip: Span::from_microseconds(13), window_bytes: 162_500, ..setup() };
        Hpcc::new(config, &setup)
    }

    fn config() -> HpccConfig {
        HpccConfig { additive_increase: Some(Rate::megabits(50)), ..HpccConfig::default() }
    }

    fn sample(sent_bytes: u64, nanoseconds: u64, queued_bytes: u64) -> LinkSample {
        LinkSample { nanoseconds, sent_bytes, queued_bytes, rate_bps: 100e9 }
    }

    #[test]
    fn the_vector_of_the_source() {
        let mut hpcc = hpcc(&config());
        let rows = [
            (sample(12_500, 1_000, 30_000), 1.014_201, 93.7198),
            (sample(12_500, 1_000, 0), 1.013_109, 93.8208),
            (sample(6_000, 1_000, 0), 0.972_100, 97.7765),
            (sample(162_500, 13_000, 0), 1.0, 95.05),
        ];
        for (link, utilization, gbps) in rows {
            let (rate_bps, stage) = hpcc.respond(&[link]);
            assert!((hpcc.utilization - utilization).abs() < 5e-7, "{}", hpcc.utilization);
            assert!((rate_bps / 1e9 - gbps).abs() < 5e-5, "{rate_bps}");
            assert_eq!(stage, 0);
        }
    }

    #[test]
    fn the_busiest_link_decides_and_a_stopped_clock_is_skipped() {
        let mut both = hpcc(&config());
        let mut one = hpcc(&config());
        let busy = sample(12_500, 1_000, 30_000);
        let idle = sample(100, 2_000, 0);
        assert_eq!(both.respond(&[idle, busy, sample(500, 0, 9_000)]), one.respond(&[busy]));
    }

    #[test]
    fn additive_stages_come_before_a_multiplicative_one() {
        let mut hpcc = hpcc(&HpccConfig { max_stage: 2, ..config() });
        hpcc.reference_bps = 10e9;
        let idle = [sample(13_000, 13_000, 0)];
        let stages = [(10.05e9, 1), (10.05e9, 2), (95e9, 0)].map(|(expected, stage)| {
            let (rate_bps, next) = hpcc.respond(&idle);
            hpcc.stage = next;
            // A utilization of 0.08 would multiply by more than ten; the line is the bound.
            (if stage == 0 { rate_bps > expected } else { (rate_bps - expected).abs() < 1.0 }, next == stage)
        });
        assert_eq!(stages, [(true, true); 3]);
    }

    #[test]
    fn acks_of_one_round_trip_correct_once() {
        let mut hpcc = hpcc(&config());
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let port = |nanoseconds: u64, sent: u64, queue: u64| {
            [Hop::record(Time::from_picoseconds(nanoseconds * 1_000), sent, queue, Rate::megabits(100_000), 4).unwrap()]
        };
        hpcc.on_acknowledgement(&ack(0, 1_000, 100_000), &port(0, 0, 64_000), &mut control);
        assert_eq!((control.pacing_rate, hpcc.last_update), (None, 100_000));
        hpcc.on_acknowledgement(&ack(1, 2_000, 101_000), &port(1_000, 12_800, 64_000), &mut control);
        let first = control.pacing_rate.unwrap().bits_per_second();
        assert!(first < 95_000_000_000 && hpcc.reference_bps == 100e9, "{first}");
        // From the second round trip on, the reference follows.
        hpcc.on_acknowledgement(&ack(2, 100_001, 200_000), &port(2_000, 25_600, 64_000), &mut control);
        assert_eq!(rate(hpcc.reference_bps), control.pacing_rate.unwrap());
        assert_eq!(hpcc.last_update, 200_000);
        // Another path: its records are stored and change nothing.
        let before = control.pacing_rate;
        let other = [port(3_000, 0, 0)[0], port(3_000, 0, 0)[0]];
        hpcc.on_acknowledgement(&ack(3, 100_002, 200_000), &other, &mut control);
        assert_eq!((control.pacing_rate, hpcc.hops), (before, 2));
    }

    /// One flow at a link of 100 Gb/s, in steps of 1 us; an ACK returns the state of 13 us before. Several flows need
    /// the window too, which belongs to the queue pair: with rates alone they oscillate.
    #[test]
    fn a_flow_alone_settles_at_the_target_without_a_queue() {
        let mut flow = hpcc(&config());
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let (mut sent, mut queue) = (0.0, 0.0);
        let mut history = alloc::collections::VecDeque::new();
        let (mut utilization, mut longest) = (0.0, 0.0_f64);
        for step in 1..5_000_u64 {
            let rate_bps = control.pacing_rate.map_or(100e9, |rate| rate.bits_per_second() as f64);
            let arrived = rate_bps * 1e-6 / 8.0;
            let served = f64::min(queue + arrived, 12_500.0);
            queue += arrived - served;
            sent += served;
            let now = Time::from_picoseconds(step * 1_000_000);
            history.push_back(Hop::record(now, sent as u64, queue as u64, Rate::megabits(100_000), 4).unwrap());
            if history.len() > 13 {
                let hop = history.pop_front().unwrap();
                flow.on_acknowledgement(&ack(step, step * 1_000, (step + 13) * 1_000), &[hop], &mut control);
            }
            if step >= 4_000 {
                (utilization, longest) = (utilization + served / 12_500.0 / 1_000.0, longest.max(queue));
            }
        }
        assert!((utilization - 0.95).abs() < 0.002, "{utilization}");
        assert_eq!(longest, 0.0);
    }

    #[test]
    fn without_fast_reaction_only_full_updates_count() {
        let mut hpcc = hpcc(&HpccConfig { fast_reaction: false, ..config() });
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let hop = |nanoseconds: u64| {
            [Hop::record(Time::from_picoseconds(nanoseconds * 1_000), 0, 64_000, Rate::megabits(100_000), 4).unwrap()]
        };
        hpcc.on_acknowledgement(&ack(0, 1_000, 100_000), &hop(0), &mut control);
        hpcc.on_acknowledgement(&ack(1, 2_000, 101_000), &hop(1_000), &mut control);
        assert_eq!(
            (control.pacing_rate, hpcc.stored),
            (None, [hop(0)[0], Hop::default(), Hop::default(), Hop::default(), Hop::default()])
        );
    }
}
