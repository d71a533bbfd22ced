//! DCQCN as in HPCC's simulator, which its authors call the adapter's version.
//!
//! # What it does
//! The ACK of each marked packet notifies the sender. Two clocks run from the first notification on: one updates the
//! estimate of congestion, the other cuts the rate if a notification has come since its last tick. A third timer starts
//! with each cut and moves the rate half the way to the target, which rises by a fixed step from the second tick on.
//!
//! # When to use it
//! Use it to compare with results of HPCC's and ConWeave's simulators. It differs from the paper in almost every
//! constant: use `dcqcn_paper` for that. With a window that follows the rate it is `dcqcn_vwin` there.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "dcqcn", window = "variable" }
//! ```
//!
//! # Source
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, as changed in rdma-hw.cc of
//! HPCC's simulator.
//!
//! # Where we differ
//! Clocks that change no rate cause no events: the estimate is brought up to date when it is needed.
//!
//! # Parameters
//! `gain`, `estimate_interval`, `decrease_interval`, `increase_timer`, `fast_recovery_cycles`, `active_increase`,
//! `hyper_active_increase`, `clamps_target`, `min_rate`.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, Needs};
use forebay_units::{ParameterError, Rate, Span, Time, require};

use crate::controller::{NicController, Setup, rate};

/// The clock of decreases ticks this much after that of the estimate.
const DECREASE_OFFSET: Span = Span::from_nanoseconds(1);

forebay_units::configuration! {
    /// The parameters of DCQCN in HPCC's simulator.
    pub struct DcqcnConfig {
        /// Weight of the newest interval in the estimate (g).
        pub gain: f64 = 1.0 / 256.0;
        /// Interval of the estimate.
        pub estimate_interval: Span = Span::from_microseconds(1);
        /// Interval of decreases.
        pub decrease_interval: Span = Span::from_microseconds(4);
        /// Interval of increases. The script for the figures uses 300 us, the default configuration of the source 900
        /// us.
        pub increase_timer: Span = Span::from_microseconds(300);
        /// Increases without a step of the target (F).
        pub fast_recovery_cycles: u32 = 1;
        /// Step of the target in the first cycle after fast recovery (R_AI). Default: 5 Mb/s for each 25 Gb/s of the
        /// port.
        pub active_increase: Option<Rate> = None;
        /// Step of the target in later cycles (R_HAI). Default: 50 Mb/s for each 25 Gb/s of the port.
        pub hyper_active_increase: Option<Rate> = None;
        /// Whether every decrease lowers the target to the rate before it, not only the first after an increase
        /// (CLAMP_TARGET_RATE).
        pub clamps_target: bool = false;
        /// The least rate.
        pub min_rate: Rate = Rate::megabits(1_000);
    }
}

impl DcqcnConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        require(self.gain > 0.0 && self.gain < 1.0, "control.dcqcn.gain", "be between 0 and 1")?;
        let at_least = |span: Span| span >= Span::from_nanoseconds(10);
        require(at_least(self.estimate_interval), "control.dcqcn.estimate_interval", "be at least 10 ns")?;
        require(at_least(self.decrease_interval), "control.dcqcn.decrease_interval", "be at least 10 ns")?;
        require(at_least(self.increase_timer), "control.dcqcn.increase_timer", "be at least 10 ns")
    }
}

#[derive(Debug)]
struct Dcqcn {
    config: DcqcnConfig,
    line_bps: f64,
    rate_bps: f64,
    target_bps: f64,
    active_bps: f64,
    hyper_bps: f64,
    alpha: f64,
    /// Ticks of the three clocks that come next. [`Time::NEVER`]: the clock has not started.
    next_estimate: Time,
    next_decrease: Time,
    next_increase: Time,
    /// Increases since the last decrease.
    stage: u32,
    /// A notification has come since the last tick of the clock.
    notified_estimate: bool,
    notified_decrease: bool,
}

pub(crate) fn build(config: &DcqcnConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(Dcqcn::new(config, setup))
}

impl Dcqcn {
    fn new(config: &DcqcnConfig, setup: &Setup) -> Self {
        let step = |given: Option<Rate>, scaled: u64| {
            given.map_or(setup.scaled_bps(Rate::megabits(scaled), Rate::megabits(25_000)), |rate| {
                rate.bits_per_second() as f64
            })
        };
        Self {
            config: config.clone(),
            line_bps: setup.line_bps(),
            rate_bps: setup.line_bps(),
            target_bps: setup.line_bps(),
            active_bps: step(config.active_increase, 5),
            hyper_bps: step(config.hyper_active_increase, 50),
            alpha: 1.0,
            next_estimate: Time::NEVER,
            next_decrease: Time::NEVER,
            next_increase: Time::NEVER,
            stage: 0,
            notified_estimate: false,
            notified_decrease: false,
        }
    }

