//! RoCE at a host: its queue pairs.

use std::sync::Arc;

use forebay_qdisc::{Rate, Time};
use forebay_rdma::{
    Acknowledgement, DataPacket, GoBackNReceiver, Hop, IrnReceiver, Next, QueuePair, Recovery, Reply, ReplyKind,
    RoceNetwork,
};
use rand_pcg::rand_core::Rng;

use crate::host::nic::transport::{Arrival, Message, Outgoing, Transport};
use crate::packet::header::{Header, RoceAnswer};
use crate::spec::RdmaTransport;

/// Queue pairs share nothing but the port.
pub(crate) struct Roce;

/// A queue pair that sends.
pub(crate) struct Sender {
    pair: QueuePair,
    /// By this switches choose its path. It changes only when its controller asks for another path.
    entropy: u16,
}

/// A queue pair that receives.
pub(crate) struct Receiver {
    recovery: Receiving,
    payload_bytes: u64,
}

enum Receiving {
    GoBackN(GoBackNReceiver),
    Irn(IrnReceiver),
}

impl Transport for Roce {
    type Network = RoceNetwork;
    type Sender = Sender;
    type Receiver = Receiver;

    fn network(of: &RdmaTransport) -> Option<&Arc<RoceNetwork>> {
        match of {
            RdmaTransport::Roce(network) => Some(network),
            _ => None,
        }
    }

    fn line_rate(network: &RoceNetwork) -> Rate {
        network.line_rate
    }

    fn new<'a>(_ending: impl Iterator<Item = &'a RoceNetwork>) -> Self {
        Self
    }

    fn sender(&mut self, message: &Message<Self>, _rng: &mut dyn Rng) -> Sender {
        let Message { bytes, base_round_trip, hops, network, .. } = message;
        Sender { pair: network.queue_pair(*bytes, *base_round_trip, *hops), entropy: 0 }
    }

    fn receiver(&mut self, message: &Message<Self>, _place: u32) -> Receiver {
        let recovery = match message.network.config.recovery {
            Recovery::GoBackN => Receiving::GoBackN(GoBackNReceiver::default()),
            Recovery::Irn => Receiving::Irn(IrnReceiver::default()),
        };
        Receiver { recovery, payload_bytes: 0 }
    }

    fn ready_at(sender: &Sender, network: &RoceNetwork) -> Time {
        sender.pair.next_departure(&network.config)
    }

    fn next_packet(
        sender: &mut Sender,
        network: &RoceNetwork,
        now: Time,
        _ready: u32,
        _rng: &mut dyn Rng,
    ) -> Option<Outgoing> {
        let Next::Send(packet) = sender.pair.next_packet(now, &network.config) else { return None };
        let DataPacket { sequence, wire_bytes, is_retransmission, .. } = packet;
        let header = Header::RoceData(packet, sender.entropy);
        Some(Outgoing { header, wire_bytes, ranked_from: sequence, is_retransmission, is_trimmable: false })
    }

    fn is_complete(sender: &Sender, _network: &RoceNetwork) -> bool {
        sender.pair.is_complete()
    }

    fn takes_telemetry(network: &RoceNetwork) -> bool {
        network.config.control.takes_telemetry()
    }

    fn has_window(message: &Message<Self>) -> bool {
        let Message { bytes, base_round_trip, hops, network, .. } = message;
        network.queue_pair(*bytes, *base_round_trip, *hops).window(&network.config) < u64::MAX
    }

    fn window(sender: &Sender, network: &RoceNetwork) -> f64 {
        sender.pair.window(&network.config) as f64
    }

    fn timeouts(sender: &Sender) -> u64 {
        u64::from(sender.pair.repairs().1)
    }

    fn on_answer(sender: &mut Sender, network: &RoceNetwork, header: &Header, telemetry: &[Hop], now: Time) {
        let Header::RoceAnswer(RoceAnswer { reply, sent_at }) = header else { return };
        let Reply { kind, cumulative, selective, notifies, .. } = *reply;
        if kind == ReplyKind::None {
            sender.pair.on_notification(now, &network.config);
        } else {
            let is_nack = kind == ReplyKind::Nack;
            let sent_at = Some(*sent_at);
            let ack = Acknowledgement { cumulative, is_nack, selective, notifies, sent_at, telemetry };
            sender.pair.on_ack(&ack, now, &network.config);
        }
        if sender.pair.takes_new_path() {
            sender.entropy = sender.entropy.wrapping_add(1);
        }
    }

    fn timer(sender: &Sender, _network: &RoceNetwork) -> Time {
        sender.pair.timer()
    }

    fn on_timer(sender: &mut Sender, network: &RoceNetwork, now: Time, _rng: &mut dyn Rng) -> Option<(Header, u32)> {
        sender.pair.on_timer(now, &network.config);
        None
    }

    fn on_data(&mut self, receiver: &mut Receiver, network: &RoceNetwork, arrival: &Arrival) -> Option<(Header, u32)> {
        let Header::RoceData(packet, _) = arrival.header else { return None };
        let (config, sequence, bytes) = (&network.config, packet.sequence, packet.payload_bytes);
        let reply = match &mut receiver.recovery {
            Receiving::GoBackN(receiver) => receiver.on_data(sequence, bytes, arrival.is_marked, arrival.now, config),
            Receiving::Irn(receiver) => receiver.on_data(sequence, bytes, arrival.is_marked, arrival.now, config),
        };
        receiver.payload_bytes += reply.new_bytes;
        let is_empty = reply.kind == ReplyKind::None && !reply.notifies;
        let answer = RoceAnswer { reply, sent_at: arrival.sent_at };
        (!is_empty).then_some((Header::RoceAnswer(answer), config.answer_bytes()))
    }

    fn payload_bytes(receiver: &Receiver) -> u64 {
        receiver.payload_bytes
    }
}
