//! What is on its way to a node that links lead to.
//!
//! What comes by one link comes in order. So each has a ring, and the first of all is the first of one of them.

use std::iter;

use forebay_qdisc::Time;

use crate::driver::deadlines::Deadlines;
use crate::driver::ring::Ring;
use crate::packet::Packet;

/// The packets of a few links, which are looked through one after the other.
pub(crate) struct FewFeeders {
    /// When the first packet of each link arrives.
    first: [Time; Self::FEW],
    rings: Vec<Ring<Packet>>,
}

/// The packets of any number of links.
pub(crate) struct ManyFeeders {
    /// When the first packet of each link arrives.
    first: Deadlines,
    rings: Vec<Ring<Packet>>,
}

impl FewFeeders {
    pub const FEW: usize = 4;

    /// Of this many links.
    pub fn new(feeders: usize) -> Self {
        Self { first: [Time::NEVER; Self::FEW], rings: rings(feeders) }
    }

    /// When the first packet arrives ([`Time::NEVER`] without one), and the link that it comes by.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let [a, b, c, d] = self.first;
        let earlier = |one: (Time, usize), other: (Time, usize)| if other.0 < one.0 { other } else { one };
        earlier(earlier((a, 0), (b, 1)), earlier((c, 2), (d, 3)))
    }

    /// A packet is on its way, to arrive at `packet.time`: not before those that were sent on the same link.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, feeder: usize) {
        if push(&mut self.rings[feeder], packet) {
            self.first[feeder % Self::FEW] = packet.time;
        }
    }

    /// Takes the first packet, if it arrives before `until`: of those that arrive at one time, that of the first link.
    #[inline(always)]
    pub fn receive(&mut self, until: Time) -> Option<Packet> {
        let (next, feeder) = self.next();
        if next >= until {
            return None;
        }
        let ring = &mut self.rings[feeder];
        let packet = ring.pop();
        self.first[feeder] = ring.of_front(|packet| packet.time, Time::NEVER);
        packet
    }
}

impl ManyFeeders {
    /// Of this many links.
    pub fn new(feeders: usize) -> Self {
        Self { first: Deadlines::new(feeders), rings: rings(feeders) }
    }

    /// When the first packet arrives; [`Time::NEVER`] without one.
    pub fn next(&self) -> Time {
        self.first.earliest()
    }

    /// As [`FewFeeders::push`].
    pub fn push(&mut self, packet: Packet, feeder: usize) {
        if push(&mut self.rings[feeder], packet) {
            self.first.set(feeder, packet.time);
        }
    }

    /// As [`FewFeeders::receive`].
    pub fn receive(&mut self, until: Time) -> Option<Packet> {
        if self.first.earliest() >= until {
            return None;
        }
        let feeder = self.first.due(until)?;
        let ring = &mut self.rings[feeder];
        let packet = ring.pop();
        self.first.set(feeder, ring.of_front(|packet| packet.time, Time::NEVER));
        packet
    }
}

fn rings(feeders: usize) -> Vec<Ring<Packet>> {
    iter::repeat_with(Ring::default).take(feeders).collect()
}

/// Adds a packet; returns whether it is the first one.
#[inline(always)]
fn push(ring: &mut Ring<Packet>, packet: Packet) -> bool {
    debug_assert!(ring.back().is_none_or(|last| last.time <= packet.time), "a packet overtakes another one");
    ring.push(packet);
    ring.len() == 1
}
