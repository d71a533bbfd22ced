//! DCQCN as in its paper.
//!
//! # What it does
//! The receiver notifies the sender of marks at most once in 50 us. Each notification sets the target to the rate, cuts
//! the rate by half of the estimate of congestion, and raises the estimate. Without a notification for 55 us the
//! estimate falls. The rate recovers in cycles of a byte counter and of a timer: half the way to the target in each;
//! then the target rises too.
//!
//! # When to use it
//! Use it for the paper's results and for its model. `dcqcn` is the version of HPCC's simulator.
//!
//! # Example
//! ```toml
//! transport.roce = { control.dcqcn_paper = { increase_timer = "55 us" } }
//! ```
//!
//! # Source
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3.1, Figures 7 and 14; the
//! order at a notification is that of the authors' model in "ECN or Delay", CoNEXT 2016.
//!
//! # Where we differ
//! The paper leaves the step of hyper-active increase open. Here it is ten times the step of active increase and grows
//! from cycle to cycle, as in QCN.
//!
//! # Parameters
//! `gain`, `estimate_interval`, `increase_timer`, `byte_cycle`, `fast_recovery_cycles`, `active_increase`,
//! `hyper_active_increase`, `min_rate`. The interval of notifications belongs to the receiver.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller};
use forebay_units::{Bytes, ParameterError, Rate, Span, Time, require};

use crate::controller::{NicController, Setup, rate};

forebay_units::configuration! {
    /// The parameters of DCQCN.
    pub struct DcqcnPaperConfig {
        /// Weight of the newest interval in the estimate (g).
        pub gain: f64 = 1.0 / 256.0;
        /// Time without a notification after which the estimate falls (K).
        pub estimate_interval: Span = Span::from_microseconds(55);
        /// A cycle of the timer (T).
        pub increase_timer: Span = Span::from_microseconds(55);
        /// A cycle of the byte counter (B).
        pub byte_cycle: Bytes = Bytes(10_000_000);
        /// Cycles of fast recovery (F).
        pub fast_recovery_cycles: u32 = 5;
        /// Step of the target in active increase (R_AI).
        pub active_increase: Rate = Rate::megabits(40);
        /// Step of the target in the first cycle of hyper-active increase; twice that in the second, and so on.
        pub hyper_active_increase: Rate = Rate::megabits(400);
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(10);
    }
}

impl DcqcnPaperConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.gain > 0.0 && self.gain < 1.0, "control.dcqcn_paper.gain", "be between 0 and 1")?;
        let is_long = |span: Span| span >= Span::from_nanoseconds(10);
        require(is_long(self.estimate_interval), "control.dcqcn_paper.estimate_interval", "be at least 10 ns")?;
        require(is_long(self.increase_timer), "control.dcqcn_paper.increase_timer", "be at least 10 ns")?;
        require(self.byte_cycle.0 > 0, "control.dcqcn_paper.byte_cycle", "be at least 1 B")?;
        require(self.fast_recovery_cycles > 0, "control.dcqcn_paper.fast_recovery_cycles", "be at least 1")
    }
}

#[derive(Debug)]
struct DcqcnPaper {
    config: DcqcnPaperConfig,
    line_bps: f64,
    rate_bps: f64,
    target_bps: f64,
    alpha: f64,
    /// When the estimate falls next, and when the timer's cycle ends. [`Time::NEVER`] before the first notification.
    next_estimate: Time,
    next_increase: Time,
    time_stage: u32,
    byte_stage: u32,
    /// Bytes in the current cycle of the byte counter.
    cycle_bytes: u64,
}

pub(crate) fn build(config: &DcqcnPaperConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(DcqcnPaper::new(config, setup))
}

impl DcqcnPaper {
    fn new(config: &DcqcnPaperConfig, setup: &Setup) -> Self {
        Self {
            config: config.clone(),
            line_bps: setup.line_bps(),
            rate_bps: setup.line_bps(),
            target_bps: setup.line_bps(),
            alpha: 1.0,
            next_estimate: Time::NEVER,
            next_increase: Time::NEVER,
            time_stage: 0,
            byte_stage: 0,
            cycle_bytes: 0,
        }
    }

    fn is_limited(&self) -> bool {
        self.rate_bps < self.line_bps
    }

