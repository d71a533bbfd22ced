//! The counters of a queue.

mod flow_at_queue;
mod rows;

use forebay_qdisc::{DropReason, Time};
use rand_pcg::Pcg64Mcg;

use crate::driver::prefetch::prefetch;
use crate::observe::interval::MeasuredInterval;
use crate::observe::packet_recorder::{SharedRecorder, Traits};
pub(crate) use crate::observe::queue_counters::flow_at_queue::{FlowAtQueue, QueueTotals};
use crate::observe::queue_counters::rows::{Row, RowOrder};
use crate::observe::queue_series::{QueueSeries, WatchedFlow};
use crate::observe::so_far::{Of, QueueName, Show};
use crate::packet::Packet;

const DROP_REASONS: usize = DropReason::ALL.len();

/// When a packet was dropped.
#[derive(Clone, Copy)]
pub(crate) enum Dropped {
    /// In place of the packet that arrives, whose row this is; `None` if no packet arrives or it was dropped already.
    OnArrival(Option<usize>),
    AfterEnqueue,
}

/// Packets whose arrival and departure were counted at once. Four rows share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LetIn {
    packets: u64,
    wait_ps: u64,
}

/// Counts of the measured interval, and totals since the start for the check of conservation. Fields that every packet
/// touches come first.
#[repr(C)]
pub(crate) struct QueueCounters {
    measured: MeasuredInterval,
    /// By row, up to the last one that has any: a discipline that holds packets has none.
    let_in: Vec<LetIn>,
    let_in_total: u64,
    /// Integral of the queue's length.
    byte_time_ps: u128,
    /// The same without the waits in `let_in`.
    packet_time_ps: u128,
    pub longest: u64,
    /// Without `let_in`.
    arrived: u64,
    pub dropped_total: u64,
    /// Without `let_in`.
    departed: u64,
    pub dropped: [u64; DROP_REASONS],
    pub bytes_dropped: u64,
    pub marked: u64,
    flows: Vec<Row>,
    /// [`Packet::direction_index`] of the first row, if rows are in order.
    first: usize,
    /// 1 while only one direction passes, so that every second index has a row; then 0.
    shift: u32,
    order: RowOrder,
    /// In the order of (flow, direction): sums that their rows do not hold, and packets that are unaccounted for.
    wide: Vec<(u32, FlowAtQueue)>,
    /// Records the packets that are let in. Then `let_in` is empty, so that none takes the common path.
    recorder: Option<SharedRecorder>,
    pub trimmed: u64,
    pub bytes_trimmed: u64,
}

impl QueueCounters {
    pub fn new(measured: MeasuredInterval) -> Self {
        Self {
            measured,
            let_in: Vec::new(),
            let_in_total: 0,
            byte_time_ps: 0,
            packet_time_ps: 0,
            longest: 0,
            arrived: 0,
            dropped_total: 0,
            departed: 0,
            dropped: [0; DROP_REASONS],
            bytes_dropped: 0,
            marked: 0,
            flows: Vec::new(),
            first: 0,
            shift: 1,
            order: RowOrder::InOrder,
            wide: Vec::new(),
            recorder: None,
            trimmed: 0,
            bytes_trimmed: 0,
        }
    }

    /// Has a row for each of these; packets come with the numbers of their rows.
    pub fn with_rows(measured: MeasuredInterval, directions: Vec<u32>) -> Self {
        let mut counters = Self::new(measured);
        counters.let_in = vec![LetIn::default(); directions.len()];
        counters.flows = vec![Row::default(); directions.len()];
        counters.order = RowOrder::Given(directions.into());
        counters
    }

    /// Records the packets that are let in at these rows.
    pub fn record(&mut self, recorder: SharedRecorder) {
        self.let_in = Vec::new();
        self.recorder = Some(recorder);
    }

    /// Beyond the last row if there is none, or if only the index finds it.
    #[inline]
    fn row_of(&self, direction: usize) -> usize {
        // The rotation moves the bit of the other direction to the top.
        direction.wrapping_sub(self.first).rotate_right(self.shift)
    }

    #[inline]
    fn existing(&mut self, row: usize) -> usize {
        if row >= self.flows.len() { self.find(row) } else { row }
    }

    #[inline]
    fn row(&mut self, row: usize) -> &mut Row {
        let row = self.existing(row);
        &mut self.flows[row]
    }

    /// Prefetches what [`QueueCounters::let_in`] touches.
    #[inline]
    pub fn prefetch(&self, direction: usize) {
        if let Some(row) = self.let_in.get(self.row_of(direction)) {
            prefetch(&row.packets);
        }
    }

