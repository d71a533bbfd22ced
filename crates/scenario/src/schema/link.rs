//! Links: rate, delay, queue, and what happens to packets on the way.

use std::fmt;

use forebay_units::{Rate, Span};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};

use super::{QueueSpec, SpanDistribution};

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
    /// Periods in which the link has another rate.
    #[serde(default)]
    pub service: Vec<ServicePeriod>,
    /// Loss, duplication and jitter of packets on the way.
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
    /// Periods in which the link has another rate. Between Ethernet switches their ports pace frames at this rate; an
    /// adapter has none.
    #[serde(default)]
    pub service: Vec<ServicePeriod>,
    /// Loss, duplication and jitter of packets on the way. An Ethernet has losses alone.
    #[serde(default)]
    pub impairments: Impairments,
    /// Length of the link for routing, in each direction; a route has the smallest sum.
    #[serde(default = "one_hop")]
    #[schemars(range(min = 1))]
    pub metric: u32,
    /// The direction from `to` to `from`. Default: the same rate, delay, queue, service and impairments.
    #[serde(default)]
    pub reverse: Option<LinkSpec>,
}

/// A period in which a link has another rate.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServicePeriod {
    /// The rate. It may be "0 bps": a packet whose transmission has begun is sent when the rate is back.
    #[serde(deserialize_with = "rate_or_zero")]
    #[schemars(with = "Rate")]
    pub rate: Option<Rate>,
    /// Start.
    #[serde(default)]
    pub from: Span,
    /// End. Default: the end of the run.
    #[serde(default)]
    pub to: Option<Span>,
}

/// Loss, duplication and jitter of packets after their transmission. They meet data and acknowledgements alike, each
/// packet independently of others, but no PAUSE frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Impairments {
    /// Probability that a packet is lost. Below 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss: f64,
    /// Probability that a packet comes twice. Below 1. Each copy is lost or delayed by itself.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplication: f64,
    /// Additional delay, drawn for each packet. Default: none.
    pub jitter: SpanDistribution,
    /// Whether packets with a short delay overtake others, as behind netem. Otherwise a packet comes no earlier than
    /// those before it.
    pub reordering: bool,
}

fn one_hop() -> u32 {
    1
}

/// A rate; `None` for zero.
pub(super) fn rate_or_zero<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    struct RateText;
    impl Visitor<'_> for RateText {
        type Value = Option<Rate>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a rate with its unit in quotes, such as \"100 Mbps\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Option<Rate>, E> {
            Rate::parse_or_zero(text).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(RateText)
}

impl ServicePeriod {
    /// When it ends.
    #[must_use]
    pub fn until(&self) -> Span {
        self.to.unwrap_or(Span::MAX)
    }

    /// Whether two periods have a time in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.from < other.until() && other.from < self.until()
    }
}

impl Impairments {
    /// Whether it has jitter.
    #[must_use]
    pub fn have_jitter(&self) -> bool {
        self.jitter != SpanDistribution::default()
    }
}

impl LinkSpec {
    /// A link without a queue of its own and without impairments.
    #[must_use]
    pub fn of(rate: Rate, delay: SpanDistribution) -> Self {
        Self { rate, delay, queue: None, service: Vec::new(), impairments: Impairments::default() }
    }

    /// The mean time from one end to the other: propagation and jitter.
    #[must_use]
    pub fn mean_delay(&self) -> Span {
        self.delay.mean() + self.impairments.jitter.mean()
    }

    /// The way back where none is described: the same rate and delay, drop-tail without limit, no impairments.
    #[must_use]
    pub fn plain(&self) -> Self {
        Self::of(self.rate, self.delay)
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
        let Self { rate, delay, queue, service, impairments, .. } = self.clone();
        LinkSpec { rate, delay, queue, service, impairments }
    }

    /// The direction from `to` to `from`.
    #[must_use]
    pub fn backward(&self) -> LinkSpec {
        self.reverse.clone().unwrap_or_else(|| self.forward())
    }
}
