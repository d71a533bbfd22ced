//! What is counted at a queue.

use forebay_qdisc::{DropReason, FlowKey, MarkReason, Sink, Span, Time};

use crate::packet::{FlowId, Packet, flow_key};
use crate::prefetch::prefetch;
use crate::sack::SackTable;
use crate::window::Window;

const DROP_REASONS: usize = DropReason::ALL.len();

/// What one flow did at one queue, within the measured interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowAtQueue {
    arrived: u64,
    pub dropped: u64,
    pub marked: u64,
    departed: u64,
    /// Packets whose arrival and departure were booked at once: to be added to both.
    let_in: u64,
    pub wait: Span,
}

impl FlowAtQueue {
    pub fn arrived(&self) -> u64 {
        self.arrived + self.let_in
    }

    pub fn departed(&self) -> u64 {
        self.departed + self.let_in
    }
}

/// The books of one queue. Counts without a word are of the measured interval; totals since the start serve the check
/// of conservation.
pub(crate) struct QueueBook {
    window: Window,
    arrived_total: u64,
    pub dropped_total: u64,
    departed_total: u64,
    /// Packets whose arrival and departure were booked at once: to be added to both.
    let_in_total: u64,
    pub dropped: [u64; DROP_REASONS],
    pub bytes_dropped: u64,
    pub marked: u64,
    /// Integral of the queue's length over the measured interval, in packet-picoseconds and byte-picoseconds.
    packet_time_ps: u128,
    byte_time_ps: u128,
    pub longest: u64,
    /// By (flow, direction), as in [`Packet::direction_index`].
    pub flows: Vec<FlowAtQueue>,
    /// Drops of each (flow, direction) since the start.
    pub flow_drops_total: Vec<u64>,
}

impl QueueBook {
    pub fn new(window: Window) -> Self {
        Self {
            window,
            arrived_total: 0,
            dropped_total: 0,
            departed_total: 0,
            let_in_total: 0,
            dropped: [0; DROP_REASONS],
            bytes_dropped: 0,
            marked: 0,
            packet_time_ps: 0,
            byte_time_ps: 0,
            longest: 0,
            flows: Vec::new(),
            flow_drops_total: Vec::new(),
        }
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        let len = (index + 2) & !1;
        self.flows.resize(len, FlowAtQueue::default());
        self.flow_drops_total.resize(len, 0);
    }

    /// The row of `packet`'s flow and direction.
    #[inline]
    fn row(&mut self, packet: &Packet) -> &mut FlowAtQueue {
        let index = packet.direction_index();
        if index >= self.flows.len() {
            self.grow(index);
        }
        &mut self.flows[index]
    }

    /// Asks for the row of a flow and direction.
    #[inline]
    pub fn prefetch(&self, direction: usize) {
        if let Some(row) = self.flows.get(direction) {
            prefetch(&row.let_in);
        }
    }

    /// `packet` arrives.
    #[inline]
    pub fn arrival(&mut self, packet: &Packet) {
        self.arrived_total += 1;
        let measured = u64::from(self.window.measures(packet.time));
        self.row(packet).arrived += measured;
    }

    /// `packet` was let into a FIFO queue on its arrival and will begin its transmission at `start`, which may lie
    /// after the end of the run: books its arrival, its waiting and its departure at once.
    #[inline]
    pub fn let_in(&mut self, packet: &Packet, start: Time) {
        let Window { from, to } = self.window;
        if packet.time < from || start > to {
            return self.let_in_at_the_edge(packet, start);
        }
        self.let_in_total += 1;
        let wait = start.since(packet.time);
        self.packet_time_ps += u128::from(wait.picoseconds());
        self.byte_time_ps += u128::from(wait.picoseconds()) * u128::from(packet.len_bytes());
        let row = self.row(packet);
        row.let_in += 1;
        row.wait += wait;
    }

    /// `packet` arrived, and began its transmission at once.
    #[inline]
    pub fn let_through(&mut self, packet: &Packet) {
        let Window { from, to } = self.window;
        if packet.time < from || packet.time > to {
            return self.let_in_at_the_edge(packet, packet.time);
        }
        self.let_in_total += 1;
        self.row(packet).let_in += 1;
    }

    #[cold]
    fn let_in_at_the_edge(&mut self, packet: &Packet, start: Time) {
        self.arrival(packet);
        self.waited(1, u64::from(packet.len_bytes()), packet.time, start);
        self.departure(packet, start);
    }

    pub fn drop(&mut self, packet: &Packet, reason: DropReason, now: Time) {
        let index = packet.direction_index();
        self.dropped_total += 1;
        self.flow_drops_total[index] += 1;
        if self.window.measures(now) {
            self.dropped[reason as usize] += 1;
            self.bytes_dropped += u64::from(packet.len_bytes());
            self.flows[index].dropped += 1;
        }
    }

    pub fn mark(&mut self, packet: &Packet, now: Time) {
        if self.window.measures(now) {
            self.marked += 1;
            self.row(packet).marked += 1;
        }
    }

