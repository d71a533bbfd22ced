//! The interface of a discipline that holds its packets: its methods, and the sink for dropped packets.

use crate::arrival::{DropReason, FlowKey, MarkReason, Packet};
use crate::backlog::Backlog;
use crate::{Rng, Time};

/// The arguments of every call to a [`Discipline`]: the time, its random stream, and the sink for drops and marks.
pub struct Cx<'a, P> {
    /// The time of the call; never decreases.
    pub now: Time,
    /// The discipline's own random stream.
    pub rng: &'a mut dyn Rng,
    /// Takes dropped packets and receives notice of marks.
    pub sink: &'a mut dyn Sink<P>,
}

/// Where dropped packets go; told of marks as well. Owned by the caller, so that drops are never lost from the books.
pub trait Sink<P> {
    /// `packet` was dropped: the arriving packet if `queued` is false, else one that had been let in before.
    fn dropped(&mut self, packet: P, reason: DropReason, queued: bool);

    /// `packet` was marked with CE and proceeds.
    fn marked(&mut self, packet: &P, reason: MarkReason);
}

/// A queue discipline that holds its packets.
pub trait Discipline<P: Packet>: Send {
    /// Takes an arriving packet. Whatever is dropped, this packet or one already queued, goes to the sink.
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>);

    /// The next packet to send, if one may go now. The caller asks when the link is free: at the end of each
    /// transmission, at [`Discipline::poll_at`], and after an enqueue into an idle link. An answer of `None` means that
    /// the link goes idle.
    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Option<P>;

    /// When to ask again after [`Discipline::dequeue`] gave `None` although packets are queued (shapers).
    fn poll_at(&self) -> Option<Time> {
        None
    }

    /// The queued packets and bytes.
    fn backlog(&self) -> Backlog;

    /// Bytes of memory that the discipline's own state takes now: tables, per-flow entries, books. Without the packets
    /// queued and their queue.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows each gauge that the discipline keeps for `flow`.
    fn flow_gauges(&self, _flow: FlowKey, _visit: &mut dyn FnMut(&'static str, f64)) {}
}
