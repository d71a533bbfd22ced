//! SFQ, stochastic fair queueing: flows hashed to a fixed number of queues that take turns.
//!
//! # What it does
//! Each flow is hashed to one of a fixed number of buckets, and the buckets that hold packets take turns: one packet a
//! turn, or a quantum of bytes. Flows in one bucket share its turn. The hash may be changed from time to time, so that
//! no two flows share for long. All buckets share one buffer. When it is full, a packet of the longest bucket makes
//! room, so that a flood cannot take the buffer from other flows.
//!
//! # When to use it
//! Use it for nearly equal shares with a fixed number of queues. Flows that share a bucket share its turn, so it needs
//! several times as many buckets as flows. Nothing is dropped early: use `fq_codel` where the delay matters.
//!
//! # Example
//! ```toml
//! queue.sfq = { buckets = 1024, quantum = "1514 B" }
//! ```
//!
//! Set `buckets` first, to several times the number of flows. Without `quantum` each turn is one packet of any size, so
//! that flows with long packets get more. `perturbation_interval = "10 s"` changes the hash from time to time.
//!
//! # Source
//! P. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990. The quantum of bytes, the limit of each bucket and the
//! rehashing of queued packets follow Linux's `sch_sfq`; `ns2_admission` and the placement `ns2` follow ns-2 2.35's
//! `queue/sfq.cc`.
//!
//! # Where we differ
//! - "Longest" is in the unit of `limit`. Among equally long buckets, the one served most recently loses a packet;
//!   among those not served since they were last rehashed, the one with the smallest number.
//! - A change of the hash moves every queued packet to its new bucket at once, in the order in which the packets would
//!   have been sent, so that flows stay in order. The paper leaves the packets where they are, which may reorder flows.
//!   The change takes place at the first call at or after each multiple of `perturbation_interval`; intervals without a
//!   call have no effect.
//! - The quantum is charged by exact sizes, not by Linux's units of 8 bytes. As there, a turn lasts while any of the
//!   quantum is left, the next turn makes up for what was sent beyond it, and a bucket that runs empty is forgiven.
//! - ns-2's placement depends on addresses, which a discipline does not see. Here it depends on the flow's number, as
//!   if all flows had one destination and their sources were numbered in the scenario's order. Consecutive flows thus
//!   get consecutive buckets, as in ns-2 scripts that create their hosts in a loop; which flow gets bucket 0 depends on
//!   the script there. Where each flow has a destination of its own as well, ns-2's sums increase by 2 or more from
//!   flow to flow. For captured packets, whose keys are hashes, the placement is as random as the other, without a key.
//! - Linux's limits of 127 flows and packets are not copied.
//!
//! # Cost
//! 60 to 100 bytes for each bucket, regardless of the number of flows. O(log n) a packet with n buckets that hold
//! packets, to find the longest of them; with a quantum below the longest packet L also L / quantum turns for each of
//! them. A packet that arrives at a full buffer evicts one packet, or, where the limit is in bytes, as many as make
//! room for it. A change of the hash is linear in the buckets and the queued packets, each of which is visited four
//! times, once in each interval. No random numbers.
//!
//! # Parameters
//! See [`SfqConfig`].

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::indexed_heap::IndexedHeap;
use crate::limit::Limit;
use crate::memory::{heap_bytes, inline_bytes};
use crate::require;
use crate::round_robin::RoundRobin;
use crate::{
    Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, SfqPlacement, Time, hash_flow,
};

parameters! {
    /// Parameters of SFQ.
    pub struct SfqConfig {
        /// Limit of all buckets together, in packets or bytes, not counting the packet being sent. Default: 1000
        /// packets.
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// Number of buckets. Default: 1024 (Linux); ns-2 has 16.
        pub buckets: u32 = 1024;
        /// How flows are placed in buckets: `random` by a hash, or `ns2` in consecutive buckets, as ns-2 does for
        /// consecutive hosts. Default: `random` (paper).
        pub placement: SfqPlacement = SfqPlacement::Random;
        /// Limit of each bucket, in packets or bytes. Default: only `limit` (paper).
        pub bucket_limit: Option<QueueSize> = None;
        /// Bytes that a bucket may send in each turn. At least one packet makes a turn O(1). Default: one packet of any
        /// size (paper).
        pub quantum: Option<Bytes> = None;
        /// Time after which the hash changes; only for the `random` placement. Default: the hash never changes.
        pub perturbation_interval: Option<Span> = None;
        /// Whether a full buffer drops the head of the longest bucket instead of its tail. Default: no (paper).
        pub steal_from_head: bool = false;
        /// Whether a full bucket refuses arrivals by ns-2's rule, instead of packets being stolen from the longest.
        /// With `left` packets of room, a bucket takes no more if it holds `left / 2`, or more than `limit / buckets`
        /// while `left` is below `buckets`. `limit` must be in packets, and `buckets` no more than it. Default: no.
        pub ns2_admission: bool = false;
    }
}

