//! Ultra Ethernet at a host: its flows, and the pacer of its receivers.

use std::sync::Arc;

use forebay_qdisc::{Rate, Span, Time};
use forebay_rdma::{
    Hop, OversubscribedControl, PullPacer, SenderControl, TrimReply, UEC_HEADER_BYTES, UecNetwork, UecNext, UecPacket,
    UecReceiver, UecSender,
};
use rand_pcg::rand_core::Rng;

use crate::host::nic::transport::{Arrival, Control, Message, Outgoing, Pulled, Transport};
use crate::packet::header::Header;
use crate::spec::RdmaTransport;

/// The state that the flows at a host share.
pub(crate) struct Uec {
    pacer: Option<Pacer>,
}

/// The pacer of a host whose receivers grant credit.
struct Pacer {
    pulls: PullPacer,
    /// The flows by their numbers at the pacer.
    flows: Vec<Pulled>,
    fabric: Option<OversubscribedControl>,
    round_trip: Span,
    adapts_at: Time,
}

/// A flow at its destination.
pub(crate) struct Receiver {
    packets: UecReceiver,
    /// Its number at the pacer, until nothing is missing.
    pulled: Option<u32>,
}

impl Pacer {
    fn arrived(&mut self, flow: Option<u32>, target: i64, arrival: &Arrival) {
        if let Some(fabric) = &mut self.fabric {
            fabric.on_packet(arrival.is_marked);
            if arrival.is_trimmed {
                fabric.on_trimmed(arrival.trimmed_at_last_hop);
            }
            if self.adapts_at == Time::NEVER {
                self.adapts_at = arrival.now + OversubscribedControl::interval(self.round_trip);
            }
        }
        let Some(flow) = flow else { return };
        self.pulls.on_target(flow, target, arrival.now);
        if arrival.is_trimmed || matches!(arrival.header, Header::UecRequest(_)) {
            self.pulls.on_need(flow, arrival.now);
        }
    }

    /// Follows the marks and trims of the last interval.
    fn adapt(&mut self, now: Time) {
        if let Some(fabric) = &mut self.fabric {
            let interval = OversubscribedControl::interval(self.round_trip);
            self.adapts_at = if fabric.is_idle() { Time::NEVER } else { now + interval };
            self.pulls.set_share(fabric.on_interval());
        }
    }
}

impl Transport for Uec {
    type Network = UecNetwork;
    type Sender = UecSender;
    type Receiver = Receiver;

    fn network(of: &RdmaTransport) -> Option<&Arc<UecNetwork>> {
        match of {
            RdmaTransport::Uec(network) => Some(network),
            _ => None,
        }
    }

    fn line_rate(network: &UecNetwork) -> Rate {
        network.line_rate
    }

