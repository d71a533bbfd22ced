//! The recent past of the arrivals: how many of the last sampled packets were each flow's.

use alloc::vec;
use alloc::vec::Vec;

use super::AfdForm;
use crate::flow_slots::FlowSlots;
use crate::memory::heap_bytes;
use crate::{FlowKey, Rng, table_index};

/// This many sampled packets, of which each new one displaces one drawn with equal chances from all.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    capacity: u32,
    len: u32,
    /// `m_i`: sampled packets of each flow that has any.
    flows: FlowSlots<u32>,
    samples: Samples,
}

/// The packet to displace is drawn from these: slots of `flows`.
#[derive(Clone, Debug)]
enum Samples {
    /// An entry for each packet.
    Buffer(Vec<u32>),
    /// The number of packets of each slot.
    Table(CountTree),
}

impl Shadow {
    /// Room for `capacity` packets; `salt` goes into the hash of flows.
    pub fn new(form: AfdForm, capacity: u32, salt: u64) -> Self {
        let samples = match form {
            AfdForm::ShadowBuffer => Samples::Buffer(Vec::with_capacity(capacity as usize)),
            AfdForm::FlowTable => Samples::Table(CountTree::new()),
        };
        Self { capacity, len: 0, flows: FlowSlots::new(salt), samples }
    }

    /// Takes in a packet of `flow`, in place of another once it is full.
    pub fn insert(&mut self, flow: FlowKey, rng: &mut dyn Rng) {
        let displaced = (self.len == self.capacity).then(|| table_index(rng.next_u64(), self.capacity));
        if let Some(rank) = displaced {
            self.displace(rank);
        }
        let (slot, fresh) = self.flows.find_or_insert(flow);
        if fresh {
            self.flows[slot] = 0;
        }
        self.flows[slot] += 1;
        match (&mut self.samples, displaced) {
            (Samples::Buffer(entries), Some(rank)) => entries[rank as usize] = slot,
            (Samples::Buffer(entries), None) => entries.push(slot),
            (Samples::Table(counts), _) => counts.increment(slot),
        }
        self.len = self.capacity.min(self.len + 1);
    }

    /// Takes out the packet of this rank in the buffer, or, in the table, in the order of the slots.
    fn displace(&mut self, rank: u32) {
        let slot = match &mut self.samples {
            Samples::Buffer(entries) => entries[rank as usize],
            Samples::Table(counts) => counts.decrement_at(rank),
        };
        self.flows[slot] -= 1;
        if self.flows[slot] == 0 {
            self.flows.remove(slot);
        }
    }

    /// `m_i`: packets of `flow`.
    pub fn count(&self, flow: FlowKey) -> u32 {
        self.flows.find(flow).map_or(0, |slot| self.flows[slot])
    }

    /// Packets.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Flows that have packets in it.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        let samples = match &self.samples {
            Samples::Buffer(entries) => heap_bytes(entries),
            Samples::Table(counts) => heap_bytes(&counts.sums),
        };
        self.flows.heap_bytes() + samples
    }
}

/// A count for each slot, and the slot in which the unit of a given rank falls: a binary indexed tree (P. Fenwick, "A
/// New Data Structure for Cumulative Frequency Tables", Software: Practice and Experience 24(3), 1994).
#[derive(Clone, Debug)]
struct CountTree {
    /// Entry i is the sum of the counts of as many slots up to the i-th, from 1, as the lowest bit of i says; entry 0
    /// is not used. The number of slots is a power of two, so that the last entry is the sum of all.
    sums: Vec<u32>,
}

impl CountTree {
    fn new() -> Self {
        Self { sums: vec![0; 17] }
    }

    fn slots(&self) -> usize {
        self.sums.len() - 1
    }

    fn increment(&mut self, slot: u32) {
        let position = slot as usize + 1;
        while position > self.slots() {
            let (total, slots) = (self.sums[self.slots()], 2 * self.slots());
            self.sums.resize(slots + 1, 0);
            self.sums[slots] = total;
        }
        let mut position = position;
        while position <= self.slots() {
            self.sums[position] += 1;
            position += position & position.wrapping_neg();
        }
    }

