//! Homa's senders and receivers alone, and over a channel that loses and reorders.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use forebay_units::{Span, Time};
use proptest::prelude::*;

use super::*;

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn sent(sender: &mut HomaSender, config: &HomaConfig) -> Vec<(u64, u32, u8)> {
    core::iter::from_fn(|| sender.next_packet(at(0), config))
        .map(|packet| (packet.offset, packet.payload_bytes, packet.priority))
        .collect()
}

fn grants(receiver: &mut HomaReceiver, config: &HomaConfig) -> Vec<(u32, u64, u8)> {
    let grant = |order: &HomaOrder| match *order {
        HomaOrder::Grant { message, offset, priority } => (message, offset, priority),
        HomaOrder::Resend { .. } => panic!("{order:?}"),
    };
    receiver.grants(config).iter().map(grant).collect()
}

#[test]
fn lengths_decide_on_unscheduled_priorities() {
    let config = HomaConfig::default();
    assert!(config.validate().is_ok());
    let priorities = [1, 200, 201, 2_800, 2_801, 15_000, 15_001].map(|length| config.unscheduled_priority(length));
    assert_eq!(priorities, [7, 7, 6, 6, 5, 5, 4]);
    assert_eq!(config.max_scheduled_priority(), 3);
    assert_eq!(HomaConfig { priorities: 4, ..config }.validate().unwrap_err().field, "priorities");
}

#[test]
fn a_sender_stops_at_its_grant_and_repeats_on_request() {
    let config = HomaConfig { payload: Bytes(1_000), rtt_bytes: Bytes(2_500), ..HomaConfig::default() };
    let mut sender = HomaSender::new(20_000, &config);
    assert_eq!(sent(&mut sender, &config), [(0, 1_000, 4), (1_000, 1_000, 4), (2_000, 500, 4)]);
    assert_eq!(sender.remaining(), 17_500);
    sender.on_grant(4_000, 2, at(0), &config);
    sender.on_grant(3_000, 1, at(0), &config);
    assert_eq!(sent(&mut sender, &config), [(2_500, 1_000, 2), (3_500, 500, 2)]);
    assert_eq!(sender.on_resend(4_000, 1_000, 7, at(0), &config), HomaAnswer::Busy);
    assert_eq!(sender.on_resend(3_000, 1_500, 7, at(0), &config), HomaAnswer::Repeats);
    assert_eq!(sender.on_resend(500, 100, 7, at(0), &config), HomaAnswer::Repeats);
    assert_eq!(sender.remaining(), 16_000 + 1_100);
    // The second request granted up to 5000.
    assert_eq!(sent(&mut sender, &config), [(500, 100, 7), (3_000, 1_000, 7), (4_000, 1_000, 7)]);
    // Silence: the first packet again.
    sender.on_timer(sender.timer(), &config);
    assert_eq!(sent(&mut sender, &config), [(0, 1_000, 7)]);
    sender.on_complete();
    sender.on_grant(20_000, 0, at(1), &config);
    assert!(sender.is_complete() && !sender.is_ready() && sender.timer() == Time::NEVER);
}

#[test]
fn short_messages_get_grants_first_one_of_each_sender_at_the_lowest_levels() {
    let config = HomaConfig { oldest_share: 0.0, ..HomaConfig::default() };
    let mut receiver = HomaReceiver::default();
    // Numbers 0 to 3: two of sender 7, then of 8 and 9. Number 3 needs no grant.
    for (sender, length) in [(7, 900_000), (7, 500_000), (8, 100_000), (9, 9_000)] {
        receiver.start(sender, length, at(0), &config);
    }
    // 80 000 bytes may come in, and 39 000 do: two active messages have a window of 26 666 each.
    assert_eq!(grants(&mut receiver, &config), [(2, 26_666, 1), (1, 26_666, 0)]);
    assert_eq!(receiver.incoming_bytes(), 39_000 + 2 * 16_666);
    // Nothing has arrived: nothing is due. Then the window moves with what arrives.
    assert_eq!(grants(&mut receiver, &config), []);
    assert_eq!(receiver.on_data(2, 0, 1_442, at(1)), HomaDelivery { new_bytes: 1_442, is_complete: false });
    assert_eq!(grants(&mut receiver, &config), [(2, 28_108, 1)]);
    // The end of a message leaves its place to the next one of its sender.
    receiver.remove(1);
    assert_eq!(grants(&mut receiver, &config), [(0, 26_666, 0)]);
    assert_eq!(receiver.start(3, 20_000, at(0), &config), 1);
}

#[test]
fn what_comes_in_is_bounded_and_many_messages_share_the_lowest_level() {
    let config = HomaConfig { window: Some(Bytes(100_000)), oldest_share: 0.0, ..HomaConfig::default() };
    let mut receiver = HomaReceiver::default();
    for sender in 0..6 {
        receiver.start(sender, 1_000_000, at(0), &config);
    }
    // 60 000 of 80 000 bytes are coming in: the first message gets the rest.
    assert_eq!(grants(&mut receiver, &config), [(0, 30_000, 3)]);
    let config = HomaConfig { window: None, ..config };
    receiver.on_data(5, 0, 10_000, at(1));
    receiver.on_data(4, 0, 10_000, at(1));
    receiver.on_data(0, 0, 30_000, at(1));
    // 80 000 / 7 each. Fewest bytes left first; six messages have four levels.
    let due = grants(&mut receiver, &config);
    assert_eq!(due, [(0, 41_428, 3), (4, 21_428, 2), (5, 21_428, 1), (1, 11_428, 0), (2, 11_428, 0), (3, 11_428, 0)]);
}

