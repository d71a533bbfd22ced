//! AFD, approximate fair dropping: drops what a flow sends beyond its fair share, as estimated from a sample of the
//! arrivals.
//!
//! # What it does
//! AFD keeps a sample of recent arrivals, the shadow buffer. The number of a flow's packets in it measures the flow's
//! rate. A flow with more than `m_fair` packets there loses packets with the probability that reduces it to its fair
//! share; other flows lose none. At fixed intervals AFD adjusts `m_fair` so that the queue settles at a target. Flows
//! that send less than their share lose nothing, and all others get the same rate.
//!
//! # When to use it
//! Use it for nearly equal shares from one FIFO queue, with a sample of the traffic as its state. The sample must grow
//! with the number of flows. Where `ecn` marks the packets of TCP, a flow that ignores congestion can lose all of its
//! packets.
//!
//! # Example
//! ```toml
//! queue.afd = { target = "50 packets", shadow_size = 1000 }
//! ```
//!
//! Set `shadow_size` first, to about ten times the number of flows that share the link. `target` is the length at which
//! the queue settles.
//!
//! # Source
//! R. Pan, L. Breslau, B. Prabhakar and S. Shenker, "Approximate Fairness through Differential Dropping", Computer
//! Communication Review 33(2), 2003. The form without a buffer, with a table of the sampled flows, is from the same
//! authors' "A Flow Table-Based Design to Approximate Fairness", Hot Interconnects 2002.
//!
//! # Where we differ
//! - The gains are scaled with the size of the shadow buffer, because `m_fair` counts its packets. `scale_gains =
//!   false` uses them unscaled.
//! - `m_fair` starts at the size of the shadow buffer, so that nothing is dropped at first, and stays between 0 and
//!   that size.
//! - The flow table removes a packet drawn uniformly from all the packets that it represents, and so behaves exactly
//!   like the shadow buffer. Drawing an entry regardless of its count does not: counts would no longer be proportional
//!   to rates, and only the entries of the fastest flows would survive.
//! - In byte mode the probability that a packet is sampled is proportional to its length. A packet longer than
//!   `sampling_interval` mean packets may be sampled several times. The queue is measured in mean packets.
//! - The timer is evaluated at the next arrival or departure, with the queue length at each of its ticks.
//! - Marking instead of dropping (`ecn`) is our addition.
//!
//! # Cost
//! 4 bytes for each packet of the sample, and 30 to 60 for each flow in it. The flow table needs up to 8 bytes more for
//! each flow and none for packets. A packet takes constant time on average (a hash table; when it doubles, one call
//! moves its entries). With the flow table, sampling a packet takes time that grows with the logarithm of the number of
//! flows in it. At most three random numbers a packet: whether it is sampled, which packet it displaces, and whether it
//! is dropped. In byte mode a packet may be sampled several times and then displaces as many packets: at most its
//! length divided by `sampling_interval` mean packets, rounded up.
//!
//! # Parameters
//! See [`AfdConfig`].

mod shadow;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::{Limit, SHORTEST_PACKET_BYTES};
use crate::memory::inline_bytes;
use crate::require;
use crate::{
    Admission, Arrival, Backlog, DropReason, FlowKey, MarkReason, Offer, ParameterError, Rng, Span, Ticket, Time,
    Verdict, uniform,
};
use shadow::Shadow;

/// The shadow buffer's size for which the gains are meant.
const REFERENCE_SHADOW_SIZE: f64 = 500.0;

