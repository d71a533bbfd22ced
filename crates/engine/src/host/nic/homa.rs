//! Homa at a host: the order of the messages that begin here, and the grants for those that end here.

use std::sync::Arc;

use forebay_qdisc::{Rate, Time};
use forebay_rdma::{
    HOMA_HEADER_BYTES, HomaControl, HomaNetwork, HomaOrder, HomaPacket, HomaReceivers, HomaSender, Hop,
};
use rand_pcg::rand_core::Rng;

use crate::host::nic::transport::{Arrival, Control, Message, Outgoing, Transport};
use crate::packet::header::Header;
use crate::spec::RdmaTransport;

/// The parts that the messages at a host share.
pub(crate) struct Homa {
    order: HomaOrder,
    /// `None` where no messages end.
    receivers: Option<HomaReceivers>,
    /// The places of the messages that end here, by their numbers at `receivers`.
    places: Vec<u32>,
}

/// A message at its destination.
pub(crate) struct Receiver {
    /// Its number at the receivers of its host, from its first packet on.
    number: Option<u32>,
    bytes: u64,
    source: u32,
    place: u32,
    payload_bytes: u64,
}

fn control(control: HomaControl) -> (Header, u32) {
    (Header::HomaControl(control), HOMA_HEADER_BYTES)
}

impl Transport for Homa {
    type Network = HomaNetwork;
    type Sender = HomaSender;
    type Receiver = Receiver;

    fn network(of: &RdmaTransport) -> Option<&Arc<HomaNetwork>> {
        match of {
            RdmaTransport::Homa(network) => Some(network),
            _ => None,
        }
    }

    fn line_rate(network: &HomaNetwork) -> Rate {
        network.line_rate
    }

    fn new<'a>(mut ending: impl Iterator<Item = &'a HomaNetwork>) -> Self {
        let receivers = ending.next().map(|network| HomaReceivers::new(network.clone()));
        Self { order: HomaOrder::default(), receivers, places: Vec::new() }
    }

    fn sender(&mut self, message: &Message<Self>, _rng: &mut dyn Rng) -> HomaSender {
        self.order.begin(message.bytes, &message.network)
    }

    fn receiver(&mut self, message: &Message<Self>, place: u32) -> Receiver {
        Receiver { number: None, bytes: message.bytes, source: message.source, place, payload_bytes: 0 }
    }

    fn ready_at(sender: &HomaSender, _network: &HomaNetwork) -> Time {
        if sender.is_ready() { Time::ZERO } else { Time::NEVER }
    }

    fn choose<'a>(&mut self, ready: impl Iterator<Item = Option<&'a HomaSender>>) -> usize {
        self.order.choose(ready)
    }

    fn class(header: &Header, network: &HomaNetwork, of_flow: u8) -> u8 {
        let priority = match header {
            Header::HomaData(packet) => packet.priority,
            _ => network.highest_priority(),
        };
        of_flow.saturating_add(priority)
    }

    fn next_packet(
        sender: &mut HomaSender,
        network: &HomaNetwork,
        now: Time,
        _ready: u32,
        _rng: &mut dyn Rng,
    ) -> Option<Outgoing> {
        let packet = sender.next_packet(now, network)?;
        let HomaPacket { offset, wire_bytes, is_retransmission, .. } = packet;
        let header = Header::HomaData(packet);
        Some(Outgoing { header, wire_bytes, ranked_from: offset, is_retransmission, is_trimmable: false })
    }

    fn is_complete(sender: &HomaSender, _network: &HomaNetwork) -> bool {
        sender.is_complete()
    }

    fn timeouts(sender: &HomaSender) -> u64 {
        u64::from(sender.timeouts())
    }

    fn on_answer(sender: &mut HomaSender, _network: &HomaNetwork, header: &Header, _telemetry: &[Hop], now: Time) {
        if let Header::HomaControl(control) = header {
            sender.on_control(control, now);
        }
    }

    fn timer(sender: &HomaSender, network: &HomaNetwork) -> Time {
        sender.timer(network)
    }

    fn on_timer(
        sender: &mut HomaSender,
        network: &HomaNetwork,
        now: Time,
        _rng: &mut dyn Rng,
    ) -> Option<(Header, u32)> {
        sender.on_timer(now, network).map(control)
    }

    fn on_data(&mut self, receiver: &mut Receiver, network: &HomaNetwork, arrival: &Arrival) -> Option<(Header, u32)> {
        let Arrival { header, now, .. } = *arrival;
        let receivers = self.receivers.as_mut()?;
        let number = *receiver.number.get_or_insert_with(|| {
            self.places.push(receiver.place);
            receivers.add(receiver.bytes, receiver.source, network, now)
        });
        let answer = match header {
            Header::HomaData(packet) => receivers.on_packet(number, &packet, now),
            Header::HomaControl(control) => receivers.on_control(number, control, now),
            _ => None,
        };
        receiver.payload_bytes = receivers.payload_bytes(number);
        answer.map(control)
    }

    fn payload_bytes(receiver: &Receiver) -> u64 {
        receiver.payload_bytes
    }

    fn host_timer(&self) -> Time {
        self.receivers.as_ref().map_or(Time::NEVER, HomaReceivers::timer)
    }

    fn on_host_timer(&mut self, now: Time) -> Option<Control> {
        let outgoing = self.receivers.as_mut()?.on_timer(now)?;
        let (header, wire_bytes) = control(outgoing.control);
        Some(Control { place: self.places[outgoing.message as usize], header, wire_bytes })
    }
}
