//! SFQ with RED in each bucket: stochastic fair queueing with a buffer divided among the buckets.
//!
//! # What it does
//! Each flow is hashed to one of a fixed number of buckets, which take turns at the link. Each bucket has an even part
//! of the buffer to itself, and a RED of its own that considers only that bucket: a flood is dropped in its own bucket.
//! Flows in the same bucket starve with it, and room that one bucket does not use helps no other.
//!
//! # When to use it
//! Use it to reproduce the SFB paper, which compares with it. For new work use `fq_codel`, whose queues share one
//! buffer and need no thresholds.
//!
//! # Example
//! ```toml
//! queue.sfq_red = { limit = "600 KB", buckets = 60, max_threshold = "8 KB" }
//! ```
//!
//! Set `limit` and `buckets` first: each bucket holds `limit` divided by `buckets`, and the thresholds must fit into
//! that.
//!
//! # Source
//! The comparator of W. Feng, D. Kandlur, D. Saha and K. Shin, "Stochastic Fair BLUE", INFOCOM 2001, section III-B: 46
//! queues of 9 KB, with RED between 2 and 8 KB in each. RED is [`crate::Red`]; turns are those of [`crate::Sfq`].
//!
//! # Where we differ
//! - The paper gives neither RED's weight nor its maximum probability: 0.002 and 0.1 here.
//! - Neither the paper nor RED says how an empty bucket's average decays on a link that serves others. Here a bucket
//!   counts as idle from when its last packet leaves, at an even part of the link's rate. (Linux's SFQ with RED does
//!   not let it decay at all.)
//! - The hash does not change, as in the paper. The paper used ns-2, whose SFQ places flows differently; the paper does
//!   not name the version, so `placement` offers both.
//!
//! # Cost
//! About 200 bytes for each bucket, regardless of the number of flows. O(1) a packet, and at most one random number;
//! with a quantum below the longest packet L, L / quantum turns for each bucket that holds packets.
//!
//! # Parameters
//! See [`SfqRedConfig`].

use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::memory::{heap_bytes, inline_bytes};
use crate::round_robin::RoundRobin;
use crate::sfq::{check_buckets, check_quantum};
use crate::{
    Admission, Backlog, Cx, Discipline, FlowKey, Offer, Packet, ParameterError, Red, RedConfig, Served, SfqPlacement,
    Verdict,
};

parameters! {
    /// Parameters of SFQ with RED in each bucket.
    pub struct SfqRedConfig in RedConfig {
        /// Limit of all buckets together, in packets or bytes; each bucket has an even part of it. The packet being
        /// sent does not count. Default: 414 KB (paper).
        queue limit = QueueSize::Bytes(414_000);
        /// Number of buckets. Default: 46 (paper).
        pub buckets: u32 = 46;
        /// How flows are placed in buckets, as in `sfq`: `random` by a hash, or `ns2` in consecutive buckets, as ns-2
        /// does for consecutive hosts. Default: `random` (McKenney).
        pub placement: SfqPlacement = SfqPlacement::Random;
        /// Bytes that a bucket may send in each turn. Default: one packet of any size (McKenney).
        pub quantum: Option<Bytes> = None;
        /// `min_th`: a bucket's average length below which nothing is dropped, in packets or bytes. Default: 2 KB
        /// (paper).
        red min_threshold = QueueSize::Bytes(2000);
        /// `max_th`: a bucket's average length from which every packet is dropped (or, if `gentle`, from which the
        /// probability rises to 1), in the unit of `min_threshold`. Default: 8 KB (paper).
        red max_threshold = QueueSize::Bytes(8000);
        red weight = 0.002, "0.002";
        red max_probability = 0.1, "0.1";
        red gentle = false, "no";
        red wait = false, "no; ns-2 sets it";
        /// Whether early drops are suppressed while at most one packet is waiting in the bucket (ns-2). Default: no.
        red small_queue_guard = false;
        /// Mean packet size: a bucket's part of the link's rate divided by it is the number of samples that an idle
        /// period counts for. Default: 500 B (ns-2).
        red mean_packet_size = Bytes(500);
        red ecn = false, "no";
        red hard_drop = true, "yes";
    }
}