    /// `packet`, which arrived at `packet.time`, begins its transmission at `start`, which may lie after the end of the
    /// run.
    #[inline]
    pub fn departure(&mut self, packet: &Packet, start: Time) {
        if start > self.window.to {
            return;
        }
        self.departed_total += 1;
        if self.window.measures(start) {
            let wait = start.since(packet.time);
            let row = self.row(packet);
            row.departed += 1;
            row.wait += wait;
        }
    }

    /// So many packets and bytes waited from `from` to `to`: adds to the integral of the queue's length.
    #[inline]
    pub fn waited(&mut self, packets: u64, bytes: u64, from: Time, to: Time) {
        let span = u128::from(self.window.clip(from, to).picoseconds());
        self.packet_time_ps += span * u128::from(packets);
        self.byte_time_ps += span * u128::from(bytes);
    }

    #[inline]
    pub fn length(&mut self, packets: u64, now: Time) {
        if packets > self.longest && self.window.measures(now) {
            self.longest = packets;
        }
    }

    /// Packets that arrived since the start.
    pub fn arrived_total(&self) -> u64 {
        self.arrived_total + self.let_in_total
    }

    /// Packets whose transmission began by the end of the run.
    pub fn departed_total(&self) -> u64 {
        self.departed_total + self.let_in_total
    }

    /// All flows together.
    pub fn all_flows(&self) -> FlowAtQueue {
        self.flows.iter().fold(FlowAtQueue::default(), |mut all, flow| {
            all.arrived += flow.arrived;
            all.dropped += flow.dropped;
            all.marked += flow.marked;
            all.departed += flow.departed;
            all.let_in += flow.let_in;
            all.wait += flow.wait;
            all
        })
    }

    pub fn mean_length_packets(&self) -> f64 {
        self.packet_time_ps as f64 * 1e-12 / self.window.seconds()
    }

    pub fn mean_length_bytes(&self) -> f64 {
        self.byte_time_ps as f64 * 1e-12 / self.window.seconds()
    }
}

/// A discipline's sink: books drops and marks, and lets go of what the dropped packets held.
pub(crate) struct BookSink<'a> {
    pub book: &'a mut QueueBook,
    pub sacks: &'a mut SackTable,
    pub now: Time,
}

impl Sink<Packet> for BookSink<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, _queued: bool) {
        self.book.drop(&packet, reason, self.now);
        if packet.is_ack() && packet.stamp != 0 {
            self.sacks.take(packet.stamp);
        }
    }

    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        self.book.mark(packet, self.now);
    }
}

/// Shows a queue's gauges to a visitor.
pub(crate) type Gauges<'a> = dyn Fn(&mut dyn FnMut(&'static str, f64)) + 'a;

/// Shows the gauges that a queue keeps for a flow to a visitor.
pub(crate) type FlowGauges<'a> = dyn Fn(FlowKey, &mut dyn FnMut(&'static str, f64)) + 'a;

/// The time series of one queue: its length, its drops, and whatever gauges its discipline shows.
#[derive(Default)]
pub(crate) struct QueueSeries {
    pub length_packets: Vec<f64>,
    pub length_bytes: Vec<f64>,
    pub dropped_packets: Vec<f64>,
    dropped_before: u64,
    pub gauges: GaugeSeries,
}

impl QueueSeries {
    pub fn sample(&mut self, backlog: forebay_qdisc::Backlog, dropped_total: u64, gauges: &Gauges<'_>) {
        self.length_packets.push(backlog.packets as f64);
        self.length_bytes.push(backlog.bytes as f64);
        self.dropped_packets.push((dropped_total - self.dropped_before) as f64);
        self.dropped_before = dropped_total;
        self.gauges.sample(gauges);
    }
}

/// Named gauges over time.
#[derive(Default)]
pub(crate) struct GaugeSeries {
    samples: usize,
    pub columns: Vec<(&'static str, Vec<f64>)>,
}

impl GaugeSeries {
    pub fn sample(&mut self, gauges: &Gauges<'_>) {
        gauges(&mut |name, value| {
            let index = self.columns.iter().position(|(column, _)| *column == name).unwrap_or_else(|| {
                // A gauge that appears late was not there before.
                self.columns.push((name, vec![f64::NAN; self.samples]));
                self.columns.len() - 1
            });
            self.columns[index].1.push(value);
        });
        self.samples += 1;
        for (_, values) in &mut self.columns {
            values.resize(self.samples, f64::NAN);
        }
    }
}

/// A flow whose gauges at one queue are sampled.
pub(crate) struct WatchedFlow {
    pub flow: FlowId,
    pub series: GaugeSeries,
}

impl WatchedFlow {
    pub fn new(flow: FlowId) -> Self {
        Self { flow, series: GaugeSeries::default() }
    }

    pub fn key(&self) -> FlowKey {
        flow_key(self.flow, false)
    }
}

/// Packets that a link lost at random, by flow: since the start, and within the measured interval.
#[derive(Default)]
pub(crate) struct LossBook {
    pub flows: Vec<(u64, u64)>,
}

impl LossBook {
    pub fn lost(&mut self, packet: &Packet, window: &Window) {
        let index = packet.flow_id() as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, (0, 0));
        }
        self.flows[index].0 += 1;
        self.flows[index].1 += u64::from(window.measures(packet.time));
    }
}
