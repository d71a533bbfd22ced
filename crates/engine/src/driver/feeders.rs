//! Packets on their way to a node that links lead to: each link has a FIFO, and the node takes the earliest of their
//! first packets. Simultaneous arrivals come in the order of [`Salts`].

use std::hint::select_unpredictable;
use std::iter;

use forebay_qdisc::Time;

use crate::driver::agenda::set_bits;
use crate::driver::ring::Ring;
use crate::driver::ties::{Salts, rank};
use crate::driver::tournament::Tournament;
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
    rings: [Ring<Packet>; FewFeeders::FEW],
    salts: [u32; FewFeeders::FEW],
}

pub(crate) struct ManyFeeders {
    first: Tournament,
    rings: Vec<Ring<Packet>>,
    salts: Salts,
}

impl FewFeeders {
    pub const FEW: usize = 4;

    pub fn new(salts: &Salts) -> Self {
        let salt = |link: usize| if link < salts.len() { salts.of(link as u32) } else { 0 };
        let links = FewLinks { rings: Default::default(), salts: std::array::from_fn(salt) };
        Self { first: [Time::NEVER; Self::FEW], next: Time::NEVER, links: Box::new(links) }
    }

    /// The first arrival; [`Time::NEVER`] without one.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Adds a packet, which arrives no earlier than those sent before on its link.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet) {
        let feeder = packet.input() as usize % Self::FEW;
        push(&mut self.links.rings[feeder], packet);
        // Without branches, which would often be mispredicted. Behind another packet nothing changes.
        self.first[feeder] = packet.time.min(self.first[feeder]);
        self.next = packet.time.min(self.next);
    }

    /// Takes the first packet; there must be one.
    #[inline(always)]
    pub fn receive(&mut self) -> Packet {
        let first = set_bits(self.first.map(|time| time == self.next));
        let feeder = if first.is_power_of_two() { first.trailing_zeros() } else { self.choose(first) };
        let feeder = feeder as usize % Self::FEW;
        let ring = &mut self.links.rings[feeder];
        let packet = ring.take(Packet::word_by_word);
        self.first[feeder] = ring.of_front(|packet| packet.time, Time::NEVER);
        let [a, b, c, d] = self.first;
        self.next = a.min(b).min(c.min(d));
        packet
    }

    /// The first of several links, a bit each, on which the next packets arrive at the same time. Without a branch
    /// between two, which would often be mispredicted.
    #[inline(never)]
    fn choose(&self, mut links: u64) -> u32 {
        let rank = |link: u32| rank(self.links.salts[link as usize % Self::FEW], self.next);
        let mut first = links.trailing_zeros();
        let mut rank_of_first = rank(first);
        links &= links - 1;
        while links != 0 {
            let (link, rank) = (links.trailing_zeros(), rank(links.trailing_zeros()));
            links &= links - 1;
            first = select_unpredictable(rank < rank_of_first, link, first);
            rank_of_first = rank_of_first.min(rank);
        }
        first
    }
}

impl ManyFeeders {
    pub fn new(salts: Salts) -> Self {
        let feeders = salts.len();
        Self { first: Tournament::new(feeders), rings: iter::repeat_with(Ring::default).take(feeders).collect(), salts }
    }

    pub fn next(&self) -> Time {
        self.first.earliest()
    }

    pub fn push(&mut self, packet: Packet) {
        let feeder = packet.input() as usize;
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
