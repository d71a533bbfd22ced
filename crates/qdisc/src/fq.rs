//! fq: a queue for each flow, turns by bytes, a longest rate for flows, and three bands; Linux's queue for hosts.
//!
//! # What it does
//! A packet joins the queue of its flow, and the queues take turns by a quantum of bytes: new ones first, as in
//! `fq_codel`, with a larger quantum at first. Each flow may have a limited number of packets queued. With
//! `flow_max_rate`, a flow that has used up its quantum waits until it may send again at that rate. Traffic classes
//! belong to three bands, which share the link by their weights. While no flow has packets, up to eight packets bypass
//! the queues of flows in one FIFO queue.
//!
//! # When to use it
//! Use it for a host or server with Linux, or to limit the rate of each flow. Nothing is dropped early: a flow waits in
//! its own queue of up to `flow_limit` packets, so use `fq_codel` or `cake` at the bottleneck of a path.
//!
//! # Example
//! ```toml
//! queue.fq = { flow_max_rate = "20 Mbps", flow_limit = 100 }
//! ```
//!
//! The defaults suit a host. Set `flow_max_rate` to pace flows, and `ce_threshold` to mark packets for DCTCP and
//! similar senders. Keep `limit` above `flow_limit` times the number of flows that fill their queues: a full band drops
//! the packets that arrive, of whatever flow. The `class` of a group of flows is its traffic class.
//!
//! # Source
//! Linux, `net/sched/sch_fq.c` of version 6.18, by E. Dumazet; its map of priorities is in `net/sched/sch_generic.c`.
//!
//! # Where we differ
//! - Flows are hashed to queues, as Linux does with packets that it forwards. In Linux, each socket of the host itself
//!   has a queue for itself: raise `flows` to come close to that.
//! - Packets have no earliest departure time, because senders here pace their segments before the queue. So there is no
//!   horizon, and the only pacing is that of `flow_max_rate`, as for forwarded packets in Linux.
//! - Queues are never freed. Linux frees some of those that were empty for 3 s; a flow of theirs has `initial_quantum`
//!   again.
//! - Timers are exact: no slack of 10 us, and no time stamps in ticks of the clock.
//! - `limit` may be in bytes.
//!
//! As in Linux, a flow that comes back begins in the band of its previous packet, at first in band 0, and joins that of
//! its class after its first turn.
//!
//! # Cost
//! 72 bytes for each of the `flows` queues, and 16 bytes per queued packet. With `flow_max_rate` a queue takes up to 28
//! bytes more. O(1) a packet, or O(log n) with n flows that wait for `flow_max_rate`. A packet longer than `quantum`
//! costs one more turn for each quantum. One call takes in all flows whose wait has ended. No random numbers.
//!
//! # Parameters
//! See [`FqConfig`].

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::indexed_heap::IndexedHeap;
use crate::inner_queues::PRIORITY_MAP;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::new_old_lists::{ActiveList, Activity, Turn};
use crate::packet_pool::{Chain, PacketPool};
use crate::require;
use crate::{
    Arrival, Backlog, Cx, Discipline, DropReason, FlowKey, MarkReason, Packet, ParameterError, Served, Time, hash_flow,
    table_index,
};

/// Number of bands (`FQ_BANDS`).
const BANDS: usize = 3;
/// The least weight of a band (`FQ_MIN_WEIGHT`).
const LEAST_WEIGHT: u32 = 1 << 14;
/// Packets that may bypass the queues at a time.
const FAST_PATH_PACKETS: u64 = 8;
/// The default of `low_rate_threshold`.
const LOW_RATE: Rate = Rate::new(550_000).expect("it is more than 0");
/// The longest time for which a packet makes its flow wait.
const LONGEST_GAP: Span = Span::from_seconds(1);

