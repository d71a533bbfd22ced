//! The interface of an RDMA transport: senders and receivers of flows, and the state that they share at a host.

use std::sync::Arc;

use forebay_qdisc::{Rate, Span, Time};
use forebay_rdma::Hop;
use rand_pcg::rand_core::Rng;

use crate::packet::header::Header;
use crate::spec::RdmaTransport;

/// A packet that leaves now.
pub(crate) struct Outgoing {
    pub header: Header,
    pub wire_bytes: u32,
    /// Bytes of the message that do not count for the rank of the packet: usually those before its first one.
    pub ranked_from: u64,
    pub is_retransmission: bool,
    /// Whether a switch may cut off its payload.
    pub is_trimmable: bool,
}

/// A control packet to the other end of a flow.
pub(crate) struct Control {
    /// The flow's place among those that begin or end here.
    pub place: u32,
    pub header: Header,
    pub wire_bytes: u32,
}

/// A flow that its receiver asks for packets: its place among those that end here. The requests take its paths in turn.
#[derive(Clone, Copy, Default)]
pub(super) struct Pulled {
    pub place: u32,
    path: u16,
    /// A power of two, less 1.
    last_path: u16,
}

impl Pulled {
    pub fn new(place: u32, paths: u16) -> Self {
        Self { place, path: 0, last_path: paths.max(1) - 1 }
    }

    pub fn next_path(&mut self) -> u16 {
        self.path = self.path.wrapping_add(1) & self.last_path;
        self.path
    }
}

/// A data packet, or what is left of one, at its destination.
pub(crate) struct Arrival {
    pub header: Header,
    pub now: Time,
    pub is_marked: bool,
    pub is_trimmed: bool,
    pub trimmed_at_last_hop: bool,
    /// When it left its source.
    pub sent_at: Time,
}

/// A transport: its senders and receivers, and in itself what they share at a host.
pub(crate) trait Transport: Send + Sized {
    /// The constants that the flows of a group share.
    type Network: Send + Sync;
    type Sender: Send;
    type Receiver: Send;

    /// The constants, if they are of this transport.
    fn network(of: &RdmaTransport) -> Option<&Arc<Self::Network>>;

    /// The rate of the hosts.
    fn line_rate(network: &Self::Network) -> Rate;

    /// At the host where flows with these constants end.
    fn new<'a>(ending: impl Iterator<Item = &'a Self::Network>) -> Self
    where
        Self: 'a;

    fn sender(&mut self, message: &Message<Self>, rng: &mut dyn Rng) -> Self::Sender;

    /// `place` is the flow's place among those that end here.
    fn receiver(&mut self, message: &Message<Self>, place: u32) -> Self::Receiver;

    /// When a sender may send its next packet, if it need not wait for an answer: not later than `now`, or when its
    /// pace allows it; else [`Time::NEVER`].
    fn ready_at(sender: &Self::Sender, network: &Self::Network) -> Time;

    /// The packet that leaves now, if one may. `ready` flows wait for the port, with this one.
    fn next_packet(
        sender: &mut Self::Sender,
        network: &Self::Network,
        now: Time,
        ready: u32,
        rng: &mut dyn Rng,
    ) -> Option<Outgoing>;

    /// Which of the flows that wait for the port sends next; the first one waits longest.
    fn choose<'a>(&mut self, _ready: impl Iterator<Item = Option<&'a Self::Sender>>) -> usize
    where
        Self: 'a,
    {
        0
    }

    /// The traffic class of a packet of a flow with this class.
    fn class(_header: &Header, _network: &Self::Network, of_flow: u8) -> u8 {
        of_flow
    }

    fn is_complete(sender: &Self::Sender, network: &Self::Network) -> bool;

    /// Whether switches append telemetry to its data.
    fn takes_telemetry(_network: &Self::Network) -> bool {
        false
    }

    /// Whether a window bounds the data in flight of a message.
    fn has_window(_message: &Message<Self>) -> bool {
        false
    }

    /// The window in bytes; 0 without one.
    fn window(_sender: &Self::Sender, _network: &Self::Network) -> f64 {
        0.0
    }

    fn timeouts(sender: &Self::Sender) -> u64;

    /// An answer has arrived, with the telemetry of the packet that caused it.
    fn on_answer(sender: &mut Self::Sender, network: &Self::Network, header: &Header, telemetry: &[Hop], now: Time);

    /// When the sender acts by itself.
    fn timer(sender: &Self::Sender, network: &Self::Network) -> Time;

    /// Returns a control packet for the receiver, with its length, if one is due.
    fn on_timer(
        sender: &mut Self::Sender,
        network: &Self::Network,
        now: Time,
        rng: &mut dyn Rng,
    ) -> Option<(Header, u32)>;

    /// Data has arrived. Returns an answer, with its length.
    fn on_data(
        &mut self,
        receiver: &mut Self::Receiver,
        network: &Self::Network,
        arrival: &Arrival,
    ) -> Option<(Header, u32)>;

    /// Payload that has been delivered.
    fn payload_bytes(receiver: &Self::Receiver) -> u64;

    /// Nothing of the flow is missing.
    fn on_delivered(&mut self, _receiver: &mut Self::Receiver) {}

    /// When the host sends a control packet by itself.
    fn host_timer(&self) -> Time {
        Time::NEVER
    }

    /// The control packet to the source of a flow that ends here, if one is due.
    fn on_host_timer(&mut self, _now: Time) -> Option<Control> {
        None
    }
}

/// A message, the data of a flow.
pub(crate) struct Message<T: Transport> {
    pub bytes: u64,
    /// The round trip of a full packet and its ACK without queues.
    pub base_round_trip: Span,
    /// Links of the path, one way.
    pub hops: u32,
    /// The number of the endpoint from which it comes.
    pub source: u32,
    pub network: Arc<T::Network>,
}
