//! A binary heap of slots whose keys can change: the longest queue, the smallest finishing time.

use alloc::vec::Vec;

use crate::memory::heap_bytes;

/// Where a slot is that is not in the heap.
const ABSENT: u32 = u32::MAX;

/// Slots by ascending key; of equal keys the smaller slot comes first. Setting, removing and changing a key take
/// O(log n), looking at the first O(1); nothing is allocated once it has grown.
#[derive(Clone, Debug)]
pub(crate) struct IndexedHeap<K> {
    heap: Vec<(K, u32)>,
    positions: Vec<u32>,
}

impl<K: Ord + Copy> IndexedHeap<K> {
    /// An empty heap.
    pub fn new() -> Self {
        Self { heap: Vec::new(), positions: Vec::new() }
    }

    /// Bytes that it holds on the heap of the program.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.heap) + heap_bytes(&self.positions)
    }

    /// The smallest key and its slot.
    pub fn first(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Gives `slot` this key, whether it is in the heap or not.
    pub fn set(&mut self, slot: u32, key: K) {
        let index = slot as usize;
        if index >= self.positions.len() {
            self.positions.resize(index + 1, ABSENT);
        }
        match self.positions[index] {
            ABSENT => {
                self.heap.push((key, slot));
                self.rise(self.heap.len() - 1);
            }
            position => {
                self.heap[position as usize].0 = key;
                let position = self.rise(position as usize);
                self.sink(position);
            }
        }
    }

    /// Takes `slot` out, if it is in.
    pub fn remove(&mut self, slot: u32) {
        let Some(position) = self.positions.get(slot as usize).copied().filter(|position| *position != ABSENT) else {
            return;
        };
        let position = position as usize;
        self.positions[slot as usize] = ABSENT;
        self.heap.swap_remove(position);
        if position < self.heap.len() {
            self.positions[self.heap[position].1 as usize] = position as u32;
            let position = self.rise(position);
            self.sink(position);
        }
    }

    /// Moves the entry at `position` towards the top; returns where it comes to rest.
    fn rise(&mut self, mut position: usize) -> usize {
        let entry = self.heap[position];
        while position > 0 {
            let parent = (position - 1) / 2;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        self.place(position, entry);
        position
    }

    fn sink(&mut self, mut position: usize) {
        let entry = self.heap[position];
        loop {
            let left = 2 * position + 1;
            let right = left + 1;
            let Some(mut least) = self.heap.get(left).copied() else { break };
            let mut child = left;
            if let Some(other) = self.heap.get(right).copied().filter(|other| *other < least) {
                (least, child) = (other, right);
            }
            if entry <= least {
                break;
            }
            self.place(position, least);
            position = child;
        }
        self.place(position, entry);
    }

    fn place(&mut self, position: usize, entry: (K, u32)) {
        self.heap[position] = entry;
        self.positions[entry.1 as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_smallest(operations in prop::collection::vec((0_u32..20, any::<Option<u8>>()), 0..300)) {
            let mut heap = IndexedHeap::new();
            let mut model = BTreeMap::new();
            for (slot, key) in operations {
                match key {
                    Some(key) => {
                        heap.set(slot, key);
                        model.insert(slot, key);
                    }
                    None => {
                        heap.remove(slot);
                        model.remove(&slot);
                    }
                }
                prop_assert_eq!(heap.first(), model.iter().map(|(slot, key)| (*key, *slot)).min());
            }
        }
    }
}