parameters! {
    /// Parameters of fq. Gauges have the names of `tc -s qdisc`.
    pub struct FqConfig {
        /// Limit of each of the three bands, in packets or bytes, not counting the packet being sent. Default: 10000
        /// packets (Linux).
        pub limit: QueueSize = QueueSize::Packets(10_000);
        /// Most packets that a flow may have queued. Default: 100 (Linux).
        pub flow_limit: u32 = 100;
        /// Number of queues to which flows are hashed: `orphan_mask` + 1. Default: 1024 (Linux).
        pub flows: u32 = 1024;
        /// Quantum: bytes that a flow may send in its turn. Default: 3028 B, two packets of an Ethernet with their
        /// headers (Linux).
        pub quantum: Bytes = Bytes(3028);
        /// Bytes that a new flow may send in its first turn. Default: 15140 B, ten packets (Linux).
        pub initial_quantum: Bytes = Bytes(15_140);
        /// `maxrate`: the rate that no flow exceeds, but for its first turn. Default: none.
        pub flow_max_rate: Option<Rate> = None;
        /// `flow_max_rate` up to which a flow waits after each packet instead of each quantum. Default: 550 kbps
        /// (Linux).
        pub low_rate_threshold: Rate = LOW_RATE;
        /// Time without packets after which a flow has at least a quantum again. Default: 40 ms (Linux).
        pub refill_delay: Span = Span::from_milliseconds(40);
        /// Time that an ECN-capable packet may wait beyond what `flow_max_rate` requires; one that waits longer is
        /// marked. Default: none.
        pub ce_threshold: Option<Span> = None;
        /// The band of each priority, from 0 to 2; the last four bits of the traffic class are the priority. Default:
        /// `[1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]` (Linux).
        pub priomap: [u8; 16] = PRIORITY_MAP;
        /// Bytes that each band may send in its turn, at least 16384. Default: `[589824, 196608, 65536]` (Linux), 9 to
        /// 3 to 1.
        pub weights: [u32; BANDS] = [9 << 16, 3 << 16, 1 << 16];
    }
}

impl FqConfig {
    /// The limits that together bound the packets queued: of each band, and of the packets that bypass the flows.
    #[must_use]
    pub fn limits(&self) -> [QueueSize; 1 + BANDS] {
        [self.limit, self.limit, self.limit, QueueSize::Packets(FAST_PATH_PACKETS)]
    }

    /// Checks every field but the limit.
    fn check(&self) -> Result<(), ParameterError> {
        require(self.flow_limit > 0, "flow_limit", "be at least 1")?;
        require((1..=65_536).contains(&self.flows), "flows", "be between 1 and 65536")?;
        require((256..=1 << 20).contains(&self.quantum.0), "quantum", "be between 256 B and 1048576 B")?;
        require(self.initial_quantum.0 <= 1 << 20, "initial_quantum", "be at most 1048576 B")?;
        require(self.priomap.iter().all(|&band| usize::from(band) < BANDS), "priomap", "have bands from 0 to 2")?;
        let weights = |&weight: &u32| (LEAST_WEIGHT..=i32::MAX as u32).contains(&weight);
        require(self.weights.iter().all(weights), "weights", "be between 16384 and 2147483647")
    }
}

/// A queue of the table.
#[derive(Clone, Copy, Debug)]
struct FlowQueue {
    packets: Chain,
    /// Its place in the lists of a band. One that waits is in no list; its deficit is Linux's `credit`.
    turn: Turn,
    /// The band of its last packet.
    band: u8,
    /// When it was last found empty.
    inactive_since: Option<Time>,
    /// When it may send next; 0 before the first packet that made it wait.
    next_packet_at: Time,
}

impl AsMut<Turn> for FlowQueue {
    fn as_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

/// Flows whose turn it may be, and the bytes that they may send together.
#[derive(Clone, Copy, Debug)]
struct Band {
    new: ActiveList,
    old: ActiveList,
    credit: i64,
    weight: i64,
    backlog: Backlog,
}

/// fq: flow queues with a longest rate.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    limit: Limit,
    flow_limit: u32,
    quantum: u64,
    /// The longest rate, and whether flows wait after each packet.
    pacing: Option<(Rate, bool)>,
    refill_delay: Span,
    ce_threshold: Option<Span>,
    priomap: [u8; 16],
    salt: u64,

    /// Packets that bypass the flows (`internal`).
    fast_path: VecDeque<P>,
    queues: Vec<FlowQueue>,
    bands: [Band; BANDS],
    /// The band whose turn it is.
    band: usize,
    /// Flows that wait, by when they may send, and then by the order in which they began to wait.
    waiting: IndexedHeap<(Time, u64)>,
    waiting_len: u32,
    pool: PacketPool<P, u8>,
    backlog: Backlog,
    /// Flows with packets.
    active: u32,

    throttled: u64,
    flows_plimit: u64,
    fast_path_packets: u64,
    packets_too_long: u64,
}

