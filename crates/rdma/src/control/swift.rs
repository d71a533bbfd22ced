//! Swift: a window that follows a target delay.
//!
//! # What it does
//! The window grows by a fixed number of packets per round trip while the delay is below a target, and shrinks in
//! proportion to the excess, at most once per round trip. The target grows with the hops of the path, and with the
//! inverse root of the window, so that many flows share fairly. A window below one packet becomes a pause between
//! packets. Protective load balancing (PLB) changes the path of a flow that stays above its target.
//!
//! # When to use it
//! Use it for fabrics without support by switches: the sender needs only exact round trips.
//!
//! # Example
//! ```toml
//! transport.roce = { control = "swift" }
//! ```
//!
//! # Source
//! Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM 2020; Qureshi
//! et al., "PLB", SIGCOMM 2022; rules and defaults are those of Google's simulator of Falcon (Isekai).
//!
//! # Where we differ
//! The delay of the receiving host, which Falcon reports as a level of its buffer, is not modelled: hosts of the
//! simulator take packets at once.
//!
//! # Parameters
//! `base_target`, `per_hop_target`, `flow_scaling`, `min_scaling_window`, `max_scaling_window`, `additive_increase`,
//! `decrease`, `max_decrease`, `min_window`, `max_window`, `initial_window`, `plb`.

use alloc::boxed::Box;

use forebay_units::control::{AckSample, CongestionSample, Control, Controller, Needs};
use forebay_units::{ParameterError, Span, Time, require};

use crate::controller::{NicController, Setup, rate};

/// PLB: a window is congested if this share of its packets had more than the target delay, times this factor; after so
/// many in a row the path changes.
const PLB_SHARE: f64 = 0.5;
const PLB_FACTOR: f64 = 1.01;
const PLB_WINDOWS: u8 = 5;
/// Timeouts in a row from which on the window is the least.
const TIMEOUTS_TO_MINIMUM: u8 = 3;

forebay_units::configuration! {
    /// The parameters of Swift. Windows are in packets.
    pub struct SwiftConfig {
        /// Target delay without hops, of a large window.
        pub base_target: Span = Span::from_microseconds(25);
        /// Target delay of a hop (the paper's h).
        pub per_hop_target: Span = Span::from_microseconds(1);
        /// The most that a small window adds to the target (fs).
        pub flow_scaling: Span = Span::from_microseconds(100);
        /// The window at which the addition is `flow_scaling`.
        pub min_scaling_window: f64 = 0.1;
        /// The window at which the addition ends.
        pub max_scaling_window: f64 = 256.0;
        /// Growth of the window in a round trip (ai).
        pub additive_increase: f64 = 1.0;
        /// Factor of a decrease (the paper's beta).
        pub decrease: f64 = 0.8;
        /// The largest decrease (max_mdf).
        pub max_decrease: f64 = 0.5;
        /// The least window.
        pub min_window: f64 = 0.01;
        /// The largest window.
        pub max_window: f64 = 256.0;
        /// The window at the start.
        pub initial_window: f64 = 32.0;
        /// Whether a flow that stays congested asks for another path.
        pub plb: bool = true;
    }
}

impl SwiftConfig {
    pub(crate) fn validate(&self) -> Result<(), ParameterError> {
        let scaling = self.min_scaling_window > 0.0 && self.min_scaling_window < self.max_scaling_window;
        require(
            scaling,
            "control.swift.max_scaling_window",
            "be more than `min_scaling_window`, which is more than 0",
        )?;
        require(self.max_scaling_window.is_finite(), "control.swift.max_scaling_window", "be finite")?;
        let windows = self.min_window > 0.0 && self.min_window <= self.max_window && self.max_window.is_finite();
        require(windows, "control.swift.max_window", "be finite and at least `min_window`, which is more than 0")?;
        require(self.initial_window > 0.0, "control.swift.initial_window", "be more than 0")?;
        let increase = self.additive_increase;
        require(
            increase > 0.0 && increase.is_finite(),
            "control.swift.additive_increase",
            "be finite and more than 0",
        )?;
        require(self.decrease > 0.0 && self.decrease <= 1.0, "control.swift.decrease", "be more than 0 and at most 1")?;
        let max = self.max_decrease;
        require(max > 0.0 && max < 1.0, "control.swift.max_decrease", "be between 0 and 1")
    }
}

