//! CSFQ, core-stateless fair queueing: edge routers label packets with their flow's rate, core routers drop by label.
//!
//! # What it does
//! The router at which a packet enters the network estimates the rate of the packet's flow and writes it on the packet.
//! Every router estimates the fair share of its link from the total traffic: the rate limit per flow at which the
//! remaining traffic fills the link. A packet is dropped with probability 1 - share/label. A flow above the share is
//! thus reduced to it, and a flow below loses nothing; the rate to which a flow is cut becomes its label for the next
//! router. A core router gives each flow about what fair queueing would, with one FIFO queue and no state for flows.
//!
//! # When to use it
//! Use it for fair shares across a network whose core routers keep no state for flows. Its estimates take several
//! averaging times to converge, and a few TCP flows against a flood get less than their share: on a single link use
//! `fred` or `drr`.
//!
//! # Example
//! ```toml
//! queue.csfq = { role = "edge", limit = "200 KB", threshold = "50 KB" }
//! ```
//!
//! Set `role` first: `"edge"` where flows enter the network, `"core"` on the links behind. Then `limit` and
//! `threshold`: the averaging times should be at least twice the longest delay in the queue.
//!
//! # Source
//! I. Stoica, S. Shenker and H. Zhang, "Core-Stateless Fair Queueing: Achieving Approximately Fair Bandwidth
//! Allocations in High Speed Networks", SIGCOMM 1998.
//!
//! # Where we differ
//! - The packet carries its label in ten bits ([`crate::RateLabel`]), with an error of at most 1.6 %. An edge router
//!   decides by the estimate itself.
//! - A core router treats a packet without a label as an edge router would. This lets captured packets pass, and the
//!   simulator's ACKs, which have no room for a label.
//! - The queue threshold acts as follows. Congestion does not begin while the queue is shorter. While there is no
//!   congestion, a shorter queue drops nothing: the share is then the largest label of the past, and would only hold
//!   back a flow that begins to send more. Congestion ends only when the arrival rate falls.
//! - The share starts as the link's rate. It never exceeds the larger of the link's rate and the largest label of the
//!   window, and never falls below 1 b/s.
//! - F, the rate of accepted packets, is updated by accepted packets. After a window of congestion without any, F
//!   counts as what it would have decayed to; otherwise a share so small that nothing passes would never be corrected.
//! - The packet that ends a window without congestion counts in that window: the paper's share would be 0 after a
//!   window without packets.
//! - The first packet of a flow is estimated as if it had come together with another: l/K, the limit of the average for
//!   short gaps. Packets that arrive at the same time are averaged by the same limit.
//! - An edge router removes flows. After `idle_timeout` only the gap itself is left of an average; at `max_flows` the
//!   flow that has been silent longest makes room. A flow that returns counts as new.
//!
//! # Cost
//! On an edge router 40 to 80 bytes for each flow that sent within `idle_timeout`, on a core router a few numbers. At
//! most `max_flows` flows. O(1) a packet (on an edge router on average, by a hash table; when it doubles, one call
//! moves its entries). An edge router computes up to three exponentials, a core router two, and both draw at most one
//! random number. A packet removes at most two silent flows.
//!
//! # Parameters
//! See [`CsfqConfig`]. The paper asks for averaging times of at least twice the longest delay in the queue.

mod fair_share;
mod flow_rates;
mod rate_estimator;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{QueueSize, Rate, Span};

use self::fair_share::FairShare;
use self::flow_rates::FlowRates;
use self::rate_estimator::AveragingTime;
use crate::class_weight::{ClassWeight, weights_by_class};
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, RateLabel, Served, Time, uniform};

/// Role of the router for the packets of this queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum CsfqRole {
    /// The router where packets enter the network: estimates each flow's rate and labels its packets, replacing any
    /// label that they have.
    #[default]
    Edge,
    /// An interior router: uses the labels.
    Core,
}

parameters! {
    /// Parameters of CSFQ.
    pub struct CsfqConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 64 KB (the paper's
        /// simulations).
        pub limit: QueueSize = QueueSize::Bytes(64_000);
        /// `edge` estimates rates and writes labels, `core` uses the labels that packets carry. Default: edge.
        pub role: CsfqRole = CsfqRole::Edge;
        /// Queue below which congestion does not begin and, without congestion, nothing is dropped; in packets or
        /// bytes. Default: 16 KB (the paper's simulations).
        pub threshold: QueueSize = QueueSize::Bytes(16_000);
        /// K: averaging constant of the flows' rates. Default: 100 ms (the paper's simulations).
        pub flow_averaging_time: Span = Span::from_milliseconds(100);
        /// `K_alpha`: averaging constant of the rates of all arrivals and of those accepted. Default: 100 ms (the
        /// paper's simulations).
        pub link_averaging_time: Span = Span::from_milliseconds(100);
        /// `K_c`: time for which the link must be congested, or not, for each new estimate of the fair share. Default:
        /// 100 ms (the paper's simulations).
        pub window: Span = Span::from_milliseconds(100);
        /// Weights of flows by traffic class, for an edge router: a flow's label is its rate divided by its weight (the
        /// paper's weighted CSFQ). Default: 1 for all.
        pub weights: Vec<ClassWeight> = Vec::new();
        /// Time of silence after which an edge router removes a flow. Default: 10 s (ours: a hundred averaging
        /// constants).
        pub idle_timeout: Span = Span::from_seconds(10);
        /// Maximum number of flows of an edge router; a new one displaces the flow that has been silent longest.
        /// Default: 65536 (ours).
        pub max_flows: u32 = 1 << 16;
    }
}

