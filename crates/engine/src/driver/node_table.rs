//! The forwarding table of a node that is one node of the driver, and may choose among equal paths by what it has seen.
//!
//! A policy without state is a function that any sender may call, so a packet finds the port of the next router while it
//! is sent, ahead of its arrival ([`crate::driver::routes`]). A policy with state must see the packets of its node in
//! the order of their arrivals. That order exists in one place only: where a node of the driver takes its inbox. So:
//!
//! - A crossbar or an Ethernet switch, which is one such node, owns the policy with its table, here.
//! - Any other router, or host with several links, gets a node of its own in front of its ports, a
//!   [`PathChooser`](crate::router::path_chooser::PathChooser). Tables lead there where there is a choice, and straight
//!   to the port where there is none. Routers without such a policy have no such node: nothing changes for them.
//! - From the chooser to the ports there is no delay. The packet keeps its time and its input, so a port orders its
//!   packets as ever, and the same for any number of threads.
//! - A set of equal paths is a sorted list of ports, the same for all destinations with these next hops, and in all
//!   periods between changes of routes.

use forebay_switching::{EqualPaths, PathPacket, StatefulPolicy};
use rand_pcg::Pcg64Mcg;

use crate::driver::node::Channels;
use crate::driver::routes::{ForwardingTable, Way};
use crate::packet::Packet;

/// Entries are outputs of the node.
pub(crate) struct NodeTable {
    table: ForwardingTable,
    way: Way,
    chooser: Option<Box<Chooser>>,
}

/// Chooses among the outputs of a set.
struct Chooser {
    sets: Vec<Box<[u32]>>,
    policy: Box<dyn StatefulPolicy>,
    rng: Pcg64Mcg,
}

impl NodeTable {
    /// Packets find their outputs in `table`, by `way`.
    pub fn new(table: ForwardingTable, way: Way) -> Self {
        Self { table, way, chooser: None }
    }

    /// The same, where `policy` chooses among the outputs of `sets`.
    pub fn choosing(self, sets: Vec<Box<[u32]>>, policy: Box<dyn StatefulPolicy>, rng: Pcg64Mcg) -> Self {
        Self { chooser: Some(Box::new(Chooser { sets, policy, rng })), ..self }
    }

    /// The output of a packet that arrives now. Asked once for each.
    #[inline(always)]
    pub fn output_of(&mut self, packet: &Packet, channels: &Channels) -> usize {
        let Self { table, way, chooser } = self;
        let entry = table.look_up(*way, packet, &channels.routes.destinations, &channels.tables);
        match (ForwardingTable::set_of(entry), chooser) {
            (Some(set), Some(chooser)) => chooser.choose(set, packet),
            _ => entry as usize,
        }
    }
}

impl Chooser {
    #[inline(never)]
    fn choose(&mut self, set: usize, packet: &Packet) -> usize {
        // Connections that use a flow one after the other differ in the upper bits.
        let flow = packet.direction_index() as u32 ^ u32::from(packet.generation()) << 26;
        let ports = &self.sets[set];
        let packet = PathPacket { now: packet.time, flow };
        ports[self.policy.choose(packet, EqualPaths { set, ports }, &mut self.rng)] as usize
    }
}
