//! Packets on their way to a node.
//!
//! A node takes packets up to a time, in the order of time and, at one instant, of [`Salts`]. Afterwards none may
//! arrive before that time.

use std::iter;

use forebay_qdisc::Time;

use crate::driver::feeders::{FewFeeders, ManyFeeders};
use crate::driver::granules::Granules;
use crate::driver::pool::Pool;
use crate::driver::ties::Salts;
use crate::packet::Packet;

/// The packets that a node has not taken yet. With a few links it fills a cache line.
#[repr(align(64))]
pub(crate) struct Inbox {
    /// Everything before has been taken.
    closed_until: Time,
    packets: Packets,
}

const _: () = assert!(size_of::<Inbox>() == 64);

enum Packets {
    FewLinks(FewFeeders),
    ManyLinks(Box<ManyFeeders>),
    AnyOrder(Box<Granules>),
    Elsewhere(Box<Outgoing>),
}

/// Packets for a node on another thread.
#[derive(Default)]
pub(crate) struct Outgoing {
    pub packets: Vec<Packet>,
    /// The feeder of each packet.
    pub feeders: Vec<u32>,
}

impl Outgoing {
    /// Where a packet of this feeder goes.
    #[inline(never)]
    fn room(&mut self, feeder: u32) -> &mut Vec<Packet> {
        self.feeders.push(feeder);
        &mut self.packets
    }
}

impl Inbox {
    /// For links with these salts, on each of which packets arrive in order.
    pub fn of_links(salts: &Salts) -> Self {
        Self::of(if salts.len() <= FewFeeders::FEW {
            Packets::FewLinks(FewFeeders::new(salts))
        } else {
            Packets::ManyLinks(Box::new(ManyFeeders::new(salts.clone())))
        })
    }

    /// For packets that follow routes, in any order, with [granules](Granules) of 2^`granule_bits` ps.
    pub fn of_routes(granule_bits: u32) -> Self {
        Self::of(Packets::AnyOrder(Box::new(Granules::new(granule_bits))))
    }

    pub fn elsewhere() -> Self {
        Self::of(Packets::Elsewhere(Box::default()))
    }

    fn of(packets: Packets) -> Self {
        Self { closed_until: Time::ZERO, packets }
    }

    /// `None` for a node on this thread.
    pub fn outgoing(&mut self) -> Option<&mut Outgoing> {
        if let Packets::Elsewhere(packets) = &mut self.packets { Some(packets) } else { None }
    }

    /// The first arrival; [`Time::NEVER`] without one, and for a node on another thread.
    #[inline]
    pub fn next(&self) -> Time {
        // Two comparisons: a jump through a table takes more, and is often mispredicted.
        if let Packets::FewLinks(packets) = &self.packets {
            return packets.next();
        }
        if let Packets::AnyOrder(packets) = &self.packets { packets.next() } else { self.next_of_others() }
    }

    #[inline(never)]
    fn next_of_others(&self) -> Time {
        if let Packets::ManyLinks(packets) = &self.packets { packets.next() } else { Time::NEVER }
    }

    /// Where a packet goes that follows its route and arrives at `time`, and whether it may be the first arrival. It is
    /// for the caller to push it: a packet that is passed on must be stored, and a wide load behind that would wait.
    #[inline(always)]
    pub fn room(&mut self, time: Time, feeder: u32, pool: &mut Pool) -> (&mut Vec<Packet>, bool) {
        assert!(time >= self.closed_until, "a packet into a closed window");
        match &mut self.packets {
            Packets::AnyOrder(packets) => packets.room(time, pool),
            Packets::Elsewhere(outgoing) => (outgoing.room(feeder), true),
            _ => unreachable!("a packet comes by a link"),
        }
    }

