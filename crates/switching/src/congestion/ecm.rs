//! ECM, Ethernet congestion management, the baseline BCN: queues signal to sources how far they are from their
//! set-point.
//!
//! # What it does
//! Every output queue has a set-point at which it should settle. It samples the data frames that join it. At each
//! sample it takes its offset (set-point less queue) and its growth since the last sample; the feedback is `offset -
//! weight * growth`, in bytes. Negative feedback goes to the source of the sampled frame. Positive feedback goes there
//! only if the frame carries the tag of this queue as the limit of its flow. The source limits each flow by itself. The
//! first negative feedback creates a rate limiter at the rate of the link and associates it with the queue that sent
//! it, as does every later one. Negative feedback cuts the rate in proportion to the rate, positive feedback of the
//! associated queue adds to it, and at the rate of the link the limiter is released.
//!
//! # When to use it
//! Use it as the baseline with which other schemes are compared, and to study the stability of a loop with feedback.
//! Queues settle at the set-point, but any split of the rates is a fixed point: use `e2cm`, `qcn` or `fecn` where
//! shares matter.
//!
//! # Example
//! ```toml
//! congestion_management.ecm.set_point = "75 KB"
//! congestion_management.ecm.sampling = { probability = 0.1 }
//! ```
//!
//! Set `set_point` first, to about a quarter of the memory of a port. More samples make the loop faster and cost more
//! messages.
//!
//! # Source
//! The setup slides of M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management (E2CM): Per
//! Path ECM, A Hybrid Proposal", IEEE 802.1, March 2007. BCN is by D. Bergamasco, "Data Center Ethernet Congestion
//! Management: Backward Congestion Notification", IEEE 802.1, May 2005.
//!
//! # Where we differ
//! - Gains are given by the effect of the strongest feedback, `(2 W + 1) Q_eq`: `decrease_gain` and `increase_gain`
//!   below. The slides write G_i0 as a product with `(2 W + 1) Q_eq`; only as a quotient does it have the right unit,
//!   and the sizes that they print. R_unit only scales G_i and is not a parameter of its own.
//! - The growth in the slides' continuous feedback has the wrong sign; we use that of their pseudo-code.
//! - A new limiter starts at the rate of the link. The slides do not say.
//! - Beyond the severe threshold the queue sends either BCN_MAX or BCN(0,0), not one or the other by two thresholds.
//! - The slides leave BCN(0,0) out. Here it stops the flow for a random time of up to `stop_time`, after which the flow
//!   continues at a tenth of the rate of the link. With each repetition to the same limiter the maximum time doubles,
//!   up to 1024 times, and the rate halves. Feedback that comes while the flow is stopped does not change its rate.
//!
//! # Cost
//! For a source a rate and the queue with which it is associated. A random number, or a countdown, for each frame at a
//! queue; a few operations for each sample and for each message.
//!
//! # Parameters
//! See [`EcmConfig`].

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::sampling::Sampling;
use super::{
    Arrival, CongestionPoint, CongestionPointId, Context, GaugeVisitor, Message, ReactionPoint, Reflector, Verdict,
};
use crate::{ParameterError, require, uniform};

/// Feedback is sent in 32 bits; the growth is up to twice the set-point.
const LARGEST_SET_POINT: Bytes = Bytes(1_000_000_000);

/// After BCN(0,0) a flow continues at this fraction of the link's rate.
const RESTART_FRACTION: f64 = 0.1;
/// The most doublings of the longest stop after BCN(0,0).
const MAX_DOUBLINGS: u32 = 10;

