//! The lists of a tin's queues: circles through its links, each with an end of its own, so that a queue leaves any list
//! from any place.

use alloc::vec::Vec;

use super::sizes::QUEUES;

/// A list of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    New,
    Old,
    Decaying,
}

const LISTS: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u16,
    next: u16,
}

/// Which queues follow each other. A queue that is in no list follows itself.
#[derive(Clone, Debug)]
pub(super) struct FlowLists(Vec<Link>);

impl FlowLists {
    /// Empty lists.
    pub fn new() -> Self {
        Self((0..(QUEUES + LISTS) as u16).map(|index| Link { previous: index, next: index }).collect())
    }

    pub fn heap_bytes(&self) -> u64 {
        crate::memory::heap_bytes(&self.0)
    }

    /// The first queue of a list.
    pub fn first(&self, list: List) -> Option<usize> {
        let first = usize::from(self.0[Self::end(list)].next);
        (first < QUEUES).then_some(first)
    }

    /// Takes a queue out of the list in which it is, if any.
    pub fn remove(&mut self, index: usize) {
        let Link { previous, next } = self.0[index];
        self.0[usize::from(previous)].next = next;
        self.0[usize::from(next)].previous = previous;
        self.0[index] = Link { previous: index as u16, next: index as u16 };
    }

    /// Moves a queue to the tail of a list.
    pub fn move_to_tail(&mut self, list: List, index: usize) {
        self.remove(index);
        let end = Self::end(list);
        let last = core::mem::replace(&mut self.0[end].previous, index as u16);
        self.0[usize::from(last)].next = index as u16;
        self.0[index] = Link { previous: last, next: end as u16 };
    }

    const fn end(list: List) -> usize {
        QUEUES + list as usize
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn all(lists: &FlowLists, list: List) -> Vec<usize> {
        let mut lists = lists.clone();
        core::iter::from_fn(|| lists.first(list).inspect(|&first| lists.remove(first))).collect()
    }

    #[test]
    fn a_queue_moves_from_any_place_of_any_list_to_the_tail_of_one() {
        let mut lists = FlowLists::new();
        [5, 0, 1023].into_iter().for_each(|index| lists.move_to_tail(List::New, index));
        lists.move_to_tail(List::Decaying, 7);
        lists.move_to_tail(List::Old, 0);
        lists.move_to_tail(List::New, 5);
        lists.remove(700);
        assert_eq!(
            [List::New, List::Old, List::Decaying].map(|list| all(&lists, list)),
            [Vec::from([1023, 5]), Vec::from([0]), Vec::from([7])]
        );
        lists.remove(1023);
        lists.remove(5);
        lists.remove(5);
        assert_eq!((lists.first(List::New), lists.first(List::Old)), (None, Some(0)));
    }
}
