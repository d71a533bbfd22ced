//! Homa's rules by hand, and messages over a channel that loses and reorders.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use forebay_units::Time;
use proptest::prelude::*;

use super::*;

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// The module's constants: `rtt_bytes` 10 000. Nothing is for the oldest message.
fn config() -> HomaConfig {
    HomaConfig { rtt_bytes: Some(Bytes(10_000)), oldest_share: 0.0, ..HomaConfig::default() }
}

fn network(config: &HomaConfig) -> HomaNetwork {
    config.network(Rate::megabits(10_000), Span::from_microseconds(8))
}

/// A message with the module's constants.
fn add(receivers: &mut HomaReceivers, bytes: u64, peer: u32, now: Time) -> u32 {
    receivers.add(bytes, peer, &network(&config()), now)
}

fn packet(number: u64, bytes: u64) -> HomaPacket {
    let offset = number * 1_442;
    let wire_bytes = (bytes - offset).min(1_442) as u32 + HEADER_BYTES;
    HomaPacket { offset, wire_bytes, priority: 0, is_retransmission: false }
}

fn packets(sender: &mut HomaSender, now: Time, network: &HomaNetwork) -> Vec<(u64, u8)> {
    core::iter::from_fn(|| sender.next_packet(now, network)).map(|packet| (packet.offset, packet.priority)).collect()
}

/// The grants that wait: message, byte and priority.
fn grants(receivers: &mut HomaReceivers, now: Time) -> Vec<(u32, u64, u8)> {
    let mut grants = Vec::new();
    while receivers.timer() <= now {
        if let Some(HomaOutgoing { message, control: HomaControl::Grant { granted, priority } }) =
            receivers.on_timer(now)
        {
            grants.push((message, granted, priority));
        }
    }
    grants
}

#[test]
fn the_defaults_follow_the_network() {
    let network = network(&HomaConfig::default());
    // 8 us at 10 Gb/s, in packets with 1442 B of data.
    assert_eq!((network.rtt_bytes, network.payload_bytes()), (10_000, 1_442));
    assert_eq!([20_000, 10_094, 10_093, 5].map(|bytes| network.unscheduled_bytes(bytes)), [10_094, 10_094, 10_093, 5]);
}

#[test]
fn parameters_have_bounds() {
    let config = HomaConfig::default();
    assert!(config.validate().is_ok());
    let default = || config.clone();
    let cutoffs = |cutoffs: &[u64]| cutoffs.iter().map(|&bytes| Bytes(bytes)).collect::<Vec<_>>();
    let fields = [
        HomaConfig { packet: Bytes(58), ..default() },
        HomaConfig { rtt_bytes: Some(Bytes(0)), ..default() },
        HomaConfig { priorities: 9, ..default() },
        HomaConfig { priorities: 4, ..default() },
        HomaConfig { cutoffs: cutoffs(&[300, 300]), ..default() },
        HomaConfig { max_overcommit: 0, ..default() },
        HomaConfig { grant_window: Some(Bytes(0)), ..default() },
        HomaConfig { oldest_share: 0.6, ..default() },
        HomaConfig { resend_after: Span::ZERO, ..default() },
    ]
    .map(|config| config.validate().unwrap_err().field);
    let expected = [
        "packet",
        "rtt_bytes",
        "priorities",
        "cutoffs",
        "cutoffs",
        "max_overcommit",
        "grant_window",
        "oldest_share",
        "resend_after",
    ];
    assert_eq!(fields, expected);
    for (priorities, lengths) in [(1, &[][..]), (2, &[]), (5, &[200, 2_800, 15_000]), (3, &[1_000])] {
        let config = HomaConfig { priorities, cutoffs: cutoffs(lengths), ..default() };
        assert!(config.validate().is_ok(), "{priorities} {lengths:?}");
        let network = network(&config);
        assert!(scheduled_priority(network.highest_scheduled(), 0, 9) < priorities);
        assert_eq!(network.unscheduled_priority(1), priorities - 1);
    }
}