forebay_units::configuration! {
    /// Parameters of ECM.
    pub struct EcmConfig {
        /// `Q_eq`: length at which each output queue should settle. Default: 75 KB, a quarter of the memory of a port
        /// (slides).
        pub set_point: Bytes = Bytes(75_000);
        /// `W`: weight of the queue's growth in the feedback, relative to its offset. Default: 2 (slides).
        pub weight: f64 = 2.0;
        /// Decrease of a rate by the strongest negative feedback, as a fraction of that rate. `G_d` is this divided by
        /// `(2 weight + 1) set_point`, for each byte of feedback. Default: 0.5 (slides), so that `G_d` is 1.333e-6.
        pub decrease_gain: f64 = 0.5;
        /// Increase of a rate by the strongest positive feedback, as a fraction of the link's rate: `G_i / G_i0`. `G_i
        /// R_unit` is the link's rate times this divided by `(2 weight + 1) set_point`, for each byte of feedback.
        /// Default: 0.005 (slides), so that the largest step is 50 Mb/s on a link of 10 Gb/s; the slides also use 0.1
        /// and 0.25.
        pub increase_gain: f64 = 0.005;
        /// Sampling of frames. Default: each frame with a probability of 2 % (slides).
        pub sampling: Sampling = Sampling::default();
        /// Message of a queue to the source of a sampled frame when it is longer than `severe_threshold`. Default:
        /// `bcn_max` (slides).
        pub severe_message: SevereMessage = SevereMessage::default();
        /// Queue length above which congestion is severe. Default: 280 KB (slides).
        pub severe_threshold: Bytes = Bytes(280_000);
        /// `R_min`: minimum rate, below which feedback cuts no rate. Default: 1 Mb/s (slides).
        pub min_rate: Rate = Rate::megabits(1);
        /// Increase of limited flows without feedback. Default: none (slides).
        pub self_increase: Option<SelfIncrease> = None;
        /// Maximum time for which the first BCN(0,0) stops a flow. Default: 10 us (our choice).
        pub stop_time: Span = Span::from_microseconds(10);
    }
}

/// Message under severe congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SevereMessage {
    /// The strongest negative feedback.
    #[default]
    BcnMax,
    /// BCN(0,0): stop for a while.
    BcnZero,
    /// Normal feedback.
    None,
}

/// A rate that grows with time, also known as drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct SelfIncrease {
    /// `T_d`: interval between increases.
    pub period: Span,
    /// `R_d`: size of an increase.
    pub step: Rate,
}

impl EcmConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        check_set_point(self.set_point, "set_point")?;
        check_weight(self.weight, "weight")?;
        check_decrease_gain(self.decrease_gain, "decrease_gain")?;
        check_increase_gain(self.increase_gain, "increase_gain")?;
        self.sampling.check()?;
        require(self.severe_threshold > self.set_point, "severe_threshold", "be above `set_point`")?;
        require(self.min_rate < line, "min_rate", "be below the rate of the links")?;
        if let Some(SelfIncrease { period, .. }) = self.self_increase {
            require(period > Span::ZERO, "self_increase.period", "be more than zero")?;
        }
        require(self.stop_time > Span::ZERO, "stop_time", "be more than zero")
    }

    /// Queue lengths alone count: the port's rate does not.
    pub(crate) fn congestion_point(&self, id: CongestionPointId, _capacity: Rate) -> EcmCongestionPoint {
        EcmCongestionPoint {
            id,
            feedback: QueueFeedback::new(self.set_point, self.weight),
            severe_message: self.severe_message,
            severe_threshold_bytes: self.severe_threshold.0,
            last_queue_bytes: 0,
            last_feedback_bytes: 0.0,
        }
    }

    /// Nothing happens before the first feedback, whenever the flow begins.
    pub(crate) fn reaction_point(&self, line: Rate, _start: Time) -> EcmReactionPoint {
        let feedback = QueueFeedback::new(self.set_point, self.weight);
        EcmReactionPoint {
            feedback,
            gains: Gains::new(&feedback, self.decrease_gain, self.increase_gain, line),
            line_bps: line.bits_per_second() as f64,
            min_bps: self.min_rate.bits_per_second() as f64,
            self_increase: self.self_increase,
            stop_time: self.stop_time,
            limiter: None,
        }
    }

    pub(crate) fn reflector(&self, _line: Rate) -> Option<Box<dyn Reflector>> {
        None
    }
}

pub(super) fn check_set_point(set_point: Bytes, field: &'static str) -> Result<(), ParameterError> {
    let holds = set_point.0 > 0 && set_point <= LARGEST_SET_POINT;
    require(holds, field, "be at least 1 B and at most 1 GB")
}

pub(super) fn check_weight(weight: f64, field: &'static str) -> Result<(), ParameterError> {
    require((0.0..=1000.0).contains(&weight), field, "be between 0 and 1000")
}

pub(super) fn check_decrease_gain(gain: f64, field: &'static str) -> Result<(), ParameterError> {
    let bound = "be more than 0 and less than 1, so that feedback never takes the whole rate";
    require(gain > 0.0 && gain < 1.0, field, bound)
}

pub(super) fn check_increase_gain(gain: f64, field: &'static str) -> Result<(), ParameterError> {
    require(gain > 0.0 && gain <= 1.0, field, "be more than 0 and at most 1, the rate of the link")
}

/// `F_b`: the feedback of a queue from its length and its growth, in bytes. A queue of an output here; with E2CM also
/// that of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueFeedback {
    /// `Q_eq`.
    set_point_bytes: f64,
    /// `W`.
    weight: f64,
}

