//! PIFO, push-in first-out: packets leave in the order of their ranks.
//!
//! # What it does
//! Each packet gets a rank when it arrives and takes its place among the packets queued; the smallest rank leaves
//! first. If the buffer is full, the packet of the largest rank makes room, which may be the one that arrives.
//!
//! The key `ranks` chooses the order:
//! - `stfq`: by start-time fair queueing, the number of bytes after which a fair server would start to send the packet.
//!   All flows get equal shares of the link.
//! - `remaining_size`: by the bytes of the flow that are left from this packet on, as in pFabric. Short flows finish
//!   first. ACKs have rank 0; flows without a size, or of 4 GiB and more, come last. Flows of TCP have a size with
//!   `app.fixed`, `app.transfers` or a `pattern`; messages over `uec`, `ndp`, `homa`, `pfabric` and `roce` have one,
//!   too.
//! - `deadline`: by the time at which the packet left its source plus the `slack` of its traffic class.
//! - `uniform`, `exponential`, `poisson`: drawn for each packet, as in the tests of SP-PIFO's authors.
//!
//! Real packets do not show the facts for `remaining_size` and `deadline`: replays and the live data plane refuse them.
//!
//! # When to use it
//! Use it as the ideal with which SP-PIFO, AIFO and other approximations of a sorted queue are compared. Its order
//! changes with every arrival, which switches cannot do at the rate of their links. `drr` gives nearly the same shares
//! at a lower cost.
//!
//! # Example
//! ```toml
//! queue.pifo = { limit = "80 packets" }
//! ```
//!
//! 80 packets are the buffer of the papers that compare with PIFO. `ranks = "remaining_size"` makes it the queue of
//! pFabric, `ranks.deadline.slack = ["10 ms", "1 ms"]` one in which packets of class 1 are due earlier.
//!
//! # Source
//! A. Sivaraman and others, "Programmable Packet Scheduling at Line Rate", SIGCOMM 2016; which packet makes room as in
//! A. Gran Alcoz, A. Dietmüller and L. Vanbever, "SP-PIFO: Approximating Push-In First-Out Behaviors using
//! Strict-Priority Queues", NSDI 2020, and their simulator. STFQ: P. Goyal, H. Vin and H. Cheng, SIGCOMM 1996.
//!
//! # Where we differ
//! - Packets of equal rank leave in the order of their arrival, and the latest of them is dropped first, as in the
//!   simulator of SP-PIFO's authors. Its fair-queueing variant holds one packet less than its limit; ours does not.
//! - A dropped packet does not count in its flow's share, as in that simulator.
//! - pFabric sends the earliest packet of the flow that has the packet of the smallest rank. Here, as in the simulator
//!   of SP-PIFO's authors, later packets of a flow pass its earlier ones.
//! - With more than `max_flows` flows in a busy period, the flow that is the least ahead is forgotten, and no flow
//!   starts before its finish time. Their simulator keeps all flows forever.
//!
//! # Cost
//! 50 to 80 bytes for each of at most `max_flows` flows that sent since the link was idle last. Only STFQ has state for
//! flows. O(log n) a packet, in packets queued and in flows. A packet that arrives at a full buffer evicts one packet,
//! or, where the limit is in bytes, as many as make room for it. At the end of a busy period one call forgets all its
//! flows. Random numbers only for drawn ranks.
//!
//! # Parameters
//! See [`PifoConfig`].

use alloc::collections::BTreeMap;

use forebay_units::{QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::ranks::inversions::Inversions;
use crate::ranks::{AnyRanks, Rank, RankConfig, Ranks};
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served};

parameters! {
    /// Parameters of PIFO.
    pub struct PifoConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// How packets are ranked: "stfq", "remaining_size", "deadline", or drawn: "uniform", "exponential", "poisson".
        /// Default: "stfq".
        pub ranks: RankConfig = RankConfig::Stfq;
        /// With "stfq": most flows whose finish times are kept at a time, at least 1. Default: 16384 (our choice).
        pub max_flows: u32 = 16_384;
        /// Whether the gauge `inversions` counts the departures that leave a packet of smaller rank behind. Each then
        /// looks at the packets queued. Default: no.
        pub count_inversions: bool = false;
    }
}

/// PIFO: push-in first-out.
#[derive(Clone, Debug)]
pub struct Pifo<P, R = AnyRanks> {
    limit: Limit,
    ranks: R,
    /// By rank and number of arrival.
    packets: BTreeMap<(Rank, u64), P>,
    arrivals: u64,
    backlog: Backlog,
    inversions: Inversions,
}

impl<P> Pifo<P> {
    /// An empty PIFO with the ranks of `config`. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &PifoConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        Self::with_ranks(config, config.ranks.ranks(config.max_flows, salt)?)
    }
}

impl<P, R> Pifo<P, R> {
    pub(crate) fn with_ranks(config: &PifoConfig, ranks: R) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let inversions = Inversions::new(config.count_inversions);
        Ok(Self { limit, ranks, packets: BTreeMap::new(), arrivals: 0, backlog: Backlog::default(), inversions })
    }
}

impl<P: Packet, R: Ranks<P>> Pifo<P, R> {
    /// Drops the packet of the largest rank, the latest among equals.
    fn evict(&mut self, cx: &mut Cx<'_, P>) {
        let Some(((rank, number), packet)) = self.packets.pop_last() else { return };
        self.backlog.remove(packet.len_bytes());
        self.ranks.dropped(&packet, rank);
        let is_arrival = number == self.arrivals;
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(packet, reason, !is_arrival);
    }
}

impl<P: Packet, R: Ranks<P>> Discipline<P> for Pifo<P, R> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if !self.limit.fits(Backlog::default(), len_bytes) {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let rank = self.ranks.rank(&packet, cx);
        self.arrivals += 1;
        self.backlog.add(len_bytes);
        self.packets.insert((rank, self.arrivals), packet);
        while self.limit.is_exceeded_by(self.backlog) {
            self.evict(cx);
        }
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        let Some(((rank, _), packet)) = self.packets.pop_first() else {
            self.ranks.idle();
            return Served::Idle;
        };
        self.backlog.remove(packet.len_bytes());
        self.ranks.sent(rank);
        self.inversions.left(rank, self.packets.keys().take(1).map(|&(rank, _)| rank));
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.ranks.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.gauges(visit);
        self.inversions.gauges(visit);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.flow_gauges(flow, visit);
    }
}

#[cfg(test)]
#[path = "pifo_tests.rs"]
mod tests;
