//! Loss, duplication, jitter and order of packets after their transmission.

use std::borrow::Cow;

use forebay_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};

use super::SpanDistribution;
use super::or_table::{OrTable, schema_with};

/// Loss, duplication, jitter and order of packets after their transmission. They meet data and acknowledgements alike,
/// but no PAUSE frame.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Impairments {
    /// Which packets are lost: a probability below 1, or a model. Default: none.
    pub loss: LossModel,
    /// Packets of flows that are lost whatever the loss model is. Default: none.
    pub lose: Vec<LostPackets>,
    /// Probability that a packet comes twice. Below 1. Each copy is lost or delayed by itself.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub duplication: f64,
    /// Most packets on their way between transmission and arrival, as netem's `limit`; a further one is lost. At least
    /// 1. Default: none.
    #[schemars(range(min = 1))]
    pub limit: Option<u64>,
    /// Additional delay, drawn for each packet. Default: none.
    pub jitter: SpanDistribution,
    /// How much each draw of a uniform `jitter` depends on the one before, from 0 to 1: x = (1 - c) u + c x', as in
    /// netem. Default: 0, not at all.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub jitter_correlation: f64,
    /// Whether packets with a short delay overtake others, as behind netem. Otherwise a packet comes no earlier than
    /// those before it. With `{ probability = … }` some packets have no jitter at all.
    pub reordering: Reordering,
    /// Packets arrive together, in slots, as with netem's `slot`. Default: none.
    pub slots: Option<Slots>,
}

/// Which packets are lost at random: 0.01, { gilbert_elliott = { to_bad = 0.01, to_good = 0.25 } }.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// Each with the same probability, whatever happened before.
    Probability(f64),
    /// By one of the models.
    Drawn(DrawnLoss),
}

/// A model of loss.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DrawnLoss {
    /// Each draw depends on the one before, as in netem's `loss random`.
    Correlated(CorrelatedLoss),
    /// Two states (Gilbert 1960, Elliott 1963).
    GilbertElliott(GilbertElliott),
    /// Four states, netem's `loss state`.
    FourState(FourState),
}

/// Losses of which each draw depends on the one before: x = (1 - c) u + c x'. They are rarer than `probability`,
/// because such a sum is seldom near 0; to state a burst length, use the other models.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CorrelatedLoss {
    /// A packet is lost if the draw is below this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// c, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub correlation: f64,
}

/// The chain of Gilbert and Elliott. The share of lost packets is (`loss_in_good` r + `loss_in_bad` p) / (p + r), where
/// p is `to_bad` and r is `to_good`. By default a burst has 1 / r packets.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that the state becomes bad, for each packet (netem's p).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_bad: f64,
    /// Probability that it becomes good again, for each packet (netem's r). Above 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_good: f64,
    /// Probability of loss in the bad state (netem's 1 - h). Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_in_bad: f64,
    /// Probability of loss in the good state (netem's 1 - k). Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_in_good: f64,
}

/// A chain of four states, for each packet (Salsano et al. 2012): received outside of bursts (1), received within a
/// burst of losses (2), lost within a burst (3), lost alone (4).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FourState {
    /// Probability that a burst of losses begins.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub p13: f64,
    /// Probability that a burst ends after a loss. Above 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub p31: f64,
    /// Probability that packets are received within a burst. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub p32: f64,
    /// Probability that losses go on. Above 0. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub p23: f64,
    /// Probability that a packet alone is lost. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub p14: f64,
}

/// Packets of a flow, by their numbers on this link from 1 on, that are lost.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LostPackets {
    /// Name of the flow, or of a group: each of its flows loses them.
    pub flow: String,
    /// Numbers of packets of its data, retransmissions included. Default: none.
    #[serde(default)]
    pub packets: Vec<u64>,
    /// Numbers of its acknowledgements. Default: none.
    #[serde(default)]
    pub acks: Vec<u64>,
}

/// Which packets overtake others: true, or { probability = 0.25, gap = 5 }.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reordering {
    /// None, or those with a short delay.
    ByDelay(bool),
    /// Those with a short delay, and some that have no jitter.
    Early(EarlyPackets),
}

/// Packets without jitter, by netem's rule: after `gap` - 1 other packets, each packet is one with this probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlyPackets {
    /// Probability that a packet has no jitter.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub probability: f64,
    /// How much each draw depends on the one before, from 0 to 1. Default: 0.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub correlation: f64,
    /// At least 1. Default: 1.
    #[serde(default = "every_packet")]
    #[schemars(range(min = 1))]
    pub gap: u32,
}

/// Times at which packets that are ready arrive.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// Shortest time to the next slot.
    pub min: Span,
    /// Longest time to the next slot; each is drawn between the two. Default: `min`.
    #[serde(default)]
    pub max: Option<Span>,
    /// Most packets of a slot. At least 1. Default: no bound.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub packets: Option<u64>,
    /// Bytes of a slot; the packet that reaches them is its last. Default: no bound.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

fn one() -> f64 {
    1.0
}

fn every_packet() -> u32 {
    1
}

impl Default for LossModel {
    fn default() -> Self {
        Self::Probability(0.0)
    }
}

impl Default for Reordering {
    fn default() -> Self {
        Self::ByDelay(false)
    }
}

impl<'de> Deserialize<'de> for LossModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrTable::new(
            "a probability such as 0.01, or a model such as { gilbert_elliott = { to_bad = 0.01, to_good = 0.25 } }",
            Self::Probability,
            |drawn| Ok(Self::Drawn(drawn)),
        ))
    }
}

impl JsonSchema for LossModel {
    fn schema_name() -> Cow<'static, str> {
        "LossModel".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let drawn = DrawnLoss::json_schema(generator);
        schema_with(generator.subschema_for::<f64>(), drawn, "Which packets are lost: a probability, or a model.")
    }
}

impl<'de> Deserialize<'de> for Reordering {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrTable::new(
            "true, false, or a table such as { probability = 0.25, gap = 5 }",
            Self::ByDelay,
            |early| Ok(Self::Early(early)),
        ))
    }
}

impl JsonSchema for Reordering {
    fn schema_name() -> Cow<'static, str> {
        "Reordering".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let early = generator.subschema_for::<EarlyPackets>();
        schema_with(generator.subschema_for::<bool>(), early, "Which packets overtake others.")
    }
}

impl LossModel {
    /// Whether it may lose packets.
    #[must_use]
    pub fn loses(&self) -> bool {
        *self != Self::default()
    }
}

impl Impairments {
    /// Whether they lose packets.
    #[must_use]
    pub fn lose(&self) -> bool {
        self.loss.loses() || !self.lose.is_empty() || self.limit.is_some()
    }

    /// Whether it has jitter.
    #[must_use]
    pub fn have_jitter(&self) -> bool {
        self.jitter != SpanDistribution::default()
    }
}
