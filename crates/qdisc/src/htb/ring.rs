//! Classes that take turns in the order of their numbers.

/// The most classes of a tree.
pub(super) const MOST_CLASSES: usize = 256;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of classes, and whose turn it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ring {
    members: [u64; MOST_CLASSES / WORD_BITS],
    /// Whose turn it is; `None` after the last one.
    turn: Option<u8>,
    /// The class that left while it had the turn.
    left: Option<u8>,
}

impl Ring {
    pub fn is_empty(&self) -> bool {
        self.members == [0; MOST_CLASSES / WORD_BITS]
    }

    pub fn insert(&mut self, class: u8) {
        self.members[usize::from(class) / WORD_BITS] |= bit(class);
    }

    /// Takes a class out. If it has the turn, the next one gets it.
    pub fn remove(&mut self, class: u8) {
        if self.turn == Some(class) {
            self.advance();
        }
        self.members[usize::from(class) / WORD_BITS] &= !bit(class);
    }

    /// Takes a class out. If it has the turn and is back before the next look at the ring, it has the turn again.
    pub fn suspend(&mut self, class: u8) {
        if self.turn == Some(class) {
            (self.turn, self.left) = (None, Some(class));
        }
        self.members[usize::from(class) / WORD_BITS] &= !bit(class);
    }

    /// Whose turn it is; `None` after the last one.
    pub fn current(&mut self) -> Option<u8> {
        if let Some(left) = self.left.take()
            && self.turn.is_none()
        {
            self.turn = self.at_or_after(usize::from(left));
        }
        self.turn
    }

    /// Ends the turn of the class that has it.
    pub fn advance(&mut self) {
        self.turn = self.turn.and_then(|class| self.at_or_after(usize::from(class) + 1));
    }

    /// Gives the turn to the first class.
    pub fn rewind(&mut self) {
        self.turn = self.at_or_after(0);
    }

    /// The first member whose number is at least `first`.
    fn at_or_after(&self, first: usize) -> Option<u8> {
        let mut word = first / WORD_BITS;
        let mut bits = self.members.get(word)? & (u64::MAX << (first % WORD_BITS));
        while bits == 0 {
            word += 1;
            bits = *self.members.get(word)?;
        }
        Some((word * WORD_BITS) as u8 + bits.trailing_zeros() as u8)
    }
}

fn bit(class: u8) -> u64 {
    1 << (usize::from(class) % WORD_BITS)
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn ring(classes: &[u8]) -> Ring {
        let mut ring = Ring::default();
        classes.iter().for_each(|&class| ring.insert(class));
        ring
    }

    #[test]
    fn turns_go_by_number_and_end_after_the_last() {
        let mut ring = ring(&[200, 3, 64]);
        assert_eq!(ring.current(), None);
        ring.rewind();
        let turns: Vec<_> = (0..4)
            .map(|_| {
                let turn = ring.current();
                ring.advance();
                turn
            })
            .collect();
        assert_eq!(turns, [Some(3), Some(64), Some(200), None]);
    }

    #[test]
    fn a_class_that_leaves_in_its_turn_passes_it_on_or_finds_it_again() {
        let mut row = ring(&[1, 2, 5]);
        row.rewind();
        row.remove(1);
        assert_eq!(row.current(), Some(2));
        // Another one that leaves changes nothing.
        row.remove(5);
        assert_eq!(row.current(), Some(2));

        let mut feed = ring(&[1, 2, 5]);
        feed.rewind();
        feed.advance();
        feed.suspend(2);
        let mut returned = feed;
        returned.insert(2);
        assert_eq!((returned.current(), feed.current()), (Some(2), Some(5)));
        // The turn was passed on: it is too late to return.
        feed.insert(2);
        assert_eq!(feed.current(), Some(5));
    }

    proptest! {
        #[test]
        fn the_next_member_is_found_in_every_word(members: BTreeSet<u8>, first in 0_usize..=256) {
            let ring = ring(&members.iter().copied().collect::<Vec<_>>());
            let expected = members.iter().copied().find(|&member| usize::from(member) >= first);
            prop_assert_eq!(ring.at_or_after(first), expected);
            prop_assert_eq!(ring.is_empty(), members.is_empty());
        }
    }
}
