//! CAKE: a shaper, priorities for classes of traffic, fairness by host and by flow, and COBALT on each queue.
//!
//! # What it does
//! CAKE shapes to a bandwidth below that of the link, so that packets wait here and not in a modem. It counts each
//! packet as long as it is on the link, with headers and cells. Packets go into *tins* by their traffic class: a tin
//! has priority up to its part of the bandwidth, and none beyond it. Within a tin each flow has a queue, to which a
//! set-associative hash leads, so that two flows seldom share one. The queues take turns, those of sparse flows first,
//! and by default a host with many flows gets no more than a host with one. COBALT acts on each queue: CoDel for flows
//! that respond, BLUE for those that do not. If the buffer is full, the longest queue loses its first packet.
//!
//! # When to use it
//! Use it for the queue of a home or an office, in both directions: set `bandwidth` a little below that of the link.
//! Without `bandwidth` it serves a link whose own queue is short, as `fq_codel` does.
//!
//! # Example
//! ```toml
//! queue.cake = { bandwidth = "19 Mbps", link_layer = "docsis" }
//! ```
//!
//! `link_layer` has the overheads of common links; `overhead`, `mpu` and `framing` set them one by one. The `class` of
//! a group of flows is its DSCP: 46 is voice, 8 is bulk. In the direction from the Internet set `ingress = true`.
//! `ack_filter = "on"` helps where the other direction is much faster.
//!
//! # Source
//! Linux's `sch_cake` of 2026; T. Hoeiland-Joergensen, D. Taht and J. Morton, "Piece of CAKE: A Comprehensive Queue
//! Management Solution for Home Gateways", LANMAN 2018. Keywords and presets are those of iproute2.
//!
//! # Where we differ
//! - Lengths count in place of the kernel's buffers, in the memory limit as well. `limit` may be in packets.
//! - Times are picoseconds, and the time of a packet is rounded to one, not cut off at a nanosecond.
//! - In COBALT, BLUE decides first: a packet that it drops is not marked before. Its probability is a double.
//! - Packets are never aggregated here, so that there is nothing to split (`split-gso`). No NAT is undone (`nat`), and
//!   neither firewall marks nor priorities of sockets choose a tin. ACKs of IPv6 in IPv4 are not filtered.
//! - Linux sets a timer for decaying queues when the last packet has left. It finds an empty queue and does nothing;
//!   there is none here.
//! - `autorate_ingress` changes the bandwidth at the end of each window, as Linux does. Its code has a least
//!   interval of 250 ms, but never stores the time of a change.
//! - A filtered ACK counts as `dropped_match`. The hash of flows is another one, and not symmetric.
//! - `cake_mq`, one instance for each hardware queue, is not offered: a link has one queue.
//!
//! # Cost
//! About 105 KB for each tin that has had a packet, and 16 bytes per queued packet; with an ACK filter 80 bytes more. A
//! packet takes O(1), with a random number for each turn of a queue, and the time of its length at most twice. A turn
//! brings a host's share of `quantum`: a packet may wait for many turns of all queues if that is less than its length.
//! The ACK filter looks at all packets of the queue. If the buffer is full, a packet costs as many others as make room
//! for it, and for the next 65 535 packets O(log n) with n queues that hold packets. One call may drop all packets of a
//! queue but the last.
//!
//! # Gauges
//! Those of the tins are named as in `tc -s`: `tin0_thresh_bps`, `tin0_pk_delay_s`, `tin0_drops` and so on, where tin 0
//! is the one that `tc` shows first: bulk with `diffserv3` and `diffserv4`. `memory_used_bytes` is the most so far.
//!
//! # Parameters
//! See [`CakeConfig`].

mod ack_filter;
mod autorate;
mod flow_lists;
mod flow_table;
mod lengths;
mod round_trip;
mod shaper;
mod sizes;
mod statistics;
mod tin;
mod tins;

use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::{QueueSize, Rate};

pub use self::ack_filter::CakeAckFilter;
use self::ack_filter::{Segment, redundant};
use self::autorate::Autorate;
pub use self::flow_table::CakeIsolation;
use self::lengths::Lengths;
pub use self::round_trip::CakeRoundTrip;
use self::shaper::Shaper;
use self::sizes::{MTU_BYTES, QUEUES};
use self::statistics::gauges;
use self::tin::Tin;
pub use self::tins::CakeTins;
use crate::cobalt::CobaltVerdict;
use crate::framing::{CellFraming, Framing, LinkLayer};
use crate::indexed_heap::IndexedHeap;
use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::packet_pool::PacketPool;
use crate::{
    Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, Span, Time, hash_flow, require,
};

