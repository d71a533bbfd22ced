//! ECN thresholds: marks packets that leave a long queue behind, as the switches of data centers do.
//!
//! # What it does
//! One FIFO queue, which drops what does not fit. When a packet leaves, the length of the queue behind it decides about
//! a mark. Up to `min_threshold` no packet is marked, above `max_threshold` each is. Between them the probability rises
//! in proportion, to `max_probability`. The length is the instantaneous one; no average is kept.
//!
//! # When to use it
//! Use it for DCTCP, DCQCN and other transports of data centers, whose senders respond to the share of marked packets.
//! Packets that are not ECN-capable are only dropped, when the queue is full. `red` marks by an average, on arrival.
//!
//! # Example
//! ```toml
//! queue.ecn_threshold.min_threshold = "65 packets"
//! queue.ecn_threshold.max_threshold = "65 packets"
//! ```
//!
//! The example is DCTCP's step at 10 Gb/s, which is also the default; at 1 Gb/s it has 20 packets. DCQCN needs a range.
//! HPCC's simulations have `min_threshold = "4 KB"`, `max_threshold = "16 KB"`, `max_probability = 0.2` and
//! `reference_rate = "1 Gbps"`, which at 100 Gb/s are 400 KB and 1600 KB. At a port of a lossless Ethernet, `limit`
//! must be more than its memory, or the queue loses frames in spite of PAUSE.
//!
//! # Source
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1. Y. Zhu et al., "Congestion Control for
//! Large-Scale RDMA Deployments" (DCQCN), SIGCOMM 2015, section 3.1, with `K_min`, `K_max` and `P_max`. The decision
//! when the packet leaves: the simulators of HPCC and ConWeave.
//!
//! # Where we differ
//! - DCTCP marks a packet that arrives at a long queue. Here a packet that leaves a long queue is marked, as by
//!   switches with shared memory. Its own wait does not delay the mark.
//! - The thresholds scale with the rate that the link has without changes of its `service`.
//!
//! # Cost
//! About 100 bytes, regardless of the number of flows. O(1) a packet. A departure draws a random number if the queue is
//! between the thresholds.
//!
//! # Parameters
//! See [`EcnThresholdConfig`]. `p_mark` is the probability of a mark at the present length.

use forebay_units::{QueueSize, Rate};

use crate::departure_marking::DepartureMarking;
use crate::limit::Limit;
use crate::limited_fifo::LimitedFifo;
use crate::memory::inline_bytes;
use crate::{Backlog, Cx, Discipline, DropReason, Packet, ParameterError, Served};

parameters! {
    /// Parameters of ECN thresholds.
    pub struct EcnThresholdConfig {
        queue limit = QueueSize::Packets(1000), "1000 packets";
        /// `K_min`: queue, in packets or bytes, up to which no packet is marked. Default: 65 packets (DCTCP at
        /// 10 Gb/s).
        pub min_threshold: QueueSize = QueueSize::Packets(65);
        /// `K_max`: queue above which each ECN-capable packet is marked, in the unit of `min_threshold`; with the same
        /// value the marks begin all at once. Default: 65 packets (DCTCP at 10 Gb/s).
        pub max_threshold: QueueSize = QueueSize::Packets(65);
        /// `P_max`: probability of a mark at `max_threshold`. Default: 1; DCQCN and HPCC have less.
        pub max_probability: f64 = 1.0;
        /// Rate of the link to which the thresholds apply; at others they grow in proportion to the rate. Default: they
        /// apply at any rate.
        #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
        pub reference_rate: Option<Rate> = None;
    }
}

impl EcnThresholdConfig {
    /// The thresholds at a link of this rate.
    fn thresholds(&self, link_rate: Rate) -> (QueueSize, QueueSize) {
        let reference = self.reference_rate.unwrap_or(link_rate);
        let scale = |size: u64| {
            let scaled = u128::from(size) * u128::from(link_rate.bits_per_second());
            u64::try_from(scaled / u128::from(reference.bits_per_second())).unwrap_or(u64::MAX)
        };
        let at_link = |size| match size {
            QueueSize::Packets(packets) => QueueSize::Packets(scale(packets)),
            QueueSize::Bytes(bytes) => QueueSize::Bytes(scale(bytes)),
        };
        (at_link(self.min_threshold), at_link(self.max_threshold))
    }
}

/// ECN thresholds: a FIFO queue that marks what leaves it.
#[derive(Clone, Debug)]
pub struct EcnThreshold<P> {
    fifo: LimitedFifo<P>,
    marking: DepartureMarking,
}

impl<P: Packet> EcnThreshold<P> {
    /// An empty queue for a link of `link_rate`. `_salt` does not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &EcnThresholdConfig, link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let fifo = LimitedFifo::new(Limit::new(config.limit, "limit")?);
        let thresholds = config.thresholds(link_rate);
        let marking = DepartureMarking::new(thresholds, config.max_probability, config.limit, "max_threshold")?;
        Ok(Self { fifo, marking })
    }
}

