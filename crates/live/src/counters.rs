//! The counters of a port.

use forebay_qdisc::{DropReason, MarkReason};

use crate::histogram::Histogram;

/// Packets and their bytes, framing included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts one packet.
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }
}

/// Why a frame was refused: before any queue saw it, or when it was to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Longer than the interface's MTU allows: several packets that the kernel has put together, or a jumbo frame.
    TooLong,
    /// Too short for an Ethernet header.
    TooShort,
    /// Its transport checksum was left to a network card.
    UnfinishedChecksum,
    /// All buffers are in use.
    NoBuffer,
    /// The interface behind the port would not send it.
    NotSendable,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::TooLong, Self::TooShort, Self::UnfinishedChecksum, Self::NoBuffer, Self::NotSendable];

    /// Its name in metrics and on the control socket.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::TooShort => "too_short",
            Self::UnfinishedChecksum => "unfinished_checksum",
            Self::NoBuffer => "no_buffer",
            Self::NotSendable => "not_sendable",
        }
    }
}

/// The reasons for marks.
pub const MARK_REASONS: [(MarkReason, &str); 4] = [
    (MarkReason::Early, "early"),
    (MarkReason::Forced, "forced"),
    (MarkReason::FlowLimit, "flow_limit"),
    (MarkReason::FairShare, "fair_share"),
];

/// The name of a drop's reason: that of the results' columns, without `dropped_`.
#[must_use]
pub fn drop_reason_name(reason: DropReason) -> &'static str {
    reason.column().trim_start_matches("dropped_")
}

/// The counters and histograms of one port.
pub struct Counters {
    /// Frames that arrived and were not refused.
    pub received: Count,
    /// Frames that left, or were handed over for that.
    pub sent: Count,
    /// Dropped by the discipline, by [`DropReason::ALL`].
    pub dropped: Vec<Count>,
    /// Dropped packets that had been queued.
    pub dropped_after_enqueue: u64,
    /// Marked by the discipline, by [`MARK_REASONS`].
    pub marked: [u64; MARK_REASONS.len()],
    /// Refused, by [`Refusal::ALL`].
    pub refused: [Count; Refusal::ALL.len()],
    /// Passed around the queue, by bypass.
    pub bypassed: Count,
    /// Time from arrival until the last bit was due to leave.
    pub sojourn: Histogram,
    /// Time from when the last bit was due to leave until the frame was handed to the kernel.
    pub lateness: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            received: Count::default(),
            sent: Count::default(),
            dropped: vec![Count::default(); DropReason::ALL.len()],
            dropped_after_enqueue: 0,
            marked: [0; MARK_REASONS.len()],
            refused: [Count::default(); Refusal::ALL.len()],
            bypassed: Count::default(),
            sojourn: Histogram::default(),
            lateness: Histogram::default(),
        }
    }
}

impl Counters {
    /// Counts a frame that was refused.
    pub fn refuse(&mut self, refusal: Refusal, bytes: u32) {
        self.refused[refusal as usize].add(bytes);
    }

    /// Counts a drop.
    pub fn drop(&mut self, reason: DropReason, bytes: u32, queued: bool) {
        self.dropped[reason as usize].add(bytes);
        self.dropped_after_enqueue += u64::from(queued);
    }

    /// Packets that the discipline dropped.
    #[must_use]
    pub fn dropped_packets(&self) -> u64 {
        self.dropped.iter().map(|count| count.packets).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_place() {
        for (place, &reason) in DropReason::ALL.iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        for (place, (reason, _)) in MARK_REASONS.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        for (place, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, place);
        }
        assert_eq!(drop_reason_name(DropReason::Overflow), "overflow");
    }
}
