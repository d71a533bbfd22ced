//! Loss, duplication, delay and order of packets after their transmission.

use forebay_qdisc::{Span, Time};

use crate::packet::FlowId;
use crate::spec::Distribution;

/// Outages, loss, duplication, delay and order of packets after their transmission, in the order of the fields. PAUSE
/// frames are spared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// When the link is down: from, to. A packet whose transmission overlaps with one is lost.
    pub outages: Vec<(Time, Time)>,
    /// Packets that are lost: the numbers of those of a flow in one direction, from 1 and increasing.
    pub chosen: Vec<ChosenPackets>,
    /// Probability that a packet comes twice.
    pub duplication: f64,
    /// Which packets are lost, drawn for each copy.
    pub loss: LossModel,
    /// Most packets that are on their way after their transmission, as netem's `limit`. Others are lost.
    pub limit: Option<u64>,
    /// Steps of an additional delay.
    pub delays: Vec<DelayStep>,
    /// Additional delay, drawn for each copy.
    pub jitter: Option<Jitter>,
    /// Which packets may overtake others.
    pub order: PacketOrder,
    /// Times at which packets are released.
    pub slots: Option<Slots>,
}

impl Impairments {
    /// Losses that do not depend on each other.
    #[must_use]
    pub fn random_loss(probability: f64) -> Self {
        Self { loss: LossModel::Random { probability, correlation: 0.0 }, ..Self::default() }
    }

    /// Whether there are any.
    #[must_use]
    pub fn are_some(&self) -> bool {
        *self != Self { order: self.order, ..Self::default() }
    }
}

/// Packets of a flow that are lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPackets {
    /// The flow.
    pub flow: FlowId,
    /// Its ACKs, not its data.
    pub acks: bool,
    /// Their numbers on this link, from 1 and increasing.
    pub numbers: Vec<u64>,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// Each with this probability. A draw depends on the one before it by `correlation` (0: not at all).
    Random {
        /// The probability.
        probability: f64,
        /// From 0 to 1.
        correlation: f64,
    },
    /// Two states. The loss of a packet is drawn in the state before its move.
    GilbertElliott {
        /// Probability of a move from good to bad, for each packet.
        to_bad: f64,
        /// Probability of a move from bad to good, for each packet.
        to_good: f64,
        /// Probability that a packet is lost in the bad state.
        loss_in_bad: f64,
        /// Probability that a packet is lost in the good state.
        loss_in_good: f64,
    },
    /// Four states: packets are received in 1 (good) and 2 (in a burst), and lost in 3 (in a burst) and 4 (alone).
    FourState {
        /// From good into a burst of losses.
        p13: f64,
        /// From a loss in a burst to good.
        p31: f64,
        /// From a loss in a burst to a reception in it.
        p32: f64,
        /// From a reception in a burst to a loss.
        p23: f64,
        /// From good to a loss alone.
        p14: f64,
    },
}

impl Default for LossModel {
    fn default() -> Self {
        Self::Random { probability: 0.0, correlation: 0.0 }
    }
}

/// An additional delay from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayStep {
    /// From when on.
    pub from: Time,
    /// In addition to the propagation delay.
    pub delay: Span,
}

/// Additional delay of each packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// In picoseconds.
    pub distribution: Distribution,
    /// How much a draw depends on the one before it, from 0 (not at all) to 1. Only a uniform distribution has it.
    pub correlation: f64,
}

/// Which packets may overtake others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PacketOrder {
    /// None: each comes no earlier than those before it.
    #[default]
    Kept,
    /// Those with a short delay.
    ByDelay,
    /// Those with a short delay, and some that have no jitter at all, as in netem: a packet that comes `gap` - 1 others
    /// or more after the last such one is one with this probability.
    Early {
        /// The probability.
        probability: f64,
        /// How much a draw depends on the one before it, from 0 to 1.
        correlation: f64,
        /// At least 1.
        gap: u32,
    },
}

/// Packets are released together, in slots, as netem's `slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    /// Shortest time to the next slot.
    pub min: Span,
    /// Longest time to the next slot.
    pub max: Span,
    /// Most packets of a slot.
    pub packets: u64,
    /// Most bytes of a slot; the packet that exceeds them is the last one.
    pub bytes: u64,
}
