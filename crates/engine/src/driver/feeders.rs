//! Packets on their way to a node that links lead to: each link has a FIFO, and the node takes the earliest of their
//! first packets.

use std::iter;

use forebay_qdisc::Time;

use crate::driver::deadlines::Deadlines;
use crate::driver::ring::Ring;
use crate::packet::Packet;

/// Few links, whose first arrivals are compared directly.
pub(crate) struct FewFeeders {
    /// The first arrival on each link.
    first: [Time; Self::FEW],
    rings: Vec<Ring<Packet>>,
}

pub(crate) struct ManyFeeders {
    first: Deadlines,
    rings: Vec<Ring<Packet>>,
}

impl FewFeeders {
    pub const FEW: usize = 4;

    pub fn new(feeders: usize) -> Self {
        Self { first: [Time::NEVER; Self::FEW], rings: rings(feeders) }
    }

    /// The first arrival ([`Time::NEVER`] without one), and its link.
    #[inline]
    pub fn next(&self) -> (Time, usize) {
        let [a, b, c, d] = self.first;
        let earlier = |one: (Time, usize), other: (Time, usize)| if other.0 < one.0 { other } else { one };
        earlier(earlier((a, 0), (b, 1)), earlier((c, 2), (d, 3)))
    }

    /// Adds a packet, which arrives no earlier than those sent before on its link.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, feeder: usize) {
        if push(&mut self.rings[feeder], packet) {
            self.first[feeder % Self::FEW] = packet.time;
        }
    }

    /// Takes the first packet before `until`. At one time the lowest link comes first.
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
    pub fn new(feeders: usize) -> Self {
        Self { first: Deadlines::new(feeders), rings: rings(feeders) }
    }

    pub fn next(&self) -> Time {
        self.first.earliest()
    }

    pub fn push(&mut self, packet: Packet, feeder: usize) {
        if push(&mut self.rings[feeder], packet) {
            self.first.set(feeder, packet.time);
        }
    }

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

/// Returns whether the packet is the first in its ring.
#[inline(always)]
fn push(ring: &mut Ring<Packet>, packet: Packet) -> bool {
    debug_assert!(ring.back().is_none_or(|last| last.time <= packet.time), "a packet overtakes another one");
    ring.push(packet);
    ring.len() == 1
}
