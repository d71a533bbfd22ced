//! The data that the receiver is known to hold above the cumulative ACK (RFC 6675's scoreboard).

use forebay_units::Ranges;

use crate::recovery::DUPLICATE_THRESHOLD;

/// Ranges above the cumulative ACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: Ranges,
}

impl Scoreboard {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a range; whether any of it is news.
    pub fn insert(&mut self, left: u64, right: u64) -> bool {
        self.ranges.insert(left, right) > 0
    }

    /// Forgets what is below the cumulative ACK.
    pub fn advance(&mut self, unacknowledged: u64) {
        self.ranges.remove_below(unacknowledged);
    }

    /// One past the highest number that has arrived.
    pub fn highest(&self) -> u64 {
        self.ranges.as_slice().last().map_or(0, |&(_, right)| right)
    }

    /// The hole at or above `from`, up to `limit`: the next stretch of which nothing has arrived.
    pub fn hole(&self, from: u64, limit: u64) -> Option<(u64, u64)> {
        let start = self.ranges.end_of(from).unwrap_or(from);
        let end = self.ranges.start_after(start).map_or(limit, |left| left.min(limit));
        (start < end).then_some((start, end))
    }

    /// The highest hole below `limit`.
    pub fn last_hole(&self, unacknowledged: u64, limit: u64) -> Option<(u64, u64)> {
        match self.ranges.as_slice().split_last() {
            None => (unacknowledged < limit).then_some((unacknowledged, limit)),
            Some((&(_, right), _)) if right < limit => Some((right, limit)),
            Some((&(left, _), below)) => {
                let start = below.last().map_or(unacknowledged, |&(_, right)| right);
                (start < left).then_some((start, left))
            }
        }
    }

    /// The count of numbers in `[from, to)` that have not arrived.
    pub fn missing(&self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        let ranges = self.ranges.as_slice();
        let first = ranges.partition_point(|&(_, r)| r <= from);
        let arrived: u64 = ranges[first..]
            .iter()
            .take_while(|&&(left, _)| left < to)
            .map(|&(left, right)| right.min(to) - left.max(from))
            .sum();
        to - from - arrived
    }

    /// Whatever is missing below this number counts as lost (RFC 6675's `IsLost`): above it have arrived three separate
    /// ranges, or more than two full segments.
    pub fn lost_below(&self, segment_bytes: u64) -> u64 {
        let mut bytes = 0;
        for (above, &(left, right)) in self.ranges.as_slice().iter().rev().enumerate() {
            bytes += right - left;
            if above + 1 >= DUPLICATE_THRESHOLD as usize || bytes > u64::from(DUPLICATE_THRESHOLD - 1) * segment_bytes {
                return left;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(ranges: &[(u64, u64)]) -> Scoreboard {
        let mut scoreboard = Scoreboard::default();
        for &(left, right) in ranges {
            scoreboard.insert(left, right);
        }
        scoreboard
    }

    #[test]
    fn merges_what_overlaps_or_touches() {
        let mut scoreboard = board(&[(10, 20), (30, 40), (50, 60)]);
        assert!(!scoreboard.insert(12, 18));
        assert!(!scoreboard.insert(30, 40));
        assert!(!scoreboard.insert(7, 7));
        assert!(scoreboard.insert(20, 30));
        assert_eq!(scoreboard.ranges.as_slice(), [(10, 40), (50, 60)]);
        assert!(scoreboard.insert(5, 70));
        assert_eq!(scoreboard.ranges.as_slice(), [(5, 70)]);
        scoreboard.advance(60);
        assert_eq!(scoreboard.ranges.as_slice(), [(60, 70)]);
        scoreboard.advance(70);
        assert!(scoreboard.is_empty());
    }

    #[test]
    fn finds_holes() {
        let scoreboard = board(&[(10, 20), (30, 40)]);
        assert_eq!(scoreboard.hole(1, 100), Some((1, 10)));
        assert_eq!(scoreboard.hole(12, 100), Some((20, 30)));
        assert_eq!(scoreboard.hole(35, 100), Some((40, 100)));
        assert_eq!(scoreboard.hole(35, 40), None);
        assert_eq!(scoreboard.last_hole(1, 100), Some((40, 100)));
        assert_eq!(scoreboard.last_hole(1, 40), Some((20, 30)));
        assert_eq!(board(&[(1, 40)]).last_hole(1, 40), None);
        assert_eq!(board(&[]).last_hole(1, 40), Some((1, 40)));
        assert_eq!(board(&[]).last_hole(40, 40), None);
        assert_eq!(scoreboard.missing(1, 100), 79);
        assert_eq!(scoreboard.missing(15, 35), 10);
        assert_eq!(scoreboard.missing(35, 15), 0);
    }

    #[test]
    fn three_ranges_or_more_than_two_segments_above_mean_lost() {
        assert_eq!(board(&[(10, 20)]).lost_below(10), 0);
        assert_eq!(board(&[(10, 30)]).lost_below(10), 0);
        assert_eq!(board(&[(10, 31)]).lost_below(10), 10);
        assert_eq!(board(&[(10, 12), (20, 22), (30, 32)]).lost_below(10), 10);
        assert_eq!(board(&[(10, 20), (30, 40), (50, 60), (70, 80)]).lost_below(10), 30);
    }
}