impl SfqRedConfig {
    /// The configuration of each bucket's RED.
    #[must_use]
    pub fn bucket(&self) -> RedConfig {
        let buckets = u64::from(self.buckets);
        RedConfig {
            limit: match self.limit {
                QueueSize::Packets(packets) => QueueSize::Packets(packets / buckets),
                QueueSize::Bytes(bytes) => QueueSize::Bytes(bytes / buckets),
            },
            ..self.inner()
        }
    }
}

/// SFQ with RED in each bucket.
#[derive(Clone, Debug)]
pub struct SfqRed<P> {
    salt: u64,
    placement: SfqPlacement,
    queues: RoundRobin<P>,
    /// The RED of each bucket.
    laws: Vec<Red>,
}

impl<P: Packet> SfqRed<P> {
    /// An empty SFQ with RED for a link of `link_rate`, of which each bucket counts on an even part. `salt` goes into
    /// the hash of flows.
    ///
    /// # Errors
    /// The first parameter outside its bound; the limit and the thresholds are held against one bucket's part.
    pub fn new(config: &SfqRedConfig, link_rate: Rate, salt: u64) -> Result<Self, ParameterError> {
        let buckets = check_buckets(config.buckets)?;
        check_quantum(config.quantum)?;
        let share = Rate::new(link_rate.bits_per_second() / u64::from(buckets)).unwrap_or(Rate::LEAST);
        let law = Red::new(&config.bucket(), share, salt).map_err(|error| match error.field {
            "limit" => ParameterError { bound: "hold at least one packet (40 B) in each bucket", ..error },
            "max_threshold" if error.bound == "be at most `limit`" => {
                ParameterError { bound: "be at most `limit` / `buckets`", ..error }
            }
            _ => error,
        })?;
        Ok(Self {
            salt,
            placement: config.placement,
            queues: RoundRobin::new(buckets, config.quantum),
            laws: (0..buckets).map(|_| law.clone()).collect(),
        })
    }

    fn bucket_of(&self, flow: FlowKey) -> u32 {
        self.placement.bucket(flow, self.salt, self.laws.len() as u32)
    }
}