#[derive(Debug)]
struct Swift {
    config: SwiftConfig,
    hops: u32,
    packet_bits: f64,
    window: f64,
    /// Seconds.
    smoothed_round_trip: f64,
    last_decrease: Option<Time>,
    timeouts: u8,
    plb: Plb,
}

/// The packets of the current window, and the congested windows in a row.
#[derive(Clone, Copy, Debug, Default)]
struct Plb {
    packets: f64,
    congested: f64,
    windows: u8,
    asks: bool,
}

pub(crate) fn build(config: &SwiftConfig, setup: &Setup) -> Box<dyn NicController> {
    Box::new(Swift::new(config, setup))
}

impl Swift {
    fn new(config: &SwiftConfig, setup: &Setup) -> Self {
        Self {
            config: config.clone(),
            hops: setup.hops,
            packet_bits: f64::from(setup.packet_bytes) * 8.0,
            window: config.initial_window.clamp(config.min_window, config.max_window),
            smoothed_round_trip: setup.base_round_trip.seconds(),
            last_decrease: None,
            timeouts: 0,
            plb: Plb::default(),
        }
    }

    /// The target delay in seconds (section 3.1 and 3.5).
    fn target(&self) -> f64 {
        let config = &self.config;
        let scaling = config.flow_scaling.seconds();
        let inverse_root = |window: f64| 1.0 / libm::sqrt(window);
        let least = inverse_root(config.max_scaling_window);
        let a = scaling / (inverse_root(config.min_scaling_window) - least);
        let added = (a * (inverse_root(self.window) - least)).clamp(0.0, scaling);
        config.base_target.seconds() + f64::from(self.hops) * config.per_hop_target.seconds() + added
    }

    fn can_decrease(&self, now: Time) -> bool {
        self.last_decrease.is_none_or(|last| now.since(last).seconds() >= self.smoothed_round_trip)
    }

    fn publish(&mut self, control: &mut Control) {
        self.window = self.window.clamp(self.config.min_window, self.config.max_window);
        control.congestion_window = self.window.max(1.0);
        control.pacing_rate =
            (self.window < 1.0).then(|| rate(self.packet_bits * self.window / self.smoothed_round_trip.max(1e-9)));
    }

    fn decrease(&mut self, share: f64, now: Time) {
        if self.can_decrease(now) {
            self.window *= 1.0 - share;
            self.last_decrease = Some(now);
        }
    }

    fn balance(&mut self, delay: f64, target: f64, packets: f64) {
        let plb = &mut self.plb;
        plb.packets += packets;
        if delay > PLB_FACTOR * target {
            plb.congested += packets;
        }
        if plb.packets >= self.window {
            let is_congested = plb.congested >= PLB_SHARE * plb.packets;
            plb.windows = if is_congested { plb.windows + 1 } else { 0 };
            (plb.packets, plb.congested) = (0.0, 0.0);
            if plb.windows == PLB_WINDOWS {
                (plb.windows, plb.asks) = (0, true);
            }
        }
    }
}

impl Controller for Swift {
    fn needs(&self) -> Needs {
        Needs { every_round_trip: true, answers_marks: true, owns_recovery: true, ..Needs::default() }
    }

    fn initial_window(&self, _configured: f64) -> f64 {
        self.window.max(1.0)
    }

    fn on_ack(&mut self, ack: &AckSample<'_>, control: &mut Control) {
        let Some(round_trip) = ack.round_trips.latest else { return };
        let delay = round_trip.seconds();
        self.smoothed_round_trip = 0.75 * self.smoothed_round_trip + 0.25 * delay;
        self.timeouts = 0;
        let target = self.target();
        if delay < target {
            self.window += self.config.additive_increase * ack.acked_segments / self.window.max(1.0);
        } else {
            let excess = self.config.decrease * (delay - target) / delay;
            self.decrease(excess.min(self.config.max_decrease), ack.now);
        }
        if self.config.plb {
            self.balance(delay, target, ack.delivered_segments);
        }
        self.publish(control);
    }

    fn on_loss(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.timeouts = 0;
        self.decrease(self.config.max_decrease, congestion.now);
        self.publish(control);
    }

    fn on_ecn(&mut self, _congestion: &CongestionSample, _control: &mut Control) {}

