//! A link without a queue that anybody asked about: packets go in the order in which they come.

use forebay_qdisc::Time;

use crate::driver::node::{Lanes, Node, NodeId};
use crate::link::Wire;
use crate::observe::report::Report;

/// The sending end of such a link.
pub(crate) struct PlainPort {
    wire: Wire,
}

impl PlainPort {
    pub fn new(wire: Wire) -> Self {
        Self { wire }
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
            match self.wire.pass(*packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => lanes.send(passed),
                None => lanes.release(packet),
            }
        }
        lanes.give_back(packets);
        self.wire.free_at
    }

    fn finish(&mut self, _end: Time, report: &mut Report) {
        report.link(self.wire.finish(&report.measured()));
    }
}