    /// Counts a packet as received and enqueued; returns its row. If it is dropped on arrival,
    /// [`QueueCounters::drop_at`] corrects the count.
    #[inline]
    pub fn arrival(&mut self, packet: &Packet) -> usize {
        self.arrival_at(self.row_of(packet.direction_index()), packet.time)
    }

    #[inline]
    pub fn arrival_at(&mut self, row: usize, now: Time) -> usize {
        let measured = self.measured.contains(now);
        let row = self.existing(row);
        let flow = &mut self.flows[row];
        self.arrived += u64::from(measured);
        flow.arrived += u32::from(measured);
        flow.queued += 1;
        if flow.is_full() {
            self.widen(row);
        }
        row
    }

    /// Counts arrival, wait and departure of a packet that a FIFO admits and begins to send at `start`, perhaps after
    /// the end of the run.
    #[inline]
    pub fn let_in(&mut self, packet: &Packet, start: Time) {
        self.let_in_at(self.row_of(packet.direction_index()), packet.len_bytes(), packet.time, start);
    }

    #[inline]
    pub fn let_in_at(&mut self, row: usize, len_bytes: u32, arrived: Time, start: Time) {
        let MeasuredInterval { from, to } = self.measured;
        if arrived < from || start > to || row >= self.let_in.len() {
            return self.let_in_at_the_edge(row, len_bytes, arrived, start);
        }
        self.let_in_total += 1;
        let wait_ps = start.since(arrived).picoseconds();
        self.byte_time_ps += product(wait_ps, u64::from(len_bytes));
        let let_in = &mut self.let_in[row];
        let_in.packets += 1;
        match let_in.wait_ps.checked_add(wait_ps) {
            Some(sum) => let_in.wait_ps = sum,
            None => self.carry(row, wait_ps),
        }
    }

    /// Moves a full sum to the wider one.
    #[cold]
    #[inline(never)]
    fn carry(&mut self, row: usize, wait_ps: u64) {
        let full = u128::from(std::mem::replace(&mut self.let_in[row].wait_ps, wait_ps));
        self.packet_time_ps += full;
        self.wide_of(row).wait_ps += full;
    }

    #[cold]
    #[inline(never)]
    fn let_in_at_the_edge(&mut self, row: usize, len_bytes: u32, arrived: Time, start: Time) {
        let row = self.existing(row);
        if let Some(recorder) = &self.recorder {
            if let Some(direction) = self.given_direction(row) {
                recorder.lock().pass(Traits { direction, len_bytes }, arrived, Some(start));
            }
        } else if arrived >= self.measured.from && start <= self.measured.to {
            self.let_in.resize(self.flows.len(), LetIn::default());
            return self.let_in_at(row, len_bytes, arrived, start);
        }
        self.arrival_at(row, arrived);
        self.waited(1, u64::from(len_bytes), arrived, start);
        self.departure_at(row, arrived, start);
    }

    /// Counts a packet that is dropped on arrival, without a discipline.
    pub fn refuse(&mut self, packet: &Packet, reason: DropReason) {
        self.refuse_at(self.row_of(packet.direction_index()), packet.len_bytes(), reason, packet.time);
    }

    pub fn refuse_at(&mut self, row: usize, len_bytes: u32, reason: DropReason, now: Time) {
        let measured = self.measured.contains(now);
        self.arrived += u64::from(measured);
        let row = self.existing(row);
        self.flows[row].arrived += u32::from(measured);
        self.count_drop(row, len_bytes, reason, now);
    }

    pub fn drop(&mut self, packet: &Packet, reason: DropReason, now: Time, dropped: Dropped) {
        self.drop_at(self.row_of(packet.direction_index()), packet.len_bytes(), reason, now, dropped);
    }

    pub fn drop_at(&mut self, row: usize, len_bytes: u32, reason: DropReason, now: Time, dropped: Dropped) {
        let row = self.existing(row);
        match dropped {
            Dropped::OnArrival(Some(arriving)) => self.flows[arriving].queued -= 1,
            Dropped::OnArrival(None) => {}
            Dropped::AfterEnqueue => self.flows[row].queued -= 1,
        }
        if let Dropped::OnArrival(arriving) = dropped
            && arriving != Some(row)
        {
            self.note_unaccounted(arriving, row);
        }
        self.count_drop(row, len_bytes, reason, now);
    }