impl<P: Packet> Fq<P> {
    /// An empty fq. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &FqConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        let band = |weight| Band {
            new: ActiveList::EMPTY,
            old: ActiveList::EMPTY,
            credit: 0,
            weight: i64::from(weight),
            backlog: Backlog::default(),
        };
        let turn = Turn::inactive(config.initial_quantum.0 as i64);
        let queue =
            FlowQueue { packets: Chain::EMPTY, turn, band: 0, inactive_since: None, next_packet_at: Time::ZERO };
        Ok(Self {
            limit,
            flow_limit: config.flow_limit,
            quantum: config.quantum.0,
            pacing: config.flow_max_rate.map(|rate| (rate, rate <= config.low_rate_threshold)),
            refill_delay: config.refill_delay,
            ce_threshold: config.ce_threshold,
            priomap: config.priomap,
            salt,
            fast_path: VecDeque::new(),
            queues: vec![queue; config.flows as usize],
            bands: config.weights.map(band),
            band: 0,
            waiting: IndexedHeap::new(),
            waiting_len: 0,
            pool: PacketPool::new(),
            backlog: Backlog::default(),
            active: 0,
            throttled: 0,
            flows_plimit: 0,
            fast_path_packets: 0,
            packets_too_long: 0,
        })
    }

    /// The queue to which a flow is hashed.
    fn queue_of(&self, flow: FlowKey) -> u32 {
        table_index(hash_flow(flow, self.salt), self.queues.len() as u32)
    }

    /// `fq_fastpath_check`. Without a longest rate no flow waits.
    fn bypasses_flows(&self) -> bool {
        self.pacing.is_none() && self.active == 0 && (self.fast_path.len() as u64) < FAST_PATH_PACKETS
    }

    /// Appends a flow to the old flows of its band.
    fn retire(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        queue.turn.activity = Activity::Old;
        self.bands[usize::from(queue.band)].old.push_back(index, &mut self.queues);
    }

    /// Takes the flow whose turn it is out of the list in which it is first.
    fn leave_list(&mut self, is_new: bool) {
        let band = &mut self.bands[self.band];
        let list = if is_new { &mut band.new } else { &mut band.old };
        list.pop_front(&mut self.queues);
    }

    /// `fq_check_throttled`: flows that may send by now become old ones.
    fn release_due(&mut self, now: Time) {
        while let Some(((due_at, _), index)) = self.waiting.first() {
            if due_at > now {
                return;
            }
            self.waiting.remove(index);
            self.waiting_len -= 1;
            self.retire(index);
        }
    }

    /// `fq_pband_head_select`, with the turns of the bands: the flow that is first, and whether it is new. `None` if
    /// all flows with packets wait.
    fn first(&mut self) -> Option<(u32, bool)> {
        let mut without_flows = 0;
        loop {
            let Band { new, old, credit, .. } = self.bands[self.band];
            if credit > 0 {
                let found = new.first().map(|index| (index, true)).or(old.first().map(|index| (index, false)));
                if found.is_some() {
                    return found;
                }
            }
            loop {
                without_flows += 1;
                if without_flows > BANDS {
                    return None;
                }
                self.band = (self.band + 1) % BANDS;
                let band = &mut self.bands[self.band];
                band.credit = (band.credit + band.weight).min(band.weight);
                if band.credit > 0 {
                    break;
                }
                without_flows = 0;
            }
        }
    }

    /// A packet of this length leaves the flow: when the next one may, by the longest rate.
    fn pace(&mut self, index: u32, len_bytes: u32, now: Time) {
        let Some((rate, after_each)) = self.pacing else { return };
        let queue = &mut self.queues[index as usize];
        let mut bytes = u64::from(len_bytes);
        if after_each {
            queue.turn.deficit = 0;
        } else if queue.turn.deficit > 0 {
            return;
        } else {
            bytes = bytes.max(self.quantum);
        }
        let mut gap = rate.transmission_time(bytes);
        if gap > LONGEST_GAP {
            gap = LONGEST_GAP;
            self.packets_too_long += 1;
        }
        if queue.next_packet_at > Time::ZERO {
            // Makes up for a late departure.
            gap = gap - now.since(queue.next_packet_at).min(gap / 2);
        }
        queue.next_packet_at = now.saturating_add(gap);
    }
}

