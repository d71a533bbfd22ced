//! A FIFO in a ring whose capacity is a power of two: a `VecDeque` for `Copy` values, with fewer instructions.

use std::hint::select_unpredictable;

/// Holds fewer than 2^32 values.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    /// A power of two, or none.
    slots: Box<[T]>,
    /// The numbers of the oldest value and of the next one, modulo 2^32.
    head: u32,
    tail: u32,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Box::default(), head: 0, tail: 0 }
    }
}

impl<T: Copy> Ring<T> {
    #[inline]
    fn slot(&self, index: u32) -> usize {
        index as usize & self.slots.len().wrapping_sub(1)
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// The oldest value.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.head == self.tail { None } else { self.slots.get(self.slot(self.head)) }
    }

    /// Has no branch, which would often be mispredicted.
    #[inline]
    pub fn of_front<U>(&self, of: impl FnOnce(&T) -> U, without: U) -> U {
        match self.slots.get(self.slot(self.head)) {
            Some(slot) => select_unpredictable(self.head == self.tail, without, of(slot)),
            None => without,
        }
    }

    /// The newest value.
    #[inline]
    pub fn back(&self) -> Option<&T> {
        if self.head == self.tail { None } else { self.slots.get(self.slot(self.tail.wrapping_sub(1))) }
    }

    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow(value);
        }
        let slot = self.slot(self.tail);
        self.slots[slot] = value;
        self.tail = self.tail.wrapping_add(1);
    }

    pub fn push_front(&mut self, value: T) {
        if self.len() == self.slots.len() {
            self.grow(value);
        }
        self.head = self.head.wrapping_sub(1);
        let slot = self.slot(self.head);
        self.slots[slot] = value;
    }

    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let value = self.front().copied();
        self.head = self.head.wrapping_add(u32::from(value.is_some()));
        value
    }

    /// Takes the newest value.
    pub fn pop_back(&mut self) -> Option<T> {
        let value = self.back().copied();
        self.tail = self.tail.wrapping_sub(u32::from(value.is_some()));
        value
    }

    /// Drops the oldest value of a ring that is not empty, and returns what `of` makes of it.
    #[inline(always)]
    pub fn take<U>(&mut self, of: impl FnOnce(&T) -> U) -> U {
        debug_assert!(self.len() > 0, "nothing to take");
        let taken = of(&self.slots[self.slot(self.head)]);
        self.head = self.head.wrapping_add(1);
        taken
    }

    /// `filler` fills the unused slots.
    #[cold]
    fn grow(&mut self, filler: T) {
        let len = self.len();
        let mut slots = Vec::with_capacity((len * 2).max(4));
        slots.extend((0..len).map(|index| self.slots[self.slot(self.head.wrapping_add(index as u32))]));
        slots.resize((len * 2).max(4), filler);
        (self.slots, self.head, self.tail) = (slots.into_boxed_slice(), 0, len as u32);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue_with_two_ends(
            operations in prop::collection::vec((any::<bool>(), prop::option::of(0_u32..1200)), 0..500),
        ) {
            let (mut ring, mut model) = (Ring::default(), VecDeque::new());
            for operation in operations {
                match operation {
                    (_, Some(1000..)) => prop_assert_eq!(ring.pop_back(), model.pop_back()),
                    (false, Some(value)) => {
                        ring.push(value);
                        model.push_back(value);
                    }
                    (true, Some(value)) => {
                        ring.push_front(value);
                        model.push_front(value);
                    }
                    (false, None) => prop_assert_eq!(ring.pop(), model.pop_front()),
                    (true, None) => {
                        if let Some(front) = model.pop_front() {
                            prop_assert_eq!(ring.take(|value| *value), front);
                        }
                    }
                }
                prop_assert_eq!(ring.len(), model.len());
                prop_assert_eq!(ring.front(), model.front());
                prop_assert_eq!(ring.of_front(|value| value + 1, 0), model.front().map_or(0, |value| value + 1));
                prop_assert_eq!(ring.back(), model.back());
            }
        }
    }
}