    fn on_timeout(&mut self, congestion: &CongestionSample, control: &mut Control) {
        self.timeouts = self.timeouts.saturating_add(1);
        if self.timeouts >= TIMEOUTS_TO_MINIMUM {
            self.window = self.config.min_window;
        } else {
            self.decrease(self.config.max_decrease, congestion.now);
        }
        self.publish(control);
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("target_s", self.target());
        visit("window_packets", self.window);
    }
}

impl NicController for Swift {
    fn takes_new_path(&mut self) -> bool {
        core::mem::take(&mut self.plb.asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::tests::{ack_after, congestion, setup};

    fn swift() -> Swift {
        Swift::new(&SwiftConfig::default(), &setup())
    }

    #[test]
    fn the_target_of_the_source() {
        let mut swift = swift();
        for (window, microseconds) in [(0.1, 130.0), (1.0, 60.244), (16.0, 36.049), (256.0, 30.0), (0.01, 130.0)] {
            swift.window = window;
            assert!((swift.target() * 1e6 - microseconds).abs() < 5e-4, "{}", swift.target());
        }
    }

    fn ack_at(microseconds: u64, round_trip: u64) -> AckSample<'static> {
        AckSample {
            now: Time::ZERO + Span::from_microseconds(microseconds),
            ..ack_after(Span::from_microseconds(round_trip), 0, 0)
        }
    }

    #[test]
    fn the_window_grows_below_the_target_and_shrinks_once_in_a_round_trip() {
        let (mut swift, mut control) = (swift(), Control::new(32.0, f64::INFINITY));
        swift.on_ack(&ack_at(0, 20), &mut control);
        assert_eq!(control.congestion_window, 32.0 + 1.0 / 32.0);
        let target = swift.target();
        swift.on_ack(&ack_at(100, 50), &mut control);
        let cut = (32.0 + 1.0 / 32.0) * (1.0 - 0.8 * (50e-6 - target) / 50e-6);
        assert!((control.congestion_window - cut).abs() < 1e-9);
        swift.on_ack(&ack_at(101, 500), &mut control);
        assert!((control.congestion_window - cut).abs() < 1e-9);
        // At most by half.
        swift.on_ack(&ack_at(1_000, 500), &mut control);
        assert!((control.congestion_window - cut / 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_below_one_packet_is_paced() {
        let (mut swift, mut control) = (swift(), Control::new(32.0, f64::INFINITY));
        (swift.window, swift.smoothed_round_trip) = (0.5, 20e-6);
        swift.on_ack(&ack_at(0, 20), &mut control);
        assert_eq!((control.congestion_window, control.pacing_rate), (1.5, None));
        swift.window = 0.5;
        swift.on_ack(&ack_at(10, 400), &mut control);
        // Round trips of 20 and 400 us: 115 us smoothed. A quarter of a packet in each: at 1048 bytes 18.2 Mb/s.
        assert_eq!(control.congestion_window, 1.0);
        assert_eq!(control.pacing_rate.unwrap().bits_per_second(), (1_048.0 * 8.0 * 0.25 / 115e-6) as u64);
    }

    #[test]
    fn the_third_timeout_in_a_row_leaves_the_least_window() {
        let (mut swift, mut control) = (swift(), Control::new(32.0, f64::INFINITY));
        let mut expire = |milliseconds: u64, swift: &mut Swift| {
            swift.on_timeout(&congestion(Time::ZERO + Span::from_milliseconds(milliseconds)), &mut control);
            swift.window
        };
        assert_eq!([1, 2, 3].map(|at| expire(at, &mut swift)), [16.0, 8.0, 0.01]);
        // An ACK ends the series.
        swift.on_ack(&ack_at(4_000, 20), &mut Control::new(1.0, f64::INFINITY));
        assert!(expire(5, &mut swift) > 0.01);
    }

    #[test]
    fn five_congested_windows_in_a_row_ask_for_another_path() {
        let mut swift = swift();
        let mut control = Control::new(32.0, f64::INFINITY);
        swift.window = 1.0;
        let mut asked = [false; 12];
        for (index, asked) in asked.iter_mut().enumerate() {
            // Two packets without congestion fill a window of two.
            let round_trip = if index == 3 || index == 4 { 20 } else { 200 };
            swift.window = 1.0;
            swift.on_ack(&ack_at(index as u64, round_trip), &mut control);
            *asked = swift.takes_new_path();
        }
        let expected = core::array::from_fn(|index| index == 9);
        assert_eq!(asked, expected);
    }
}
