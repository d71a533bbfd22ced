//! Random numbers: those of a case follow from the campaign's seed and the case's number.

use forebay_records::random::stream;
use rand_core::Rng;

/// The dice of one case.
pub struct Dice(Box<dyn Rng>);

impl Dice {
    pub fn of_case(seed: u64, case: u64) -> Self {
        Self(Box::new(stream(seed, &format!("torture/{case}"))))
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// 0 to `end - 1`; 0 if there is nothing to choose from.
    pub fn below(&mut self, end: usize) -> usize {
        self.word().checked_rem(end as u64).unwrap_or(0) as usize
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform(0.0, 1.0) < probability
    }

    /// 0, 1, 2, …, each half as likely as the one before it.
    pub fn few(&mut self) -> usize {
        self.word().trailing_ones() as usize
    }

    /// This many times the number, between 2^-`octaves` and 2^`octaves`.
    pub fn around(&mut self, number: f64, octaves: f64) -> f64 {
        number * libm::exp2(self.uniform(-octaves, octaves))
    }
}