    fn new<'a>(mut ending: impl Iterator<Item = &'a UecNetwork>) -> Self {
        let pacer = |network: &UecNetwork| Pacer {
            pulls: PullPacer::new(network.line_rate, network.payload_bytes()),
            flows: Vec::new(),
            fabric: (network.oversubscription > 1).then(|| OversubscribedControl::new(network.oversubscription)),
            round_trip: network.round_trip,
            adapts_at: Time::NEVER,
        };
        Self { pacer: ending.find(|network| network.has_receiver_control).map(pacer) }
    }

    fn sender(&mut self, message: &Message<Self>, rng: &mut dyn Rng) -> UecSender {
        let Message { bytes, base_round_trip, network, .. } = message;
        UecSender::new(*bytes, *base_round_trip, network.first_window, network, rng)
    }

    fn receiver(&mut self, message: &Message<Self>, place: u32) -> Receiver {
        let add = |pacer: &mut Pacer| {
            let flow = pacer.pulls.add(message.network.max_window_bytes(message.base_round_trip));
            pacer.flows.resize(pacer.flows.len().max(flow as usize + 1), Pulled::default());
            pacer.flows[flow as usize] = Pulled::new(place, message.network.paths);
            flow
        };
        let pacer = self.pacer.as_mut().filter(|_| message.network.has_receiver_control);
        Receiver { packets: UecReceiver::default(), pulled: pacer.map(add) }
    }

    fn ready_at(sender: &UecSender, network: &UecNetwork) -> Time {
        if sender.is_ready(network) { Time::ZERO } else { Time::NEVER }
    }

    fn next_packet(
        sender: &mut UecSender,
        network: &UecNetwork,
        now: Time,
        ready: u32,
        rng: &mut dyn Rng,
    ) -> Option<Outgoing> {
        let UecNext::Send(packet) = sender.next_packet(now, ready, rng, network) else { return None };
        let UecPacket { number, wire_bytes, is_retransmission, .. } = packet;
        let ranked_from = number * u64::from(network.payload_bytes());
        let is_trimmable = network.has_trimming;
        Some(Outgoing { header: Header::UecData(packet), wire_bytes, ranked_from, is_retransmission, is_trimmable })
    }

    fn is_complete(sender: &UecSender, _network: &UecNetwork) -> bool {
        sender.is_complete()
    }

    fn has_window(message: &Message<Self>) -> bool {
        message.network.sender_control != SenderControl::None
    }

    fn window(sender: &UecSender, _network: &UecNetwork) -> f64 {
        sender.window().map_or(0.0, |bytes| bytes as f64)
    }

    fn timeouts(sender: &UecSender) -> u64 {
        u64::from(sender.timeouts())
    }

    fn on_answer(sender: &mut UecSender, network: &UecNetwork, header: &Header, _telemetry: &[Hop], now: Time) {
        match header {
            Header::UecAck(ack) => sender.on_ack(ack, now, network),
            Header::UecNack(nack) => sender.on_nack(nack, now, network),
            Header::UecPull(granted, _) => sender.on_pull(*granted),
            _ => {}
        }
    }

    fn timer(sender: &UecSender, _network: &UecNetwork) -> Time {
        sender.timer()
    }

    fn on_timer(sender: &mut UecSender, network: &UecNetwork, now: Time, rng: &mut dyn Rng) -> Option<(Header, u32)> {
        sender.on_timer(now, rng, network).map(|request| (Header::UecRequest(request), UEC_HEADER_BYTES))
    }

    fn on_data(&mut self, receiver: &mut Receiver, _network: &UecNetwork, arrival: &Arrival) -> Option<(Header, u32)> {
        let target = match arrival.header {
            Header::UecData(packet) => packet.pull_target,
            Header::UecRequest(request) => request.pull_target,
            _ => return None,
        };
        if let Some(pacer) = &mut self.pacer {
            pacer.arrived(receiver.pulled, target, arrival);
        }
        let answer = match arrival.header {
            Header::UecData(packet) if arrival.is_trimmed => {
                let is_last_hop = arrival.trimmed_at_last_hop;
                match receiver.packets.on_trimmed(&packet, arrival.is_marked, is_last_hop) {
                    TrimReply::Nack(nack) => Header::UecNack(nack),
                    TrimReply::Ack(ack) => Header::UecAck(ack),
                }
            }
            Header::UecData(packet) => Header::UecAck(receiver.packets.on_data(&packet, arrival.is_marked)?),
            Header::UecRequest(request) => Header::UecAck(receiver.packets.on_request(request.entropy)),
            _ => return None,
        };
        Some((answer, UEC_HEADER_BYTES))
    }

    fn payload_bytes(receiver: &Receiver) -> u64 {
        receiver.packets.payload_bytes()
    }

    fn on_delivered(&mut self, receiver: &mut Receiver) {
        if let (Some(pacer), Some(flow)) = (&mut self.pacer, receiver.pulled.take()) {
            pacer.pulls.remove(flow);
        }
    }

    fn host_timer(&self) -> Time {
        self.pacer.as_ref().map_or(Time::NEVER, |pacer| pacer.pulls.timer().min(pacer.adapts_at))
    }

    fn on_host_timer(&mut self, now: Time) -> Option<Control> {
        let pacer = self.pacer.as_mut()?;
        if pacer.adapts_at <= now {
            pacer.adapt(now);
            return None;
        }
        let pull = pacer.pulls.on_timer(now)?;
        let flow = &mut pacer.flows[pull.flow as usize];
        let header = Header::UecPull(pull.granted, flow.next_path());
        Some(Control { place: flow.place, header, wire_bytes: UEC_HEADER_BYTES })
    }
}