impl<P: Packet> Discipline<P> for Fq<P> {
    /// `fq_enqueue`.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let Arrival { flow, len_bytes, class, .. } = packet.arrival();
        let class = self.priomap[usize::from(class) % self.priomap.len()];
        let band = &mut self.bands[usize::from(class)];
        if !self.limit.fits(band.backlog, len_bytes) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        if self.bypasses_flows() {
            self.fast_path_packets += 1;
            self.backlog.add(len_bytes);
            return self.fast_path.push_back(packet);
        }
        let index = self.queue_of(flow);
        let queue = &mut self.queues[index as usize];
        if queue.packets.len() >= self.flow_limit {
            self.flows_plimit += 1;
            return cx.sink.dropped(packet, DropReason::FlowLimit, false);
        }
        if queue.turn.activity == Activity::Inactive {
            if queue.inactive_since.is_some_and(|since| cx.now.since(since) > self.refill_delay) {
                queue.turn.deficit = queue.turn.deficit.max(self.quantum as i64);
            }
            queue.turn.activity = Activity::New;
            self.bands[usize::from(queue.band)].new.push_back(index, &mut self.queues);
        }
        let queue = &mut self.queues[index as usize];
        queue.band = class;
        self.active += u32::from(queue.packets.len() == 0);
        self.pool.push_noted(&mut queue.packets, packet, cx.now, class);
        self.bands[usize::from(class)].backlog.add(len_bytes);
        self.backlog.add(len_bytes);
    }

    /// `fq_dequeue`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if self.backlog.packets == 0 {
            return Served::Idle;
        }
        if let Some(packet) = self.fast_path.pop_front() {
            self.backlog.remove(packet.len_bytes());
            return Served::Packet(packet);
        }
        self.release_due(cx.now);
        while let Some((index, is_new)) = self.first() {
            let queue = &mut self.queues[index as usize];
            if queue.turn.deficit <= 0 {
                queue.turn.deficit += self.quantum as i64;
                self.leave_list(is_new);
                self.retire(index);
                continue;
            }
            let next_packet_at = queue.next_packet_at;
            if queue.packets.len() > 0 && next_packet_at > cx.now {
                self.leave_list(is_new);
                self.throttled += 1;
                self.waiting_len += 1;
                self.waiting.set(index, (next_packet_at, self.throttled));
                continue;
            }
            let Some((mut packet, came_at, class)) = self.pool.take_after(&mut queue.packets, None) else {
                // A new flow goes through the old ones, so that it cannot be new again before they had their turns.
                self.leave_list(is_new);
                if is_new {
                    self.retire(index);
                } else {
                    let queue = &mut self.queues[index as usize];
                    (queue.turn.activity, queue.inactive_since) = (Activity::Inactive, Some(cx.now));
                }
                continue;
            };
            let len_bytes = packet.len_bytes();
            queue.turn.deficit -= i64::from(len_bytes);
            self.active -= u32::from(queue.packets.len() == 0);
            self.bands[self.band].credit -= i64::from(len_bytes);
            self.bands[usize::from(class)].backlog.remove(len_bytes);
            self.backlog.remove(len_bytes);
            let waited = cx.now.since(came_at.max(next_packet_at));
            if self.ce_threshold.is_some_and(|threshold| waited > threshold) && packet.ecn().is_capable() {
                packet.mark_ce();
                cx.sink.marked(&packet, MarkReason::Forced);
            }
            self.pace(index, len_bytes, cx.now);
            return Served::Packet(packet);
        }
        self.waiting.first().map_or(Served::Idle, |((due_at, _), _)| Served::PollAt(due_at))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + heap_bytes(&self.queues) + self.waiting.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_flows", f64::from(self.active));
        visit("throttled_flows", f64::from(self.waiting_len));
        visit("throttled", self.throttled as f64);
        visit("flows_plimit", self.flows_plimit as f64);
        visit("fastpath", self.fast_path_packets as f64);
        visit("pkts_too_long", self.packets_too_long as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let queue = &self.queues[self.queue_of(flow) as usize];
        visit("length_bytes", queue.packets.bytes() as f64);
        visit("credit_bytes", queue.turn.deficit as f64);
        visit("band", f64::from(queue.band));
    }
}

#[cfg(test)]
#[path = "fq_tests.rs"]
mod tests;
