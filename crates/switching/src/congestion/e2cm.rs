//! E2CM, extended Ethernet congestion management: ECM with probes that measure the queued data of each limited flow.
//!
//! # What it does
//! E2CM includes all of ECM, unchanged. In addition, a flow with a rate limiter sends a probe after every
//! `probe_interval` of its data. Probes travel with the data and wait in the same queues, including the destination's
//! buffer. The destination answers with the latency of the probe and with the flow's throughput since its last probe.
//! The source keeps the minimum latency as the time of flight. The rest of a latency is queueing delay. By Little's law
//! its product with the throughput is the number of bytes of the flow that wait on the whole path. This queue of the
//! flow has a set-point of its own, and moves the rate by the same law as the queues of the outputs do. One limiter
//! serves both, and is never associated with a probe.
//!
//! Where a flow's own queue settles, its rate times the queueing delay of its path equals its set-point: rates are
//! proportionally fair, weighted by the set-points.
//!
//! # When to use it
//! Use it if the rates of ECM must become fair, also over several congested switches. It needs probes and an answer
//! from each destination. Rates are proportionally fair: a flow over many congested ports gets less, unless its
//! `set_point` is raised.
//!
//! # Example
//! ```toml
//! congestion_management.e2cm.flow_set_point = "15 KB"
//! congestion_management.e2cm.probe_interval = "75 KB"
//! ```
//!
//! Set `flow_set_point` first: N flows leave N times as much in the queue. A shorter `probe_interval` converges faster
//! and sends more control frames.
//!
//! # Source
//! M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management (E2CM): Per Path ECM, A Hybrid
//! Proposal", IEEE 802.1, March 2007.
//!
//! # Where we differ
//! - Gains are given by the effect of the strongest feedback, as with ECM. The slides normalise the flow's gains by the
//!   set-point of ECM, which is five times the flow's: their 0.025 G_i0 is a `flow_increase_gain` of 0.005, their 2.5 a
//!   `flow_decrease_gain` of 0.5. Applied to the flow's own set-point, 2.5 would make rates negative. A flow with
//!   another set-point has gains in proportion, as the slides remark on theirs.
//! - The first report after a limiter was created counts only for the time of flight: its throughput, if there is one,
//!   is that of a time without probes. The same applies to reports that arrive after the limiter was released.
//! - The time of flight outlives the limiter. A path that was never empty makes it too long and the flow's queue seem
//!   too short, as with TCP Vegas.
//!
//! # Cost
//! The state of ECM, and at the destination the bytes and the time of the last probe of each flow. In addition two
//! control frames for each `probe_interval` of a limited flow, and a countdown for each of its frames.
//!
//! # Parameters
//! See [`E2cmConfig`].

use alloc::boxed::Box;

use forebay_units::{Bytes, Rate, Span, Time};

use super::ecm::{
    EcmConfig, EcmCongestionPoint, EcmReactionPoint, Gains, QueueFeedback, check_decrease_gain, check_increase_gain,
    check_set_point, check_weight,
};
use super::{CongestionPointId, Context, Message, ReactionPoint, Reflector};
use crate::{ParameterError, require};

