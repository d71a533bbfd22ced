//! Drop-tail: one FIFO queue with a limit.
//!
//! # What it does
//! Drop-tail admits a packet if it fits into the queue, and drops it otherwise. It is the simplest queue, and the most
//! common in the Internet. Full queues and losses that hit many flows at once are typical of it.
//!
//! # When to use it
//! Use it as the baseline of a comparison, and to model a router without queue management. The queue stays near its
//! limit under long TCP flows, and no flow is protected from another.
//!
//! # Example
//! ```toml
//! queue.drop_tail = { limit = "100 packets" }
//! ```
//!
//! `limit` is the only parameter: divided by the link's rate it is the longest delay. `forebay size-buffer` finds the
//! smallest limit that keeps a link busy.
//!
//! # Source
//! No single paper. RFC 7567, section 1, describes drop-tail and its problems.
//!
//! # Where we differ
//! A packet is dropped when `length + size > limit`, as in ns-3 and Linux. ns-2 drops when `length + 1 >= limit`, so
//! its queue of limit L holds L - 1 packets: to compare with ns-2, set the limit one lower. A byte limit counts each
//! packet's own bytes, not a mean size.
//!
//! # Cost
//! No state but its limit. O(1) a packet, and no random number.
//!
//! # Parameters
//! See [`DropTailConfig`].

use forebay_units::{QueueSize, Rate};

use crate::limit::Limit;
use crate::memory::inline_bytes;
use crate::{Admission, Arrival, DropReason, Offer, ParameterError, Ticket, Verdict};

parameters! {
    /// Parameters of drop-tail.
    pub struct DropTailConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets, as in
        /// Linux and ns-3.
        pub limit: QueueSize = QueueSize::Packets(1000);
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

    fn only_limit(&self) -> Option<Limit> {
        Some(self.limit)
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
