//! The set against a dictionary, its bounds, and its work.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

/// The rule as in the source, every counter touched.
#[derive(Clone, Debug)]
struct Dictionary {
    capacity: usize,
    counts: BTreeMap<u64, u64>,
}

impl Dictionary {
    fn record(&mut self, flow: u64) {
        if let Some(count) = self.counts.get_mut(&flow) {
            *count += 1;
        } else if self.counts.len() < self.capacity {
            self.counts.insert(flow, 1);
        } else {
            self.counts.values_mut().for_each(|count| *count -= 1);
            self.counts.retain(|_, count| *count > 0);
        }
    }

    fn halve(&mut self, times: u32) {
        self.counts.values_mut().for_each(|count| *count = count.checked_shr(times).unwrap_or(0));
        self.counts.retain(|_, count| *count > 0);
    }
}

fn members(set: &HeavyHitterSet) -> BTreeMap<u64, u64> {
    set.members().map(|(flow, count)| (flow.0, count)).collect()
}

/// Checks the order of the groups and that every member is where it should be.
fn check(set: &HeavyHitterSet) {
    let (mut group, mut lower, mut level, mut present) = (set.lowest, NONE, set.base, 0);
    while group != NONE {
        let Group { members, len, lower: before, higher } = set.groups[group as usize];
        assert_eq!(before, lower);
        assert!(set.level(group) > level, "levels rise from group to group");
        level = set.level(group);
        let numbers = numbers(set, members);
        assert_eq!(numbers.len(), len as usize);
        for number in numbers {
            let member = set.members[number as usize];
            assert_eq!((member.group, member.level), (group, level));
            present += 1;
        }
        (lower, group) = (group, higher);
    }
    assert_eq!(present, set.len);
    let departed = numbers(set, set.departed);
    assert!(departed.iter().all(|number| !set.is_present(*number)));
    assert_eq!(departed.len() + present as usize, set.members.len());
    for number in 0..set.members.len() as u32 {
        assert_eq!(set.index.find(set.index.flow(number)), Some(number));
    }
    assert!(set.members.len() <= set.capacity as usize && set.groups.len() <= set.capacity as usize);
}

fn numbers(set: &HeavyHitterSet, list: List) -> Vec<u32> {
    let (mut found, mut previous, mut number) = (Vec::new(), NONE, list.first);
    while number != NONE {
        assert_eq!(set.members[number as usize].previous, previous);
        found.push(number);
        (previous, number) = (number, set.members[number as usize].next);
    }
    assert_eq!(list.last, previous);
    found
}

fn set_of(counters: u32, stream: &str) -> BTreeMap<u64, u64> {
    let mut set = HeavyHitterSet::new(counters, 1).unwrap();
    for letter in stream.bytes() {
        set.record(FlowKey(u64::from(letter)));
        check(&set);
    }
    members(&set)
}

#[test]
fn published_streams() {
    let letters = |counts: &[(u8, u64)]| counts.iter().map(|(letter, count)| (u64::from(*letter), *count)).collect();
    let expected: BTreeMap<u64, u64> = letters(&[(b'a', 3), (b'd', 1)]);
    assert_eq!(set_of(2, "abacada"), expected);
    let expected: BTreeMap<u64, u64> = letters(&[(b'd', 1)]);
    assert_eq!(set_of(3, "aabbbcaddddee"), expected);
}

#[test]
fn counters_out_of_range_are_refused() {
    for counters in [0, HeavyHitterSet::MAX_COUNTERS + 1] {
        let error = HeavyHitterSet::new(counters, 0).unwrap_err();
        assert_eq!((error.field, error.bound), ("counters", "be between 1 and 1048576"));
    }
}

/// Streams in which some flows come far more often than others.
fn stream() -> impl Strategy<Value = Vec<u64>> {
    let flow = prop_oneof![3 => 0_u64..3, 3 => 0_u64..12, 1 => 0_u64..200];
    prop::collection::vec(flow, 0..600)
}