parameters! {
    /// Parameters of CAKE.
    pub struct CakeConfig {
        /// Rate to which traffic is shaped, counted with `overhead`, `mpu` and `framing`. Default: none (Linux:
        /// `unlimited`); the link's rate is the limit then, and tins take turns by their shares.
        pub bandwidth: Option<Rate> = None;
        /// Tins into which packets go by their DSCP. Default: `diffserv3` (Linux).
        pub tins: CakeTins = CakeTins::Diffserv3;
        /// Whose packets share a queue, and between whom the bandwidth is shared. Default: `triple-isolate` (Linux).
        pub isolation: CakeIsolation = CakeIsolation::TripleIsolate;
        /// Round-trip time for which COBALT is configured: its interval, and 20 times its target. Or one of the words
        /// `datacentre` (0.1 ms), `lan` (1), `metro` (10), `regional` (30), `internet` (100), `oceanic` (300),
        /// `satellite` (1000) and `interplanetary` (an hour). Default: 100 ms (Linux).
        pub rtt: CakeRoundTrip = CakeRoundTrip(Span::from_milliseconds(100));
        /// Preset of `overhead`, `mpu` and `framing` for a kind of link, by the keyword of `tc`. Default: none; packets
        /// count as they are (Linux: `raw`).
        pub link_layer: Option<LinkLayer> = None;
        /// Number of VLAN tags, each of which adds 4 bytes to the overhead (Linux: `ether-vlan`). Default: 0.
        pub vlan_tags: u32 = 0;
        /// Bytes that the link adds to each IP packet; may be negative. Default: that of `link_layer`.
        pub overhead: Option<i32> = None;
        /// Least length of a packet on the link in bytes, overhead included. Default: that of `link_layer`, else 0.
        pub mpu: Option<u32> = None;
        /// Cells of the link. Default: those of `link_layer`, else `none`.
        pub framing: Option<CellFraming> = None;
        /// Whether ACKs are dropped that later ones in the same queue make redundant. Default: `off` (Linux).
        pub ack_filter: CakeAckFilter = CakeAckFilter::Off;
        /// Whether the queue is behind the bottleneck, at the end of the link: dropped packets have taken their time on
        /// it, too. Default: no (Linux: `egress`).
        pub ingress: bool = false;
        /// Whether the bandwidth follows the rate at which packets arrive, which begins at `bandwidth`. Default: no
        /// (Linux).
        pub autorate_ingress: bool = false;
        /// Whether the DSCP is cleared after it was used. Default: no (Linux: `nowash`).
        pub wash: bool = false;
        /// Limit of all queues together, in packets or bytes, not counting the packet being sent (Linux: `memlimit`).
        /// Default: the bytes of four round trips at `bandwidth`, at least 4 MiB and at most 15.5 MB; without
        /// `bandwidth` 15.5 MB (10240 packets of 1514 B).
        pub limit: Option<QueueSize> = None;
    }
}

/// Packets of the maximum size that the queues hold at most, unless a limit is given.
const MOST_PACKETS: u64 = 10_240;

/// Least limit that follows from a bandwidth.
const LEAST_LIMIT_BYTES: u64 = 4 << 20;

/// How many packets are sent after an overflow before the order of the queues by length is given up.
const RANKED_DEQUEUES: u16 = 65_535;

/// The DSCP that packets of the address resolution protocol count as: CS7.
const DSCP_OF_ARP: u8 = 56;

/// CAKE: common applications kept enhanced.
#[derive(Clone, Debug)]
pub struct Cake<P> {
    sorting: CakeTins,
    isolation: CakeIsolation,
    salt: u64,
    rtt: Span,
    framing: Framing,
    ack_filter: CakeAckFilter,
    ingress: bool,
    wash: bool,
    autorate: Option<Autorate>,
    /// The limit that is given, and the one that applies.
    given_limit: Option<QueueSize>,
    limit: Limit,
    limit_bytes: u64,

    tins: Vec<Tin>,
    /// The tin in turn, where nothing is shaped.
    tin_in_turn: usize,
    shaper: Shaper,
    /// Each with its bytes on the link.
    pool: PacketPool<P, u32>,
    /// The TCP segments in the pool, for the ACK filter.
    segments: Vec<Option<Segment>>,
    /// Queues by length, while `ranked` is not 0: so many packets are sent before the order is given up.
    longest: IndexedHeap<Reverse<u64>>,
    ranked: u16,
    backlog: Backlog,
    most_bytes: u64,
    lengths: Lengths,
}

