//! The reported counters of a queue: those of each (flow, direction), and their sums.

/// The counters of one (flow, direction) at one queue in the measured interval, as they are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FlowAtQueue {
    pub arrived: u64,
    pub dropped: u64,
    pub marked: u64,
    pub departed: u64,
    /// Sum of waits. Millions of packets that wait for minutes exceed a `u64`.
    pub wait_ps: u128,
    /// Since the start.
    pub dropped_total: u64,
    /// Since the start: received, less those dropped on arrival and those enqueued. Conservation requires zero.
    pub unaccounted: i64,
    /// Since the start: enqueued, less those dequeued and those dropped after.
    pub queued: i64,
}

impl FlowAtQueue {
    /// Adds the counters of another flow.
    pub fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.dropped += other.dropped;
        self.marked += other.marked;
        self.departed += other.departed;
        self.wait_ps += other.wait_ps;
        self.dropped_total += other.dropped_total;
        self.unaccounted += other.unaccounted;
        self.queued += other.queued;
    }

    /// A violation of conservation: the number of packets and their fault.
    pub fn violation(&self) -> Option<(u64, &'static str)> {
        let fault = match (self.unaccounted, self.queued) {
            (0, 0..) => return None,
            (0, _) => return Some((self.queued.unsigned_abs(), "were dequeued or dropped later, but not enqueued")),
            (1.., _) => "were received, but neither dropped on arrival nor enqueued",
            _ => "were dropped on arrival, but not received",
        };
        Some((self.unaccounted.unsigned_abs(), fault))
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueTotals {
    pub arrived: u64,
    pub dropped: u64,
    pub marked: u64,
    pub departed: u64,
    pub dropped_total: u64,
}

impl QueueTotals {
    pub fn add(&mut self, row: &FlowAtQueue) {
        self.arrived += row.arrived;
        self.dropped += row.dropped;
        self.marked += row.marked;
        self.departed += row.departed;
        self.dropped_total += row.dropped_total;
    }

    /// The first counter that differs, with both values.
    pub fn differs_from(&self, other: &Self) -> Option<(&'static str, u64, u64)> {
        [
            ("arrived", self.arrived, other.arrived),
            ("dropped", self.dropped, other.dropped),
            ("marked", self.marked, other.marked),
            ("departed", self.departed, other.departed),
            ("dropped since the start", self.dropped_total, other.dropped_total),
        ]
        .into_iter()
        .find(|(_, one, other)| one != other)
    }
}
