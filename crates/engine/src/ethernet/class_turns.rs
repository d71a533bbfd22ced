//! Which class goes next at a port with a queue per class.

/// A set of classes, one bit each.
pub(crate) type Classes = u8;

/// Strict priority (highest class first), or round-robin.
#[derive(Debug)]
pub(crate) struct ClassTurns {
    strict_priority: bool,
    /// Where the round-robin search begins.
    next: u32,
}

impl ClassTurns {
    pub fn new(strict_priority: bool) -> Self {
        Self { strict_priority, next: 0 }
    }

    /// The next class among `candidates`, which must not be empty.
    pub fn pick(&self, candidates: Classes) -> usize {
        if self.strict_priority {
            return candidates.ilog2() as usize;
        }
        ((candidates.rotate_right(self.next).trailing_zeros() + self.next) % Classes::BITS) as usize
    }

    #[inline]
    pub fn goes(&mut self, class: usize) {
        self.next = (class as u32 + 1) % Classes::BITS;
    }
}

#[cfg(test)]
#[path = "class_turns_tests.rs"]
mod tests;