    /// The next tick that changes the rate.
    fn next_change(&self) -> Time {
        let decrease = if self.notified_decrease { self.next_decrease } else { Time::NEVER };
        let increase = if self.rate_bps < self.line_bps { self.next_increase } else { Time::NEVER };
        decrease.min(increase)
    }

    /// Runs the clocks up to `now`, ticks at that time included.
    fn advance(&mut self, now: Time) {
        loop {
            let next = self.next_change();
            if next > now || next == Time::NEVER {
                break;
            }
            self.update_estimate(next);
            if self.notified_decrease && self.next_decrease == next {
                self.decrease(next);
            } else {
                self.increase();
            }
        }
        self.update_estimate(now);
        self.next_decrease = after(self.next_decrease, now, self.config.decrease_interval).0;
        let (next, missed) = after(self.next_increase, now, self.config.increase_timer);
        // At the rate of the line increases only count.
        self.next_increase = next;
        self.stage = self.stage.saturating_add(u32::try_from(missed).unwrap_or(u32::MAX));
    }

    fn update_estimate(&mut self, now: Time) {
        let (next, ticks) = after(self.next_estimate, now, self.config.estimate_interval);
        self.next_estimate = next;
        if ticks > 0 {
            let arrived = if core::mem::take(&mut self.notified_estimate) { self.config.gain } else { 0.0 };
            let kept = 1.0 - self.config.gain;
            self.alpha = (kept * self.alpha + arrived) * libm::pow(kept, (ticks - 1) as f64);
        }
    }

    fn decrease(&mut self, now: Time) {
        if self.config.clamps_target || self.stage > 0 {
            self.target_bps = self.rate_bps;
        }
        let min_bps = (self.config.min_rate.bits_per_second() as f64).min(self.line_bps);
        self.rate_bps = (self.rate_bps * (1.0 - self.alpha / 2.0)).max(min_bps);
        self.stage = 0;
        self.notified_decrease = false;
        self.next_decrease = after(self.next_decrease, now, self.config.decrease_interval).0;
        self.next_increase = now.saturating_add(self.config.increase_timer);
    }

    fn increase(&mut self) {
        let cycles = self.config.fast_recovery_cycles;
        let step_bps = match self.stage.cmp(&cycles) {
            core::cmp::Ordering::Less => 0.0,
            core::cmp::Ordering::Equal => self.active_bps,
            core::cmp::Ordering::Greater => self.hyper_bps,
        };
        self.target_bps = (self.target_bps + step_bps).min(self.line_bps);
        self.rate_bps = self.rate_bps / 2.0 + self.target_bps / 2.0;
        self.stage = self.stage.saturating_add(1);
        self.next_increase = self.next_increase.saturating_add(self.config.increase_timer);
    }
}

/// The first tick after `now` of a clock whose next tick is `next`, and the number of ticks up to `now`.
fn after(next: Time, now: Time, interval: Span) -> (Time, u64) {
    if next > now || next == Time::NEVER {
        return (next, 0);
    }
    let ticks = now.since(next).picoseconds() / interval.picoseconds() + 1;
    (next + interval * ticks, ticks)
}

