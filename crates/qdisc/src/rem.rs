//! REM, random exponential marking: a price that grows with the load and the queue sets the probability of marks.
//!
//! # What it does
//! At fixed intervals REM updates a price: it rises while more packets arrive than the link can send, or while the
//! queue is longer than its target, and it falls in the opposite case. Arriving packets are dropped or marked with a
//! probability that approaches 1 exponentially as the price grows. The price, and not the queue, thus follows the
//! number of flows: the queue settles at its target and the arrivals at the capacity of the link, at any load.
//!
//! # When to use it
//! Use it to compare AQMs, and where packets cross several links with REM: the fraction of marked packets then gives a
//! receiver the sum of their prices. Packets are counted before drops, so flows that do not respond and together exceed
//! the link raise the price until nearly all packets are dropped: use `pie` or `fq_codel` there.
//!
//! # Example
//! ```toml
//! queue.rem = { target = "20 packets", mean_packet_size = "1500 B" }
//! ```
//!
//! Set `target` first, and `mean_packet_size` to the size of most packets: with the rate of the link it gives the
//! capacity. A larger `phi` or `gamma` makes REM respond faster. With `ecn = true` ECN-capable packets are marked and
//! not dropped. With drops the queue settles below its target, because the packets that are dropped count as well.
//!
//! # Source
//! S. Athuraliya, V. H. Li, S. H. Low and Q. Yin, "REM: Active Queue Management", IEEE Network 15(3), 2001. Rules and
//! defaults are those of the authors' program in ns-2 (`queue/rem.cc`).
//!
//! # Where we differ
//! - There is no timer. When the queue changes, all intervals since its last change are made up for in one step, each
//!   with the queue as it was then. An update at the time of a change comes before it.
//! - A packet is marked when it arrives, as in the paper; ns-2 marks it when it leaves. With `ecn`, packets that are
//!   not ECN-capable are dropped with the same probability; ns-2 lets them pass.
//! - A packet is dropped or marked if a random number is below the probability; in ns-2 also if it is equal, so that a
//!   probability of 0 may drop. No random number is drawn at 0, nor for a packet that meets a full queue.
//! - `limit` is the most that is queued; in ns-2 the queue stays below it. In `byte_mode` a queue counts as a fraction
//!   of packets, in ns-2 as whole packets.
//! - `alpha` is a parameter, in ns-2 always 0.1.
//!
//! # Cost
//! Less than 200 bytes, regardless of the number of flows. O(1) a packet, however many intervals have passed, and at
//! most one random number.
//!
//! # Parameters
//! See [`RemConfig`].

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::limit::{Limit, check_averaging_weight};
use crate::memory::inline_bytes;
use crate::require;
use crate::signal::early_verdict;
use crate::{Admission, Arrival, Backlog, DropReason, Offer, ParameterError, Ticket, Time, Verdict};

parameters! {
    /// Parameters of REM.
    pub struct RemConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// `b*`: the length at which the queue is held, in packets or bytes, which count as packets of
        /// `mean_packet_size`. Default: 20 packets (ns-2).
        pub target: QueueSize = QueueSize::Packets(20);
        /// Interval at which the price is updated. Default: 2 ms (ns-2).
        pub update_interval: Span = Span::from_milliseconds(2);
        /// Increase of the price for each packet that arrives in an interval beyond the capacity of the link. Default:
        /// 0.001 (ns-2).
        pub gamma: f64 = 0.001;
        /// Weight of a packet in the queue beyond `target`, in relation to one that arrives. Default: 0.1 (ns-2).
        pub alpha: f64 = 0.1;
        /// Base of the probability, which is 1 - `phi`^(-price). Default: 1.001 (ns-2).
        pub phi: f64 = 1.001;
        /// Weight of each new interval in the moving average of the arrivals. Default: 1, no averaging (ns-2).
        pub weight: f64 = 1.0;
        /// Whether arrivals and the queue are counted in bytes, as packets of `mean_packet_size`, and a packet's
        /// probability grows in proportion to its size. Default: no.
        pub byte_mode: bool = false;
        /// Mean packet size: the capacity is the rate of the link divided by it, and `byte_mode` and a target in bytes
        /// refer to it. Default: 1000 B (ns-2).
        pub mean_packet_size: Bytes = Bytes(1000);
        /// Whether ECN-capable packets are marked instead of dropped. Default: no.
        pub ecn: bool = false;
    }
}

impl RemConfig {
    /// Checks every field but the limit.
    fn check(&self) -> Result<(), ParameterError> {
        let (QueueSize::Packets(target) | QueueSize::Bytes(target)) = self.target;
        require(target > 0, "target", "be more than 0")?;
        if let (QueueSize::Packets(limit), QueueSize::Packets(_)) | (QueueSize::Bytes(limit), QueueSize::Bytes(_)) =
            (self.limit, self.target)
        {
            require(target <= limit, "target", "be at most `limit`")?;
        }
        let interval = self.update_interval;
        require(interval >= Span::from_microseconds(1), "update_interval", "be at least 1 us")?;
        require(self.gamma > 0.0 && self.gamma <= 1.0, "gamma", "be more than 0 and at most 1")?;
        require(self.alpha > 0.0 && self.alpha <= 1.0, "alpha", "be more than 0 and at most 1")?;
        require(self.phi > 1.0 && self.phi <= 10.0, "phi", "be more than 1 and at most 10")?;
        check_averaging_weight(self.weight, "weight")?;
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")
    }
}