impl QueueFeedback {
    pub fn new(set_point: Bytes, weight: f64) -> Self {
        Self { set_point_bytes: set_point.0 as f64, weight }
    }

    /// Set-point less queue, limited to the set-point either way.
    pub fn offset(&self, queue_bytes: f64) -> f64 {
        (self.set_point_bytes - queue_bytes).clamp(-self.set_point_bytes, self.set_point_bytes)
    }

    /// The growth of the queue, limited to twice the set-point either way.
    pub fn delta(&self, growth_bytes: f64) -> f64 {
        growth_bytes.clamp(-2.0 * self.set_point_bytes, 2.0 * self.set_point_bytes)
    }

    pub fn of(&self, offset_bytes: f64, delta_bytes: f64) -> f64 {
        offset_bytes - self.weight * delta_bytes
    }

    /// The most negative there is.
    pub fn strongest(&self) -> f64 {
        -(2.0 * self.weight + 1.0) * self.set_point_bytes
    }
}

/// The effect of a byte of feedback on a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gains {
    /// `G_d`: the part of the rate that it takes off.
    pub decrease: f64,
    /// `G_i R_unit`: its increment, in bits per second.
    pub increase_bps: f64,
}

impl Gains {
    pub fn new(feedback: &QueueFeedback, decrease_gain: f64, increase_gain: f64, line: Rate) -> Self {
        let strongest_bytes = -feedback.strongest();
        Self {
            decrease: decrease_gain / strongest_bytes,
            increase_bps: increase_gain * line.bits_per_second() as f64 / strongest_bytes,
        }
    }
}

/// The part at an output queue.
#[derive(Clone, Debug)]
pub(crate) struct EcmCongestionPoint {
    id: CongestionPointId,
    feedback: QueueFeedback,
    severe_message: SevereMessage,
    severe_threshold_bytes: u64,
    /// The queue at the last sample.
    last_queue_bytes: u64,
    last_feedback_bytes: f64,
}

impl CongestionPoint for EcmCongestionPoint {
    /// Handles the frames that [`EcmConfig::sampling`] selects.
    fn arrived(&mut self, frame: Arrival, _context: &mut Context<'_>) -> Verdict {
        let queue_bytes = frame.queue_bytes;
        let offset = self.feedback.offset(queue_bytes as f64);
        let delta = self.feedback.delta(queue_bytes as f64 - self.last_queue_bytes as f64);
        self.last_queue_bytes = queue_bytes;
        self.last_feedback_bytes = self.feedback.of(offset, delta);
        if queue_bytes > self.severe_threshold_bytes {
            match self.severe_message {
                SevereMessage::BcnMax => {
                    self.last_feedback_bytes = self.feedback.strongest();
                    return Verdict::Tell(Message::BcnMax { from: self.id });
                }
                SevereMessage::BcnZero => return Verdict::Tell(Message::BcnZero { from: self.id }),
                SevereMessage::None => {}
            }
        }
        let is_limited_by_me = frame.limited_by == Some(self.id);
        if self.last_feedback_bytes < 0.0 || self.last_feedback_bytes > 0.0 && is_limited_by_me {
            // Both are whole numbers; `LARGEST_SET_POINT` keeps them within 32 bits.
            Verdict::Tell(Message::Bcn { offset_bytes: offset as i32, delta_bytes: delta as i32, from: self.id })
        } else {
            Verdict::Pass
        }
    }

    /// The feedback at the last sample, sent or not.
    fn gauges(&self, visit: &mut GaugeVisitor<'_>) {
        visit("feedback_bytes", self.last_feedback_bytes);
    }
}

/// The part at the source of a flow.
#[derive(Clone, Debug)]
pub(crate) struct EcmReactionPoint {
    feedback: QueueFeedback,
    gains: Gains,
    line_bps: f64,
    min_bps: f64,
    self_increase: Option<SelfIncrease>,
    stop_time: Span,
    limiter: Option<Limiter>,
}

/// A rate limiter, from the first negative feedback until it reaches the rate of the link.
#[derive(Clone, Copy, Debug)]
struct Limiter {
    rate_bps: f64,
    /// The queue that sent the last negative feedback.
    associated: Option<CongestionPointId>,
    /// The end of the stop by BCN(0,0); [`Time::NEVER`] without one.
    restart_at: Time,
    /// The number of stops by BCN(0,0).
    stops: u32,
    /// The time of the next increase without feedback.
    increase_at: Time,
}