impl CakeConfig {
    /// The limit of all queues together: the largest one, if `autorate_ingress` changes the bandwidth.
    #[must_use]
    pub fn whole_limit(&self) -> QueueSize {
        let bandwidth = self.bandwidth.filter(|_| !self.autorate_ingress);
        let bytes_per_second = bandwidth.map_or(0, |rate| rate.bits_per_second() / 8);
        self.limit.unwrap_or_else(|| default_limit(bytes_per_second, self.rtt.0))
    }
}

impl<P: Packet> Cake<P> {
    /// An empty CAKE. `salt` goes into the hashes of flows and hosts; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &CakeConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let bytes_per_second = config.bandwidth.map_or(0, |rate| rate.bits_per_second() / 8);
        require(config.bandwidth.is_none() || bytes_per_second >= 64, "bandwidth", "be at least 512 bps")?;
        let CakeRoundTrip(rtt) = config.rtt;
        let rtt_bounds = Span::from_microseconds(1)..=Span::from_seconds(3600);
        require(rtt_bounds.contains(&rtt), "rtt", "be between 1 us and 1 h")?;
        let framing = Framing::new(config.link_layer, config.vlan_tags, config.overhead, config.mpu, config.framing)?;
        let shares = config.tins.shares(bytes_per_second);
        let (limit, limit_bytes) = limit(config.limit, bytes_per_second, rtt)?;
        let mut cake = Self {
            sorting: config.tins,
            isolation: config.isolation,
            salt,
            rtt,
            framing,
            ack_filter: config.ack_filter,
            ingress: config.ingress,
            wash: config.wash,
            autorate: config.autorate_ingress.then(|| Autorate::new(bytes_per_second)),
            given_limit: config.limit,
            limit,
            limit_bytes,
            tins: shares.into_iter().map(|share| Tin::new(share, rtt)).collect(),
            tin_in_turn: 0,
            shaper: Shaper::new(bytes_per_second),
            pool: PacketPool::new(),
            segments: Vec::new(),
            longest: IndexedHeap::new(),
            ranked: 0,
            backlog: Backlog::default(),
            most_bytes: 0,
            lengths: Lengths::NONE,
        };
        // Most traffic has no class.
        let usual = usize::from(config.tins.tin_of()[0]);
        cake.tins[usual].open(config.isolation);
        Ok(cake)
    }

    /// `cake_select_tin`: the tin of a packet, by its class.
    fn select_tin(&self, packet: &P, cx: &Cx<'_, P>) -> usize {
        if self.sorting == CakeTins::Besteffort {
            return 0;
        }
        let dscp = match packet.class() {
            0 if cx.flow_info().is_arp(packet) => DSCP_OF_ARP,
            class => class % 64,
        };
        usize::from(self.sorting.tin_of()[usize::from(dscp)])
    }

    /// `cake_hash`: the queue of a packet in its tin.
    fn classify(&mut self, tin: usize, packet: &P, cx: &Cx<'_, P>) -> usize {
        let (isolation, salt) = (self.isolation, self.salt);
        let host_hashes = || {
            let hosts = cx.flow_info().hosts(packet);
            // With other salts, so that a host is another one as a sender than as a receiver.
            [hash(hosts.source, !salt), hash(hosts.destination, salt.rotate_left(32))]
        };
        let table = &mut self.tins[tin].open(isolation).table;
        if isolation.is_by_flow() {
            return table.classify(hash(packet.flow().0, salt), host_hashes);
        }
        if isolation == CakeIsolation::Flowblind {
            return 0;
        }
        let [source, destination] = host_hashes();
        let flow_hash = match isolation {
            CakeIsolation::Srchost => source,
            CakeIsolation::Dsthost => destination,
            _ => source ^ destination,
        };
        table.classify(flow_hash, || [source, destination])
    }

    /// `cake_reconfigure`: the bandwidth has changed.
    fn set_bandwidth(&mut self, bytes_per_second: u64) {
        for (tin, share) in self.tins.iter_mut().zip(self.sorting.shares(bytes_per_second)) {
            tin.set_share(share, self.rtt);
        }
        self.shaper.set_rate(bytes_per_second);
        // The parameters have been checked.
        if let Ok((limit, limit_bytes)) = limit(self.given_limit, bytes_per_second, self.rtt) {
            (self.limit, self.limit_bytes) = (limit, limit_bytes);
        }
    }

    /// `cake_advance_shaper`.
    fn charge(&mut self, tin: usize, adjusted_bytes: u32, dropped: bool, now: Time) {
        if self.shaper.meter.is_limited() {
            self.tins[tin].clock.charge(adjusted_bytes, now);
            self.shaper.charge(adjusted_bytes, dropped);
        }
    }

    /// Takes a packet out of a queue: the first one, or the one behind that at `before`. With its arrival and its bytes
    /// on the link.
    fn take(&mut self, tin: usize, index: usize, before: Option<usize>) -> Option<(P, Time, u32)> {
        let of_tin = &mut self.tins[tin];
        let packets = &mut of_tin.queues_mut().table.queues[index].packets;
        let taken = self.pool.take_after(packets, before)?;
        let len_bytes = u64::from(taken.0.len_bytes());
        of_tin.backlog_bytes -= len_bytes;
        self.backlog.packets -= 1;
        self.backlog.bytes -= len_bytes;
        if self.ranked > 0 {
            self.rank(tin, index);
        }
        Some(taken)
    }

    /// Keeps the order of the queues by length.
    fn rank(&mut self, tin: usize, index: usize) {
        let slot = (tin * QUEUES + index) as u32;
        let packets = self.tins[tin].queues_mut().table.queues[index].packets;
        match packets.len() {
            0 => self.longest.remove(slot),
            _ => self.longest.set(slot, Reverse(packets.bytes())),
        }
    }

    /// Orders the queues by length, unless they are in order.
    fn rank_all(&mut self) {
        if core::mem::replace(&mut self.ranked, RANKED_DEQUEUES) > 0 {
            return;
        }
        for tin in 0..self.tins.len() {
            let indices = if self.tins[tin].queues().is_some() { 0..QUEUES } else { 0..0 };
            indices.for_each(|index| self.rank(tin, index));
        }
    }

    /// `cake_drop`: drops from the head of the longest queue. `arrived` is the queue whose last packet has just come.
    fn drop_from_longest(&mut self, arrived: (usize, usize), cx: &mut Cx<'_, P>) {
        self.rank_all();
        let Some((_, slot)) = self.longest.first() else { return };
        let (tin, index) = (slot as usize / QUEUES, slot as usize % QUEUES);
        let is_last = self.tins[tin].queues_mut().table.queues[index].packets.len() == 1;
        let is_arrival = (tin, index) == arrived && is_last;
        let Some((packet, _, adjusted_bytes)) = self.take(tin, index, None) else { return };
        self.tins[tin].overflowed(index, cx.now);
        self.tins[tin].statistics.drops += 1;
        if self.ingress {
            self.charge(tin, adjusted_bytes, true, cx.now);
        }
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(packet, reason, !is_arrival);
    }

    /// `cake_ack_filter`: drops an ACK that the last packet of a queue, a TCP segment, makes redundant. Returns its
    /// length.
    fn filter_acks(&mut self, tin: usize, index: usize, newcomer: &Segment, cx: &mut Cx<'_, P>) -> Option<u32> {
        let packets = self.tins[tin].queues_mut().table.queues[index].packets;
        let others = self.pool.places(&packets).take(packets.len() as usize - 1);
        let segments = others.map(|place| (place, self.segments[place].as_ref()));
        let redundant = redundant(segments, newcomer, self.ack_filter == CakeAckFilter::Aggressive)?;
        let before = self.pool.places(&packets).take_while(|&place| place != redundant).last();
        let (packet, _, adjusted_bytes) = self.take(tin, index, before)?;
        self.tins[tin].statistics.ack_drops += 1;
        if self.ingress {
            self.charge(tin, adjusted_bytes, true, cx.now);
        }
        let len_bytes = packet.len_bytes();
        cx.sink.dropped(packet, DropReason::Match, true);
        Some(len_bytes)
    }

    /// The packet comes to its queue.
    fn append(&mut self, tin: usize, index: usize, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        let network_bytes = self.framing.network_bytes(len_bytes, || cx.flow_info().framing_bytes(&packet));
        let adjusted_bytes = self.framing.adjusted_bytes(network_bytes);
        self.lengths.note(network_bytes, adjusted_bytes);
        let segment = match self.ack_filter {
            CakeAckFilter::Off => None,
            _ => {
                let header = cx.flow_info().tcp_header(&packet);
                header.map(|header| Segment { flow: packet.flow(), header })
            }
        };
        let of_tin = &mut self.tins[tin];
        of_tin.statistics.arrived(len_bytes);
        of_tin.backlog_bytes += u64::from(len_bytes);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(len_bytes);
        let packets = &mut of_tin.queues_mut().table.queues[index].packets;
        let place = self.pool.push_noted(packets, packet, cx.now, adjusted_bytes);
        if self.ack_filter != CakeAckFilter::Off {
            self.segments.resize(self.segments.len().max(place + 1), None);
            self.segments[place] = segment;
        }
        let filtered = segment.and_then(|segment| self.filter_acks(tin, index, &segment, cx));
        if self.ranked > 0 {
            self.rank(tin, index);
        }
        let grown_bytes = u64::from(len_bytes).saturating_sub(u64::from(filtered.unwrap_or(0)));
        let bandwidth = self.autorate.as_mut().and_then(|autorate| autorate.arrived(grown_bytes, cx.now));
        if let Some(bytes_per_second) = bandwidth {
            self.set_bandwidth(bytes_per_second);
        }
    }

    /// `cake_dequeue`, "choose a class to work on". There are packets.
    fn choose_tin(&mut self, now: Time) -> Option<usize> {
        if self.shaper.meter.is_limited() {
            // The last one within its rate, else the one that will be first.
            let mut best = None;
            for (place, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
                let next = tin.clock.next;
                if next <= now || best.is_none_or(|(first, _)| next <= first) {
                    best = Some((next, place));
                }
            }
            return best.map(|(_, place)| place);
        }
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        loop {
            let tin = &mut self.tins[self.tin_in_turn];
            if tin.deficit >= 0 && tin.is_active() {
                return Some(self.tin_in_turn);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.share.quantum;
            }
            self.tin_in_turn = (self.tin_in_turn + 1) % self.tins.len();
        }
    }

    /// Charges a packet of a queue that has been sent, or `dropped` at the end of the link.
    fn charge_queue(&mut self, tin: usize, index: usize, adjusted_bytes: u32, dropped: bool, now: Time) {
        self.charge(tin, adjusted_bytes, dropped, now);
        let of_tin = &mut self.tins[tin];
        of_tin.queues_mut().table.queues[index].deficit -= adjusted_bytes as i32;
        if !self.shaper.meter.is_limited() {
            of_tin.deficit -= adjusted_bytes as i32;
        }
    }

    /// `cake_dequeue`, "retrieve a packet via the AQM".
    fn serve_queue(&mut self, tin: usize, index: usize, cx: &mut Cx<'_, P>) -> Outcome<P> {
        loop {
            let Some((mut packet, came_at, adjusted_bytes)) = self.take(tin, index, None) else {
                self.tins[tin].ran_empty(index, cx.now);
                return Outcome::Empty;
            };
            let delay = cx.now.since(came_at);
            let of_tin = &mut self.tins[tin];
            let law = if self.ingress { of_tin.ingress_law() } else { of_tin.law };
            let queue = &mut of_tin.queues_mut().table.queues[index];
            let is_last = queue.packets.len() == 0;
            match queue.cobalt.judge(&law, &mut packet, delay, is_last, cx) {
                CobaltVerdict::Drop => {
                    of_tin.statistics.drops += 1;
                    if self.ingress {
                        self.charge_queue(tin, index, adjusted_bytes, true, cx.now);
                    }
                    cx.sink.dropped(packet, DropReason::Early, true);
                    if self.ingress {
                        return Outcome::Dropped;
                    }
                }
                verdict => {
                    of_tin.statistics.marks += u64::from(verdict == CobaltVerdict::Mark);
                    of_tin.statistics.sent(delay);
                    self.charge_queue(tin, index, adjusted_bytes, false, cx.now);
                    return Outcome::Packet(packet);
                }
            }
        }
    }
}

