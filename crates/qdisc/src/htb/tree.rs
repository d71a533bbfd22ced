//! The classes of HTB with their modes, and the order in which they send. The functions have the names of Linux's
//! `sch_htb.c` in their comments.

use alloc::vec;
use alloc::vec::Vec;

use super::bucket::{Bucket, MOST_PICOSECONDS};
use super::ring::Ring;
use crate::Time;
use crate::indexed_heap::IndexedHeap;
use crate::memory::heap_bytes;

/// Levels of a tree: leaves are at 0, the classes without a parent at 7 (`TC_HTB_MAXDEPTH`).
pub(super) const LEVELS: usize = 8;

/// Priorities of leaves, the first of which is 0 (`TC_HTB_NUMPRIO`).
pub(super) const PRIORITIES: usize = 8;

/// Whether a class may send: by its own tokens, by those of an ancestor, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    CannotSend,
    MayBorrow,
    CanSend,
}

/// A class of the tree.
#[derive(Clone, Debug)]
pub(super) struct Class {
    parent: Option<u8>,
    level: usize,
    priority: usize,
    rate: Bucket,
    ceil: Bucket,
    /// When its buckets were filled last (`t_c`).
    filled_at: Time,
    mode: Mode,
    /// The priorities, as bits, for which it or a class below has packets (`prio_activity`).
    active: u8,
    quantum: i64,
    /// Of a leaf, the deficit at each level.
    deficits: [i64; LEVELS],
    /// Of an inner class, where its rings begin: children that borrow from it, by priority (`inner.clprio`).
    feeds: usize,
}

impl Class {
    /// A leaf with full buckets, which may become an inner class.
    pub fn new(rate: Bucket, ceil: Bucket, priority: u8, quantum: u64) -> Self {
        Self {
            parent: None,
            level: 0,
            priority: usize::from(priority),
            rate,
            ceil,
            filled_at: Time::ZERO,
            mode: Mode::CanSend,
            active: 0,
            quantum: quantum as i64,
            deficits: [0; LEVELS],
            feeds: 0,
        }
    }

    /// Its mode this many picoseconds after its buckets were filled, and if that is not [`Mode::CanSend`], the time to
    /// the next one (`htb_class_mode`).
    fn mode_after(&self, elapsed: i64) -> (Mode, i64) {
        let of_ceil = self.ceil.tokens_after(elapsed);
        if of_ceil < 0 {
            return (Mode::CannotSend, -of_ceil);
        }
        let own = self.rate.tokens_after(elapsed);
        if own >= 0 { (Mode::CanSend, 0) } else { (Mode::MayBorrow, -own) }
    }

    fn elapsed(&self, now: Time) -> i64 {
        now.since(self.filled_at).picoseconds().min(MOST_PICOSECONDS as u64) as i64
    }
}

/// The priorities of a set of bits, the first ones first.
fn each(mut priorities: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let first = (priorities != 0).then(|| priorities.trailing_zeros() as usize)?;
        priorities &= priorities - 1;
        Some(first)
    })
}

/// The classes, and who sends next.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    classes: Vec<Class>,
    /// First those of each level and priority, for the classes that can send; then those of inner classes.
    rings: Vec<Ring>,
    /// The priorities, as bits, of which a level has classes that can send (`row_mask`).
    rows: [u8; LEVELS],
    /// When classes change their modes, by level (`wait_pq`).
    events: [IndexedHeap<Time>; LEVELS],
    /// Packets sent at the rate of another class.
    pub borrowed: u64,
    /// How often a class reached its ceiling.
    pub overlimits: u64,
}

impl Tree {
    /// A tree of `classes`, each with its parent, where nothing is queued. A parent has the level below that of its own
    /// parent.
    pub fn new(mut classes: Vec<Class>, parents: &[Option<usize>]) -> Self {
        let mut rings = vec![Ring::default(); LEVELS * PRIORITIES];
        for (index, parent) in parents.iter().enumerate() {
            classes[index].parent = parent.map(|parent| parent as u8);
            if parents.contains(&Some(index)) {
                let depth = core::iter::successors(*parent, |&parent| parents[parent]).count();
                classes[index].level = LEVELS - 1 - depth;
                classes[index].feeds = rings.len();
                rings.reserve_exact(PRIORITIES);
                rings.extend([Ring::default(); PRIORITIES]);
            }
        }
        let events = core::array::from_fn(|_| IndexedHeap::new());
        Self { classes, rings, rows: [0; LEVELS], events, borrowed: 0, overlimits: 0 }
    }