    /// Takes one from the slot in which the unit of `rank` falls, `rank` less than the sum of all; returns the slot.
    fn decrement_at(&mut self, mut rank: u32) -> u32 {
        let mut before = 0;
        let mut stride = self.slots();
        // Every skipped sum is before the unit; every other one visited includes it.
        while stride > 0 {
            let position = before + stride;
            if position <= self.slots() {
                if self.sums[position] <= rank {
                    rank -= self.sums[position];
                    before = position;
                } else {
                    self.sums[position] -= 1;
                }
            }
            stride /= 2;
        }
        before as u32
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    proptest! {
        #[test]
        fn the_tree_agrees_with_a_list(operations in prop::collection::vec((0_u32..70, any::<bool>()), 0..300)) {
            let mut tree = CountTree::new();
            let mut units: Vec<u32> = Vec::new();
            for (number, increment) in operations {
                if increment {
                    tree.increment(number);
                    units.push(number);
                    units.sort_unstable();
                } else if !units.is_empty() {
                    let rank = number % units.len() as u32;
                    prop_assert_eq!(tree.decrement_at(rank), units.remove(rank as usize));
                }
                prop_assert_eq!(tree.sums[tree.slots()] as usize, units.len());
            }
        }

        #[test]
        fn counts_are_those_of_the_packets_kept(
            form in prop::sample::select(vec![AfdForm::ShadowBuffer, AfdForm::FlowTable]),
            capacity in 1_u32..20,
            flows in prop::collection::vec(0_u64..30, 0..300),
        ) {
            let mut shadow = Shadow::new(form, capacity, 5);
            let mut rng = Pcg64Mcg::seed_from_u64(2);
            let mut seen = BTreeMap::<u64, u32>::new();
            for (index, flow) in flows.into_iter().enumerate() {
                shadow.insert(FlowKey(flow), &mut rng);
                *seen.entry(flow).or_default() += 1;
                prop_assert_eq!(shadow.len(), capacity.min(index as u32 + 1));
                prop_assert!(shadow.count(FlowKey(flow)) > 0);
                let counts: Vec<u32> = (0..30).map(|flow| shadow.count(FlowKey(flow))).collect();
                prop_assert_eq!(counts.iter().sum::<u32>(), shadow.len());
                prop_assert_eq!(counts.iter().filter(|count| **count > 0).count(), shadow.flows());
                prop_assert!(seen.iter().all(|(flow, seen)| counts[*flow as usize] <= *seen));
            }
        }
    }

    /// Every packet stays for `capacity` further ones on average, so that a flow's count is in proportion to its share
    /// of the samples; the variance is that of as many independent draws.
    #[test]
    fn counts_are_in_proportion_to_the_samples() {
        for form in [AfdForm::ShadowBuffer, AfdForm::FlowTable] {
            let mut shadow = Shadow::new(form, 500, 5);
            let mut rng = Pcg64Mcg::seed_from_u64(3);
            let (mut sums, mut squares) = ([0.0; 4], [0.0; 4]);
            let rounds = 200_000;
            for round in 0..rounds + 5000 {
                let draw = table_index(rng.next_u64(), 15);
                shadow.insert(FlowKey(u64::from((draw + 1).ilog2())), &mut rng);
                if round < 5000 {
                    continue;
                }
                for flow in 0..4 {
                    let count = f64::from(shadow.count(FlowKey(flow as u64)));
                    sums[flow] += count;
                    squares[flow] += count * count;
                }
            }
            for flow in 0..4 {
                let share = f64::from(1 << flow) / 15.0;
                let mean = sums[flow] / f64::from(rounds);
                let variance = squares[flow] / f64::from(rounds) - mean * mean;
                let expected = 500.0 * share * (1.0 - share);
                // About 400 independent shadows pass: their mean is good to 1/20 of the deviation.
                assert!((mean - 500.0 * share).abs() < 4.0 * libm::sqrt(expected) / 20.0, "{form:?} {flow}: {mean}");
                assert!((0.6..1.6).contains(&(variance / expected)), "{form:?} {flow}: {variance} for {expected}");
            }
        }
    }
}