impl Limiter {
    fn is_stopped(&self) -> bool {
        self.restart_at < Time::NEVER
    }
}

impl EcmReactionPoint {
    pub(super) fn is_limited(&self) -> bool {
        self.limiter.is_some()
    }

    /// The flow's limiter; a new one, with no association, if it has none.
    fn limiter(&mut self, now: Time) -> &mut Limiter {
        let increase_at = self.self_increase.map_or(Time::NEVER, |increase| now.saturating_add(increase.period));
        self.limiter.get_or_insert(Limiter {
            rate_bps: self.line_bps,
            associated: None,
            restart_at: Time::NEVER,
            stops: 0,
            increase_at,
        })
    }

    /// Applies negative feedback that no queue of an output has sent.
    pub(super) fn limit(&mut self, feedback_bytes: f64, gains: Gains, now: Time) {
        self.limiter(now);
        self.adjust(feedback_bytes, gains);
    }

    /// Additive increase, multiplicative decrease; slides, pseudo-code of the reaction point. Nothing without a
    /// limiter.
    pub(super) fn adjust(&mut self, feedback_bytes: f64, gains: Gains) {
        let Some(limiter) = &mut self.limiter else { return };
        if limiter.is_stopped() {
            return;
        }
        if feedback_bytes < 0.0 {
            limiter.rate_bps = (limiter.rate_bps * (1.0 + gains.decrease * feedback_bytes)).max(self.min_bps);
        } else {
            limiter.rate_bps += gains.increase_bps * feedback_bytes;
        }
        self.release_at_line_rate();
    }

    fn release_at_line_rate(&mut self) {
        self.limiter = self.limiter.filter(|limiter| limiter.rate_bps < self.line_bps);
    }

    /// Feedback of the queue `from`: it alone is heard with positive feedback if the last negative one was its own.
    fn react(&mut self, feedback_bytes: f64, from: CongestionPointId, now: Time) {
        if feedback_bytes < 0.0 {
            self.limiter(now).associated = Some(from);
            self.adjust(feedback_bytes, self.gains);
        } else if self.associated() == Some(from) {
            self.adjust(feedback_bytes, self.gains);
        }
    }

    /// BCN(0,0). More of them while the flow is stopped are about frames that it had sent before.
    fn stop(&mut self, from: CongestionPointId, context: &mut Context<'_>) {
        let (stop_time, line_bps, min_bps) = (self.stop_time, self.line_bps, self.min_bps);
        let limiter = self.limiter(context.now);
        limiter.associated = Some(from);
        if limiter.is_stopped() {
            return;
        }
        let factor = (1_u64 << limiter.stops.min(MAX_DOUBLINGS)) as f64;
        let stop = Span::from_seconds_f64(stop_time.seconds() * factor * uniform(context.rng));
        // `NEVER` is for no stop.
        limiter.restart_at = context.now.saturating_add(stop).min(Time::from_picoseconds(u64::MAX - 1));
        limiter.rate_bps = (line_bps * RESTART_FRACTION / factor).max(min_bps);
        limiter.stops += 1;
    }
}

impl ReactionPoint for EcmReactionPoint {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        match *message {
            Message::Bcn { offset_bytes, delta_bytes, from } => {
                self.react(self.feedback.of(f64::from(offset_bytes), f64::from(delta_bytes)), from, context.now);
            }
            Message::BcnMax { from } => self.react(self.feedback.strongest(), from, context.now),
            Message::BcnZero { from } => self.stop(from, context),
            // Those of other schemes, and of E2CM's own.
            _ => {}
        }
    }

    fn poll_at(&self) -> Time {
        self.limiter.map_or(Time::NEVER, |limiter| limiter.restart_at.min(limiter.increase_at))
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        let limiter = self.limiter.as_mut()?;
        if limiter.restart_at <= context.now {
            limiter.restart_at = Time::NEVER;
        }
        if let Some(SelfIncrease { period, step }) = self.self_increase
            && limiter.increase_at <= context.now
        {
            limiter.increase_at = context.now.saturating_add(period);
            if !limiter.is_stopped() {
                limiter.rate_bps += step.bits_per_second() as f64;
                self.release_at_line_rate();
            }
        }
        None
    }

    fn rate_bps(&self) -> Option<f64> {
        self.limiter.map(|limiter| if limiter.is_stopped() { 0.0 } else { limiter.rate_bps })
    }

    fn associated(&self) -> Option<CongestionPointId> {
        self.limiter.and_then(|limiter| limiter.associated)
    }
}

#[cfg(test)]
#[path = "ecm_tests.rs"]
pub(super) mod tests;
