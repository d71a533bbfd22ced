//! RED, random early detection: drops early, by the average queue.
//!
//! # What it does
//! RED keeps a moving average of the queue length, updated at each arrival. Below the lower threshold nothing happens.
//! Between the thresholds an arriving packet is dropped or marked with a probability that grows with the average. From
//! the upper threshold on every packet is. The gaps between early drops are made uniform, so that drops do not come in
//! clusters. RED does not distinguish flows: each loses in proportion to what it sends, and a flow that does not
//! respond keeps its share.
//!
//! # When to use it
//! Use it to model a router or a paper with RED, or to keep the queue of many responding TCP flows short. Its
//! thresholds and `max_probability` suit one load only; `ared` adapts to the load, and `codel` and `pie` need no
//! thresholds. A flood can take even more of the link than under drop-tail.
//!
//! # Example
//! ```toml
//! queue.red = { min_threshold = "20 packets", max_threshold = "60 packets" }
//! ```
//!
//! Set the thresholds first: the average queue settles between them, and the upper one is usually three times the lower
//! one. `max_probability` must grow with the number of flows. `gentle = true` avoids dropping every packet just above
//! the upper threshold.
//!
//! # Source
//! S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
//! Networking 1(4), 1993. `gentle`, `wait`, `small_queue_guard` and `byte_mode` follow ns-2 2.35.
//!
//! # Where we differ
//! - The first packet after the average has crossed the lower threshold is exempt, as in ns-2; the paper sets its
//!   counter so that this packet may already be dropped. The gap between drops is then uniform on 1 .. 1/p - 1 (`wait`
//!   off).
//! - The link counts as idle from the end of its last transmission, as in ns-2, ns-3 and Linux; in the paper idle time
//!   starts when the last packet leaves the buffer, one transmission earlier. The sample of the arriving packet itself
//!   adds one more decay after an idle period, as in ns-2.
//! - A packet that is dropped while the link is idle does not end the idle period: the average continues to decay with
//!   time. In ns-2 it would from then on decay by one sample for each arrival.
//! - A full queue drops after the average and the counter were updated, and resets the counter, as in ns-2.
//! - ECN-capable packets are marked if `hard_drop` permits it above the upper threshold, and `max_marking_probability`
//!   for the drop probability. ns-2 2.35 sets the latter to 0.1 (`mark_p_`, with `use_mark_p_` on). Once `p_b` reaches
//!   it, ns-2 drops packets that we would mark. In gentle mode with a `max_p` of 0.1 that is from the upper threshold
//!   on. By default there is no such bound here, and everything up to the forced drops is marked.
//!
//! # Cost
//! A few numbers, regardless of the number of flows. O(1) a packet, and at most one random number. The average after an
//! idle period takes one power.
//!
//! # Parameters
//! See [`RedConfig`]. ns-2's RED with fixed thresholds is `wait = true`, `small_queue_guard = true`.

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::{Limit, check_averaging_weight, check_probability};
use crate::memory::inline_bytes;
use crate::require;
use crate::{Admission, Arrival, DropReason, MarkReason, Offer, ParameterError, Ticket, Time, Verdict, uniform};

parameters! {
    /// Parameters of RED.
    pub struct RedConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        red min_threshold = QueueSize::Packets(5), "5 packets (paper, section 11)";
        red max_threshold = QueueSize::Packets(15), "15 packets (paper, section 11)";
        red weight = 0.002, "0.002 (paper, section 6)";
        red max_probability = 0.02, "0.02 (paper, section 8)";
        red gentle = false, "no (paper); ns-2 has set it since 2001";
        red wait = false, "no (paper); ns-2 sets it";
        red small_queue_guard = false, "no (paper); ns-2 does so";
        red byte_mode = false, "no";
        red mean_packet_size = Bytes(500), "500 B (ns-2)";
        red ecn = false, "no";
        red hard_drop = true, "yes";
        /// From this drop probability on (`p_b`, before the gaps are made uniform) ECN-capable packets are dropped, not
        /// marked, regardless of `hard_drop`. Default: none; ns-2 2.35 has 0.1 (`mark_p_`).
        #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
        pub max_marking_probability: Option<f64> = None;
    }
}

impl RedConfig {
    /// Checks every field but the limit; returns the thresholds and whether they are in bytes.
    pub(crate) fn check(&self) -> Result<(f64, f64, bool), ParameterError> {
        let (min, max, in_bytes) = thresholds(self.min_threshold, self.max_threshold, self.limit)?;
        check_averaging_weight(self.weight, "weight")?;
        check_probability(self.max_probability, "max_probability")?;
        if let Some(most) = self.max_marking_probability {
            check_probability(most, "max_marking_probability")?;
        }
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")?;
        Ok((min, max, in_bytes))
    }
}

