//! Stochastic Fair BLUE (SFB): finds flows that do not respond, in a few dozen bins, and holds them to a fixed rate.
//!
//! # What it does
//! Each level of bins has a hash function that assigns every flow to one of its bins. A bin counts the packets that its
//! flows have in the queue, and keeps a marking probability as BLUE does. The probability rises when the bin is over
//! its size and falls when the bin is empty. A packet is marked or dropped with the lowest probability among its bins.
//! A flow that does not respond drives all its bins to 1; it is thereby identified and held to a fixed rate. Another
//! flow suffers only if such flows pollute all its bins. Changing the hash functions from time to time keeps that from
//! lasting, and puts reformed flows on parole. The queue remains one FIFO.
//!
//! # When to use it
//! Use it to limit a few unresponsive flows to a low, fixed rate, with state that does not depend on the number of
//! flows. With 2 levels of 23 bins, eight such flows pollute all bins of a third of the others: use more `bins` or
//! `levels`, or a fair queue such as `drr`.
//!
//! # Example
//! ```toml
//! queue.sfb = { limit = "1000 packets", bins = 64, rate_limit = "1 Mbps" }
//! ```
//!
//! Set `rate_limit` first: the default of 160 kb/s is that of the paper's link. `fair_limit = {}` estimates the fair
//! share instead. `rehash_interval` changes the hash functions.
//!
//! # Source
//! W. Feng, D. Kandlur, D. Saha and K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
//! Fairness", INFOCOM 2001. Figure 1 is the algorithm, section III-D the moving hash, section V the limit to a fair
//! share.
//!
//! # Where we differ
//! - Figure 1 drops a packet if any of its bins is over its size, which removes the protection by one good bin that the
//!   text promises. By default we drop it if all of them are; `drop_rule` offers both.
//! - Figure 1 has one size of a bin, beyond which probabilities rise and packets are dropped. With `bin_limit` above
//!   `bin_size` a bin's probability has room to rise before packets are dropped, as in Linux.
//! - Figure 1 has one delta for both directions and gives no value; the defaults are BLUE's two.
//! - A packet lost to a full queue raises the probabilities of its bins, as losses do in BLUE; figure 1 has no full
//!   queue.
//! - The limiter empties the bins of the flow that it holds, and by figure 1 their probabilities would fall at once:
//!   the flow would alternate between identified and not. Here a bin at 1 begins to fall only when it is empty and the
//!   limiter has had none of its packets for `parole_time`.
//! - The limiter has a token bucket in each bin; see `rate_limit_scope`.
//! - After a change of hash, the packets in the queue are counted in the bins of the new functions. The paper resets
//!   the bins; here their probabilities are reset as well.
//! - A bin of the warm-up set rises by `increment` with each packet of an identified flow, and does not fall before it
//!   is in use. In Linux it follows the packets of the bin, which the limiter keeps few, and so it hardly warms up.
//! - The fair share of `fair_limit` is the link's rate divided by a count of flows; the polluted bins give the number
//!   of flows that are held to it. The first estimate comes after one interval; until then `rate_limit` applies.
//! - Linux's `sch_sfb`, as `tc` configures it, is `levels = 8`, `bins = 16`, `bin_size = 19` and `bin_limit = 24`. (Its
//!   `target` of 20 and `max` of 25 packets are reached, not exceeded.) Further, it is `increment = 0.00050354` and
//!   `decrement = 0.000045776` (33 and 3 of 65536 steps), and `rate_limit = "120 kbps"` and `burst = "30 KB"` (10
//!   packets a second and 20 at once). The rest is `rate_limit_scope = "linux"`, `parole_time = "0 s"`,
//!   `rehash_interval = "600 s"`, and as `limit` the interface's `txqueuelen`, usually 1000 packets. We do not copy the
//!   rest of it. Linux warms up the second set only for the last minute and does not react to a full queue. It drops
//!   some of the packets with a probability above one half even if they are ECN-capable.
//! - With these values a flood gets 8 to 33 % more here than through a kernel, for a reason that is not known. Among 4
//!   and 20 TCP flows at 20 Mb/s the flood stays below probability 1, so that the limiter never acts, and even, Poisson
//!   or bursty packets change its goodput by less than 10 %. A bin's probability only rises from 20 packets on and only
//!   falls when it is empty. In between it keeps the value that chance has given it, and the goodput scatters by up to
//!   a half from seed to seed.
//!
//! # Cost
//! 32 bytes for each of the `levels` times `bins` bins, regardless of the number of flows. A double-buffered moving
//! hash needs twice that; `fair_limit` adds its bitmap. A queued packet has a note of 16 bytes and 4 bytes for each of
//! its bins. The work is O(`levels`) a packet, and at most one random number. A change of hash takes O(`levels`) for
//! each packet queued and O(1) for each bin; `fair_limit` takes a visit to each bin and each 64 bits of the bitmap at
//! each interval.
//!
//! # Parameters
//! See [`SfbConfig`].

