//! Packets on their way to a node that links lead to: each link has a FIFO, and the node takes the earliest of their
//! first packets. Simultaneous arrivals come in the order of [`Salts`].

use std::hint::select_unpredictable;
use std::iter;

use forebay_qdisc::Time;

use crate::driver::deadlines::Deadlines;
use crate::driver::ring::Ring;
use crate::driver::ties::{Salts, rank};
use crate::packet::Packet;

/// Few links, whose first arrivals are compared directly.
pub(crate) struct FewFeeders {
    /// The first arrival on each link, and the first of all.
    first: [Time; Self::FEW],
    next: Time,
    links: Box<FewLinks>,
}

#[repr(C, align(64))]
struct FewLinks {
    /// The link of the first arrival.
    next: u32,
    rings: [Ring<Packet>; FewFeeders::FEW],
    salts: Salts,
}

pub(crate) struct ManyFeeders {
    first: Deadlines,
    rings: Vec<Ring<Packet>>,
    salts: Salts,
}

impl FewFeeders {
    pub const FEW: usize = 4;

    pub fn new(salts: Salts) -> Self {
        let links = FewLinks { next: 0, rings: Default::default(), salts };
        Self { first: [Time::NEVER; Self::FEW], next: Time::NEVER, links: Box::new(links) }
    }

    /// The first arrival; [`Time::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    #[inline(always)]
    fn find_next(&mut self) {
        let [a, b, c, d] = self.first;
        let earlier = |one: (Time, u32), other: (Time, u32)| if other.0 < one.0 { other } else { one };
        let (next, link) = earlier(earlier((a, 0), (b, 1)), earlier((c, 2), (d, 3)));
        (self.next, self.links.next) = (next, link);
        let equal = u32::from(a == next) + u32::from(b == next) + u32::from(c == next) + u32::from(d == next);
        if (equal > 1) & (next < Time::NEVER) {
            self.break_tie();
        }
    }

    /// Several first packets arrive at the same time.
    #[cold]
    #[inline(never)]
    fn break_tie(&mut self) {
        let Self { first, next, links } = self;
        let equal = (0..).zip(&*first).filter(|&(_, first)| *first == *next).map(|(link, _)| link);
        if let Some(link) = links.salts.first(equal, *next) {
            links.next = link;
        }
    }

    /// Adds a packet, which arrives no earlier than those sent before on its link.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, feeder: usize) {
        let feeder = feeder % Self::FEW;
        push(&mut self.links.rings[feeder], packet);
        // Without branches, which would often be mispredicted. Behind another packet nothing changes.
        self.first[feeder] = packet.time.min(self.first[feeder]);
        let (one, other) = ((packet.time, feeder as u32), (self.next, self.links.next));
        (self.next, self.links.next) = select_unpredictable(one.0 < other.0, one, other);
        if one.0 == other.0 {
            self.break_tie();
        }
    }

    /// Takes the first packet; there must be one.
    #[inline(always)]
    pub fn receive(&mut self) -> Packet {
        let feeder = self.links.next as usize % Self::FEW;
        let ring = &mut self.links.rings[feeder];
        let packet = ring.take(Packet::word_by_word);
        self.first[feeder] = ring.of_front(|packet| packet.time, Time::NEVER);
        self.find_next();
        packet
    }
}

impl ManyFeeders {
    pub fn new(salts: Salts) -> Self {
        let feeders = salts.len();
        Self { first: Deadlines::new(feeders), rings: iter::repeat_with(Ring::default).take(feeders).collect(), salts }
    }

    pub fn next(&self) -> Time {
        self.first.earliest()
    }

    pub fn push(&mut self, packet: Packet, feeder: usize) {
        if push(&mut self.rings[feeder], packet) {
            self.first.set(feeder, packet.time);
        }
    }

    /// Takes the first packet; there must be one.
    pub fn receive(&mut self) -> Packet {
        let time = self.first.earliest();
        let feeder = self.first.first_by(|feeder| rank(self.salts.of(feeder as u32), time));
        let ring = &mut self.rings[feeder];
        let packet = ring.take(Packet::word_by_word);
        self.first.set(feeder, ring.of_front(|packet| packet.time, Time::NEVER));
        packet
    }
}

/// Returns whether the packet is the first in its ring.
#[inline(always)]
fn push(ring: &mut Ring<Packet>, packet: Packet) -> bool {
    debug_assert!(ring.back().is_none_or(|last| last.time <= packet.time), "a packet overtakes another one");
    ring.push(packet);
    ring.len() == 1
}
