//! Links: rate, delay, queue, and what happens to packets on the way.

use forebay_units::{Rate, Span};
use schemars::JsonSchema;

use super::{Impairments, LinkFraming, Outage, QueueSpec, RateTrace, ServicePeriod, SpanDistribution};

/// One direction of a link: the queue of its sending port, its rate and its delay.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Rate.
    pub rate: Rate,
    /// Propagation delay. A distribution is drawn once for each link.
    pub delay: SpanDistribution,
    /// The queue of the sending port. Default: drop-tail without limit.
    #[serde(default)]
    pub queue: Option<Box<QueueSpec>>,
    /// Periods in which the link has another rate or delay.
    #[serde(default)]
    pub service: Vec<ServicePeriod>,
    /// The rate over time, in place of `rate`, for which queues are built. Default: none.
    #[serde(default)]
    pub trace: Option<RateTrace>,
    /// Bytes that the link takes for a packet in addition to its own, by which `rate` counts: the name of a link layer,
    /// or a table. Default: none.
    #[serde(default)]
    pub framing: Option<LinkFraming>,
    /// Times in which the link is down. Default: none.
    #[serde(default)]
    pub down: Vec<Outage>,
    /// Loss, duplication, jitter and order of packets on the way.
    #[serde(default)]
    pub impairments: Impairments,
}

/// A full-duplex link between two nodes.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Name of the node at one end.
    pub from: String,
    /// Name of the node at the other end.
    pub to: String,
    /// Rate.
    pub rate: Rate,
    /// Propagation delay. A distribution is drawn once for each direction.
    pub delay: SpanDistribution,
    /// The queue of the sending port. Default: drop-tail without limit; at an Ethernet switch its `arbiter`. An adapter
    /// has none.
    #[serde(default)]
    pub queue: Option<Box<QueueSpec>>,
    /// Periods in which the link has another rate or delay. Between Ethernet switches their ports pace frames at this
    /// rate; an adapter has none.
    #[serde(default)]
    pub service: Vec<ServicePeriod>,
    /// The rate over time, in place of `rate`, for which queues are built. Default: none.
    #[serde(default)]
    pub trace: Option<RateTrace>,
    /// Bytes that the link takes for a packet in addition to its own, by which `rate` counts: the name of a link layer,
    /// or a table. Default: none.
    #[serde(default)]
    pub framing: Option<LinkFraming>,
    /// Times in which the link is down. Default: none.
    #[serde(default)]
    pub down: Vec<Outage>,
    /// Loss, duplication, jitter and order of packets on the way. An Ethernet has losses alone.
    #[serde(default)]
    pub impairments: Impairments,
    /// Length of the link for routing, in each direction; a route has the smallest sum.
    #[serde(default = "one_hop")]
    #[schemars(range(min = 1))]
    pub metric: u32,
    /// The direction from `to` to `from`. Default: the same rate, delay, queue, service, trace, outages
    /// and impairments.
    #[serde(default)]
    pub reverse: Option<LinkSpec>,
}

fn one_hop() -> u32 {
    1
}

impl LinkSpec {
    /// A link without a queue of its own and without impairments.
    #[must_use]
    pub fn of(rate: Rate, delay: SpanDistribution) -> Self {
        Self {
            rate,
            delay,
            queue: None,
            service: Vec::new(),
            trace: None,
            framing: None,
            down: Vec::new(),
            impairments: Impairments::default(),
        }
    }

    /// The highest rate that it ever has; `None` for opportunities, of which several may come at once.
    #[must_use]
    pub fn fastest(&self) -> Option<Rate> {
        match &self.trace {
            Some(RateTrace::Opportunities(_)) => None,
            Some(RateTrace::Steps(steps)) => steps.iter().filter_map(|step| step.rate.0).max(),
            Some(RateTrace::File(_)) | None => {
                Some(self.service.iter().filter_map(ServicePeriod::highest_rate).fold(self.rate, Rate::max))
            }
        }
    }

    /// The mean time from one end to the other while its delay is longest.
    #[must_use]
    pub fn longest_delay(&self) -> Span {
        let delays = self.service.iter().filter_map(|period| period.delay);
        delays.fold(self.delay.mean(), Span::max) + self.impairments.jitter.mean()
    }

    /// The shortest of its delays.
    #[must_use]
    pub fn least_delay(&self) -> Span {
        self.service.iter().filter_map(|period| period.delay).fold(self.delay.minimum(), Span::min)
    }

    /// The mean time from one end to the other: propagation and jitter.
    #[must_use]
    pub fn mean_delay(&self) -> Span {
        self.delay.mean() + self.impairments.jitter.mean()
    }

    /// The way back where none is described: the same rate, framing and delay, drop-tail without limit, no impairments.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self { framing: self.framing, ..Self::of(self.rate, self.delay) }
    }

    /// The way back of a link that is described for both directions: drop-tail without limit, the rest is the same.
    #[must_use]
    pub fn without_queue(&self) -> Self {
        Self { queue: None, ..self.clone() }
    }
}

impl GraphLink {
    /// The direction from `from` to `to`.
    #[must_use]
    pub fn forward(&self) -> LinkSpec {
        let Self { rate, delay, queue, service, trace, framing, down, impairments, .. } = self.clone();
        LinkSpec { rate, delay, queue, service, trace, framing, down, impairments }
    }

    /// The direction from `to` to `from`.
    #[must_use]
    pub fn backward(&self) -> LinkSpec {
        self.reverse.clone().unwrap_or_else(|| self.forward())
    }
}
