//! REM's price update by update, its probability, its equilibrium, and the bounds of each parameter.

use alloc::boxed::Box;
use alloc::vec;

use super::*;
use crate::test_support::{LINK, Offers, Port, Source, gauge};
use crate::{Ecn, FlowKey, MarkReason};

fn config() -> RemConfig {
    RemConfig::default()
}

/// The capacity is 25 packets of 1000 B in 2 ms.
fn rem(config: &RemConfig) -> Rem {
    Rem::new(config, LINK, 0).unwrap()
}

/// A queue of this many packets of 1000 B.
fn queue(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

fn update(number: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(2) * number
}

/// This many packets of 1000 B arrive just before the update, which sees a queue of `length` packets.
fn interval(law: &mut Rem, offers: &mut Offers, number: u64, arrivals: u64, length: u64) {
    offers.now = update(number) - Span::from_picoseconds(1);
    for _ in 0..arrivals {
        offers.backlog = Backlog::default();
        offers.offer(law, 1, 1000);
    }
    law.release(Ticket::default(), 1000, queue(length), offers.now);
    law.release(Ticket::default(), 1000, queue(length), update(number));
}

#[test]
fn price_and_probability_follow_the_published_rule() {
    let (mut law, mut offers) = (rem(&config()), Offers::new());
    // Arrivals and queue of each interval, and the resulting price and probability, by hand.
    for (number, (arrivals, length, price, probability)) in
        [(30, 40, 0.007, 6.9965e-6), (26, 60, 0.012, 1.199_39e-5), (20, 10, 0.006, 5.997e-6), (0, 0, 0.0, 0.0)]
            .into_iter()
            .enumerate()
    {
        interval(&mut law, &mut offers, number as u64 + 1, arrivals, length);
        assert!((law.price() - price).abs() < 1e-12, "{number}: {}", law.price());
        assert!((law.probability() - probability).abs() < 1e-10, "{number}: {}", law.probability());
    }
}

#[test]
fn an_average_of_arrivals_has_a_weight() {
    let (mut law, mut offers) = (rem(&RemConfig { weight: 0.25, ..config() }), Offers::new());
    interval(&mut law, &mut offers, 1, 200, 20);
    // 0.25 x 200 = 50 packets, 25 beyond the capacity; then 0.75 x 50 + 0.25 x 30 = 45 packets, 20 beyond.
    assert!((law.price() - 0.025).abs() < 1e-12);
    interval(&mut law, &mut offers, 2, 30, 20);
    assert!((law.price() - 0.045).abs() < 1e-12);
    assert_eq!(gauge(&law, "avg_arrivals"), 45.0);
}

#[test]
fn updates_made_up_for_together_are_those_made_one_by_one() {
    for weight in [1.0, 0.5, 0.01] {
        for length in [0, 20, 100, 270, 271, 1000] {
            for price in [0.0, 0.3, 700.0] {
                let mut together = rem(&RemConfig { weight, ..config() });
                (together.price, together.average, together.arrived) = (price, 90.0, 40);
                together.queue_becomes(queue(length), Time::ZERO);
                let mut singly = together.clone();
                for number in 1..=5000 {
                    singly.queue_becomes(queue(length), update(number));
                }
                together.queue_becomes(queue(length), update(5000));
                let (price, expected) = (together.price(), singly.price());
                assert!((price - expected).abs() <= 1e-9 * expected.max(1.0), "{price} {expected}");
                assert!((together.average - singly.average).abs() < 1e-9);
                assert_eq!(together.next_update, singly.next_update);
            }
        }
    }
}

#[test]
fn a_silent_link_has_no_price_and_that_of_a_stuck_queue_is_finite() {
    let mut law = rem(&config());
    law.price = 1e6;
    law.queue_becomes(queue(1000), Time::from_picoseconds(1 << 62));
    assert_eq!(law.price(), 0.0);
    law.queue_becomes(queue(0), Time::from_picoseconds(1 << 63));
    assert!(law.price() > 1e6 && law.price().is_finite());
    assert_eq!(law.probability(), 1.0);
}

#[test]
fn an_update_sees_the_queue_as_it_was() {
    let mut law = rem(&config());
    law.release(Ticket::default(), 1000, queue(1000), Time::ZERO);
    let mut early = law.clone();
    early.release(Ticket::default(), 1000, queue(0), update(1) - Span::from_picoseconds(1));
    early.release(Ticket::default(), 1000, queue(0), update(1));
    assert_eq!(early.price(), 0.0);
    law.release(Ticket::default(), 1000, queue(0), update(1));
    assert!((law.price() - 0.001 * (98.0 - 25.0)).abs() < 1e-12);
}

#[test]
fn packets_count_that_are_dropped_or_let_in() {
    let (mut law, mut offers) = (rem(&config()), Offers::new());
    offers.backlog = queue(1000);
    let arrival = Arrival { flow: FlowKey(1), len_bytes: 1000, ..Arrival::default() };
    for _ in 0..10 {
        assert_eq!(offers.offer_arrival(&mut law, &arrival), Verdict::Drop(DropReason::Overflow));
    }
    assert_eq!(law.arrived, 10);
    // Those that are let in are in the queue at the next update.
    let (mut law, mut offers) = (rem(&config()), Offers::new());
    for _ in 0..300 {
        offers.offer(&mut law, 1, 1000);
    }
    law.queue_becomes(queue(300), update(1));
    assert!((law.price() - 0.001 * (300.0 + 28.0 - 25.0)).abs() < 1e-12);
}

#[test]
fn prices_of_several_links_add_up() {
    let passes = |price: f64| {
        let mut law = rem(&RemConfig { phi: 1.01, ..config() });
        // After the update the price is that of no arrivals and an empty queue: 0.027 less.
        law.price = price + 0.027;
        law.queue_becomes(queue(0), update(1));
        1.0 - law.probability()
    };
    for (one, two) in [(1.0, 2.0), (10.0, 100.0), (0.0, 50.0)] {
        assert!((passes(one) * passes(two) / passes(one + two) - 1.0).abs() < 1e-12);
    }
    // 1.01^-69.66 is a half.
    assert!((passes(core::f64::consts::LN_2 / libm::log(1.01)) - 0.5).abs() < 1e-12);
}

/// Mean queue and probability of flows with the rate of Reno at a round-trip time of 100 ms: 12.2 packets a second,
/// divided by the square root of the fraction of marked packets.
fn settle(flows: f64) -> (f64, f64) {
    let law = rem(&RemConfig { phi: 1.05, ecn: true, ..config() });
    let mut source = Source::new(1, LINK, 1000);
    source.arrival.ecn = Ecn::Capable0;
    let mut port = Port::new(Box::new(law), vec![source]);
    let (mut length, mut probability) = (0.0, 0.0);
    for number in 1..=10_000 {
        // An update sees the queue before the changes of its instant.
        port.run(update(number) - Span::from_picoseconds(1), |_| {});
        let fraction = gauge(&*port.law, "p_mark");
        let packets_per_second = (flows * 12.2 / libm::sqrt(fraction.max(1e-6))).min(25_000.0);
        port.sources[0].gap = Span::from_seconds_f64(1.0 / packets_per_second);
        if number > 5000 {
            length += port.backlog.packets as f64 / 5000.0;
            probability += fraction / 5000.0;
        }
    }
    assert!(port.dropped.iter().all(|(_, reason)| *reason == DropReason::Overflow));
    (length, probability)
}

#[test]
fn the_queue_settles_at_its_target_whatever_the_number_of_flows() {
    for flows in [50.0, 100.0, 200.0] {
        let (length, probability) = settle(flows);
        assert!((length / 20.0 - 1.0).abs() < 0.05, "{flows}: {length}");
        // The arrivals are the capacity of 12500 packets a second.
        let expected = (flows * 12.2 / 12_500.0) * (flows * 12.2 / 12_500.0);
        assert!((probability / expected - 1.0).abs() < 0.05, "{flows}: {probability}, expected {expected}");
    }
}

#[test]
fn in_byte_mode_arrivals_queue_and_probability_are_by_size() {
    let (mut law, mut offers) = (rem(&RemConfig { byte_mode: true, ..config() }), Offers::new());
    offers.now = update(1) - Span::from_picoseconds(1);
    for _ in 0..100 {
        offers.offer(&mut law, 1, 500);
    }
    // 50 packets of mean size have come, and 50 are queued.
    law.queue_becomes(offers.backlog, update(1));
    assert!((law.price() - 0.001 * (50.0 + 3.0 - 25.0)).abs() < 1e-12, "{}", law.price());
    for (byte_mode, len_bytes, expected) in [(false, 1500, 0.1), (true, 1500, 0.15), (true, 250, 0.025)] {
        let (mut law, mut offers) = (rem(&RemConfig { byte_mode, ..config() }), Offers::new());
        law.probability = 0.1;
        let dropped = (0..40_000)
            .filter(|_| {
                offers.backlog = Backlog::default();
                offers.offer(&mut law, 1, len_bytes) == Verdict::Drop(DropReason::Early)
            })
            .count();
        assert!((dropped as f64 / 40_000.0 - expected).abs() < 0.01, "{byte_mode}, {len_bytes}: {dropped}");
    }
}

#[test]
fn a_target_in_bytes_counts_as_packets_of_mean_size() {
    let target = QueueSize::Bytes(50_000);
    let mut law = rem(&RemConfig { target, mean_packet_size: Bytes(500), ..config() });
    // The target is 100 packets, and the capacity 50.
    law.queue_becomes(queue(700), Time::ZERO);
    law.queue_becomes(queue(700), update(1));
    assert!((law.price() - 0.001 * (60.0 - 50.0)).abs() < 1e-12, "{}", law.price());
}

#[test]
fn capable_packets_are_marked_and_no_number_is_drawn_in_vain() {
    let mut law = rem(&RemConfig { ecn: true, ..config() });
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    let before = offers.rng.clone();
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Enqueue(Ticket::default()));
    assert_eq!(offers.rng, before, "the probability is 0");
    law.probability = 1.0;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Mark(Ticket::default(), MarkReason::Early));
    offers.ecn = Ecn::NotCapable;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Early));
    let before = offers.rng.clone();
    offers.backlog = queue(1000);
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Overflow));
    assert_eq!(offers.rng, before, "the queue is full");
}

