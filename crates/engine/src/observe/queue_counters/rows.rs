//! The rows of a queue's counters, one for each (flow, direction).
//!
//! If most flows cross a queue, its rows are in their order, and the row of a packet follows from its flow. If few of
//! many flows do, only these have rows, and an index finds them.

use super::{FlowAtQueue, LetIn, QueueCounters};
use crate::driver::prefetch::{LINE_BYTES, prefetch};
use crate::packet::Packet;

/// Up to this many rows are in order in any case.
const FEW: usize = 64;

/// Scattered rows are put in order when so many of the rows that there are then are in use. An order of a megabyte or
/// less may have more unused rows: its packets take less time.
fn worth_an_order(rows: usize) -> usize {
    if rows <= 8192 { rows / 16 } else { rows / 4 }
}

/// [`QueueCounters::first`] of rows that are not in order: [`QueueCounters::row_of`] finds none of them.
const NOT_IN_ORDER: usize = 1 << (usize::BITS - 2);

/// The counters of one (flow, direction), as packets change them. With thousands of flows each packet touches a row
/// that the caches do not hold: two rows share a cache line. Sums beyond its fields are in [`QueueCounters::wide`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub(super) struct Row {
    pub wait_ps: u64,
    pub arrived: u32,
    pub departed: u32,
    pub marked: u32,
    pub dropped: u32,
    /// Outside of the measured interval.
    pub dropped_outside: u32,
    /// See [`FlowAtQueue::queued`].
    pub queued: i32,
}

const _: () = assert!(2 * size_of::<Row>() == LINE_BYTES);

impl Row {
    /// Whether a count may soon exceed its field. Marks and departures are not more than arrivals.
    #[inline]
    pub fn is_full(&self) -> bool {
        (self.arrived | self.dropped_outside) >> (u32::BITS - 1) != 0
    }
}

/// By which rows are found.
pub(super) enum RowOrder {
    /// From the first (flow, direction) to the last.
    InOrder,
    /// In the order in which they came.
    Scattered(RowIndex),
    /// The (flow, direction) of each row; callers have the rows.
    Given(Box<[u32]>),
}

impl QueueCounters {
    /// The row that [`QueueCounters::row_of`] did not find, perhaps a new one.
    #[cold]
    #[inline(never)]
    pub(super) fn find(&mut self, row: usize) -> usize {
        let direction = row.rotate_left(self.shift).wrapping_add(self.first);
        let RowOrder::Scattered(index) = &mut self.order else { return self.add_in_order(direction) };
        let row = index.row(direction as u32);
        if row == self.flows.len() {
            self.flows.push(Row::default());
            if let Some((first, shift, len)) = index.order() {
                self.put_in_order(first, shift, len);
                return self.row_of(direction);
            }
        }
        row
    }

    /// The row of a (flow, direction), beyond the last one if there is none.
    #[inline]
    pub(super) fn known_row(&self, direction: usize) -> usize {
        let RowOrder::Scattered(index) = &self.order else { return self.row_of(direction) };
        let entry = index.slots[index.slot(direction as u32)];
        if entry == FREE { usize::MAX } else { entry as u32 as usize }
    }

    /// Prefetches what [`QueueCounters::arrival`] touches for these packets: slots of the index, then rows.
    #[inline]
    pub fn prefetch_arrivals(&self, packets: &[Packet]) {
        if let RowOrder::Scattered(index) = &self.order {
            for packet in packets {
                prefetch(&index.slots[index.first_slot(packet.direction_index() as u32)]);
            }
        }
        for packet in packets {
            if let Some(row) = self.flows.get(self.known_row(packet.direction_index())) {
                prefetch(row);
            }
        }
    }

    /// Adds a row for `direction` to those in order.
    fn add_in_order(&mut self, direction: usize) -> usize {
        if self.flows.is_empty() {
            self.first = direction;
        }
        let is_other = (direction ^ self.first) & 1 != 0;
        let shift = if is_other { 0 } else { self.shift };
        let end = (self.first + (self.flows.len() << self.shift)).max(direction + 1);
        let mut first = self.first.min(direction);
        if shift < self.shift {
            first &= !1;
        }
        let len = (end - first).div_ceil(1 << shift);
        if len > self.flows.capacity().max(FEW) && self.in_use().count() < worth_an_order(len) / 4 {
            self.scatter();
            return self.find(self.row_of(direction));
        }
        if first < self.first || shift < self.shift {
            // Doubles, so that flows in falling order do not each move all rows.
            let before = if direction < self.first { len.min(first >> shift) } else { 0 };
            self.put_in_order(first - (before << shift), shift, len + before);
        } else {
            self.flows.resize(len, Row::default());
        }
        self.row_of(direction)
    }