#[test]
fn unscheduled_packets_have_the_priority_of_the_length() {
    let network = network(&config());
    let priorities = [1, 200, 201, 2_800, 2_801, 15_000, 15_001].map(|length| network.unscheduled_priority(length));
    assert_eq!(priorities, [7, 7, 6, 6, 5, 5, 4]);
}

#[test]
fn few_scheduled_messages_have_the_lowest_priorities() {
    let network = network(&config());
    let priorities = |active: usize| -> Vec<_> {
        (0..active).map(|rank| scheduled_priority(network.highest_scheduled(), rank, active)).collect()
    };
    assert_eq!(priorities(1), [0]);
    assert_eq!(priorities(2), [1, 0]);
    assert_eq!(priorities(4), [3, 2, 1, 0]);
    assert_eq!(priorities(6), [3, 2, 1, 0, 0, 0]);
}

#[test]
fn grants_go_to_the_shortest_message_of_each_sender() {
    let mut receivers = HomaReceivers::new(network(&config()));
    // A alone may have half of 80 000 B on the way: 8 652 unscheduled ones are, so 31 348 more.
    let a = add(&mut receivers, 100_000, 1, at(0));
    assert_eq!(receivers.on_packet(a, &packet(0, 100_000), at(0)), None);
    assert_eq!(grants(&mut receivers, at(0)), [(a, 41_442, 0)]);
    // B is shorter. Each of two may have 26 666 B on the way, and A has more.
    let b = add(&mut receivers, 50_000, 2, at(1));
    receivers.on_packet(b, &packet(0, 50_000), at(1));
    assert_eq!(grants(&mut receivers, at(1)), [(b, 28_108, 1)]);
    // C takes the place of B, as it is of the same sender. 40 000 + 26 666 + 8 652 B are on the way.
    let c = add(&mut receivers, 20_000, 2, at(2));
    receivers.on_packet(c, &packet(0, 20_000), at(2));
    assert_eq!(grants(&mut receivers, at(2)), [(c, 10_094 + 4_682, 1)]);
    // Each packet that comes makes room for as much.
    receivers.on_packet(c, &packet(1, 20_000), at(3));
    assert_eq!(grants(&mut receivers, at(3)), [(c, 16_218, 1)]);
    // Also one of a message without grants.
    receivers.on_packet(b, &packet(1, 50_000), at(4));
    assert_eq!(grants(&mut receivers, at(4)), [(c, 17_660, 1)]);
    // Three packets of A, and C is granted as a whole; then B may have 26 666 B on the way again, and has 25 224.
    for number in 1..4 {
        receivers.on_packet(a, &packet(number, 100_000), at(5));
    }
    assert_eq!(grants(&mut receivers, at(5)), [(c, 20_000, 1), (b, 29_550, 1)]);
    assert_eq!([a, b, c].map(|message| receivers.payload_bytes(message)), [4 * 1_442, 2 * 1_442, 2 * 1_442]);
}

#[test]
fn no_more_than_the_overcommitment_get_grants() {
    let config = HomaConfig { max_overcommit: 2, grant_window: Some(Bytes(10_000)), ..config() };
    let mut receivers = HomaReceivers::new(network(&config));
    let lengths = [90_000, 80_000, 70_000];
    for (peer, bytes) in lengths.into_iter().enumerate() {
        let message = add(&mut receivers, bytes, peer as u32, at(0));
        receivers.on_packet(message, &packet(0, bytes), at(0));
    }
    // The first two fill their windows and with them the 20 000 B on the way; the third finds no room.
    assert_eq!(grants(&mut receivers, at(0)), [(0, 11_442, 0), (1, 11_442, 1)]);
    let mut of_each = [0; 3];
    for number in 1..8 {
        for (message, bytes) in lengths.into_iter().enumerate() {
            receivers.on_packet(message as u32, &packet(number, bytes), at(1));
        }
        grants(&mut receivers, at(1)).iter().for_each(|&(message, ..)| of_each[message as usize] += 1);
    }
    assert!(of_each[0] == 0 && of_each[1] > 0 && of_each[2] > 0, "{of_each:?}");
}

