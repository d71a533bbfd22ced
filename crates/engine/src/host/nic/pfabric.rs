//! pFabric at a host: its flows, of which the one with the fewest bytes left sends first.

use std::sync::Arc;

use forebay_qdisc::{Rate, Time};
use forebay_rdma::{Hop, PfabricNetwork, PfabricPacket, PfabricReceiver, PfabricSender};
use rand_pcg::rand_core::Rng;

use crate::host::nic::transport::{Arrival, Message, Outgoing, Transport};
use crate::packet::header::Header;
use crate::spec::RdmaTransport;

/// Flows share nothing but the port.
pub(crate) struct Pfabric;

/// A flow at its source, with the bytes from its next packet on.
pub(crate) struct Sender {
    packets: PfabricSender,
    remaining_bytes: u64,
}

impl Transport for Pfabric {
    type Network = PfabricNetwork;
    type Sender = Sender;
    type Receiver = PfabricReceiver;

    fn network(of: &RdmaTransport) -> Option<&Arc<PfabricNetwork>> {
        match of {
            RdmaTransport::Pfabric(network) => Some(network),
            _ => None,
        }
    }

    fn line_rate(network: &PfabricNetwork) -> Rate {
        network.line_rate
    }

    fn new<'a>(_ending: impl Iterator<Item = &'a PfabricNetwork>) -> Self {
        Self
    }

    fn sender(&mut self, message: &Message<Self>, _rng: &mut dyn Rng) -> Sender {
        let Message { bytes, base_round_trip, network, .. } = message;
        Sender { packets: PfabricSender::new(*bytes, *base_round_trip, network), remaining_bytes: *bytes }
    }

    fn receiver(&mut self, _message: &Message<Self>, _place: u32) -> PfabricReceiver {
        PfabricReceiver::default()
    }

    fn ready_at(sender: &Sender, network: &PfabricNetwork) -> Time {
        if sender.packets.is_ready(network) { Time::ZERO } else { Time::NEVER }
    }

    fn choose<'a>(&mut self, ready: impl Iterator<Item = Option<&'a Sender>>) -> usize {
        let remaining = |(_, sender): &(usize, Option<&Sender>)| sender.map(|sender| sender.remaining_bytes);
        ready.enumerate().min_by_key(remaining).map_or(0, |(index, _)| index)
    }

    fn next_packet(
        sender: &mut Sender,
        network: &PfabricNetwork,
        now: Time,
        _ready: u32,
        _rng: &mut dyn Rng,
    ) -> Option<Outgoing> {
        let packet = sender.packets.next_packet(now, network)?;
        sender.remaining_bytes = sender.packets.remaining_bytes(network);
        let PfabricPacket { wire_bytes, is_retransmission, ranked_from, .. } = packet;
        let header = Header::PfabricData(packet);
        Some(Outgoing { header, wire_bytes, ranked_from, is_retransmission, is_trimmable: false })
    }

    fn is_complete(sender: &Sender, network: &PfabricNetwork) -> bool {
        sender.packets.is_complete(network)
    }

    fn has_window(_message: &Message<Self>) -> bool {
        true
    }

    fn window(sender: &Sender, network: &PfabricNetwork) -> f64 {
        sender.packets.window_packets() * network.config.packet.0 as f64
    }

    fn timeouts(sender: &Sender) -> u64 {
        u64::from(sender.packets.timeouts())
    }

    fn on_answer(sender: &mut Sender, network: &PfabricNetwork, header: &Header, _telemetry: &[Hop], now: Time) {
        if let Header::PfabricAck(ack) = header {
            sender.packets.on_ack(ack, now, network);
            sender.remaining_bytes = sender.packets.remaining_bytes(network);
        }
    }

    fn timer(sender: &Sender, _network: &PfabricNetwork) -> Time {
        sender.packets.timer()
    }

    fn on_timer(sender: &mut Sender, network: &PfabricNetwork, now: Time, _rng: &mut dyn Rng) -> Option<(Header, u32)> {
        let probe = sender.packets.on_timer(now, network);
        sender.remaining_bytes = sender.packets.remaining_bytes(network);
        probe.map(|probe| (Header::PfabricData(probe), probe.wire_bytes))
    }

    fn on_data(
        &mut self,
        receiver: &mut PfabricReceiver,
        network: &PfabricNetwork,
        arrival: &Arrival,
    ) -> Option<(Header, u32)> {
        let Header::PfabricData(packet) = arrival.header else { return None };
        Some((Header::PfabricAck(receiver.on_packet(&packet, network)), network.header_bytes()))
    }

    fn payload_bytes(receiver: &PfabricReceiver) -> u64 {
        receiver.payload_bytes()
    }
}
