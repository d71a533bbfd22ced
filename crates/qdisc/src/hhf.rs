//! HHF, heavy-hitter filter: a queue for the flows that send most, and one with twice its share for the others.
//!
//! # What it does
//! A filter of hashed counters finds the flows that send more than `admit_bytes` within `reset_timeout`, by default
//! those above about 26 Mb/s: heavy hitters. Their packets share one queue, and those of all other flows another one.
//! The queues share the link 1 to 2 by deficit round robin. If the queue of the other flows was empty, their next
//! packets go first. When the buffer is full, the oldest packet of the heavy hitters is dropped, or, if there is none,
//! the oldest of all.
//!
//! # When to use it
//! Use it to protect short flows and slow ones from bulk transfers, with little state. Within each of the queues all
//! flows share one FIFO queue without early drops: use `fq_codel` for equal shares or a short delay.
//!
//! # Example
//! ```toml
//! queue.hhf = { admit_bytes = "64 KiB", reset_timeout = "100 ms" }
//! ```
//!
//! Set `admit_bytes` and `reset_timeout` first: their ratio is the rate above which a flow is a heavy hitter. With the
//! defaults no flow of a link below 26 Mb/s is one.
//!
//! # Source
//! Linux, `net/sched/sch_hhf.c` of version 6.18, by T. Lam and N. Dukkipati. The filter is that of C. Estan and
//! G. Varghese, "New Directions in Traffic Measurement and Accounting", SIGCOMM 2002, with its shielding (section
//! 3.3.1) and its conservative update of counters (section 3.3.2).
//!
//! # Where we differ
//! - Times are exact, in Linux rounded to ticks of its clock.
//! - `limit` may be in bytes: an arrival then costs as many packets as make room for it.
//! - The hash of flows is ours, and its salt depends on the seed of the run.
//!
//! As in Linux, flows are known by 32 bits of a hash, and a flow that becomes a heavy hitter may overtake itself: its
//! earlier packets are still in the other queue.
//!
//! # Cost
//! 20 KB, and 16 bytes for each of at most `hh_limit` heavy hitters. A packet takes O(1) on average: it looks at four
//! counters, and at the heavy hitters in one of 1024 lists. One arrival in each `reset_timeout` clears the 4096
//! counters. Where the limit is in bytes, an arrival drops as many packets as make room for it. No random numbers.
//!
//! # Parameters
//! See [`HhfConfig`].

use alloc::collections::VecDeque;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::require;
use crate::{Backlog, Cx, Discipline, DropReason, FlowKey, Packet, ParameterError, Served, hash_flow};

mod classifier;

use classifier::{Class, Classifier, MOST_HEAVY_HITTERS};

parameters! {
    /// Parameters of HHF. Gauges have the names of `tc -s qdisc`.
    pub struct HhfConfig {
        /// Limit of both queues together, in packets or bytes, not counting the packet being sent. Default: 1000
        /// packets (Linux).
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// Quantum: bytes that the heavy hitters may send in their turn. Default: 1514 B, an Ethernet's MTU with its
        /// header (Linux).
        pub quantum: Bytes = Bytes(1514);
        /// Share of the other flows in relation to that of the heavy hitters. Default: 2 (Linux).
        pub non_hh_weight: u32 = 2;
        /// Most heavy hitters that are known at a time, up to 2048. Default: 2048 (Linux).
        pub hh_limit: u32 = MOST_HEAVY_HITTERS;
        /// Bytes that a flow may send within `reset_timeout`; with more it becomes a heavy hitter. Default: 128 KiB
        /// (Linux).
        pub admit_bytes: Bytes = Bytes(128 << 10);
        /// Time after which the counters start again at 0. Default: 40 ms (Linux).
        pub reset_timeout: Span = Span::from_milliseconds(40);
        /// Time without a packet after which a flow is no longer a heavy hitter. Default: 1 s (Linux).
        pub evict_timeout: Span = Span::from_seconds(1);
    }
}

impl HhfConfig {
    /// Checks every field but the limit.
    fn check(&self) -> Result<(), ParameterError> {
        const MOST_BYTES: u64 = i32::MAX as u64;
        let tick = Span::from_milliseconds(1);
        require((1..=MOST_BYTES).contains(&self.quantum.0), "quantum", "be between 1 B and 2147483647 B")?;
        let weighted = self.quantum.0 * u64::from(self.non_hh_weight);
        let bound = "be at least 1, and at most 2147483647 B divided by `quantum`";
        require((1..=MOST_BYTES).contains(&weighted), "non_hh_weight", bound)?;
        require(self.hh_limit <= MOST_HEAVY_HITTERS, "hh_limit", "be at most 2048")?;
        require(u32::try_from(self.admit_bytes.0).is_ok(), "admit_bytes", "be at most 4294967295 B")?;
        require(self.reset_timeout >= tick, "reset_timeout", "be at least 1 ms")?;
        require(self.evict_timeout >= tick, "evict_timeout", "be at least 1 ms")
    }
}

/// The place of a queue in the order of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Inactive,
    New,
    Old,
}

/// One of the two queues.
#[derive(Clone, Debug)]
struct Bucket<P> {
    packets: VecDeque<P>,
    quantum: i64,
    /// Bytes that it may still send in its turn; negative when it has overdrawn.
    deficit: i64,
    place: Place,
}

