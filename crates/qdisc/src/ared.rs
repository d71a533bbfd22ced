//! Adaptive RED: RED that adjusts its maximum probability to keep the average queue half-way between the thresholds.
//!
//! # What it does
//! Adaptive RED is RED with a variable `max_p`. At fixed intervals it compares the average queue with a target band in
//! the middle between the thresholds. Above the band `max_p` grows by a small step; below it `max_p` shrinks by a
//! factor. Unless they are set, the thresholds and the averaging weight follow from the link's rate and a target delay.
//! The delay thus stays near the target at any load, whereas RED with a fixed `max_p` reaches it at one load only. It
//! does not distinguish flows.
//!
//! # When to use it
//! Use it instead of `red` when the load is unknown or changes: it needs a target delay and no thresholds. It takes
//! some seconds to follow a change of load. Like RED, it does not hold back a flow that does not respond.
//!
//! # Example
//! ```toml
//! queue.ared = { target_delay = "10 ms", mean_packet_size = "1500 B" }
//! ```
//!
//! Set `target_delay` first. `mean_packet_size` should match the traffic, because the automatic thresholds count
//! packets of this size.
//!
//! # Source
//! S. Floyd, R. Gummadi and S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
//! Management", 2001; it extends [`crate::Red`]. The automatic settings and `ns_clock` follow ns-2 2.35.
//!
//! # Where we differ
//! - `max_p` stays between `bottom` and `top`. In ns-2 the last step may exceed them by up to a tenth or 0.01.
//! - Intervals are counted from the start, as by a timer, and evaluated at the next arrival. On an idle link the
//!   average has decayed in the meantime, and each interval that passed takes its step. ns-2 and ns-3 check only at
//!   arrivals and count the interval from the last change (`ns_clock`).
//! - The gentle part of the profile follows `max_p`; ns-2 and ns-3 compute it once, from the initial value.
//! - An automatic upper threshold is at most the limit, and the automatic lower threshold is then a third of it.
//! - ns-2's automatic `bottom` for links of more than 8 Mb/s is not offered: the default is 0.01, as in the paper.
//!
//! # Cost
//! A few numbers, regardless of the number of flows. O(1) a packet, and at most one random number. After an idle
//! period, at most as many steps as lead from one end of `max_p`'s range to the other, each with one power. If the
//! average leaves a side of the band in the meantime, a search adds one power for each doubling of the intervals
//! passed.
//!
//! # Parameters
//! See [`AredConfig`].

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::memory::inline_bytes;
use crate::require;
use crate::{Admission, Arrival, Offer, ParameterError, Red, RedConfig, Time, Verdict};

parameters! {
    /// Parameters of Adaptive RED.
    pub struct AredConfig in RedConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// `min_th`: average queue below which nothing is dropped; its unit is the unit of the average. Default: half
        /// of what the link sends in `target_delay`, at least 5 packets (ns-2).
        pub min_threshold: Option<QueueSize> = None;
        /// `max_th`: average queue at which the probability is `max_p`, in the unit of `min_threshold`. Default: three
        /// times `min_threshold` (paper), but at most `limit`.
        pub max_threshold: Option<QueueSize> = None;
        /// Queueing delay for which the automatic thresholds are computed. Default: 5 ms (paper).
        pub target_delay: Span = Span::from_milliseconds(5);
        /// `w_q`: weight of each new sample in the moving average. Default: 1 - exp(-1/C), where C is the number of
        /// mean packets that the link sends in a second (paper).
        pub weight: Option<f64> = None;
        /// Initial `max_p`. Default: 0.1 (ns-2).
        red max_probability = 0.1;
        /// Lowest `max_p`. Default: 0.01 (paper).
        pub bottom: f64 = 0.01;
        /// Highest `max_p`. Default: 0.5 (paper).
        pub top: f64 = 0.5;
        /// Step by which `max_p` grows, or a quarter of `max_p` if that is less. Default: 0.01 (paper).
        pub alpha: f64 = 0.01;
        /// Factor by which `max_p` shrinks. Default: 0.9 (paper).
        pub beta: f64 = 0.9;
        /// Time between two adjustments of `max_p`. Default: 500 ms (paper).
        pub interval: Span = Span::from_milliseconds(500);
        /// Whether `interval` is counted from the last change and checked only at arrivals, with at most one step for
        /// each, as in ns-2 and ns-3. Default: no.
        pub ns_clock: bool = false;
        red gentle = true, "yes (paper)";
        red wait = false, "no; ns-2 sets it";
        red small_queue_guard = false, "no; ns-2 does so";
        red byte_mode = false, "no";
        /// Mean packet size, for the automatic thresholds and weight, the idle rule and `byte_mode`. Default: 500 B
        /// (ns-2).
        red mean_packet_size = Bytes(500);
        red ecn = false, "no";
        red hard_drop = true, "yes";
    }
}

