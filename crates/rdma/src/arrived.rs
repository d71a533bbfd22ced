//! The packets that have arrived above a cumulative ACK.

use alloc::vec::Vec;

/// Packets above the cumulative ACK that a receiver keeps track of, at most.
pub(crate) const MAX_PACKETS: u64 = 1 << 20;

/// Packets that have arrived above the cumulative ACK: a ring of bits, which grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrived(Vec<u64>);

impl Arrived {
    fn slot(&self, number: u64) -> (usize, u64) {
        let words = self.0.len() as u64;
        ((number / 64 % words) as usize, 1 << (number % 64))
    }

    pub fn has(&self, number: u64, expected: u64) -> bool {
        if number < expected || number >= expected + self.capacity() {
            return false;
        }
        let (word, bit) = self.slot(number);
        self.0[word] & bit != 0
    }

    /// Packets from the expected one on for which the ring has bits; one word is shared by both ends.
    fn capacity(&self) -> u64 {
        (self.0.len() as u64).saturating_sub(1) * 64
    }

    pub fn insert(&mut self, number: u64, expected: u64) {
        if number >= expected + self.capacity() {
            let needed = (number - expected) / 64 + 2;
            let mut larger = Self(alloc::vec![0; needed.next_power_of_two() as usize]);
            for present in (expected..expected + self.capacity()).filter(|&present| self.has(present, expected)) {
                let (word, bit) = larger.slot(present);
                larger.0[word] |= bit;
            }
            *self = larger;
        }
        let (word, bit) = self.slot(number);
        self.0[word] |= bit;
    }

    /// Removes a packet; true if it was there.
    pub fn take(&mut self, number: u64) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let (word, bit) = self.slot(number);
        let was_there = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was_there
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}