    /// Brings the estimate up to `now`.
    fn update_estimate(&mut self, now: Time) {
        if self.next_estimate <= now && self.next_estimate != Time::NEVER {
            let interval = self.config.estimate_interval;
            let ticks = now.since(self.next_estimate).picoseconds() / interval.picoseconds() + 1;
            self.next_estimate += interval * ticks;
            self.alpha *= libm::pow(1.0 - self.config.gain, ticks as f64);
        }
    }

    /// Ends the cycles of the timer up to `now`.
    fn advance(&mut self, now: Time) {
        while self.next_increase <= now && self.is_limited() {
            self.time_stage = self.time_stage.saturating_add(1);
            self.next_increase = self.next_increase.saturating_add(self.config.increase_timer);
            self.increase();
        }
    }

    /// The end of a cycle (Figure 7).
    fn increase(&mut self) {
        let threshold = self.config.fast_recovery_cycles;
        let (least, most) = (self.time_stage.min(self.byte_stage), self.time_stage.max(self.byte_stage));
        let step_bps = if most < threshold {
            0.0
        } else if least > threshold {
            self.config.hyper_active_increase.bits_per_second() as f64 * f64::from(least - threshold)
        } else {
            self.config.active_increase.bits_per_second() as f64
        };
        self.target_bps = (self.target_bps + step_bps).min(self.line_bps);
        self.rate_bps = f64::midpoint(self.rate_bps, self.target_bps).min(self.line_bps);
        // The last bit of the way to the rate of the line would take many cycles.
        if self.rate_bps > self.line_bps - 1.0 {
            self.rate_bps = self.line_bps;
        }
    }
}

impl Controller for DcqcnPaper {
    fn on_ack(&mut self, _ack: &AckSample<'_>, _control: &mut Control) {}

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    /// A notification.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        let now = congestion.now;
        self.advance(now);
        self.update_estimate(now);
        self.target_bps = self.rate_bps;
        let min_bps = (self.config.min_rate.bits_per_second() as f64).min(self.line_bps);
        self.rate_bps = (self.rate_bps * (1.0 - self.alpha / 2.0)).max(min_bps);
        self.alpha = (1.0 - self.config.gain) * self.alpha + self.config.gain;
        self.next_estimate = now.saturating_add(self.config.estimate_interval);
        self.next_increase = now.saturating_add(self.config.increase_timer);
        (self.time_stage, self.byte_stage, self.cycle_bytes) = (0, 0, 0);
        control.pacing_rate = Some(rate(self.rate_bps));
    }

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
        visit("target_bps", self.target_bps);
    }
}

impl NicController for DcqcnPaper {
    fn on_sent(&mut self, wire_bytes: u32, now: Time, control: &mut Control) {
        if !self.is_limited() {
            return;
        }
        self.advance(now);
        self.cycle_bytes += u64::from(wire_bytes);
        while self.cycle_bytes >= self.config.byte_cycle.0 && self.is_limited() {
            self.cycle_bytes -= self.config.byte_cycle.0;
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.increase();
        }
        control.pacing_rate = Some(rate(self.rate_bps));
    }

    fn timer(&self) -> Time {
        if self.is_limited() { self.next_increase } else { Time::NEVER }
    }

