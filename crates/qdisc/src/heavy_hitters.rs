//! The heavy-hitter set: a few counters that hold every flow with more than its share of a stream of packets, each
//! packet counted in constant time, in the worst case as well as on average.
//!
//! # What it does
//! A packet of a member adds one to the member's counter. A packet of another flow gets a free counter, at one; if
//! there is none, every counter loses one instead, and those that come to zero are free again. With K counters, after N
//! packets: a flow with more than N/(K + 1) of them is a member, and its counter is at most N/(K + 1) short of the
//! truth and never above it.
//!
//! # Source
//! R. M. Karp, S. Shenker and C. H. Papadimitriou, "A Simple Algorithm for Finding Frequent Elements in Streams and
//! Bags", ACM Transactions on Database Systems 28(1), 2003; the same rule as J. Misra and D. Gries, "Finding Repeated
//! Elements", Science of Computer Programming 2(2), 1982.
//!
//! # How the work is bounded
//! A counter is kept as a level above a common `base`, and the members of one level form a group; the groups are linked
//! in the order of their levels. To count a packet is to move its flow to the group next to its own. To decrement all
//! is to raise `base`; the group that this brings to zero, if one, joins the list of those that have left in one piece.
//! Its members keep their places in the index until their flow comes back or their room is wanted, one at a time. The
//! index itself is bounded by the bits of the hash.

mod flow_index;

use alloc::vec::Vec;

use flow_index::FlowIndex;

use crate::memory::heap_bytes;
use crate::require;
use crate::{FlowKey, ParameterError};

/// The number of no member and of no group.
const NONE: u32 = u32::MAX;

/// A flow that is in the set or has left it.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Its counter plus `base`. One whose level is not above `base` has left the set.
    level: u64,
    /// Its group, while it is in the set.
    group: u32,
    /// Its neighbours in the group, or among those that have left.
    previous: u32,
    next: u32,
}

/// A list of members linked through their `previous` and `next`.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

/// The members of one level, at least one.
#[derive(Clone, Copy, Debug)]
struct Group {
    members: List,
    len: u32,
    /// The groups of the next lower and the next higher level.
    lower: u32,
    higher: u32,
}

/// Counts the steps of a call in tests.
#[derive(Clone, Debug, Default)]
struct Steps {
    #[cfg(test)]
    taken: core::cell::Cell<u32>,
}

impl Steps {
    #[inline]
    fn take(&self) {
        #[cfg(test)]
        self.taken.set(self.taken.get() + 1);
    }
}

/// A heavy-hitter set (Karp, Shenker and Papadimitriou).
#[derive(Clone, Debug)]
pub struct HeavyHitterSet {
    capacity: u32,
    index: FlowIndex,
    /// By number. Those that have left are in `departed`; a number is new, in the set or there.
    members: Vec<Member>,
    departed: List,
    groups: Vec<Group>,
    /// Groups without members, linked through `higher`.
    spare_group: u32,
    lowest: u32,
    base: u64,
    len: u32,
    total: u64,
    decrements: u64,
}

impl HeavyHitterSet {
    /// The most counters that a set may have: 2^20.
    pub const MAX_COUNTERS: u32 = 1 << 20;

    /// An empty set of this many `counters`, with the memory that it will ever need; `salt` goes into the hash of
    /// flows.
    ///
    /// # Errors
    /// If there is no counter, or more than [`HeavyHitterSet::MAX_COUNTERS`].
    pub fn new(counters: u32, salt: u64) -> Result<Self, ParameterError> {
        require((1..=Self::MAX_COUNTERS).contains(&counters), "counters", "be between 1 and 1048576")?;
        Ok(Self {
            capacity: counters,
            index: FlowIndex::new(counters, salt),
            members: Vec::with_capacity(counters as usize),
            departed: List::EMPTY,
            groups: Vec::with_capacity(counters as usize),
            spare_group: NONE,
            lowest: NONE,
            base: 0,
            len: 0,
            total: 0,
            decrements: 0,
        })
    }