parameters! {
    /// Parameters of AFD.
    pub struct AfdConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// The data structure of the sample. Default: `shadow_buffer`.
        pub form: AfdForm = AfdForm::ShadowBuffer;
        /// `b`: number of sampled packets kept. Ten times the number of flows that share the link estimates rates to
        /// within 15 to 30 %; BREATHe's authors used 30000. Default: 500.
        pub shadow_size: u32 = 500;
        /// `s`: packets that arrive for each sampled one, on average, dropped packets included. At least 1. Default: 5.
        pub sampling_interval: f64 = 5.0;
        /// `q_target`: queue length at which `m_fair` stays constant, in packets; in byte mode also in bytes. Default:
        /// 50 packets.
        pub target: QueueSize = QueueSize::Packets(50);
        /// `alpha`: gain, in sampled packets per packet, on the queue's excess over the target at the previous update.
        /// Default: 1.7 (paper).
        pub alpha: f64 = 1.7;
        /// `beta`: gain on the present excess. Its difference from `alpha` returns the queue to its target, so it must
        /// be greater. Default: 1.8 (paper).
        pub beta: f64 = 1.8;
        /// Whether both gains are multiplied by `shadow_size` / 500. Default: yes.
        pub scale_gains: bool = true;
        /// Time between two updates of `m_fair`. If it is too long, the queue oscillates: with the default gains,
        /// scaled, when the number of packets that arrive in it times the number of flows above their share exceeds
        /// 1000 / `beta`. Default: 6.25 ms, 160 updates a second (paper).
        pub update_interval: Span = Span::from_microseconds(6250);
        /// Whether a flow's rate, and the queue, are measured in bytes instead of packets. Default: no.
        pub byte_mode: bool = false;
        /// Mean packet size, the unit in byte mode. Default: 1000 B.
        pub mean_packet_size: Bytes = Bytes(1000);
        /// Whether ECN-capable packets are marked instead of dropped while the queue has room. Default: no.
        pub ecn: bool = false;
    }
}

/// The data structure of AFD's sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum AfdForm {
    /// An entry for each sampled packet (AFD-SB).
    #[default]
    ShadowBuffer,
    /// A count for each sampled flow (AFD-FT).
    FlowTable,
}

impl AfdConfig {
    /// Checks every field but the limit; returns the target in packets, in byte mode of the mean size.
    fn check(&self) -> Result<f64, ParameterError> {
        require((1..=1 << 24).contains(&self.shadow_size), "shadow_size", "be between 1 and 16777216 packets")?;
        let interval = self.sampling_interval;
        require((1.0..=1e9).contains(&interval), "sampling_interval", "be between 1 and 1000000000 packets")?;
        require((0.0..=1e6).contains(&self.alpha), "alpha", "be between 0 and 1000000")?;
        require(self.beta > self.alpha && self.beta <= 1e6, "beta", "be more than `alpha` and at most 1000000")?;
        require(self.update_interval > Span::ZERO, "update_interval", "be more than 0 s")?;
        require(self.mean_packet_size.0 >= SHORTEST_PACKET_BYTES, "mean_packet_size", "be at least 40 B")?;
        let target = match self.target {
            QueueSize::Packets(packets) => packets as f64,
            QueueSize::Bytes(bytes) => {
                require(self.byte_mode, "target", "be a number of packets unless `byte_mode` is on")?;
                bytes as f64 / self.mean_packet_size.0 as f64
            }
        };
        // An empty queue must be below the target, or a `m_fair` of zero would never rise again.
        require(target > 0.0, "target", "be more than 0")?;
        match (self.target, self.limit) {
            (QueueSize::Packets(target), QueueSize::Packets(limit))
            | (QueueSize::Bytes(target), QueueSize::Bytes(limit)) => {
                require(target <= limit, "target", "be at most `limit`")?;
            }
            _ => {}
        }
        Ok(target)
    }
}

/// AFD: approximate fair dropping.
#[derive(Clone, Debug)]
pub struct Afd {
    limit: Limit,
    sampling_interval: f64,
    target: f64,
    alpha: f64,
    beta: f64,
    update_interval: Span,
    /// Mean packet size, in byte mode.
    mean_packet_bytes: Option<f64>,
    ecn: bool,

    shadow: Shadow,
    shadow_size: f64,
    /// `m_fair`: sampled packets of a flow that sends its fair share.
    fair_count: f64,
    /// `q_old`: the queue at the last update.
    last_queue: f64,
    updated_at: Time,
}