#[test]
fn each_parameter_is_checked() {
    for (config, field) in [
        (RemConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (RemConfig { target: QueueSize::Packets(0), ..config() }, "target"),
        (RemConfig { target: QueueSize::Packets(1001), ..config() }, "target"),
        (RemConfig { update_interval: Span::from_nanoseconds(999), ..config() }, "update_interval"),
        (RemConfig { gamma: 0.0, ..config() }, "gamma"),
        (RemConfig { gamma: 1.01, ..config() }, "gamma"),
        (RemConfig { gamma: f64::NAN, ..config() }, "gamma"),
        (RemConfig { alpha: 0.0, ..config() }, "alpha"),
        (RemConfig { alpha: 1.01, ..config() }, "alpha"),
        (RemConfig { phi: 1.0, ..config() }, "phi"),
        (RemConfig { phi: 10.1, ..config() }, "phi"),
        (RemConfig { phi: f64::NAN, ..config() }, "phi"),
        (RemConfig { weight: 0.0, ..config() }, "weight"),
        (RemConfig { weight: 1.01, ..config() }, "weight"),
        (RemConfig { mean_packet_size: Bytes(0), ..config() }, "mean_packet_size"),
    ] {
        assert_eq!(Rem::new(&config, LINK, 0).unwrap_err().field, field, "{config:?}");
    }
    for config in [
        RemConfig { target: QueueSize::Packets(1), limit: QueueSize::Packets(1), ..config() },
        RemConfig { target: QueueSize::Bytes(100_000), ..config() },
        RemConfig { update_interval: Span::from_microseconds(1), ..config() },
        RemConfig { gamma: 1.0, alpha: 1.0, phi: 10.0, mean_packet_size: Bytes(1), ..config() },
    ] {
        assert!(Rem::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
}