/// When the hash changes, and to what.
#[derive(Clone, Copy, Debug)]
struct Perturbation {
    interval: Span,
    next: Time,
    base_salt: u64,
}

/// ns-2's rule of admission: the whole buffer and each bucket's even share of it, in packets.
#[derive(Clone, Copy, Debug)]
struct Ns2Admission {
    limit: u64,
    share: u64,
}

impl Ns2Admission {
    /// The rule for a buffer of `limit`. With more buckets than packets the share would be none: a bucket that holds a
    /// packet takes no other, and of a burst only the first packet is let in. ns-2 runs that. A buffer of one packet
    /// would let nothing in at all.
    fn new(limit: QueueSize, buckets: u32) -> Result<Self, ParameterError> {
        let QueueSize::Packets(limit) = limit else {
            return Err(ParameterError { field: "ns2_admission", bound: "come with a `limit` in packets" });
        };
        require(limit >= 2, "limit", "be at least 2 packets with `ns2_admission`, which leaves half of the room free")?;
        let bound = "be at most `limit` with `ns2_admission`, so that each has a share of a packet; ns-2 has 16 for 40 \
                     packets";
        require(u64::from(buckets) <= limit, "buckets", bound)?;
        Ok(Self { limit, share: limit / u64::from(buckets) })
    }

    /// Whether a bucket that holds `used` packets may take one more while all hold `total`.
    fn admits(self, used: u64, total: u64, buckets: u32) -> bool {
        let left = self.limit.saturating_sub(total);
        let crowded = left < u64::from(buckets) && used > self.share;
        left > 0 && used < left / 2 && !crowded
    }
}

/// Longest first; of equally long buckets the one served most recently.
type Longest = (Reverse<u64>, Reverse<u64>);

/// SFQ: stochastic fair queueing.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    limit: Limit,
    by_bytes: bool,
    bucket_limit: Option<Limit>,
    buckets: u32,
    placement: SfqPlacement,
    perturbation: Option<Perturbation>,
    salt: u64,
    steal_from_head: bool,
    ns2_admission: Option<Ns2Admission>,

    queues: RoundRobin<P>,
    longest: IndexedHeap<Longest>,
    /// The number of the last packet that each bucket sent, counted from 1; 0 for none since the hash changed.
    last_served: Vec<u64>,
    served: u64,
}