    /// Bytes that it holds on the heap of the program.
    pub fn heap_bytes(&self) -> u64 {
        let events = self.events.iter().map(IndexedHeap::heap_bytes).sum::<u64>();
        heap_bytes(&self.classes) + heap_bytes(&self.rings) + events
    }

    /// When a class changes its mode next.
    pub fn next_event(&self) -> Time {
        let first = self.events.iter().filter_map(IndexedHeap::first).map(|(at, _)| at).min();
        first.unwrap_or(Time::NEVER)
    }

    /// The leaf `class` has packets to send (`htb_activate`).
    pub fn activate(&mut self, class: usize) {
        if self.classes[class].active == 0 {
            self.classes[class].active = 1 << self.classes[class].priority;
            self.connect(class);
        }
    }

    /// The leaf `class` has none (`htb_deactivate`).
    pub fn deactivate(&mut self, class: usize) {
        self.disconnect(class);
        self.classes[class].active = 0;
    }

    /// Puts a class into the rings of the ancestors from which it borrows and, where one of these can send, or the
    /// class itself, into that one's row (`htb_activate_prios`).
    fn connect(&mut self, mut class: usize) {
        let mut priorities = self.classes[class].active;
        while let Class { mode: Mode::MayBorrow, parent: Some(parent), .. } = self.classes[class]
            && priorities != 0
        {
            let parent = usize::from(parent);
            for priority in each(priorities) {
                let feed = &mut self.rings[self.classes[parent].feeds + priority];
                if !feed.is_empty() {
                    // The parent is connected for this priority.
                    priorities &= !(1 << priority);
                }
                feed.insert(class as u8);
            }
            self.classes[parent].active |= priorities;
            class = parent;
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = self.classes[class].level;
            each(priorities).for_each(|priority| self.rings[level * PRIORITIES + priority].insert(class as u8));
            self.rows[level] |= priorities;
        }
    }

    /// Takes a class out of all rings (`htb_deactivate_prios`).
    fn disconnect(&mut self, mut class: usize) {
        let mut priorities = self.classes[class].active;
        while let Class { mode: Mode::MayBorrow, parent: Some(parent), .. } = self.classes[class]
            && priorities != 0
        {
            let parent = usize::from(parent);
            let mut emptied = 0;
            for priority in each(priorities) {
                let feed = &mut self.rings[self.classes[parent].feeds + priority];
                feed.suspend(class as u8);
                if feed.is_empty() {
                    emptied |= 1 << priority;
                }
            }
            self.classes[parent].active &= !emptied;
            (class, priorities) = (parent, emptied);
        }
        if self.classes[class].mode == Mode::CanSend {
            let level = self.classes[class].level;
            for priority in each(priorities) {
                let row = &mut self.rings[level * PRIORITIES + priority];
                row.remove(class as u8);
                if row.is_empty() {
                    self.rows[level] &= !(1 << priority);
                }
            }
        }
    }

    /// Brings the mode of a class up to date; returns the time to the next one (`htb_change_class_mode`).
    fn change_mode(&mut self, class: usize, elapsed: i64) -> i64 {
        let (mode, delay) = self.classes[class].mode_after(elapsed);
        let before = self.classes[class].mode;
        if mode != before {
            self.overlimits += u64::from(mode == Mode::CannotSend);
            if before != Mode::CannotSend {
                self.disconnect(class);
            }
            self.classes[class].mode = mode;
            if mode != Mode::CannotSend {
                self.connect(class);
            }
        }
        delay
    }

