//! Stochastic Fair RED (SFRED): the bins of Stochastic Fair BLUE with a self-configuring RED in each.
//!
//! # What it does
//! Each level of bins has a hash function that assigns every flow to one of its bins. A bin keeps a moving average of
//! the packets that its flows have in the queue, and a `max_p` of its own. This is doubled when the average rises above
//! the upper threshold and divided by three when it falls below the lower one. A packet is marked or dropped with the
//! lowest RED probability among its bins; a flow whose bins all have a `max_p` of 1 is held to a fixed rate. The paper
//! uses it to show that RED's averages hardly distinguish a flow that does not respond from mere congestion.
//!
//! # When to use it
//! Use it to reproduce the SFB paper, which compares with it. For new work use `sfb`, which finds flows that do not
//! respond more reliably.
//!
//! # Example
//! ```toml
//! queue.sfred = { limit = "1000 packets", bins = 64, rate_limit = "1 Mbps" }
//! ```
//!
//! Set `rate_limit` first: the default of 160 kb/s is that of the paper's link.
//!
//! # Source
//! W. Feng, D. Kandlur, D. Saha and K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
//! Fairness", INFOCOM 2001, section III-A; the adaptation of `max_p` is from W. Feng, D. Kandlur, D. Saha and K. Shin,
//! "A Self-Configuring RED Gateway", INFOCOM 1999.
//!
//! # Where we differ
//! The paper publishes no algorithm for SFRED, only that each bin keeps a `max_p`. The following is ours:
//! - RED's thresholds apply to each bin's average: the size of a bin, and a third of it. Above the upper threshold the
//!   probability of the bin is 1, which replaces SFB's rule for bins over their size; only the buffer limits a burst.
//! - Probabilities are applied as they are, without RED's count of packets since the last drop. Each bin would need
//!   one, and it would mean nothing for the lowest of several.
//! - While a bin is empty its average decays as if the bin's share of the link's packets had found it empty.
//! - A bin starts below its lower threshold, so that `max_p` changes only when a threshold is crossed. It stays between
//!   0.000001 and 1, so that no number of divisions puts it out of reach.
//! - A change of hash resets the bins; they are not double-buffered.
//!
//! # Cost
//! 56 bytes for each of the `levels` times `bins` bins, regardless of the number of flows. A queued packet has a note
//! of 16 bytes and 4 bytes for each of its bins. The work is O(`levels`) a packet, and at most one random number. A
//! change of hash takes O(`levels`) for each packet queued and O(1) for each bin.
//!
//! # Parameters
//! See [`SfredConfig`].

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::limit::{Limit, check_averaging_weight, check_probability};
use crate::memory::inline_bytes;
use crate::red::IdleDecay;
use crate::require;
use crate::sfb::bins::{Bins, Place};
use crate::sfb::config::{DEFAULT_RATE_LIMIT, check_bins, check_rehash_interval};
use crate::sfb::rate_limiter::RateLimiter;
use crate::sfb::{POLLUTED_BINS, SfbRateLimitScope};
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Ticket, Time, Verdict, uniform,
};

parameters! {
    /// Parameters of Stochastic Fair RED.
    pub struct SfredConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 200 packets, as for
        /// SFB.
        pub limit: QueueSize = QueueSize::Packets(200);
        /// `L`: number of levels of bins, each with its own hash function; at most 16. Default: 2, as for SFB.
        pub levels: u32 = 2;
        /// `N`: number of bins in a level. Default: 23, as for SFB.
        pub bins: u32 = 23;
        /// `max_th` of a bin's average, in packets; `min_th` is a third of it. Default: 1.5 times `limit` divided by
        /// `bins`, where a limit in bytes counts in packets of 1000 B: 13 packets with the other defaults, as for SFB.
        pub bin_size: Option<u32> = None;
        /// `w_q`: weight of each new sample in a bin's moving average. Default: 0.002, as for RED.
        pub weight: f64 = 0.002;
        /// Initial `max_p` of each bin. Default: 0.1.
        pub max_probability: f64 = 0.1;
        /// `alpha`: divisor of `max_p` when the average falls below the lower threshold. Default: 3 (Feng et al. 1999).
        pub decrease_factor: f64 = 3.0;
        /// `beta`: factor of `max_p` when the average rises above the upper threshold. Default: 2 (Feng et al. 1999).
        pub increase_factor: f64 = 2.0;
        /// Rate to which a flow is held whose bins all have a `max_p` of 1. Default: 160 kb/s, as for SFB.
        pub rate_limit: Rate = DEFAULT_RATE_LIMIT;
        /// Whether that rate is for each of these flows or for all together. Default: each.
        pub rate_limit_scope: SfbRateLimitScope = SfbRateLimitScope::PerBin;
        /// Depth of the rate limiter's token buckets. Default: 3000 B, two packets of 1500 B.
        pub burst: Bytes = Bytes(3000);
        /// Moving hash: time after which the bins are reset and their hash functions change. Default: never.
        pub rehash_interval: Option<Span> = None;
        /// Mean packet size: a bin's share of the link's rate divided by it is the number of samples that an empty bin
        /// misses in a second. Default: 1000 B, the paper's packets.
        pub mean_packet_size: Bytes = Bytes(1000);
        /// Whether ECN-capable packets are marked where they would be dropped at random. Default: yes, as for SFB.
        pub ecn: bool = true;
    }
}

