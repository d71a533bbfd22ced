//! Where endpoints send.

use crate::driver::node::Lanes;
use crate::link::Link;
use crate::packet::Packet;

/// Where an endpoint sends.
pub(crate) struct Outbox<'a> {
    pub exit: Exit<'a>,
    pub lanes: &'a mut Lanes,
}

/// How packets leave a host.
pub(crate) enum Exit<'a> {
    /// Over its uplink, and on from there.
    Uplink(&'a mut Link),
    /// Where the first node of their route is.
    Network,
    /// By an adapter, which takes them from here.
    Adapter(&'a mut Vec<Packet>),
}

impl<'a> Exit<'a> {
    /// Over the uplink, if there is one.
    #[inline(always)]
    pub fn over(uplink: Option<&'a mut Link>) -> Self {
        uplink.map_or(Self::Network, Self::Uplink)
    }
}

impl Outbox<'_> {
    /// Sends a packet, at `packet.time`; the times never decrease.
    #[inline(always)]
    pub fn send(&mut self, packet: Packet) {
        let Self { exit, lanes } = self;
        match exit {
            Exit::Uplink(uplink) => match uplink.pass(packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => lanes.send(passed),
                None => lanes.release(&packet),
            },
            Exit::Network => lanes.send(packet),
            Exit::Adapter(frames) => frames.push(packet),
        }
    }
}
