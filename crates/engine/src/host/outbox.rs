//! Where endpoints send.

use std::collections::VecDeque;

use forebay_qdisc::Time;

use crate::driver::node::Channels;
use crate::driver::routes::Way;
use crate::host::send_path::SendPath;
use crate::link::Link;
use crate::packet::Packet;

/// The outgoing side of an endpoint.
pub(crate) struct Outbox<'a> {
    pub exit: Exit<'a>,
    /// `None` if packets leave at once.
    pub path: Option<&'a mut SendPath>,
    pub channels: &'a mut Channels,
}

/// The ports of a host's node, which it sends by without an uplink.
#[derive(Clone, Copy)]
pub(crate) struct NodePorts {
    pub way: Way,
    /// The number of the first endpoint among the inputs there.
    pub first_input: u32,
}

/// The way by which packets leave a host.
pub(crate) enum Exit<'a> {
    /// Over its uplink, and on from there.
    Uplink(&'a mut Link),
    /// The ports of its node, with the place of the sending endpoint among those of its host.
    Ports(&'a NodePorts, u32),
    /// An adapter, which takes them from here.
    Adapter(&'a mut VecDeque<Packet>),
}

impl<'a> Exit<'a> {
    /// Over the uplink, if there is one.
    #[inline(always)]
    pub fn over(uplink: Option<&'a mut Link>, ports: &'a NodePorts) -> Self {
        uplink.map_or(Self::Ports(ports, 0), Self::Uplink)
    }
}

impl Outbox<'_> {
    /// The endpoint at this place of its host sends the next packets.
    #[inline(always)]
    pub fn turn_to(&mut self, place: u32) {
        if let Exit::Ports(_, of_sender) = &mut self.exit {
            *of_sender = place;
        }
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

    /// When the last packet leaves a private uplink; the start of the run without one.
    pub fn departure(&self) -> Time {
        if let Exit::Uplink(uplink) = &self.exit { uplink.free_at } else { Time::ZERO }
    }

    /// Sends a packet that the device queue may drop.
    #[inline(always)]
    pub fn send_datagram(&mut self, mut packet: Packet) {
        if let Some(path) = &mut self.path {
            path.process(&mut packet);
            if let Exit::Uplink(uplink) = &self.exit
                && !path.admit(&packet, uplink, &self.channels.measured)
            {
                return;
            }
        }
        self.leave(packet);
    }

    #[inline(always)]
    fn leave(&mut self, packet: Packet) {
        let Self { exit, channels, .. } = self;
        match exit {
            Exit::Uplink(uplink) => uplink.pass_on(&packet, channels),
            Exit::Ports(ports, place) => {
                channels.send(ports.way, packet.arriving(packet.time, ports.first_input + *place));
            }
            Exit::Adapter(frames) => frames.push_back(packet),
        }
    }
}
