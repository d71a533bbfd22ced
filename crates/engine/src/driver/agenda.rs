//! When each node is due: by itself, or for an arrival.

use forebay_qdisc::Time;

use crate::driver::node::NodeId;

/// Nodes compared at once: without branches this costs less than a branch for each.
pub(crate) const TOGETHER: usize = 8;

pub(crate) struct Agenda {
    groups: Vec<[Time; TOGETHER]>,
}

impl Agenda {
    pub fn new(nodes: usize) -> Self {
        Self { groups: vec![[Time::NEVER; TOGETHER]; nodes.div_ceil(TOGETHER)] }
    }

    #[inline]
    pub fn of(&self, node: NodeId) -> Time {
        self.groups[node as usize / TOGETHER][node as usize % TOGETHER]
    }

    #[inline]
    pub fn set(&mut self, node: NodeId, time: Time) {
        self.groups[node as usize / TOGETHER][node as usize % TOGETHER] = time;
    }

    /// Sets when a node is due, unless it is due earlier.
    #[inline]
    pub fn add(&mut self, node: NodeId, time: Time) {
        let known = &mut self.groups[node as usize / TOGETHER][node as usize % TOGETHER];
        *known = time.min(*known);
    }

    #[inline]
    pub fn first(&self) -> Time {
        let mut first = [Time::NEVER; TOGETHER];
        for group in &self.groups {
            for (first, &time) in first.iter_mut().zip(group) {
                *first = time.min(*first);
            }
        }
        first.into_iter().fold(Time::NEVER, Time::min)
    }

    /// Which nodes of a group are due before `end`, a bit for each.
    #[inline]
    pub fn due(&self, group: usize, end: Time) -> u32 {
        set_bits(self.groups[group].map(|time| time < end)) as u32
    }
}

/// A bit for each value, the first one lowest. The compiler gathers powers of two without a shift for each.
#[inline(always)]
pub(crate) fn set_bits<const N: usize>(values: [bool; N]) -> u64 {
    values.iter().zip(0..).fold(0, |bits, (&is_set, place)| bits | if is_set { 1_u64 << place } else { 0 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_is_due_and_what_comes_first(
            times in prop::collection::vec(0_u64..100, 1..40), end in 0_u64..100,
        ) {
            let mut agenda = Agenda::new(times.len());
            for (&time, node) in times.iter().zip(0..) {
                agenda.set(node, Time::NEVER);
                agenda.add(node, Time::from_picoseconds(time));
            }
            prop_assert_eq!(Some(agenda.first().picoseconds()), times.iter().copied().min());
            for (node, &time) in times.iter().enumerate() {
                let due = agenda.due(node / TOGETHER, Time::from_picoseconds(end)) >> (node % TOGETHER) & 1;
                prop_assert_eq!(due == 1, time < end);
                prop_assert_eq!(agenda.of(node as NodeId).picoseconds(), time);
            }
        }
    }
}
