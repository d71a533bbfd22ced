//! The forwarding table of a node that is one node of the driver, and may choose among equal paths by what it has seen.
//!
//! A policy without state is a function that any sender may call, so a packet finds the port of the next router while
//! it is sent, ahead of its arrival ([`crate::driver::routes`]). A policy with state must see the packets of its node
//! in the order of their arrivals. That order exists in one place only: where a node of the driver takes its inbox. So:
//!
//! - A crossbar or an Ethernet switch, which is one such node, owns the policy with its table, here.
//! - Any other router, or host with several links, gets a node of its own in front of its ports, a
//!   [`PathChooser`](crate::router::path_chooser::PathChooser). Tables lead there if there is a choice, and to the port
//!   at once if there is none. Routers without such a policy have no such node: nothing changes for them.
//! - From the chooser to the ports there is no delay. The packet keeps its time and its input, so a port orders its
//!   packets as before, and the same for any number of threads.
//! - A policy that sees all packets (CONGA) has such nodes at all switches, and tables lead there always. Data carry
//!   its label in the bits of the rate label.
//! - A set of equal paths is a sorted list of ports, the same for all destinations with these next hops, and in all
//!   periods between changes of routes.

use std::sync::Arc;

use forebay_switching::{Carried, EqualPaths, PathPacket, StatefulPolicy};
use rand_pcg::Pcg64Mcg;

use crate::driver::node::Channels;
use crate::driver::routes::{Destinations, ForwardingTable, Way};
use crate::packet::Packet;

// Labels take the place of rate labels and of the tags of congestion points: no network has two of these.
const _: () = assert!(1 << PathPacket::LABEL_BITS == Packet::MOST_TAGS + 1);

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
    /// By the number of a destination, the leaf to which it is attached, if the policy sees all packets.
    leaf_of: Option<Arc<[u32]>>,
}

impl NodeTable {
    /// Packets find their outputs in `table`, by `way`.
    pub fn new(table: ForwardingTable, way: Way) -> Self {
        Self { table, way, chooser: None }
    }

    /// The same, where `policy` chooses among the outputs of `sets`. A policy that sees all packets needs `leaf_of`.
    pub fn choosing(
        self,
        sets: Vec<Box<[u32]>>,
        policy: Box<dyn StatefulPolicy>,
        rng: Pcg64Mcg,
        leaf_of: Option<Arc<[u32]>>,
    ) -> Self {
        Self { chooser: Some(Box::new(Chooser { sets, policy, rng, leaf_of })), ..self }
    }

    /// The output of a packet that arrives now, and its label if the policy writes one. Asked once for each.
    #[inline(always)]
    fn look_up(&mut self, packet: &Packet, channels: &Channels) -> (usize, Option<u16>) {
        let Self { table, way, chooser } = self;
        let entry = table.look_up(*way, packet, &channels.routes.destinations, &channels.tables);
        match (ForwardingTable::set_of(entry), chooser) {
            (Some(set), Some(chooser)) => chooser.choose(set, packet, &channels.routes.destinations),
            _ => (entry as usize, None),
        }
    }

    /// The output of a packet that arrives now at a node whose policy writes no labels. Asked once for each.
    #[inline(always)]
    pub fn output_of(&mut self, packet: &Packet, channels: &Channels) -> usize {
        self.look_up(packet, channels).0
    }

    /// The output of a packet that arrives now, and the packet as it leaves. Asked once for each.
    pub fn forward(&mut self, packet: &Packet, channels: &Channels) -> (usize, Packet) {
        let (output, label) = self.look_up(packet, channels);
        let labelled = label.map(|label| packet.with_limiter_tag(label.into()));
        (output, labelled.unwrap_or_else(|| packet.word_by_word()))
    }
}

impl Chooser {
    /// The output of a packet, and its label if the policy writes one.
    #[inline(never)]
    fn choose(&mut self, set: usize, packet: &Packet, ends: &Destinations) -> (usize, Option<u16>) {
        // Connections that use a flow one after the other differ in the upper bits.
        let flow = packet.direction_index() as u32 ^ u32::from(packet.generation()) << 26;
        let ports = &self.sets[set];
        let carried = self.leaf_of.as_deref().map(|leaf_of| Carried {
            input: packet.input(),
            leaves: ends.of_both_ends(packet).map(|end| leaf_of[end as usize]),
            // The stamp of an ACK has no room.
            label: (!packet.is_ack()).then(|| packet.limiter_tag() as u16),
        });
        let mut packet = PathPacket { now: packet.time, flow, len_bytes: packet.len_bytes(), carried };
        let output = ports[self.policy.choose(&mut packet, EqualPaths { set, ports }, &mut self.rng)] as usize;
        (output, packet.carried.and_then(|carried| carried.label))
    }
}
