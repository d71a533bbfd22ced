//! BREATHe: RED that blocks the flows that were served most until the others have caught up.
//!
//! # What it does
//! BREATHe counts the packets that it admits by flow, in a heavy-hitter set: a few counters that hold every flow with
//! more than its share of the packets. While the average queue is between RED's thresholds, it drops the packets of the
//! set's members, and those of other flows with RED's probability. If a packet of another flow arrives and no counter
//! is free, every member's counter decreases by one. A blocked flow is admitted again once its counter has come to
//! zero. K counters thus hold every flow to 1/(K + 1) of the link, if that is no less than the fair rate.
//!
//! # When to use it
//! Use it to cap the fastest flows at a fixed share of the link, with a fixed set of counters, where the flows
//! outnumber the counters. With a counter for every active flow it blocks none of them: a few TCP flows against one
//! flood need another discipline, such as `fred` or `afd`.
//!
//! # Example
//! ```toml
//! queue.breathe = { flow_rate_limit = "2 Mbps", limit = "300 packets" }
//! ```
//!
//! Set `flow_rate_limit` or `counters` first: the cap must be above the fair rate. The average queue settles between
//! `min_threshold` and `max_threshold`, which must fit `limit`.
//!
//! # Source
//! C.-W. Chang and B. Lin, "A Simple Mechanism for Throttling High-Bandwidth Flows", Research Letters in
//! Communications, 2008. The set is that of Karp, Shenker and Papadimitriou (2003), in worst-case constant time.
//!
//! # Where we differ
//! - Packets count when they are admitted, as in Algorithm 1. With `count_departures` they count when they are sent.
//! - The paper gives neither the thresholds nor the number of counters; the defaults are ours.
//! - Random drops have uniform gaps, like RED's; `uniform_gaps = false` uses the plain probability. Only packets of
//!   flows that are not blocked count in a gap.
//! - `member_threshold`, `decay_period`, `bytes_per_count` and `ecn` are our additions, off by default. Packets of
//!   blocked flows are dropped even if they are ECN-capable.
//! - The link counts as idle from the end of its last transmission, and the sample of an arriving packet adds one more
//!   decay after an idle period, as in [`crate::Red`].
//!
//! # Cost
//! 68 to 76 bytes for each counter, allocated at the start, regardless of the number of flows. With `count_departures`
//! 8 bytes more for each packet queued. A packet takes constant time in the worst case, regardless of the number of
//! counters and flows. That is three walks in the set's index, of at most 65 steps and about one on average, and at
//! most one random number. `bytes_per_count` multiplies that by the counts of a packet. A decay visits every counter
//! once in each `decay_period`.
//!
//! # Parameters
//! See [`BreatheConfig`].

use alloc::collections::VecDeque;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::heavy_hitters::HeavyHitterSet;
use crate::limit::{Limit, SHORTEST_PACKET_BYTES};
use crate::memory::inline_bytes;
use crate::red::{IdleDecay, Profile, uniform_gap_probability};
use crate::require;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, RedConfig, Span, Ticket, Time,
    Verdict, uniform,
};

/// Counters where the configuration gives neither their number nor a rate.
const DEFAULT_COUNTERS: u32 = 32;

parameters! {
    /// Parameters of BREATHe.
    pub struct BreatheConfig in RedConfig {
        queue limit = QueueSize::Packets(300), "300 packets (paper, section 4)";
        red min_threshold = QueueSize::Packets(100), "100 packets, a third of the default limit";
        /// `max_th`: average queue above which every packet is dropped. Default: 200 packets, two thirds of the default
        /// limit.
        red max_threshold = QueueSize::Packets(200);
        red weight = 0.002, "0.002 (RED)";
        /// `max_p`: drop probability of packets that are not blocked at `max_threshold`, before the gaps are made
        /// uniform. Default: 0.02 (RED).
        red max_probability = 0.02;
        /// Whether the gaps between random drops are made uniform, as in RED. Default: yes.
        pub uniform_gaps: bool = true;
        /// Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for.
        /// Default: 500 B (ns-2's for RED).
        red mean_packet_size = Bytes(500);
        /// Number of counters, K: flows are held to 1/(K + 1) of the link. With too few, heavy flows pass. With too
        /// many, this share is below the fair rate and the counters of all fast flows grow without limit. The queue
        /// falls to `min_threshold`, all packets are admitted, and the fast flows share what is left in proportion to
        /// their rates. With a counter for each active flow no counter is ever decremented and flows are not
        /// distinguished; the gauge `decrements` then does not change. Since only the user knows the number of flows,
        /// no value in the range is refused. From 1 to 1048576. Default: as follows from `flow_rate_limit`, otherwise
        /// 32.
        pub counters: Option<u32> = None;
        /// `r_limit`: rate above which a flow is blocked. The number of counters is then the link's rate divided by it,
        /// rounded up (paper, section 3.1). Excludes `counters`. Default: none.
        pub flow_rate_limit: Option<Rate> = None;
        /// A flow is blocked only if its counter is more than this. Default: 0, every member (paper, section 3).
        pub member_threshold: u64 = 0;
        /// Time after which all counters are halved, so that the past is forgotten even where no counter is
        /// decremented. Default: never; the paper has no such rule.
        pub decay_period: Option<Span> = None;
        /// Bytes for each count: a packet counts as its length divided by this, rounded up. Default: none, each packet
        /// counts once (paper, section 3.1).
        pub bytes_per_count: Option<Bytes> = None;
        /// Whether a packet is counted when its transmission begins instead of when it is admitted, so that a queued
        /// burst does not count against its flow at once. Default: no.
        pub count_departures: bool = false;
        /// Whether ECN-capable packets are marked where they would be dropped at random. Default: no.
        red ecn = false;
    }
}

