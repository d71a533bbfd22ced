//! How the sender gets from the old window to the reduced one while losses are mended with SACK.
//!
//! # What it does
//! A recovery reduces the window at one stroke, but the network still holds the old one. RFC 6675 falls silent until
//! enough of that has arrived and goes on at the full rate then. Rate-halving sends one segment for two that arrive
//! until what is in the network has come down to the window. Proportional rate reduction spreads the same reduction
//! evenly over the round trip. Both thin out what the next round trip sends, where RFC 6675 leaves a gap and a burst:
//! of what 49 BIC flows send, a router with a buffer of 10 or 20 packets then drops a fifth less.
//!
//! # Source
//! RFC 6675, section 5, step C. Rate-halving: Mathis, Semke & Mahdavi 1999 (`draft-mathis-tcp-ratehalving`), as Linux
//! 2.6 and ns-2 2.35 have it, down to what the window law leaves. RFC 6937, section 3, with the slow-start reduction
//! bound, as Linux has it since 3.2.
//!
//! # Where we differ
//! The first retransmission goes out whatever the rule says. For RFC 6937 it counts as sent, and the ACK that began the
//! recovery as the arrival of as much.
//!
//! # Parameters
//! `rate_reduction`.

use crate::RateReduction;

/// One recovery's way down, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reduction {
    /// Nothing but the window counts.
    AtOnce,
    /// Until the window is reached, no more than this may be in the network.
    Halving { ceiling: u64 },
    /// RFC 6937's `RecoverFS`, `prr_out`, and what had been delivered at the start and at the last ACK.
    Proportional { flight: u64, sent: u64, delivered_at_start: u64, delivered: u64 },
}

impl Reduction {
    /// A recovery begins, and its first retransmission of `sent` bytes is out: `flight` bytes were in flight by the
    /// cumulative ACK, `pipe` are in the network, and `delivered` is the running total of what has arrived.
    pub fn begin(rule: RateReduction, flight: u64, pipe: u64, sent: u64, delivered: u64) -> Self {
        match rule {
            RateReduction::AtOnce => Self::AtOnce,
            RateReduction::RateHalving => Self::Halving { ceiling: pipe.saturating_sub(sent) },
            RateReduction::Proportional => {
                let delivered_at_start = delivered.saturating_sub(sent);
                Self::Proportional { flight, sent, delivered_at_start, delivered }
            }
        }
    }

    /// At an ACK: how much may be in the network, where `window` is the reduced window.
    pub fn limit(&mut self, window: u64, pipe: u64, segment: u64, now_delivered: u64) -> u64 {
        match self {
            Self::AtOnce => window,
            Self::Halving { ceiling } => {
                // At most one segment an ACK, and none while the last one sent has not been made up for.
                *ceiling = (*ceiling).min(pipe + segment);
                window.max(*ceiling)
            }
            Self::Proportional { flight, sent, delivered_at_start, delivered } => {
                let newly = now_delivered - *delivered;
                *delivered = now_delivered;
                let delivered_here = now_delivered - *delivered_at_start;
                let allowance = if pipe > window {
                    // The product of two windows in bytes may take more than 64 bits.
                    let share =
                        (u128::from(delivered_here) * u128::from(window)).div_ceil(u128::from((*flight).max(1)));
                    (share as u64).saturating_sub(*sent)
                } else {
                    let bound = delivered_here.saturating_sub(*sent).max(newly) + segment;
                    bound.min(window - pipe)
                };
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

    /// One segment of 100 in flight is lost and already sent again; each ACK tells of one more arrival. At which ACKs
    /// something is sent, and what is in the network in the end.
    fn sent_at(rule: RateReduction, window: u64, acks: u64) -> (alloc::vec::Vec<u64>, u64) {
        let mut pipe = 97;
        let mut reduction = Reduction::begin(rule, 100, pipe, 1, 3);
        let mut at = alloc::vec::Vec::new();
        for ack in 1..=acks {
            pipe -= 1;
            let limit = reduction.limit(window, pipe, 1, 3 + ack);
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
        assert_eq!(at[..8], [1, 2, 3, 5, 6, 7, 8, 10]);
        assert!((77..=80).contains(&pipe), "{pipe}");
    }

    #[test]
    fn proportional_makes_up_for_a_burst_of_losses_by_one_segment_more_at_each_ack() {
        // Of 100 segments 60 are lost: 39 are in the network with the first sent again, and the window is 50.
        let mut reduction = Reduction::begin(RateReduction::Proportional, 100, 39, 1, 1);
        assert_eq!(reduction.limit(50, 38, 1, 2), 40);
        reduction.note_sent(2, 40);
        assert_eq!(reduction.limit(50, 39, 1, 3), 41);
        // Never beyond the window.
        assert_eq!(reduction.limit(50, 49, 1, 9), 50);
        // Windows whose product needs more than 64 bits.
        let large = 1 << 40;
        let mut reduction = Reduction::begin(RateReduction::Proportional, 2 * large, 2 * large, 0, 0);
        assert_eq!(reduction.limit(large, 2 * large - 1000, 1000, 1000), 2 * large - 500);
    }
}
