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
//! - `preset = "linux"` selects the rules of Linux's `sch_pie` where they differ. With a delay above 250 ms the
//!   probability rises by 2 % more a tick. On an empty queue it decays by 1/64 a tick, not by 2 %; with packets queued
//!   it does not. The burst allowance is counted down by the time between departures, not by ticks. A packet is spared
//!   for the delay of the last departure, not that of the last tick, and with less than two packets queued, not with
//!   just two. Drops are spread out (`derandomize`), and the sum restarts after a mark only if that was drawn.
//! - The burst allowance follows RFC 8033, section 4.4. ns-3 grants it only after the first packet, holds the
//!   probability at 0 meanwhile and renews it after 1.5 s of quiet.
//! - Without `linux` the sum of `derandomize` restarts at 0 after a mark as well as after a drop.
//! - Linux starts its timer half a second late, rounds its period to ticks of its clock, and has probabilities of 2^-56
//!   and times of 64 ns. These are not copied, nor is its estimate from the departure rate.
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
        pie preset = PiePreset::Rfc, "`rfc`";
        queue limit = QueueSize::Packets(1000), "1000 packets (Linux)";
        pie target = Span::from_milliseconds(15), "15 ms (RFC 8033, section 4.2)";
        pie update_interval = Span::from_milliseconds(15), "15 ms (RFC 8033, section 4.2)";
        pie alpha = 0.125, "0.125 (RFC 8033, section 4.2)";
        pie beta = 1.25, "1.25 (RFC 8033, section 4.2)";
        pie max_burst = Span::from_milliseconds(150), "150 ms (RFC 8033, section 4.4)";
        pie mean_packet_size = Bytes(1500), "1500 B, an Ethernet's MTU";
        pie byte_mode = false, "no";
        pie derandomize = None, "no (linux: yes)";
        pie cap_adjustment = true, "yes";
        /// Delay at which PIE becomes active; until then nothing is dropped early and the probability does not change.
        /// PIE becomes inactive when the probability is 0 and the delay is below half of the target, as in ns-3 (RFC
        /// 8033, section 5.3, uses a third of the buffer instead of the delay). Default: always active.
        pub active_threshold: Option<Span> = None;
        pie ecn = false, "no";
        pie mark_threshold = 0.1, "0.1 (RFC 8033, section 5.1)";
    }
}

/// Source of the rules where implementations differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum PiePreset {
    /// RFC 8033.
    #[default]
    Rfc,
    /// Linux's `sch_pie`.
    Linux,
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
        self.queue.catch_up(&self.law, offer.now, offer.backlog.packets == 0);
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
        self.queue.catch_up(&self.law, now, false);
        let sojourn_time = self.came_at.pop_front().map_or(Span::ZERO, |came_at| now.since(came_at));
        self.queue.departed(&self.law, sojourn_time, backlog.packets == 0, now);
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

#[cfg(test)]
mod linux_tests;
