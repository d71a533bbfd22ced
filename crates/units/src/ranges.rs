//! Disjoint ranges of numbers in order, for data above a cumulative ACK.

use alloc::vec::Vec;

/// Ranges `[start, end)` in order; neighbours are merged. Keeps its memory when it becomes empty.
#[derive(Clone, Debug, Default)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Whether there is no range.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, the lowest first.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Adds a range and returns how much of it was missing.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let first = self.0.partition_point(|range| range.1 < start);
        let last = self.0.partition_point(|range| range.0 <= end);
        let overlap = |range: &(u64, u64)| range.1.min(end).saturating_sub(range.0.max(start));
        let present: u64 = self.0[first..last].iter().map(overlap).sum();
        if first == last {
            self.0.insert(first, (start, end));
        } else {
            self.0[first] = (start.min(self.0[first].0), end.max(self.0[last - 1].1));
            self.0.drain(first + 1..last);
        }
        end - start - present
    }

    /// The end of the range that contains `position`, if one does.
    #[must_use]
    pub fn end_of(&self, position: u64) -> Option<u64> {
        let index = self.0.partition_point(|range| range.1 <= position);
        self.0.get(index).filter(|range| range.0 <= position).map(|range| range.1)
    }

    /// The start of the first range above `position`.
    #[must_use]
    pub fn start_after(&self, position: u64) -> Option<u64> {
        self.0.get(self.0.partition_point(|range| range.0 <= position)).map(|range| range.0)
    }

    /// Whether one range holds all of `start..end`.
    #[must_use]
    pub fn contains(&self, start: u64, end: u64) -> bool {
        self.end_of(start).is_some_and(|range_end| range_end >= end)
    }

    /// Removes everything below `position`.
    pub fn remove_below(&mut self, position: u64) {
        let gone = self.0.partition_point(|range| range.1 <= position);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_a_set_of_bytes(
            operations in prop::collection::vec((0_u64..60, 0_u64..12, any::<bool>()), 0..60),
        ) {
            let mut ranges = Ranges::default();
            let mut bytes = [false; 80];
            for (start, length, removes) in operations {
                if removes {
                    ranges.remove_below(start);
                    bytes[..start as usize].fill(false);
                } else {
                    let slice = &mut bytes[start as usize..(start + length) as usize];
                    let missing = slice.iter().filter(|present| !**present).count() as u64;
                    slice.fill(true);
                    prop_assert_eq!(ranges.insert(start, start + length), missing);
                }
                for (position, present) in bytes.iter().enumerate() {
                    prop_assert_eq!(ranges.end_of(position as u64).is_some(), *present);
                }
                prop_assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
                prop_assert!(ranges.0.iter().all(|range| range.0 < range.1));
                let next = (10..80).find(|&at| bytes[at] && !bytes[at - 1]).map(|at| at as u64);
                let is_inside = bytes[9] && bytes[10];
                prop_assert!(is_inside || ranges.start_after(9) == next);
            }
        }
    }
}
