//! PI's probability tick by tick, its design, its equilibrium, and what each parameter may be.

use alloc::boxed::Box;
use alloc::vec;

use super::*;
use crate::test_support::{LINK, Offers, Port, Source, gauge};
use crate::{Ecn, FlowKey, MarkReason};

fn config() -> PiConfig {
    PiConfig::default()
}

fn pi(config: &PiConfig) -> Pi {
    Pi::new(config, LINK, 0).unwrap()
}

/// A queue of this many packets of 1000 B.
fn queue(packets: u64) -> Backlog {
    Backlog { packets, bytes: packets * 1000 }
}

fn tick(number: u64) -> Time {
    Time::ZERO + Span::from_seconds_f64(1.0 / 170.0) * number
}

#[test]
fn the_probability_follows_the_published_difference_equation() {
    let mut law = pi(&config());
    // The queue at each tick, and the resulting probability, by hand.
    for (number, (length, expected)) in
        [(0, 0.0), (100, 0.00181), (300, 0.005_448), (200, 0.003_632)].iter().enumerate()
    {
        law.release(Ticket::default(), 1000, queue(*length), tick(number as u64));
        law.release(Ticket::default(), 1000, queue(*length), tick(number as u64 + 1));
        assert!((law.probability() - expected).abs() < 1e-9, "{length}: {}", law.probability());
    }
}

#[test]
fn a_tick_sees_the_queue_as_it_stood() {
    let mut law = pi(&config());
    law.release(Ticket::default(), 1000, queue(1000), Time::ZERO);
    // The queue is empty again a picosecond before the tick, or at it.
    let mut early = law.clone();
    early.release(Ticket::default(), 1000, queue(0), tick(1) - Span::from_picoseconds(1));
    early.release(Ticket::default(), 1000, queue(0), tick(1));
    assert_eq!(early.probability(), 0.0);
    law.release(Ticket::default(), 1000, queue(0), tick(1));
    assert!((law.probability() - (1.822e-5 * 800.0 + 1.816e-5 * 200.0)).abs() < 1e-12);
}

#[test]
fn ticks_made_up_for_together_are_those_taken_one_by_one() {
    for length in [0, 100, 200, 201, 350, 1000] {
        for start in [0.0, 0.004, 0.5, 1.0] {
            let mut together = pi(&config());
            together.probability = start;
            together.last_error = 30.0;
            together.queue_becomes(queue(length), Time::ZERO);
            let mut singly = together.clone();
            for number in 1..=5000 {
                singly.queue_becomes(queue(length), tick(number));
            }
            together.queue_becomes(queue(length), tick(5000));
            assert!((together.probability() - singly.probability()).abs() < 1e-12);
            assert_eq!((together.next_tick, together.last_error), (singly.next_tick, singly.last_error));
        }
    }
}

#[test]
fn an_idle_link_ends_with_a_probability_of_zero_and_a_stuck_queue_with_one() {
    let mut law = pi(&config());
    law.probability = 1.0;
    law.queue_becomes(queue(1000), Time::from_picoseconds(1 << 62));
    assert_eq!(law.probability(), 0.0);
    law.queue_becomes(queue(0), Time::from_picoseconds(1 << 63));
    assert_eq!(law.probability(), 1.0);
    law.queue_becomes(queue(0), Time::NEVER);
    assert_eq!(law.probability(), 0.0);
}

#[test]
fn the_design_rule_gives_the_published_gains() {
    // The paper's example: 3750 packets/s, 60 flows, 200 ms of propagation and a queue of 175 packets.
    let gains = PiGains::design(3750.0, 60.0, 0.2 + 175.0 / 3750.0);
    assert!((gains.integral / 9.64e-6 - 1.0).abs() < 1e-3, "{gains:?}");
    // Its zero at 0.53 rad/s is printed to two digits, and `a` and `b` are computed from that.
    assert!((gains.integral / gains.proportional / 0.53 - 1.0).abs() < 0.01);
    let (a, b) = gains.sampled(160.0);
    assert!((a / 1.822e-5 - 1.0).abs() < 0.01 && (b / 1.816e-5 - 1.0).abs() < 0.01, "{a} {b}");
    assert!(((a - b) / 6.0e-8 - 1.0).abs() < 0.01, "{}", a - b);
}

