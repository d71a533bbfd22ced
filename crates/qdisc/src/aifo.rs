//! AIFO, admission-in first-out: one FIFO queue that admits the packets that a PIFO would serve.
//!
//! # What it does
//! AIFO compares the rank of each arriving packet with the ranks of the packets before it. The fuller the queue, the
//! smaller a rank must be among them for the packet to be admitted: the fraction of ranks below it must be less than
//! the free part of the queue. Some headroom admits every packet. By default the ranks are those of start-time fair
//! queueing (STFQ): flows that send more than others have the larger ranks, and lose the packets. See `pifo` for the
//! other ranks.
//!
//! # When to use it
//! Use it to model nearly fair shares on switches with one queue, or to reproduce papers that compare with AIFO. It
//! drops as a PIFO would, but does not reorder: packets of small rank still wait behind all others. `pifo` is its
//! ideal.
//!
//! # Example
//! ```toml
//! queue.aifo = { limit = "80 packets", window = 20, headroom = 0.1 }
//! ```
//!
//! `headroom` is the fraction of the queue that admits every packet. `window` is the number of ranks that are compared;
//! it should span several packets of each flow.
//!
//! # Source
//! Z. Yu and others, "Programmable Packet Scheduling with a Single Queue", SIGCOMM 2021, and its authors' simulator.
//! STFQ: P. Goyal, H. Vin and H. Cheng, SIGCOMM 1996.
//!
//! # Where we differ
//! - The fraction must be strictly less, and a rank enters the window after its own test, whether its packet is
//!   admitted or not, as in the simulator.
//! - The paper counts packets. Where the limit is in bytes we count bytes.
//! - The last of each `sample_every` packets enters the window. The simulator's runs do not state all values of
//!   `window`, `sample_every` and `headroom`: the defaults of the last two are our choice.
//! - A dropped packet does not count in its flow's share, as in the simulator.
//! - With more than `max_flows` flows in a busy period, the flow that is the least ahead is forgotten, and no flow
//!   starts before its finish time. The simulator keeps all flows forever.
//!
//! # Cost
//! 8 bytes for each rank of the `window`, and 50 to 80 for each of at most `max_flows` flows. These are the flows that
//! sent since the link was idle last. A packet that finds more than the headroom in use looks at the whole window. It
//! also takes O(log n) with n such flows. At the end of a busy period one call forgets all its flows. Random
//! numbers only for drawn ranks.
//!
//! # Parameters
//! See [`AifoConfig`].

use alloc::collections::VecDeque;

use forebay_units::{QueueSize, Rate};

use crate::limit::{Limit, check_probability};
use crate::memory::inline_bytes;
use crate::ranks::inversions::Inversions;
use crate::ranks::{AnyRanks, Rank, RankConfig, Ranks};
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served};

parameters! {
    /// Parameters of AIFO.
    pub struct AifoConfig {
        /// C: limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// W: number of ranks with which that of an arriving packet is compared, from 1 to 65536. Default: 20 (the
        /// simulator's runs with short queues).
        pub window: u32 = 20;
        /// s: of this many arriving packets one enters the window, at least 1. Default: 1, every packet (our choice).
        pub sample_every: u32 = 1;
        /// k: fraction of the limit up to which every packet is admitted, from 0 to 1. With 1 it is drop-tail. Default:
        /// 0.1 (our choice).
        pub headroom: f64 = 0.1;
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

impl AifoConfig {
    /// Checks every field but those of the limit and of the ranks.
    fn check(&self) -> Result<(), ParameterError> {
        require((1..=65_536).contains(&self.window), "window", "be between 1 and 65536")?;
        require(self.sample_every > 0, "sample_every", "be at least 1")?;
        check_probability(self.headroom, "headroom")
    }
}

/// AIFO: admission-in first-out.
#[derive(Clone, Debug)]
pub struct Aifo<P, R = AnyRanks> {
    limit: Limit,
    /// C, in packets or bytes.
    size: QueueSize,
    headroom: f64,
    ranks: R,
    /// The last ranks sampled, at most `window_len`.
    window: VecDeque<Rank>,
    window_len: usize,
    sample_every: u32,
    /// Packets since the last sample.
    unsampled: u32,
    packets: VecDeque<(Rank, P)>,
    backlog: Backlog,
    inversions: Inversions,
}

impl<P> Aifo<P> {
    /// An empty AIFO with the ranks of `config`. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &AifoConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        Self::with_ranks(config, config.ranks.ranks(config.max_flows, salt)?)
    }
}

impl<P, R> Aifo<P, R> {
    pub(crate) fn with_ranks(config: &AifoConfig, ranks: R) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        Ok(Self {
            limit,
            size: config.limit,
            headroom: config.headroom,
            ranks,
            window: VecDeque::with_capacity(config.window as usize),
            window_len: config.window as usize,
            sample_every: config.sample_every,
            unsampled: 0,
            packets: VecDeque::new(),
            backlog: Backlog::default(),
            inversions: Inversions::new(config.count_inversions),
        })
    }

    /// The queue's length and its limit, in the unit of the limit.
    fn fill(&self) -> (f64, f64) {
        match self.size {
            QueueSize::Packets(packets) => (self.backlog.packets as f64, packets as f64),
            QueueSize::Bytes(bytes) => (self.backlog.bytes as f64, bytes as f64),
        }
    }

    /// Whether a packet of `rank` is small enough: #{ranks below} / |window| < (C - q) / (C (1 - k)).
    fn admits(&self, rank: Rank) -> bool {
        let (length, limit) = self.fill();
        if length <= self.headroom * limit || self.window.is_empty() {
            return true;
        }
        let below = self.window.iter().filter(|other| **other < rank).count();
        (below as f64) * limit * (1.0 - self.headroom) < (self.window.len() as f64) * (limit - length)
    }

    fn sample(&mut self, rank: Rank) {
        self.unsampled += 1;
        if self.unsampled < self.sample_every {
            return;
        }
        self.unsampled = 0;
        if self.window.len() == self.window_len {
            self.window.pop_front();
        }
        self.window.push_back(rank);
    }
}

impl<P: Packet, R: Ranks<P>> Discipline<P> for Aifo<P, R> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        let rank = self.ranks.rank(&packet, cx);
        let admitted = self.admits(rank);
        self.sample(rank);
        if !admitted || !self.limit.fits(self.backlog, len_bytes) {
            self.ranks.dropped(&packet, rank);
            let reason = if admitted { DropReason::Overflow } else { DropReason::Early };
            return cx.sink.dropped(packet, reason, false);
        }
        self.backlog.add(len_bytes);
        self.packets.push_back((rank, packet));
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        let Some((rank, packet)) = self.packets.pop_front() else {
            self.ranks.idle();
            return Served::Idle;
        };
        self.backlog.remove(packet.len_bytes());
        self.ranks.sent(rank);
        self.inversions.left(rank, self.packets.iter().map(|&(rank, _)| rank));
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        let window_bytes = self.window.capacity() * size_of::<Rank>();
        inline_bytes(self) + window_bytes as u64 + self.ranks.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.gauges(visit);
        self.inversions.gauges(visit);
        let (length, limit) = self.fill();
        let within_headroom = length <= self.headroom * limit;
        let quantile = (limit - length) / (limit * (1.0 - self.headroom));
        visit("admitted_quantile", if within_headroom { 1.0 } else { quantile });
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.ranks.flow_gauges(flow, visit);
    }
}

#[cfg(test)]
#[path = "aifo_tests.rs"]
mod tests;
