//! The interface of a law in front of one FIFO queue: its input for an arriving packet, and its verdicts.

use crate::arrival::{Arrival, DropReason, FlowKey, MarkReason};
use crate::backlog::Backlog;
use crate::limit::Limit;
use crate::{Rng, Time};

/// The input of an admission law besides the packet: the time, the queue before the arrival, and the random stream.
pub struct Offer<'a> {
    /// Time of the arrival.
    pub now: Time,
    /// The queue before the arriving packet is added.
    pub backlog: Backlog,
    /// The law's own random stream.
    pub rng: &'a mut dyn Rng,
}

/// A note that an admission law attaches to a packet it lets in, and gets back when the packet leaves the queue.
/// DBL keeps its flow-table index here, so that a change of hash while packets are queued is harmless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket(pub u32);

/// An admission law's decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it in.
    Enqueue(Ticket),
    /// Let it in with its ECN codepoint set to CE. Only for packets whose [`Ecn::is_capable`](crate::Ecn::is_capable).
    Mark(Ticket, MarkReason),
    /// Drop it.
    Drop(DropReason),
}

/// A law in front of one FIFO queue: decides on arrival, never reorders.
pub trait Admission: Send {
    /// Decides about an arriving packet. `offer.now` never decreases from call to call of any method.
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict;

    /// A packet that was let in begins its transmission at `now` and is no longer part of the queue;
    /// `backlog` is the queue without it.
    fn release(&mut self, _ticket: Ticket, _len_bytes: u32, _backlog: Backlog, _now: Time) {}

    /// Whether [`Admission::release`] does anything. A simulator need not call it on a law that says no.
    fn watches_departures(&self) -> bool {
        true
    }

    /// The limit of a law that lets in what fits and does nothing else: a simulator need not ask it.
    fn only_limit(&self) -> Option<Limit> {
        None
    }

    /// The link has nothing to send since `since`: the end of the last transmission, with the queue empty.
    /// Told once for each idle period.
    fn idle(&mut self, _since: Time) {}

    /// Bytes of memory that the discipline's own state takes now: tables, per-flow entries, counters. Without the
    /// packets queued and their queue.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge (`avg`, `dbl`, `active_flows`, …) with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows each gauge that the law keeps for `flow` (`credits`, `buffers_used`, …).
    fn flow_gauges(&self, _flow: FlowKey, _visit: &mut dyn FnMut(&'static str, f64)) {}
}