    #[inline]
    fn count_drop(&mut self, row: usize, len_bytes: u32, reason: DropReason, now: Time) {
        let flow = &mut self.flows[row];
        self.dropped_total += 1;
        if self.measured.contains(now) {
            flow.dropped += 1;
            self.dropped[reason as usize] += 1;
            self.bytes_dropped += u64::from(len_bytes);
        } else {
            flow.dropped_outside += 1;
        }
        if flow.is_full() {
            self.widen(row);
        }
    }

    pub fn mark(&mut self, packet: &Packet, now: Time) {
        self.mark_at(self.row_of(packet.direction_index()), now);
    }

    pub fn mark_at(&mut self, row: usize, now: Time) {
        if self.measured.contains(now) {
            self.marked += 1;
            self.row(row).marked += 1;
        }
    }

    /// Counts a packet that arrives or is queued, and is cut by so many bytes. It has one fate with or without them.
    pub fn trim(&mut self, cut_bytes: u32, now: Time) {
        if self.measured.contains(now) {
            self.trimmed += 1;
            self.bytes_trimmed += u64::from(cut_bytes);
        }
    }

    /// `start` may be after the end of the run.
    #[inline]
    pub fn departure(&mut self, packet: &Packet, start: Time) {
        self.departure_at(self.row_of(packet.direction_index()), packet.time, start);
    }

    #[inline]
    pub fn departure_at(&mut self, row: usize, arrived: Time, start: Time) {
        if start > self.measured.to {
            return;
        }
        let measured = self.measured.contains(start);
        let row = self.existing(row);
        let flow = &mut self.flows[row];
        flow.queued -= 1;
        if measured {
            flow.departed += 1;
            self.departed += 1;
            let wait_ps = start.since(arrived).picoseconds();
            match flow.wait_ps.checked_add(wait_ps) {
                Some(sum) => flow.wait_ps = sum,
                None => {
                    self.widen(row);
                    self.flows[row].wait_ps = wait_ps;
                }
            }
        }
    }

    /// Adds to the integrals of the queue's length.
    #[inline]
    pub fn waited(&mut self, packets: u64, bytes: u64, from: Time, to: Time) {
        let span = self.measured.clip(from, to).picoseconds();
        self.packet_time_ps += product(span, packets);
        self.byte_time_ps += product(span, bytes);
    }

    pub fn begin_measurement(&mut self, packets: u64) {
        self.longest = packets;
    }

    #[inline]
    pub fn length(&mut self, packets: u64, now: Time) {
        if packets > self.longest && self.measured.contains(now) {
            self.longest = packets;
        }
    }

    /// The required sum of the rows.
    pub fn totals(&self) -> QueueTotals {
        QueueTotals {
            arrived: self.arrived + self.let_in_total,
            dropped: self.dropped.iter().sum(),
            marked: self.marked,
            departed: self.departed + self.let_in_total,
            dropped_total: self.dropped_total,
        }
    }

    pub fn mean_length_packets(&self) -> f64 {
        let let_in: u128 = self.let_in.iter().map(|row| u128::from(row.wait_ps)).sum();
        (self.packet_time_ps + let_in) as f64 * 1e-12 / self.measured.seconds()
    }

    pub fn mean_length_bytes(&self) -> f64 {
        self.byte_time_ps as f64 * 1e-12 / self.measured.seconds()
    }
}

#[repr(C)]
pub(crate) struct QueueRecord {
    pub counters: QueueCounters,
    pub discipline: String,
    pub series: Option<QueueSeries>,
    pub watched: Vec<WatchedFlow>,
    pub rng: Pcg64Mcg,
    /// The largest state of the discipline.
    pub state_bytes: u64,
    /// The log of the queue's packets, if they are watched.
    pub recorder: Option<SharedRecorder>,
}

impl QueueRecord {
    pub fn new(discipline: String, counters: QueueCounters, rng: Pcg64Mcg) -> Self {
        Self { counters, discipline, series: None, watched: Vec::new(), rng, state_bytes: 0, recorder: None }
    }

    /// Shows the series of the queue, and of the flows that are watched there.
    pub fn show(&self, queue: QueueName<'_>, show: &mut Show<'_>) {
        if let Some(series) = &self.series {
            series.show(Of::Queue(queue), show);
        }
        for watched in &self.watched {
            watched.show(queue, show);
        }
    }
}

/// All 128 bits of a product. WebAssembly calls a function for them, so there a product that fits takes 64.
#[inline]
fn product(a: u64, b: u64) -> u128 {
    if cfg!(target_family = "wasm") && a.leading_zeros() + b.leading_zeros() >= u64::BITS {
        u128::from(a * b)
    } else {
        u128::from(a) * u128::from(b)
    }
}

#[cfg(test)]
#[path = "queue_counters_tests.rs"]
mod tests;
