//! A link without a queue of its own: packets go in order of arrival.

use forebay_qdisc::Time;

use crate::driver::node::{Lanes, Node, NodeId};
use crate::link::Link;
use crate::observe::report::Report;

pub(crate) struct PlainPort {
    link: Link,
}

impl PlainPort {
    pub fn new(link: Link) -> Self {
        Self { link }
    }
}

impl Node for PlainPort {
    fn next(&self) -> Time {
        Time::NEVER
    }

    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time {
        let packets = lanes.take(me, until);
        let looks_ahead = lanes.routes.are_many();
        for (packet, place) in packets.iter().zip(0..) {
            if looks_ahead && let Some(packet) = packets.get(place + 8) {
                lanes.routes.prefetch(packet.direction_index());
            }
            match self.link.pass(*packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => lanes.send(passed),
                None => lanes.release(packet),
            }
        }
        lanes.give_back(packets);
        self.link.free_at
    }

    fn finish(&mut self, _end: Time, report: &mut Report) {
        report.link(self.link.finish(&report.measured()));
    }
}