    /// Moves the rows to their places in an order of `len` rows.
    fn put_in_order(&mut self, first: usize, shift: u32, len: usize) {
        let mut let_in = vec![LetIn::default(); if self.let_in.is_empty() { 0 } else { len }];
        let mut flows = vec![Row::default(); len];
        for (direction, row) in self.in_use() {
            let place = (direction - first) >> shift;
            flows[place] = self.flows[row];
            if let Some(let_in) = let_in.get_mut(place) {
                *let_in = self.let_in_of(row);
            }
        }
        (self.let_in, self.flows, self.first, self.shift) = (let_in, flows, first, shift);
        self.order = RowOrder::InOrder;
    }

    /// Keeps the rows that are in use, and makes an index of them.
    fn scatter(&mut self) {
        let mut index = RowIndex::default();
        let (mut let_in, mut flows) = (Vec::new(), Vec::new());
        for (direction, row) in self.in_use() {
            index.row(direction as u32);
            if row < self.let_in.len() {
                let_in.resize(flows.len(), LetIn::default());
                let_in.push(self.let_in[row]);
            }
            flows.push(self.flows[row]);
        }
        (self.let_in, self.flows, self.first, self.shift) = (let_in, flows, NOT_IN_ORDER, 0);
        self.order = RowOrder::Scattered(index);
    }

    /// The (flow, direction) and the number of each row with a count, in order unless they are given.
    fn in_use(&self) -> impl Iterator<Item = (usize, usize)> {
        let sorted = if let RowOrder::Scattered(index) = &self.order { index.sorted() } else { Vec::new() };
        let numbered = move |place: usize| match &self.order {
            RowOrder::InOrder => (self.first + (place << self.shift), place),
            RowOrder::Scattered(_) => (sorted[place].0 as usize, sorted[place].1 as usize),
            RowOrder::Given(directions) => (directions[place] as usize, place),
        };
        let is_in_use = |&(direction, row): &(usize, usize)| {
            self.let_in_of(row) != LetIn::default()
                || self.flows[row] != Row::default()
                || self.wide_place(direction as u32).is_ok()
        };
        (0..self.flows.len()).map(numbered).filter(is_in_use)
    }

    fn let_in_of(&self, row: usize) -> LetIn {
        self.let_in.get(row).copied().unwrap_or_default()
    }

    /// The (flow, direction) of a row of those that were given.
    pub(super) fn given_direction(&self, row: usize) -> Option<u32> {
        if let RowOrder::Given(directions) = &self.order { directions.get(row).copied() } else { None }
    }

    /// The sums that a row does not hold.
    pub(super) fn wide_of(&mut self, row: usize) -> &mut FlowAtQueue {
        let direction = match &self.order {
            RowOrder::InOrder => (self.first + (row << self.shift)) as u32,
            RowOrder::Scattered(index) => index.direction_of(row),
            RowOrder::Given(directions) => directions[row],
        };
        let place = self.wide_place(direction).unwrap_or_else(|place| {
            self.wide.insert(place, (direction, FlowAtQueue::default()));
            place
        });
        &mut self.wide[place].1
    }

    /// The place of a (flow, direction) among the wide sums, or the one that it would have.
    fn wide_place(&self, direction: u32) -> Result<usize, usize> {
        self.wide.binary_search_by_key(&direction, |&(direction, _)| direction)
    }

    /// Moves the sums of a row to wider ones.
    #[cold]
    #[inline(never)]
    pub(super) fn widen(&mut self, row: usize) {
        let full = std::mem::take(&mut self.flows[row]);
        self.flows[row].queued = full.queued;
        self.wide_of(row).add(&FlowAtQueue { queued: 0, ..full.into() });
    }

    /// A packet of `row` was dropped on arrival, although the one of `arriving`, or none, arrived.
    #[cold]
    #[inline(never)]
    pub(super) fn note_unaccounted(&mut self, arriving: Option<usize>, row: usize) {
        if let Some(arriving) = arriving {
            self.wide_of(arriving).unaccounted += 1;
        }
        self.wide_of(row).unaccounted -= 1;
    }

