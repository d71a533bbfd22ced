//! CHOKe: compares each arrival with packets drawn from the queue, and drops both if they belong to the same flow.
//!
//! # What it does
//! CHOKe keeps RED's moving average of the queue. At or below the lower threshold nothing happens. Above it, CHOKe
//! compares each arriving packet with packets drawn at random from the queue, and drops those of the same flow together
//! with the arrival. A flow that fills the queue is likely to meet itself; a flow with a few packets is not. Neither
//! needs any state. A packet without a match is dropped or marked as by RED, and always from the upper threshold on.
//!
//! # When to use it
//! Use it to weaken a flood without any state for flows. It does not contain the flood: against five TCP flows, a flood
//! still got most of the link. With few flows, well-behaved ones meet themselves too and lose packets.
//!
//! # Example
//! ```toml
//! queue.choke = { min_threshold = "20 packets", max_threshold = "60 packets" }
//! ```
//!
//! Set the thresholds first, as with RED. Raise `candidates` where several flows do not respond, or set `regions = 8`,
//! which adjusts their number to the average queue.
//!
//! # Source
//! R. Pan, B. Prabhakar and K. Psounis, "CHOKe: A Stateless Active Queue Management Scheme for Approximating Fair
//! Bandwidth Allocation", INFOCOM 2000; A. Tang, J. Wang and S. Low, "Understanding CHOKe: Throughput and Spatial
//! Characteristics", IEEE/ACM Transactions on Networking 12(4), 2004, for its effect on a flow that does not respond.
//!
//! # Where we differ
//! - Candidates are drawn with replacement from the queue as it is when the packet arrives, holes excepted, each packet
//!   with exactly the same probability. Linux gives up after three holes and takes the head.
//! - A drop on a match leaves RED's counter unchanged, as in Linux: such a packet never reaches RED.
//! - With `regions`, the number of candidates above the upper threshold is that of the last region below it.
//! - The physical limit of the queue is tested last, and the link counts as idle from the end of its last transmission,
//!   as in [`crate::Red`]. ECN marks replace only RED's early drops, never a match.
//!
//! # Cost
//! One position for each candidate, and no state for flows. A packet costs one look at each candidate, and at most the
//! candidates themselves. Drawing a candidate takes at most two tries on average, but no fixed number of tries is
//! certain to be enough: each try fails at most every other time. One random number decides for RED. The holes that
//! matches leave are closed in O(queue) once they outnumber the packets, which is O(1) for each packet dropped on a
//! match.
//!
//! # Parameters
//! See [`ChokeConfig`].

use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::random_access_fifo::RandomAccessFifo;
use crate::red::{IdleDecay, Profile, uniform_gap_probability};
use crate::require;
use crate::{
    Backlog, Cx, Discipline, DropReason, FlowKey, MarkReason, Packet, ParameterError, RedConfig, Served, Time, uniform,
};

parameters! {
    /// Parameters of CHOKe.
    pub struct ChokeConfig in RedConfig {
        queue limit = QueueSize::Packets(300), "300 packets (paper, simulations)";
        /// `min_th`: average queue up to which nothing is dropped, in packets or bytes. Default: 100 packets (paper,
        /// simulations).
        red min_threshold = QueueSize::Packets(100);
        /// `max_th`: average queue from which every packet is dropped, in the unit of `min_threshold`. Default: 200
        /// packets (paper, simulations).
        red max_threshold = QueueSize::Packets(200);
        red weight = 0.002, "0.002 (RED's paper)";
        red max_probability = 0.02, "0.02 (RED's paper)";
        /// `m`: packets drawn from the queue for each arrival. Default: 1 (paper).
        pub candidates: u32 = 1;
        /// Number of regions of equal width between the thresholds, by which the number of candidates follows the
        /// average: 2 in the first region, 2 more in each further one. Default: none; the paper has 8.
        pub regions: Option<u32> = None;
        /// Whether all candidates of the arrival's flow are dropped; otherwise drawing ends with the first match, and
        /// only that one is dropped. Default: yes (paper).
        pub all_matches: bool = true;
        /// Mean packet size: the link's rate divided by it is the number of samples that an idle period counts for.
        /// Default: 500 B (ns-2's for RED).
        red mean_packet_size = Bytes(500);
        /// Whether ECN-capable packets are marked where RED would drop them early. Default: no.
        red ecn = false;
    }
}

impl ChokeConfig {
    /// Checks every field but the limit; returns the thresholds and whether they are in bytes.
    fn check(&self) -> Result<(f64, f64, bool), ParameterError> {
        let thresholds = self.inner().check()?;
        require((1..=1000).contains(&self.candidates), "candidates", "be between 1 and 1000")?;
        let regions_hold = self.regions.is_none_or(|regions| (1..=500).contains(&regions));
        require(regions_hold, "regions", "be between 1 and 500")?;
        let one_rule = self.regions.is_none() || self.candidates == 1;
        require(one_rule, "candidates", "be left out when `regions` is given")?;
        Ok(thresholds)
    }
}

/// How many packets are drawn for an arrival.
#[derive(Clone, Copy, Debug)]
enum Candidates {
    Fixed(u32),
    /// By the region between the thresholds that the average is in.
    Regions(u32),
}