impl AredConfig {
    /// Checks what [`Red`] does not.
    fn check(&self) -> Result<(), ParameterError> {
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")?;
        require((1e-4..=1.0).contains(&self.bottom), "bottom", "be between 0.0001 and 1")?;
        require((self.bottom..=1.0).contains(&self.top), "top", "be between `bottom` and 1")?;
        let range = self.bottom..=self.top;
        require(range.contains(&self.max_probability), "max_probability", "be between `bottom` and `top`")?;
        require((1e-4..=1.0).contains(&self.alpha), "alpha", "be between 0.0001 and 1")?;
        require((0.0..=0.999).contains(&self.beta), "beta", "be between 0 and 0.999")?;
        require(self.interval > Span::ZERO, "interval", "be more than 0")
    }

    /// The thresholds as set or, where they are not, for a link of `packets_per_second` (paper, section on automatic
    /// settings); and whether they are in bytes.
    fn thresholds(&self, packets_per_second: f64) -> (f64, f64, bool) {
        let in_bytes = matches!(self.min_threshold.or(self.max_threshold), Some(QueueSize::Bytes(_)));
        let mean_packet = self.mean_packet_size.0 as f64;
        let packet = if in_bytes { mean_packet } else { 1.0 };
        let value = |size| match size {
            QueueSize::Packets(value) | QueueSize::Bytes(value) => value as f64,
        };
        let limit = match (self.limit, in_bytes) {
            (QueueSize::Packets(packets), true) => packets as f64 * mean_packet,
            (QueueSize::Bytes(bytes), false) => (bytes as f64 / mean_packet).max(1.0),
            (limit, _) => value(limit),
        };
        let aim = packet * (self.target_delay.seconds() * packets_per_second / 2.0).max(5.0);
        let max = self.max_threshold.map_or_else(|| (3.0 * self.min_threshold.map_or(aim, value)).min(limit), value);
        (self.min_threshold.map_or_else(|| aim.min(max / 3.0), value), max, in_bytes)
    }

    /// RED's configuration for a link of `link_rate`, with the automatic settings in it. Thresholds are whole numbers.
    #[must_use]
    pub fn red_for(&self, link_rate: Rate) -> RedConfig {
        let packets_per_second = self.packets_per_second(link_rate);
        let (min, max, in_bytes) = self.thresholds(packets_per_second);
        self.red(min, max, in_bytes, packets_per_second)
    }

    fn packets_per_second(&self, link_rate: Rate) -> f64 {
        link_rate.bytes_per_second() / self.mean_packet_size.0 as f64
    }

    /// RED's configuration with whole thresholds, which is what is checked.
    fn red(&self, min: f64, max: f64, in_bytes: bool, packets_per_second: f64) -> RedConfig {
        let whole = if in_bytes { QueueSize::Bytes } else { QueueSize::Packets };
        RedConfig {
            min_threshold: self.min_threshold.unwrap_or(whole(min as u64)),
            max_threshold: self.max_threshold.unwrap_or(whole(max as u64)),
            weight: self.weight.unwrap_or(-libm::expm1(-1.0 / packets_per_second)),
            ..self.inner()
        }
    }
}