/// The thresholds as numbers and whether they are in bytes; checked against a limit of the same unit.
fn thresholds(min: QueueSize, max: QueueSize, limit: QueueSize) -> Result<(f64, f64, bool), ParameterError> {
    let (min, max, in_bytes) = match (min, max) {
        (QueueSize::Packets(min), QueueSize::Packets(max)) => (min, max, false),
        (QueueSize::Bytes(min), QueueSize::Bytes(max)) => (min, max, true),
        _ => return Err(ParameterError { field: "max_threshold", bound: "have the unit of `min_threshold`" }),
    };
    require(min < max, "max_threshold", "be more than `min_threshold`")?;
    if let (QueueSize::Packets(limit), false) | (QueueSize::Bytes(limit), true) = (limit, in_bytes) {
        require(max <= limit, "max_threshold", "be at most `limit`")?;
    }
    Ok((min as f64, max as f64, in_bytes))
}

/// The drop probability as a function of the average: `p_b` of the paper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Profile {
    min: f64,
    max: f64,
    max_probability: f64,
    gentle: bool,
    slope: f64,
    gentle_slope: f64,
}

impl Profile {
    pub fn new(min: f64, max: f64, max_probability: f64, gentle: bool) -> Self {
        let slope = max_probability / (max - min);
        Self { min, max, max_probability, gentle, slope, gentle_slope: (1.0 - max_probability) / max }
    }

    /// `p_b` at an average of `avg`.
    pub fn probability(&self, avg: f64) -> f64 {
        if avg < self.min {
            0.0
        } else if avg < self.max {
            self.slope * (avg - self.min)
        } else if self.gentle && avg < 2.0 * self.max {
            self.max_probability + self.gentle_slope * (avg - self.max)
        } else {
            1.0
        }
    }

    /// Whether every packet goes.
    pub fn is_forced(&self, avg: f64) -> bool {
        avg >= if self.gentle { 2.0 * self.max } else { self.max }
    }
}

/// `p_a`: the probability for the packet after `count` undropped ones, such that gaps between drops are uniform
/// (paper, section 7, method 2). With `wait`, none within 1/p packets (ns-2).
pub(crate) fn uniform_gap_probability(p_b: f64, count: f64, wait: bool) -> f64 {
    let expected = count * p_b;
    if wait {
        match expected {
            e if e < 1.0 => 0.0,
            e if e < 2.0 => (p_b / (2.0 - e)).min(1.0),
            _ => 1.0,
        }
    } else if expected < 1.0 {
        (p_b / (1.0 - expected)).min(1.0)
    } else {
        1.0
    }
}

/// Decay of an average over an idle period: `(1 - w)^m`, m the packets that the link could have sent meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleDecay {
    retained: f64,
    packets_per_second: f64,
}

impl IdleDecay {
    pub fn new(weight: f64, link_rate: Rate, mean_packet_size: Bytes) -> Self {
        Self { retained: 1.0 - weight, packets_per_second: link_rate.bytes_per_second() / mean_packet_size.0 as f64 }
    }

    /// `avg` after the link was idle from `since` to `now`.
    pub fn apply(&self, avg: f64, since: Time, now: Time) -> f64 {
        if avg == 0.0 {
            return 0.0;
        }
        let missed = libm::floor(self.packets_per_second * now.since(since).seconds());
        avg * libm::pow(self.retained, missed)
    }
}

/// RED's decision on a packet that does not overflow the queue.
#[derive(Clone, Copy, PartialEq)]
enum Signal {
    None,
    Early,
    Forced,
}

/// RED: random early detection.
#[derive(Clone, Debug)]
pub struct Red {
    limit: Limit,
    profile: Profile,
    idle_decay: IdleDecay,
    weight: f64,
    wait: bool,
    in_bytes: bool,
    small_queue_guard: bool,
    /// 1 / mean packet size, in byte mode.
    size_factor: Option<f64>,
    ecn: bool,
    hard_drop: bool,
    max_marking_probability: Option<f64>,

    avg: f64,
    /// Packets, and their bytes, since the last drop or since the average crossed the lower threshold.
    count: u64,
    count_bytes: u64,
    /// Whether the packet before this one found the average above the lower threshold (`old` in ns-2).
    in_region: bool,
    idle_since: Option<Time>,
}