/// A packet out of a queue, or none.
enum Outcome<P> {
    Packet(P),
    /// A packet was dropped, whose time on the link has passed: another queue may be in turn.
    Dropped,
    /// There was no packet.
    Empty,
}

impl<P: Packet> Discipline<P> for Cake<P> {
    /// `cake_enqueue`.
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        if !self.limit.fits(Backlog::default(), packet.len_bytes()) {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let tin = self.select_tin(&packet, cx);
        let index = self.classify(tin, &packet, cx);
        if self.wash {
            packet.set_class(0);
        }
        if self.tins[tin].backlog_bytes == 0 {
            self.tins[tin].clock.wake(cx.now);
        }
        if self.backlog.packets == 0 {
            self.shaper.wake(cx.now);
        }
        self.append(tin, index, packet, cx);
        self.tins[tin].arrived(index, cx.rng);
        self.most_bytes = self.most_bytes.max(self.backlog.bytes);
        while self.limit.is_exceeded_by(self.backlog) {
            self.drop_from_longest((tin, index), cx);
        }
    }

    /// `cake_dequeue`.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let mut is_first = true;
        while self.backlog.packets > 0 {
            if let Some(at) = self.shaper.closed_until(cx.now) {
                return Served::PollAt(at);
            }
            let Some(tin) = self.choose_tin(cx.now) else { break };
            while let Some(index) = self.tins[tin].next_queue(core::mem::take(&mut is_first)) {
                if self.tins[tin].queues_mut().table.queues[index].deficit <= 0 {
                    self.tins[tin].end_turn(index, cx.rng);
                    continue;
                }
                match self.serve_queue(tin, index, cx) {
                    Outcome::Packet(packet) => {
                        self.ranked = self.ranked.saturating_sub(1);
                        return Served::Packet(packet);
                    }
                    Outcome::Dropped => {}
                    Outcome::Empty => break,
                }
            }
        }
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        let tins = self.tins.iter().map(|tin| inline_bytes(tin) + tin.heap_bytes()).sum::<u64>();
        inline_bytes(self) + tins + self.longest.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("memory_used_bytes", self.most_bytes as f64);
        visit("memory_limit_bytes", self.limit_bytes as f64);
        let capacity = self.autorate.map_or(0, |autorate| autorate.peak);
        visit("capacity_estimate_bps", capacity as f64 * 8.0);
        let shown = |bytes: u32| if bytes == u32::MAX { 0.0 } else { f64::from(bytes) };
        let Lengths { network: [min_network, max_network], adjusted: [min_adjusted, max_adjusted] } = self.lengths;
        visit("min_network_bytes", shown(min_network));
        visit("max_network_bytes", shown(max_network));
        visit("min_adjusted_bytes", shown(min_adjusted));
        visit("max_adjusted_bytes", shown(max_adjusted));
        for (place, &tin) in self.sorting.order().iter().enumerate() {
            gauges(place, &self.tins[tin], visit);
        }
    }

    /// Those of the flow's queue, where each flow has one: in the first tin in which it is in use.
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        if !self.isolation.is_by_flow() {
            return;
        }
        let flow_hash = hash(flow.0, self.salt);
        let found = self.tins.iter().filter_map(Tin::queues).find_map(|queues| queues.table.find(flow_hash));
        let mut show = |name, value: fn(&flow_table::FlowQueue) -> f64| visit(name, found.map_or(0.0, value));
        show("length_bytes", |queue| queue.packets.bytes() as f64);
        show("deficit_bytes", |queue| f64::from(queue.deficit));
        show("count", |queue| f64::from(queue.cobalt.count));
        show("dropping", |queue| f64::from(u8::from(queue.cobalt.dropping)));
        show("p_drop", |queue| queue.cobalt.probability);
        show("drop_next_s", |queue| queue.cobalt.drop_next.seconds());
    }
}

fn hash(key: u64, salt: u64) -> u32 {
    hash_flow(FlowKey(key), salt) as u32
}

/// `cake_reconfigure`: the limit that applies, and its bytes.
fn limit(given: Option<QueueSize>, bytes_per_second: u64, rtt: Span) -> Result<(Limit, u64), ParameterError> {
    let size = given.unwrap_or_else(|| default_limit(bytes_per_second, rtt));
    let bytes = match size {
        QueueSize::Bytes(bytes) => bytes,
        QueueSize::Packets(packets) => packets.saturating_mul(u64::from(MTU_BYTES)),
    };
    Ok((Limit::new(size, "limit")?, bytes))
}

fn default_limit(bytes_per_second: u64, rtt: Span) -> QueueSize {
    let most = MOST_PACKETS * u64::from(MTU_BYTES);
    let four_round_trips = u128::from(bytes_per_second) * u128::from(rtt.picoseconds()) / 250_000_000_000;
    QueueSize::Bytes(match bytes_per_second {
        0 => most,
        _ => u64::try_from(four_round_trips).unwrap_or(u64::MAX).max(LEAST_LIMIT_BYTES).min(most),
    })
}

#[cfg(test)]
#[path = "cake_tests.rs"]
mod tests;
