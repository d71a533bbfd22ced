//! The scheduler of DualPI2: which of the two queues sends next.

use crate::{Span, Time};

/// The state of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheduler {
    /// Weighted round robin by bytes, as in Linux (`dequeue_packet`).
    Wrr {
        /// `c_protection_credit`: positive when the Classic queue is next. In bytes times percent.
        credit: i64,
        /// Credit while both queues are empty.
        initial: i64,
        /// Weight of the Classic queue, in percent.
        classic_weight: i64,
    },
    /// Time-shifted FIFO: the order of arrival, as if L4S packets had come earlier by this time.
    TimeShifted(Span),
}

impl Scheduler {
    /// Weighted round robin with this weight of the Classic queue, in percent.
    pub fn wrr(classic_weight: u32, mtu: u64) -> Self {
        let classic_weight = i64::from(classic_weight);
        let initial = (mtu as i64).saturating_mul(classic_weight - (100 - classic_weight));
        Self::Wrr { credit: initial, initial, classic_weight }
    }

    /// Whether the L4S queue is next. The heads are the times at which the first packets came; one is there at least.
    #[inline]
    pub fn chooses_l4s(&self, classic: Option<Time>, l4s: Option<Time>) -> bool {
        match (classic, l4s, self) {
            (_, None, _) => false,
            (None, Some(_), _) => true,
            (Some(_), Some(_), Self::Wrr { credit, .. }) => *credit <= 0,
            (Some(classic), Some(l4s), Self::TimeShifted(shift)) => l4s < classic.saturating_add(*shift),
        }
    }

    /// The L4S queue has sent this many bytes while the other had packets.
    #[inline]
    pub fn served_l4s(&mut self, len_bytes: u32) {
        if let Self::Wrr { credit, classic_weight, .. } = self {
            *credit += *classic_weight * i64::from(len_bytes);
        }
    }

    /// The Classic queue has sent this many bytes while the other had packets.
    #[inline]
    pub fn served_classic(&mut self, len_bytes: u32) {
        if let Self::Wrr { credit, classic_weight, .. } = self {
            *credit -= (100 - *classic_weight) * i64::from(len_bytes);
        }
    }

    /// The link has found both queues empty.
    pub fn reset(&mut self) {
        if let Self::Wrr { credit, initial, .. } = self {
            *credit = *initial;
        }
    }

    /// The credit of weighted round robin.
    pub fn credit(&self) -> i64 {
        match self {
            Self::Wrr { credit, .. } => *credit,
            Self::TimeShifted(_) => 0,
        }
    }
}