impl BreatheConfig {
    /// Checks every field but the limit and the counters; returns the thresholds and whether they are in bytes.
    fn check(&self) -> Result<(f64, f64, bool), ParameterError> {
        let thresholds = self.inner().check()?;
        require(self.decay_period != Some(Span::ZERO), "decay_period", "be more than 0 s")?;
        let unit = self.bytes_per_count.unwrap_or(Bytes(SHORTEST_PACKET_BYTES));
        require(unit.0 >= SHORTEST_PACKET_BYTES, "bytes_per_count", "be at least 40 B")?;
        Ok(thresholds)
    }

    /// The set on a link of `link_rate`: `C / r_limit` counters (paper, section 3.1), if not told their number.
    fn heavy_hitters(&self, link_rate: Rate, salt: u64) -> Result<HeavyHitterSet, ParameterError> {
        let Some(flow_rate) = self.flow_rate_limit else {
            return HeavyHitterSet::new(self.counters.unwrap_or(DEFAULT_COUNTERS), salt);
        };
        require(self.counters.is_none(), "flow_rate_limit", "be left out where `counters` is given")?;
        let counters = link_rate.bits_per_second().div_ceil(flow_rate.bits_per_second());
        let counters = u32::try_from(counters).unwrap_or(u32::MAX);
        HeavyHitterSet::new(counters, salt).map_err(|_| ParameterError {
            field: "flow_rate_limit",
            bound: "be at least 1/1048576 of the link's rate, since there are at most 1048576 counters",
        })
    }
}

/// BREATHe.
#[derive(Clone, Debug)]
pub struct Breathe {
    limit: Limit,
    min_threshold: f64,
    max_threshold: f64,
    profile: Profile,
    idle_decay: IdleDecay,
    weight: f64,
    in_bytes: bool,
    uniform_gaps: bool,
    member_threshold: u64,
    decay_period: Option<Span>,
    bytes_per_count: Option<Bytes>,
    count_departures: bool,
    ecn: bool,

    avg: f64,
    idle_since: Option<Time>,
    /// Packets of flows that are not blocked since the last random drop, -1 below the lower threshold.
    count: i64,
    heavy_hitters: HeavyHitterSet,
    decayed_at: Time,
    /// The flows of the packets queued, first to leave first; only kept with `count_departures`.
    queued: VecDeque<FlowKey>,
}

