//! FQ-PIE: flows hashed to queues that take turns, new ones first, with PIE on each.
//!
//! # What it does
//! A packet joins the queue to which its flow is hashed, and the queues take turns as in `fq_codel`: new ones first,
//! and by a quantum of bytes. PIE steers a drop probability for each queue by the delay of that queue. Packets are
//! dropped or marked when they arrive, not when they leave.
//!
//! # When to use it
//! Use it to model routers that have it, and to compare PIE with CoDel where flows have queues of their own. A full
//! buffer drops the packets that arrive, so a flood can push others out: use `fq_codel` there.
//!
//! # Example
//! ```toml
//! queue.fq_pie = { flows = 1024, target = "15 ms", ecn = true }
//! ```
//!
//! Set `target` first. `limit` counts the packets of all queues. `ecn = true` marks ECN-capable packets instead of
//! dropping them, up to the probability `mark_threshold`.
//!
//! # Source
//! Linux's `sch_fq_pie.c` of 2025, by M. P. Tahiliani and others. The order of the queues is that of RFC 8290, section
//! 4.2, and PIE is RFC 8033's, with the rules of Linux's `sch_pie`.
//!
//! # Where we differ
//! - `preset = "rfc"` selects the rules of RFC 8033 for PIE, and for the lists those of RFC 8290: an empty new queue
//!   always goes to the old list, not only if that has others.
//! - `memory_limit` counts the bytes of packets, not the kernel's buffers. As in Linux nothing is dropped for it: the
//!   gauge `overmemory` counts the packets that came while more was queued.
//! - Linux updates all queues at each tick, 2048 at a go. Here a queue makes up for its ticks when a packet joins or
//!   leaves it, with the values that it had at each tick: the results are the same.
//! - Linux's estimate of the delay from the departure rate is not offered. Other differences are those of `pie`.
//!
//! # Cost
//! About 110 bytes for each of the `flows` queues, and 12 bytes per queued packet. O(1) a packet, provided that
//! `quantum` is at least a packet; otherwise up to one more round for each quantum of a packet. At most one random
//! number. Missed ticks of a queue cost about as much as 40 of them at most, or 2000 on an empty queue, where the
//! probability decays.
//!
//! # Parameters
//! See [`FqPieConfig`].

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::new_old_lists::{NewOldLists, Turn};
use crate::packet_pool::{Chain, PacketPool};
use crate::pie::{PieConfig, PieLaw, PiePreset, PieState};
use crate::require;
use crate::signal::Signal;
use crate::{
    Backlog, Cx, Discipline, DropReason, FlowKey, MarkReason, Packet, ParameterError, Served, Span, hash_flow,
    table_index,
};

parameters! {
    /// Parameters of FQ-PIE. Gauges have the names of `tc -s qdisc`.
    pub struct FqPieConfig in PieConfig {
        pie preset = PiePreset::Linux, "`linux`";
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent. Default: 10240
        /// packets (Linux).
        queue limit = QueueSize::Packets(10_240);
        /// Bytes queued above which arriving packets are counted in the gauge `overmemory`; none is dropped. Default:
        /// 32 MiB (Linux).
        pub memory_limit: Bytes = Bytes(32 << 20);
        /// Number of queues to which flows are hashed. Default: 1024 (Linux).
        pub flows: u32 = 1024;
        /// Quantum: bytes that a queue may send in its turn. Default: 1514 B, an Ethernet's MTU with its header
        /// (Linux).
        pub quantum: Bytes = Bytes(1514);
        pie target = Span::from_milliseconds(15), "15 ms (Linux)";
        pie update_interval = Span::from_milliseconds(15), "15 ms (Linux)";
        pie alpha = 0.125, "0.125 (Linux)";
        pie beta = 1.25, "1.25 (Linux)";
        pie max_burst = Span::from_milliseconds(150), "150 ms (Linux)";
        pie mean_packet_size = Bytes(1514), "1514 B (Linux)";
        pie byte_mode = false, "no";
        pie derandomize = None, "yes (rfc: no)";
        pie cap_adjustment = true, "yes";
        pie ecn = false, "no";
        /// `ecn_prob`: probability above which ECN-capable packets are dropped as well. Default: 0.1 (Linux).
        pie mark_threshold = 0.1;
    }
}

impl FqPieConfig {
    /// The configuration of the PIE on each queue.
    #[must_use]
    pub fn pie(&self) -> PieConfig {
        self.inner()
    }
}

/// A queue of the table.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    packets: Chain,
    turn: Turn,
    /// PIE's state. It outlives the packets.
    pie: PieState,
}

impl AsMut<Turn> for FlowQueue {
    fn as_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

/// Counters by the names of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    packets_in: u64,
    dropped: u64,
    overlimit: u64,
    overmemory: u64,
    ecn_mark: u64,
    new_flow_count: u64,
}