    /// Notes when a class changes its mode, if it will (`htb_add_to_wait_tree`).
    fn expect(&mut self, class: usize, delay: i64, now: Time) {
        let Class { level, mode, .. } = self.classes[class];
        if mode == Mode::CanSend {
            self.events[level].remove(class as u32);
        } else {
            self.events[level].set(class as u32, Time::from_picoseconds(now.picoseconds() + delay as u64));
        }
    }

    /// Changes the modes of classes whose time has come (`htb_do_events`).
    fn run_events(&mut self, level: usize, now: Time) {
        while let Some((_, class)) = self.events[level].first().filter(|&(at, _)| at <= now) {
            let class = class as usize;
            let delay = self.change_mode(class, self.classes[class].elapsed(now));
            self.expect(class, delay, now);
        }
    }

    /// The leaf to send next, and the level of the class that lends to it: the lowest level first, in it the first
    /// priority, there the leaf whose turn it is (`htb_dequeue`). `has_packet` returns whether a leaf has a packet to
    /// send now. A leaf that has none leaves its rings.
    pub fn pick(&mut self, now: Time, mut has_packet: impl FnMut(usize) -> bool) -> Option<(usize, usize)> {
        for level in 0..LEVELS {
            self.run_events(level, now);
            while self.rows[level] != 0 {
                let leaf = self.find_leaf(level, self.rows[level].trailing_zeros() as usize);
                if has_packet(leaf) {
                    return Some((leaf, level));
                }
                self.deactivate(leaf);
            }
        }
        None
    }

    /// The leaf to which the turns of a row and of the rings below lead (`htb_lookup_leaf`). A ring that is at its end
    /// begins again, and the ring above advances.
    fn find_leaf(&mut self, level: usize, priority: usize) -> usize {
        let mut way = [level * PRIORITIES + priority; LEVELS];
        let mut depth = 0;
        loop {
            match self.rings[way[depth]].current() {
                Some(class) if self.classes[usize::from(class)].level == 0 => return usize::from(class),
                Some(class) => {
                    depth += 1;
                    way[depth] = self.classes[usize::from(class)].feeds + priority;
                }
                None => {
                    self.rings[way[depth]].rewind();
                    if depth > 0 {
                        depth -= 1;
                        self.rings[way[depth]].advance();
                    }
                }
            }
        }
    }

    /// `leaf` sends a packet, for which it borrows from `level`: ends its turn if its deficit is used up
    /// (`htb_dequeue_tree`). `is_empty`: it has nothing more.
    pub fn send(&mut self, leaf: usize, level: usize, len_bytes: u32, is_empty: bool, now: Time) {
        let Class { parent, priority, quantum, .. } = self.classes[leaf];
        let deficit = &mut self.classes[leaf].deficits[level];
        *deficit -= i64::from(len_bytes);
        if *deficit < 0 {
            *deficit += quantum;
            let first = parent.filter(|_| level > 0).map_or(0, |parent| self.classes[usize::from(parent)].feeds);
            self.rings[first + priority].advance();
        }
        if is_empty {
            self.deactivate(leaf);
        }
        self.borrowed += u64::from(level > 0);
        self.charge(leaf, level, len_bytes, now);
    }

    /// Charges a packet to a leaf and all its ancestors: to their ceilings, and from the lender's level up to their
    /// rates (`htb_charge_class`).
    fn charge(&mut self, leaf: usize, level: usize, len_bytes: u32, now: Time) {
        let mut next = Some(leaf as u8);
        while let Some(class) = next.map(usize::from) {
            let Class { parent, level: own_level, rate, ceil, filled_at, mode, .. } = &mut self.classes[class];
            let elapsed = now.since(*filled_at).picoseconds().min(MOST_PICOSECONDS as u64) as i64;
            if *own_level >= level {
                rate.pay(len_bytes, elapsed);
            } else {
                rate.fill(elapsed);
            }
            ceil.pay(len_bytes, elapsed);
            *filled_at = now;
            let before = *mode;
            next = *parent;
            let delay = self.change_mode(class, 0);
            // A class whose mode stays keeps the time of its event, although it may now be too early.
            if self.classes[class].mode != before {
                self.expect(class, delay, now);
            }
        }
    }
}
