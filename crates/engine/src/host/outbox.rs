//! Where endpoints send.

use std::collections::VecDeque;

use crate::driver::node::Lanes;
use crate::host::send_path::SendPath;
use crate::link::Link;
use crate::packet::Packet;

/// Where an endpoint sends.
pub(crate) struct Outbox<'a> {
    pub exit: Exit<'a>,
    /// `None` if packets leave at once.
    pub path: Option<&'a mut SendPath>,
    pub lanes: &'a mut Lanes,
}

/// How packets leave a host.
pub(crate) enum Exit<'a> {
    /// Over its uplink, and on from there.
    Uplink(&'a mut Link),
    /// Where the first node of their route is.
    Network,
    /// By an adapter, which takes them from here.
    Adapter(&'a mut VecDeque<Packet>),
}

impl<'a> Exit<'a> {
    /// Over the uplink, if there is one.
    #[inline(always)]
    pub fn over(uplink: Option<&'a mut Link>) -> Self {
        uplink.map_or(Self::Network, Self::Uplink)
    }
}

impl Outbox<'_> {
    /// The endpoint at this place of its host sends the next packets.
    #[inline(always)]
    pub fn turn_to(&mut self, place: u32) {
        if let Some(path) = &mut self.path {
            path.turn_to(place);
        }
    }

    /// Sends a packet, at `packet.time`; the times never decrease.
    #[inline(always)]
    pub fn send(&mut self, mut packet: Packet) {
        if let Some(path) = &mut self.path {
            path.process(&mut packet);
        }
        self.leave(packet);
    }

    /// Sends a packet that the device queue may drop.
    #[inline(always)]
    pub fn send_datagram(&mut self, mut packet: Packet) {
        if let Some(path) = &mut self.path {
            path.process(&mut packet);
            if let Exit::Uplink(uplink) = &self.exit
                && !path.admit(&packet, uplink, &self.lanes.measured)
            {
                return;
            }
        }
        self.leave(packet);
    }

    #[inline(always)]
    fn leave(&mut self, packet: Packet) {
        let Self { exit, lanes, .. } = self;
        match exit {
            Exit::Uplink(uplink) => match uplink.pass(packet, &lanes.measured, &lanes.sacks) {
                Some(passed) => lanes.send(passed),
                None => lanes.release(&packet),
            },
            Exit::Network => lanes.send(packet),
            Exit::Adapter(frames) => frames.push_back(packet),
        }
    }
}