impl SfredConfig {
    /// Checks every field but `limit`; returns the size of a bin in packets.
    fn check(&self) -> Result<u32, ParameterError> {
        let bin_size = check_bins(self.limit, self.levels, self.bins, self.bin_size)?;
        check_averaging_weight(self.weight, "weight")?;
        check_probability(self.max_probability, "max_probability")?;
        require(self.max_probability > 0.0, "max_probability", "be more than 0")?;
        let is_factor = |factor: f64| factor >= 1.0 && factor.is_finite();
        require(is_factor(self.decrease_factor), "decrease_factor", "be at least 1")?;
        require(is_factor(self.increase_factor), "increase_factor", "be at least 1")?;
        require(self.burst.0 > 0, "burst", "be at least 1 B")?;
        check_rehash_interval(self.rehash_interval)?;
        let size = 1..=1_000_000_000;
        require(size.contains(&self.mean_packet_size.0), "mean_packet_size", "be between 1 B and 1 GB")?;
        Ok(bin_size)
    }
}

/// The least `max_p` that a bin can come down to.
const LEAST_MAX_PROBABILITY: f64 = 1e-6;

/// The last position of a bin's average relative to the thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Below,
    Between,
    Above,
}

/// The RED of one bin.
#[derive(Clone, Copy, Debug)]
struct BinRed {
    avg: f64,
    max_probability: f64,
    region: Region,
    /// When the average was last brought up to date, or the bin became empty, whichever came later.
    sampled_at: Time,
}

/// The parameters of all bins' REDs.
#[derive(Clone, Copy, Debug)]
struct Rules {
    min: f64,
    max: f64,
    weight: f64,
    decrease_factor: f64,
    increase_factor: f64,
    idle_decay: IdleDecay,
}

impl Rules {
    /// Brings a bin up to date that holds this many `packets` before the arrival.
    fn sample(&self, red: &mut BinRed, packets: u32, now: Time) {
        if packets == 0 {
            red.avg = self.idle_decay.apply(red.avg, red.sampled_at, now);
        }
        red.avg += self.weight * (f64::from(packets) - red.avg);
        red.sampled_at = now;
        self.adapt(red);
    }

    /// Feng et al. 1999: one change of `max_p` for each crossing of a threshold.
    fn adapt(&self, red: &mut BinRed) {
        let region = if red.avg < self.min {
            Region::Below
        } else if red.avg > self.max {
            Region::Above
        } else {
            Region::Between
        };
        if region != red.region {
            red.region = region;
            match region {
                Region::Below => red.max_probability /= self.decrease_factor,
                Region::Above => red.max_probability *= self.increase_factor,
                Region::Between => {}
            }
            red.max_probability = red.max_probability.clamp(LEAST_MAX_PROBABILITY, 1.0);
        }
    }

    /// RED's profile.
    fn probability(&self, red: &BinRed) -> f64 {
        if red.avg < self.min {
            0.0
        } else if red.avg < self.max {
            red.max_probability * (red.avg - self.min) / (self.max - self.min)
        } else {
            1.0
        }
    }
}

/// The least of a packet's bins.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// RED probability.
    probability: f64,
    /// `max_p`; at 1 the flow is identified.
    max_probability: f64,
}