impl<P: Packet> Discipline<P> for SfqRed<P> {
    fn enqueue(&mut self, mut packet: P, cx: &mut Cx<'_, P>) {
        let bucket = self.bucket_of(packet.flow());
        let mut offer = Offer { now: cx.now, backlog: self.queues.backlog_of(bucket), rng: &mut *cx.rng };
        match self.laws[bucket as usize].admit(&packet.arrival(), &mut offer) {
            Verdict::Enqueue(_) => {}
            Verdict::Mark(_, reason) => {
                packet.mark_ce();
                cx.sink.marked(&packet, reason);
            }
            Verdict::Drop(reason) => return cx.sink.dropped(packet, reason, false),
        }
        self.queues.push_back(bucket, packet);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let Some((bucket, packet)) = self.queues.pop() else { return Served::Idle };
        if self.queues.backlog_of(bucket).packets == 0 {
            self.laws[bucket as usize].idle(cx.now);
        }
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.queues.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queues.heap_bytes() + heap_bytes(&self.laws)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("active_buckets", f64::from(self.queues.active()));
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        let bucket = self.bucket_of(flow);
        visit("bucket", f64::from(bucket));
        visit("bucket_packets", self.queues.backlog_of(bucket).packets as f64);
        visit("bucket_bytes", self.queues.backlog_of(bucket).bytes as f64);
        self.laws[bucket as usize].gauges(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{Bench, LINK, Labelled};
    use crate::{DropReason, Span};

    fn bench(config: &SfqRedConfig) -> Bench<SfqRed<Labelled>> {
        Bench::new(SfqRed::new(config, LINK, 5).unwrap())
    }

    fn average(sfq: &SfqRed<Labelled>, flow: u64) -> f64 {
        sfq.laws[sfq.bucket_of(FlowKey(flow)) as usize].average()
    }

    #[test]
    fn each_bucket_has_its_part_of_the_buffer() {
        // 414 KB in 46 parts: nine packets of 1000 B each. The average is still far below where RED begins.
        let mut bench = bench(&SfqRedConfig::default());
        for label in 0..30 {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        assert_eq!(bench.discipline.backlog(), Backlog { packets: 9, bytes: 9000 });
        assert!(bench.dropped.0.iter().all(|(_, reason, queued)| (*reason, *queued) == (DropReason::Overflow, false)));
        let other =
            (2..).find(|flow| bench.discipline.bucket_of(FlowKey(*flow)) != bench.discipline.bucket_of(FlowKey(1)));
        bench.enqueue(Labelled::new(100, other.unwrap(), 1000, 0));
        assert_eq!(bench.discipline.backlog().packets, 10);
    }

    #[test]
    fn a_flood_is_dropped_by_its_own_bucket() {
        // A flood at twice the rate of service against a flow that has one packet at a time.
        let config = SfqRedConfig { weight: 0.02, ..SfqRedConfig::default() };
        let mut bench = bench(&config);
        let other =
            (2..).find(|flow| bench.discipline.bucket_of(FlowKey(*flow)) != bench.discipline.bucket_of(FlowKey(1)));
        let quiet = other.unwrap();
        let mut sent = [0, 0];
        for _ in 0..5000 {
            bench.now += Span::from_microseconds(80);
            bench.enqueue(Labelled::new(0, 1, 1000, 0));
            bench.enqueue(Labelled::new(0, 1, 1000, 0));
            if sent[0] % 4 == 0 {
                bench.enqueue(Labelled::new(1, quiet, 1000, 0));
            }
            sent[bench.dequeue().unwrap().label as usize] += 1;
        }
        assert!(bench.dropped.0.iter().all(|(packet, ..)| packet.label == 0));
        let early = bench.dropped.0.iter().filter(|(_, reason, _)| *reason == DropReason::Early).count();
        let forced = bench.dropped.0.iter().filter(|(_, reason, _)| *reason == DropReason::Forced).count();
        assert!(early > 100 && forced > 100, "{early} early, {forced} forced");
        let average = average(&bench.discipline, 1);
        assert!((2000.0..9000.0).contains(&average), "{average}");
    }

    #[test]
    fn an_empty_buckets_average_decays_on_its_part_of_the_link() {
        let config = SfqRedConfig { weight: 0.01, buckets: 10, ..SfqRedConfig::default() };
        let mut bench = bench(&config);
        for label in 0..8 {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        bench.drain();
        let before = average(&bench.discipline, 1);
        // 10 Mb/s of 500 B: 2500 packets a second, 25 in 10 ms, and the sample of the arrival itself.
        bench.now += Span::from_milliseconds(10);
        bench.enqueue(Labelled::new(9, 1, 1000, 0));
        assert!((average(&bench.discipline, 1) - before * libm::pow(0.99, 26.0)).abs() < 1e-9);
    }

    #[test]
    fn a_bucket_is_idle_when_its_own_last_packet_has_left() {
        let config = SfqRedConfig { weight: 0.5, ..SfqRedConfig::default() };
        let mut bench = bench(&config);
        let bucket = bench.discipline.bucket_of(FlowKey(1));
        let other = (2..).find(|flow| bench.discipline.bucket_of(FlowKey(*flow)) != bucket).unwrap();
        for label in 0..2 {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        for label in 2..6 {
            bench.enqueue(Labelled::new(label, other, 1000, 0));
        }
        // Samples of 0 B and 1000 B so far. One packet leaves and one stays: time alone changes nothing.
        assert_eq!((average(&bench.discipline, 1), bench.dequeue().unwrap().label), (500.0, 0));
        bench.now += Span::from_seconds(1);
        bench.enqueue(Labelled::new(6, 1, 1000, 0));
        assert_eq!(average(&bench.discipline, 1), 750.0);
        // The last one has left, while another bucket has packets: half a thousand samples of nothing in a second.
        while bench.discipline.queues.backlog_of(bucket).packets > 0 {
            bench.dequeue();
        }
        assert!(bench.discipline.backlog().packets > 0);
        bench.now += Span::from_seconds(1);
        bench.enqueue(Labelled::new(7, 1, 1000, 0));
        assert!(average(&bench.discipline, 1) < 1e-9);
    }

    #[test]
    fn a_single_bucket_serves_all_flows() {
        let mut bench = bench(&SfqRedConfig { buckets: 1, ..SfqRedConfig::default() });
        (1..4).for_each(|flow| bench.enqueue(Labelled::new(flow, u64::from(flow), 1000, 0)));
        assert_eq!(bench.drain(), [1, 2, 3]);
    }

    #[test]
    fn ns2s_placement_parts_consecutive_flows() {
        let mut bench = bench(&SfqRedConfig { placement: SfqPlacement::Ns2, ..SfqRedConfig::default() });
        for flow in 0..15 {
            bench.enqueue(Labelled::new(flow, 2 * u64::from(flow), 1000, 0));
            assert_eq!(bench.discipline.queues.backlog_of(flow), Backlog { packets: 1, bytes: 1000 });
        }
    }

    #[test]
    fn buckets_take_turns() {
        let mut bench = bench(&SfqRedConfig::default());
        let bucket = bench.discipline.bucket_of(FlowKey(1));
        let other = (2..).find(|flow| bench.discipline.bucket_of(FlowKey(*flow)) != bucket).unwrap();
        for label in 0..4 {
            bench.enqueue(Labelled::new(label, 1, 1000, 0));
        }
        for label in 4..8 {
            bench.enqueue(Labelled::new(label, other, 1000, 0));
        }
        assert_eq!(bench.drain(), [0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn each_parameter_is_checked() {
        let default = SfqRedConfig::default;
        let cases = [
            (SfqRedConfig { limit: QueueSize::Bytes(46 * 39), ..default() }, "limit"),
            (SfqRedConfig { limit: QueueSize::Packets(45), ..default() }, "limit"),
            (SfqRedConfig { buckets: 0, ..default() }, "buckets"),
            (SfqRedConfig { quantum: Some(Bytes(0)), ..default() }, "quantum"),
            (SfqRedConfig { min_threshold: QueueSize::Bytes(8000), ..default() }, "max_threshold"),
            (SfqRedConfig { max_threshold: QueueSize::Packets(8), ..default() }, "max_threshold"),
            (SfqRedConfig { max_threshold: QueueSize::Bytes(9001), ..default() }, "max_threshold"),
            (SfqRedConfig { weight: 0.0, ..default() }, "weight"),
            (SfqRedConfig { max_probability: 1.1, ..default() }, "max_probability"),
            (SfqRedConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
        ];
        for (config, field) in cases {
            assert_eq!(SfqRed::<Labelled>::new(&config, LINK, 0).err().map(|error| error.field), Some(field));
        }
    }

    #[test]
    fn what_is_refused_is_said_of_a_bucket() {
        let default = SfqRedConfig::default;
        let room = "hold at least one packet (40 B) in each bucket";
        let cases = [
            (SfqRedConfig { limit: QueueSize::Bytes(46 * 40 - 1), ..narrow() }, Some(("limit", room))),
            (SfqRedConfig { limit: QueueSize::Bytes(46 * 40), ..narrow() }, None),
            (SfqRedConfig { limit: QueueSize::Packets(45), ..default() }, Some(("limit", room))),
            (SfqRedConfig { limit: QueueSize::Packets(46), ..default() }, None),
            (
                SfqRedConfig { max_threshold: QueueSize::Bytes(9001), ..default() },
                Some(("max_threshold", "be at most `limit` / `buckets`")),
            ),
            (SfqRedConfig { max_threshold: QueueSize::Bytes(9000), ..default() }, None),
            // RED's errors about a threshold or its weight apply unchanged.
            (
                SfqRedConfig { min_threshold: QueueSize::Bytes(8000), ..default() },
                Some(("max_threshold", "be more than `min_threshold`")),
            ),
            (
                SfqRedConfig { max_threshold: QueueSize::Packets(8), ..default() },
                Some(("max_threshold", "have the unit of `min_threshold`")),
            ),
            (SfqRedConfig { weight: 1.1, ..default() }, Some(("weight", "be more than 0 and at most 1"))),
        ];
        for (config, expected) in cases {
            let error = SfqRed::<Labelled>::new(&config, LINK, 0).err();
            assert_eq!(error.map(|error| (error.field, error.bound)), expected, "{config:?}");
        }
    }

    /// Thresholds below the shortest packet.
    fn narrow() -> SfqRedConfig {
        let (min_threshold, max_threshold) = (QueueSize::Bytes(10), QueueSize::Bytes(20));
        SfqRedConfig { min_threshold, max_threshold, ..SfqRedConfig::default() }
    }
}
