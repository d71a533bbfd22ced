//! Queue disciplines, one file and one paper each: what decides which packet waits, which goes and which is dropped.
//!
//! Pure state machines: the time, the dice and the place where dropped packets go are arguments. There are two seams,
//! and every discipline implements exactly one:
//!
//! - [`Admission`] is a *law in front of one FIFO*: it decides about a packet on arrival, by what it knows of the queue
//!   and of the flow, and never reorders (drop-tail, RED, FRED, DBL, BLUE, …). Because the order is settled on arrival,
//!   a simulator can compute the departure at once. [`Fifo`] turns a law into a discipline that holds packets.
//! - [`Discipline`] holds the packets itself and may reorder, evict or delay them (DRR, WFQ, CHOKe, CoDel, shapers,
//!   class-based queueing).
//!
//! [`Queue`] is either of the two, as built from a configuration.
//!
//! # Accounting
//! For every discipline, at any time: received = dropped on arrival + enqueued, and
//! enqueued = dequeued + dropped after + queued. `forebay-testkit` checks it under random operations.
#![no_std]

extern crate alloc;

use alloc::boxed::Box;

use forebay_units::require;
pub use forebay_units::{ParameterError, Rate, Span, Time, uniform};
pub use rand_core::Rng;

mod afd;
mod ared;
mod arrival;
mod blue;
mod breathe;
mod bucket_placement;
mod cbq;
mod choke;
mod class_weight;
mod cobalt;
mod codel;
mod csfq;
pub mod dbl;
mod drop_tail;
mod drr;
mod feng_red;
mod fifo;
mod flow_slots;
mod fq_codel;
mod fred;
mod guest;
mod hash;
mod heavy_hitters;
mod indexed_heap;
mod inverse_sqrt;
mod limit;
mod line;
mod memory;
mod penalty_box;
mod pi;
mod pie;
mod random_access_fifo;
mod rate_label;
mod red;
mod red_pd;
mod round_robin;
pub mod sfb;
mod sfq;
mod sfq_red;
mod sfred;
mod sred;
#[cfg(test)]
mod test_support;
mod timed_fifo;
mod token_bucket;
mod wfq;

pub use afd::{Afd, AfdConfig, AfdForm};
pub use ared::{Ared, AredConfig};
pub use arrival::{Arrival, DropReason, Ecn, FlowKey, MarkReason, Packet};
pub use blue::{Blue, BlueConfig};
pub use breathe::{Breathe, BreatheConfig};
pub use bucket_placement::SfqPlacement;
pub use cbq::{Cbq, CbqClass, CbqConfig};
pub use choke::{Choke, ChokeConfig};
pub use class_weight::ClassWeight;
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{Codel, CodelConfig, SquareRoot};
pub use csfq::{Csfq, CsfqConfig, CsfqRole};
pub use dbl::{Dbl, DblConfig};
pub use drop_tail::{DropTail, DropTailConfig};
pub use drr::{Drr, DrrConfig};
pub use feng_red::{FengRed, FengRedConfig};
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fred::{Fred, FredConfig};
pub use guest::{Guest, GuestDiscipline, GuestFault, GuestQueue, Moment, Order};
pub use hash::{hash_flow, table_index};
pub use heavy_hitters::HeavyHitterSet;
pub use line::{Line, Watcher};
pub use penalty_box::{PenaltyBox, PenaltyBoxConfig};
pub use pi::{Pi, PiConfig, PiDesign, PiGains};
pub use pie::{Pie, PieConfig};
pub use rate_label::RateLabel;
pub use red::{Red, RedConfig};
pub use red_pd::{RedPd, RedPdConfig};
pub use sfb::{Sfb, SfbConfig, SfbDropRule, SfbFairLimit, SfbRateLimitScope};
pub use sfq::{Sfq, SfqConfig};
pub use sfq_red::{SfqRed, SfqRedConfig};
pub use sfred::{Sfred, SfredConfig};
pub use sred::{Sred, SredConfig};
pub use wfq::{Wfq, WfqConfig};

/// How much a queue holds. The packet on the wire is not part of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes of the packets waiting.
    pub bytes: u64,
}

/// What an admission law is told beside the packet: the time, the queue before the arrival, and the dice.
pub struct Offer<'a> {
    /// Time of the arrival.
    pub now: Time,
    /// The queue as it stands before the arriving packet is added.
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
    /// Let it in with its ECN codepoint set to CE. Only for packets whose [`Ecn::is_capable`].
    Mark(Ticket, MarkReason),
    /// Drop it.
    Drop(DropReason),
}

/// A law in front of one FIFO queue: decides on arrival, never reorders.
pub trait Admission {
    /// Decides about an arriving packet. `offer.now` never decreases from call to call of any method.
    fn admit(&mut self, arrival: &Arrival, offer: &mut Offer<'_>) -> Verdict;

    /// A packet that was let in begins its transmission at `now` and is no longer part of the queue;
    /// `backlog` is the queue without it.
    fn release(&mut self, _ticket: Ticket, _len_bytes: u32, _backlog: Backlog, _now: Time) {}

    /// Whether [`Admission::release`] does anything. A simulator need not call it on a law that says no.
    fn watches_departures(&self) -> bool {
        true
    }

    /// The link has nothing to send since `since`: the end of the last transmission, with the queue empty.
    /// Told once for each idle period.
    fn idle(&mut self, _since: Time) {}

    /// Bytes of memory that the discipline's own state takes now: tables, per-flow entries, books. Without the packets
    /// queued and their queue.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge (`avg`, `dbl`, `active_flows`, …) with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows each gauge that the law keeps for `flow` (`credits`, `buffers_used`, …).
    fn flow_gauges(&self, _flow: FlowKey, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// What every call to a [`Discipline`] is given: the time, its random stream, and where drops and marks go.
pub struct Cx<'a, P> {
    /// The time of the call; never decreases.
    pub now: Time,
    /// The discipline's own random stream.
    pub rng: &'a mut dyn Rng,
    /// Takes what is dropped and is told what was marked.
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
pub trait Discipline<P: Packet> {
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

    /// What is queued.
    fn backlog(&self) -> Backlog;

    /// Bytes of memory that the discipline's own state takes now: tables, per-flow entries, books. Without the packets
    /// queued and their queue.
    fn state_bytes(&self) -> u64;

    /// Shows each named gauge with its current value.
    fn gauges(&self, _visit: &mut dyn FnMut(&'static str, f64)) {}

    /// Shows each gauge that the discipline keeps for `flow`.
    fn flow_gauges(&self, _flow: FlowKey, _visit: &mut dyn FnMut(&'static str, f64)) {}
}

/// A queue as built from its configuration.
pub enum Queue<P> {
    /// A law in front of one FIFO.
    Law(Box<dyn Admission>),
    /// A discipline that holds its packets.
    Discipline(Box<dyn Discipline<P>>),
}

impl<P: Packet + 'static> Queue<P> {
    /// The queue as a discipline that holds its packets: a law gets its [`Fifo`].
    #[must_use]
    pub fn into_discipline(self) -> Box<dyn Discipline<P>> {
        match self {
            Self::Law(law) => Box::new(Fifo::new(law)),
            Self::Discipline(discipline) => discipline,
        }
    }
}