/// REM: random exponential marking.
#[derive(Clone, Debug)]
pub struct Rem {
    limit: Limit,
    /// `b*` in packets.
    target: f64,
    /// Packets that the link sends in an interval.
    capacity: f64,
    interval: Span,
    gamma: f64,
    alpha: f64,
    phi_log: f64,
    weight: f64,
    /// 1 / mean packet size, in byte mode.
    size_factor: Option<f64>,
    ecn: bool,

    /// Packets or bytes that arrived since the last update, including those that were dropped.
    arrived: u64,
    /// The average arrivals of an interval, in packets.
    average: f64,
    price: f64,
    probability: f64,
    next_update: Time,
    /// The queue since the last change.
    backlog: Backlog,
}

impl Rem {
    /// A REM law for a link of `link_rate`; the first update is one interval after the start.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &RemConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        let packets_per_byte = 1.0 / config.mean_packet_size.0 as f64;
        let target = match config.target {
            QueueSize::Packets(packets) => packets as f64,
            QueueSize::Bytes(bytes) => bytes as f64 * packets_per_byte,
        };
        Ok(Self {
            limit,
            target,
            capacity: config.update_interval.seconds() * link_rate.bytes_per_second() * packets_per_byte,
            interval: config.update_interval,
            gamma: config.gamma,
            alpha: config.alpha,
            phi_log: libm::log(config.phi),
            weight: config.weight,
            size_factor: config.byte_mode.then_some(packets_per_byte),
            ecn: config.ecn,
            arrived: 0,
            average: 0.0,
            price: 0.0,
            probability: 0.0,
            next_update: Time::ZERO + config.update_interval,
            backlog: Backlog::default(),
        })
    }

    /// The price of the link.
    #[must_use]
    pub fn price(&self) -> f64 {
        self.price
    }

    /// The probability with which a packet of mean size is dropped or marked.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Makes up for the updates up to and at `now`, at which the queue changes or is looked at; then it is `backlog`.
    #[inline]
    fn queue_becomes(&mut self, backlog: Backlog, now: Time) {
        if self.next_update <= now {
            self.update_until(now);
        }
        self.backlog = backlog;
    }

    /// The price is `max(0, price + gamma (alpha (queue - b*) + arrivals - capacity))`. Nothing has arrived since the
    /// first of the updates, and the queue is the same.
    fn update_until(&mut self, now: Time) {
        let further = now.since(self.next_update).picoseconds() / self.interval.picoseconds();
        let (queue, arrived) = match self.size_factor {
            Some(factor) => (self.backlog.bytes as f64 * factor, self.arrived as f64 * factor),
            None => (self.backlog.packets as f64, self.arrived as f64),
        };
        let without_arrivals = self.alpha * (queue - self.target) - self.capacity;
        let kept = 1.0 - self.weight;
        self.average = kept * self.average + self.weight * arrived;
        let first = self.price + self.gamma * (self.average + without_arrivals);
        // The average decays, so each further change is less than the one before. Once the price falls, it falls on:
        // the bound of 0 is met once and for all.
        let all_kept = libm::pow(kept, further as f64);
        let averages = self.average * kept * (1.0 - all_kept) / self.weight;
        let further_change = self.gamma * (averages + further as f64 * without_arrivals);
        self.price = (first.max(0.0) + further_change).max(0.0);
        self.probability = -libm::expm1(-self.price * self.phi_log);
        self.average *= all_kept;
        self.arrived = 0;
        let passed = u128::from(self.interval.picoseconds()) * (u128::from(further) + 1);
        self.next_update =
            self.next_update.saturating_add(Span::from_picoseconds(u64::try_from(passed).unwrap_or(u64::MAX)));
    }
}

impl Admission for Rem {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.queue_becomes(offer.backlog, offer.now);
        self.arrived += self.size_factor.map_or(1, |_| u64::from(arrival.len_bytes));
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let probability = match self.size_factor {
            Some(size_factor) => self.probability * f64::from(arrival.len_bytes) * size_factor,
            None => self.probability,
        };
        let verdict = early_verdict(probability, self.ecn, arrival, offer.rng);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.backlog.add(arrival.len_bytes);
        }
        verdict
    }

    fn release(&mut self, _ticket: Ticket, _len_bytes: u32, backlog: Backlog, now: Time) {
        self.queue_becomes(backlog, now);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("price", self.price);
        visit("p_mark", self.probability);
        visit("avg_arrivals", self.average);
    }
}

#[cfg(test)]
#[path = "rem_tests.rs"]
mod tests;
