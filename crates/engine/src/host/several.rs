//! The endpoints of one host.
//!
//! They share an uplink, on which packets go in the order of time: all timers that are due come before a packet. The
//! order of simultaneous timers is that of simultaneous arrivals.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::Time;

use crate::driver::ties::rank;
use crate::host::endpoint::{AnyEndpoint, Endpoint};
use crate::host::outbox::Outbox;
use crate::host::tcp::{TcpSink, TcpSource};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;

/// The endpoints at the end of a host's links.
pub(crate) trait HostEndpoint: Sized + Send {
    /// Whether it is one endpoint, so that nothing depends on the endpoint's number.
    const IS_ONE: bool;

    /// The bytes from its beginning that a packet touches.
    const HOT_BYTES: usize;

    /// Of endpoints, the first of which has this number; `None` if they are of another kind. `salts` order their
    /// simultaneous timers.
    fn of(endpoints: Vec<AnyEndpoint>, first: u32, salts: Vec<u32>) -> Option<Self>;

    /// A lower bound of [`Endpoint::next`].
    fn next(&self) -> Time;

    /// A packet arrives for the endpoint of this number.
    fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>);

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>);

    fn show(&self, show: &mut Show<'_>);

    fn finish(&mut self, end: Time, report: &mut Report);

    /// Prefetches what [`HostEndpoint::receive`] touches beyond itself.
    #[inline]
    fn prefetch(&self, _number: u32) {}

    /// Prefetches what pointers there lead to.
    #[inline]
    fn prefetch_further(&self, _number: u32) {}
}

/// An endpoint that is alone on its host.
pub(crate) trait SoleEndpoint: Endpoint + Sized {
    /// See [`HostEndpoint::HOT_BYTES`].
    const HOT_BYTES: usize;

    /// `None` if it is of another kind.
    fn of(endpoint: AnyEndpoint) -> Option<Self>;
}

impl SoleEndpoint for TcpSource {
    const HOT_BYTES: usize = Self::HOT_BYTES;

    fn of(endpoint: AnyEndpoint) -> Option<Self> {
        if let AnyEndpoint::TcpSource(source) = endpoint { Some(*source) } else { None }
    }
}

impl SoleEndpoint for TcpSink {
    const HOT_BYTES: usize = size_of::<Self>();

    fn of(endpoint: AnyEndpoint) -> Option<Self> {
        if let AnyEndpoint::TcpSink(sink) = endpoint { Some(*sink) } else { None }
    }
}

impl<E: SoleEndpoint> HostEndpoint for E {
    const IS_ONE: bool = true;
    const HOT_BYTES: usize = <Self as SoleEndpoint>::HOT_BYTES;

    fn of(mut endpoints: Vec<AnyEndpoint>, _first: u32, _salts: Vec<u32>) -> Option<Self> {
        let last = endpoints.pop()?;
        if endpoints.is_empty() { SoleEndpoint::of(last) } else { None }
    }

    #[inline]
    fn next(&self) -> Time {
        Endpoint::next(self)
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, _number: u32, out: &mut Outbox<'_>) {
        Endpoint::receive(self, packet, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        Endpoint::expire(self, now, out);
    }

    fn show(&self, show: &mut Show<'_>) {
        Endpoint::show(self, show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        Endpoint::finish(self, end, report);
    }

    #[inline]
    fn prefetch(&self, _number: u32) {
        Endpoint::prefetch_further(self);
    }
}

pub(crate) enum Endpoints {
    One(AnyEndpoint),
    Several(Box<EndpointSet>),
}

impl HostEndpoint for Endpoints {
    const IS_ONE: bool = false;
    const HOT_BYTES: usize = size_of::<Self>();

    fn of(mut endpoints: Vec<AnyEndpoint>, first: u32, salts: Vec<u32>) -> Option<Self> {
        let last = endpoints.pop()?;
        if endpoints.is_empty() {
            return Some(Self::One(last));
        }
        endpoints.push(last);
        Some(Self::Several(Box::new(EndpointSet::new(endpoints, first, salts))))
    }

    #[inline]
    fn next(&self) -> Time {
        match self {
            Self::One(endpoint) => endpoint.next(),
            Self::Several(several) => several.timers.peek().map_or(Time::NEVER, |&Reverse((at, ..))| at),
        }
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>) {
        match self {
            Self::One(endpoint) => endpoint.receive(packet, out),
            Self::Several(several) => several.receive(packet, number - several.first, out),
        }
    }

    #[inline]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        match self {
            Self::One(endpoint) => endpoint.expire(now, out),
            Self::Several(several) => several.expire(now, out),
        }
    }