    /// Rows with a count, each with its [`crate::packet::Packet::direction_index`].
    pub fn rows(&self) -> impl Iterator<Item = (usize, FlowAtQueue)> {
        self.in_use().map(|(direction, row)| {
            let (mut flow, let_in) = (FlowAtQueue::from(self.flows[row]), self.let_in_of(row));
            flow.arrived += let_in.packets;
            flow.departed += let_in.packets;
            flow.wait_ps += u128::from(let_in.wait_ps);
            if let Ok(place) = self.wide_place(direction as u32) {
                flow.add(&self.wide[place].1);
            }
            (direction, flow)
        })
    }
}

impl From<Row> for FlowAtQueue {
    fn from(row: Row) -> Self {
        let Row { wait_ps, arrived, departed, marked, dropped, dropped_outside, queued } = row;
        Self {
            arrived: arrived.into(),
            dropped: dropped.into(),
            marked: marked.into(),
            departed: departed.into(),
            wait_ps: wait_ps.into(),
            dropped_total: u64::from(dropped) + u64::from(dropped_outside),
            unaccounted: 0,
            queued: queued.into(),
        }
    }
}

/// The rows of scattered (flow, direction)s: a hash table with linear probing.
pub(super) struct RowIndex {
    /// A (flow, direction) above its row, or [`FREE`]; a power of two of them.
    slots: Box<[u64]>,
    rows: usize,
    /// The entry that was found last: packets of a flow often come together.
    last: u64,
}

const FREE: u64 = u64::MAX;

impl Default for RowIndex {
    fn default() -> Self {
        Self { slots: [FREE; 8].into(), rows: 0, last: FREE }
    }
}

impl RowIndex {
    /// The row of a (flow, direction); the next one if it has none yet.
    fn row(&mut self, direction: u32) -> usize {
        if (self.last >> 32) as u32 == direction && self.last != FREE {
            return self.last as u32 as usize;
        }
        let mut slot = self.slot(direction);
        if self.slots[slot] == FREE {
            if self.rows >= self.slots.len() / 4 * 3 {
                self.grow();
                slot = self.slot(direction);
            }
            self.slots[slot] = u64::from(direction) << 32 | self.rows as u64;
            self.rows += 1;
        }
        self.last = self.slots[slot];
        self.last as u32 as usize
    }

    /// The (flow, direction) of a row.
    fn direction_of(&self, row: usize) -> u32 {
        let entry = self.slots.iter().find(|&&entry| entry != FREE && entry as u32 as usize == row);
        entry.map_or(u32::MAX, |&entry| (entry >> 32) as u32)
    }

    /// The slot from which on a (flow, direction) is looked for.
    #[inline]
    fn first_slot(&self, direction: u32) -> usize {
        // Multiplicative hashing by the golden ratio (Knuth, The Art of Computer Programming, section 6.4).
        let hash = direction.wrapping_mul(0x9e37_79b9);
        ((u64::from(hash) * self.slots.len() as u64) >> 32) as usize
    }

    /// The slot of a (flow, direction), or the free one that it would take.
    fn slot(&self, direction: u32) -> usize {
        let mut slot = self.first_slot(direction);
        while self.slots[slot] != FREE && (self.slots[slot] >> 32) as u32 != direction {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    #[cold]
    fn grow(&mut self) {
        let grown = vec![FREE; 2 * self.slots.len()].into();
        let before = std::mem::replace(&mut self.slots, grown);
        for entry in before.into_iter().filter(|&entry| entry != FREE) {
            let slot = self.slot((entry >> 32) as u32);
            self.slots[slot] = entry;
        }
    }

    /// The (flow, direction)s in their order, with their rows.
    fn sorted(&self) -> Vec<(u32, u32)> {
        let taken = self.slots.iter().filter(|&&entry| entry != FREE);
        let mut rows: Vec<_> = taken.map(|&entry| ((entry >> 32) as u32, entry as u32)).collect();
        rows.sort_unstable();
        rows
    }

    /// First row, shift and number of rows in order, if enough of these would be in use. Looks only when their number
    /// has doubled.
    fn order(&self) -> Option<(usize, u32, usize)> {
        if !self.rows.is_power_of_two() {
            return None;
        }
        let directions = || self.slots.iter().filter(|&&entry| entry != FREE).map(|&entry| (entry >> 32) as usize);
        let (first, last) = (directions().min()?, directions().max()?);
        let shift = u32::from(directions().all(|direction| (direction ^ first) & 1 == 0));
        let first = if shift == 0 { first & !1 } else { first };
        let len = ((last - first) >> shift) + 1;
        (self.rows >= worth_an_order(len)).then_some((first, shift, len))
    }
}