forebay_units::configuration! {
    /// Parameters of E2CM.
    pub struct E2cmConfig {
        /// Parameters of the output queues and of the rate limiter. Default: those of ECM (slides).
        pub ecm: EcmConfig = EcmConfig::default();
        /// `Q_eq,flow`: amount of a flow that should wait on its path. Default: 15 KB (slides).
        pub flow_set_point: Bytes = Bytes(15_000);
        /// `W` of the flow's queue. Default: 2 (slides).
        pub flow_weight: f64 = 2.0;
        /// Decrease of a rate by the strongest negative feedback of a probe, as a fraction of it. `G_d,flow` is this
        /// divided by `(2 flow_weight + 1) flow_set_point`, for each byte of feedback. Default: 0.5 (slides: 2.5, by
        /// ECM's set-point).
        pub flow_decrease_gain: f64 = 0.5;
        /// Increase of a rate by the strongest positive feedback of a probe, as a fraction of the link's rate.
        /// `G_i,flow R_unit` is the link's rate times this divided by `(2 flow_weight + 1) flow_set_point`, for each
        /// byte of feedback. Default: 0.005 (slides: 0.025, by ECM's set-point; they also use 0.25, which is 0.05
        /// here).
        pub flow_increase_gain: f64 = 0.005;
        /// `Q_max,flow`: queue of the flow above which feedback is strongest. Default: 56 KB (slides).
        pub flow_severe_threshold: Bytes = Bytes(56_000);
        /// Amount of data that a flow sends between two probes. Default: 75 KB (slides; with a sampling probability of
        /// 10 %, 15 KB).
        pub probe_interval: Bytes = Bytes(75_000);
        /// Whether flows without a limiter send probes as well, whose negative feedback then creates a limiter.
        /// Default: no (slides: probing is triggered by BCN).
        pub autonomous_probes: bool = false;
    }
}

impl E2cmConfig {
    pub(crate) fn check(&self, line: Rate) -> Result<(), ParameterError> {
        self.ecm.check(line).map_err(in_ecm)?;
        check_set_point(self.flow_set_point, "flow_set_point")?;
        check_weight(self.flow_weight, "flow_weight")?;
        check_decrease_gain(self.flow_decrease_gain, "flow_decrease_gain")?;
        check_increase_gain(self.flow_increase_gain, "flow_increase_gain")?;
        require(
            self.flow_severe_threshold > self.flow_set_point,
            "flow_severe_threshold",
            "be above `flow_set_point`",
        )?;
        require(self.probe_interval.0 > 0, "probe_interval", "be at least 1 B")
    }

    pub(crate) fn congestion_point(&self, id: CongestionPointId, capacity: Rate) -> EcmCongestionPoint {
        self.ecm.congestion_point(id, capacity)
    }

    pub(crate) fn reaction_point(&self, line: Rate, start: Time) -> E2cmReactionPoint {
        let feedback = QueueFeedback::new(self.flow_set_point, self.flow_weight);
        E2cmReactionPoint {
            ecm: self.ecm.reaction_point(line, start),
            feedback,
            gains: Gains::new(&feedback, self.flow_decrease_gain, self.flow_increase_gain, line),
            severe_threshold_bytes: self.flow_severe_threshold.0 as f64,
            probe_interval_bytes: self.probe_interval.0,
            autonomous_probes: self.autonomous_probes,
            flight_time: None,
            last_queue_bytes: 0.0,
            sent_bytes: 0,
            awaits_first_report: true,
        }
    }

    pub(crate) fn reflector(&self, _line: Rate) -> Option<Box<dyn Reflector>> {
        Some(Box::new(E2cmReflector { last_probe: None, delivered_bytes: 0 }))
    }
}

/// An error about a parameter of ECM, with the name that the parameter has here.
fn in_ecm(error: ParameterError) -> ParameterError {
    let field = match error.field {
        "set_point" => "ecm.set_point",
        "weight" => "ecm.weight",
        "decrease_gain" => "ecm.decrease_gain",
        "increase_gain" => "ecm.increase_gain",
        "sampling.probability" => "ecm.sampling.probability",
        "sampling.interval.bytes" => "ecm.sampling.interval.bytes",
        "sampling.interval.jitter" => "ecm.sampling.interval.jitter",
        "severe_threshold" => "ecm.severe_threshold",
        "min_rate" => "ecm.min_rate",
        "self_increase.period" => "ecm.self_increase.period",
        "stop_time" => "ecm.stop_time",
        other => other,
    };
    ParameterError { field, ..error }
}

/// The part at the source of a flow: ECM's, and what sends and reads the probes.
#[derive(Clone, Debug)]
pub(crate) struct E2cmReactionPoint {
    ecm: EcmReactionPoint,
    feedback: QueueFeedback,
    gains: Gains,
    severe_threshold_bytes: f64,
    probe_interval_bytes: u64,
    autonomous_probes: bool,

