//! The event queue: what happens next, by (time, id).
//!
//! It holds one entry for each busy lane and each armed timer, never one for each packet in flight. Equal times come
//! out in the order of their ids. Two structures share the work, whichever is faster for the size at hand:
//!
//! - for a few entries, a sorted array;
//! - for more, a wheel of 4096 buckets, each a few mean gaps between events wide. A bucket is a list in a slab; it is
//!   sorted when its turn comes. What lies beyond the wheel waits in a 4-ary heap.
//!
//! The choice, and the width of the buckets, follow what was seen lately. They change the speed and nothing else.
//!
//! Into the array, and into the current bucket, an event is put in its place among those that are there. So neither may
//! grow long: an array of more than a thousand events is left at once for a wheel, and a bucket of more than eight
//! thousand is divided. A million flows, each with a timer at the start of the run, cost no more each than a hundred.

use forebay_qdisc::Time;

/// A pending event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When.
    pub time: Time,
    /// Which timer or lane; breaks ties.
    pub id: u32,
}

impl Event {
    /// One number that orders like (time, id): compared in two instructions.
    #[inline]
    const fn key(self) -> u128 {
        (self.time.picoseconds() as u128) << 32 | self.id as u128
    }

    #[inline]
    const fn from_key(key: u128) -> Self {
        Self { time: Time::from_picoseconds((key >> 32) as u64), id: key as u32 }
    }
}

/// How many events pass between two looks at the queue's own shape.
const EVENTS_PER_REVIEW: u32 = 1 << 13;
/// With fewer pending events than this the array is faster.
const WHEEL_PAYS_FROM: usize = 32;
/// A longer array does not wait for the next review.
const MOST_IN_ARRAY: usize = 1 << 10;
/// A longer bucket is divided when its turn comes.
const MOST_IN_BUCKET: usize = EVENTS_PER_REVIEW as usize;

/// A priority queue of events, the earliest first.
#[derive(Debug, Default)]
pub struct EventQueue {
    /// All events while there are few: the earliest last.
    few: Vec<u128>,
    wheel: Option<Wheel>,
    /// Beyond the wheel.
    far: Heap,
    pops: u32,
    reviewed_at: Time,
    looks_ahead: bool,
}

impl EventQueue {
    /// Keeps an eye on what comes soon, for [`EventQueue::take_soon`].
    pub fn look_ahead(&mut self) {
        self.looks_ahead = true;
    }

    /// The earliest event.
    #[inline]
    #[must_use]
    pub fn peek(&mut self) -> Option<Event> {
        match &mut self.wheel {
            None => self.few.last().copied().map(Event::from_key),
            Some(wheel) => wheel.first(&mut self.far).map(Event::from_key),
        }
    }

    /// Shows the ids of events that come soon, with how soon: 0 for at once, up to [`BUCKETS_AHEAD`]. A hint what to
    /// load while others are worked on. Only if asked to by [`EventQueue::look_ahead`].
    #[inline]
    pub fn take_soon(&mut self, mut visit: impl FnMut(u32, u32)) {
        if let Some(wheel) = &mut self.wheel
            && !wheel.soon.is_empty()
        {
            wheel.soon.drain(..).for_each(|(ahead, id)| visit(ahead, id));
            wheel.current.iter().for_each(|&key| visit(0, Event::from_key(key).id));
        }
    }

    /// Whether an event that is pending comes before `event`.
    #[inline]
    #[must_use]
    pub fn has_earlier(&mut self, event: Event) -> bool {
        let first = match &mut self.wheel {
            None => self.few.last().copied(),
            Some(wheel) => wheel.first(&mut self.far),
        };
        first.is_some_and(|key| key < event.key())
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event) {
        match &mut self.wheel {
            None if self.few.len() < MOST_IN_ARRAY => insert_sorted(&mut self.few, event.key()),
            None => self.leave_array(event),
            Some(wheel) => wheel.push(event.key(), &mut self.far),
        }
    }

    /// Goes on with a wheel of the narrowest buckets. They leave nearly all events to the heap, which takes any number
    /// of them in any order; the next review finds the width that pays.
    #[cold]
    #[inline(never)]
    fn leave_array(&mut self, event: Event) {
        let mut keys = std::mem::take(&mut self.few);
        keys.push(event.key());
        self.wheel = Some(Wheel::new(0, self.reviewed_at, self.looks_ahead, keys, &mut self.far));
    }

    /// Takes the earliest event away; there has to be one.
    #[inline]
    pub fn pop(&mut self) {
        self.count();
        match &mut self.wheel {
            None => {
                self.few.pop();
            }
            Some(wheel) => wheel.pop(&mut self.far),
        }
    }

