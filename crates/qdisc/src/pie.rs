//! PIE, proportional integral controller enhanced: drops on arrival with a probability steered by the queueing delay.
//!
//! # What it does
//! Every 15 ms a controller compares the queueing delay with its target and adjusts the drop probability: up while the
//! delay is above the target or growing, down while it is below or shrinking. The smaller the probability, the smaller
//! the steps. Arriving packets are dropped or marked with that probability. Short bursts after a quiet time pass
//! unharmed. PIE holds the delay at any link rate and does not distinguish flows.
//!
//! # When to use it
//! Use it to hold the delay near a target with decisions on arrival only, as cable modems do. It does not hold back a
//! flow that does not respond, which can take most of the link: use `fq_codel` there.
//!
//! # Example
//! ```toml
//! queue.pie = { limit = "1000 packets", target = "15 ms", ecn = true }
//! ```
//!
//! Set `target` first. `limit` should be several times what the link sends in that time, so that bursts fit. `ecn =
//! true` marks ECN-capable packets instead of dropping them, up to the probability `mark_threshold`.
//!
//! # Source
//! R. Pan, P. Natarajan, F. Baker and G. White, "Proportional Integral Controller Enhanced (PIE): A Lightweight Control
//! Scheme to Address the Bufferbloat Problem", RFC 8033, 2017.
//!
//! # Where we differ
//! - The queueing delay is that of the last packet that left, and 0 once the queue is empty (RFC 8033, section 4.3).
//!   The estimate from the departure rate (section 5.2) is not offered.
//! - The ticks of the controller are at whole multiples of its period since the start of the run. They are made up for
//!   when a packet arrives or leaves, with the values known at each tick; a tick at the same time comes first.
//! - The probability and its steps are whole multiples of 2^-52, so that any number of equal steps may be taken at once
//!   with exactly the same result.
//! - The burst allowance follows RFC 8033, section 4.4. ns-3 grants it only after the first packet, holds the
//!   probability at 0 meanwhile and renews it after 1.5 s of quiet. Linux counts it down by departures.
//! - Linux's additions (a faster rise above 250 ms of delay, another decay) are not offered.
//! - The accumulated probability of `derandomize` restarts at 0 after a mark as well as after a drop.
//!
//! # Cost
//! About 200 bytes, and 8 bytes for the arrival time of each packet queued. O(1) a packet, and at most one random
//! number. Missed ticks cost about as much as 40 of them at most, or 2000 on an empty queue, where the probability
//! decays, however long the idle period was.
//!
//! # Parameters
//! See [`PieConfig`].

use alloc::collections::VecDeque;

use forebay_units::{Bytes, QueueSize, Rate};

use crate::limit::{Limit, check_probability};
use crate::memory::inline_bytes;
use crate::require;
use crate::signal::Signal;
use crate::{Admission, Arrival, Backlog, DropReason, MarkReason, Offer, ParameterError, Span, Ticket, Time, Verdict};

mod aqm;
mod controller;

pub(crate) use aqm::{PieLaw, PieState};

