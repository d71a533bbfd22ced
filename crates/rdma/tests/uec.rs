//! Ultra Ethernet over a channel that loses, trims, marks and reorders: each byte is delivered once.

use std::collections::BTreeMap;

use forebay_rdma::{
    LoadBalancing, PullPacer, RequestToSend, SenderControl, TrimReply, UecAck, UecNack, UecNetwork, UecNext, UecPacket,
    UecReceiver, UecSender,
};
use forebay_units::{Rate, Span, Time};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// The fate of a data packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    IsMarked,
    IsTrimmed(bool),
    IsLost,
}

/// A packet on its way.
enum Packet {
    Data(UecPacket, Fate),
    Request(RequestToSend),
    Ack(UecAck),
    Nack(UecNack),
    Pull(i64),
}

/// The fates of packets in the order in which they leave, with their delays. Later ones arrive in order.
struct Channel {
    fates: std::vec::IntoIter<(Fate, u64)>,
    packets: BTreeMap<(Time, u64), Packet>,
    sent: u64,
}

impl Channel {
    fn send(&mut self, now: Time, packet: impl FnOnce(Fate) -> Packet) {
        let (fate, delay) = self.fates.next().unwrap_or((Fate::Arrives, 0));
        self.sent += 1;
        if fate != Fate::IsLost {
            let arrival = now + Span::from_nanoseconds(6_000 + delay);
            self.packets.insert((arrival, self.sent), packet(fate));
        }
    }
}

struct Transfer {
    sender: UecSender,
    receiver: UecReceiver,
    pacer: PullPacer,
    flow: u32,
    channel: Channel,
    rng: Pcg64Mcg,
    network: UecNetwork,
    now: Time,
    port_free: Time,
}

impl Transfer {
    fn arrive(&mut self, packet: Packet) {
        let (now, network) = (self.now, self.network);
        match packet {
            Packet::Data(packet, Fate::IsTrimmed(is_last_hop)) => {
                let reply = self.receiver.on_trimmed(&packet, false, is_last_hop);
                self.pacer.on_target(self.flow, packet.pull_target, now);
                self.pacer.on_need(self.flow, now);
                self.channel.send(now, |_| match reply {
                    TrimReply::Nack(nack) => Packet::Nack(nack),
                    TrimReply::Ack(ack) => Packet::Ack(ack),
                });
            }
            Packet::Data(packet, fate) => {
                self.pacer.on_target(self.flow, packet.pull_target, now);
                if let Some(ack) = self.receiver.on_data(&packet, fate == Fate::IsMarked) {
                    self.channel.send(now, |_| Packet::Ack(ack));
                }
            }
            Packet::Request(request) => {
                self.pacer.on_target(self.flow, request.pull_target, now);
                self.pacer.on_need(self.flow, now);
                let ack = self.receiver.on_request(request.entropy);
                self.channel.send(now, |_| Packet::Ack(ack));
            }
            Packet::Ack(ack) => self.sender.on_ack(&ack, now, &network),
            Packet::Nack(nack) => self.sender.on_nack(&nack, now, &network),
            Packet::Pull(granted) => self.sender.on_pull(granted),
        }
    }

    /// Runs to the end of the flow, and returns its time.
    fn run(&mut self) -> Time {
        for _ in 0..500_000 {
            let mut ready = Time::NEVER;
            if self.sender.is_complete() {
                return self.now;
            }
            if self.sender.is_ready(&self.network) {
                ready = self.port_free;
            }
            if ready <= self.now {
                match self.sender.next_packet(self.now, 1, &mut self.rng, &self.network) {
                    UecNext::Send(packet) => {
                        self.channel.send(self.now, |fate| Packet::Data(packet, fate));
                        let wire_bytes = u64::from(packet.wire_bytes);
                        self.port_free = self.now + self.network.line_rate.transmission_time(wire_bytes);
                    }
                    other => panic!("ready, but {other:?}"),
                }
                continue;
            }
            let arrival = self.channel.packets.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let pull = if self.network.has_receiver_control { self.pacer.timer() } else { Time::NEVER };
            self.now = ready.min(arrival).min(pull).min(self.sender.timer());
            assert_ne!(self.now, Time::NEVER, "nothing can happen: {:?}", self.sender);
            if self.sender.timer() <= self.now {
                if let Some(request) = self.sender.on_timer(self.now, &mut self.rng, &self.network) {
                    self.channel.send(self.now, |_| Packet::Request(request));
                }
                assert!(self.sender.timer() > self.now);
            } else if pull <= self.now {
                if let Some(pull) = self.pacer.on_timer(self.now) {
                    self.channel.send(self.now, |_| Packet::Pull(pull.granted));
                }
            } else if arrival <= self.now {
                let packet = self.channel.packets.pop_first().expect("a packet arrives").1;
                self.arrive(packet);
            }
        }
        panic!("no end after 500 000 steps: {:?}", self.sender);
    }
}

