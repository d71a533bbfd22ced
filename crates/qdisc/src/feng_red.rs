//! Self-configuring RED: RED that scales its maximum probability each time the average crosses a threshold.
//!
//! # What it does
//! This is RED with a variable `max_p`. When the average falls below the lower threshold, `max_p` was too large and is
//! divided. When the average rises above the upper threshold, `max_p` was too small and is multiplied. Both happen once
//! for each crossing; between the thresholds `max_p` is constant. It thus adapts to the number of flows without an
//! estimate of it. It does not distinguish flows.
//!
//! # When to use it
//! Use it to reproduce papers with this scheme, which ns-2 and ns-3 call Feng's Adaptive RED. For new work use `ared`,
//! which adapts continuously and sets its own thresholds.
//!
//! # Example
//! ```toml
//! queue.feng_red.min_threshold = "20 packets"
//! queue.feng_red.max_threshold = "60 packets"
//! ```
//!
//! Set the thresholds first, as with RED. `alpha` and `beta` determine how fast the probability adapts.
//!
//! # Source
//! W. Feng, D. Kandlur, D. Saha and K. Shin, "A Self-Configuring RED Gateway", INFOCOM 1999; it extends [`crate::Red`].
//! ns-2 2.35 and ns-3 call it Feng's Adaptive RED.
//!
//! # Where we differ
//! - `max_p` is at most 1 and at least `bottom`. The paper bounds neither, and from below the smallest number that a
//!   computer holds no factor leads back up.
//! - Before the first packet the average counts as above the upper threshold, as in ns-3: the first packet into an
//!   empty queue divides `max_p` once. In ns-2 this is undefined, in the paper open.
//!
//! # Cost
//! A few numbers, regardless of the number of flows. O(1) a packet, and at most one random number.
//!
//! # Parameters
//! See [`FengRedConfig`].

use forebay_units::{Bytes, QueueSize, Rate};

use crate::memory::inline_bytes;
use crate::require;
use crate::{Admission, Arrival, Offer, ParameterError, Red, RedConfig, Time, Verdict};

parameters! {
    /// Parameters of self-configuring RED.
    pub struct FengRedConfig in RedConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        red min_threshold = QueueSize::Packets(5), "5 packets (RED)";
        red max_threshold = QueueSize::Packets(15), "15 packets (RED)";
        red weight = 0.002, "0.002 (RED)";
        /// Initial `max_p`. Default: 0.02 (RED).
        red max_probability = 0.02;
        /// Divisor of `max_p` when the average falls below `min_threshold`. Default: 3 (paper).
        pub alpha: f64 = 3.0;
        /// Factor of `max_p` when the average rises above `max_threshold`. Default: 2 (paper).
        pub beta: f64 = 2.0;
        /// Lowest `max_p`. Default: 0.000001.
        pub bottom: f64 = 1e-6;
        red gentle = false, "no (paper); ns-2 has set it since 2001";
        red wait = false, "no; ns-2 sets it";
        red small_queue_guard = false, "no; ns-2 does so";
        red byte_mode = false, "no";
        red mean_packet_size = Bytes(500), "500 B (ns-2)";
        red ecn = false, "no";
        red hard_drop = true, "yes";
    }
}

impl FengRedConfig {
    /// Checks what [`Red`] does not.
    fn check(&self) -> Result<(), ParameterError> {
        require(self.alpha >= 1.0 && self.alpha.is_finite(), "alpha", "be at least 1")?;
        require(self.beta >= 1.0 && self.beta.is_finite(), "beta", "be at least 1")?;
        require(self.bottom > 0.0 && self.bottom <= 1.0, "bottom", "be more than 0 and at most 1")?;
        let range = self.bottom..=1.0;
        require(range.contains(&self.max_probability), "max_probability", "be between `bottom` and 1")
    }
}

/// Where the average was last seen off a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Above,
    Between,
    Below,
}

/// Self-configuring RED.
#[derive(Clone, Debug)]
pub struct FengRed {
    red: Red,
    thresholds: (f64, f64),
    alpha: f64,
    beta: f64,
    bottom: f64,
    status: Status,
}

impl FengRed {
    /// A self-configuring RED law for a link of `link_rate`, which the idle rule needs.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &FengRedConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        config.check()?;
        let red = Red::new(&config.inner(), link_rate, salt)?;
        let thresholds = red.thresholds();
        let FengRedConfig { alpha, beta, bottom, .. } = *config;
        Ok(Self { red, thresholds, alpha, beta, bottom, status: Status::Above })
    }
}

