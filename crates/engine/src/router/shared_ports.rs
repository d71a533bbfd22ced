//! Ports of a router whose disciplines share state: they run together, in the order of time.

use forebay_qdisc::Time;

use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::driver::routes::{ForwardingTable, Way};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::router::queue_port::{QueuePort, Turn};
use crate::spec::LinkId;

/// The ports with their links, in the order of these.
pub(crate) struct SharedPorts {
    ports: Vec<(LinkId, QueuePort)>,
    /// The place of the port for each destination.
    table: ForwardingTable,
    way: Way,
}

impl SharedPorts {
    /// Packets find the places of their ports in `table`, by `way`.
    pub fn new(ports: Vec<(LinkId, QueuePort)>, table: ForwardingTable, way: Way) -> Self {
        Self { ports, table, way }
    }

    /// Sends the packets that are due up to `last`, in the order of (time, link).
    fn expire(&mut self, last: (Time, Turn), channels: &mut Channels) {
        while let Some((_, port)) = self.ports.iter_mut().min_by_key(|(link, port)| (port.next_departure(), *link))
            && port.next_departure() <= last
        {
            port.expire(port.next_departure(), channels);
        }
    }
}

impl Node for SharedPorts {
    fn next(&self) -> Time {
        self.ports.iter().map(|(_, port)| port.next_departure().0).min().unwrap_or(Time::NEVER)
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        for packet in &packets {
            self.expire((packet.time, Turn::BeforeArrivals), channels);
            let place = self.table.look_up(self.way, packet, &channels.routes.destinations, &channels.tables);
            self.ports[place as usize].1.receive(packet, channels);
        }
        channels.give_back(packets);
        self.expire((just_before(until), Turn::AfterArrivals), channels);
        (until, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        for (_, port) in &self.ports {
            port.show_series(show);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        for (_, port) in &mut self.ports {
            port.hand_in(end, report);
        }
    }
}

#[cfg(test)]
#[path = "shared_ports_tests.rs"]
mod tests;
