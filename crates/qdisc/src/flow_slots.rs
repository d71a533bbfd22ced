//! State for each flow that is present, found by its exact key.
//!
//! An open-addressing table of slot numbers over a slab of states. Slots are reused last-freed first, so the slot of a
//! flow depends only on the order of calls. Nothing is allocated once the table has grown to the largest number of
//! flows present at a time.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::memory::heap_bytes;
use crate::{FlowKey, hash_flow};

/// States of type `T`, one for each flow present.
#[derive(Clone, Debug)]
pub(crate) struct FlowSlots<T> {
    slots: Vec<(FlowKey, T)>,
    free: Vec<u32>,
    /// Slot number + 1; 0 where free. At most half of them are in use, so that probing ends soon.
    buckets: Vec<u32>,
    salt: u64,
}

impl<T: Default> FlowSlots<T> {
    /// No flows; `salt` goes into the hash.
    pub fn new(salt: u64) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), buckets: vec![0; 16], salt }
    }

    /// Number of flows present.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.slots) + heap_bytes(&self.free) + heap_bytes(&self.buckets)
    }

    /// The slot of `flow`, if it is present.
    pub fn find(&self, flow: FlowKey) -> Option<u32> {
        let mut bucket = self.home(flow);
        while let Some(slot) = self.buckets[bucket].checked_sub(1) {
            if self.slots[slot as usize].0 == flow {
                return Some(slot);
            }
            bucket = self.next(bucket);
        }
        None
    }

    /// The slot of `flow`, and whether it is new. A new slot may hold the state of a flow that is gone, so that its
    /// buffers can be used again: the caller sets it.
    pub fn find_or_insert(&mut self, flow: FlowKey) -> (u32, bool) {
        if let Some(slot) = self.find(flow) {
            return (slot, false);
        }
        if 2 * (self.len() + 1) > self.buckets.len() {
            self.grow();
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize].0 = flow;
                slot
            }
            None => {
                self.slots.push((flow, T::default()));
                (self.slots.len() - 1) as u32
            }
        };
        self.enter(slot);
        (slot, true)
    }

    /// Forgets the flow in `slot`, which is present.
    pub fn remove(&mut self, slot: u32) {
        let mut hole = self.home(self.slots[slot as usize].0);
        while self.buckets[hole] != slot + 1 {
            hole = self.next(hole);
        }
        // An entry that was pushed past the hole moves back into it, so that no search ends there too early.
        let mut bucket = self.next(hole);
        while let Some(other) = self.buckets[bucket].checked_sub(1) {
            let home = self.home(self.slots[other as usize].0);
            let mask = self.buckets.len() - 1;
            if (bucket.wrapping_sub(home) & mask) >= (bucket.wrapping_sub(hole) & mask) {
                self.buckets[hole] = other + 1;
                hole = bucket;
            }
            bucket = self.next(bucket);
        }
        self.buckets[hole] = 0;
        self.free.push(slot);
    }

    fn home(&self, flow: FlowKey) -> usize {
        hash_flow(flow, self.salt) as usize & (self.buckets.len() - 1)
    }

    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    fn enter(&mut self, slot: u32) {
        let mut bucket = self.home(self.slots[slot as usize].0);
        while self.buckets[bucket] != 0 {
            bucket = self.next(bucket);
        }
        self.buckets[bucket] = slot + 1;
    }

    fn grow(&mut self) {
        let entered: Vec<u32> = self.buckets.iter().filter_map(|slot| slot.checked_sub(1)).collect();
        self.buckets = vec![0; 2 * self.buckets.len()];
        for slot in entered {
            self.enter(slot);
        }
    }
}

impl<T> Index<u32> for FlowSlots<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize].1
    }
}

impl<T> IndexMut<u32> for FlowSlots<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize].1
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_map(operations in prop::collection::vec((any::<bool>(), 0_u64..60), 0..400)) {
            let mut slots = FlowSlots::<u64>::new(3);
            let mut map = BTreeMap::new();
            for (insert, key) in operations {
                let flow = FlowKey(key);
                if insert {
                    let (slot, fresh) = slots.find_or_insert(flow);
                    prop_assert_eq!(fresh, map.insert(key, slot).is_none());
                    slots[slot] = key;
                } else if let Some(slot) = map.remove(&key) {
                    slots.remove(slot);
                }
                prop_assert_eq!(slots.len(), map.len());
                for key in 0..60 {
                    prop_assert_eq!(slots.find(FlowKey(key)), map.get(&key).copied());
                }
                prop_assert!(map.iter().all(|(key, slot)| slots[*slot] == *key));
            }
        }
    }

    #[test]
    fn keys_of_one_bucket_stay_apart() {
        let mut slots = FlowSlots::<u64>::new(0);
        let home = slots.home(FlowKey(0));
        let mut alike = (0..).map(FlowKey).filter(|flow| slots.home(*flow) == home);
        let keys: Vec<FlowKey> = alike.by_ref().take(5).collect();
        drop(alike);
        let entered: Vec<u32> = keys.iter().map(|flow| slots.find_or_insert(*flow).0).collect();
        slots.remove(entered[1]);
        assert_eq!(slots.find(keys[1]), None);
        assert_eq!(slots.find(keys[4]), Some(entered[4]));
    }
}
