//! Ports whose disciplines share state: they run together, in the order of time.

use forebay_qdisc::{Span, Time};

use crate::driver::node::{Lanes, Node, NodeId};
use crate::observe::report::Report;
use crate::router::queue_port::{QueuePort, Turn};
use crate::spec::LinkId;

/// The ports with their links, in the order of these.
pub(crate) struct SharedPorts {
    ports: Vec<(LinkId, QueuePort)>,
}

impl SharedPorts {
    pub fn new(ports: Vec<(LinkId, QueuePort)>) -> Self {
        Self { ports }
    }

    /// Sends the packets that are due up to `last`, in the order of (time, link).
    fn expire(&mut self, last: (Time, Turn), lanes: &mut Lanes) {
        while let Some((_, port)) = self.ports.iter_mut().min_by_key(|(link, port)| (port.next_departure(), *link))
            && port.next_departure() <= last
        {
            port.expire(port.next_departure(), lanes);
        }
    }
}

impl Node for SharedPorts {
    fn next(&self) -> Time {
        self.ports.iter().map(|(_, port)| port.next_departure().0).min().unwrap_or(Time::NEVER)
    }

    fn run(&mut self, until: Time, me: NodeId, lanes: &mut Lanes) -> Time {
        let packets = lanes.take(me, until);
        for packet in &packets {
            self.expire((packet.time, Turn::BeforeArrivals), lanes);
            let link = lanes.routes.leaves_by(packet);
            if let Ok(place) = self.ports.binary_search_by_key(&link, |(link, _)| *link) {
                self.ports[place].1.receive(packet, lanes);
            }
        }
        lanes.give_back(packets);
        self.expire((until - Span::from_picoseconds(1), Turn::AfterArrivals), lanes);
        until
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        for (_, port) in &mut self.ports {
            port.hand_in(end, report);
        }
    }
}