    /// Adds a packet that comes by a link, which `feeder` numbers.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, feeder: u32) {
        assert!(packet.time >= self.closed_until, "a packet into a closed window");
        match &mut self.packets {
            Packets::FewLinks(packets) => packets.push(packet, feeder as usize),
            Packets::ManyLinks(packets) => packets.push(packet, feeder as usize),
            Packets::AnyOrder(_) => unreachable!("a packet follows a route"),
            Packets::Elsewhere(outgoing) => outgoing.room(feeder).push(packet),
        }
    }

    /// Adds a packet from another thread.
    pub fn accept(&mut self, packet: Packet, feeder: u32, pool: &mut Pool) {
        match &self.packets {
            Packets::AnyOrder(_) => self.room(packet.time, feeder, pool).0.push(packet),
            _ => self.push(packet, feeder),
        }
    }

    /// As [`Granules::take`].
    #[inline]
    pub fn take(&mut self, until: Time, pool: &mut Pool, come_after: impl Fn(&Packet, &Packet) -> bool) -> Vec<Packet> {
        self.closed_until = until;
        match &mut self.packets {
            Packets::AnyOrder(packets) => packets.take(until, pool, come_after),
            _ => iter::from_fn(|| (self.next() < until).then(|| self.receive())).collect(),
        }
    }

    /// Nothing may arrive before `until` any more.
    #[inline]
    pub fn close(&mut self, until: Time) {
        self.closed_until = until;
    }

    /// Takes the first packet; there must be one. Not where packets follow routes.
    #[inline(always)]
    pub fn receive(&mut self) -> Packet {
        if let Packets::FewLinks(packets) = &mut self.packets { packets.receive() } else { self.receive_of_many() }
    }

    #[inline(never)]
    fn receive_of_many(&mut self) -> Packet {
        let Packets::ManyLinks(packets) = &mut self.packets else {
            unreachable!("packets of routes are taken together")
        };
        packets.receive()
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::driver::ties::rank;
    use crate::packet::PacketFields;

    fn packet(time: u64, flow: u32) -> Packet {
        let (time, ecn) = (Time::from_picoseconds(time), Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp: 0, number: 0, flow, len_bytes: 1, flags: 0, class: 0, ecn })
    }

    proptest! {
        #[test]
        fn it_gives_what_came_in_order(
            granule_bits in prop::option::of(0_u32..12),
            feeders in 1_u32..30,
            steps in prop::collection::vec(
                (prop::collection::vec((0_u64..100_000, 0_u32..30), 0..60), 0_u64..20_000), 1..20
            ),
        ) {
            // Two salts are equal: their feeders come in the order of the numbers.
            let salts = Salts::new((0..feeders).map(|feeder| (feeder / 2).wrapping_mul(0x9e37_79b9)));
            let mut inbox = granule_bits.map_or_else(|| Inbox::of_links(&salts), Inbox::of_routes);
            let (mut model, mut now, mut pool) = (Vec::new(), 0, Pool::default());
            let mut last = vec![0; feeders as usize];
            for (arrivals, step) in steps {
                for (delay, feeder) in arrivals {
                    let feeder = feeder % feeders;
                    let last = &mut last[feeder as usize];
                    // Packets on a link arrive in order.
                    let time = if granule_bits.is_none() { (now + delay % 500).max(*last) } else { now + delay };
                    *last = time;
                    inbox.accept(packet(time, feeder), feeder, &mut pool);
                    model.push((time, feeder));
                }
                let first = model.iter().min().map_or(Time::NEVER, |first| Time::from_picoseconds(first.0));
                prop_assert_eq!(inbox.next(), first);
                now += step;
                let taken = inbox.take(Time::from_picoseconds(now), &mut pool, |one, other| {
                    one.flow_id() != other.flow_id() && salts.come_after(one.flow_id(), other.flow_id(), one.time)
                });
                let mut expected: Vec<(u64, u32)> = model.iter().copied().filter(|arrival| arrival.0 < now).collect();
                expected.sort_by_key(|&(time, feeder)| {
                    (time, rank(salts.of(feeder), Time::from_picoseconds(time)), feeder)
                });
                let given = taken.iter().map(|packet| (packet.time.picoseconds(), packet.flow_id()));
                prop_assert_eq!(given.collect::<Vec<_>>(), expected);
                model.retain(|arrival| arrival.0 >= now);
                prop_assert_eq!(inbox.next() == Time::NEVER, model.is_empty());
                pool.give_back(taken);
            }
        }
    }

    #[test]
    #[should_panic(expected = "a packet into a closed window")]
    fn nothing_comes_into_a_closed_window() {
        let (mut inbox, mut pool) = (Inbox::of_links(&Salts::new([0].into_iter())), Pool::default());
        let taken = inbox.take(Time::from_picoseconds(100), &mut pool, |_, _| false);
        pool.give_back(taken);
        inbox.push(packet(99, 0), 0);
    }
}