#[test]
fn a_window_can_be_fixed() {
    let config = HomaConfig { grant_window: Some(Bytes(10_000)), ..config() };
    let mut receivers = HomaReceivers::new(network(&config));
    let message = add(&mut receivers, 100_000, 1, at(0));
    receivers.on_packet(message, &packet(0, 100_000), at(0));
    assert_eq!(grants(&mut receivers, at(0)), [(message, 11_442, 0)]);
}

#[test]
fn the_oldest_message_gets_a_part_of_the_grants() {
    // A fifth: after 40 000 B for others. One message at a time gets grants.
    let config = HomaConfig { oldest_share: 0.2, max_overcommit: 1, ..config() };
    let mut receivers = HomaReceivers::new(network(&config));
    let old = add(&mut receivers, 1_000_000, 1, at(0));
    (0..7).for_each(|number| _ = receivers.on_packet(old, &packet(number, 1_000_000), at(0)));
    let before = grants(&mut receivers, at(0));
    assert_eq!(before.last().unwrap().1, 10_094 + 5_000);
    let short = add(&mut receivers, 100_000, 2, at(1));
    let mut of_old = Vec::new();
    for number in 0..40 {
        receivers.on_packet(short, &packet(number, 100_000), at(1));
        let new = grants(&mut receivers, at(1)).into_iter().filter(|grant| grant.0 == old);
        of_old.extend(new.map(|(_, granted, priority)| (number, granted, priority)));
    }
    assert_eq!(of_old.len(), 1, "{of_old:?}");
    let (number, granted, priority) = of_old[0];
    assert!((20..35).contains(&number) && granted == 15_094 + 10_000 && priority == 3, "{of_old:?}");
}

#[test]
fn messages_of_one_host_may_have_different_packets_and_priorities() {
    let mut receivers = HomaReceivers::new(network(&config()));
    let large = HomaConfig { packet: Bytes(9_000), priorities: 2, cutoffs: Vec::new(), ..config() };
    let few = receivers.add(10_000, 1, &network(&large), at(0));
    let second = HomaPacket { offset: 8_942, wire_bytes: 1_116, priority: 1, is_retransmission: false };
    assert_eq!(receivers.on_packet(few, &second, at(0)), None);
    let first = HomaPacket { offset: 0, wire_bytes: 9_000, ..second };
    assert_eq!(receivers.on_packet(few, &first, at(0)), Some(HomaControl::Ack));
    // Two messages of others have priorities 1 and 0, of which this one knows but 0.
    add(&mut receivers, 50_000, 2, at(1));
    let low = receivers.add(40_000, 3, &network(&large), at(1));
    receivers.on_packet(low, &first, at(1));
    assert!(grants(&mut receivers, at(1)).iter().all(|&(message, _, priority)| message != low || priority == 0));
}

#[test]
fn a_message_leaves_in_two_parts() {
    let network = network(&config());
    let mut sender = HomaOrder::default().begin(20_000, &network);
    let unscheduled: Vec<_> = (0..7).map(|number| (number * 1_442, 4)).collect();
    assert_eq!(packets(&mut sender, at(0), &network), unscheduled);
    // A packet leaves as a whole if its first byte is granted.
    sender.on_control(&HomaControl::Grant { granted: 11_537, priority: 2 }, at(8));
    assert_eq!(packets(&mut sender, at(8), &network), [(10_094, 2), (11_536, 2)]);
    sender.on_control(&HomaControl::Grant { granted: 20_000, priority: 1 }, at(9));
    // A late grant takes nothing back.
    sender.on_control(&HomaControl::Grant { granted: 11_000, priority: 0 }, at(9));
    assert_eq!(packets(&mut sender, at(9), &network).len(), 5);
    assert!(!sender.is_complete());
    sender.on_control(&HomaControl::Ack, at(30));
    assert!(sender.is_complete());
}

