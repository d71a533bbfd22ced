//! The node of a router that chooses among equal paths, in front of its ports: see [`crate::driver::node_table`].

use forebay_qdisc::Time;

use crate::driver::node::{Channels, Node, NodeId};
use crate::driver::node_table::NodeTable;
use crate::driver::routes::Way;
use crate::observe::report::Report;

pub(crate) struct PathChooser {
    table: NodeTable,
    /// The port of each output.
    ways: Vec<Way>,
}

impl PathChooser {
    pub fn new(table: NodeTable, ways: Vec<Way>) -> Self {
        Self { table, ways }
    }
}

impl Node for PathChooser {
    fn next(&self) -> Time {
        Time::NEVER
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        for packet in &packets {
            let (output, packet) = self.table.forward(packet, channels);
            channels.send(self.ways[output], packet);
        }
        channels.give_back(packets);
        (until, Time::NEVER)
    }

    fn finish(&mut self, _end: Time, _report: &mut Report) {}
}