#[test]
fn a_design_with_few_packets_in_flight_is_slowed_down() {
    // 1000 flows with 4 packets each: the pole is at half a radian a round trip, and with fewer packets above.
    let at = |packets_per_second: f64| PiGains::design(packets_per_second, 1000.0, 0.1);
    let crossover = |gains: PiGains, packets_per_second: f64| {
        let (in_flight, ratio) = (packets_per_second * 0.1, 2000.0 / (packets_per_second * 0.1));
        // The open loop at 5 rad/s, half a radian a round trip: |K (jw/z + 1)/(jw)| |plant|.
        let (w, pole) = (5.0, ratio / 0.1);
        let controller = gains.integral * libm::hypot(w * gains.proportional / gains.integral, 1.0) / w;
        controller * in_flight / (ratio * ratio) / libm::hypot(w / pole, 1.0) / libm::hypot(w * 0.1, 1.0)
    };
    for packets_per_second in [40_000.0, 20_000.0, 10_000.0] {
        let gain = crossover(at(packets_per_second), packets_per_second);
        assert!((gain - 1.0).abs() < 1e-9, "{packets_per_second}: {gain}");
    }
    // More packets in flight: the loop is slower than that.
    assert!(crossover(at(80_000.0), 80_000.0) < 0.5);
}

#[test]
fn the_queue_settles_at_its_reference_whatever_the_load() {
    // Constant-rate sources of 1.1 and 1.5 times the link: packets of 3333 B are 3750 a second.
    for (megabits, expected) in [(110, 1.0 - 100.0 / 110.0), (150, 1.0 / 3.0)] {
        let mut port = Port::new(Box::new(pi(&config())), vec![Source::new(1, Rate::megabits(megabits), 3333)]);
        let (mut lengths, mut probabilities, mut samples) = (0.0, 0.0, 0.0);
        let settled = Time::ZERO + Span::from_seconds(150);
        port.run(Time::ZERO + Span::from_seconds(300), |port| {
            if port.now >= settled {
                lengths += port.backlog.packets as f64;
                probabilities += gauge(&*port.law, "p_mark");
                samples += 1.0;
            }
        });
        let (length, probability) = (lengths / samples, probabilities / samples);
        assert!((length / 200.0 - 1.0).abs() < 0.05, "{megabits} Mb/s: {length}");
        assert!((probability - expected).abs() < 0.01, "{megabits} Mb/s: {probability}");
    }
}

#[test]
fn bytes_count_as_packets_of_mean_size() {
    let reference = QueueSize::Bytes(100_000);
    let mut law = pi(&PiConfig { reference, limit: QueueSize::Bytes(1_000_000), ..config() });
    // 300 packets of 1000 B are 600 of mean size, 400 over the reference of 200.
    law.queue_becomes(queue(300), Time::ZERO);
    law.queue_becomes(queue(300), tick(1));
    assert!((law.probability() - (1.822e-5 * 400.0 + 1.816e-5 * 200.0)).abs() < 1e-12);
}

#[test]
fn in_byte_mode_a_packet_counts_by_its_size() {
    for (byte_mode, len_bytes, expected) in [(false, 1000, 0.1), (true, 1000, 0.2), (true, 250, 0.05)] {
        let mut law = pi(&PiConfig { byte_mode, ..config() });
        law.probability = 0.1;
        let mut offers = Offers::new();
        let dropped = (0..20_000)
            .filter(|_| {
                offers.backlog = Backlog::default();
                offers.offer(&mut law, 1, len_bytes) == Verdict::Drop(DropReason::Early)
            })
            .count();
        assert!((dropped as f64 / 20_000.0 - expected).abs() < 0.01, "{byte_mode}, {len_bytes}: {dropped}");
    }
}

