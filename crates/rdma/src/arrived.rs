//! The packet numbers that have arrived at a receiver.

use alloc::vec::Vec;

/// Packets above the cumulative ACK that a receiver keeps track of, at most.
const MAX_PACKETS: u64 = 1 << 20;

/// The packets of a flow that have arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// The first packet that is missing.
    expected: u64,
    arrived: Arrived,
    /// Packets above it that have arrived.
    out_of_order: u32,
}

impl Reassembly {
    pub fn expected(&self) -> u64 {
        self.expected
    }

    pub fn has_gaps(&self) -> bool {
        self.out_of_order > 0
    }

    pub fn has(&self, number: u64) -> bool {
        number < self.expected || self.arrived.has(number, self.expected)
    }

    /// Whether the number is so high that no sender of this flow would use it.
    pub fn is_too_far(&self, number: u64) -> bool {
        number >= self.expected + MAX_PACKETS
    }

    /// Adds a packet that has not arrived before.
    pub fn insert(&mut self, number: u64) {
        if number != self.expected {
            self.arrived.insert(number, self.expected);
            self.out_of_order += 1;
            return;
        }
        self.expected += 1;
        while self.out_of_order > 0 && self.arrived.take(self.expected) {
            self.expected += 1;
            self.out_of_order -= 1;
        }
    }

    /// Packets above the first missing one, from `base` on; the lowest bit is `base`.
    pub fn bitmap(&self, base: u64) -> u64 {
        if !self.has_gaps() {
            return 0;
        }
        (0..64).fold(0, |bitmap, bit| bitmap | u64::from(self.arrived.has(base + bit, self.expected)) << bit)
    }

    #[cfg(test)]
    pub fn holds_nothing(&self) -> bool {
        self.out_of_order == 0 && self.arrived.is_empty()
    }
}

/// Packets that have arrived above the cumulative ACK: a ring of bits, which grows.
#[derive(Clone, Debug, Default)]
struct Arrived(Vec<u64>);

impl Arrived {
    fn slot(&self, number: u64) -> (usize, u64) {
        let words = self.0.len() as u64;
        ((number / 64 % words) as usize, 1 << (number % 64))
    }

    fn has(&self, number: u64, expected: u64) -> bool {
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

    fn insert(&mut self, number: u64, expected: u64) {
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
    fn take(&mut self, number: u64) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let (word, bit) = self.slot(number);
        let was_there = self.0[word] & bit != 0;
        self.0[word] &= !bit;
        was_there
    }

    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}