pub(crate) mod bins;
pub(crate) mod config;
mod fair_limit;
pub(crate) mod rate_limiter;
#[cfg(test)]
mod tests;

use forebay_units::Rate;

use bins::{Bin, Bins, Place};
pub use config::{SfbConfig, SfbDropRule, SfbFairLimit, SfbRateLimitScope};
use fair_limit::{FlowCount, offenders};
use rate_limiter::RateLimiter;

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Span, Ticket, Time, Verdict,
    hash_flow, uniform,
};

/// The gauges with the number of bins of each level at probability 1.
pub(crate) const POLLUTED_BINS: [&str; bins::MAX_LEVELS] = [
    "polluted_bins_level_0",
    "polluted_bins_level_1",
    "polluted_bins_level_2",
    "polluted_bins_level_3",
    "polluted_bins_level_4",
    "polluted_bins_level_5",
    "polluted_bins_level_6",
    "polluted_bins_level_7",
    "polluted_bins_level_8",
    "polluted_bins_level_9",
    "polluted_bins_level_10",
    "polluted_bins_level_11",
    "polluted_bins_level_12",
    "polluted_bins_level_13",
    "polluted_bins_level_14",
    "polluted_bins_level_15",
];

/// Probability that a responsive flow has nothing but polluted bins when there are this many offenders:
/// [1 - (1 - 1/B)^M]^L (paper, equation 1).
#[must_use]
pub fn misclassification_probability(levels: u32, bins: u32, offenders: u64) -> f64 {
    let polluted = -libm::expm1(offenders as f64 * libm::log1p(-1.0 / f64::from(bins)));
    libm::pow(polluted, f64::from(levels))
}

/// The probability `p_m` of a bin.
type Probability = f64;

/// The state of a packet's bins for figure 1.
#[derive(Clone, Copy, Debug)]
struct Finding {
    /// The least probability of its bins.
    p_min: f64,
    /// Whether the drop rule says so.
    full: bool,
}

/// SFB: Stochastic Fair BLUE.
#[derive(Clone, Debug)]
pub struct Sfb {
    limit: Limit,
    link_rate: Rate,
    bins_per_level: u32,
    bin_size: u32,
    bin_limit: u32,
    increment: f64,
    decrement: f64,
    /// The number of bins that must be past their limit for a drop.
    full_for_drop: u32,
    parole_time: Span,
    ecn: bool,

    bins: Bins<Probability>,
    limiter: RateLimiter,
    scope: SfbRateLimitScope,
    flow_count: Option<FlowCount>,
    /// M of the last estimate.
    offenders: f64,
}

impl Sfb {
    /// An SFB law for a link of `link_rate`, which the fair share refers to; `salt` goes into the hashes.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &SfbConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (bin_size, bin_limit) = config.check()?;
        let scope = config.rate_limit_scope;
        let counting_salt = hash_flow(FlowKey(u64::MAX), salt);
        Ok(Self {
            limit,
            link_rate,
            bins_per_level: config.bins,
            bin_size,
            bin_limit,
            increment: config.increment,
            decrement: config.decrement,
            full_for_drop: match config.drop_rule {
                SfbDropRule::All => config.levels,
                SfbDropRule::Any => 1,
            },
            parole_time: config.parole_time,
            ecn: config.ecn,
            bins: Bins::new(config.levels, config.bins, 0.0, config.rehash_interval, config.double_buffer, salt),
            limiter: RateLimiter::new(scope, config.rate_limit, config.burst.0),
            scope,
            flow_count: config.fair_limit.as_ref().map(|fair| FlowCount::new(fair, counting_salt)),
            offenders: 0.0,
        })
    }

    /// Paper, figure 1: updates the bins of a packet at each level.
    #[inline]
    fn update_bins(&mut self, place: &Place, now: Time) -> Finding {
        let (bin_size, bin_limit, increment, decrement, parole_time) =
            (self.bin_size, self.bin_limit, self.increment, self.decrement, self.parole_time);
        let (mut full, mut p_min) = (0, 1.0_f64);
        self.bins.update(place, |bin| {
            if bin.packets > bin_size {
                raise(bin, increment);
                full += u32::from(bin.packets > bin_limit);
            } else if bin.packets == 0 && (bin.state < 1.0 || now.since(bin.limited_at) >= parole_time) {
                bin.state = (bin.state - decrement).max(0.0);
            }
            p_min = p_min.min(bin.state);
        });
        Finding { p_min, full: full >= self.full_for_drop }
    }

    /// Paper, section III-D: a packet of an identified flow warms up the bins that the flow will have next.
    fn warm_up(&mut self, flow: FlowKey, place: &mut Place) {
        let increment = self.increment;
        self.bins.locate_warm_up(flow, place);
        self.bins.update_warm_up(place, |bin| raise(bin, increment));
    }

    /// Paper, section V: sets the limiter to the fair share.
    #[cold]
    fn estimate_fair_share(&mut self, flows: f64) {
        let levels = self.bins.levels().count() as f64;
        let polluted = self.bins.levels().map(polluted).sum::<usize>() as f64;
        self.offenders = offenders(polluted / levels, self.bins_per_level);
        let shares = match self.scope {
            SfbRateLimitScope::PerBin => 1.0,
            SfbRateLimitScope::Aggregate | SfbRateLimitScope::Linux => self.offenders.max(1.0),
        };
        self.limiter.set_rate(self.link_rate.scaled((shares / flows).min(1.0)));
    }

    /// The bin that `flow` has at present on each level, from level 0, numbered within the level.
    pub fn bins_of(&self, flow: FlowKey) -> impl Iterator<Item = u32> {
        self.bins.numbers(flow)
    }

    /// The probability with which packets of `flow` are marked or dropped; at 1 the flow is identified.
    fn p_min(&self, place: &Place) -> f64 {
        self.bins.at(place).map(|bin| bin.state).fold(1.0, f64::min)
    }

    /// Drops or marks by the packet's bins, before it is let in; nothing if it goes in as it is.
    #[inline]
    fn judge(&mut self, finding: Finding, arrival: &Arrival, place: &Place, offer: &mut Offer<'_>) -> Signal {
        if finding.full {
            return Signal::Drop(DropReason::FlowLimit);
        }
        if finding.p_min >= 1.0 {
            let passes = self.limiter.passes(&mut self.bins, place, arrival.len_bytes, offer.now);
            return if passes { Signal::None } else { Signal::Drop(DropReason::RateLimit) };
        }
        if finding.p_min <= 0.0 || uniform(offer.rng) >= finding.p_min {
            return Signal::None;
        }
        if self.ecn && arrival.ecn.is_capable() { Signal::Mark } else { Signal::Drop(DropReason::Early) }
    }
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    None,
    Mark,
    Drop(DropReason),
}

