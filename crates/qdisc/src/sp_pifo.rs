//! SP-PIFO: strict-priority queues that approximate a PIFO by adapting the ranks that they take.
//!
//! # What it does
//! A few FIFO queues are served by strict priority. Each has a bound, the smallest rank that it takes. A packet goes to
//! the queue of the lowest priority whose bound is not above its rank, and the bound rises to that rank. If the rank is
//! below even the first bound, the packet goes to the first queue behind larger ranks, and all bounds fall by the
//! difference. The bounds thus follow the ranks. By default the ranks are those of start-time fair queueing (STFQ), so
//! that all flows get nearly equal shares of the link. See `pifo` for the others.
//!
//! # When to use it
//! Use it to model fair queueing on switches that have a few strict-priority queues, or to reproduce papers that
//! compare with SP-PIFO. Packets of a flow may overtake each other. `pifo` is its ideal.
//!
//! # Example
//! ```toml
//! queue.sp_pifo = { limit = "80 packets", queues = 8 }
//! ```
//!
//! Each of the `queues` holds `limit` divided by their number, rounded down. The example has the values of the paper's
//! simulations. With one queue it is a FIFO queue, whose inversions can be counted.
//!
//! # Source
//! A. Gran Alcoz, A. Dietmüller and L. Vanbever, "SP-PIFO: Approximating Push-In First-Out Behaviors using
//! Strict-Priority Queues", NSDI 2020, and its authors' simulator. STFQ: P. Goyal, H. Vin and H. Cheng, SIGCOMM 1996.
//!
//! # Where we differ
//! - A packet that arrives at an idle link leaves at once and does not move the bounds, as in the simulator. Ours
//!   counts in its flow's share nevertheless.
//! - A packet that finds its queue full is dropped, does not move the bounds, and does not count in its flow's share,
//!   as in the simulator.
//! - The bounds fall by the difference in ranks, the simulator's variant `cost`.
//! - With more than `max_flows` flows in a busy period, the flow that is the least ahead is forgotten, and no flow
//!   starts before its finish time. The simulator keeps all flows forever.
//!
//! # Cost
//! 56 bytes for each of the `queues`, and 50 to 80 for each of at most `max_flows` flows. These are the flows that sent
//! since the link was idle last; only STFQ has them. A packet looks at each queue once at most, and takes O(log n) with
//! n such flows. At the end of a busy period one call forgets all its flows. Random numbers only for drawn ranks.
//!
//! # Parameters
//! See [`SpPifoConfig`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::ranks::inversions::Inversions;
use crate::ranks::{AnyRanks, Rank, RankConfig, Ranks};
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served};

parameters! {
    /// Parameters of SP-PIFO.
    pub struct SpPifoConfig {
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent; each queue has an
        /// equal part. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// Number of strict-priority queues, from 1 to 1024. Default: 8 (paper).
        pub queues: u32 = 8;
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

/// A queue with the smallest rank that it takes.
#[derive(Clone, Debug)]
struct Level<P> {
    packets: VecDeque<(Rank, P)>,
    backlog: Backlog,
    bound: Rank,
}

/// SP-PIFO: strict-priority queues with bounds that adapt.
#[derive(Clone, Debug)]
pub struct SpPifo<P, R = AnyRanks> {
    /// Limit of each queue.
    limit: Limit,
    ranks: R,
    /// By priority, the highest first.
    levels: Vec<Level<P>>,
    backlog: Backlog,
    inversions: Inversions,
    /// Whether the link found nothing to send when it asked last.
    idle: bool,
}

impl<P> SpPifo<P> {
    /// An empty SP-PIFO with the ranks of `config`. `salt` goes into the hash of flows; the rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &SpPifoConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        Self::with_ranks(config, config.ranks.ranks(config.max_flows, salt)?)
    }
}

impl<P, R> SpPifo<P, R> {
    pub(crate) fn with_ranks(config: &SpPifoConfig, ranks: R) -> Result<Self, ParameterError> {
        require((1..=1024).contains(&config.queues), "queues", "be between 1 and 1024")?;
        let queues = u64::from(config.queues);
        let part = match config.limit {
            QueueSize::Packets(packets) => QueueSize::Packets(packets / queues),
            QueueSize::Bytes(bytes) => QueueSize::Bytes(bytes / queues),
        };
        let bound = "hold at least one packet (40 B) in each of the `queues`";
        let limit = Limit::new(part, "limit").map_err(|error| ParameterError { bound, ..error })?;
        let level = || Level { packets: VecDeque::new(), backlog: Backlog::default(), bound: 0 };
        let levels = (0..queues).map(|_| level()).collect();
        let inversions = Inversions::new(config.count_inversions);
        Ok(Self { limit, ranks, levels, backlog: Backlog::default(), inversions, idle: true })
    }

    /// The queue for a packet of `rank`: the last whose bound is not above it, or else the first.
    fn level_for(&self, rank: Rank) -> usize {
        self.levels.iter().rposition(|level| level.bound <= rank).unwrap_or(0)
    }

    /// Raises the bound of the queue `index` to `rank` (push-up). If that lowers it, which only the first bound can be,
    /// those of all other queues fall by as much (push-down).
    fn move_bounds(&mut self, index: usize, rank: Rank) {
        let before = core::mem::replace(&mut self.levels[index].bound, rank);
        let cost = before.saturating_sub(rank);
        if cost > 0 {
            for level in &mut self.levels[index + 1..] {
                level.bound = level.bound.saturating_sub(cost);
            }
        }
    }
}

impl<P: Packet, R: Ranks<P>> Discipline<P> for SpPifo<P, R> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        let rank = self.ranks.rank(&packet, cx);
        let bypasses = core::mem::take(&mut self.idle);
        let index = if bypasses { 0 } else { self.level_for(rank) };
        if !self.limit.fits(self.levels[index].backlog, len_bytes) {
            self.ranks.dropped(&packet, rank);
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        if !bypasses {
            self.move_bounds(index, rank);
        }
        self.backlog.add(len_bytes);
        let level = &mut self.levels[index];
        level.backlog.add(len_bytes);
        level.packets.push_back((rank, packet));
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        for index in 0..self.levels.len() {
            let level = &mut self.levels[index];
            if let Some((rank, packet)) = level.packets.pop_front() {
                let len_bytes = packet.len_bytes();
                level.backlog.remove(len_bytes);
                self.backlog.remove(len_bytes);
                self.ranks.sent(rank);
                // Those of higher priority are empty.
                let queued = self.levels[index..].iter().flat_map(|level| level.packets.iter().map(|&(rank, _)| rank));
                self.inversions.left(rank, queued);
                return Served::Packet(packet);
            }
        }
        self.idle = true;
        self.ranks.idle();
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.levels) + self.ranks.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.gauges(visit);
        self.inversions.gauges(visit);
        let bound = |level: Option<&Level<P>>| level.map_or(0.0, |level| level.bound as f64);
        visit("first_bound", bound(self.levels.first()));
        visit("last_bound", bound(self.levels.last()));
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.flow_gauges(flow, visit);
    }
}

#[cfg(test)]
#[path = "sp_pifo_tests.rs"]
mod tests;