    #[inline]
    fn count(&mut self) {
        self.pops += 1;
        if self.pops == EVENTS_PER_REVIEW {
            self.review();
        }
    }

    /// Looks at how many events are pending and how far apart they come, and reshapes the queue if that would pay.
    #[cold]
    fn review(&mut self) {
        self.pops = 0;
        let Some(now) = self.peek().map(|event| event.time) else { return };
        let gap_ps = now.since(self.reviewed_at).picoseconds() / u64::from(EVENTS_PER_REVIEW);
        self.reviewed_at = now;
        let pending = self.few.len() + self.far.keys.len() + self.wheel.as_ref().map_or(0, |wheel| wheel.pending);
        let shift = (gap_ps * 2).max(1).ilog2();
        let fits = match &self.wheel {
            None => pending < WHEEL_PAYS_FROM,
            Some(wheel) => pending >= WHEEL_PAYS_FROM / 2 && wheel.shift.abs_diff(shift) < 2,
        };
        if fits {
            return;
        }
        let mut keys = std::mem::take(&mut self.few);
        keys.append(&mut self.far.keys);
        if let Some(mut wheel) = self.wheel.take() {
            keys.append(&mut wheel.take_keys());
        }
        if pending >= WHEEL_PAYS_FROM {
            self.wheel = Some(Wheel::new(shift, now, self.looks_ahead, keys, &mut self.far));
        } else {
            sort(&mut keys);
            self.few = keys;
        }
    }
}

/// Sorts `keys`, the smallest last.
fn sort(keys: &mut [u128]) {
    keys.sort_unstable_by(|a, b| b.cmp(a));
}

/// Inserts `key` into `keys`, the smallest of which is the last.
#[inline]
fn insert_sorted(keys: &mut Vec<u128>, key: u128) {
    keys.push(key);
    sink_last(keys);
}

/// Moves the last of `keys` to where it belongs.
#[inline]
fn sink_last(keys: &mut [u128]) {
    let mut at = keys.len() - 1;
    let key = keys[at];
    while at > 0 && keys[at - 1] < key {
        keys[at] = keys[at - 1];
        at -= 1;
    }
    #[cfg(test)]
    tests::MOVES.with(|moves| moves.set(moves.get() + keys.len() - at));
    keys[at] = key;
}

/// A 4-ary heap.
#[derive(Debug, Default)]
struct Heap {
    keys: Vec<u128>,
}

const ARITY: usize = 4;

impl Heap {
    #[inline]
    fn first(&self) -> Option<u128> {
        self.keys.first().copied()
    }

    #[inline]
    fn push(&mut self, key: u128) {
        let mut index = self.keys.len();
        self.keys.push(key);
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[index] = self.keys[parent];
            index = parent;
        }
        self.keys[index] = key;
    }

    #[inline]
    fn pop(&mut self) {
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.replace_first(last);
        }
    }

    /// Lets `key` sink from the root.
    #[inline]
    fn replace_first(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut index = 0;
        loop {
            let first_child = index * ARITY + 1;
            let mut smallest = first_child;
            if let Some(children) = keys.get(first_child..first_child + ARITY) {
                for child in 1..ARITY {
                    if children[child] < children[smallest - first_child] {
                        smallest = first_child + child;
                    }
                }
            } else {
                for child in first_child + 1..keys.len() {
                    if keys[child] < keys[smallest] {
                        smallest = child;
                    }
                }
                if smallest >= keys.len() {
                    break;
                }
            }
            if key <= keys[smallest] {
                break;
            }
            keys[index] = keys[smallest];
            index = smallest;
        }
        keys[index] = key;
    }
}

const BUCKETS: u64 = 4096;
/// How many buckets ahead events are shown by [`EventQueue::take_soon`].
pub const BUCKETS_AHEAD: u32 = 2;
const WORDS: usize = (BUCKETS / 64) as usize;
const NONE: u32 = u32::MAX;

/// The near future in buckets of 2^shift picoseconds.
#[derive(Debug)]
struct Wheel {
    shift: u32,
    /// Number of the current bucket, counted from time zero.
    base: u64,
    /// The events of the current bucket, the earliest last.
    current: Vec<u128>,
    /// First node of each other bucket's list: the buckets after `base`, up to one turn of the wheel.
    heads: Vec<u32>,
    /// Which buckets are not empty.
    filled: [u64; WORDS],
    nodes: Vec<Node>,
    /// First node of the list of free nodes.
    free: u32,
    /// Events in `current` and in the buckets.
    pending: usize,
    looks_ahead: bool,
    /// The ids in the buckets after the current one, when that was opened, with how many buckets ahead.
    soon: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    time: Time,
    id: u32,
    next: u32,
}

const _: () = assert!(size_of::<Node>() == 16);