/// CHOKe.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    limit: Limit,
    min: f64,
    max: f64,
    in_bytes: bool,
    profile: Profile,
    idle_decay: IdleDecay,
    weight: f64,
    candidates: Candidates,
    all_matches: bool,
    ecn: bool,

    packets: RandomAccessFifo<P>,
    backlog: Backlog,
    avg: f64,
    /// Packets that came before RED since its last drop; -1 while the average is at or below the lower threshold.
    count: i64,
    idle_since: Option<Time>,
    /// Positions of the candidates that match; empty between calls.
    matches: Vec<usize>,
}

impl<P: Packet> Choke<P> {
    /// An empty CHOKe for a link of `link_rate`, which the idle rule needs.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &ChokeConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let (min, max, in_bytes) = config.check()?;
        let candidates = config.regions.map_or(Candidates::Fixed(config.candidates), Candidates::Regions);
        let most = config.regions.map_or(config.candidates, |regions| 2 * regions);
        Ok(Self {
            limit,
            min,
            max,
            in_bytes,
            profile: Profile::new(min, max, config.max_probability, false),
            idle_decay: IdleDecay::new(config.weight, link_rate, config.mean_packet_size),
            weight: config.weight,
            candidates,
            all_matches: config.all_matches,
            ecn: config.ecn,
            packets: RandomAccessFifo::new(),
            backlog: Backlog::default(),
            avg: 0.0,
            count: -1,
            idle_since: Some(Time::ZERO),
            matches: Vec::with_capacity(most as usize),
        })
    }

    /// RED's average. An idle period continues until a packet is admitted: the part that has passed is subtracted.
    fn update_average(&mut self, now: Time) {
        if let Some(since) = &mut self.idle_since {
            self.avg = self.idle_decay.apply(self.avg, *since, now);
            *since = now;
        }
        let queue = if self.in_bytes { self.backlog.bytes } else { self.backlog.packets };
        self.avg += self.weight * (queue as f64 - self.avg);
    }

    /// `m` at the present average (paper, on self-adjustment).
    fn candidates(&self) -> u32 {
        match self.candidates {
            Candidates::Fixed(candidates) => candidates,
            Candidates::Regions(regions) => {
                let passed = f64::from(regions) * (self.avg - self.min) / (self.max - self.min);
                2 * (1 + (passed.max(0.0) as u32).min(regions - 1))
            }
        }
    }

    /// Draws the candidates and drops those of `flow`; whether there were any.
    fn drop_matches(&mut self, flow: FlowKey, cx: &mut Cx<'_, P>) -> bool {
        for _ in 0..self.candidates() {
            let Some((position, candidate)) = self.packets.draw(cx.rng) else { break };
            if candidate.flow() == flow {
                self.matches.push(position);
                if !self.all_matches {
                    break;
                }
            }
        }
        if self.matches.is_empty() {
            return false;
        }
        let backlog = &mut self.backlog;
        self.packets.remove(&mut self.matches, |packet| {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.len_bytes());
            cx.sink.dropped(packet, DropReason::Match, true);
        });
        true
    }

    /// RED's signal for a packet that met none of its flow; whether it is past the upper threshold.
    fn signal(&mut self, cx: &mut Cx<'_, P>) -> Option<DropReason> {
        self.count += 1;
        if self.profile.is_forced(self.avg) {
            return Some(DropReason::Forced);
        }
        let p_a = uniform_gap_probability(self.profile.probability(self.avg), self.count as f64, false);
        (p_a > 0.0 && uniform(cx.rng) < p_a).then_some(DropReason::Early)
    }

    /// The outcome for an arriving packet: a drop with its reason, or whether it proceeds marked.
    fn decide(&mut self, packet: &P, cx: &mut Cx<'_, P>) -> Result<bool, DropReason> {
        self.update_average(cx.now);
        let mut signal = None;
        if self.avg <= self.min {
            self.count = -1;
        } else if self.drop_matches(packet.flow(), cx) {
            return Err(DropReason::Match);
        } else {
            signal = self.signal(cx);
        }
        let overflow = !self.limit.fits(self.backlog, packet.len_bytes());
        if overflow || signal.is_some() {
            self.count = self.count.min(0);
        }
        match signal {
            _ if overflow => Err(DropReason::Overflow),
            None => Ok(false),
            Some(DropReason::Early) if self.ecn && packet.ecn().is_capable() => Ok(true),
            Some(reason) => Err(reason),
        }
    }
}

impl<P: Packet> Discipline<P> for Choke<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        match self.decide(&packet, cx) {
            Err(reason) => return cx.sink.dropped(packet, reason, false),
            Ok(false) => {}
            Ok(true) => {
                packet.mark_ce();
                cx.sink.marked(&packet, MarkReason::Early);
            }
        }
        self.idle_since = None;
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len_bytes());
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let Some(packet) = self.packets.pop_front() else {
            self.idle_since.get_or_insert(cx.now);
            return Served::Idle;
        };
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len_bytes());
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.matches)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("avg", self.avg);
        visit("p_mark", self.profile.probability(self.avg));
        visit("candidates", if self.avg <= self.min { 0.0 } else { f64::from(self.candidates()) });
    }
}

#[cfg(test)]
#[path = "choke_tests.rs"]
mod tests;