impl Admission for FengRed {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        // Paper, the adaptive algorithm, at every update of the average.
        let avg = self.red.average_after(offer);
        let (min, max) = self.thresholds;
        let max_p = self.red.max_probability();
        if avg < min {
            if self.status != Status::Below {
                self.status = Status::Below;
                self.red.set_max_probability((max_p / self.alpha).max(self.bottom));
            }
        } else if avg > max {
            if self.status != Status::Above {
                self.status = Status::Above;
                self.red.set_max_probability((max_p * self.beta).min(1.0));
            }
        } else if avg > min && avg < max {
            self.status = Status::Between;
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
mod tests {
    use super::*;
    use crate::test_support::{LINK, Offers, assert_average_decays_in_an_idle_time, gauge};
    use crate::{Backlog, DropReason};

    /// `max_p` after a packet has found this many others, with an average that is the queue itself.
    fn offer(law: &mut FengRed, packets: u64) -> f64 {
        let mut offers = Offers::new();
        offers.backlog = Backlog { packets, bytes: packets * 500 };
        offers.offer(law, 1, 500);
        gauge(law, "max_p")
    }

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn each_crossing_changes_the_maximum_probability_once() {
        let config = FengRedConfig { weight: 1.0, max_probability: 0.3, ..FengRedConfig::default() };
        let mut law = FengRed::new(&config, LINK, 0).unwrap();
        for (packets, expected) in [
            (10, 0.3),
            (20, 0.6),
            (20, 0.6),
            (15, 0.6),
            (20, 0.6), // at the threshold it has not gone back
            (10, 0.6),
            (16, 1.0), // at most 1
            (4, 1.0 / 3.0),
            (0, 1.0 / 3.0),
            (5, 1.0 / 3.0),
            (4, 1.0 / 3.0), // at the threshold it has not gone back
            (6, 1.0 / 3.0),
            (4, 1.0 / 9.0),
            (20, 2.0 / 9.0), // straight across
        ] {
            let max_p = offer(&mut law, packets);
            assert!(close(max_p, expected), "at {packets}: {max_p}, not {expected}");
        }
    }

    #[test]
    fn the_first_packet_into_an_empty_queue_divides_and_the_bottom_holds() {
        let config = FengRedConfig { weight: 1.0, max_probability: 0.03, bottom: 0.002, ..FengRedConfig::default() };
        let mut law = FengRed::new(&config, LINK, 0).unwrap();
        assert!(close(offer(&mut law, 0), 0.01));
        for expected in [0.01 / 3.0, 0.002, 0.002] {
            offer(&mut law, 10);
            assert!(close(offer(&mut law, 0), expected));
        }
    }

    #[test]
    fn a_burst_loses_less_than_with_red() {
        // ns-3's suite: a burst of 300 arrivals; early drops with self-configuration are fewer.
        let config = FengRedConfig {
            limit: QueueSize::Packets(300),
            min_threshold: QueueSize::Packets(70),
            max_threshold: QueueSize::Packets(150),
            weight: 0.02,
            gentle: true,
            wait: true,
            small_queue_guard: true,
            ..FengRedConfig::default()
        };
        let early = |law: &mut dyn Admission| {
            let mut offers = Offers::new();
            (0..300).filter(|_| offers.offer(law, 1, 500) == Verdict::Drop(DropReason::Early)).count()
        };
        let plain = early(&mut Red::new(&config.inner(), LINK, 0).unwrap());
        let feng = early(&mut FengRed::new(&config, LINK, 0).unwrap());
        assert!(feng < plain, "{feng} against {plain}");
    }

    #[test]
    fn reds_average_decays_in_an_idle_time() {
        let mut law = FengRed::new(&FengRedConfig { weight: 0.5, ..FengRedConfig::default() }, LINK, 0).unwrap();
        assert_average_decays_in_an_idle_time(&mut law);
    }

    #[test]
    fn each_parameter_is_checked() {
        let default = FengRedConfig::default;
        let cases = [
            (FengRedConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
            (FengRedConfig { max_threshold: QueueSize::Packets(5), ..default() }, "max_threshold"),
            (FengRedConfig { weight: 1.5, ..default() }, "weight"),
            (FengRedConfig { max_probability: 1.1, ..default() }, "max_probability"),
            (FengRedConfig { max_probability: 0.0, ..default() }, "max_probability"),
            (FengRedConfig { alpha: 0.5, ..default() }, "alpha"),
            (FengRedConfig { beta: f64::INFINITY, ..default() }, "beta"),
            (FengRedConfig { bottom: 0.0, ..default() }, "bottom"),
            (FengRedConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
        ];
        for (config, field) in cases {
            assert_eq!(FengRed::new(&config, LINK, 0).unwrap_err().field, field);
        }
    }
    #[test]
    fn a_parameter_may_be_at_its_bound() {
        let default = FengRedConfig::default;
        for config in [
            FengRedConfig { alpha: 1.0, ..default() },
            FengRedConfig { beta: 1.0, ..default() },
            FengRedConfig { bottom: 1.0, max_probability: 1.0, ..default() },
        ] {
            assert!(FengRed::new(&config, LINK, 0).is_ok(), "{config:?}");
        }
    }
}