impl Controller for Dcqcn {
    fn on_ack(&mut self, _ack: &AckSample<'_>, _control: &mut Control) {}

    fn on_loss(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    /// A notification.
    fn on_ecn(&mut self, congestion: &CongestionSample, control: &mut Control) {
        let now = congestion.now;
        if self.next_estimate == Time::NEVER {
            // The first one starts the clocks and does not count for the estimate.
            self.target_bps = self.rate_bps;
            self.next_estimate = now.saturating_add(self.config.estimate_interval);
            self.next_decrease = now.saturating_add(self.config.decrease_interval).saturating_add(DECREASE_OFFSET);
        } else {
            self.advance(now);
            self.notified_estimate = true;
            control.pacing_rate = Some(rate(self.rate_bps));
        }
        self.notified_decrease = true;
    }

    fn on_timeout(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("alpha", self.alpha);
        visit("target_bps", self.target_bps);
    }
}

impl NicController for Dcqcn {
    fn timer(&self) -> Time {
        self.next_change()
    }

    fn on_timer(&mut self, now: Time, control: &mut Control) {
        self.advance(now);
        control.pacing_rate = Some(rate(self.rate_bps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::{congestion, setup};

    fn nanoseconds(nanoseconds: u64) -> Time {
        Time::from_picoseconds(nanoseconds * 1_000)
    }

    /// Notifies at these times, with the timers that come before, and runs the timers up to `end`.
    fn run(dcqcn: &mut Dcqcn, notifications: impl Iterator<Item = u64>, end: u64) -> f64 {
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let mut timers = |dcqcn: &mut Dcqcn, until: Time| {
            while dcqcn.timer() <= until {
                dcqcn.on_timer(dcqcn.timer(), &mut control);
            }
        };
        for at in notifications.map(nanoseconds) {
            timers(dcqcn, at);
            dcqcn.on_ecn(&congestion(at), &mut Control::new(f64::INFINITY, f64::INFINITY));
        }
        timers(dcqcn, nanoseconds(end));
        dcqcn.advance(nanoseconds(end));
        dcqcn.rate_bps / 1e9
    }

    #[test]
    fn the_vector_of_the_source() {
        let mut dcqcn = Dcqcn::new(&DcqcnConfig::default(), &setup());
        let first = run(&mut dcqcn, core::iter::once(0), 4_001);
        assert!((dcqcn.alpha - 0.984_466).abs() < 5e-7 && (first - 50.7767).abs() < 5e-5, "{} {first}", dcqcn.alpha);
        // From here on notifications without pause.
        let second = run(&mut dcqcn, (4_100..8_000).step_by(100), 8_002);
        assert!((dcqcn.alpha - 0.984_708).abs() < 5e-7 && (second - 25.7766).abs() < 5e-5, "{} {second}", dcqcn.alpha);
        // No increase came between the two.
        assert_eq!(dcqcn.target_bps, 100e9);
    }

    #[test]
    fn notifications_without_pause_halve_the_rate_every_four_microseconds() {
        let mut dcqcn = Dcqcn::new(&DcqcnConfig::default(), &setup());
        assert_eq!(run(&mut dcqcn, (0..9_000).step_by(100), 9_000), 25.0);
        assert_eq!(dcqcn.alpha, 1.0);
        // The least rate.
        assert_eq!(run(&mut dcqcn, (9_000..90_000).step_by(100), 90_000), 1.0);
    }

    #[test]
    fn the_rate_recovers_in_three_phases() {
        let mut dcqcn = Dcqcn::new(&DcqcnConfig::default(), &setup());
        dcqcn.target_bps = 40e9;
        dcqcn.rate_bps = 40e9;
        run(&mut dcqcn, core::iter::once(0), 4_001);
        let cut = dcqcn.rate_bps;
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        let (mut expected, mut target) = (cut, 40e9);
        for step in [0.0, 20e6, 200e6, 200e6] {
            let at = dcqcn.timer();
            assert_eq!(at.since(nanoseconds(4_001)).picoseconds() % 300_000_000, 0);
            dcqcn.on_timer(at, &mut control);
            target += step;
            expected = expected / 2.0 + target / 2.0;
            assert!((dcqcn.rate_bps - expected).abs() < 1.0 && dcqcn.target_bps == target);
        }
        // An increase came before: the next decrease lowers the target.
        let before = dcqcn.rate_bps;
        let at = dcqcn.timer().picoseconds() / 1_000 - 100_000;
        run(&mut dcqcn, core::iter::once(at), at + 5_000);
        assert!(dcqcn.target_bps == before && dcqcn.rate_bps < before);
    }

    #[test]
    fn late_timers_give_the_same_as_timely_ones() {
        let config = DcqcnConfig::default();
        let (mut timely, mut late) = (Dcqcn::new(&config, &setup()), Dcqcn::new(&config, &setup()));
        run(&mut timely, [0, 700, 9_000].into_iter(), 2_000_000);
        let mut control = Control::new(f64::INFINITY, f64::INFINITY);
        for at in [0, 700, 9_000] {
            late.on_ecn(&congestion(nanoseconds(at)), &mut control);
        }
        late.advance(nanoseconds(2_000_000));
        assert_eq!((timely.rate_bps, timely.target_bps, timely.stage), (late.rate_bps, late.target_bps, late.stage));
        assert!((timely.alpha - late.alpha).abs() < 1e-12);
    }
}