impl Node {
    #[inline]
    const fn key(&self) -> u128 {
        Event { time: self.time, id: self.id }.key()
    }
}

impl Wheel {
    /// With buckets of 2^`shift` picoseconds from `now` on, and with these events.
    fn new(shift: u32, now: Time, looks_ahead: bool, keys: Vec<u128>, far: &mut Heap) -> Self {
        let mut wheel = Self {
            shift,
            base: now.picoseconds() >> shift,
            current: Vec::new(),
            heads: vec![NONE; BUCKETS as usize],
            filled: [0; WORDS],
            nodes: Vec::new(),
            free: NONE,
            pending: 0,
            looks_ahead,
            soon: Vec::new(),
        };
        for key in keys {
            if wheel.bucket(key) <= wheel.base {
                wheel.pending += 1;
                wheel.current.push(key);
            } else {
                wheel.push(key, far);
            }
        }
        sort(&mut wheel.current);
        wheel.divide_current(far);
        wheel
    }

    #[inline]
    fn bucket(&self, key: u128) -> u64 {
        (key >> 32) as u64 >> self.shift
    }

    #[inline]
    fn first(&mut self, far: &mut Heap) -> Option<u128> {
        if self.current.is_empty() {
            self.advance(far);
        }
        self.current.last().copied()
    }

    #[inline]
    fn pop(&mut self, far: &mut Heap) {
        if self.current.is_empty() {
            self.advance(far);
        }
        self.pending -= usize::from(self.current.pop().is_some());
    }

    #[inline]
    fn push(&mut self, key: u128, far: &mut Heap) {
        let bucket = self.bucket(key);
        if bucket >= self.base + BUCKETS {
            far.push(key);
        } else {
            self.pending += 1;
            self.insert(key, bucket);
        }
    }

