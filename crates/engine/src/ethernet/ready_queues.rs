//! Which virtual output queues may send.

use std::hint::select_unpredictable;

/// The ready queues, one bit each.
#[derive(Debug)]
pub(crate) struct ReadyQueues {
    words: Vec<u64>,
    pub count: u32,
}

impl ReadyQueues {
    const BITS: usize = u64::BITS as usize;

    pub fn new(queues: usize) -> Self {
        Self { words: vec![0; queues.div_ceil(Self::BITS).max(1)], count: 0 }
    }

    #[inline]
    pub fn insert(&mut self, number: usize) {
        let (word, bit) = (&mut self.words[number / Self::BITS], 1 << (number % Self::BITS));
        self.count += u32::from(*word & bit == 0);
        *word |= bit;
    }

    #[inline]
    pub fn remove(&mut self, number: usize) {
        let (word, bit) = (&mut self.words[number / Self::BITS], 1 << (number % Self::BITS));
        self.count -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    /// The first accepted ready queue, in cyclic order from `from` on.
    #[inline]
    pub fn next(&self, from: usize, accepts: impl Fn(usize) -> bool) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        // The common case: at most 64 queues.
        if let [word] = self.words[..] {
            let ahead = if from < Self::BITS { word >> from << from } else { 0 };
            let first = select_unpredictable(ahead != 0, ahead, word).trailing_zeros() as usize;
            if accepts(first) {
                return Some(first);
            }
        }
        let words = self.words.len();
        // The word of `from` comes twice: its bits before `from` are the last ones.
        let (first, before) = (from / Self::BITS % words, (1 << (from % Self::BITS)) - 1);
        for step in 0..=words {
            let index = (first + step) % words;
            let word = self.words[index] & if step == 0 { !before } else { u64::MAX };
            let number = members(word).map(|bit| index * Self::BITS + bit).find(|&number| accepts(number));
            if number.is_some() {
                return number;
            }
        }
        None
    }
}

/// The set bits, from the lowest.
#[inline]
fn members(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = word.checked_sub(1).map(|_| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_queues_are_found_in_turn() {
        for members in [&[3, 63, 64, 70, 129][..], &[0, 5, 63], &[7]] {
            let count = members[members.len() - 1] + 1;
            let mut ready = ReadyQueues::new(count);
            for &number in members {
                ready.insert(number);
                ready.insert(number);
            }
            assert_eq!(ready.count as usize, members.len());
            for from in 0..=count {
                let expected = members.iter().find(|&&number| number >= from).or(members.first());
                assert_eq!(ready.next(from, |_| true), expected.copied(), "from {from}");
            }
            let last = members[members.len() - 1];
            assert_eq!(ready.next(1, |number| number == last), Some(last));
            assert_eq!(ready.next(0, |number| number == 1), None);
            for &number in members {
                ready.remove(number);
                ready.remove(number);
            }
            assert_eq!((ready.count, ready.next(0, |_| true)), (0, None));
        }
    }
}
