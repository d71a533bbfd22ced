//! Queue pairs over a channel that loses and reorders: each byte is delivered once.

use std::collections::BTreeMap;

use forebay_rdma::{
    Acknowledgement, GoBackNReceiver, IrnReceiver, Next, QueuePair, RdmaControl, Recovery, Reply, ReplyKind,
    RoceConfig, Setup,
};
use forebay_units::{Rate, Span, Time};
use proptest::prelude::*;

enum Receiver {
    GoBackN(GoBackNReceiver),
    Irn(IrnReceiver),
}

impl Receiver {
    fn on_data(&mut self, sequence: u64, bytes: u32, is_marked: bool, now: Time, config: &RoceConfig) -> Reply {
        match self {
            Self::GoBackN(receiver) => receiver.on_data(sequence, bytes, is_marked, now, config),
            Self::Irn(receiver) => receiver.on_data(sequence, bytes, is_marked, now, config),
        }
    }
}

/// A packet on its way.
enum Packet {
    Data { sequence: u64, bytes: u32, is_marked: bool, sent_at: Time },
    Reply(Reply, Time),
}

/// The fate of packets, in the order in which they leave; afterwards all arrive in order.
struct Channel {
    fates: std::vec::IntoIter<(bool, u64, bool)>,
    packets: BTreeMap<(Time, u64), Packet>,
    sent: u64,
}

impl Channel {
    fn send(&mut self, now: Time, packet: impl FnOnce(bool) -> Packet) {
        let (is_lost, delay, is_marked) = self.fates.next().unwrap_or((false, 0, false));
        self.sent += 1;
        if !is_lost {
            let arrival = now + Span::from_nanoseconds(5_000 + delay);
            self.packets.insert((arrival, self.sent), packet(is_marked));
        }
    }
}

fn setup() -> Setup {
    Setup {
        line_rate: Rate::megabits(100_000),
        base_round_trip: Span::from_microseconds(10),
        window_bytes: 125_000,
        payload_bytes: 1_000,
        packet_bytes: 1_048,
        hops: 2,
    }
}

/// Bytes that the receiver had not seen before, in sum, and the packets that were sent.
fn transfer(size: u64, control: &RdmaControl, config: &RoceConfig, fates: Vec<(bool, u64, bool)>) -> (u64, u64) {
    let mut sender = QueuePair::new(size, control.build(&setup()), &setup(), config);
    let mut receiver = match config.recovery {
        Recovery::GoBackN => Receiver::GoBackN(GoBackNReceiver::default()),
        Recovery::Irn => Receiver::Irn(IrnReceiver::default()),
    };
    let mut channel = Channel { fates: fates.into_iter(), packets: BTreeMap::new(), sent: 0 };
    let (mut now, mut new_bytes) = (Time::ZERO, 0);
    for _ in 0..2_000_000 {
        let mut ready = Time::NEVER;
        match sender.next_packet(now, config) {
            Next::Send(packet) => {
                channel.send(now, |is_marked| Packet::Data {
                    sequence: packet.sequence,
                    bytes: packet.payload_bytes,
                    is_marked,
                    sent_at: now,
                });
                continue;
            }
            Next::At(time) => ready = time,
            Next::Window | Next::Idle => {}
            Next::Done => return (new_bytes, channel.sent),
        }
        let arrival = channel.packets.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        now = ready.min(arrival).min(sender.timer());
        assert_ne!(now, Time::NEVER, "nothing can happen, {} of {size} acknowledged", sender.acknowledged());
        if sender.timer() <= now {
            sender.on_timer(now, config);
        } else if arrival <= now {
            match channel.packets.pop_first().expect("a packet arrives").1 {
                Packet::Data { sequence, bytes, is_marked, sent_at } => {
                    let reply = receiver.on_data(sequence, bytes, is_marked, now, config);
                    new_bytes += reply.new_bytes;
                    if reply.kind != ReplyKind::None {
                        channel.send(now, |_| Packet::Reply(reply, sent_at));
                    } else if reply.notifies {
                        sender.on_notification(now, config);
                    }
                }
                Packet::Reply(reply, sent_at) => {
                    let ack = Acknowledgement {
                        cumulative: reply.cumulative,
                        is_nack: reply.kind == ReplyKind::Nack,
                        selective: reply.selective,
                        notifies: reply.notifies,
                        sent_at: Some(sent_at),
                        telemetry: &[],
                    };
                    sender.on_ack(&ack, now, config);
                }
            }
        }
    }
    panic!("{} of {size} acknowledged after two million steps", sender.acknowledged());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_is_delivered_once(
        size in 1_u64..150_000,
        fates in prop::collection::vec((prop::bool::weighted(0.2), 0_u64..20_000, any::<bool>()), 0..400),
        interval in prop_oneof![Just(Span::ZERO), Just(Span::from_microseconds(50))],
    ) {
        for control in RdmaControl::every() {
            for recovery in [Recovery::GoBackN, Recovery::Irn] {
                let config = RoceConfig { recovery, notification_interval: interval, ..RoceConfig::default() };
                prop_assert_eq!(transfer(size, &control, &config, fates.clone()).0, size, "{}", control.name());
            }
        }
    }
}

#[test]
fn without_loss_each_packet_is_sent_once() {
    for control in RdmaControl::every() {
        for recovery in [Recovery::GoBackN, Recovery::Irn] {
            let config = RoceConfig { recovery, ..RoceConfig::default() };
            assert_eq!(
                transfer(1_000_500, &control, &config, Vec::new()),
                (1_000_500, 2 * 1_001),
                "{}",
                control.name()
            );
        }
    }
}
