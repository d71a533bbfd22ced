//! pFabric's flows alone, and over a channel that loses and reorders.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const ROUND_TRIP: Span = Span::from_nanoseconds(14_400);

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// 10 Gb/s, where the paper's round trip is 12 packets, and its timeout.
fn network(config: PfabricConfig) -> PfabricNetwork {
    PfabricConfig { timeout: Some(Span::from_microseconds(45)), ..config }.network(Rate::megabits(10_000), ROUND_TRIP)
}

fn numbers(sender: &mut PfabricSender, now: Time, network: &PfabricNetwork) -> Vec<u64> {
    core::iter::from_fn(|| sender.next_packet(now, network)).map(|packet| packet.number).collect()
}

fn ack(number: u64, cumulative: u64) -> PfabricAck {
    PfabricAck { number: Some(number), cumulative }
}

#[test]
fn the_defaults_are_those_of_the_paper() {
    let network = PfabricConfig::default().network(Rate::megabits(10_000), ROUND_TRIP);
    // 14.4 us at 10 Gb/s are 18 000 B, or 12 packets; the timeout is three round trips.
    assert_eq!(network.window_packets(ROUND_TRIP), 12);
    assert_eq!(network.timeout, Span::from_nanoseconds(43_200));
    assert_eq!((network.payload_bytes(), network.header_bytes()), (1_460, 40));
}

#[test]
fn parameters_have_bounds() {
    let config = PfabricConfig::default();
    assert!(config.validate().is_ok());
    let fields = [
        PfabricConfig { header: Bytes(0), ..config },
        PfabricConfig { packet: Bytes(40), ..config },
        PfabricConfig { window: Some(0), ..config },
        PfabricConfig { window: Some(12), max_window: Some(11), ..config },
        PfabricConfig { timeout: Some(Span::ZERO), ..config },
        PfabricConfig { probe_after: Some(0), ..config },
    ]
    .map(|config| config.validate().unwrap_err().field);
    assert_eq!(fields, ["header", "packet", "window", "max_window", "timeout", "probe_after"]);
    let small = PfabricConfig { max_window: Some(5), ..config }.network(Rate::megabits(10_000), ROUND_TRIP);
    assert_eq!(small.window_packets(ROUND_TRIP), 5);
}

#[test]
fn a_window_leaves_at_once_and_each_ack_lets_one_go() {
    let network = network(PfabricConfig::default());
    let mut sender = PfabricSender::new(1_000_000, ROUND_TRIP, &network);
    assert_eq!(numbers(&mut sender, at(0), &network), (0..12).collect::<Vec<_>>());
    sender.on_ack(&ack(0, 1), at(14), &network);
    // Three packets overtook the second: no duplicate ACK is a sign of loss.
    for number in [3, 4, 5] {
        sender.on_ack(&ack(number, 1), at(15), &network);
    }
    assert_eq!(numbers(&mut sender, at(15), &network), [12, 13, 14, 15]);
    assert_eq!((sender.retransmitted_packets(), sender.window_packets()), (0, 12.0));
    // The timer runs from the last progress.
    assert_eq!(sender.timer(), at(14 + 45));
}

#[test]
fn a_timeout_starts_over_and_skips_what_has_arrived() {
    let network = network(PfabricConfig::default());
    let mut sender = PfabricSender::new(17_520, ROUND_TRIP, &network);
    numbers(&mut sender, at(0), &network);
    for number in [1, 2, 5] {
        sender.on_ack(&ack(number, 0), at(14), &network);
    }
    assert_eq!(sender.on_timer(at(44), &network), None);
    assert_eq!(sender.timeouts(), 0);
    assert_eq!(sender.on_timer(at(45), &network), None);
    assert_eq!((sender.window_packets(), sender.threshold), (1.0, 6.0));
    assert_eq!(numbers(&mut sender, at(45), &network), [0]);
    // Slow start: two packets for each ACK.
    sender.on_ack(&ack(0, 3), at(59), &network);
    assert_eq!((sender.window_packets(), numbers(&mut sender, at(59), &network)), (2.0, alloc::vec![3, 4]));
    // An ACK of a packet sent before the timeout frees no place in the window, and need not be sent again.
    sender.on_ack(&ack(7, 3), at(60), &network);
    assert!(numbers(&mut sender, at(60), &network).is_empty());
    sender.on_ack(&ack(3, 4), at(73), &network);
    assert_eq!(numbers(&mut sender, at(73), &network), [6, 8]);
    assert_eq!((sender.timeouts(), sender.retransmitted_packets()), (1, 5));
}

