//! FQ-CoDel: flows hashed to queues that take turns, new ones first, with CoDel on each.
//!
//! # What it does
//! A packet joins the queue to which its flow is hashed. The queues take turns by bytes, as in deficit round robin, but
//! on two lists. A queue that has just become active is on the list of new queues, which is served first; it moves to
//! the list of old queues when it has sent a quantum or runs empty. A flow that sends less than a quantum a round is
//! therefore served at once: queries, ACKs and voice do not wait behind downloads. CoDel keeps the delay of each queue
//! short. When the buffer is full, packets of the longest queue are dropped, so that a flood cannot push others out.
//!
//! # When to use it
//! Use it as the first choice for an access link or a home router: equal shares, short delays and hardly anything to
//! set. Shares go by flow, so a host with many flows gets more; and with many more flows than packets in the buffer,
//! shares and delays vary.
//!
//! # Example
//! ```toml
//! queue.fq_codel = { flows = 1024, target = "5 ms", interval = "100 ms" }
//! ```
//!
//! Set `interval` to the longest usual round-trip time, and `target` to 5 to 10 % of it. Below 2.4 Mb/s raise `target`
//! above the transmission time of one packet.
//!
//! # Source
//! T. Hoeiland-Joergensen, P. McKenney, D. Taht, J. Gettys and E. Dumazet, "The Flow Queue CoDel Packet Scheduler and
//! Active Queue Management Algorithm", RFC 8290, 2018. The memory limit is that of Linux.
//!
//! # Where we differ
//! - An indexed heap finds the longest queue in O(log n) instead of a walk over all queues (RFC 8290, section 4.1).
//!   Among equally long queues the first in the table loses packets.
//! - `preset = "linux"` selects four rules of Linux's `sch_fq_codel` in place of the RFC's. Newton's method computes
//!   the square root (`newton16`). CoDel's rule not to drop with one packet left considers the bytes of all queues
//!   together, not those of the queue. A new queue that runs empty goes to the old list only if that list has others;
//!   in the RFC it always does (section 4.2). Packets that a full buffer evicts count as drops of their queue's CoDel.
//! - `memory_limit` counts the bytes of packets, not the kernel's buffers. Linux's clock of 1.024 µs is not copied.
//! - The set-associative hash of ns-3 and CAKE is not offered. A flow that found its set full shares a queue, and may
//!   get its own while its packets still wait in the other, which reorders them.
//!
//! # Cost
//! About 110 bytes for each of the `flows` queues, and 12 bytes per queued packet. O(log n) a packet with n queues that
//! hold packets, for the heap, provided that `quantum` is at least a packet; otherwise up to one more round for each
//! quantum of a packet. A packet that finds the buffer full costs at most `drop_batch` others, or, where the buffer is
//! full by bytes (`memory_limit`, or a `limit` in bytes), as many batches as make room for it. One call may drop all
//! packets of a queue but the last, as with CoDel. No random numbers.
//!
//! # Parameters
//! See [`FqCodelConfig`].

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::codel::{CodelConfig, ControlLaw, ControlState, SquareRoot};
use crate::indexed_heap::IndexedHeap;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::packet_pool::{Chain, PacketPool};
use crate::require;
use crate::timed_fifo::TimedQueue;
use crate::{
    Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, Span, Time, hash_flow, table_index,
};

parameters! {
    /// Parameters of FQ-CoDel.
    pub struct FqCodelConfig in CodelConfig {
        /// Source of the rules where the RFC and Linux differ, and of `square_root` if it is not given. Default: the
        /// RFC.
        pub preset: FqCodelPreset = FqCodelPreset::Rfc;
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 10240
        /// packets (RFC 8290, section 5.2).
        queue limit = QueueSize::Packets(10_240);
        /// Limit of all queues together in bytes, if that is less than `limit`. Default: 32 MiB (Linux).
        pub memory_limit: Bytes = Bytes(32 << 20);
        /// Number of queues to which flows are hashed. Default: 1024 (RFC 8290, section 5.2).
        pub flows: u32 = 1024;
        /// Quantum: bytes that a queue may send in its turn. Default: 1514 B, an Ethernet's MTU with its header (RFC
        /// 8290, section 5.2).
        pub quantum: Bytes = Bytes(1514);
        /// Most packets that the longest queue loses when the buffer is full, or half of its bytes if these are fewer
        /// packets. Default: 64 (RFC 8290, section 4.1).
        pub drop_batch: u32 = 64;
        codel target = Span::from_milliseconds(5), "5 ms (RFC 8290, section 5.2)";
        codel interval = Span::from_milliseconds(100), "100 ms (RFC 8290, section 5.2)";
        codel max_packet_size = Bytes(1500), "1500 B";
        /// Method by which CoDel computes the square root of the number of drops. Default: `exact` (linux: `newton16`).
        pub square_root: Option<SquareRoot> = None;
        codel ecn = true, "yes (RFC 8290, section 5.2)";
        codel ce_threshold = None, "none";
    }
}

