//! Ranks of packets: the order in which a programmable scheduler serves them.
//!
//! A scheduler (`pifo`, `sp_pifo`, `aifo`) asks [`Ranks`] for the rank of each packet that arrives, and reports the
//! packets that it sends and drops. [`Stfq`] needs only flow and length, which every packet has. Remaining bytes and
//! deadlines come from the sender, as facts about the packet (`cx.flow_info()`). Drawn ranks need nothing.

use alloc::vec::Vec;

#[cfg(test)]
pub(crate) mod by_label;
pub mod drawn;
pub mod inversions;
mod stfq;

use self::drawn::{Drawn, ExponentialRanks, PoissonRanks, UniformRanks};
pub use self::stfq::Stfq;
use crate::{Cx, FlowKey, Packet, ParameterError, Span, require};

/// The place of a packet in the order of service: the smallest is served first.
pub type Rank = i64;

/// The rank of a packet whose sender does not state its remaining bytes: behind all others, which are fewer.
const UNKNOWN_SIZE: Rank = 1 << 32;

/// A way to rank packets.
pub trait Ranks<P>: Send {
    /// The rank of `packet`, which arrives.
    fn rank(&mut self, packet: &P, cx: &mut Cx<'_, P>) -> Rank;

    /// `packet`, which had this rank, was dropped: it counts as if it had not come. No later packet of its flow is
    /// queued.
    fn dropped(&mut self, packet: &P, rank: Rank);

    /// A packet of this rank leaves.
    fn sent(&mut self, rank: Rank);

    /// Nothing is queued when the link asks for the next packet.
    fn idle(&mut self);

    /// Bytes that it holds on the heap.
    fn heap_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64));

    /// Shows each gauge for `flow`.
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64));
}

forebay_units::configuration! {
    /// Ranks by deadline.
    pub struct DeadlineRanks {
        /// Time from a packet's departure until it is due, for each traffic class from 0 on; the last value also holds
        /// for all classes after it. Default: ["0 s"], the oldest packet first (our choice).
        pub slack: Vec<Span> = alloc::vec![Span::ZERO];
    }
}

/// How a scheduler ranks packets; the smallest rank is served first.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "config", schemars(transform = bare_ranks))]
pub enum RankConfig {
    /// By the start time of start-time fair queueing: equal shares for all flows.
    #[default]
    Stfq,
    /// By the bytes of its flow that the sender has not sent before the packet, as in pFabric: short flows first.
    /// Simulation only. ACKs have rank 0. Flows without a size, and those of 4 GiB or more, come last.
    RemainingSize,
    /// By the time at which a packet is due: when it left its source, plus the slack of its traffic class. Simulation
    /// only. An ACK counts as if it left its source when it arrives.
    Deadline(DeadlineRanks),
    /// Uniform integers, drawn for each packet.
    Uniform(UniformRanks),
    /// Exponential, rounded down to integers, drawn for each packet.
    Exponential(ExponentialRanks),
    /// Poisson, drawn for each packet.
    Poisson(PoissonRanks),
}

#[cfg(feature = "config")]
fn bare_ranks(schema: &mut schemars::Schema) {
    forebay_units::allow_bare_names(schema, &["deadline", "uniform", "exponential", "poisson"]);
}

impl RankConfig {
    /// Whether ranks come from the senders of the packets.
    #[must_use]
    pub fn needs_senders(&self) -> bool {
        matches!(self, Self::RemainingSize | Self::Deadline(_))
    }

    /// Ranks of this kind, which keep up to `max_flows` flows where they need any. `salt` goes into the hash of flows.
    pub(crate) fn ranks(&self, max_flows: u32, salt: u64) -> Result<AnyRanks, ParameterError> {
        // Checked even where no flow is kept.
        let stfq = Stfq::new(max_flows, salt)?;
        Ok(match self {
            Self::Stfq => AnyRanks::Stfq(stfq),
            Self::RemainingSize => AnyRanks::RemainingSize,
            Self::Deadline(config) => {
                require(!config.slack.is_empty(), "ranks", "have a `deadline.slack` for at least one class")?;
                AnyRanks::Deadline(config.slack.clone())
            }
            Self::Uniform(config) => AnyRanks::Drawn(config.drawn()?),
            Self::Exponential(config) => AnyRanks::Drawn(config.drawn()?),
            Self::Poisson(config) => AnyRanks::Drawn(config.drawn()?),
        })
    }
}

/// Ranks of the kind that a configuration names: one type, so that each scheduler is compiled once.
#[derive(Clone, Debug)]
pub enum AnyRanks {
    /// Start-time fair queueing.
    Stfq(Stfq),
    /// Remaining bytes.
    RemainingSize,
    /// Departure from the source, plus the slack of each class.
    Deadline(Vec<Span>),
    /// Random numbers.
    Drawn(Drawn),
}

impl<P: Packet> Ranks<P> for AnyRanks {
    fn rank(&mut self, packet: &P, cx: &mut Cx<'_, P>) -> Rank {
        match self {
            Self::Stfq(stfq) => stfq.rank(packet, cx),
            Self::RemainingSize => {
                let remaining = cx.flow_info().remaining_bytes(packet);
                remaining.map_or(UNKNOWN_SIZE, |bytes| (bytes as Rank).min(UNKNOWN_SIZE))
            }
            Self::Deadline(slack) => {
                let class = usize::from(packet.class()).min(slack.len() - 1);
                let due = cx.flow_info().departure(packet).unwrap_or(cx.now).saturating_add(slack[class]);
                due.picoseconds().min(Rank::MAX as u64) as Rank
            }
            Self::Drawn(drawn) => drawn.draw(cx.rng),
        }
    }

    fn dropped(&mut self, packet: &P, rank: Rank) {
        if let Self::Stfq(stfq) = self {
            stfq.dropped(packet, rank);
        }
    }

    fn sent(&mut self, rank: Rank) {
        if let Self::Stfq(stfq) = self {
            Ranks::<P>::sent(stfq, rank);
        }
    }

    fn idle(&mut self) {
        if let Self::Stfq(stfq) = self {
            Ranks::<P>::idle(stfq);
        }
    }

    fn heap_bytes(&self) -> u64 {
        match self {
            Self::Stfq(stfq) => Ranks::<P>::heap_bytes(stfq),
            Self::Deadline(slack) => (slack.capacity() * size_of::<Span>()) as u64,
            Self::RemainingSize | Self::Drawn(_) => 0,
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Self::Stfq(stfq) = self {
            Ranks::<P>::gauges(stfq, visit);
        }
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        if let Self::Stfq(stfq) = self {
            Ranks::<P>::flow_gauges(stfq, flow, visit);
        }
    }
}

#[cfg(test)]
#[path = "ranks_tests.rs"]
mod tests;