proptest! {
    #[test]
    fn agrees_with_a_dictionary(counters in 1_u32..12, salt: u64, stream in stream(), halve_every in 5_usize..200) {
        let mut set = HeavyHitterSet::new(counters, salt).unwrap();
        let mut dictionary = Dictionary { capacity: counters as usize, counts: BTreeMap::new() };
        for (index, flow) in stream.into_iter().enumerate() {
            set.record(FlowKey(flow));
            dictionary.record(flow);
            if index % halve_every == halve_every - 1 {
                let times = [0, 1, 2, 70][index % 4];
                set.halve(times);
                dictionary.halve(times);
            }
            check(&set);
            prop_assert_eq!(&members(&set), &dictionary.counts);
            prop_assert_eq!(set.total(), dictionary.counts.values().sum::<u64>());
            prop_assert_eq!(set.len() as usize, dictionary.counts.len());
            for flow in 0..12 {
                prop_assert_eq!(set.count(FlowKey(flow)), dictionary.counts.get(&flow).copied().unwrap_or(0));
            }
        }
    }

    /// Misra and Gries: true - N/(K + 1) <= estimate <= true, and every flow with more than N/(K + 1) is a member.
    #[test]
    fn keeps_the_bounds(counters in 1_u32..40, salt: u64, stream in stream()) {
        let mut set = HeavyHitterSet::new(counters, salt).unwrap();
        let mut truth = BTreeMap::<u64, u64>::new();
        for (index, flow) in stream.iter().enumerate() {
            set.record(FlowKey(*flow));
            *truth.entry(*flow).or_default() += 1;
            let recorded = index as u64 + 1;
            for (flow, count) in &truth {
                let estimate = set.count(FlowKey(*flow));
                prop_assert!(estimate <= *count);
                prop_assert!((count - estimate) * (u64::from(counters) + 1) <= recorded);
                prop_assert!(estimate > 0 || count * (u64::from(counters) + 1) <= recorded);
            }
            // Every packet is in a counter, or went with one from each of them.
            prop_assert_eq!(recorded, set.total() + set.decrements() * (u64::from(counters) + 1));
        }
    }
}

/// The flow with this hash, under salt 0.
fn flow_of_hash(hash: u64) -> FlowKey {
    let inverse = |factor: u64| {
        (0..6).fold(factor, |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(factor.wrapping_mul(inverse))))
    };
    let unshift = |z: u64, shift: u32| (0..4).fold(z, |undone, _| z ^ (undone >> shift));
    let unmix = |z: u64| {
        let z = unshift(z, 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
        let z = unshift(z, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
        unshift(z, 30)
    };
    let flow = FlowKey(unmix(unmix(hash).wrapping_sub(0x9e37_79b9_7f4a_7c15)));
    assert_eq!(crate::hash_flow(flow, 0), hash);
    flow
}

/// The most steps that one packet of the stream takes.
fn most_steps(counters: u32, stream: impl Iterator<Item = FlowKey>) -> u32 {
    let mut set = HeavyHitterSet::new(counters, 0).unwrap();
    let mut most = 0;
    for flow in stream {
        let before = set.index.steps.taken.get();
        set.record(flow);
        most = most.max(set.index.steps.taken.get() - before);
    }
    most
}

#[test]
fn no_packet_takes_more_than_a_fixed_number_of_steps() {
    // All counters in one group: the packet that brings them all to zero takes no more than any other.
    for counters in [10, 1000, 100_000] {
        let rounds = (0..3).flat_map(|round| (0..=counters).map(move |flow| FlowKey(u64::from(flow) + 7 * round)));
        assert!(most_steps(counters, rounds) <= 40, "{counters} counters");
    }
    // Hashes chosen by an enemy who knows the salt: they differ in the last bits only, so that the index is a path.
    for counters in [256_u32, 4096] {
        let hashes = (0..8 * u64::from(counters)).map(|step| step.wrapping_mul(0x9e37) % (2 * u64::from(counters)));
        let depth = u64::BITS + 1 - (2 * counters).trailing_zeros();
        let most = most_steps(counters, hashes.map(flow_of_hash));
        // A search, a removal (the last step of its descent looks twice), an entry; and what the lists take.
        assert!(most <= 3 * depth + 5, "{counters} counters: {most} steps, depth {depth}");
        assert!(most > 2 * depth, "the enemy did his worst");
    }
}

#[test]
fn nothing_is_allocated_after_the_start() {
    let mut set = HeavyHitterSet::new(100, 3).unwrap();
    let bytes = set.heap_bytes();
    for packet in 0..100_000_u64 {
        set.record(FlowKey(crate::hash_flow(FlowKey(packet), 0) % 300));
    }
    assert_eq!(set.heap_bytes(), bytes);
    check(&set);
}