#[test]
fn capable_packets_are_marked_and_a_full_queue_takes_no_dice() {
    let mut law = pi(&PiConfig { ecn: true, ..config() });
    law.probability = 1.0;
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Mark(Ticket::default(), MarkReason::Early));
    offers.ecn = Ecn::NotCapable;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Early));
    let before = offers.rng.clone();
    offers.backlog = queue(1000);
    let arrival = Arrival { flow: FlowKey(1), len_bytes: 1000, ..Arrival::default() };
    assert_eq!(offers.offer_arrival(&mut law, &arrival), Verdict::Drop(DropReason::Overflow));
    assert_eq!(offers.rng, before);
}

#[test]
fn each_parameter_is_checked() {
    let design = |flows, milliseconds| Some(PiDesign { flows, round_trip_time: Span::from_milliseconds(milliseconds) });
    let cases = [
        (PiConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (PiConfig { reference: QueueSize::Packets(0), ..config() }, "reference"),
        (PiConfig { reference: QueueSize::Packets(1001), ..config() }, "reference"),
        (PiConfig { a: 0.0, ..config() }, "a"),
        (PiConfig { a: f64::NAN, ..config() }, "a"),
        (PiConfig { b: 1.822e-5, ..config() }, "b"),
        (PiConfig { b: -1e-9, ..config() }, "b"),
        (PiConfig { sampling_frequency_hz: 0.0, ..config() }, "sampling_frequency_hz"),
        (PiConfig { sampling_frequency_hz: f64::INFINITY, ..config() }, "sampling_frequency_hz"),
        (PiConfig { sampling_frequency_hz: 1e-3, design: design(60, 246), ..config() }, "sampling_frequency_hz"),
        (PiConfig { design: design(0, 246), ..config() }, "design"),
        (PiConfig { design: design(60, 0), ..config() }, "design"),
        (PiConfig { design: design(u32::MAX, 1), ..config() }, "design"),
        (PiConfig { mean_packet_size: Bytes(0), ..config() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(Pi::new(&config, LINK, 0).unwrap_err().field, field, "{config:?}");
    }
    assert!(Pi::new(&PiConfig { design: design(60, 246), ..config() }, LINK, 0).is_ok());
}

#[test]
fn a_parameter_may_be_at_its_bound() {
    for config in [
        PiConfig { reference: QueueSize::Packets(1), limit: QueueSize::Packets(1), ..config() },
        PiConfig { a: 1.0, b: 0.0, ..config() },
        PiConfig { mean_packet_size: Bytes(1), ..config() },
        PiConfig { sampling_frequency_hz: 1e-3, ..config() },
        PiConfig { sampling_frequency_hz: 1e6, ..config() },
        PiConfig {
            design: Some(PiDesign { flows: 1, round_trip_time: Span::from_milliseconds(246) }),
            sampling_frequency_hz: 1e6,
            ..config()
        },
    ] {
        assert!(Pi::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
    assert_eq!(Pi::new(&PiConfig { a: 1.05, ..config() }, LINK, 0).unwrap_err().field, "a");
    let fast = PiConfig { sampling_frequency_hz: 1.05e6, ..config() };
    assert_eq!(Pi::new(&fast, LINK, 0).unwrap_err().field, "sampling_frequency_hz");
}

#[test]
fn a_packet_that_is_let_in_counts_at_the_next_tick() {
    let mut law = pi(&PiConfig { reference: QueueSize::Bytes(500), limit: QueueSize::Bytes(1_000_000), ..config() });
    let mut offers = Offers::new();
    // Three packets of 1000 B are six of mean size, five over the reference of one; the first tick saw none, one under.
    for _ in 0..3 {
        offers.offer(&mut law, 1, 1000);
    }
    law.queue_becomes(Backlog { packets: 3, bytes: 3000 }, tick(1));
    assert!((law.probability() - (1.822e-5 * 5.0 + 1.816e-5)).abs() < 1e-12, "{}", law.probability());
    let mut packets = pi(&PiConfig { reference: QueueSize::Packets(1), ..config() });
    let mut offers = Offers::new();
    for _ in 0..3 {
        offers.offer(&mut packets, 1, 1000);
    }
    packets.queue_becomes(Backlog { packets: 3, bytes: 3000 }, tick(1));
    assert!((packets.probability() - (1.822e-5 * 2.0 + 1.816e-5)).abs() < 1e-12, "{}", packets.probability());
}