    /// `L_0`: the least latency of all probes of the flow.
    flight_time: Option<Span>,
    /// The flow's queue at the last report.
    last_queue_bytes: f64,
    /// The bytes sent since the last probe.
    sent_bytes: u64,
    /// Whether no report has come since probing began.
    awaits_first_report: bool,
}

impl E2cmReactionPoint {
    fn is_probing(&self) -> bool {
        self.autonomous_probes || self.ecm.is_limited()
    }

    fn begin_probing(&mut self) {
        self.last_queue_bytes = 0.0;
        self.sent_bytes = 0;
        self.awaits_first_report = true;
    }

    /// A probe has come back: slides, pseudo-code of the reaction point.
    fn report(&mut self, latency: Span, throughput: Option<f64>, now: Time) {
        let flight_time = self.flight_time.map_or(latency, |least| least.min(latency));
        self.flight_time = Some(flight_time);
        if !self.is_probing() || core::mem::take(&mut self.awaits_first_report) {
            return;
        }
        let Some(throughput) = throughput else { return };
        let queue_bytes = throughput * latency.saturating_sub(flight_time).seconds();
        let feedback_bytes = if queue_bytes > self.severe_threshold_bytes {
            self.feedback.strongest()
        } else {
            let delta = self.feedback.delta(queue_bytes - self.last_queue_bytes);
            self.feedback.of(self.feedback.offset(queue_bytes), delta)
        };
        self.last_queue_bytes = queue_bytes;
        if feedback_bytes < 0.0 {
            self.ecm.limit(feedback_bytes, self.gains, now);
        } else {
            self.ecm.adjust(feedback_bytes, self.gains);
        }
    }
}

impl ReactionPoint for E2cmReactionPoint {
    fn receive(&mut self, message: &Message, context: &mut Context<'_>) {
        if let Message::ProbeReport { latency, throughput } = *message {
            self.report(latency, throughput, context.now);
            return;
        }
        let was_probing = self.is_probing();
        self.ecm.receive(message, context);
        if !was_probing && self.is_probing() {
            self.begin_probing();
        }
    }

    fn sent(&mut self, sent_bytes: u64, context: &mut Context<'_>) -> Option<Message> {
        if !self.is_probing() {
            return None;
        }
        self.sent_bytes += sent_bytes;
        if self.sent_bytes < self.probe_interval_bytes {
            return None;
        }
        self.sent_bytes = 0;
        Some(Message::Probe { sent: context.now })
    }

    fn byte_counter(&self) -> u64 {
        if self.is_probing() { self.probe_interval_bytes - 1 - self.sent_bytes } else { u64::MAX }
    }

    fn poll_at(&self) -> Time {
        self.ecm.poll_at()
    }

    fn expire(&mut self, context: &mut Context<'_>) -> Option<Message> {
        self.ecm.expire(context)
    }

    fn rate_bps(&self) -> Option<f64> {
        self.ecm.rate_bps()
    }

    fn associated(&self) -> Option<CongestionPointId> {
        self.ecm.associated()
    }
}

/// The part at the destination of a flow.
#[derive(Clone, Debug)]
struct E2cmReflector {
    last_probe: Option<Time>,
    /// The flow's count at the last probe.
    delivered_bytes: u64,
}

impl Reflector for E2cmReflector {
    fn reflect(&mut self, message: &Message, delivered_bytes: u64, context: &mut Context<'_>) -> Option<Message> {
        let Message::Probe { sent } = *message else { return None };
        let now = context.now;
        let received_bytes = delivered_bytes - core::mem::replace(&mut self.delivered_bytes, delivered_bytes);
        let elapsed = self.last_probe.map(|last| now.since(last)).filter(|&elapsed| elapsed > Span::ZERO);
        let throughput = elapsed.map(|elapsed| received_bytes as f64 / elapsed.seconds());
        self.last_probe = Some(now);
        Some(Message::ProbeReport { latency: now.since(sent), throughput })
    }
}

#[cfg(test)]
#[path = "e2cm_tests.rs"]
mod tests;