impl Red {
    /// A RED law for a link of `link_rate`, which the idle rule needs.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &RedConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (min, max, in_bytes) = config.check()?;
        Ok(Self {
            limit,
            profile: Profile::new(min, max, config.max_probability, config.gentle),
            idle_decay: IdleDecay::new(config.weight, link_rate, config.mean_packet_size),
            weight: config.weight,
            wait: config.wait,
            in_bytes,
            small_queue_guard: config.small_queue_guard,
            size_factor: config.byte_mode.then(|| 1.0 / config.mean_packet_size.0 as f64),
            ecn: config.ecn,
            hard_drop: config.hard_drop,
            max_marking_probability: config.max_marking_probability,
            avg: 0.0,
            count: 0,
            count_bytes: 0,
            in_region: false,
            idle_since: Some(Time::ZERO),
        })
    }

    /// The moving average of the queue, in the unit of the thresholds.
    #[must_use]
    pub fn average(&self) -> f64 {
        self.avg
    }

    /// The average as it would be read at `now`: after the decay of an idle period that still lasts.
    pub(crate) fn average_at(&self, now: Time) -> f64 {
        match self.idle_since {
            Some(since) => self.idle_decay.apply(self.avg, since, now),
            None => self.avg,
        }
    }

    /// The thresholds, in the unit of the average.
    pub(crate) fn thresholds(&self) -> (f64, f64) {
        (self.profile.min, self.profile.max)
    }

    /// Sets thresholds that need not be whole numbers, in the unit of the average.
    pub(crate) fn set_thresholds(&mut self, min: f64, max: f64) {
        self.profile = Profile::new(min, max, self.profile.max_probability, self.profile.gentle);
    }

    /// `max_p` as it is now.
    pub(crate) fn max_probability(&self) -> f64 {
        self.profile.max_probability
    }

    /// Sets `max_p`; the profile follows, its gentle part as well.
    pub(crate) fn set_max_probability(&mut self, max_probability: f64) {
        let Profile { min, max, gentle, .. } = self.profile;
        self.profile = Profile::new(min, max, max_probability, gentle);
    }

    /// The average that the packet of `offer` will be judged by: for laws that change this one before they ask it.
    pub(crate) fn average_after(&self, offer: &Offer<'_>) -> f64 {
        let avg = self.average_at(offer.now);
        avg + self.weight * (self.queue(offer) - avg)
    }

    /// The queue in the unit of the average.
    fn queue(&self, offer: &Offer<'_>) -> f64 {
        // A signed number becomes a float in one instruction.
        (if self.in_bytes { offer.backlog.bytes } else { offer.backlog.packets }) as i64 as f64
    }

    /// Paper, section 4, "calculate the average queue size".
    fn update_average(&mut self, offer: &Offer<'_>) {
        if let Some(since) = self.idle_since.take() {
            self.avg = self.idle_decay.apply(self.avg, since, offer.now);
        }
        self.avg += self.weight * (self.queue(offer) - self.avg);
    }

    fn reset_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }

    /// Paper, section 4: nothing, an early signal or a forced one.
    fn signal(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Signal {
        let guarded = self.small_queue_guard && offer.backlog.packets <= 1;
        if self.avg < self.profile.min || guarded {
            self.in_region = false;
            return Signal::None;
        }
        if self.profile.is_forced(self.avg) {
            return Signal::Forced;
        }
        if !self.in_region {
            self.in_region = true;
            self.count = 1;
            self.count_bytes = u64::from(arrival.len_bytes);
            return Signal::None;
        }
        let probability = self.probability(arrival);
        // No rng where nothing can happen: with `wait`, for half of the packets.
        if probability > 0.0 && uniform(offer.rng) < probability { Signal::Early } else { Signal::None }
    }

    /// Whether the drop probability is low enough for marks (ns-2's `mark_p_`).
    fn is_markable(&self) -> bool {
        self.max_marking_probability.is_none_or(|most| self.profile.probability(self.avg) < most)
    }

    /// `p_a` of this packet (paper, section 7).
    fn probability(&self, arrival: &Arrival) -> f64 {
        let p_b = self.profile.probability(self.avg);
        let Some(size_factor) = self.size_factor else {
            return uniform_gap_probability(p_b, self.count as i64 as f64, self.wait);
        };
        // ns-2 truncates here; it shows in traces.
        let count = libm::floor(self.count_bytes as i64 as f64 * size_factor);
        match uniform_gap_probability(p_b, count, self.wait) {
            p_a if p_a < 1.0 => p_a * f64::from(arrival.len_bytes) * size_factor,
            certain => certain,
        }
    }
}

impl Admission for Red {
    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let idle = self.idle_since.is_some();
        let verdict = self.decide(arrival, offer);
        if idle && matches!(verdict, Verdict::Drop(_)) {
            // The link is as idle as before; the time so far has been subtracted from the average.
            self.idle_since = Some(offer.now);
        }
        verdict
    }

    fn idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.avg);
        visit("p_mark", self.profile.probability(self.avg));
    }
}

impl Red {
    /// Paper, section 4: the average, the counter, the signal; then the physical limit.
    #[inline]
    fn decide(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.update_average(offer);
        self.count += 1;
        self.count_bytes += u64::from(arrival.len_bytes);
        let signal = self.signal(arrival, offer);
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            self.reset_count();
            return Verdict::Drop(DropReason::Overflow);
        }
        let (drop_reason, mark_reason, may_mark) = match signal {
            Signal::None => return Verdict::Enqueue(Ticket::default()),
            Signal::Early => (DropReason::Early, MarkReason::Early, true),
            Signal::Forced => (DropReason::Forced, MarkReason::Forced, !self.hard_drop),
        };
        self.reset_count();
        if self.ecn && may_mark && arrival.ecn.is_capable() && self.is_markable() {
            Verdict::Mark(Ticket::default(), mark_reason)
        } else {
            Verdict::Drop(drop_reason)
        }
    }
}

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
