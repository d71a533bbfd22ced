//! The state of a direction: on the control socket, in metrics, in `forebay live top`.

use std::collections::BTreeMap;

use forebay_qdisc::{Backlog, Discipline, DropReason};
use serde::Serialize;

use crate::counters::{Count, Counters, MARK_REASONS, Refusal, drop_reason_name};
use crate::histogram::Histogram;
use crate::packet::LivePacket;
use crate::port::Port;

/// Flows that are shown.
const FLOWS_SHOWN: usize = 20;

/// Upper bounds of the buckets of histograms in seconds.
pub const BUCKETS_S: [f64; 19] =
    [1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0];

/// A discipline with its parameters, as it runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunningQueue {
    /// Name of the discipline.
    pub discipline: String,
    /// Its parameters with their units, defaults included.
    pub parameters: serde_json::Value,
}

/// A direction at one moment. Counts are since the start.
#[derive(Clone, Debug, Serialize)]
pub struct PortSnapshot {
    /// `outbound` or `inbound`.
    pub direction: String,
    pub from: String,
    pub to: String,
    /// Rate of the line in bits per second.
    pub rate_bps: u64,
    /// Framing counted in addition to each frame, in bytes.
    pub overhead_bytes: u32,
    /// Time that is caught up after a stall, in seconds.
    pub burst_s: f64,
    /// The discipline of the queue.
    pub queue: RunningQueue,
    /// Whether packets pass around the queue.
    pub bypass: bool,
    /// Packets that arrived and were not refused.
    pub received: Count,
    /// Packets that left.
    pub sent: Count,
    /// Packets that passed around the queue.
    pub bypassed: Count,
    /// Drops of the discipline, by reason.
    pub dropped: BTreeMap<&'static str, Count>,
    /// Marks of the discipline, by reason.
    pub marked: BTreeMap<&'static str, u64>,
    /// Frames that no queue saw, or that could not leave, by reason.
    pub refused: BTreeMap<&'static str, Count>,
    /// Frames that the kernel dropped because we did not fetch them in time.
    pub missed_frames: u64,
    /// Packets queued.
    pub backlog_packets: u64,
    /// Bytes queued.
    pub backlog_bytes: u64,
    /// Packets that wait in disciplines which were replaced.
    pub draining_packets: u64,
    /// Buffers in use.
    pub buffers_in_use: u32,
    /// All buffers.
    pub buffers: u32,
    /// Memory of the discipline's state in bytes.
    pub state_bytes: u64,
    /// Time from arrival until the last bit was due to leave.
    pub sojourn: HistogramSnapshot,
    /// Time from when the last bit was due to leave until the kernel had the frame.
    pub lateness: HistogramSnapshot,
    /// Gauges of the discipline.
    pub gauges: BTreeMap<&'static str, f64>,
    /// The flows with the most bytes.
    pub flows: Vec<FlowSnapshot>,
    /// The would-be actions of a second discipline.
    pub shadow: Option<ShadowSnapshot>,
}

/// A histogram of spans, in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct HistogramSnapshot {
    /// Spans counted.
    pub count: u64,
    /// Their sum.
    pub sum_s: f64,
    /// The median.
    pub p50_s: f64,
    /// Nine of ten are shorter.
    pub p90_s: f64,
    /// 99 of 100 are shorter.
    pub p99_s: f64,
    /// 999 of 1000 are shorter.
    pub p999_s: f64,
    /// The longest.
    pub max_s: f64,
    /// The number of values up to each of [`BUCKETS_S`].
    pub buckets: Vec<u64>,
}

/// A flow. Bytes may be too many by `error_bytes`.
#[derive(Clone, Debug, Serialize)]
pub struct FlowSnapshot {
    /// The flow in the form of tcpdump: sender > receiver.
    pub flow: String,
    /// Bytes that arrived.
    pub bytes: u64,
    /// See [`FlowCounts::error_bytes`](crate::flows::FlowCounts::error_bytes).
    pub error_bytes: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Gauges of the discipline for it.
    pub gauges: BTreeMap<&'static str, f64>,
}

/// A second discipline.
#[derive(Clone, Debug, Serialize)]
pub struct ShadowSnapshot {
    /// The discipline.
    pub queue: RunningQueue,
    /// Packets it has seen.
    pub received: Count,
    /// Packets it would have sent.
    pub sent: Count,
    /// Its would-be drops, by reason.
    pub dropped: BTreeMap<&'static str, Count>,
    /// Its would-be marks, by reason.
    pub marked: BTreeMap<&'static str, u64>,
    /// Packets in its queue.
    pub backlog_packets: u64,
    /// The time that packets would have taken.
    pub sojourn: HistogramSnapshot,
    /// Its gauges.
    pub gauges: BTreeMap<&'static str, f64>,
}