impl Afd {
    /// An AFD law; `salt` goes into the hash of flows. The link's rate does not matter to it.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &AfdConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let target = config.check()?;
        let shadow_size = f64::from(config.shadow_size);
        let scale = if config.scale_gains { shadow_size / REFERENCE_SHADOW_SIZE } else { 1.0 };
        Ok(Self {
            limit,
            sampling_interval: config.sampling_interval,
            target,
            alpha: scale * config.alpha,
            beta: scale * config.beta,
            update_interval: config.update_interval,
            mean_packet_bytes: config.byte_mode.then_some(config.mean_packet_size.0 as f64),
            ecn: config.ecn,
            shadow: Shadow::new(config.form, config.shadow_size, salt),
            shadow_size,
            fair_count: shadow_size,
            last_queue: 0.0,
            updated_at: Time::ZERO,
        })
    }

    /// Whether, and in byte mode how often, a packet goes into the sample. All arrivals count, those that are dropped
    /// as well: it is the arrival rate that is wanted.
    fn sample(&mut self, arrival: &Arrival, rng: &mut dyn Rng) {
        let packets = self.mean_packet_bytes.map_or(1.0, |mean| f64::from(arrival.len_bytes) / mean);
        let expected = packets / self.sampling_interval;
        let whole = libm::floor(expected);
        let rest = expected - whole;
        let extra = rest > 0.0 && uniform(rng) < rest;
        for _ in 0..whole as u32 + u32::from(extra) {
            self.shadow.insert(arrival.flow, rng);
        }
    }

    /// `D_i = (1 - m_fair / m_i)+`: a flow's excess over its fair share, as a part of its rate.
    fn drop_probability(&self, flow: FlowKey) -> f64 {
        match f64::from(self.shadow.count(flow)) {
            count if count > self.fair_count => 1.0 - self.fair_count / count,
            _ => 0.0,
        }
    }

    /// The updates of `m_fair` up to `now`, the queue having been `backlog` since the last call.
    fn update(&mut self, backlog: Backlog, now: Time) {
        let updates = now.since(self.updated_at).picoseconds() / self.update_interval.picoseconds();
        if updates == 0 {
            return;
        }
        self.updated_at += self.update_interval * updates;
        let queue = self.mean_packet_bytes.map_or(backlog.packets as f64, |mean| backlog.bytes as f64 / mean);
        let (before, excess) = (self.last_queue - self.target, queue - self.target);
        self.last_queue = queue;
        self.move_fair_count(self.alpha * before - self.beta * excess);
        // From the second on the queue is what it was before, and all go the same way: they may be taken at once.
        self.move_fair_count((updates - 1) as f64 * (self.alpha - self.beta) * excess);
    }

    fn move_fair_count(&mut self, by: f64) {
        self.fair_count = (self.fair_count + by).clamp(0.0, self.shadow_size);
    }
}

impl Admission for Afd {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.update(offer.backlog, offer.now);
        self.sample(arrival, offer.rng);
        let probability = self.drop_probability(arrival.flow);
        let signal = probability > 0.0 && uniform(offer.rng) < probability;
        let mark = signal && self.ecn && arrival.ecn.is_capable();
        if signal && !mark {
            return Verdict::Drop(DropReason::FairShare);
        }
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        if mark { Verdict::Mark(Ticket::default(), MarkReason::FairShare) } else { Verdict::Enqueue(Ticket::default()) }
    }

    fn release(&mut self, _ticket: Ticket, len_bytes: u32, backlog: Backlog, now: Time) {
        let before = Backlog { packets: backlog.packets + 1, bytes: backlog.bytes + u64::from(len_bytes) };
        self.update(before, now);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.shadow.heap_bytes()
    }

    /// `m_fair` is that of the last arrival or departure.
    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("m_fair", self.fair_count);
        visit("shadow_packets", f64::from(self.shadow.len()));
        visit("shadow_flows", self.shadow.flows() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("shadow_count", f64::from(self.shadow.count(flow)));
        visit("drop_probability", self.drop_probability(flow));
    }
}

#[cfg(test)]
mod tests;
