//! Where endpoints send.

use crate::driver::node::Lanes;
use crate::link::Wire;
use crate::packet::Packet;

/// Where an endpoint sends: over the uplink of its host, if that has one, and on from there.
pub(crate) struct Outbox<'a> {
    pub uplink: Option<&'a mut Wire>,
    pub lanes: &'a mut Lanes,
}

impl Outbox<'_> {
    /// Sends a packet, at `packet.time`; the times never decrease.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet) {
        let Self { uplink, lanes } = self;
        let Some(uplink) = uplink else { return lanes.send(packet) };
        match uplink.pass(packet, &lanes.measured, &lanes.sacks) {
            Some(passed) => lanes.send(passed),
            None => lanes.release(&packet),
        }
    }
}