    fn on_timer(&mut self, now: Time, control: &mut Control) {
        self.advance(now);
        control.pacing_rate = Some(rate(self.rate_bps));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use forebay_units::uniform;
    use rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::control::tests::{congestion, setup};

    fn paper() -> DcqcnPaper {
        DcqcnPaper::new(&DcqcnPaperConfig::default(), &Setup { line_rate: Rate::megabits(40_000), ..setup() })
    }

    fn microseconds(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_notification_sets_the_target_cuts_and_then_raises_the_estimate() {
        let (mut dcqcn, mut control) = (paper(), Control::new(f64::INFINITY, f64::INFINITY));
        dcqcn.on_ecn(&congestion(microseconds(10)), &mut control);
        assert_eq!((dcqcn.target_bps, dcqcn.rate_bps, dcqcn.alpha), (40e9, 20e9, 1.0));
        // 44 us later: the timer has not expired. Another 60 us later it has, once, and the estimate fell once.
        dcqcn.on_ecn(&congestion(microseconds(54)), &mut control);
        assert_eq!((dcqcn.target_bps, dcqcn.rate_bps), (20e9, 10e9));
        dcqcn.on_ecn(&congestion(microseconds(114)), &mut control);
        assert_eq!(dcqcn.target_bps, 15e9);
        assert_eq!(dcqcn.rate_bps, 15e9 * (1.0 - 255.0 / 512.0));
    }

    #[test]
    fn cycles_of_time_and_bytes_raise_the_rate() {
        let (mut dcqcn, mut control) = (paper(), Control::new(f64::INFINITY, f64::INFINITY));
        (dcqcn.rate_bps, dcqcn.target_bps) = (8e9, 8e9);
        dcqcn.on_ecn(&congestion(Time::ZERO), &mut control);
        let mut targets = Vec::new();
        for _ in 0..6 {
            let at = dcqcn.timer();
            dcqcn.on_timer(at, &mut control);
            targets.push(dcqcn.target_bps);
        }
        // Four cycles of fast recovery, then active increase.
        assert_eq!(targets, [8e9, 8e9, 8e9, 8e9, 8.04e9, 8.08e9]);
        let now = microseconds(55 * 6 + 1);
        for expected in [8.12e9, 8.16e9, 8.20e9, 8.24e9, 8.28e9, 8.68e9] {
            dcqcn.on_sent(10_000_000, now, &mut control);
            assert!((dcqcn.target_bps - expected).abs() < 1.0, "{}", dcqcn.target_bps);
        }
    }

    #[test]
    fn a_flow_that_reached_the_line_has_no_timer() {
        let (mut dcqcn, mut control) = (paper(), Control::new(f64::INFINITY, f64::INFINITY));
        dcqcn.on_ecn(&congestion(Time::ZERO), &mut control);
        let mut expiries = 0;
        while dcqcn.timer() != Time::NEVER {
            let at = dcqcn.timer();
            dcqcn.on_timer(at, &mut control);
            expiries += 1;
        }
        assert_eq!(control.pacing_rate, Some(Rate::megabits(40_000)));
        assert!(expiries < 100, "{expiries}");
    }

    /// The share of marks at the fixed point of the model, for this many flows at 40 Gb/s (CoNEXT 2016, with the
    /// defaults): a^2 alpha / ((b + d)(c + e)) = tau^2 R_AI R.
    fn model(flows: f64) -> f64 {
        let rate = 40e9 / 8_000.0 / flows;
        let (tau, timer, bytes, cycles) = (50e-6, 55e-6, 10_000.0, 5.0);
        let excess = |p: f64| {
            let kept = |packets: f64| libm::pow(1.0 - p, packets);
            let (a, alpha) = (1.0 - kept(tau * rate), 1.0 - kept(timer * rate));
            let b = p / (kept(-bytes) - 1.0);
            let d = p / (kept(-timer * rate) - 1.0);
            let (c, e) = (b * kept(cycles * bytes), d * kept(cycles * timer * rate));
            a * a * alpha / ((b + d) * (c + e)) - tau * tau * 5_000.0 * rate
        };
        root(excess)
    }

    /// Where a function that rises is zero.
    fn root(excess: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (1e-6, 0.5);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if excess(middle) > 0.0 { high = middle } else { low = middle }
        }
        low
    }

    #[test]
    fn the_model_gives_the_reference_values() {
        for (flows, share, queue_kilobytes) in [(2.0, 7.770e-4, 20.2), (10.0, 6.032e-3, 122.6)] {
            let p = model(flows);
            assert!((p / share - 1.0).abs() < 1e-3, "{p}");
            assert!((5.0 + 195.0 * p / 0.01 - queue_kilobytes).abs() < 0.1);
        }
    }

    /// The share of marks at which the rate rests if the time between notifications is followed step by step. For 50 us
    /// after a notification none comes, then each packet is marked with the same probability. With n cycles of the
    /// timer until the next notification, 1 / 2^n of the cut remains. From the fifth cycle on each adds a step to the
    /// target, and m of them raise the rate by m - 1 + 1 / 2^m steps. At rest both sums are equal. The model multiplies
    /// the means of gap and cycles instead, which are not independent.
    fn share_at_rest(flows: f64) -> f64 {
        let rate = 40e9 / 8_000.0 / flows;
        let (tau, timer, recovery) = (50e-6, 55e-6, 4.0);
        let excess = |p: f64| {
            let kept = |seconds: f64| libm::pow(1.0 - p, seconds * rate);
            // Of another cycle, and of a first one.
            let (more, first) = (kept(timer), kept(timer - tau));
            let alpha = 1.0 / (1.0 + first / (1.0 - more));
            let halved = (1.0 - more) / 2.0 / (1.0 - more / 2.0);
            let active = first * libm::pow(more, recovery);
            let steps = active / (1.0 - more) - active * (1.0 - halved);
            alpha * rate / 2.0 * (1.0 - first + first * halved) - 5_000.0 * steps
        };
        root(excess)
    }

    #[test]
    fn the_rate_rests_where_cuts_and_steps_are_equal() {
        for (flows, queue_kilobytes) in [(2.0, 25.0), (10.0, 165.9)] {
            let share = share_at_rest(flows);
            assert!((5.0 + 195.0 * share / 0.01 - queue_kilobytes).abs() < 0.1, "{share}");
            let config = DcqcnPaperConfig { byte_cycle: Bytes(u64::MAX), ..DcqcnPaperConfig::default() };
            let setup = Setup { line_rate: Rate::megabits(40_000), ..setup() };
            let mut sender = DcqcnPaper::new(&config, &setup);
            (sender.rate_bps, sender.target_bps) = (40e9 / flows, 40e9 / flows);
            let (mut rng, mut control) = (Pcg64Mcg::seed_from_u64(1), Control::new(f64::INFINITY, f64::INFINITY));
            let (mut now, mut sent_bits) = (Time::ZERO, 0.0);
            for _ in 0..100_000 {
                sender.on_ecn(&congestion(now), &mut control);
                let silent_until = now + Span::from_microseconds(50);
                // Packets until the next mark.
                let mut left = libm::log(1.0 - uniform(&mut rng)) / libm::log1p(-share);
                loop {
                    let (from, next) = (now.max(silent_until), sender.timer());
                    let packets = sender.rate_bps / 8_000.0 * next.since(from).seconds();
                    let is_marked = packets > left;
                    let until =
                        if is_marked { from + Span::from_seconds_f64(left * 8_000.0 / sender.rate_bps) } else { next };
                    sent_bits += sender.rate_bps * until.since(now).seconds();
                    now = until;
                    if is_marked {
                        break;
                    }
                    left -= packets;
                    sender.on_timer(now, &mut control);
                }
            }
            let mean_bps = sent_bits / now.since(Time::ZERO).seconds();
            assert!((mean_bps * flows / 40e9 - 1.0).abs() < 0.02, "{mean_bps}");
        }
    }

    /// The terms of the model for the timer, with a notification at each marked packet. With n packets in a cycle,
    /// cycles per packet are p / ((1 - p)^-n - 1). A share of (1 - p)^(F n) comes after fast recovery.
    #[test]
    fn cycles_come_as_often_as_in_the_model() {
        let (share, packets_in_cycle, packets) = (6e-3, 30_u64, 2_000_000_u64);
        let interval = Span::from_nanoseconds(2_000);
        let config = DcqcnPaperConfig {
            increase_timer: interval * packets_in_cycle,
            byte_cycle: Bytes(u64::MAX),
            ..DcqcnPaperConfig::default()
        };
        let setup = Setup { line_rate: Rate::megabits(40_000_000), ..setup() };
        let mut sender = DcqcnPaper::new(&config, &setup);
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        sender.on_ecn(&congestion(Time::ZERO), &mut control);
        let (mut cycles, mut active) = (0_u32, 0_u32);
        for packet in 1..packets {
            let now = Time::ZERO + interval * packet;
            if uniform(&mut rng) < share {
                sender.on_ecn(&congestion(now), &mut control);
            } else if sender.timer() <= now {
                sender.on_timer(now, &mut control);
                cycles += 1;
                active += u32::from(sender.time_stage >= 5);
            }
        }
        let kept = |packets: u64| libm::pow(1.0 - share, packets as f64);
        let expected = share / (1.0 / kept(packets_in_cycle) - 1.0) * packets as f64;
        assert!((f64::from(cycles) / expected - 1.0).abs() < 0.05, "{cycles} instead of {expected}");
        // The model lets active increase begin after F cycles, the rule of Figure 7 with the F-th one.
        let expected = expected * kept(4 * packets_in_cycle);
        assert!((f64::from(active) / expected - 1.0).abs() < 0.05, "{active} instead of {expected}");
    }
}