    fn show(&self, show: &mut Show<'_>) {
        match self {
            Self::One(endpoint) => endpoint.show(show),
            Self::Several(several) => several.endpoints.iter().for_each(|place| place.endpoint.show(show)),
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        match self {
            Self::One(endpoint) => endpoint.finish(end, report),
            Self::Several(several) => several.endpoints.iter_mut().for_each(|place| place.endpoint.finish(end, report)),
        }
    }

    #[inline]
    fn prefetch(&self, number: u32) {
        match self {
            Self::One(endpoint) => endpoint.prefetch(),
            Self::Several(several) => several.endpoints[(number - several.first) as usize].endpoint.prefetch(),
        }
    }

    #[inline]
    fn prefetch_further(&self, number: u32) {
        match self {
            Self::One(endpoint) => endpoint.prefetch_further(),
            Self::Several(several) => several.endpoints[(number - several.first) as usize].endpoint.prefetch_further(),
        }
    }
}

pub(crate) struct EndpointSet {
    /// Each with the time of its timer entry.
    endpoints: Vec<Place>,
    first: u32,
    /// The salts by endpoint.
    salts: Box<[u32]>,
    /// The times at which endpoints act without a packet, the [`rank`] of their salts then, and their places. Entries
    /// may be too early.
    timers: BinaryHeap<Reverse<(Time, u64, u32)>>,
}

struct Place {
    endpoint: AnyEndpoint,
    /// The due time of its earliest timer entry, and of another one; [`Time::NEVER`] without. A paced sender has one
    /// for the next segment and one for its retransmission timer.
    planned: Time,
    planned_later: Time,
}

impl EndpointSet {
    fn new(endpoints: Vec<AnyEndpoint>, first: u32, salts: Vec<u32>) -> Self {
        let place = |endpoint: AnyEndpoint| Place { endpoint, planned: Time::NEVER, planned_later: Time::NEVER };
        let endpoints: Vec<_> = endpoints.into_iter().map(place).collect();
        let timers = BinaryHeap::with_capacity(endpoints.len());
        let mut several = Self { timers, endpoints, first, salts: salts.into() };
        for place in 0..several.endpoints.len() as u32 {
            several.plan(place);
        }
        several
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, place: u32, out: &mut Outbox<'_>) {
        self.expire(packet.time, out);
        out.turn_to(place);
        self.endpoints[place as usize].endpoint.receive(packet, out);
        self.plan(place);
    }

    /// Runs the timers up to `now`, in the order of time.
    #[inline(always)]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        while let Some(&Reverse((at, ..))) = self.timers.peek()
            && at <= now
        {
            self.expire_first(out);
        }
    }

    #[cold]
    #[inline(never)]
    fn expire_first(&mut self, out: &mut Outbox<'_>) {
        let Some(Reverse((at, _, place))) = self.timers.pop() else { return };
        let Place { endpoint, planned, planned_later } = &mut self.endpoints[place as usize];
        if *planned != at {
            return;
        }
        *planned = std::mem::replace(planned_later, Time::NEVER);
        if endpoint.next() <= at {
            out.turn_to(place);
            endpoint.expire(at, out);
        }
        self.plan(place);
    }

    /// Enters the next timer of an endpoint.
    #[inline(always)]
    fn plan(&mut self, place: u32) {
        let Place { endpoint, planned, .. } = &self.endpoints[place as usize];
        let next = endpoint.next();
        if next < *planned {
            self.plan_at(place, next);
        }
    }

    #[cold]
    #[inline(never)]
    fn plan_at(&mut self, place: u32, next: Time) {
        let Place { planned, planned_later, .. } = &mut self.endpoints[place as usize];
        *planned_later = (*planned_later).min(*planned);
        *planned = next;
        let rank = rank(self.salts[place as usize], next);
        self.timers.push(Reverse((next, rank, place)));
    }
}