impl FqCodelConfig {
    /// The configuration of the CoDel on each queue.
    #[must_use]
    pub fn codel(&self) -> CodelConfig {
        CodelConfig {
            square_root: self.square_root.unwrap_or(match self.preset {
                FqCodelPreset::Rfc => SquareRoot::Exact,
                FqCodelPreset::Linux => SquareRoot::Newton16,
            }),
            ..self.inner()
        }
    }
}

/// Source of the rules where implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum FqCodelPreset {
    /// RFC 8290, with an exact square root.
    #[default]
    Rfc,
    /// Linux's `sch_fq_codel`.
    Linux,
}

/// The end of a list of queues.
const NONE: u32 = u32::MAX;

/// On which list a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Inactive,
    New,
    Old,
}

/// A queue of the table.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    packets: Chain,
    /// Bytes that it may still send in its turn; negative when it has overdrawn.
    deficit: i64,
    activity: Activity,
    /// The next queue of the list on which it is.
    next: u32,
    /// CoDel's state. It outlives the packets.
    codel: ControlState,
}

const INACTIVE: FlowQueue =
    FlowQueue { packets: Chain::EMPTY, deficit: 0, activity: Activity::Inactive, next: NONE, codel: ControlState::NEW };

/// A list of active queues, linked through [`FlowQueue::next`].
#[derive(Clone, Copy, Debug)]
struct ActiveList {
    first: u32,
    last: u32,
    len: u32,
}

impl ActiveList {
    const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };

    fn push_back(&mut self, index: u32, queues: &mut [FlowQueue]) {
        queues[index as usize].next = NONE;
        match core::mem::replace(&mut self.last, index) {
            NONE => self.first = index,
            last => queues[last as usize].next = index,
        }
        self.len += 1;
    }

    fn pop_front(&mut self, queues: &[FlowQueue]) {
        self.first = queues[self.first as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
        self.len -= 1;
    }
}

/// The queue whose turn it is, as CoDel sees it.
struct Head<'a, P> {
    pool: &'a mut PacketPool<P>,
    packets: &'a mut Chain,
    backlog: &'a mut Backlog,
    preset: FqCodelPreset,
}

impl<P: Packet> TimedQueue<P> for Head<'_, P> {
    fn pop(&mut self) -> Option<(P, Time)> {
        let (packet, came_at) = self.pool.pop(self.packets)?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len_bytes());
        Some((packet, came_at))
    }

    fn bytes(&self) -> u64 {
        match self.preset {
            FqCodelPreset::Rfc => self.packets.bytes(),
            FqCodelPreset::Linux => self.backlog.bytes,
        }
    }
}

/// FQ-CoDel: flow queues with controlled delay.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    preset: FqCodelPreset,
    limit: Limit,
    memory_limit: u64,
    quantum: i64,
    drop_batch: u32,
    law: ControlLaw,
    salt: u64,

    queues: Vec<FlowQueue>,
    new: ActiveList,
    old: ActiveList,
    longest: IndexedHeap<Reverse<u64>>,
    pool: PacketPool<P>,
    backlog: Backlog,
    /// How long the packet that was sent last had been queued.
    sojourn_time: Span,
}

