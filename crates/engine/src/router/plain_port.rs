//! A link without a queue of its own: packets go in order of arrival.

use forebay_qdisc::Time;

use crate::driver::node::{Channels, Node, NodeId};
use crate::driver::routes::PACKETS_AHEAD;
use crate::link::Link;
use crate::observe::report::Report;
use crate::observe::so_far::Show;

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

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        let looks_ahead = channels.routes.are_many();
        for (packet, place) in packets.iter().zip(0..) {
            if looks_ahead && let Some(packet) = packets.get(place + PACKETS_AHEAD) {
                channels.routes.prefetch(packet.direction_index());
            }
            self.link.pass_on(packet, channels);
        }
        channels.give_back(packets);
        (self.link.free_at, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        self.link.show(show);
    }

    fn finish(&mut self, _end: Time, report: &mut Report) {
        report.link(self.link.finish(&report.measured()));
    }
}

#[cfg(test)]
#[path = "plain_port_tests.rs"]
mod tests;
