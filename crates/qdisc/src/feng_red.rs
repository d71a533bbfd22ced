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

/// Parameters of self-configuring RED.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct FengRedConfig {
    /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
    pub limit: QueueSize,
    /// `min_th`: average queue below which nothing is dropped, in packets or bytes. Its unit is the unit of the
    /// average. Default: 5 packets (RED).
    pub min_threshold: QueueSize,
    /// `max_th`: average queue from which every packet is dropped (or, if `gentle`, from which the probability rises to
    /// 1), in the unit of `min_threshold`. Default: 15 packets (RED).
    pub max_threshold: QueueSize,
    /// `w_q`: weight of each new sample in the moving average. Default: 0.002 (RED).
    pub weight: f64,
    /// Initial `max_p`. Default: 0.02 (RED).
    pub max_probability: f64,
    /// Divisor of `max_p` when the average falls below `min_threshold`. Default: 3 (paper).
    pub alpha: f64,
    /// Factor of `max_p` when the average rises above `max_threshold`. Default: 2 (paper).
    pub beta: f64,
    /// Lowest `max_p`. Default: 0.000001.
    pub bottom: f64,
    /// Whether the probability rises from `max_p` at `max_threshold` to 1 at twice that, instead of jumping to 1.
    /// Default: no (paper); ns-2 has set it since 2001.
    pub gentle: bool,
    /// Whether at least 1/p packets must pass between two early drops. Default: no; ns-2 sets it.
    pub wait: bool,
    /// Whether early drops are suppressed while at most one packet is waiting. Default: no; ns-2 does so.
    pub small_queue_guard: bool,
    /// Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size`. Default: no.
    pub byte_mode: bool,
    /// Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for, and
    /// `byte_mode` refers to it. Default: 500 B (ns-2).
    pub mean_packet_size: Bytes,
    /// Whether ECN-capable packets are marked instead of dropped early. Default: no.
    pub ecn: bool,
    /// Whether packets beyond the end of the profile are dropped even if they are ECN-capable. Default: yes.
    pub hard_drop: bool,
}

impl Default for FengRedConfig {
    fn default() -> Self {
        Self {
            limit: QueueSize::Packets(1000),
            min_threshold: QueueSize::Packets(5),
            max_threshold: QueueSize::Packets(15),
            weight: 0.002,
            max_probability: 0.02,
            alpha: 3.0,
            beta: 2.0,
            bottom: 1e-6,
            gentle: false,
            wait: false,
            small_queue_guard: false,
            byte_mode: false,
            mean_packet_size: Bytes(500),
            ecn: false,
            hard_drop: true,
        }
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

    fn red(&self) -> RedConfig {
        RedConfig {
            limit: self.limit,
            min_threshold: self.min_threshold,
            max_threshold: self.max_threshold,
            weight: self.weight,
            max_probability: self.max_probability,
            gentle: self.gentle,
            wait: self.wait,
            small_queue_guard: self.small_queue_guard,
            byte_mode: self.byte_mode,
            mean_packet_size: self.mean_packet_size,
            ecn: self.ecn,
            hard_drop: self.hard_drop,
            max_marking_probability: None,
        }
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
        let red = Red::new(&config.red(), link_rate, salt)?;
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
        let plain = early(&mut Red::new(&config.red(), LINK, 0).unwrap());
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
