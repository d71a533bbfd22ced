//! ECN marks by the queue that a packet leaves behind, as the switches of data centers make them.

use forebay_units::QueueSize;

use crate::limit::check_probability;
use crate::{Backlog, Cx, MarkReason, Packet, ParameterError, require, uniform};

/// Marks packets that leave. The instantaneous length decides, without the packet: up to the lower threshold none is
/// marked, above the upper one each, and between them the probability rises in proportion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DepartureMarking {
    min: f64,
    max: f64,
    max_probability: f64,
    in_bytes: bool,
}

impl DepartureMarking {
    /// Marks between the thresholds `min` and `max`, at `max` with `max_probability`. Equal thresholds are a step.
    /// `field` names `max` in an error. A threshold above a `limit` of its unit would have no effect.
    pub fn new(
        (min, max): (QueueSize, QueueSize),
        max_probability: f64,
        limit: QueueSize,
        field: &'static str,
    ) -> Result<Self, ParameterError> {
        let (min, max, in_bytes, limit) = match (min, max, limit) {
            (QueueSize::Packets(min), QueueSize::Packets(max), QueueSize::Packets(limit)) => (min, max, false, limit),
            (QueueSize::Bytes(min), QueueSize::Bytes(max), QueueSize::Bytes(limit)) => (min, max, true, limit),
            (QueueSize::Packets(min), QueueSize::Packets(max), _) => (min, max, false, u64::MAX),
            (QueueSize::Bytes(min), QueueSize::Bytes(max), _) => (min, max, true, u64::MAX),
            _ => return Err(ParameterError { field, bound: "have the unit of the lower threshold" }),
        };
        require(min <= max, field, "be at least the lower threshold")?;
        require(max <= limit, field, "be at most `limit`")?;
        check_probability(max_probability, "max_probability")?;
        Ok(Self { min: min as f64, max: max as f64, max_probability, in_bytes })
    }

    /// The length that decides, of a queue with this `backlog`.
    fn length(&self, backlog: Backlog) -> f64 {
        (if self.in_bytes { backlog.bytes } else { backlog.packets }) as f64
    }

    /// The probability of a mark, if the queue behind the packet is `backlog`.
    pub fn probability(&self, backlog: Backlog) -> f64 {
        let length = self.length(backlog);
        if length > self.max {
            1.0
        } else if length > self.min {
            self.max_probability * (length - self.min) / (self.max - self.min)
        } else {
            0.0
        }
    }

    /// Marks `packet`, which leaves `backlog` behind, or not. One that is not ECN-capable stays as it is.
    pub fn mark<P: Packet>(&self, packet: &mut P, backlog: Backlog, cx: &mut Cx<'_, P>) {
        let probability = self.probability(backlog);
        if probability > 0.0 && packet.ecn().is_capable() && (probability >= 1.0 || uniform(cx.rng) < probability) {
            let reason = if self.length(backlog) > self.max { MarkReason::Forced } else { MarkReason::Early };
            packet.mark_ce();
            cx.sink.marked(packet, reason);
        }
    }
}