/// Values that a port lacks.
pub struct PortContext<'a> {
    /// `outbound` or `inbound`.
    pub direction: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    /// The discipline of the queue.
    pub queue: &'a RunningQueue,
    /// The second discipline.
    pub shadow: Option<&'a RunningQueue>,
    /// Frames that the kernel dropped.
    pub missed_frames: u64,
}

impl PortSnapshot {
    /// Takes it.
    #[must_use]
    pub fn of(port: &Port, context: &PortContext<'_>) -> Self {
        let (counters, queue) = (port.counters(), port.queue());
        let Backlog { packets, bytes } = queue.backlog();
        Self {
            direction: context.direction.to_owned(),
            from: context.from.to_owned(),
            to: context.to.to_owned(),
            rate_bps: port.rate().bits_per_second(),
            overhead_bytes: port.overhead_bytes(),
            burst_s: port.burst().seconds(),
            queue: context.queue.clone(),
            bypass: port.is_bypassed(),
            received: counters.received,
            sent: counters.sent,
            bypassed: counters.bypassed,
            dropped: dropped(counters),
            marked: marked(counters),
            refused: Refusal::ALL.into_iter().map(|why| (why.name(), counters.refused[why as usize])).collect(),
            missed_frames: context.missed_frames,
            backlog_packets: packets,
            backlog_bytes: bytes,
            draining_packets: queue.draining_packets(),
            buffers_in_use: port.pool().in_use(),
            buffers: port.pool().capacity(),
            state_bytes: queue.state_bytes(),
            sojourn: HistogramSnapshot::of(&counters.sojourn),
            lateness: HistogramSnapshot::of(&counters.lateness),
            gauges: gauges(queue),
            flows: flows(port),
            shadow: port.shadow().zip(context.shadow).map(|(shadow, queue)| ShadowSnapshot {
                queue: queue.clone(),
                received: shadow.counters().received,
                sent: shadow.counters().sent,
                dropped: dropped(shadow.counters()),
                marked: marked(shadow.counters()),
                backlog_packets: shadow.queue().backlog().packets,
                sojourn: HistogramSnapshot::of(&shadow.counters().sojourn),
                gauges: gauges(shadow.queue()),
            }),
        }
    }
}

fn dropped(counters: &Counters) -> BTreeMap<&'static str, Count> {
    DropReason::ALL.iter().map(|&reason| (drop_reason_name(reason), counters.dropped[reason as usize])).collect()
}

fn marked(counters: &Counters) -> BTreeMap<&'static str, u64> {
    MARK_REASONS.into_iter().map(|(reason, name)| (name, counters.marked[reason as usize])).collect()
}

fn gauges(queue: &dyn Discipline<LivePacket>) -> BTreeMap<&'static str, f64> {
    let mut gauges = BTreeMap::new();
    queue.gauges(&mut |name, value| {
        gauges.insert(name, value);
    });
    gauges
}

fn flows(port: &Port) -> Vec<FlowSnapshot> {
    let of = |counts: crate::flows::FlowCounts| {
        let mut gauges = BTreeMap::new();
        port.queue().flow_gauges(counts.key, &mut |name, value| {
            gauges.insert(name, value);
        });
        FlowSnapshot {
            flow: counts.identity.to_string(),
            bytes: counts.bytes,
            error_bytes: counts.error_bytes,
            packets: counts.packets,
            dropped: counts.dropped,
            marked: counts.marked,
            gauges,
        }
    };
    port.flows().top(FLOWS_SHOWN).into_iter().map(of).collect()
}

impl HistogramSnapshot {
    fn of(histogram: &Histogram) -> Self {
        let quantile = |share| histogram.quantile_ns(share) as f64 * 1e-9;
        Self {
            count: histogram.count(),
            sum_s: histogram.sum_ns() as f64 * 1e-9,
            p50_s: quantile(0.5),
            p90_s: quantile(0.9),
            p99_s: quantile(0.99),
            p999_s: quantile(0.999),
            max_s: histogram.longest_ns() as f64 * 1e-9,
            buckets: BUCKETS_S.map(|bound| histogram.count_up_to((bound * 1e9) as u64)).to_vec(),
        }
    }
}