impl CsfqConfig {
    /// Checks every field but the limit and the weights.
    fn check(&self) -> Result<(), ParameterError> {
        if let (QueueSize::Packets(threshold), QueueSize::Packets(limit))
        | (QueueSize::Bytes(threshold), QueueSize::Bytes(limit)) = (self.threshold, self.limit)
        {
            require(threshold <= limit, "threshold", "be at most `limit`")?;
        }
        require(self.flow_averaging_time > Span::ZERO, "flow_averaging_time", "be more than 0 s")?;
        require(self.link_averaging_time > Span::ZERO, "link_averaging_time", "be more than 0 s")?;
        require(self.window > Span::ZERO, "window", "be more than 0 s")?;
        require(self.idle_timeout >= self.flow_averaging_time, "idle_timeout", "be at least `flow_averaging_time`")?;
        require((1..=1 << 24).contains(&self.max_flows), "max_flows", "be between 1 and 16777216")
    }
}

/// CSFQ: core-stateless fair queueing.
#[derive(Clone, Debug)]
pub struct Csfq<P> {
    limit: Limit,
    role: CsfqRole,
    threshold: QueueSize,
    weights: Vec<f64>,
    flows: FlowRates,
    fair_share: FairShare,
    packets: VecDeque<P>,
    backlog: Backlog,
}

impl<P: Packet> Csfq<P> {
    /// An empty CSFQ queue for a link of `link_rate`, whose fair share it estimates. `salt` goes into the hash of
    /// flows.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &CsfqConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        let averaging_time = AveragingTime::new(config.flow_averaging_time);
        Ok(Self {
            limit,
            role: config.role,
            threshold: config.threshold,
            weights: weights_by_class(&config.weights)?,
            flows: FlowRates::new(averaging_time, config.idle_timeout, config.max_flows, salt),
            fair_share: FairShare::new(link_rate, AveragingTime::new(config.link_averaging_time), config.window),
            packets: VecDeque::new(),
            backlog: Backlog::default(),
        })
    }

    /// The label of an arriving packet in bits per second, and whether it must be written on it.
    fn label(&mut self, packet: &P, len_bits: f64, now: Time) -> (f64, bool) {
        if self.role == CsfqRole::Core
            && let Some(label) = packet.rate_label()
        {
            return (label.bits_per_second(), false);
        }
        let rate = self.flows.update(packet.flow(), len_bits, now);
        (rate / self.weights[usize::from(packet.class())], true)
    }

    fn queue_is_long(&self) -> bool {
        match self.threshold {
            QueueSize::Packets(packets) => self.backlog.packets >= packets,
            QueueSize::Bytes(bytes) => self.backlog.bytes >= bytes,
        }
    }
}

impl<P: Packet> Discipline<P> for Csfq<P> {
    /// The paper's pseudocode, for edge and core routers.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        let len_bits = f64::from(len_bytes) * 8.0;
        let (label, is_new) = self.label(&packet, len_bits, cx.now);
        let queue_is_long = self.queue_is_long();
        let probability = self.fair_share.drop_probability(label, queue_is_long);
        let accepted = probability <= 0.0 || uniform(cx.rng) >= probability;
        self.fair_share.update(label, len_bits, accepted, queue_is_long, cx.now);
        if !accepted {
            return cx.sink.dropped(packet, DropReason::FairShare, false);
        }
        if !self.limit.fits(self.backlog, len_bytes) {
            self.fair_share.overflow();
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        // A limited flow keeps the share as updated with this packet.
        let cut = probability > 0.0;
        if cut || is_new {
            let label = if cut { label.min(self.fair_share.bits_per_second()) } else { label };
            packet.set_rate_label(RateLabel::nearest(label));
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len_bytes);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        let Some(packet) = self.packets.pop_front() else { return Served::Idle };
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len_bytes());
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.weights) + self.flows.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("fair_share_bps", self.fair_share.bits_per_second());
        visit("arrival_rate_bps", self.fair_share.arrival_rate());
        visit("accepted_rate_bps", self.fair_share.accepted_rate());
        visit("congested", f64::from(u8::from(self.fair_share.is_congested())));
        visit("active_flows", self.flows.len() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("rate_bps", self.flows.rate(flow).unwrap_or(0.0));
    }
}
