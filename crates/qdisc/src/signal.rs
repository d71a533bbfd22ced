//! The congestion signal for one packet.

use crate::{Arrival, DropReason, MarkReason, Rng, Ticket, Verdict, uniform};

/// The decision of an AQM on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Passes it on as it is.
    None,
    /// Marks it with CE.
    Mark,
    /// Drops it.
    Drop,
}

/// The verdict on a packet that fits, of a law that signals with this probability: a mark if the law may mark and the
/// packet is ECN-capable, else a drop.
pub(crate) fn early_verdict(probability: f64, ecn: bool, arrival: &Arrival, rng: &mut dyn Rng) -> Verdict {
    if probability > 0.0 && uniform(rng) < probability {
        if ecn && arrival.ecn.is_capable() {
            Verdict::Mark(Ticket::default(), MarkReason::Early)
        } else {
            Verdict::Drop(DropReason::Early)
        }
    } else {
        Verdict::Enqueue(Ticket::default())
    }
}
