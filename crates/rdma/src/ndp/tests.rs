//! NDP's flows alone, and over a channel that loses, trims and reorders.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use forebay_units::{Rate, Span, Time};
use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn sender(bytes: u64) -> (NdpSender, Pcg64Mcg) {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    (NdpSender::new(bytes, &NdpNetwork::default(), &mut rng), rng)
}

fn numbers(sender: &mut NdpSender, now: Time, rng: &mut Pcg64Mcg) -> Vec<u64> {
    core::iter::from_fn(|| sender.next_packet(now, rng, &NdpNetwork::default())).map(|packet| packet.number).collect()
}

fn reply(number: u64, is_nack: bool) -> NdpReply {
    NdpReply { number, path: 0, is_nack, cumulative: 0, wants_pull: true, is_complete: false }
}

#[test]
fn a_window_leaves_at_once_and_each_pull_lets_one_go_retransmissions_first() {
    let (network, (mut sender, mut rng)) = (NdpNetwork::default(), sender(1_000_000));
    assert_eq!(numbers(&mut sender, at(0), &mut rng), (0..23).collect::<Vec<_>>());
    sender.on_reply(&reply(9, true), at(10), &network);
    sender.on_reply(&reply(4, true), at(10), &network);
    sender.on_reply(&reply(5, false), at(10), &network);
    assert!(numbers(&mut sender, at(10), &mut rng).is_empty());
    // The second pull was lost, and the first one comes late.
    sender.on_pull(1, at(11), &network);
    assert_eq!(numbers(&mut sender, at(11), &mut rng), [4]);
    sender.on_pull(3, at(12), &network);
    sender.on_pull(2, at(12), &network);
    assert_eq!(numbers(&mut sender, at(12), &mut rng), [9, 23]);
    assert_eq!(sender.retransmitted_packets(), 2);
}

#[test]
fn parameters_have_bounds() {
    let config = NdpConfig::default();
    assert!(config.validate().is_ok());
    let fields = [
        NdpConfig { packet: Bytes(64), ..config },
        NdpConfig { window: 0, ..config },
        NdpConfig { timeout: Span::ZERO, ..config },
        NdpConfig { paths: 0, ..config },
    ]
    .map(|config| config.validate().unwrap_err().field);
    assert_eq!(fields, ["packet", "window", "timeout", "paths"]);
}

#[test]
fn the_last_packet_is_short() {
    let (network, (mut sender, mut rng)) = (NdpNetwork::default(), sender(10_000));
    let packets: Vec<_> = core::iter::from_fn(|| sender.next_packet(at(0), &mut rng, &network))
        .map(|packet| (packet.wire_bytes, packet.is_last))
        .collect();
    assert_eq!(packets, [(9_000, false), (1_128, true)]);
}

#[test]
fn timeouts_need_no_pull() {
    let (network, (mut sender, mut rng)) = (NdpNetwork::default(), sender(20_000));
    numbers(&mut sender, at(0), &mut rng);
    assert_eq!(sender.timer(), at(5_000));
    sender.on_reply(&reply(1, false), at(10), &network);
    sender.allowance = 0;
    sender.on_timer(at(5_000), &network);
    assert_eq!(numbers(&mut sender, at(5_000), &mut rng), [0, 2]);
    // Packet 2 is trimmed and its pull is lost.
    sender.on_reply(&NdpReply { cumulative: 2, ..reply(2, true) }, at(5_010), &network);
    assert_eq!((numbers(&mut sender, at(5_010), &mut rng), sender.timer()), (alloc::vec![], at(10_010)));
    sender.on_timer(at(10_010), &network);
    assert_eq!(numbers(&mut sender, at(10_010), &mut rng), [2]);
}

#[test]
fn pulls_serve_flows_in_turn_at_the_rate_of_the_link() {
    let mut queue = NdpPullQueue::new(&NdpNetwork::default());
    let flows = [queue.add(), queue.add()];
    for flow in [0, 0, 0, 1] {
        queue.request(flows[flow], at(0));
    }
    let mut pulls = Vec::new();
    while queue.timer() != Time::NEVER {
        let now = queue.timer();
        let pull = queue.on_timer(now).unwrap();
        pulls.push((pull.flow, pull.number, now.picoseconds() / 1_000));
        assert_eq!(queue.on_timer(now), None);
    }
    assert_eq!(pulls, [(0, 1, 0), (1, 1, 7_200), (0, 2, 14_400), (0, 3, 21_600)]);
    queue.request(0, at(0));
    queue.release(0);
    assert_eq!(queue.timer(), Time::NEVER);
    queue.reuse(0);
    queue.request(0, at(0));
    assert_eq!(queue.on_timer(at(100)), Some(NdpPull { flow: 0, number: 1 }));
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Arrives,
    IsTrimmed,
    IsLost,
}

enum Packet {
    Data(NdpPacket, Fate),
    Reply(NdpReply),
    Pull(u64),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        bytes in 1_u64..1_000_000,
        fates in prop::collection::vec(
            (
                prop_oneof![
                    5 => Just(Fate::Arrives),
                    3 => Just(Fate::IsTrimmed),
                    1 => Just(Fate::IsLost),
                ],
                0_u64..30_000,
            ),
            0..300,
        ),
        penalizes_paths in any::<bool>(),
    ) {
        let network = NdpConfig { path_penalties: penalizes_paths, paths: 8, ..NdpConfig::default() }
            .network(Rate::megabits(100_000));
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut sender = NdpSender::new(bytes, &network, &mut rng);
        let mut receiver = NdpReceiver::default();
        let mut queue = NdpPullQueue::new(&network);
        let flow = queue.add();
        let (mut fates, mut packets, mut sent) = (fates.into_iter(), BTreeMap::new(), 0_u64);
        let mut now = Time::ZERO;
        let mut send = |packets: &mut BTreeMap<_, _>, now: Time, packet: &dyn Fn(Fate) -> Packet| {
            let (fate, delay) = fates.next().unwrap_or((Fate::Arrives, 0));
            sent += 1;
            if fate != Fate::IsLost {
                packets.insert((now + Span::from_nanoseconds(5_000 + delay), sent), packet(fate));
            }
        };
        for step in 0.. {
            prop_assert!(step < 100_000, "no end: {sender:?}");
            while let Some(packet) = sender.next_packet(now, &mut rng, &network) {
                send(&mut packets, now, &|fate| Packet::Data(packet, fate));
            }
            if sender.is_complete(&network) {
                break;
            }
            let arrival = packets.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            now = arrival.min(queue.timer().max(now)).min(sender.timer());
            prop_assert!(now != Time::NEVER);
            if sender.timer() <= now {
                sender.on_timer(now, &network);
                prop_assert!(sender.timer() > now);
            } else if arrival > now {
                let pull = queue.on_timer(now).unwrap();
                send(&mut packets, now, &|_| Packet::Pull(pull.number));
            } else {
                match packets.pop_first().unwrap().1 {
                    Packet::Data(packet, fate) => {
                        let reply = receiver.on_packet(&packet, fate == Fate::IsTrimmed);
                        if reply.wants_pull {
                            queue.request(flow, now);
                        }
                        if reply.is_complete {
                            queue.release(flow);
                        }
                        send(&mut packets, now, &|_| Packet::Reply(reply));
                    }
                    Packet::Reply(reply) => sender.on_reply(&reply, now, &network),
                    Packet::Pull(number) => sender.on_pull(number, now, &network),
                }
            }
        }
        prop_assert_eq!(receiver.payload_bytes(), bytes);
    }
}
