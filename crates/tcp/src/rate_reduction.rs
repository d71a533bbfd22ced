//! The transition from the old window to the reduced one during loss recovery with SACK.
//!
//! # What it does
//! A recovery reduces the window at one stroke, but the network still holds the old one. RFC 6675 falls silent until
//! enough of that has arrived and then continues at the full rate. Rate-halving sends one segment for two that arrive
//! until what is in the network has come down to the window. Proportional rate reduction spreads the same reduction
//! evenly over the round trip. Both spread the data of the next round trip, whereas RFC 6675 leaves a gap and a burst.
//! A router with a buffer of 10 or 20 packets then drops a fifth less of the traffic of 49 BIC flows.
//!
//! # Source
//! RFC 6675, section 5, step C. Rate-halving: Mathis, Semke & Mahdavi 1999 (`draft-mathis-tcp-ratehalving`), as Linux
//! 2.6 and ns-2 2.35 have it, down to what the window law leaves. RFC 9937, section 6.2 (proportional rate reduction,
//! of which Linux has had a version since 3.2).
//!
//! # Where we differ
//! In rate halving and RFC 6675 the first retransmission always goes out.
//!
//! # Parameters
//! `rate_reduction`.

use crate::RateReduction;

/// One recovery's way down, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    /// Nothing but the window counts.
    AtOnce,
    /// No more than `ceiling` may be in the network until the window is reached.
    Halving { ceiling: u64 },
    /// RFC 9937's `RecoverFS`, `prr_delivered` and `prr_out`.
    Proportional { flight: u64, delivered: u64, sent: u64 },
}

/// The content of an ACK during a recovery, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The data that it reports as arrived (DeliveredData).
    pub newly: u64,
    /// Whether it acknowledges new data and reports no further loss (SafeAck).
    pub is_safe: bool,
}

impl Reduction {
    /// A recovery begins: `flight` bytes were in flight before the ACK that began it, less what had been reported to
    /// have arrived; `pipe` are in the network.
    pub fn begin(rule: RateReduction, flight: u64, pipe: u64) -> Self {
        match rule {
            RateReduction::AtOnce => Self::AtOnce,
            RateReduction::RateHalving => Self::Halving { ceiling: pipe },
            RateReduction::Proportional => Self::Proportional { flight, delivered: 0, sent: 0 },
        }
    }

    /// The data that may be in the network after an ACK, the first one of the recovery included. `window` is the
    /// reduced window (RFC 9937's ssthresh), and `pipe` the data in the network.
    pub fn limit(&mut self, window: u64, pipe: u64, segment: u64, progress: Progress) -> u64 {
        match self {
            Self::AtOnce => window,
            Self::Halving { ceiling } => {
                // At most one segment an ACK, and none while the last one sent has not been made up for.
                *ceiling = (*ceiling).min(pipe + segment);
                window.max(*ceiling)
            }
            Self::Proportional { flight, delivered, sent } => {
                if progress.newly == 0 {
                    return pipe;
                }
                *delivered += progress.newly;
                let mut allowance = if pipe > window {
                    // The product of two windows in bytes may take more than 64 bits. Rounded up to whole segments.
                    let per_segment = u128::from((*flight).max(1)) * u128::from(segment);
                    let segments = (u128::from(*delivered) * u128::from(window)).div_ceil(per_segment);
                    (segments as u64 * segment).saturating_sub(*sent)
                } else {
                    // PRR-CRB, and PRR-SSRB while the recovery makes progress.
                    let bound = delivered.saturating_sub(*sent).max(progress.newly);
                    let bound = if progress.is_safe { bound + segment } else { bound };
                    bound.min(window - pipe)
                };
                if *sent == 0 {
                    // The fast retransmit goes out in any case.
                    allowance = allowance.max(segment);
                }
                pipe + allowance
            }
        }
    }

    /// `bytes` were sent, and `pipe` are in the network since.
    pub fn note_sent(&mut self, bytes: u64, pipe: u64) {
        match self {
            Self::AtOnce => {}
            Self::Halving { ceiling } => *ceiling = (*ceiling).min(pipe.saturating_sub(bytes)),
            Self::Proportional { sent, .. } => *sent += bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One segment of 100 in flight is lost and already sent again; each ACK reports one more arrival. At which ACKs
    /// something is sent, and what is in the network in the end.
    fn sent_at(rule: RateReduction, window: u64, acks: u64) -> (alloc::vec::Vec<u64>, u64) {
        // The third SACK begins the recovery.
        let progress = Progress { newly: 1, is_safe: false };
        let mut reduction = Reduction::begin(rule, 98, 96);
        reduction.limit(window, 96, 1, progress);
        let mut pipe = 97;
        reduction.note_sent(1, pipe);
        let mut at = alloc::vec::Vec::new();
        for ack in 1..=acks {
            pipe -= 1;
            let limit = reduction.limit(window, pipe, 1, progress);
            while pipe < limit {
                pipe += 1;
                reduction.note_sent(1, pipe);
                at.push(ack);
            }
        }
        (at, pipe)
    }

    #[test]
    fn at_once_is_silent_until_the_window_is_reached() {
        let (at, pipe) = sent_at(RateReduction::AtOnce, 80, 96);
        assert_eq!(at[..3], [18, 19, 20]);
        assert_eq!(pipe, 80);
    }

    #[test]
    fn rate_halving_sends_at_each_second_ack_until_the_window_is_reached() {
        let (at, pipe) = sent_at(RateReduction::RateHalving, 80, 96);
        assert_eq!(at[..4], [2, 4, 6, 8]);
        // From 97 down to 80 takes 34 ACKs.
        assert_eq!(at[16..20], [34, 35, 36, 37]);
        assert_eq!(pipe, 80);
    }

    #[test]
    fn proportional_spreads_the_reduction_over_the_round_trip() {
        let (at, pipe) = sent_at(RateReduction::Proportional, 80, 96);
        // Four segments for five that arrive, the first retransmission being one of them.
        assert_eq!(at[..8], [1, 2, 3, 4, 6, 7, 8, 9]);
        assert!((77..=80).contains(&pipe), "{pipe}");
    }

    #[test]
    fn proportional_makes_up_for_a_burst_of_losses_one_for_one_or_by_one_more() {
        // Of 100 segments 60 are lost: 38 are in the network, and the window is 50. The fast retransmit goes out.
        let sacked = Progress { newly: 1, is_safe: false };
        let mut reduction = Reduction::begin(RateReduction::Proportional, 98, 38);
        assert_eq!(reduction.limit(50, 38, 1, sacked), 39);
        reduction.note_sent(1, 39);
        // One for one while more losses are reported, one more when the ACK number advances.
        assert_eq!(reduction.limit(50, 38, 1, sacked), 39);
        reduction.note_sent(1, 39);
        assert_eq!(reduction.limit(50, 38, 1, Progress { newly: 1, is_safe: true }), 40);
        // Never beyond the window.
        assert_eq!(reduction.limit(50, 49, 1, Progress { newly: 9, is_safe: true }), 50);
        // Nothing has arrived, nothing is sent.
        assert_eq!(reduction.limit(50, 30, 1, Progress { newly: 0, is_safe: false }), 30);
        // Windows whose product needs more than 64 bits.
        let large = 1 << 40;
        let mut reduction = Reduction::begin(RateReduction::Proportional, 2 * large, 2 * large);
        reduction.note_sent(1000, 2 * large);
        let progress = Progress { newly: 4000, is_safe: true };
        assert_eq!(reduction.limit(large, 2 * large - 4000, 1000, progress), 2 * large - 3000);
    }
}
