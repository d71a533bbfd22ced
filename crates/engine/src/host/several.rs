//! The endpoints of one host.
//!
//! What the endpoints of a host send on one uplink, they send in the order of time. So the timers of all of them that
//! are due come before a packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::Time;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{TcpSink, TcpSource};
use crate::observe::report::Report;
use crate::packet::Packet;

/// What is at the end of a host's links.
pub(crate) trait End: Sized {
    /// How much of it, from its beginning, a packet touches.
    const HOT_BYTES: usize;

    /// From endpoints, the first of which has this number; `None` if it cannot be made of them.
    fn of(endpoints: Vec<Endpoint>, first: u32) -> Option<Self>;

    /// Not after it has something to do by itself.
    fn next(&self) -> Time;

    /// A packet arrives, at `packet.time`, for the endpoint of this number.
    fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>);

    /// Does what it has to do by itself up to `now`.
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>);

    /// The run is over: brings the books up to `end` and hands them in.
    fn finish(&mut self, end: Time, report: &mut Report);

    /// Asks for the memory beyond itself that [`End::receive`] is going to look at.
    #[inline]
    fn prefetch(&self, _number: u32) {}

    /// After [`End::prefetch`]: asks for what pointers there lead to.
    #[inline]
    fn prefetch_further(&self, _number: u32) {}
}

impl End for TcpSource {
    const HOT_BYTES: usize = Self::HOT_BYTES;

    fn of(endpoints: Vec<Endpoint>, _first: u32) -> Option<Self> {
        match only(endpoints)? {
            Endpoint::TcpSource(source) => Some(*source),
            _ => None,
        }
    }

    #[inline]
    fn next(&self) -> Time {
        self.next()
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, _number: u32, out: &mut Outbox<'_>) {
        self.receive(packet, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.expire(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.finish(end, report);
    }
}

impl End for TcpSink {
    const HOT_BYTES: usize = size_of::<Self>();

    fn of(endpoints: Vec<Endpoint>, _first: u32) -> Option<Self> {
        match only(endpoints)? {
            Endpoint::TcpSink(sink) => Some(*sink),
            _ => None,
        }
    }

    #[inline]
    fn next(&self) -> Time {
        self.next()
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, _number: u32, out: &mut Outbox<'_>) {
        self.receive(packet, out);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.expire(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.finish(end, report);
    }

    #[inline]
    fn prefetch(&self, _number: u32) {
        self.prefetch_further();
    }
}

/// The endpoint of a host that has no other one.
fn only(mut endpoints: Vec<Endpoint>) -> Option<Endpoint> {
    endpoints.pop().filter(|_| endpoints.is_empty())
}

/// Any endpoints of a host.
pub(crate) enum Endpoints {
    One(Endpoint),
    Several(Box<Several>),
}

impl End for Endpoints {
    const HOT_BYTES: usize = size_of::<Self>();

    fn of(mut endpoints: Vec<Endpoint>, first: u32) -> Option<Self> {
        let last = endpoints.pop()?;
        if endpoints.is_empty() {
            return Some(Self::One(last));
        }
        endpoints.push(last);
        Some(Self::Several(Box::new(Several::new(endpoints, first))))
    }

    #[inline]
    fn next(&self) -> Time {
        match self {
            Self::One(endpoint) => endpoint.next(),
            Self::Several(several) => several.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at),
        }
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>) {
        let endpoint = match self {
            Self::One(endpoint) => endpoint,
            Self::Several(several) => {
                several.expire(packet.time, out);
                several.endpoint(number)
            }
        };
        endpoint.receive(packet, out);
        if let Self::Several(several) = self {
            several.plan(number - several.first);
        }
    }

    #[inline]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        match self {
            Self::One(endpoint) => endpoint.expire(now, out),
            Self::Several(several) => several.expire(now, out),
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        match self {
            Self::One(endpoint) => endpoint.finish(end, report),
            Self::Several(several) => several.endpoints.iter_mut().for_each(|(one, _)| one.finish(end, report)),
        }
    }

    #[inline]
    fn prefetch(&self, number: u32) {
        match self {
            Self::One(endpoint) => endpoint.prefetch(),
            Self::Several(several) => several.endpoints[(number - several.first) as usize].0.prefetch(),
        }
    }

    #[inline]
    fn prefetch_further(&self, number: u32) {
        match self {
            Self::One(endpoint) => endpoint.prefetch_further(),
            Self::Several(several) => several.endpoints[(number - several.first) as usize].0.prefetch_further(),
        }
    }
}

/// Several endpoints of one host.
pub(crate) struct Several {
    /// Each with the time at which its entry among the timers is due.
    endpoints: Vec<(Endpoint, Time)>,
    /// The number of the first of them.
    first: u32,
    /// When endpoints have something to do by themselves. Some entries are too early.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Several {
    fn new(endpoints: Vec<Endpoint>, first: u32) -> Self {
        let endpoints: Vec<(Endpoint, Time)> = endpoints.into_iter().map(|endpoint| (endpoint, Time::NEVER)).collect();
        let mut several = Self { timers: BinaryHeap::with_capacity(endpoints.len()), endpoints, first };
        for place in 0..several.endpoints.len() as u32 {
            several.plan(place);
        }
        several
    }

    #[inline]
    fn endpoint(&mut self, number: u32) -> &mut Endpoint {
        &mut self.endpoints[(number - self.first) as usize].0
    }

    /// Does what they have to do by themselves up to `now`, in the order of time.
    #[inline(always)]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        while let Some(&Reverse((at, _))) = self.timers.peek()
            && at <= now
        {
            self.expire_first(out);
        }
    }

    /// The first of the timers is due.
    #[cold]
    #[inline(never)]
    fn expire_first(&mut self, out: &mut Outbox<'_>) {
        let Some(Reverse((at, place))) = self.timers.pop() else { return };
        let (endpoint, planned) = &mut self.endpoints[place as usize];
        if *planned != at {
            return;
        }
        *planned = Time::NEVER;
        if endpoint.next() <= at {
            endpoint.expire(at, out);
        }
        self.plan(place);
    }

    /// Sees to it that what an endpoint has to do next is done on time.
    #[inline(always)]
    fn plan(&mut self, place: u32) {
        let (endpoint, planned) = &self.endpoints[place as usize];
        let next = endpoint.next();
        if next < *planned {
            self.plan_at(place, next);
        }
    }

    #[cold]
    #[inline(never)]
    fn plan_at(&mut self, place: u32, next: Time) {
        self.endpoints[place as usize].1 = next;
        self.timers.push(Reverse((next, place)));
    }
}
