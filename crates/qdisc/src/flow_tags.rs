//! How far each flow has been served, in bytes of virtual time: exact for up to a number of flows.

use forebay_units::require;

use crate::flow_slots::FlowSlots;
use crate::indexed_heap::IndexedHeap;
use crate::{FlowKey, ParameterError};

/// A tag for each flow. A flow without one has the floor.
///
/// If a flow more than `most` comes, the smallest tag is forgotten and becomes the floor. An answer is therefore exact
/// or too large: a flow may be served later than it should be, never earlier, and its packets keep their order.
#[derive(Clone, Debug)]
pub(crate) struct FlowTags {
    flows: FlowSlots<i64>,
    by_tag: IndexedHeap<i64>,
    most: u32,
    floor: i64,
}

impl FlowTags {
    /// No flows, and a floor of 0. `salt` goes into the hash of flows.
    pub fn new(most: u32, salt: u64) -> Result<Self, ParameterError> {
        require(most > 0, "max_flows", "be at least 1")?;
        Ok(Self { flows: FlowSlots::new(salt), by_tag: IndexedHeap::new(), most, floor: 0 })
    }

    /// The tag of `flow`.
    pub fn get(&self, flow: FlowKey) -> i64 {
        self.flows.find(flow).map_or(self.floor, |slot| self.flows[slot].max(self.floor))
    }

    /// Gives `flow` this tag.
    pub fn set(&mut self, flow: FlowKey, tag: i64) {
        let (slot, fresh) = self.flows.find_or_insert(flow);
        if fresh
            && self.flows.len() > self.most as usize
            && let Some((smallest, _)) = self.by_tag.first()
        {
            self.raise_floor(smallest);
        }
        self.flows[slot] = tag;
        self.by_tag.set(slot, tag);
    }

    /// Forgets the flows whose tags are not above `to`: they have it from now on.
    pub fn raise_floor(&mut self, to: i64) {
        self.floor = self.floor.max(to);
        while let Some((tag, slot)) = self.by_tag.first()
            && tag <= self.floor
        {
            self.by_tag.remove(slot);
            self.flows.remove(slot);
        }
    }

    /// Forgets all flows. Returns the floor, which is now the largest of their tags.
    pub fn forget_all(&mut self) -> i64 {
        while let Some((tag, _)) = self.by_tag.first() {
            self.raise_floor(tag);
        }
        self.floor
    }

    /// Number of flows that have a tag.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Bytes that it holds on the heap.
    pub fn heap_bytes(&self) -> u64 {
        self.flows.heap_bytes() + self.by_tag.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FlowKey = FlowKey(1);
    const B: FlowKey = FlowKey(2);
    const C: FlowKey = FlowKey(3);

    #[test]
    fn the_smallest_tag_makes_room_and_becomes_the_floor() {
        let mut tags = FlowTags::new(2, 0).unwrap();
        tags.set(A, 300);
        tags.set(B, 200);
        tags.set(B, 250);
        assert_eq!([tags.get(A), tags.get(B), tags.get(C)], [300, 250, 0]);
        tags.set(C, 100);
        assert_eq!([tags.get(A), tags.get(B), tags.get(C), tags.get(FlowKey(4))], [300, 250, 250, 250]);
        assert_eq!(tags.len(), 2);
    }

    #[test]
    fn tags_not_above_the_floor_are_forgotten() {
        let mut tags = FlowTags::new(9, 0).unwrap();
        tags.set(A, 10);
        tags.set(B, 20);
        tags.set(C, 30);
        tags.raise_floor(20);
        tags.raise_floor(5);
        assert_eq!([tags.get(A), tags.get(B), tags.get(C)], [20, 20, 30]);
        assert_eq!(tags.len(), 1);
        tags.set(A, 5);
        assert_eq!(tags.get(A), 20);
        assert_eq!(tags.forget_all(), 30);
        assert_eq!([tags.get(A), tags.len() as i64], [30, 0]);
        assert_eq!(FlowTags::new(0, 0).unwrap_err().field, "max_flows");
    }
}