impl Breathe {
    /// A BREATHe law for a link of `link_rate`, which the idle rule and `flow_rate_limit` need; `salt` goes into the
    /// hash of flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &BreatheConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (min, max, in_bytes) = config.check()?;
        Ok(Self {
            limit,
            min_threshold: min,
            max_threshold: max,
            // Of the profile only the part up to the upper threshold is used, the threshold itself included.
            profile: Profile::new(min, max, config.max_probability, true),
            idle_decay: IdleDecay::new(config.weight, link_rate, config.mean_packet_size),
            weight: config.weight,
            in_bytes,
            uniform_gaps: config.uniform_gaps,
            member_threshold: config.member_threshold,
            decay_period: config.decay_period,
            bytes_per_count: config.bytes_per_count,
            count_departures: config.count_departures,
            ecn: config.ecn,
            avg: 0.0,
            idle_since: Some(Time::ZERO),
            count: -1,
            heavy_hitters: config.heavy_hitters(link_rate, salt)?,
            decayed_at: Time::ZERO,
            queued: VecDeque::new(),
        })
    }

    /// RED's average, sampled at each arrival.
    fn update_average(&mut self, offer: &Offer<'_>) {
        if let Some(since) = self.idle_since.take() {
            self.avg = self.idle_decay.apply(self.avg, since, offer.now);
        }
        let queue = if self.in_bytes { offer.backlog.bytes } else { offer.backlog.packets };
        self.avg += self.weight * (queue as f64 - self.avg);
    }

    /// Halves the counters as often as the decay period has ended since the last time.
    fn decay(&mut self, now: Time) {
        let Some(period) = self.decay_period else { return };
        let periods = now.since(self.decayed_at).picoseconds() / period.picoseconds();
        if periods > 0 {
            self.decayed_at += period * periods;
            self.heavy_hitters.halve(u32::try_from(periods).unwrap_or(u32::MAX));
        }
    }

    /// Algorithm 1: counts a packet of `flow` that is let in, or sent.
    fn record(&mut self, flow: FlowKey, len_bytes: u32) {
        let counts = self.bytes_per_count.map_or(1, |unit| u64::from(len_bytes).div_ceil(unit.0));
        for _ in 0..counts {
            self.heavy_hitters.record(flow);
        }
    }

    /// Whether `flow` must wait for the others while there is congestion.
    fn is_heavy(&self, flow: FlowKey) -> bool {
        self.heavy_hitters.count(flow) > self.member_threshold
    }

    /// Whether a packet of `flow` would be dropped for what the flow has sent before.
    fn blocks(&self, flow: FlowKey) -> bool {
        (self.min_threshold..=self.max_threshold).contains(&self.avg) && self.is_heavy(flow)
    }

    /// Paper, section 3: the cases by the average, then the physical limit.
    fn decide(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        let mut mark = false;
        if self.avg < self.min_threshold {
            self.count = -1;
        } else if self.avg > self.max_threshold {
            self.count = 0;
            return Verdict::Drop(DropReason::Forced);
        } else if self.is_heavy(arrival.flow) {
            return Verdict::Drop(DropReason::FairShare);
        } else if self.fires(offer) {
            mark = self.ecn && arrival.ecn.is_capable();
            if !mark {
                return Verdict::Drop(DropReason::Early);
            }
        }
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if mark { Verdict::Mark(Ticket::default(), MarkReason::Early) } else { Verdict::Enqueue(Ticket::default()) }
    }

    /// Whether RED drops a packet that is not blocked.
    fn fires(&mut self, offer: &mut Offer<'_>) -> bool {
        self.count += 1;
        let p_b = self.profile.probability(self.avg);
        let p = if self.uniform_gaps { uniform_gap_probability(p_b, self.count as f64, false) } else { p_b };
        let fires = uniform(offer.rng) < p;
        if fires {
            self.count = 0;
        }
        fires
    }
}

impl Admission for Breathe {
    fn watches_departures(&self) -> bool {
        self.count_departures
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.decay(offer.now);
        let idle = self.idle_since.is_some();
        self.update_average(offer);
        let verdict = self.decide(arrival, offer);
        if matches!(verdict, Verdict::Drop(_)) {
            if idle {
                // The link is as idle as before; the time so far has been subtracted from the average.
                self.idle_since = Some(offer.now);
            }
        } else if self.count_departures {
            self.queued.push_back(arrival.flow);
        } else {
            self.record(arrival.flow, arrival.len_bytes);
        }
        verdict
    }

    fn release(&mut self, _ticket: Ticket, len_bytes: u32, _backlog: Backlog, now: Time) {
        if let Some(flow) = self.queued.pop_front() {
            self.decay(now);
            self.record(flow, len_bytes);
        }
    }

    fn idle(&mut self, since: Time) {
        self.idle_since = Some(since);
    }

    fn state_bytes(&self) -> u64 {
        let queued = (self.queued.capacity() * size_of::<FlowKey>()) as u64;
        inline_bytes(self) + self.heavy_hitters.heap_bytes() + queued
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.avg);
        visit("members", f64::from(self.heavy_hitters.len()));
        visit("total_count", self.heavy_hitters.total() as f64);
        visit("decrements", self.heavy_hitters.decrements() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("counter", self.heavy_hitters.count(flow) as f64);
        visit("blocked", f64::from(self.blocks(flow)));
    }
}

#[cfg(test)]
mod tests;