    /// Puts `key` into `bucket`, which is on the wheel.
    #[inline]
    fn insert(&mut self, key: u128, bucket: u64) {
        if bucket <= self.base {
            return insert_sorted(&mut self.current, key);
        }
        let slot = (bucket % BUCKETS) as usize;
        let Event { time, id } = Event::from_key(key);
        let node = Node { time, id, next: self.heads[slot] };
        self.heads[slot] = if self.free == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            let free = self.free;
            self.free = self.nodes[free as usize].next;
            self.nodes[free as usize] = node;
            free
        };
        self.filled[slot / 64] |= 1 << (slot % 64);
    }

    fn note_what_comes_soon(&mut self) {
        self.soon.clear();
        let mut bucket = self.base;
        for ahead in 1..=BUCKETS_AHEAD {
            let Some(next) = self.next_filled(bucket) else { break };
            bucket = next;
            let mut node = self.heads[(bucket % BUCKETS) as usize];
            while node != NONE {
                let Node { id, next, .. } = self.nodes[node as usize];
                self.soon.push((ahead, id));
                node = next;
            }
        }
    }

    /// The first bucket after this one that is not empty, counted on round the wheel.
    fn next_filled(&self, bucket: u64) -> Option<u64> {
        let start = ((bucket + 1) % BUCKETS) as usize;
        for step in 0..=WORDS {
            let word = (start / 64 + step) % WORDS;
            let mut bits = self.filled[word];
            if step == 0 {
                bits &= u64::MAX << (start % 64);
            } else if step == WORDS {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                return Some(bucket + 1 + (slot + BUCKETS - start as u64) % BUCKETS);
            }
        }
        None
    }

    /// Turns the wheel to the next bucket with events; fetches what has come within its reach.
    fn advance(&mut self, far: &mut Heap) {
        let near = self.next_filled(self.base);
        let beyond = far.first().map(|key| self.bucket(key));
        let Some(bucket) = near.into_iter().chain(beyond).min() else { return };
        self.base = bucket;
        let slot = (bucket % BUCKETS) as usize;
        let mut node = std::mem::replace(&mut self.heads[slot], NONE);
        self.filled[slot / 64] &= !(1 << (slot % 64));
        while node != NONE {
            let first = &mut self.nodes[node as usize];
            self.current.push(first.key());
            let next = std::mem::replace(&mut first.next, self.free);
            self.free = node;
            node = next;
        }
        while let Some(key) = far.first()
            && self.bucket(key) < bucket + BUCKETS
        {
            far.pop();
            self.pending += 1;
            if self.bucket(key) == bucket {
                self.current.push(key);
            } else {
                self.insert(key, self.bucket(key));
            }
        }
        sort(&mut self.current);
        if self.current.len() > MOST_IN_BUCKET {
            self.divide_current(far);
        }
        if self.looks_ahead {
            self.note_what_comes_soon();
        }
    }

    /// Makes all buckets narrower if the current one is too long. One of a single instant stays.
    #[cold]
    #[inline(never)]
    fn divide_current(&mut self, far: &mut Heap) {
        if self.current.len() > MOST_IN_BUCKET && self.shift > 0 {
            let (latest, earliest) = (self.current[0], self.current[self.current.len() - 1]);
            let gap_ps = ((latest >> 32) - (earliest >> 32)) as u64 / self.current.len() as u64;
            let shift = (gap_ps * 2).max(1).ilog2().min(self.shift - 1);
            let keys = self.take_keys();
            *self = Self::new(shift, Event::from_key(earliest).time, self.looks_ahead, keys, far);
        }
    }

    /// All events but those beyond the wheel, in no order.
    fn take_keys(&mut self) -> Vec<u128> {
        let mut keys = std::mem::take(&mut self.current);
        for &head in &self.heads {
            let mut node = head;
            while node != NONE {
                keys.push(self.nodes[node as usize].key());
                node = self.nodes[node as usize].next;
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    thread_local! {
        /// Keys that were moved, or put in place, among those of the array and of the current bucket.
        pub static MOVES: Cell<usize> = const { Cell::new(0) };
    }

    /// Runs a queue beside a sorted list. As in a simulation no event is pushed before the earliest one pending.
    fn agrees_with_a_sorted_list(operations: &[(u64, u32, u8)], mut queue: EventQueue) {
        let mut model: Vec<Event> = Vec::new();
        let mut now = 0;
        for &(ahead, id, operation) in operations {
            let event = Event { time: Time::from_picoseconds(now + ahead), id };
            match operation {
                0 if !model.is_empty() => {
                    queue.pop();
                    now = model.remove(0).time.picoseconds();
                }
                1 => queue.review(),
                _ => {
                    queue.push(event);
                    model.push(event);
                }
            }
            model.sort();
            assert_eq!(queue.peek(), model.first().copied());
            assert_eq!(queue.has_earlier(event), model.first().is_some_and(|first| *first < event));
            queue.take_soon(|_, id| assert!(model.iter().any(|event| event.id == id), "{id} is pending"));
        }
        for event in model {
            assert_eq!(queue.peek(), Some(event));
            queue.pop();
        }
        assert_eq!(queue.peek(), None);
    }

    proptest! {
        #[test]
        fn events_come_out_in_order(
            operations in prop::collection::vec((0_u64..200_000, 0_u32..20, 0_u8..5), 1..600),
            shift in 0_u32..12,
        ) {
            agrees_with_a_sorted_list(&operations, EventQueue::default());
            let wheel = Some(Wheel::new(shift, Time::ZERO, true, Vec::new(), &mut Heap::default()));
            agrees_with_a_sorted_list(&operations, EventQueue { wheel, ..EventQueue::default() });
        }
    }

    /// Puts `starts` into a queue, then takes events out, in order, each followed by one a little later: as flows that
    /// start, and send. Gives how many keys were moved for each event.
    fn moves_an_event(starts: &[u64]) -> usize {
        MOVES.set(0);
        let mut queue = EventQueue::default();
        for (&time, id) in starts.iter().zip(0..) {
            queue.push(Event { time: Time::from_picoseconds(time), id });
        }
        let (mut now, mut handled) = (0, 0);
        while let Some(Event { time, id }) = queue.peek() {
            assert!(now <= time.picoseconds());
            now = time.picoseconds();
            queue.pop();
            handled += 1;
            if handled <= starts.len() {
                queue.push(Event { time: Time::from_picoseconds(now + 1_000_000 + u64::from(id) % 1000), id });
            }
        }
        assert_eq!(handled, 2 * starts.len());
        MOVES.get() / handled
    }

    #[test]
    fn an_event_costs_no_more_among_a_hundred_thousand() {
        const MANY: u64 = 100_000;
        const SECOND: u64 = 1_000_000_000_000;
        let scattered = |at: u64| (at * 7_368_787 % MANY) * (SECOND / MANY);
        let cases: [(&str, Vec<u64>); 6] = [
            ("one after the other", (0..MANY).map(|at| at * 10_000_000).collect()),
            ("the last first", (0..MANY).rev().map(|at| at * 10_000_000).collect()),
            ("scattered", (0..MANY).map(scattered).collect()),
            ("all at once, later", vec![SECOND; MANY as usize]),
            ("half of them early", (0..MANY).map(|at| scattered(at) + 9 * SECOND * u64::from(at < MANY / 2)).collect()),
            ("close together, later", (0..MANY).map(|at| SECOND + scattered(at) / 100_000).collect()),
        ];
        for (case, starts) in cases {
            let moves = moves_an_event(&starts);
            assert!(moves < 100, "{case}: {moves} keys moved for each event");
        }
    }
}
