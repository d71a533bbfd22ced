//! NDP at a host: its flows, and the pull queue of its receivers.

use std::sync::Arc;

use forebay_qdisc::{Rate, Time};
use forebay_rdma::{Hop, NDP_HEADER_BYTES, NdpNetwork, NdpPacket, NdpPullQueue, NdpReceiver, NdpSender};
use rand_pcg::rand_core::Rng;

use crate::host::nic::transport::{Arrival, Control, Message, Outgoing, Pulled, Transport};
use crate::packet::header::Header;
use crate::spec::RdmaTransport;

/// The parts that the flows at a host share.
pub(crate) struct Ndp {
    /// `None` where no flows end.
    pulls: Option<NdpPullQueue>,
    /// The flows by their numbers at the pull queue.
    flows: Vec<Pulled>,
}

/// A flow at its destination, with its number at the pull queue.
pub(crate) struct Receiver {
    packets: NdpReceiver,
    pulled: u32,
}

impl Transport for Ndp {
    type Network = NdpNetwork;
    type Sender = NdpSender;
    type Receiver = Receiver;

    fn network(of: &RdmaTransport) -> Option<&Arc<NdpNetwork>> {
        match of {
            RdmaTransport::Ndp(network) => Some(network),
            _ => None,
        }
    }

    fn line_rate(network: &NdpNetwork) -> Rate {
        network.line_rate
    }

    fn new<'a>(mut ending: impl Iterator<Item = &'a NdpNetwork>) -> Self {
        Self { pulls: ending.next().map(NdpPullQueue::new), flows: Vec::new() }
    }

    fn sender(&mut self, message: &Message<Self>, rng: &mut dyn Rng) -> NdpSender {
        NdpSender::new(message.bytes, &message.network, rng)
    }

    fn receiver(&mut self, message: &Message<Self>, place: u32) -> Receiver {
        self.flows.push(Pulled::new(place, message.network.paths));
        Receiver { packets: NdpReceiver::default(), pulled: self.pulls.as_mut().map_or(0, NdpPullQueue::add) }
    }

    fn ready_at(sender: &NdpSender, network: &NdpNetwork) -> Time {
        if sender.is_ready(network) { Time::ZERO } else { Time::NEVER }
    }

    fn next_packet(
        sender: &mut NdpSender,
        network: &NdpNetwork,
        now: Time,
        _ready: u32,
        rng: &mut dyn Rng,
    ) -> Option<Outgoing> {
        let packet = sender.next_packet(now, rng, network)?;
        let NdpPacket { number, wire_bytes, is_retransmission, .. } = packet;
        let ranked_from = number * network.payload_bytes();
        let header = Header::NdpData(packet);
        Some(Outgoing { header, wire_bytes, ranked_from, is_retransmission, is_trimmable: true })
    }

    fn is_complete(sender: &NdpSender, network: &NdpNetwork) -> bool {
        sender.is_complete(network)
    }

    fn timeouts(sender: &NdpSender) -> u64 {
        u64::from(sender.timeouts())
    }

    fn on_answer(sender: &mut NdpSender, network: &NdpNetwork, header: &Header, _telemetry: &[Hop], now: Time) {
        match header {
            Header::NdpReply(reply) => sender.on_reply(reply, now, network),
            Header::NdpPull(number, _) => sender.on_pull(*number, now, network),
            _ => {}
        }
    }

    fn timer(sender: &NdpSender, _network: &NdpNetwork) -> Time {
        sender.timer()
    }

    fn on_timer(sender: &mut NdpSender, network: &NdpNetwork, now: Time, _rng: &mut dyn Rng) -> Option<(Header, u32)> {
        sender.on_timer(now, network);
        None
    }

    fn on_data(&mut self, receiver: &mut Receiver, _network: &NdpNetwork, arrival: &Arrival) -> Option<(Header, u32)> {
        let Header::NdpData(packet) = arrival.header else { return None };
        let reply = receiver.packets.on_packet(&packet, arrival.is_trimmed);
        if let Some(pulls) = &mut self.pulls {
            if reply.wants_pull {
                pulls.request(receiver.pulled, arrival.now);
            }
            if reply.is_complete {
                pulls.release(receiver.pulled);
            }
        }
        Some((Header::NdpReply(reply), NDP_HEADER_BYTES))
    }

    fn payload_bytes(receiver: &Receiver) -> u64 {
        receiver.packets.payload_bytes()
    }

    fn host_timer(&self) -> Time {
        self.pulls.as_ref().map_or(Time::NEVER, NdpPullQueue::timer)
    }

    fn on_host_timer(&mut self, now: Time) -> Option<Control> {
        let pull = self.pulls.as_mut()?.on_timer(now)?;
        let flow = &mut self.flows[pull.flow as usize];
        let header = Header::NdpPull(pull.number, flow.next_path());
        Some(Control { place: flow.place, header, wire_bytes: NDP_HEADER_BYTES })
    }
}