/// FQ-PIE: flow queues with PIE.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    limit: Limit,
    memory_limit: u64,
    always_through_old: bool,
    law: PieLaw,
    salt: u64,

    queues: Vec<FlowQueue>,
    lists: NewOldLists,
    pool: PacketPool<P>,
    backlog: Backlog,
    statistics: Statistics,
}

impl<P: Packet> FqPie<P> {
    /// An empty FQ-PIE. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &FqPieConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        Limit::new(QueueSize::Bytes(config.memory_limit.0), "memory_limit")?;
        require((1..=65_536).contains(&config.flows), "flows", "be between 1 and 65536")?;
        require((1..=1 << 20).contains(&config.quantum.0), "quantum", "be between 1 B and 1048576 B")?;
        let law = PieLaw::new(&config.pie())?;
        let inactive = FlowQueue { packets: Chain::EMPTY, turn: Turn::INACTIVE, pie: PieState::new(&law) };
        Ok(Self {
            limit,
            memory_limit: config.memory_limit.0,
            always_through_old: config.preset == PiePreset::Rfc,
            law,
            salt,
            queues: vec![inactive; config.flows as usize],
            lists: NewOldLists::new(config.quantum.0 as i64),
            pool: PacketPool::new(),
            backlog: Backlog::default(),
            statistics: Statistics::default(),
        })
    }

    /// The queue to which a flow is hashed.
    fn queue_of(&self, flow: FlowKey) -> u32 {
        table_index(hash_flow(flow, self.salt), self.queues.len() as u32)
    }

    /// Drops an arriving packet.
    fn drop_arrival(&mut self, packet: P, reason: DropReason, cx: &mut Cx<'_, P>) {
        self.statistics.dropped += 1;
        cx.sink.dropped(packet, reason, false);
    }
}

impl<P: Packet> Discipline<P> for FqPie<P> {
    /// `fq_pie_qdisc_enqueue`.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let arrival = packet.arrival();
        let len_bytes = u64::from(arrival.len_bytes);
        let index = self.queue_of(arrival.flow);
        let queue = &mut self.queues[index as usize];
        queue.pie.catch_up(&self.law, cx.now, queue.packets.len() == 0);
        if !self.limit.fits(self.backlog, arrival.len_bytes) {
            self.statistics.overlimit += 1;
            queue.pie.overflowed();
            return self.drop_arrival(packet, DropReason::Overflow, cx);
        }
        if self.backlog.bytes > self.memory_limit.saturating_add(len_bytes) {
            self.statistics.overmemory += 1;
        }
        match queue.pie.signal(&self.law, arrival.len_bytes, arrival.ecn, queue.packets.bytes(), cx.rng) {
            Signal::Drop => return self.drop_arrival(packet, DropReason::Early, cx),
            Signal::Mark => {
                self.statistics.ecn_mark += 1;
                packet.mark_ce();
                cx.sink.marked(&packet, MarkReason::Early);
            }
            Signal::None => {}
        }
        self.statistics.packets_in += 1;
        self.backlog.packets += 1;
        self.backlog.bytes += len_bytes;
        self.pool.push(&mut queue.packets, packet, cx.now);
        if self.lists.activate(index, &mut self.queues) {
            self.statistics.new_flow_count += 1;
        }
    }

    /// `fq_pie_qdisc_dequeue`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        while let Some(index) = self.lists.next(&mut self.queues) {
            let queue = &mut self.queues[index as usize];
            let Some((packet, came_at)) = self.pool.pop(&mut queue.packets) else {
                self.lists.found_empty(index, &mut self.queues, self.always_through_old);
                continue;
            };
            queue.pie.catch_up(&self.law, cx.now, false);
            queue.pie.departed(&self.law, cx.now.since(came_at), queue.packets.len() == 0, cx.now);
            let len_bytes = packet.len_bytes();
            queue.turn.deficit -= i64::from(len_bytes);
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(len_bytes);
            return Served::Packet(packet);
        }
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.queues)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let Statistics { packets_in, dropped, overlimit, overmemory, ecn_mark, new_flow_count } = self.statistics;
        visit("packets_in", packets_in as f64);
        visit("dropped", dropped as f64);
        visit("overlimit", overlimit as f64);
        visit("overmemory", overmemory as f64);
        visit("ecn_mark", ecn_mark as f64);
        visit("new_flow_count", new_flow_count as f64);
        visit("new_flows_len", f64::from(self.lists.new_len()));
        visit("old_flows_len", f64::from(self.lists.old_len()));
        visit("memory_used", self.backlog.bytes as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let queue = &self.queues[self.queue_of(flow) as usize];
        visit("length_bytes", queue.packets.bytes() as f64);
        visit("deficit_bytes", queue.turn.deficit as f64);
        visit("p_drop", queue.pie.state.probability);
        visit("queueing_delay_s", queue.pie.delay.seconds());
        visit("burst_allowance_s", queue.pie.state.burst_allowance.seconds());
    }
}

#[cfg(test)]
#[path = "fq_pie_tests.rs"]
mod tests;