#[test]
fn five_timeouts_in_a_row_lead_to_probes_until_an_ack() {
    let network = network(PfabricConfig::default());
    let mut sender = PfabricSender::new(100_000, ROUND_TRIP, &network);
    numbers(&mut sender, at(0), &network);
    for timeout in 1..5 {
        assert_eq!(sender.on_timer(at(45 * timeout), &network), None);
        assert_eq!(numbers(&mut sender, at(45 * timeout), &network), [0]);
    }
    for timeout in 5..8 {
        let probe = sender.on_timer(at(45 * timeout), &network).unwrap();
        assert_eq!((probe.number, probe.wire_bytes, probe.is_probe), (0, 40, true));
        assert!(numbers(&mut sender, at(45 * timeout), &network).is_empty());
    }
    // The receiver has packet 0, whose ACK was lost. The answer to the probe ends the silence.
    let mut receiver = PfabricReceiver::default();
    let packet = PfabricSender::new(100_000, ROUND_TRIP, &network).next_packet(at(0), &network).unwrap();
    receiver.on_packet(&packet, &network);
    let probe = PfabricPacket { is_probe: true, wire_bytes: 40, ..packet };
    let answer = receiver.on_packet(&probe, &network);
    assert_eq!((answer, receiver.payload_bytes()), (PfabricAck { number: None, cumulative: 1 }, 1_460));
    sender.on_ack(&answer, at(330), &network);
    assert_eq!(numbers(&mut sender, at(330), &network), [1, 2]);
}

#[test]
fn ranks_are_the_size_less_the_first_byte_or_less_what_is_acknowledged() {
    let ranks = |ranks, acks: &[(u64, u64)]| {
        let network = network(PfabricConfig { ranks, window: Some(4), ..PfabricConfig::default() });
        let mut sender = PfabricSender::new(20 * 1_460, ROUND_TRIP, &network);
        let mut ranked = Vec::new();
        for acks in [&[][..], acks] {
            for &(number, cumulative) in acks {
                sender.on_ack(&ack(number, cumulative), at(14), &network);
            }
            let sent = core::iter::from_fn(|| sender.next_packet(at(14), &network));
            ranked.extend(sent.map(|packet| packet.ranked_from / 1_460));
        }
        ranked
    };
    assert_eq!(ranks(PfabricRanks::Unsent, &[(0, 1), (2, 1)]), [0, 1, 2, 3, 4, 5]);
    assert_eq!(ranks(PfabricRanks::Unacknowledged, &[(0, 1), (2, 1)]), [0, 0, 0, 0, 2, 2]);
}

#[test]
fn a_flow_alone_takes_a_round_trip_and_its_bytes() {
    // 40 packets of 1.2 us, and 13.2 us from the end of a packet to its ACK: the window of 12 never closes.
    let network = network(PfabricConfig::default());
    let mut sender = PfabricSender::new(40 * 1_460, ROUND_TRIP, &network);
    let (mut now, mut acks, mut number) = (Time::ZERO, VecDeque::new(), 0);
    while !sender.is_complete(&network) {
        if let Some(packet) = sender.next_packet(now, &network) {
            number += 1;
            acks.push_back((now + ROUND_TRIP, ack(packet.number, number)));
            now += Span::from_nanoseconds(1_200);
        }
        while let Some(&(arrival, ack)) = acks.front()
            && (arrival <= now || !sender.is_ready(&network))
        {
            acks.pop_front();
            now = now.max(arrival);
            sender.on_ack(&ack, arrival, &network);
        }
    }
    assert_eq!(now.since(Time::ZERO), Span::from_nanoseconds(39 * 1_200 + 14_400));
    assert_eq!(sender.timeouts(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        bytes in 1_u64..300_000,
        // Whether a packet or ACK is lost, and its further delay in ns. Later ones arrive in order.
        fates in prop::collection::vec((prop::bool::weighted(0.3), 0_u64..60_000), 0..400),
        ranks in prop::sample::select([PfabricRanks::Unsent, PfabricRanks::Unacknowledged].to_vec()),
        max_window in prop::option::of(12_u32..30),
    ) {
        let network = network(PfabricConfig { ranks, max_window, ..PfabricConfig::default() });
        let mut sender = PfabricSender::new(bytes, ROUND_TRIP, &network);
        let mut receiver = PfabricReceiver::default();
        let (mut fates, mut arrivals, mut sent) = (fates.into_iter(), BTreeMap::new(), 0_u64);
        let mut send = |arrivals: &mut BTreeMap<_, _>, now: Time, packet: Result<PfabricPacket, PfabricAck>| {
            let (is_lost, delay) = fates.next().unwrap_or((false, 0));
            sent += 1;
            if !is_lost {
                arrivals.insert((now + Span::from_nanoseconds(7_000 + delay), sent), packet);
            }
        };
        let mut now = Time::ZERO;
        for step in 0.. {
            prop_assert!(step < 100_000, "no end: {sender:?}");
            while let Some(packet) = sender.next_packet(now, &network) {
                prop_assert!(packet.ranked_from < bytes);
                send(&mut arrivals, now, Ok(packet));
            }
            if sender.is_complete(&network) {
                break;
            }
            let arrival = arrivals.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            now = arrival.min(sender.timer());
            prop_assert!(now != Time::NEVER);
            if sender.timer() <= now {
                if let Some(probe) = sender.on_timer(now, &network) {
                    send(&mut arrivals, now, Ok(probe));
                }
                continue;
            }
            match arrivals.pop_first().unwrap().1 {
                Ok(packet) => {
                    let answer = receiver.on_packet(&packet, &network);
                    send(&mut arrivals, now, Err(answer));
                }
                Err(ack) => sender.on_ack(&ack, now, &network),
            }
        }
        prop_assert_eq!(receiver.payload_bytes(), bytes);
    }
}