impl<P> Bucket<P> {
    fn new(quantum: u64) -> Self {
        Self { packets: VecDeque::new(), quantum: quantum as i64, deficit: 0, place: Place::Inactive }
    }
}

/// HHF: heavy-hitter filter.
#[derive(Clone, Debug)]
pub struct Hhf<P> {
    limit: Limit,
    salt: u64,
    classifier: Classifier,
    /// By [`Class`].
    buckets: [Bucket<P>; 2],
    /// Which of them is first if both are old.
    first_old: usize,
    backlog: Backlog,
    drop_overlimit: u64,
}

impl<P: Packet> Hhf<P> {
    /// An empty HHF. `salt` goes into the hash of flows; the link's rate does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &HhfConfig, _link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        config.check()?;
        let quantum = config.quantum.0;
        Ok(Self {
            limit,
            salt,
            classifier: Classifier::new(config),
            buckets: [Bucket::new(quantum), Bucket::new(quantum * u64::from(config.non_hh_weight))],
            first_old: 0,
            backlog: Backlog::default(),
            drop_overlimit: 0,
        })
    }

    fn hash(&self, flow: FlowKey) -> u32 {
        (hash_flow(flow, self.salt) >> 32) as u32
    }

    /// Moves a queue to the end of the old ones.
    fn retire(&mut self, bucket: usize) {
        let other = 1 - bucket;
        self.first_old = if self.buckets[other].place == Place::Old { other } else { bucket };
        self.buckets[bucket].place = Place::Old;
    }

    /// The queue whose turn it is: a new one, of which there is only that of the other flows, before old ones.
    fn first(&self) -> Option<usize> {
        let is_at = |bucket: usize, place| self.buckets[bucket].place == place;
        [1_usize]
            .into_iter()
            .find(|&bucket| is_at(bucket, Place::New))
            .or_else(|| [self.first_old, 1 - self.first_old].into_iter().find(|&bucket| is_at(bucket, Place::Old)))
    }

    /// `hhf_drop`: the first packet of the heavy hitters, or else of the others. The last packet of the queue `arrived`
    /// has just come.
    fn drop_first(&mut self, arrived: usize, cx: &mut Cx<'_, P>) {
        self.drop_overlimit += 1;
        let victim = usize::from(self.buckets[0].packets.is_empty());
        let packets = &mut self.buckets[victim].packets;
        let is_arrival = victim == arrived && packets.len() == 1;
        let Some(packet) = packets.pop_front() else { return };
        self.backlog.remove(packet.len_bytes());
        let reason = if is_arrival { DropReason::Overflow } else { DropReason::Evicted };
        cx.sink.dropped(packet, reason, !is_arrival);
    }
}

impl<P: Packet> Discipline<P> for Hhf<P> {
    /// `hhf_enqueue`.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        let class = self.classifier.classify(self.hash(packet.flow()), len_bytes, cx.now);
        if !self.limit.fits(Backlog::default(), len_bytes) {
            // Longer than the whole buffer: no other packet should be lost for it.
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        let index = class as usize;
        self.backlog.add(len_bytes);
        let bucket = &mut self.buckets[index];
        bucket.packets.push_back(packet);
        if bucket.place == Place::Inactive {
            bucket.deficit = bucket.quantum;
            match class {
                Class::HeavyHitter => self.retire(index),
                Class::Other => bucket.place = Place::New,
            }
        }
        while self.limit.is_exceeded_by(self.backlog) {
            self.drop_first(index, cx);
        }
    }

    /// `hhf_dequeue`.
    fn dequeue(&mut self, _cx: &mut Cx<'_, P>) -> Served<P> {
        while let Some(index) = self.first() {
            let bucket = &mut self.buckets[index];
            if bucket.deficit <= 0 {
                bucket.deficit += bucket.quantum;
                self.retire(index);
                continue;
            }
            if let Some(packet) = bucket.packets.pop_front() {
                let len_bytes = packet.len_bytes();
                bucket.deficit -= i64::from(len_bytes);
                self.backlog.remove(len_bytes);
                return Served::Packet(packet);
            }
            // A new queue goes through the old ones, so that it cannot be new again before they had their turns.
            if bucket.place == Place::New && self.buckets[1 - index].place == Place::Old {
                self.retire(index);
            } else {
                self.buckets[index].place = Place::Inactive;
            }
        }
        Served::Idle
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.classifier.heap_bytes()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("drop_overlimit", self.drop_overlimit as f64);
        visit("hh_overlimit", self.classifier.overlimit as f64);
        visit("hh_tot_count", self.classifier.total as f64);
        visit("hh_cur_count", f64::from(self.classifier.current()));
        visit("hh_packets", self.buckets[0].packets.len() as f64);
        visit("non_hh_packets", self.buckets[1].packets.len() as f64);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let hash = self.hash(flow);
        visit("heavy_hitter", f64::from(u8::from(self.classifier.is_heavy_hitter(hash))));
        visit("filter_bytes", f64::from(self.classifier.filter_bytes(hash)));
    }
}

#[cfg(test)]
#[path = "hhf_tests.rs"]
mod tests;