fn transfer(bytes: u64, network: UecNetwork, fates: Vec<(Fate, u64)>) -> Transfer {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut pacer = PullPacer::new(network.line_rate, network.payload_bytes());
    let flow = pacer.add(network.max_window_bytes(network.round_trip));
    Transfer {
        sender: UecSender::new(bytes, network.round_trip, None, &network, &mut rng),
        receiver: UecReceiver::default(),
        pacer,
        flow,
        channel: Channel { fates: fates.into_iter(), packets: BTreeMap::new(), sent: 0 },
        rng,
        network,
        now: Time::ZERO,
        port_free: Time::ZERO,
    }
}

fn network() -> UecNetwork {
    UecNetwork::new(Rate::megabits(100_000), Span::from_picoseconds(14_022_720))
}

fn fate() -> impl Strategy<Value = (Fate, u64)> {
    let fate = prop_oneof![
        6 => Just(Fate::Arrives),
        2 => Just(Fate::IsMarked),
        2 => any::<bool>().prop_map(Fate::IsTrimmed),
        1 => Just(Fate::IsLost),
    ];
    (fate, 0_u64..20_000)
}

const CONTROLS: [(SenderControl, bool); 6] = [
    (SenderControl::Nscc, false),
    (SenderControl::Nscc, true),
    (SenderControl::None, true),
    (SenderControl::Dctcp, false),
    (SenderControl::Dctcp, true),
    (SenderControl::Constant, false),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        bytes in 1_u64..600_000,
        fates in prop::collection::vec(fate(), 0..300),
        balancing in prop::sample::select(
            [LoadBalancing::Oblivious, LoadBalancing::Bitmap, LoadBalancing::Reps, LoadBalancing::Mixed].to_vec(),
        ),
    ) {
        for (sender, receiver) in CONTROLS {
            let network = network().with_control(sender, receiver).with_paths(balancing, 64);
            let mut transfer = transfer(bytes, network, fates.clone());
            transfer.run();
            prop_assert_eq!(transfer.receiver.payload_bytes(), bytes, "{:?} {}", sender, receiver);
        }
    }
}

#[test]
fn a_flow_alone_needs_the_time_of_its_bytes() {
    for (sender, receiver) in
        [(SenderControl::Nscc, false), (SenderControl::Dctcp, false), (SenderControl::Constant, false)]
    {
        let network = network().with_control(sender, receiver);
        let mut transfer = transfer(2_000_000, network, Vec::new());
        let end = transfer.run();
        // 490 packets, then twice 6 us of the channel: the last packet arrives 6 us after it began to leave.
        let wire_bytes = 2_000_000 + 490 * 64;
        let last = 2_000_000 - 489 * 4_086 + 64;
        let expected = network.line_rate.transmission_time(wire_bytes - last) + Span::from_microseconds(12);
        assert_eq!(end.since(Time::ZERO).picoseconds(), expected.picoseconds(), "{sender:?}");
        assert_eq!(transfer.sender.retransmitted_packets(), 0);
    }
}

#[test]
fn credit_keeps_a_flow_at_99_percent_of_the_rate() {
    for sender in [SenderControl::None, SenderControl::Nscc] {
        let network = network().with_control(sender, true);
        let mut transfer = transfer(20_000_000, network, Vec::new());
        let end = transfer.run().seconds();
        let full = (20_000_000.0 + 4_895.0 * 64.0) * 8.0 / 100e9;
        assert!(end > full && end < full / 0.97, "{sender:?}: {end} for {full}");
    }
}
