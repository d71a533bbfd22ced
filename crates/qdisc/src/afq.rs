//! AFQ, approximate fair queueing: a calendar of FIFO queues in which each flow has a number of bytes in each round.
//!
//! # What it does
//! Time is divided into rounds, and each flow may send `bytes_per_round` in a round. AFQ computes for each packet the
//! round in which its flow's bytes end, and puts it into the FIFO queue of that round. The queues are served one after
//! the other; an empty queue takes the packets of the next round that has none. A packet whose round is too far ahead
//! is dropped: no flow can fill the buffer.
//!
//! # When to use it
//! Use it to model fair shares on switches that can rotate a few dozen queues, or to reproduce papers that compare with
//! AFQ. It is nearly as fair as `drr`, and a flow has at most `queues` times `bytes_per_round` waiting. `drr` needs
//! less tuning.
//!
//! # Example
//! ```toml
//! queue.afq = { queues = 32, bytes_per_round = "3000 B" }
//! ```
//!
//! `bytes_per_round` is the granularity of the shares; together with `queues` it limits the bytes that a flow may have
//! in the buffer, and so the rate of a single flow over a long round trip.
//!
//! # Source
//! N. Sharma, M. Liu, K. Atreya and A. Krishnamurthy, "Approximating Fair Queueing on Reconfigurable Switches", NSDI
//! 2018, and its model in the simulator of SP-PIFO's authors.
//!
//! # Where we differ
//! - The round is that in which a packet ends, as in the simulator. A packet `queues` rounds ahead is dropped: the
//!   simulator admits it, into the queue that is in service.
//! - The bytes of each flow are counted exactly, as in the simulator, instead of in a count-min sketch. With more than
//!   `max_flows` flows the one that is the least ahead is forgotten, and no flow starts before its last byte. As with a
//!   sketch, a flow can only be served too late.
//! - `limit` holds all queues together; the simulator limits each queue only (`queue_limit`). Packets are never marked.
//!
//! # Cost
//! 32 bytes for each of the `queues`, and 50 to 80 for each of at most `max_flows` flows that are ahead of the round.
//! O(log n) a packet with n such flows; a call may skip up to `queues` empty rounds. No random numbers.
//!
//! # Parameters
//! See [`AfqConfig`].

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::flow_tags::FlowTags;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served};

parameters! {
    /// Parameters of AFQ.
    pub struct AfqConfig {
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 1000
        /// packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// nQ: number of FIFO queues, from 1 to 65536. Default: 32 (SP-PIFO's simulations of AFQ).
        pub queues: u32 = 32;
        /// BpR: bytes that a flow may send in a round, up to 2147483647; `queues` times this must exceed 1500 B.
        /// Default: 3000 B, two full packets (our choice).
        pub bytes_per_round: Bytes = Bytes(3000);
        /// Most packets in one queue, at least 1. Default: 320 (the simulator).
        pub queue_limit: u32 = 320;
        /// Most flows whose bytes are kept at a time, at least 1. Default: 16384 (our choice).
        pub max_flows: u32 = 16_384;
    }
}

impl AfqConfig {
    /// Checks every field but the limits of the buffer and of the flows.
    fn check(&self) -> Result<(), ParameterError> {
        const MOST_BYTES: u64 = i32::MAX as u64;
        const FULL_PACKET_BYTES: u64 = 1500;
        require((1..=65_536).contains(&self.queues), "queues", "be between 1 and 65536")?;
        let bytes = self.bytes_per_round.0;
        require((1..=MOST_BYTES).contains(&bytes), "bytes_per_round", "be between 1 B and 2147483647 B")?;
        let horizon = u64::from(self.queues) * bytes;
        let bound = "exceed 1500 B divided by `queues`, or no full packet is admitted";
        require(horizon > FULL_PACKET_BYTES, "bytes_per_round", bound)?;
        require(self.queue_limit > 0, "queue_limit", "be at least 1")
    }
}

/// AFQ: approximate fair queueing.
#[derive(Clone, Debug)]
pub struct Afq<P> {
    limit: Limit,
    bytes_per_round: i64,
    queue_limit: usize,
    /// The queue of round r is number r modulo their number.
    queues: Vec<VecDeque<P>>,
    /// R: the round in service.
    round: i64,
    /// The bid of each flow: its last byte.
    bids: FlowTags,
    backlog: Backlog,
}

impl<P> Afq<P> {
    /// An empty AFQ. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &AfqConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        Ok(Self {
            limit,
            bytes_per_round: config.bytes_per_round.0 as i64,
            queue_limit: config.queue_limit as usize,
            queues: (0..config.queues).map(|_| VecDeque::new()).collect(),
            round: 0,
            bids: FlowTags::new(config.max_flows, salt)?,
            backlog: Backlog::default(),
        })
    }

    /// The index of the queue of `round`.
    fn queue_of(&self, round: i64) -> usize {
        (round as u64 % self.queues.len() as u64) as usize
    }
}

impl<P: Packet> Discipline<P> for Afq<P> {
    /// bid = max(R BpR, bid of the flow) + length; the packet's round is that of its bid.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let (flow, len_bytes) = (packet.flow(), packet.len_bytes());
        let bid = self.bids.get(flow) + i64::from(len_bytes);
        let round = bid / self.bytes_per_round;
        if round - self.round >= self.queues.len() as i64 {
            return cx.sink.dropped(packet, DropReason::FlowLimit, false);
        }
        let index = self.queue_of(round);
        if self.queues[index].len() >= self.queue_limit || !self.limit.fits(self.backlog, len_bytes) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.bids.set(flow, bid);
        self.backlog.add(len_bytes);
        self.queues[index].push_back(packet);
    }

    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        if self.backlog.packets == 0 {
            // The round stays; it begins again with the next packet.
            return Served::Idle;
        }
        loop {
            let index = self.queue_of(self.round);
            if let Some(packet) = self.queues[index].pop_front() {
                self.backlog.remove(packet.len_bytes());
                return Served::Packet(packet);
            }
            self.round += 1;
            self.bids.raise_floor(self.round * self.bytes_per_round);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.queues) + self.bids.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_flows", self.bids.len() as f64);
        visit("round", self.round as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let ahead = self.bids.get(flow) - self.round * self.bytes_per_round;
        visit("ahead_bytes", ahead as f64);
    }
}

#[cfg(test)]
#[path = "afq_tests.rs"]
mod tests;
