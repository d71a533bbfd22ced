//! The endpoints of one host.
//!
//! What the endpoints of a host send on one uplink, they send in the order of time. So the timers of all of them that
//! are due come before a packet.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::Time;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::observe::report::Report;
use crate::packet::Packet;

/// The endpoints of a host.
pub(crate) enum Endpoints {
    One(Endpoint),
    Several(Box<Several>),
}

impl Endpoints {
    /// With the number of the first one.
    pub fn new(mut endpoints: Vec<Endpoint>, first: u32) -> Self {
        match endpoints.pop() {
            Some(only) if endpoints.is_empty() => Self::One(only),
            last => Self::Several(Box::new(Several::new(endpoints.into_iter().chain(last).collect(), first))),
        }
    }

    /// Not after the first of them has something to do by itself.
    #[inline]
    pub fn next(&self) -> Time {
        match self {
            Self::One(endpoint) => endpoint.next(),
            Self::Several(several) => several.timers.peek().map_or(Time::NEVER, |&Reverse((at, _))| at),
        }
    }

    /// A packet arrives, at `packet.time`, for the endpoint of this number.
    #[inline]
    pub fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>) {
        match self {
            Self::One(endpoint) => endpoint.receive(packet, out),
            Self::Several(several) => several.receive(packet, number, out),
        }
    }

    /// Does what they have to do by themselves up to `now`.
    #[inline]
    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        match self {
            Self::One(endpoint) if endpoint.next() <= now => endpoint.expire(now, out),
            Self::One(_) => {}
            Self::Several(several) => several.expire(now, out),
        }
    }

    /// The run is over: they bring their books up to `end` and hand them in.
    pub fn finish(&mut self, end: Time, report: &mut Report) {
        match self {
            Self::One(endpoint) => endpoint.finish(end, report),
            Self::Several(several) => several.endpoints.iter_mut().for_each(|(one, _)| one.finish(end, report)),
        }
    }

    /// Asks for the memory that [`Endpoints::receive`] is going to look at.
    #[inline]
    pub fn prefetch(&self, number: u32) {
        match self {
            Self::One(endpoint) => endpoint.prefetch(),
            Self::Several(several) => several.endpoints[(number - several.first) as usize].0.prefetch(),
        }
    }

    /// After [`Endpoints::prefetch`]: asks for what pointers there lead to.
    #[inline]
    pub fn prefetch_further(&self, number: u32) {
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
    fn receive(&mut self, packet: &Packet, number: u32, out: &mut Outbox<'_>) {
        self.expire(packet.time, out);
        let place = number - self.first;
        self.endpoints[place as usize].0.receive(packet, out);
        self.plan(place);
    }

    /// In the order of time.
    #[inline]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        while let Some(&Reverse((at, place))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let (endpoint, planned) = &mut self.endpoints[place as usize];
            if *planned != at {
                continue;
            }
            *planned = Time::NEVER;
            if endpoint.next() <= at {
                endpoint.expire(at, out);
            }
            self.plan(place);
        }
    }

    /// Sees to it that what an endpoint has to do next is done on time.
    #[inline]
    fn plan(&mut self, place: u32) {
        let (endpoint, planned) = &mut self.endpoints[place as usize];
        let next = endpoint.next();
        if next < *planned {
            *planned = next;
            self.timers.push(Reverse((next, place)));
        }
    }
}
