//! The count of departures that break the order of ranks.

use super::Rank;

/// Departures that leave a packet of smaller rank behind, counted if asked for: each looks at the packets queued.
///
/// SP-PIFO's figures count them so: a departure counts once, however many packets it overtakes.
#[derive(Clone, Copy, Debug)]
pub struct Inversions(Option<u64>);

impl Inversions {
    pub(crate) fn new(counts: bool) -> Self {
        Self(counts.then_some(0))
    }

    /// A packet of `rank` has left; `queued` are the ranks of those behind it.
    pub(crate) fn left(&mut self, rank: Rank, mut queued: impl Iterator<Item = Rank>) {
        if let Self(Some(count)) = self {
            *count += u64::from(queued.any(|other| other < rank));
        }
    }

    pub(crate) fn gauges(self, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Self(Some(count)) = self {
            visit("inversions", count as f64);
        }
    }
}