impl<P: Packet> Discipline<P> for EcnThreshold<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if self.fifo.fits(len_bytes) {
            self.fifo.push(packet, len_bytes);
        } else {
            cx.sink.dropped(packet, DropReason::Overflow, false);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let Some(mut packet) = self.fifo.pop() else { return Served::Idle };
        self.marking.mark(&mut packet, self.fifo.backlog(), cx);
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_mark", self.marking.probability(self.fifo.backlog()));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::{Bench, LINK, Labelled};
    use crate::{Ecn, MarkReason};

    const FULL: u32 = 1000;

    fn packet(label: u32, ecn: Ecn) -> Labelled {
        let mut packet = Labelled::new(label, 1, FULL, 0);
        packet.arrival.ecn = ecn;
        packet
    }

    fn bench(config: &EcnThresholdConfig, link_rate: Rate) -> Bench<EcnThreshold<Labelled>> {
        Bench::new(EcnThreshold::new(config, link_rate, 0).unwrap())
    }

    fn range(min: QueueSize, max: QueueSize) -> EcnThresholdConfig {
        EcnThresholdConfig { min_threshold: min, max_threshold: max, ..EcnThresholdConfig::default() }
    }

    #[test]
    fn a_step_marks_the_packets_that_leave_more_behind() {
        let mut bench = bench(&range(QueueSize::Packets(3), QueueSize::Packets(3)), LINK);
        for label in 0..8 {
            bench.enqueue(packet(label, if label == 1 { Ecn::NotCapable } else { Ecn::Capable0 }));
        }
        // They leave 7, 6, … 0 behind.
        assert_eq!(bench.drain(), (0..8).collect::<Vec<u32>>());
        assert_eq!(bench.dropped.1, [0, 2, 3].map(|label| (label, MarkReason::Forced)));
        assert_eq!(bench.dropped.0, []);
    }

    #[test]
    fn what_does_not_fit_is_dropped_even_if_it_could_be_marked() {
        let config =
            EcnThresholdConfig { limit: QueueSize::Packets(2), ..range(QueueSize::Packets(0), QueueSize::Packets(1)) };
        let mut bench = bench(&config, LINK);
        (0..3).for_each(|label| bench.enqueue(packet(label, Ecn::Capable0)));
        assert_eq!(bench.dropped.0, [(packet(2, Ecn::Capable0), DropReason::Overflow, false)]);
    }

    /// HPCC's thresholds at 100 Gb/s.
    #[test]
    fn thresholds_grow_with_the_rate_and_the_probability_with_the_queue() {
        let config = EcnThresholdConfig {
            limit: QueueSize::Bytes(4_000_000),
            max_probability: 0.2,
            reference_rate: Some(Rate::megabits(1000)),
            ..range(QueueSize::Bytes(4000), QueueSize::Bytes(16_000))
        };
        for (gigabits, factor) in [(1, 1), (25, 25), (100, 100), (400, 400)] {
            let thresholds = config.thresholds(Rate::megabits(gigabits * 1000));
            assert_eq!(thresholds, (QueueSize::Bytes(4000 * factor), QueueSize::Bytes(16_000 * factor)));
        }
        let queue = EcnThreshold::<Labelled>::new(&config, Rate::megabits(100_000), 0).unwrap();
        let at = |bytes| queue.marking.probability(Backlog { packets: 1, bytes });
        assert_eq!([at(400_000), at(1_600_001)], [0.0, 1.0]);
        for (bytes, expected) in [(1_600_000, 0.2), (1_000_000, 0.1), (700_000, 0.05)] {
            assert!((at(bytes) - expected).abs() < 1e-12, "{bytes}");
        }

        let mut bench = bench(&config, Rate::megabits(100_000));
        let mut marked = [0_u32; 2];
        for _ in 0..30 {
            (0..1401).for_each(|label| bench.enqueue(packet(label, Ecn::Capable1)));
            // Those that leave 1400 to 1000 packets of 1000 B behind, and the rest.
            bench.drain();
            for (label, reason) in bench.dropped.1.drain(..) {
                assert_eq!(reason, MarkReason::Early);
                marked[usize::from(label > 400)] += 1;
            }
        }
        // Means of 2/15 for 401 packets and of 1/20 for 600 of the 1000 others; four standard deviations.
        let expected = [30.0 * 401.0 * 2.0 / 15.0, 30.0 * 600.0 * 0.05];
        for (marked, expected) in marked.into_iter().zip(expected) {
            assert!((f64::from(marked) - expected).abs() < 4.0 * libm::sqrt(expected), "{marked} for {expected}");
        }
    }

    #[test]
    fn parameters_that_cannot_work_are_refused_by_name() {
        let packets = QueueSize::Packets;
        let field =
            |config: &EcnThresholdConfig| EcnThreshold::<Labelled>::new(config, LINK, 0).err().map(|error| error.field);
        let slow = Rate::megabits(1);
        for (config, expected) in [
            (range(packets(5), packets(5)), None),
            (range(packets(6), packets(5)), Some("max_threshold")),
            (range(packets(6), packets(1001)), Some("max_threshold")),
            (range(packets(6), QueueSize::Bytes(9000)), Some("max_threshold")),
            // 100 times as much at 100 Mb/s.
            (EcnThresholdConfig { reference_rate: Some(slow), ..range(packets(1), packets(10)) }, None),
            (
                EcnThresholdConfig { reference_rate: Some(slow), ..range(packets(1), packets(11)) },
                Some("max_threshold"),
            ),
            (EcnThresholdConfig { max_probability: 1.1, ..Default::default() }, Some("max_probability")),
            (EcnThresholdConfig { limit: packets(0), ..Default::default() }, Some("limit")),
        ] {
            assert_eq!(field(&config), expected, "{config:?}");
        }
    }
}
