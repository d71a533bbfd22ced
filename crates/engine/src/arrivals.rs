//! What has been sent to a node and has not been looked at, from several links at once.

use forebay_qdisc::{Packet as _, Span, Time};

use crate::packet::Packet;
use crate::ring::Ring;

/// A link that leads to the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IncomingLink {
    /// Its place in the order in which links were added.
    pub number: u32,
    pub propagation: Span,
}

/// Packets on their way to a node, each sent with its time of arrival. They are taken in the order of these times;
/// those of the same time in the order of their links.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// An inbox for all links of the same propagation delay, whose packets are sent nearly in the order of arrival.
    inboxes: Vec<Ring<Packet>>,
    /// The inbox of each input port, and the rank of its link among those that lead here.
    ports: Vec<(u8, u8)>,
}

impl Arrivals {
    /// For a node with these links, by input port.
    pub fn new(links: &[IncomingLink]) -> Self {
        let mut delays: Vec<Span> = links.iter().map(|link| link.propagation).collect();
        delays.sort_unstable();
        delays.dedup();
        let place = |link: &IncomingLink| {
            let inbox = delays.partition_point(|&delay| delay < link.propagation);
            let rank = links.iter().filter(|other| other.number < link.number).count();
            (inbox as u8, rank as u8)
        };
        Self { ports: links.iter().map(place).collect(), inboxes: delays.iter().map(|_| Ring::default()).collect() }
    }

    /// A packet has been sent here.
    #[inline]
    pub fn insert(&mut self, packet: &Packet) {
        let Self { inboxes, ports } = self;
        let place = |packet: &Packet| ports[usize::from(packet.input_port())];
        let comes_before = |one: &Packet, other: &Packet| {
            one.time < other.time || one.time == other.time && place(one).1 < place(other).1
        };
        inboxes[usize::from(place(packet).0)].insert(*packet, comes_before);
    }

    /// When the first one arrives; [`Time::NEVER`] if none does.
    #[inline]
    pub fn first(&self) -> Time {
        let fronts = self.inboxes.iter().map(|inbox| inbox.front().map_or(Time::NEVER, |packet| packet.time));
        fronts.fold(Time::NEVER, Time::min)
    }

    /// Takes the first one, if it arrives by `end`.
    #[inline]
    pub fn take(&mut self, end: Time) -> Option<Packet> {
        let first = match &self.inboxes[..] {
            [_] => 0,
            _ => self.first_inbox()?,
        };
        let inbox = &mut self.inboxes[first];
        if inbox.front()?.time > end {
            return None;
        }
        inbox.pop()
    }

    #[cold]
    fn first_inbox(&self) -> Option<usize> {
        let fronts = self.inboxes.iter().enumerate().filter_map(|(inbox, ring)| Some((inbox, ring.front()?)));
        let order = |packet: &Packet| (packet.time, self.ports[usize::from(packet.input_port())].1);
        fronts.min_by_key(|(_, packet)| order(packet)).map(|(inbox, _)| inbox)
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::packet::PacketFields;

    fn packet(number: u32, time: u64, port: u16) -> Packet {
        let (time, ecn) = (Time::from_picoseconds(time), Ecn::NotCapable);
        let fields = PacketFields { time, stamp: 0, number, flow: 0, len_bytes: 1500, flags: 0, class: 0, ecn };
        Packet::new(fields).arriving(time, port)
    }

    proptest! {
        #[test]
        fn packets_are_taken_in_the_order_of_time_and_link_however_they_are_sent(
            links in prop::collection::vec((0_u32..1000, 0_u64..4), 1..6),
            steps in prop::collection::vec((0_u64..20, 0_usize..6, prop::option::of(0_u64..200)), 1..200),
        ) {
            // Numbers of links are all different.
            let links: Vec<IncomingLink> = links
                .iter()
                .zip(0..)
                .map(|(&(number, delay), index)| IncomingLink {
                    number: 8 * number + index,
                    propagation: Span::from_picoseconds(delay),
                })
                .collect();
            let mut arrivals = Arrivals::new(&links);
            let mut model: Vec<(u64, u32, u32)> = Vec::new();
            let mut last = vec![0; links.len()];
            for ((gap, port, take), number) in steps.into_iter().zip(0..) {
                // A link brings its packets in order.
                let port = port % links.len();
                last[port] += gap;
                arrivals.insert(&packet(number, last[port], port as u16));
                model.push((last[port], links[port].number, number));
                model.sort_unstable();
                prop_assert_eq!(arrivals.first().picoseconds(), model[0].0);
                if let Some(end) = take {
                    let expected = if model[0].0 <= end { Some(model.remove(0).2) } else { None };
                    let taken = arrivals.take(Time::from_picoseconds(end));
                    prop_assert_eq!(taken.map(|packet| packet.number()), expected);
                }
            }
        }
    }

    #[test]
    fn nothing_arrives_where_nothing_was_sent() {
        let mut none = Arrivals::new(&[]);
        assert_eq!((none.first(), none.take(Time::NEVER)), (Time::NEVER, None));
    }
}
