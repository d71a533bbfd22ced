//! The interface of a discipline that holds its packets: its methods, and the sink for dropped packets.

use crate::arrival::{DropReason, FlowKey, MarkReason, Packet};
use crate::backlog::Backlog;
use crate::flow_info::FlowInfo;
use crate::{Rng, Time};

/// The arguments of every call to a [`Discipline`]: the time, its random stream, the sink for drops, marks and trims,
/// and facts about the packet that arrives.
pub struct Cx<'a, P> {
    /// The time of the call; never decreases.
    pub now: Time,
    /// The discipline's own random stream.
    pub rng: &'a mut dyn Rng,
    /// Takes dropped packets and receives notice of marks and trims.
    pub sink: &'a mut dyn Sink<P>,
}

impl<P> Cx<'_, P> {
    /// Facts about the packet that arrives, for disciplines that need more than its flow key.
    #[must_use]
    pub fn flow_info(&self) -> &dyn FlowInfo<P> {
        self.sink.flow_info()
    }
}

/// Where dropped packets go; told of marks and trims as well. Owned by the caller, so that drops are never lost from
/// the counters.
pub trait Sink<P> {
    /// `packet` was dropped: the arriving packet if `queued` is false, else one that had been let in before.
    fn dropped(&mut self, packet: P, reason: DropReason, queued: bool);

    /// `packet` was marked with CE and proceeds.
    fn marked(&mut self, packet: &P, reason: MarkReason);

    /// `packet`, which arrives or is queued, was cut by `cut_bytes` and proceeds.
    fn trimmed(&mut self, packet: &P, cut_bytes: u32);

    /// Facts about packets. The sink has them, because it may own the tables in which the headers of packets are.
    fn flow_info(&self) -> &dyn FlowInfo<P>;
}

/// The answer of a discipline that is asked for the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<P> {
    /// The next packet to send.
    Packet(P),
    /// Packets are queued, but none may go before this time, unless another one arrives. It is after the call.
    PollAt(Time),
    /// Nothing to send until another packet arrives.
    Idle,
}

impl<P> Served<P> {
    /// The packet, if there is one.
    #[inline]
    #[must_use]
    pub fn packet(self) -> Option<P> {
        match self {
            Self::Packet(packet) => Some(packet),
            Self::PollAt(_) | Self::Idle => None,
        }
    }

    /// When to ask again, if the link were free: [`Time::NEVER`] if only an arrival changes the answer. A discipline
    /// that wants to be asked again at once would never let the next packet arrive.
    #[inline]
    #[must_use]
    pub fn ask_at(&self, now: Time) -> Time {
        match self {
            Self::Packet(_) => now,
            Self::PollAt(at) if *at > now => *at,
            Self::PollAt(_) | Self::Idle => Time::NEVER,
        }
    }
}

impl<P> From<Option<P>> for Served<P> {
    /// The answer of a discipline that never holds packets back.
    #[inline]
    fn from(next: Option<P>) -> Self {
        next.map_or(Self::Idle, Self::Packet)
    }
}

/// A queue discipline that holds its packets.
pub trait Discipline<P: Packet>: Send {
    /// Takes an arriving packet. Whatever is dropped, this packet or one already queued, goes to the sink.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>);

    /// The next packet to send, if one may go now. The caller asks when the link is free: at the end of each
    /// transmission, at the time of [`Served::PollAt`], and after an enqueue into an idle link. If no packet comes, the
    /// link goes idle.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P>;

    /// The queued packets and bytes.
    fn backlog(&self) -> Backlog;

    /// Bytes of memory that the discipline's own state takes now: tables, per-flow entries, counters. Without the
    /// packets queued and their queue. Includes the disciplines inside this one.
    fn state_bytes(&self) -> u64;

    /// Shows each discipline inside this one.
    fn children(&self, _visit: &mut dyn FnMut(&dyn Discipline<P>)) {}

    /// Shows each named gauge with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows each gauge that the discipline, or one inside it, keeps for `flow`.
    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.children(&mut |child| child.flow_gauges(flow, visit));
    }
}