/// Where the average is relative to the target band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Below,
    Within,
    Above,
}

/// How `max_p` follows the average.
#[derive(Clone, Copy, Debug)]
struct Adaptation {
    /// Lower and upper end of the target band.
    band: (f64, f64),
    bottom: f64,
    top: f64,
    alpha: f64,
    beta: f64,
}

impl Adaptation {
    fn side(&self, avg: f64) -> Side {
        if avg < self.band.0 {
            Side::Below
        } else if avg > self.band.1 {
            Side::Above
        } else {
            Side::Within
        }
    }

    /// Paper, "every interval seconds": one step; whether it changed anything.
    fn step(&self, red: &mut Red, side: Side) -> bool {
        let before = red.max_probability();
        let after = match side {
            Side::Below => (before * self.beta).max(self.bottom),
            Side::Within => before,
            Side::Above => (before + self.alpha.min(before / 4.0)).min(self.top),
        };
        let changed = after != before;
        if changed {
            red.set_max_probability(after);
        }
        changed
    }
}

/// Adaptive RED.
#[derive(Clone, Debug)]
pub struct Ared {
    red: Red,
    adaptation: Adaptation,
    interval: Span,
    ns_clock: bool,
    /// When the average was last looked at; with `ns_clock`, when `max_p` last changed.
    adapted: Time,
}

impl Ared {
    /// An Adaptive RED law for a link of `link_rate`, from which the automatic settings follow.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &AredConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        config.check()?;
        let packets_per_second = config.packets_per_second(link_rate);
        let (min, max, in_bytes) = config.thresholds(packets_per_second);
        let mut red = Red::new(&config.red(min, max, in_bytes, packets_per_second), link_rate, salt)?;
        red.set_thresholds(min, max);
        let band = (min + 0.4 * (max - min), min + 0.6 * (max - min));
        let AredConfig { bottom, top, alpha, beta, interval, ns_clock, .. } = *config;
        let adaptation = Adaptation { band, bottom, top, alpha, beta };
        Ok(Self { red, adaptation, interval, ns_clock, adapted: Time::ZERO })
    }

    /// Takes the steps that are due at `now`, each by the average at its own time.
    fn run_timer(&mut self, now: Time) {
        loop {
            let due = now.since(self.adapted).picoseconds() / self.interval.picoseconds();
            if due == 0 {
                return;
            }
            let side = self.side_after(1);
            let changed = self.adaptation.step(&mut self.red, side);
            // A step that changes nothing leads to others like it while the average stays on this side.
            let intervals = if changed { 1 } else { self.intervals_on(side, due) };
            self.adapted += self.interval * intervals;
        }
    }

    /// Side of the average this many intervals from now, if nothing arrives.
    fn side_after(&self, intervals: u64) -> Side {
        self.adaptation.side(self.red.average_at(self.adapted + self.interval * intervals))
    }

    /// For how many of the next `due` intervals the average stays on `side`, at least 1: without arrivals it only
    /// falls.
    fn intervals_on(&self, side: Side, due: u64) -> u64 {
        if self.side_after(due) == side {
            return due;
        }
        let (mut on, mut off) = (1, due);
        while off - on > 1 {
            let middle = on + (off - on) / 2;
            if self.side_after(middle) == side { on = middle } else { off = middle }
        }
        on
    }
}

impl Admission for Ared {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let since = offer.now.since(self.adapted);
        if self.ns_clock {
            if since > self.interval {
                let side = self.adaptation.side(self.red.average_after(offer));
                if self.adaptation.step(&mut self.red, side) {
                    self.adapted = offer.now;
                }
            }
        } else if since >= self.interval {
            self.run_timer(offer.now);
        }
        self.red.admit(arrival, offer)
    }

    fn idle(&mut self, since: Time) {
        self.red.idle(since);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(visit);
        visit("max_p", self.red.max_probability());
    }
}

#[cfg(test)]
#[path = "ared_tests.rs"]
mod tests;
