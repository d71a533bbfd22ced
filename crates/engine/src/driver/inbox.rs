//! Packets on their way to a node.
//!
//! A node takes packets up to a time, in the order of time and, at one instant, of [`Salts`]. Afterwards none may
//! arrive before that time.

use std::iter;

use forebay_qdisc::Time;

use crate::driver::calendar::Calendar;
use crate::driver::feeders::{FewFeeders, ManyFeeders};
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
    AnyOrder(Calendar),
    Elsewhere(Vec<Packet>),
}

/// The order in which packets come to a node, with the salts of its inputs.
#[derive(Clone, Debug)]
pub(crate) enum Arrivals {
    /// No order.
    AnyOrder(Salts),
    /// Packets are in order on each link.
    ByLink(Salts),
}

impl Arrivals {
    pub fn salts(&self) -> &Salts {
        let (Self::AnyOrder(salts) | Self::ByLink(salts)) = self;
        salts
    }
}

impl Inbox {
    /// See [`Calendar`] for `bucket_bits`.
    pub fn new(arrivals: &Arrivals, bucket_bits: u32) -> Self {
        Self::of(match arrivals {
            Arrivals::AnyOrder(_) => Packets::AnyOrder(Calendar::new(bucket_bits)),
            Arrivals::ByLink(salts) if salts.len() <= FewFeeders::FEW => Packets::FewLinks(FewFeeders::new(salts)),
            Arrivals::ByLink(salts) => Packets::ManyLinks(Box::new(ManyFeeders::new(salts.clone()))),
        })
    }

    /// An empty inbox of the same kind.
    pub fn empty(&self, salts: &Salts, bucket_bits: u32) -> Self {
        let salts = salts.clone();
        let is_calendar = matches!(self.packets, Packets::AnyOrder(_));
        Self::new(&if is_calendar { Arrivals::AnyOrder(salts) } else { Arrivals::ByLink(salts) }, bucket_bits)
    }

    /// Creates the inbox of a node on another thread.
    pub fn elsewhere() -> Self {
        Self::of(Packets::Elsewhere(Vec::new()))
    }

    fn of(packets: Packets) -> Self {
        Self { closed_until: Time::ZERO, packets }
    }

    /// The packets for a node on another thread; `None` for one on this thread.
    pub fn outgoing(&mut self) -> Option<&mut Vec<Packet>> {
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

    /// Adds a packet, mostly one that may come in any order. Returns whether it may be the first arrival.
    #[inline(always)]
    pub fn push(&mut self, packet: Packet, pool: &mut Pool) -> bool {
        assert!(packet.time >= self.closed_until, "a packet into a closed window");
        if let Packets::AnyOrder(packets) = &mut self.packets {
            let (room, is_first) = packets.room(packet.time, pool);
            room.push(packet);
            return is_first;
        }
        let [time, stamp, identity, header] = packet.words();
        self.push_to_others(time, stamp, identity, header);
        true
    }

    /// Adds a packet as [`Inbox::push`] does; made for packets that come in order on their link.
    #[inline(always)]
    pub fn push_by_link(&mut self, packet: Packet, pool: &mut Pool) -> bool {
        if let Packets::FewLinks(packets) = &mut self.packets {
            assert!(packet.time >= self.closed_until, "a packet into a closed window");
            packets.push(packet);
            return true;
        }
        let [time, stamp, identity, header] = packet.words();
        self.push_from_link(time, stamp, identity, header, pool)
    }

    #[inline(never)]
    fn push_from_link(&mut self, time: u64, stamp: u64, identity: u64, header: u64, pool: &mut Pool) -> bool {
        self.push(Packet::from_words([time, stamp, identity, header]), pool)
    }

    /// The words of a packet one by one: a packet that is passed whole must be stored, and a wide load behind that
    /// would wait.
    #[inline(never)]
    fn push_to_others(&mut self, time: u64, stamp: u64, identity: u64, header: u64) {
        let packet = Packet::from_words([time, stamp, identity, header]);
        match &mut self.packets {
            Packets::FewLinks(packets) => packets.push(packet),
            Packets::ManyLinks(packets) => packets.push(packet),
            Packets::Elsewhere(packets) => packets.push(packet),
            Packets::AnyOrder(_) => unreachable!("it has been pushed before"),
        }
    }

    /// Takes packets as [`Calendar::take`] does.
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

    /// Takes the first packet; there must be one. Not where packets come in any order.
    #[inline(always)]
    pub fn receive(&mut self) -> Packet {
        if let Packets::FewLinks(packets) = &mut self.packets { packets.receive() } else { self.receive_of_many() }
    }

    #[inline(never)]
    fn receive_of_many(&mut self) -> Packet {
        let Packets::ManyLinks(packets) = &mut self.packets else {
            unreachable!("packets in any order are taken together")
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

    fn packet(time: u64, input: u32) -> Packet {
        let (time, ecn) = (Time::from_picoseconds(time), Ecn::NotCapable);
        let fields = PacketFields { time, stamp: 0, number: 0, flow: 0, len_bytes: 1, flags: 0, class: 0, ecn };
        Packet::new(fields).arriving(time, input)
    }

    proptest! {
        #[test]
        fn it_gives_what_came_in_order(
            bucket_bits in prop::option::of(0_u32..12),
            feeders in 1_u32..30,
            steps in prop::collection::vec(
                (prop::collection::vec((0_u64..100_000, 0_u32..30), 0..60), 0_u64..20_000), 1..20
            ),
        ) {
            // Two salts are equal: their feeders come in the order of the numbers.
            let salts = Salts::new((0..feeders).map(|feeder| (feeder / 2).wrapping_mul(0x9e37_79b9)));
            let arrivals = match bucket_bits {
                Some(_) => Arrivals::AnyOrder(salts.clone()),
                None => Arrivals::ByLink(salts.clone()),
            };
            let mut inbox = Inbox::new(&arrivals, bucket_bits.unwrap_or(0));
            let (mut model, mut now, mut pool) = (Vec::new(), 0, Pool::default());
            let mut last = vec![0; feeders as usize];
            for (arrivals, step) in steps {
                for (delay, feeder) in arrivals {
                    let feeder = feeder % feeders;
                    let last = &mut last[feeder as usize];
                    // Packets on a link arrive in order.
                    let time = if bucket_bits.is_none() { (now + delay % 500).max(*last) } else { now + delay };
                    *last = time;
                    inbox.push(packet(time, feeder), &mut pool);
                    model.push((time, feeder));
                }
                let first = model.iter().min().map_or(Time::NEVER, |first| Time::from_picoseconds(first.0));
                prop_assert_eq!(inbox.next(), first);
                now += step;
                let taken = inbox.take(Time::from_picoseconds(now), &mut pool, |one, other| {
                    salts.come_after(one.input(), other.input(), one.time)
                });
                let mut expected: Vec<(u64, u32)> = model.iter().copied().filter(|arrival| arrival.0 < now).collect();
                expected.sort_by_key(|&(time, feeder)| {
                    (time, rank(salts.of(feeder), Time::from_picoseconds(time)), feeder)
                });
                let given = taken.iter().map(|packet| (packet.time.picoseconds(), packet.input()));
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
        let arrivals = Arrivals::ByLink(Salts::new([0].into_iter()));
        let (mut inbox, mut pool) = (Inbox::new(&arrivals, 0), Pool::default());
        let taken = inbox.take(Time::from_picoseconds(100), &mut pool, |_, _| false);
        pool.give_back(taken);
        inbox.push(packet(99, 0), &mut pool);
    }
}
