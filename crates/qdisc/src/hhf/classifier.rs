//! Which flows are heavy hitters: a multi-stage filter finds them, and a table keeps them. A flow is a hash of 32 bits.

use alloc::vec;
use alloc::vec::Vec;

use crate::hhf::HhfConfig;
use crate::memory::heap_bytes;
use crate::{Span, Time};

/// Counters of each of the filter's arrays, and lists of the table.
const ENTRIES: usize = 1 << BITS;
const BITS: u32 = 10;
/// Arrays of the filter.
const STAGES: usize = 4;
/// Most heavy hitters in the table.
pub(super) const MOST_HEAVY_HITTERS: u32 = 2 * ENTRIES as u32;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// The queue to which a packet belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    HeavyHitter,
    Other,
}

/// An entry of the table.
#[derive(Clone, Copy, Debug)]
struct HeavyHitter {
    last_seen: Time,
    hash: u32,
    /// The next entry of the list.
    next: u32,
}

/// The filter and the table.
#[derive(Clone, Debug)]
pub(super) struct Classifier {
    admit_bytes: u64,
    reset_timeout: Span,
    evict_timeout: Span,
    hh_limit: u32,

    counters: Vec<[u32; STAGES]>,
    reset_at: Time,
    /// The first entry of each list.
    lists: Vec<u32>,
    entries: Vec<HeavyHitter>,
    /// Entries that were freed, linked through `next`.
    free: u32,
    free_len: u32,
    /// The last arrival.
    latest: Time,
    /// Heavy hitters that found no place in the table.
    pub overlimit: u64,
    /// Heavy hitters that entered it.
    pub total: u64,
}

/// The list of a flow, and its counter in the first stage.
fn list_of(hash: u32) -> usize {
    hash as usize % ENTRIES
}

/// The counter of a flow in each stage: three parts of the hash, and their exclusive or, with the two bits left.
fn positions(hash: u32) -> [usize; STAGES] {
    let part = |number: u32| (hash >> (number * BITS)) as usize % ENTRIES;
    let rest = (hash >> (3 * BITS)) as usize;
    [part(0), part(1), part(2), part(0) ^ part(1) ^ part(2) ^ rest]
}

impl Classifier {
    pub fn new(config: &HhfConfig) -> Self {
        Self {
            admit_bytes: config.admit_bytes.0,
            reset_timeout: config.reset_timeout,
            evict_timeout: config.evict_timeout,
            hh_limit: config.hh_limit,
            counters: vec![[0; STAGES]; ENTRIES],
            reset_at: Time::ZERO,
            lists: vec![NONE; ENTRIES],
            entries: Vec::new(),
            free: NONE,
            free_len: 0,
            latest: Time::ZERO,
            overlimit: 0,
            total: 0,
        }
    }