impl<P: Packet> FqCodel<P> {
    /// An empty FQ-CoDel. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &FqCodelConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        Limit::new(QueueSize::Bytes(config.memory_limit.0), "memory_limit")?;
        require((1..=65_536).contains(&config.flows), "flows", "be between 1 and 65536")?;
        require((1..=1 << 32).contains(&config.quantum.0), "quantum", "be between 1 B and 4294967296 B")?;
        require(config.drop_batch > 0, "drop_batch", "be at least 1")?;
        let law = ControlLaw::new(&config.codel())?;
        Ok(Self {
            preset: config.preset,
            limit,
            memory_limit: config.memory_limit.0,
            quantum: config.quantum.0 as i64,
            drop_batch: config.drop_batch,
            law,
            salt,
            queues: vec![INACTIVE; config.flows as usize],
            new: ActiveList::EMPTY,
            old: ActiveList::EMPTY,
            longest: IndexedHeap::new(),
            pool: PacketPool::new(),
            backlog: Backlog::default(),
            sojourn_time: Span::ZERO,
        })
    }

    /// RFC 8290, section 4.1: the queue to which a flow is hashed.
    fn queue_of(&self, flow: FlowKey) -> u32 {
        table_index(hash_flow(flow, self.salt), self.queues.len() as u32)
    }

    fn is_over_limit(&self) -> bool {
        self.limit.is_exceeded_by(self.backlog) || self.backlog.bytes > self.memory_limit
    }

    /// Keeps the heap after packets have left the queue.
    fn rank(&mut self, index: u32) {
        let packets = self.queues[index as usize].packets;
        match packets.len() {
            0 => self.longest.remove(index),
            _ => self.longest.set(index, Reverse(packets.bytes())),
        }
    }

    /// RFC 8290, section 4.1: drops from the head of the longest queue, until half of its bytes are gone or a batch.
    /// `arrived` is the queue whose last packet has just come.
    fn drop_from_longest(&mut self, arrived: u32, cx: &mut Cx<'_, P>) {
        let Some((Reverse(length), victim)) = self.longest.first() else { return };
        let (mut dropped, mut dropped_bytes) = (0, 0);
        while dropped < self.drop_batch && (dropped == 0 || dropped_bytes < length / 2) {
            let packets = &mut self.queues[victim as usize].packets;
            let is_arrival = victim == arrived && packets.len() == 1;
            let mut head = Head { pool: &mut self.pool, packets, backlog: &mut self.backlog, preset: self.preset };
            let Some((packet, _)) = head.pop() else { break };
            dropped += 1;
            dropped_bytes += u64::from(packet.len_bytes());
            let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
            cx.sink.dropped(packet, reason, !is_arrival);
        }
        if self.preset == FqCodelPreset::Linux {
            let codel = &mut self.queues[victim as usize].codel;
            codel.count = codel.count.saturating_add(dropped);
        }
        self.rank(victim);
    }

    /// Moves a queue to the end of the old list.
    fn retire(&mut self, index: u32) {
        self.queues[index as usize].activity = Activity::Old;
        self.old.push_back(index, &mut self.queues);
    }
}

impl<P: Packet> Discipline<P> for FqCodel<P> {
    /// RFC 8290, section 4.1.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = u64::from(packet.len_bytes());
        if !self.limit.fits(Backlog::default(), packet.len_bytes()) || len_bytes > self.memory_limit {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let index = self.queue_of(packet.flow());
        let queue = &mut self.queues[index as usize];
        self.pool.push(&mut queue.packets, packet, cx.now);
        self.longest.set(index, Reverse(queue.packets.bytes()));
        self.backlog.packets += 1;
        self.backlog.bytes += len_bytes;
        if queue.activity == Activity::Inactive {
            queue.activity = Activity::New;
            queue.deficit = self.quantum;
            self.new.push_back(index, &mut self.queues);
        }
        while self.is_over_limit() {
            self.drop_from_longest(index, cx);
        }
    }

    /// RFC 8290, section 4.2.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        loop {
            let list = if self.new.len > 0 { &mut self.new } else { &mut self.old };
            let index = list.first;
            if index == NONE {
                return Served::Idle;
            }
            let queue = &mut self.queues[index as usize];
            if queue.deficit <= 0 {
                queue.deficit += self.quantum;
                list.pop_front(&self.queues);
                self.retire(index);
                continue;
            }
            let (pool, packets, backlog) = (&mut self.pool, &mut queue.packets, &mut self.backlog);
            let mut head = Head { pool, packets, backlog, preset: self.preset };
            let packet = queue.codel.dequeue(&self.law, &mut head, cx);
            if let Some(packet) = packet {
                queue.deficit -= i64::from(packet.len_bytes());
                self.sojourn_time = queue.codel.sojourn_time;
                self.rank(index);
                return Served::Packet(packet);
            }
            list.pop_front(&self.queues);
            match self.queues[index as usize].activity {
                // Once through the old list, so that a flow cannot be new again before the others had their turns.
                Activity::New if self.preset == FqCodelPreset::Rfc || self.old.len > 0 => self.retire(index),
                _ => self.queues[index as usize].activity = Activity::Inactive,
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.queues) + self.longest.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("new_flows", f64::from(self.new.len));
        visit("old_flows", f64::from(self.old.len));
        visit("longest_queue_bytes", self.longest.first().map_or(0.0, |(Reverse(bytes), _)| bytes as f64));
        visit("sojourn_time_s", self.sojourn_time.seconds());
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let queue = &self.queues[self.queue_of(flow) as usize];
        visit("length_bytes", queue.packets.bytes() as f64);
        visit("deficit_bytes", queue.deficit as f64);
        visit("sojourn_time_s", queue.codel.sojourn_time.seconds());
        visit("count", f64::from(queue.codel.count));
        visit("dropping", f64::from(u8::from(queue.codel.dropping)));
        visit("drop_next_s", queue.codel.drop_next.seconds());
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