#[test]
fn the_oldest_message_gets_a_share() {
    let config = HomaConfig { oldest_share: 0.5, max_overcommit: 1, ..HomaConfig::default() };
    let mut receiver = HomaReceiver::default();
    receiver.start(1, 10_000_000, at(0), &config);
    receiver.start(2, 1_000_000, at(0), &config);
    let (mut granted, mut received) = ([10_000; 2], [0; 2]);
    for _ in 0..60 {
        for message in 0..2 {
            if received[message] < granted[message] {
                receiver.on_data(message as u32, received[message], 1_000, at(0));
                received[message] += 1_000;
            }
        }
        for (message, offset, _) in grants(&mut receiver, &config) {
            granted[message as usize] = offset;
        }
    }
    // The second message, with fewer bytes left, would get all without the share.
    assert!(granted[0] >= 20_000 && granted[1] > granted[0], "{granted:?}");
}

#[test]
fn a_silent_message_is_asked_for_its_first_gap() {
    let config = HomaConfig::default();
    let mut receiver = HomaReceiver::default();
    receiver.start(1, 20_000, at(0), &config);
    receiver.on_data(0, 0, 1_442, at(10));
    receiver.on_data(0, 4_326, 1_442, at(20));
    assert_eq!(receiver.resends(at(5_019), &config), []);
    let order = HomaOrder::Resend { message: 0, offset: 1_442, bytes: 2_884, priority: 7 };
    assert_eq!(receiver.resends(at(5_020), &config), [order]);
    assert_eq!(receiver.resends(at(5_021), &config), []);
    receiver.on_busy(0, at(10_000));
    assert_eq!(receiver.resends(at(10_020), &config), []);
}

enum Packet {
    Data(usize, HomaPacket),
    Grant(usize, u64, u8),
    Resend(usize, u64, u64, u8),
    Busy(usize),
    Complete(usize),
}

struct Channel {
    fates: alloc::vec::IntoIter<(bool, u64)>,
    packets: BTreeMap<(Time, u64), Packet>,
    count: u64,
}

impl Channel {
    fn send(&mut self, now: Time, packet: Packet) {
        let (is_lost, delay) = self.fates.next().unwrap_or((false, 0));
        self.count += 1;
        if !is_lost {
            self.packets.insert((now + Span::from_nanoseconds(5_000 + delay), self.count), packet);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        lengths in prop::collection::vec(1_u64..150_000, 1..6),
        fates in prop::collection::vec((prop::bool::weighted(0.2), 0_u64..30_000), 0..400),
    ) {
        let config = HomaConfig::default();
        let mut senders: Vec<_> = lengths.iter().map(|&length| HomaSender::new(length, &config)).collect();
        let mut receiver = HomaReceiver::default();
        let mut numbers: Vec<Option<u32>> = alloc::vec![None; lengths.len()];
        let mut delivered = alloc::vec![0; lengths.len()];
        let mut channel = Channel { fates: fates.into_iter(), packets: BTreeMap::new(), count: 0 };
        let (mut now, mut tick) = (Time::ZERO, Time::ZERO + config.resend_time);
        for step in 0.. {
            prop_assert!(step < 100_000, "no end: {senders:?}");
            // Fewest bytes left first.
            while let Some(index) = (0..senders.len())
                .filter(|&index| senders[index].is_ready())
                .min_by_key(|&index| senders[index].remaining())
            {
                let packet = senders[index].next_packet(now, &config).unwrap();
                channel.send(now, Packet::Data(index, packet));
            }
            if senders.iter().all(HomaSender::is_complete) {
                break;
            }
            let arrival = channel.packets.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            let timer = senders.iter().map(HomaSender::timer).min().unwrap();
            now = arrival.min(timer).min(tick);
            let message = |number: u32| numbers.iter().position(|&other| other == Some(number)).unwrap();
            if tick <= now {
                tick = now + config.resend_time;
                for order in receiver.resends(now, &config) {
                    let &HomaOrder::Resend { message: number, offset, bytes, priority } = order else { panic!() };
                    prop_assert!(bytes > 0);
                    channel.send(now, Packet::Resend(message(number), offset, bytes, priority));
                }
            } else if timer <= now {
                senders.iter_mut().for_each(|sender| sender.on_timer(now, &config));
            } else {
                match channel.packets.pop_first().unwrap().1 {
                    Packet::Data(index, packet) => {
                        let start = || receiver.start(index as u32, packet.message_bytes, now, &config);
                        let number = numbers[index].unwrap_or_else(start);
                        numbers[index] = Some(number);
                        let delivery = receiver.on_data(number, packet.offset, packet.payload_bytes, now);
                        delivered[index] += delivery.new_bytes;
                        if delivery.is_complete {
                            channel.send(now, Packet::Complete(index));
                        }
                        let message = |number: u32| numbers.iter().position(|&other| other == Some(number)).unwrap();
                        for order in receiver.grants(&config) {
                            let &HomaOrder::Grant { message: number, offset, priority } = order else { panic!() };
                            channel.send(now, Packet::Grant(message(number), offset, priority));
                        }
                        // The overcommitment, the share of the oldest message, and unscheduled bytes that come on top.
                        let bound = (9 + lengths.len() as u64) * config.rtt_bytes.0;
                        prop_assert!(receiver.incoming_bytes() <= bound);
                    }
                    Packet::Grant(index, offset, priority) => senders[index].on_grant(offset, priority, now, &config),
                    Packet::Resend(index, offset, bytes, priority) => {
                        if senders[index].on_resend(offset, bytes, priority, now, &config) == HomaAnswer::Busy {
                            channel.send(now, Packet::Busy(index));
                        }
                    }
                    Packet::Busy(index) => receiver.on_busy(numbers[index].unwrap(), now),
                    Packet::Complete(index) => senders[index].on_complete(),
                }
            }
        }
        prop_assert_eq!(delivered, lengths);
    }
}