#[test]
fn a_receiver_asks_for_what_is_missing_and_a_sender_for_an_ack() {
    let network = network(&config());
    let mut receivers = HomaReceivers::new(network.clone());
    let mut sender = HomaOrder::default().begin(10_000, &network);
    assert_eq!(packets(&mut sender, at(0), &network).len(), 7);
    let message = add(&mut receivers, 10_000, 1, at(6));
    for number in [0, 3, 5, 6] {
        receivers.on_packet(message, &packet(number, 10_000), at(6));
    }
    assert_eq!((receivers.timer(), sender.timer(&network)), (at(5_006), at(5_000)));
    // It asks for each gap.
    let mut asked = Vec::new();
    while receivers.timer() == at(5_006) {
        asked.push(receivers.on_timer(at(5_006)).unwrap().control);
    }
    let gaps = [(1_442, 4_326), (5_768, 7_210)].map(|(from, to)| HomaControl::Resend { from, to });
    assert_eq!(asked, gaps);
    // The same request twice counts once.
    gaps.iter().chain(&gaps).for_each(|gap| sender.on_control(gap, at(5_010)));
    assert_eq!(packets(&mut sender, at(5_010), &network), [(1_442, 7), (2_884, 7), (5_768, 7)]);
    // The last one is lost again.
    for number in [1, 2] {
        receivers.on_packet(message, &packet(number, 10_000), at(5_014));
    }
    // The next silence is 5 ms after the last packet.
    assert_eq!((receivers.on_timer(at(10_006)), receivers.timer()), (None, at(10_014)));
    let asked = receivers.on_timer(at(10_014)).unwrap();
    assert_eq!(asked.control, HomaControl::Resend { from: 5_768, to: 7_210 });
    assert_eq!(receivers.on_packet(message, &packet(4, 10_000), at(10_020)), Some(HomaControl::Ack));
    // The ACK is lost.
    assert_eq!(sender.on_timer(at(10_010), &network), Some(HomaControl::NeedAck));
    assert_eq!(receivers.on_control(message, HomaControl::NeedAck, at(10_030)), Some(HomaControl::Ack));
    assert_eq!((receivers.on_timer(at(15_014)), receivers.timer()), (None, Time::NEVER));
}

#[test]
fn lost_grants_and_lost_messages_are_repaired() {
    let network = network(&config());
    let mut sender = HomaOrder::default().begin(20_000, &network);
    packets(&mut sender, at(0), &network);
    // All packets were lost: the first sign of the message asks what the receiver has.
    let asked = sender.on_timer(at(5_000), &network).unwrap();
    let mut receivers = HomaReceivers::new(network.clone());
    let message = add(&mut receivers, 20_000, 1, at(5_004));
    let answer = receivers.on_control(message, asked, at(5_004)).unwrap();
    assert_eq!(answer, HomaControl::Resend { from: 0, to: 10_094 });
    sender.on_control(&answer, at(5_008));
    assert_eq!(packets(&mut sender, at(5_008), &network).len(), 7);
    for number in 0..7 {
        receivers.on_packet(message, &packet(number, 20_000), at(5_012));
    }
    assert_eq!(receivers.on_control(message, HomaControl::NeedAck, at(5_012)), Some(HomaControl::Busy));
    // The grant is lost. The request for the data is one, too; the sender was not slow but waited.
    assert_eq!(grants(&mut receivers, at(5_012)), [(message, 20_000, 0)]);
    let silent = core::iter::from_fn(|| receivers.on_timer(receivers.timer())).last();
    let asked = silent.unwrap_or_else(|| receivers.on_timer(receivers.timer()).unwrap());
    assert_eq!(asked.control, HomaControl::Resend { from: 10_094, to: 20_000 });
    sender.on_control(&asked.control, at(10_020));
    assert_eq!((sender.timer(&network), sender.on_timer(at(10_020), &network)), (at(10_020), Some(HomaControl::Busy)));
    assert_eq!(packets(&mut sender, at(10_020), &network).len(), 7);
    assert_eq!(sender.retransmitted_packets(), 7);
}

