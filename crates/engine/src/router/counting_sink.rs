//! The sink of a port's discipline.

use forebay_qdisc::{DropReason, FlowInfo, MarkReason, Sink, Time};

use crate::driver::node::Channels;
use crate::observe::queue_counters::{Dropped, QueueCounters};
use crate::packet::Packet;

/// Counts drops, marks and trims, and frees the SACK blocks of dropped ACKs.
pub(crate) struct CountingSink<'a> {
    pub counters: &'a mut QueueCounters,
    pub channels: &'a mut Channels,
    pub now: Time,
    /// The row of the packet that arrives.
    pub arriving: Option<usize>,
    /// Whether the port leads to a host.
    pub is_last_hop: bool,
}

impl Sink<Packet> for CountingSink<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason, queued: bool) {
        let dropped = if queued { Dropped::AfterEnqueue } else { Dropped::OnArrival(self.arriving.take()) };
        self.counters.drop(&packet, reason, self.now, dropped);
        self.channels.release(&packet);
    }

    fn marked(&mut self, packet: &Packet, _reason: MarkReason) {
        self.counters.mark(packet, self.now);
    }

    fn trimmed(&mut self, packet: &Packet, cut_bytes: u32) {
        self.counters.trim(cut_bytes, self.now);
        self.channels.tables.note_trimmed(packet, self.is_last_hop);
    }

    fn flow_info(&self) -> &dyn FlowInfo<Packet> {
        &*self.channels
    }
}
