//! Drop-tail: one FIFO queue with a limit.
//!
//! # What it does
//! Lets a packet in while it fits, and drops it otherwise. The plainest queue there is, and the one that most of the
//! Internet runs on; full queues and losses that hit many flows at once are its marks.
//!
//! # Source
//! No paper owns it. RFC 7567, section 1, describes it and what is wrong with it.
//!
//! # Where we differ
//! A packet is dropped when `length + size > limit`, as in ns-3 and Linux. ns-2 drops when `length + 1 >= limit`, so
//! its queue of limit L holds L - 1 packets: to compare with ns-2, set the limit one lower. A byte limit counts each
//! packet's own bytes, not a mean size.
//!
//! # Cost
//! No state but its limit; O(1) a packet, and no draw.
//!
//! # Parameters
//! See [`DropTailConfig`].

use forebay_units::{QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::{Admission, Arrival, DropReason, Offer, ParameterError, Ticket, Verdict};

/// Parameters of drop-tail.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DropTailConfig {
    /// What the queue holds at most, in packets or bytes; the packet on the wire is not counted. Default: 1000 packets,
    /// as in Linux and ns-3.
    pub limit: QueueSize,
}

impl Default for DropTailConfig {
    fn default() -> Self {
        Self { limit: QueueSize::Packets(1000) }
    }
}

/// Drop-tail: lets in what fits.
#[derive(Clone, Debug)]
pub struct DropTail {
    limit: Limit,
}

impl DropTail {
    /// A drop-tail law. It needs neither the link's rate nor a hash; every discipline's constructor has this form.
    ///
    /// # Errors
    /// When the limit has no room for a packet.
    pub fn new(config: &DropTailConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        Ok(Self { limit: Limit::new(config.limit, "limit")? })
    }
}

impl Admission for DropTail {
    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn watches_departures(&self) -> bool {
        false
    }

    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        if self.limit.fits(offer.backlog, arrival.len_bytes) {
            Verdict::Enqueue(Ticket::default())
        } else {
            Verdict::Drop(DropReason::Overflow)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{LINK, Offers};

    fn admitted(limit: QueueSize, sizes: &[u32]) -> usize {
        let mut law = DropTail::new(&DropTailConfig { limit }, LINK, 0).unwrap();
        let mut offers = Offers::new();
        sizes.iter().filter(|size| offers.offer(&mut law, 1, **size) == Verdict::Enqueue(Ticket(0))).count()
    }

    #[test]
    fn three_past_the_limit_are_three_drops() {
        assert_eq!(admitted(QueueSize::Packets(500), &[1000; 503]), 500);
    }

    #[test]
    fn bytes_are_counted_exactly() {
        // 600 + 400 fill the queue to the byte; the next does not fit, and neither does one larger than the limit.
        assert_eq!(admitted(QueueSize::Bytes(1000), &[600, 400, 40]), 2);
        assert_eq!(admitted(QueueSize::Bytes(1000), &[1001]), 0);
    }
}