#[test]
fn a_host_sends_the_shortest_message_first_and_now_and_then_the_oldest() {
    let network = network(&HomaConfig { oldest_share: 0.25, ..config() });
    let mut order = HomaOrder::default();
    let senders = [30_000, 9_000, 12_000].map(|bytes| order.begin(bytes, &network));
    let mut choose = || order.choose(senders.iter().map(Some));
    assert_eq!([0; 8].map(|_: usize| choose()), [1, 1, 1, 0, 1, 1, 1, 0]);
}

/// A packet of a message on its way.
enum Flying {
    Data(HomaPacket),
    ToReceiver(HomaControl),
    ToSender(HomaControl),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        messages in prop::collection::vec((1_u64..200_000, 0_u32..3), 1..6),
        // Whether a packet is lost, and its further delay in ns. Later ones arrive in order.
        fates in prop::collection::vec((prop::bool::weighted(0.2), 0_u64..40_000), 0..500),
        max_overcommit in 1_u32..4,
        oldest_share in prop::sample::select([0.0, 0.05, 0.5].to_vec()),
    ) {
        let network = network(&HomaConfig { max_overcommit, oldest_share, ..config() });
        let mut order = HomaOrder::default();
        let mut senders: Vec<_> = messages.iter().map(|&(bytes, _)| order.begin(bytes, &network)).collect();
        let mut receivers = HomaReceivers::new(network.clone());
        let mut numbers: Vec<Option<u32>> = alloc::vec![None; messages.len()];
        let (mut fates, mut flying, mut sent) = (fates.into_iter(), BTreeMap::new(), 0_u64);
        let mut send = |flying: &mut BTreeMap<_, _>, now: Time, message: usize, packet: Flying| {
            let (is_lost, delay) = fates.next().unwrap_or((false, 0));
            sent += 1;
            if !is_lost {
                flying.insert((now + Span::from_nanoseconds(4_000 + delay), sent), (message, packet));
            }
        };
        let mut now = Time::ZERO;
        for step in 0.. {
            prop_assert!(step < 100_000, "no end: {senders:?}");
            for (index, sender) in senders.iter_mut().enumerate() {
                while let Some(packet) = sender.next_packet(now, &network) {
                    prop_assert!(packet.priority < 8);
                    send(&mut flying, now, index, Flying::Data(packet));
                }
            }
            if senders.iter().all(HomaSender::is_complete) {
                break;
            }
            let is_open = |sender: &&HomaSender| !sender.is_complete();
            let timers = senders.iter().filter(is_open).map(|sender| sender.timer(&network)).min();
            let arrival = flying.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            now = now.max(arrival.min(receivers.timer()).min(timers.unwrap_or(Time::NEVER)));
            prop_assert!(now != Time::NEVER);
            if let Some(index) = senders.iter().position(|sender| is_open(&sender) && sender.timer(&network) <= now) {
                if let Some(control) = senders[index].on_timer(now, &network) {
                    send(&mut flying, now, index, Flying::ToReceiver(control));
                }
            } else if receivers.timer() <= now {
                if let Some(HomaOutgoing { message, control }) = receivers.on_timer(now) {
                    let index = numbers.iter().position(|number| *number == Some(message)).unwrap();
                    send(&mut flying, now, index, Flying::ToSender(control));
                }
            } else {
                let (index, packet) = flying.pop_first().unwrap().1;
                let (bytes, peer) = messages[index];
                if let Flying::ToSender(control) = packet {
                    senders[index].on_control(&control, now);
                    continue;
                }
                let number = *numbers[index].get_or_insert_with(|| add(&mut receivers, bytes, peer, now));
                let answer = match packet {
                    Flying::Data(packet) => receivers.on_packet(number, &packet, now),
                    Flying::ToReceiver(control) | Flying::ToSender(control) => {
                        receivers.on_control(number, control, now)
                    }
                };
                if let Some(control) = answer {
                    send(&mut flying, now, index, Flying::ToSender(control));
                }
            }
        }
        for (number, (bytes, _)) in numbers.iter().zip(&messages) {
            prop_assert_eq!(receivers.payload_bytes(number.unwrap()), *bytes);
        }
    }
}