    /// Counts a packet of `flow`.
    pub fn record(&mut self, flow: FlowKey) {
        match self.index.find(flow) {
            Some(number) if self.is_present(number) => self.increment(number),
            Some(number) => {
                // It left, and its place has been free since.
                self.departed.remove(&mut self.members, number);
                self.enter(number);
            }
            None => match self.vacancy(flow) {
                Some(number) => self.enter(number),
                None => self.decrement_all(),
            },
        }
    }

    /// The counter of `flow`; 0 if it is not a member.
    #[must_use]
    pub fn count(&self, flow: FlowKey) -> u64 {
        self.index.find(flow).map_or(0, |number| self.members[number as usize].level.saturating_sub(self.base))
    }

    /// Number of members.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of counters.
    #[must_use]
    pub fn counters(&self) -> u32 {
        self.capacity
    }

    /// The sum of the counters.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How often all counters were decremented. A set that never does so has a counter for every flow.
    #[must_use]
    pub fn decrements(&self) -> u64 {
        self.decrements
    }

    /// The members with their counters, in no particular order.
    pub fn members(&self) -> impl Iterator<Item = (FlowKey, u64)> + '_ {
        let numbers = (0..self.members.len() as u32).filter(|number| self.is_present(*number));
        numbers.map(|number| (self.index.flow(number), self.members[number as usize].level - self.base))
    }

    /// Halves every counter this many `times`, rounding down each time; members that come to zero leave. Not part of
    /// the source, and the one operation whose work grows with the set: it visits every member. The bounds above hold
    /// for the halved stream only.
    pub fn halve(&mut self, times: u32) {
        let (mut group, mut below) = (self.lowest, NONE);
        self.lowest = NONE;
        self.total = 0;
        while group != NONE {
            let Group { members, len, higher, .. } = self.groups[group as usize];
            let count = (self.level(group) - self.base).checked_shr(times).unwrap_or(0);
            self.total += count * u64::from(len);
            let level = self.base + count;
            if count == 0 {
                self.relabel(members, level, NONE);
                self.departed.append(&mut self.members, members);
                self.len -= len;
                self.retire(group);
            } else if below != NONE && self.level(below) == level {
                self.relabel(members, level, below);
                self.groups[below as usize].members.append(&mut self.members, members);
                self.groups[below as usize].len += len;
                self.retire(group);
            } else {
                self.relabel(members, level, group);
                self.groups[group as usize].higher = NONE;
                self.join(below, group);
                below = group;
            }
            group = higher;
        }
    }

    /// Bytes that it holds on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> u64 {
        self.index.heap_bytes() + heap_bytes(&self.members) + heap_bytes(&self.groups)
    }

    fn is_present(&self, number: u32) -> bool {
        self.members[number as usize].level > self.base
    }

    /// The level of a group's members.
    fn level(&self, group: u32) -> u64 {
        self.members[self.groups[group as usize].members.first as usize].level
    }

    /// A number for `flow`, which has none: a new one, or that of a flow that left.
    fn vacancy(&mut self, flow: FlowKey) -> Option<u32> {
        if self.members.len() < self.capacity as usize {
            self.members.push(Member { level: 0, group: NONE, previous: NONE, next: NONE });
            return Some(self.index.push(flow));
        }
        let number = self.departed.first;
        if number == NONE {
            return None;
        }
        self.departed.remove(&mut self.members, number);
        self.index.replace(number, flow);
        Some(number)
    }

    /// Takes `number` in, with a counter of one.
    fn enter(&mut self, number: u32) {
        self.len += 1;
        self.total += 1;
        let level = self.base + 1;
        if self.lowest == NONE || self.level(self.lowest) != level {
            let group = self.new_group(NONE, self.lowest);
            self.lowest = group;
        }
        self.add(self.lowest, number, level);
    }

    /// Adds one to the counter of `number`, which is in the set.
    fn increment(&mut self, number: u32) {
        self.total += 1;
        let Member { level, group, .. } = self.members[number as usize];
        let Group { len, higher, .. } = self.groups[group as usize];
        let meets_higher = higher != NONE && self.level(higher) == level + 1;
        if len == 1 && !meets_higher {
            self.members[number as usize].level += 1;
            return;
        }
        let target = if meets_higher { higher } else { self.new_group(group, higher) };
        self.groups[group as usize].members.remove(&mut self.members, number);
        self.groups[group as usize].len -= 1;
        if len == 1 {
            self.unlink(group);
        }
        self.add(target, number, level + 1);
    }

    /// Takes one off every counter: only the base rises. There is no free counter, so that there is a lowest group.
    fn decrement_all(&mut self) {
        self.decrements += 1;
        self.total -= u64::from(self.len);
        self.base += 1;
        let group = self.lowest;
        if self.level(group) == self.base {
            let Group { members, len, .. } = self.groups[group as usize];
            self.departed.append(&mut self.members, members);
            self.len -= len;
            self.unlink(group);
        }
    }

    /// Puts `number` into `group`, whose level is or becomes `level`.
    fn add(&mut self, group: u32, number: u32, level: u64) {
        self.index.steps.take();
        self.members[number as usize].level = level;
        self.members[number as usize].group = group;
        self.groups[group as usize].members.push(&mut self.members, number);
        self.groups[group as usize].len += 1;
    }

    /// An empty group between two neighbours, of which either may be missing.
    fn new_group(&mut self, lower: u32, higher: u32) -> u32 {
        self.index.steps.take();
        let fresh = Group { members: List::EMPTY, len: 0, lower: NONE, higher: NONE };
        let mut group = self.spare_group;
        if group == NONE {
            group = self.groups.len() as u32;
            self.groups.push(fresh);
        } else {
            self.spare_group = self.groups[group as usize].higher;
            self.groups[group as usize] = fresh;
        }
        self.join(lower, group);
        self.join(group, higher);
        group
    }

    /// Takes a group out of the order of levels and keeps it for later.
    fn unlink(&mut self, group: u32) {
        self.index.steps.take();
        let Group { lower, higher, .. } = self.groups[group as usize];
        self.join(lower, higher);
        self.retire(group);
    }

    fn retire(&mut self, group: u32) {
        self.groups[group as usize].higher = self.spare_group;
        self.spare_group = group;
    }

    /// Makes two groups neighbours; without a lower one, the higher is the lowest of all.
    fn join(&mut self, lower: u32, higher: u32) {
        match lower {
            NONE => self.lowest = higher,
            lower => self.groups[lower as usize].higher = higher,
        }
        if higher != NONE {
            self.groups[higher as usize].lower = lower;
        }
    }

    /// Sets the level and the group of every member of a list.
    fn relabel(&mut self, list: List, level: u64, group: u32) {
        let mut number = list.first;
        while number != NONE {
            let member = &mut self.members[number as usize];
            member.level = level;
            member.group = group;
            number = member.next;
        }
    }
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn push(&mut self, members: &mut [Member], number: u32) {
        members[number as usize].previous = NONE;
        members[number as usize].next = NONE;
        self.append(members, Self { first: number, last: number });
    }

    /// Appends a whole list.
    fn append(&mut self, members: &mut [Member], other: Self) {
        if self.first == NONE {
            *self = other;
            return;
        }
        members[self.last as usize].next = other.first;
        members[other.first as usize].previous = self.last;
        self.last = other.last;
    }

    fn remove(&mut self, members: &mut [Member], number: u32) {
        let Member { previous, next, .. } = members[number as usize];
        match previous {
            NONE => self.first = next,
            previous => members[previous as usize].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => members[next as usize].previous = previous,
        }
    }
}

#[cfg(test)]
mod tests;