impl Least {
    const NONE: Self = Self { probability: 1.0, max_probability: 1.0 };

    fn and(self, probability: f64, red: &BinRed) -> Self {
        Self {
            probability: self.probability.min(probability),
            max_probability: self.max_probability.min(red.max_probability),
        }
    }
}

/// SFRED: Stochastic Fair RED.
#[derive(Clone, Debug)]
pub struct Sfred {
    limit: Limit,
    rules: Rules,
    ecn: bool,
    bins: Bins<BinRed>,
    limiter: RateLimiter,
}

impl Sfred {
    /// An SFRED law for a link of `link_rate`, which the decay of empty bins needs; `salt` goes into the hashes.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &SfredConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let max = f64::from(config.check()?);
        // A bin's share of the packets that the link could send: one in `bins`.
        let bytes_per_sample = Bytes(config.mean_packet_size.0 * u64::from(config.bins));
        let fresh =
            BinRed { avg: 0.0, max_probability: config.max_probability, region: Region::Below, sampled_at: Time::ZERO };
        Ok(Self {
            limit,
            rules: Rules {
                min: max / 3.0,
                max,
                weight: config.weight,
                decrease_factor: config.decrease_factor,
                increase_factor: config.increase_factor,
                idle_decay: IdleDecay::new(config.weight, link_rate, bytes_per_sample),
            },
            ecn: config.ecn,
            bins: Bins::new(config.levels, config.bins, fresh, config.rehash_interval, false, salt),
            limiter: RateLimiter::new(config.rate_limit_scope, config.rate_limit, config.burst.0),
        })
    }

    /// Updates the bins of a packet at each level; returns the least of them.
    fn update_bins(&mut self, place: &Place, now: Time) -> Least {
        let rules = self.rules;
        let mut least = Least::NONE;
        self.bins.update(place, |bin| {
            rules.sample(&mut bin.state, bin.packets, now);
            least = least.and(rules.probability(&bin.state), &bin.state);
        });
        least
    }
}

impl Admission for Sfred {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.bins.keep_moving(offer.now);
        let mut place = Place::NEW;
        self.bins.locate_active(arrival.flow, &mut place);
        let least = self.update_bins(&place, offer.now);
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if least.max_probability >= 1.0 {
            let passes = self.limiter.passes(&mut self.bins, &place, arrival.len_bytes, offer.now);
            if !passes {
                return Verdict::Drop(DropReason::RateLimit);
            }
        } else if least.probability >= 1.0 {
            return Verdict::Drop(DropReason::Forced);
        } else if least.probability > 0.0 && uniform(offer.rng) < least.probability {
            if !(self.ecn && arrival.ecn.is_capable()) {
                return Verdict::Drop(DropReason::Early);
            }
            return Verdict::Mark(self.bins.enter(arrival.flow, &place), MarkReason::Early);
        }
        Verdict::Enqueue(self.bins.enter(arrival.flow, &place))
    }

    fn release(&mut self, ticket: Ticket, _len_bytes: u32, _backlog: Backlog, now: Time) {
        self.bins.leave(ticket, |red| red.sampled_at = now);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.bins.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let (mut polluted, mut bins, mut avg, mut max_p) = (0.0, 0.0, 0.0, 0.0);
        for (level, name) in self.bins.levels().zip(POLLUTED_BINS) {
            let of_level = level.iter().filter(|bin| bin.state.max_probability >= 1.0).count() as f64;
            visit(name, of_level);
            polluted += of_level;
            bins += level.len() as f64;
            avg += level.iter().map(|bin| bin.state.avg).sum::<f64>();
            max_p += level.iter().map(|bin| bin.state.max_probability).sum::<f64>();
        }
        visit("polluted_bins", polluted);
        visit("avg_mean", avg / bins);
        visit("max_p_mean", max_p / bins);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let place = self.bins.locate(flow);
        let bins = self.bins.at(&place);
        let least = bins.fold(Least::NONE, |least, bin| least.and(self.rules.probability(&bin.state), &bin.state));
        visit("p_min", least.probability);
        visit("max_p_min", least.max_probability);
        visit("rate_limited", f64::from(least.max_probability >= 1.0));
    }
}

#[cfg(test)]
#[path = "sfred_tests.rs"]
mod tests;