impl<P: Packet> Sfq<P> {
    /// An empty SFQ. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &SfqConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let buckets = check_buckets(config.buckets)?;
        let bucket_limit = config.bucket_limit.map(|size| Limit::new(size, "bucket_limit")).transpose()?;
        check_quantum(config.quantum)?;
        let interval = config.perturbation_interval;
        require(interval != Some(Span::ZERO), "perturbation_interval", "be more than zero")?;
        require(
            interval.is_none() || config.placement == SfqPlacement::Random,
            "perturbation_interval",
            "be left out with `placement = \"ns2\"`, which has no random hash to change",
        )?;
        let ns2_admission = config.ns2_admission.then(|| Ns2Admission::new(config.limit, buckets)).transpose()?;
        Ok(Self {
            limit,
            by_bytes: matches!(config.limit, QueueSize::Bytes(_)),
            bucket_limit,
            buckets,
            placement: config.placement,
            perturbation: interval.map(|interval| Perturbation {
                interval,
                next: Time::ZERO.saturating_add(interval),
                base_salt: salt,
            }),
            salt,
            steal_from_head: config.steal_from_head,
            ns2_admission,
            queues: RoundRobin::new(buckets, config.quantum),
            longest: IndexedHeap::new(),
            last_served: vec![0; buckets as usize],
            served: 0,
        })
    }

    fn bucket_of(&self, flow: FlowKey) -> u32 {
        self.placement.bucket(flow, self.salt, self.buckets)
    }

    /// Whether an arriving packet may join its bucket, as far as that alone decides.
    fn admits(&self, bucket: u32, len_bytes: u32) -> bool {
        let held = self.queues.backlog_of(bucket);
        let total = self.queues.backlog().packets;
        // A packet longer than the whole buffer comes first: no other packet should be lost for it.
        self.limit.fits(Backlog::default(), len_bytes)
            && self.bucket_limit.is_none_or(|limit| limit.fits(held, len_bytes))
            && self.ns2_admission.is_none_or(|rule| rule.admits(held.packets, total, self.buckets))
    }

    /// Notes how long a bucket is now.
    fn resized(&mut self, bucket: u32) {
        let held = self.queues.backlog_of(bucket);
        if held.packets == 0 {
            self.longest.remove(bucket);
        } else {
            let length = if self.by_bytes { held.bytes } else { held.packets };
            self.longest.set(bucket, (Reverse(length), Reverse(self.last_served[bucket as usize])));
        }
    }

    /// Drops a packet of the longest bucket. `arrived` is the bucket whose last packet has just arrived.
    fn steal(&mut self, arrived: u32, cx: &mut Cx<'_, P>) {
        let Some((_, victim)) = self.longest.first() else { return };
        let last_one = self.queues.backlog_of(victim).packets == 1;
        let is_arrival = victim == arrived && (last_one || !self.steal_from_head);
        let stolen = if self.steal_from_head { self.queues.take_first(victim) } else { self.queues.take_last(victim) };
        self.resized(victim);
        let Some(packet) = stolen else { return };
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(packet, reason, !is_arrival);
    }

    /// Changes the hash if an interval has ended since it was last changed.
    fn perturb_if_due(&mut self, cx: &mut Cx<'_, P>) {
        let Some(perturbation) = &mut self.perturbation else { return };
        if cx.now < perturbation.next {
            return;
        }
        let interval = perturbation.interval;
        let epoch = cx.now.picoseconds() / interval.picoseconds();
        perturbation.next = Time::from_picoseconds(epoch * interval.picoseconds()).saturating_add(interval);
        self.salt = hash_flow(FlowKey(epoch), perturbation.base_salt);
        self.rehash(cx);
    }

    /// Moves each queued packet to its bucket under the hash that is in use now. A packet without room in its bucket is
    /// dropped.
    fn rehash(&mut self, cx: &mut Cx<'_, P>) {
        (0..self.buckets).for_each(|bucket| self.longest.remove(bucket));
        self.last_served.fill(0);
        let (placement, salt, buckets, limit) = (self.placement, self.salt, self.buckets, self.bucket_limit);
        self.queues.rearrange(
            |queues, packet| {
                let bucket = placement.bucket(packet.flow(), salt, buckets);
                let fits = |limit: Limit| limit.fits(queues.backlog_of(bucket), packet.len_bytes());
                limit.is_none_or(fits).then_some(bucket)
            },
            |packet| cx.sink.dropped(packet, DropReason::Overflow, true),
        );
        (0..self.buckets).for_each(|bucket| self.resized(bucket));
    }
}

/// Checks a number of buckets.
pub(crate) fn check_buckets(buckets: u32) -> Result<u32, ParameterError> {
    require((1..=1 << 20).contains(&buckets), "buckets", "be between 1 and 1048576")?;
    Ok(buckets)
}

/// Checks a quantum, if there is one.
pub(crate) fn check_quantum(quantum: Option<Bytes>) -> Result<(), ParameterError> {
    let holds = quantum.is_none_or(|quantum| (1..=1 << 32).contains(&quantum.0));
    require(holds, "quantum", "be between 1 B and 4294967296 B")
}

impl<P: Packet> Discipline<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        self.perturb_if_due(cx);
        let bucket = self.bucket_of(packet.flow());
        if !self.admits(bucket, packet.len_bytes()) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.queues.push_back(bucket, packet);
        self.resized(bucket);
        while self.limit.is_exceeded_by(self.queues.backlog()) {
            self.steal(bucket, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        self.perturb_if_due(cx);
        let Some((bucket, packet)) = self.queues.pop() else { return Served::Idle };
        self.served += 1;
        self.last_served[bucket as usize] = self.served;
        self.resized(bucket);
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queues.heap_bytes() + self.longest.heap_bytes() + heap_bytes(&self.last_served)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        let longest = self.longest.first().map(|(_, bucket)| self.queues.backlog_of(bucket)).unwrap_or_default();
        visit("active_buckets", f64::from(self.queues.active()));
        visit("longest_bucket_packets", longest.packets as f64);
        visit("longest_bucket_bytes", longest.bytes as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let bucket = self.bucket_of(flow);
        visit("bucket", f64::from(bucket));
        visit("bucket_packets", self.queues.backlog_of(bucket).packets as f64);
        visit("bucket_bytes", self.queues.backlog_of(bucket).bytes as f64);
    }
}

#[cfg(test)]
#[path = "sfq_tests.rs"]
mod tests;