#[inline]
fn raise(bin: &mut Bin<Probability>, increment: f64) {
    bin.state = (bin.state + increment).min(1.0);
}

/// Bins at probability 1.
fn polluted(level: &[Bin<Probability>]) -> usize {
    level.iter().filter(|bin| bin.state >= 1.0).count()
}

impl Admission for Sfb {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.bins.keep_moving(offer.now);
        if let Some(count) = &mut self.flow_count
            && count.observe(arrival.flow, offer.now)
            && let Some(flows) = count.flows
        {
            self.estimate_fair_share(flows);
        }
        let mut place = Place::NEW;
        self.bins.locate_active(arrival.flow, &mut place);
        let fits = self.limit.fits(offer.backlog, arrival.len_bytes);
        let finding = if fits {
            self.update_bins(&place, offer.now)
        } else {
            let increment = self.increment;
            self.bins.update(&place, |bin| raise(bin, increment));
            Finding { p_min: self.p_min(&place), full: true }
        };
        let identified = finding.p_min >= 1.0;
        if identified {
            self.warm_up(arrival.flow, &mut place);
        }
        if !fits {
            return Verdict::Drop(DropReason::Overflow);
        }
        let signal = self.judge(finding, arrival, &place, offer);
        if let Signal::Drop(reason) = signal {
            return Verdict::Drop(reason);
        }
        if !identified {
            self.bins.locate_warm_up(arrival.flow, &mut place);
        }
        let ticket = self.bins.enter(arrival.flow, &place);
        if signal == Signal::Mark { Verdict::Mark(ticket, MarkReason::Early) } else { Verdict::Enqueue(ticket) }
    }

    fn release(&mut self, ticket: Ticket, _len_bytes: u32, _backlog: Backlog, _now: Time) {
        self.bins.leave(ticket, |_| {});
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.bins.heap_bytes() + self.flow_count.as_ref().map_or(0, FlowCount::heap_bytes)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let mut all = 0;
        for (level, name) in self.bins.levels().zip(POLLUTED_BINS) {
            let polluted = polluted(level);
            all += polluted;
            visit(name, polluted as f64);
        }
        visit("polluted_bins", all as f64);
        let (sum, bins) = self.bins.levels().flatten().fold((0.0, 0.0), |(sum, n), bin| (sum + bin.state, n + 1.0));
        visit("p_mean", sum / bins);
        visit("warm_bins", self.bins.warm_up_levels().map(polluted).sum::<usize>() as f64);
        visit("rate_limit", self.limiter.rate().bits_per_second() as f64);
        if let Some(count) = &self.flow_count {
            visit("flows", count.flows.unwrap_or(0.0));
            visit("offenders", self.offenders);
        }
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let place = self.bins.locate(flow);
        let p_min = self.p_min(&place);
        visit("p_min", p_min);
        visit("rate_limited", f64::from(p_min >= 1.0));
        visit("least_bin_packets", f64::from(self.bins.at(&place).map(|bin| bin.packets).min().unwrap_or(0)));
    }
}