parameters! {
    /// Parameters of PIE.
    pub struct PieConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 1000 packets (Linux).
        pub limit: QueueSize = QueueSize::Packets(1000);
        /// QDELAY_REF: the target of the queueing delay. Default: 15 ms (RFC 8033, section 4.2).
        pub target: Span = Span::from_milliseconds(15);
        /// T_UPDATE: period of the controller. Default: 15 ms (RFC 8033, section 4.2).
        pub update_interval: Span = Span::from_milliseconds(15);
        /// Step of the probability at each tick for each second of delay above the target, at a probability of 10 % or
        /// more. Default: 0.125 (RFC 8033, section 4.2).
        pub alpha: f64 = 0.125;
        /// Step of the probability at each tick for each second by which the delay has grown, at a probability of 10 %
        /// or more. Default: 1.25 (RFC 8033, section 4.2).
        pub beta: f64 = 1.25;
        /// MAX_BURST: time for which nothing is dropped early after a quiet time. Default: 150 ms (RFC 8033, section
        /// 4.4).
        pub max_burst: Span = Span::from_milliseconds(150);
        /// MEAN_PKTSIZE: nothing is dropped early with at most two such packets queued; also the reference of
        /// `byte_mode`. Default: 1500 B, an Ethernet's MTU.
        pub mean_packet_size: Bytes = Bytes(1500);
        /// Whether a packet's drop probability grows in proportion to its size divided by `mean_packet_size`. Default:
        /// no.
        pub byte_mode: bool = false;
        /// Whether drops are spread out: none until the probabilities of the packets since the last one add up to 0.85,
        /// and one for certain when they add up to 8.5 (RFC 8033, section 5.4). Default: no.
        pub derandomize: bool = false;
        /// Whether the probability rises by no more than 2 % a tick once it is at 10 % (RFC 8033, section 5.5).
        /// Default: yes.
        pub cap_adjustment: bool = true;
        /// Delay at which PIE becomes active; until then nothing is dropped early and the probability does not change.
        /// PIE becomes inactive when the probability is 0 and the delay is below half of the target, as in ns-3 (RFC
        /// 8033, section 5.3, uses a third of the buffer instead of the delay). Default: always active.
        pub active_threshold: Option<Span> = None;
        /// Whether ECN-capable packets are marked instead of dropped early (RFC 8033, section 5.1). Default: no.
        pub ecn: bool = false;
        /// `mark_ecnth`: probability above which ECN-capable packets are dropped as well. Default: 0.1 (RFC 8033,
        /// section 5.1).
        pub mark_threshold: f64 = 0.1;
    }
}

/// The largest gain of the controller that is accepted: far beyond any that is stable.
const MAX_GAIN: f64 = 1000.0;

impl PieConfig {
    /// Checks every field but the limit.
    fn check(&self) -> Result<(), ParameterError> {
        require(self.target > Span::ZERO, "target", "be more than 0")?;
        require(self.update_interval > Span::ZERO, "update_interval", "be more than 0")?;
        require((0.0..=MAX_GAIN).contains(&self.alpha), "alpha", "be between 0 and 1000")?;
        require((0.0..=MAX_GAIN).contains(&self.beta), "beta", "be between 0 and 1000")?;
        require(self.mean_packet_size.0 > 0, "mean_packet_size", "be at least 1 B")?;
        check_probability(self.mark_threshold, "mark_threshold")
    }
}

/// PIE: proportional integral controller enhanced.
#[derive(Clone, Debug)]
pub struct Pie {
    limit: Limit,
    law: PieLaw,
    queue: PieState,
    /// When the packets that are queued came, in their order.
    came_at: VecDeque<Time>,
}

impl Pie {
    /// A PIE law. Neither the link's rate nor the salt matters.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &PieConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let limit = Limit::new(config.limit, "limit")?;
        let law = PieLaw::new(config)?;
        Ok(Self { limit, law, queue: PieState::new(&law), came_at: VecDeque::new() })
    }

    /// The drop probability, as of the last packet that came or went.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.queue.state.probability
    }
}

impl Admission for Pie {
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict {
        self.queue.catch_up(&self.law, offer.now);
        if !self.limit.fits(offer.backlog, arrival.len_bytes) {
            self.queue.overflowed();
            return Verdict::Drop(DropReason::Overflow);
        }
        let signal = self.queue.signal(&self.law, arrival.len_bytes, arrival.ecn, offer.backlog.bytes, offer.rng);
        if signal == Signal::Drop {
            return Verdict::Drop(DropReason::Early);
        }
        self.came_at.push_back(offer.now);
        match signal {
            Signal::Mark => Verdict::Mark(Ticket::default(), MarkReason::Early),
            _ => Verdict::Enqueue(Ticket::default()),
        }
    }

    fn release(&mut self, _ticket: Ticket, _len_bytes: u32, backlog: Backlog, now: Time) {
        self.queue.catch_up(&self.law, now);
        let sojourn_time = self.came_at.pop_front().map_or(Span::ZERO, |came_at| now.since(came_at));
        self.queue.departed(&self.law, sojourn_time, backlog.packets == 0);
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + (self.came_at.capacity() * size_of::<Time>()) as u64
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("p_drop", self.queue.state.probability);
        visit("queueing_delay_s", self.queue.delay.seconds());
        visit("burst_allowance_s", self.queue.state.burst_allowance.seconds());
        visit("active", f64::from(u8::from(self.queue.active)));
    }
}

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