    /// Entries of the table, with those that have expired and were not reused.
    pub fn current(&self) -> u32 {
        self.entries.len() as u32 - self.free_len
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.counters) + heap_bytes(&self.lists) + heap_bytes(&self.entries)
    }

    /// Whether a flow was a heavy hitter at the last arrival.
    pub fn is_heavy_hitter(&self, hash: u32) -> bool {
        let existing = |place: u32| Some(place as usize).filter(|_| place != NONE);
        core::iter::successors(existing(self.lists[list_of(hash)]), |&place| existing(self.entries[place].next))
            .any(|place| self.entries[place].hash == hash && !self.has_expired(place as u32))
    }

    /// The least of a flow's counters.
    pub fn filter_bytes(&self, hash: u32) -> u32 {
        let counters =
            positions(hash).into_iter().zip(0..).map(|(place, stage): (_, usize)| self.counters[place][stage]);
        counters.min().unwrap_or(0)
    }

    /// `hhf_classify`.
    pub fn classify(&mut self, hash: u32, len_bytes: u32, now: Time) -> Class {
        self.latest = now;
        if now.since(self.reset_at) > self.reset_timeout {
            self.counters.fill([0; STAGES]);
            self.reset_at = now;
        }
        if let Some(place) = self.seek(hash) {
            self.entries[place as usize].last_seen = now;
            return Class::HeavyHitter;
        }
        let bytes = u64::from(self.filter_bytes(hash)) + u64::from(len_bytes);
        if bytes > self.admit_bytes {
            // Its counters stay as they are: shielding.
            return if self.admit(hash) { Class::HeavyHitter } else { Class::Other };
        }
        // No counter exceeds the least plus this packet but for other flows: conservative update.
        for (stage, place) in positions(hash).into_iter().enumerate() {
            let counter = &mut self.counters[place][stage];
            *counter = (*counter).max(bytes as u32);
        }
        Class::Other
    }

    fn has_expired(&self, place: u32) -> bool {
        self.latest.since(self.entries[place as usize].last_seen) > self.evict_timeout
    }

    /// `seek_list`: the entry of a flow. Expired ones on the way are freed, but for the last of the list.
    fn seek(&mut self, hash: u32) -> Option<u32> {
        let (mut before, mut place) = (NONE, self.lists[list_of(hash)]);
        while place != NONE {
            let HeavyHitter { hash: found, next, .. } = self.entries[place as usize];
            if !self.has_expired(place) {
                if found == hash {
                    return Some(place);
                }
                before = place;
            } else if next == NONE {
                return None;
            } else {
                match before {
                    NONE => self.lists[list_of(hash)] = next,
                    before => self.entries[before as usize].next = next,
                }
                self.entries[place as usize].next = core::mem::replace(&mut self.free, place);
                self.free_len += 1;
            }
            place = next;
        }
        None
    }

    /// `alloc_new_hh`: enters a flow in place of an expired one of its list, or else at the end of the list, if there
    /// is room.
    fn admit(&mut self, hash: u32) -> bool {
        let (mut last, mut place) = (NONE, self.lists[list_of(hash)]);
        while place != NONE && !self.has_expired(place) {
            (last, place) = (place, self.entries[place as usize].next);
        }
        if place != NONE {
            let expired = &mut self.entries[place as usize];
            (expired.hash, expired.last_seen) = (hash, self.latest);
        } else if self.current() < self.hh_limit {
            let place = self.push(HeavyHitter { last_seen: self.latest, hash, next: NONE });
            match last {
                NONE => self.lists[list_of(hash)] = place,
                last => self.entries[last as usize].next = place,
            }
        } else {
            self.overlimit += 1;
            return false;
        }
        self.total += 1;
        true
    }

    /// Puts an entry into a place that was freed, or a new one.
    fn push(&mut self, entry: HeavyHitter) -> u32 {
        let place = self.free;
        if place == NONE {
            self.entries.push(entry);
            return self.entries.len() as u32 - 1;
        }
        self.free = core::mem::replace(&mut self.entries[place as usize], entry).next;
        self.free_len -= 1;
        place
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Bytes;

    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_milliseconds(milliseconds)
    }

    /// 1000 B within 40 ms make a heavy hitter.
    fn classifier(hh_limit: u32) -> Classifier {
        Classifier::new(&HhfConfig { admit_bytes: Bytes(1000), hh_limit, ..HhfConfig::default() })
    }

    /// A flow of list 5.
    fn of_list_5(number: u32) -> u32 {
        5 | (number << BITS)
    }

    #[test]
    fn parts_of_the_hash_select_the_counters() {
        let hash = 0b10_0000000011_0000000101_1000000001;
        assert_eq!(positions(hash), [0b10_0000_0001, 0b101, 0b11, 0b10_0000_0001 ^ 0b101 ^ 0b11 ^ 0b10]);
    }

    #[test]
    fn a_flow_is_heavy_once_all_its_counters_exceed_the_bound() {
        let mut classifier = classifier(10);
        assert_eq!(classifier.classify(1, 1000, at(0)), Class::Other);
        // It shares one counter with the first, the first stage's.
        let other = 1 | (7 << BITS) | (9 << (2 * BITS));
        assert_eq!(classifier.classify(other, 900, at(0)), Class::Other);
        // The least of its counters is 900, not the 1000 of the first stage.
        assert_eq!(classifier.filter_bytes(other), 900);
        assert_eq!(classifier.classify(other, 100, at(0)), Class::Other);
        assert_eq!(classifier.classify(other, 1, at(0)), Class::HeavyHitter);
        // Shielded: its packets no longer count.
        assert_eq!((classifier.filter_bytes(other), classifier.filter_bytes(1)), (1000, 1000));
    }

    #[test]
    fn an_update_is_conservative() {
        let mut classifier = classifier(10);
        classifier.classify(1, 600, at(0));
        // The counter of the first stage is 600, those of the others are 0 before this packet, and 100 after it.
        let other = 1 | (7 << BITS) | (9 << (2 * BITS));
        classifier.classify(other, 100, at(0));
        assert_eq!(
            positions(other).into_iter().enumerate().map(|(s, p)| classifier.counters[p][s]).collect::<Vec<_>>(),
            [600, 100, 100, 100]
        );
    }

    #[test]
    fn counters_start_again_after_the_timeout() {
        let mut classifier = classifier(10);
        classifier.classify(1, 1000, at(0));
        classifier.classify(2, 1, at(40));
        assert_eq!(classifier.filter_bytes(1), 1000, "not yet at the timeout");
        classifier.classify(2, 1, at(40) + Span::from_picoseconds(1));
        assert_eq!((classifier.filter_bytes(1), classifier.filter_bytes(2)), (0, 1));
        // From this arrival on it is another 40 ms.
        classifier.classify(2, 1, at(80));
        assert_eq!(classifier.filter_bytes(2), 2);
        classifier.classify(2, 1, at(81));
        assert_eq!(classifier.filter_bytes(2), 1);
    }

    #[test]
    fn a_flow_stays_heavy_until_it_was_silent_for_the_timeout() {
        let mut classifier = classifier(10);
        assert_eq!(classifier.classify(1, 1001, at(0)), Class::HeavyHitter);
        assert_eq!(classifier.classify(1, 40, at(1000)), Class::HeavyHitter);
        assert_eq!(classifier.classify(1, 40, at(2001)), Class::Other);
        assert!(!classifier.is_heavy_hitter(1));
        // Its entry is still there, as the last of its list, and is used again.
        assert_eq!(classifier.current(), 1);
        assert_eq!(classifier.classify(1, 1001, at(2001)), Class::HeavyHitter);
        assert_eq!((classifier.current(), classifier.total, classifier.entries.len()), (1, 2, 1));
    }

    #[test]
    fn expired_entries_are_freed_but_for_the_last_of_a_list() {
        let mut classifier = classifier(3);
        for number in 0..3 {
            assert_eq!(classifier.classify(of_list_5(number), 1001, at(0)), Class::HeavyHitter);
        }
        assert_eq!(classifier.classify(of_list_5(3), 1001, at(0)), Class::Other, "the table is full");
        assert_eq!((classifier.overlimit, classifier.current()), (1, 3));
        // The second stays; the walk frees the first, and keeps the third.
        classifier.classify(of_list_5(1), 40, at(900));
        assert_eq!(classifier.classify(of_list_5(4), 40, at(1001)), Class::Other);
        assert_eq!(classifier.current(), 2);
        assert!(classifier.is_heavy_hitter(of_list_5(1)) && !classifier.is_heavy_hitter(of_list_5(2)));
        // The next takes the place of the third, and the one after it the freed entry, behind it.
        assert_eq!(classifier.classify(of_list_5(5), 1001, at(1001)), Class::HeavyHitter);
        assert_eq!(classifier.current(), 2);
        assert_eq!(classifier.classify(of_list_5(6), 1001, at(1001)), Class::HeavyHitter);
        assert_eq!((classifier.current(), classifier.entries.len()), (3, 3));
        assert!([1, 5, 6].iter().all(|&number| classifier.is_heavy_hitter(of_list_5(number))));
    }

    #[test]
    fn without_a_table_all_flows_are_equal() {
        let mut classifier = classifier(0);
        assert_eq!(classifier.classify(1, 2000, at(0)), Class::Other);
        assert_eq!((classifier.overlimit, classifier.total, classifier.filter_bytes(1)), (1, 0, 0));
    }
}
