//! PI2: the square, scalable packets in the same queue, overload, the head's age.

use alloc::vec::Vec;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};

use Ecn::{Capable0, Capable1, CongestionExperienced as Ce, NotCapable};

fn bench(config: &Pi2Config) -> Bench<Pi2<Labelled>> {
    Bench::new(Pi2::new(config, LINK, 0).unwrap())
}

fn packet(label: u32, ecn: Ecn) -> Labelled {
    let mut packet = Labelled::new(label, 1, 1514, 0);
    packet.arrival.ecn = ecn;
    packet
}

/// Shares of packets dropped and marked when all have this codepoint, with this base probability.
fn shares(config: &Pi2Config, probability: f64, ecn: Ecn) -> [f64; 2] {
    let mut bench = bench(config);
    bench.discipline.controller.set_probability(probability);
    let mut served = 0;
    let mut offered = 0;
    for _ in 0..20_000 {
        while bench.discipline.backlog().packets < 40 {
            offered += 1;
            bench.enqueue(packet(0, ecn));
        }
        served += u32::from(bench.dequeue().is_some());
    }
    let dropped = bench.dropped.0.len() as f64;
    assert!(
        bench
            .dropped
            .0
            .iter()
            .all(|(_, reason, queued)| { (*reason, *queued) == (DropReason::Early, !config.drop_on_enqueue) })
    );
    let all = if config.drop_on_enqueue { f64::from(offered) } else { f64::from(served) + dropped };
    [dropped / all, bench.dropped.1.len() as f64 / all]
}

fn assert_shares(found: [f64; 2], expected: [f64; 2]) {
    let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.012);
    assert!(is_near, "{found:?} instead of {expected:?}");
}

#[test]
fn packets_are_dropped_or_marked_with_the_square() {
    for (preset, drop_on_enqueue) in [(Pi2Preset::Linux, false), (Pi2Preset::Linux, true), (Pi2Preset::Rfc, false)] {
        let config = Pi2Config { preset, drop_on_enqueue, ..Pi2Config::default() };
        assert_shares(shares(&config, 0.3, NotCapable), [0.09, 0.0]);
        for ecn in [Capable0, Capable1, Ce] {
            assert_shares(shares(&config, 0.3, ecn), [0.0, 0.09]);
            assert_shares(shares(&config, 0.5, ecn), [0.25, 0.0]);
        }
        let scalable = Pi2Config { scalable: true, ..config };
        assert_shares(shares(&scalable, 0.3, Capable0), [0.0, 0.09]);
        for ecn in [Capable1, Ce] {
            assert_shares(shares(&scalable, 0.3, ecn), [0.0, 0.6]);
            assert_shares(shares(&scalable, 0.8, ecn), [0.64, 0.36]);
            let k = Pi2Config { coupling_factor: 3.0, ..scalable.clone() };
            assert_shares(shares(&k, 0.3, ecn), [0.0, 0.9]);
        }
    }
}

#[test]
fn scalable_packets_keep_their_place_in_the_queue() {
    let mut bench = bench(&Pi2Config { scalable: true, ..Pi2Config::default() });
    for (label, ecn) in [(0, NotCapable), (1, Capable1), (2, Capable0), (3, Ce)] {
        bench.enqueue(packet(label, ecn));
    }
    assert_eq!(bench.drain(), [0, 1, 2, 3]);
}

#[test]
fn nothing_is_dropped_with_less_than_two_packets_queued() {
    let left = |config: &Pi2Config| {
        let mut bench = bench(config);
        (0..4).for_each(|label| bench.enqueue(packet(label, NotCapable)));
        bench.discipline.controller.set_probability(1.0);
        bench.drain()
    };
    let linux = Pi2Config::default();
    assert_eq!(left(&linux), [2, 3]);
    assert_eq!(left(&Pi2Config { min_backlog: Some(Bytes(1515)), ..linux.clone() }), [2, 3]);
    assert_eq!(left(&Pi2Config { min_backlog: Some(Bytes(1514)), ..linux.clone() }), [3]);
    assert_eq!(left(&Pi2Config { min_backlog: Some(Bytes(0)), ..linux.clone() }), Vec::<u32>::new());
    assert_eq!(left(&Pi2Config { mtu: Bytes(757), ..linux }), [3]);
    let random = Pi2Config { preset: Pi2Preset::Rfc, classic_draw: Some(Pi2Draw::Random), ..Pi2Config::default() };
    assert_eq!(left(&random), Vec::<u32>::new());
}

#[test]
fn the_controller_sees_the_age_of_the_head() {
    let mut bench = bench(&Pi2Config::default());
    let at = |milliseconds| Time::ZERO + Span::from_milliseconds(milliseconds);
    bench.now = at(4);
    bench.enqueue(packet(0, NotCapable));
    bench.now = at(9);
    bench.enqueue(packet(1, NotCapable));
    bench.now = at(40);
    bench.dequeue();
    // Ticks at 16 and 32 ms.
    assert_eq!(bench.discipline.controller.delay_before(), Span::from_milliseconds(28));
    let steps: [i64; 2] = [-3_000_000 * 44 + 12_000_000 * 879, 13_000_000 * 44 + 16_000_000 * 879];
    let expected = steps.iter().map(|delta| (delta / 64) as f64).sum::<f64>() / 4_294_967_296.0;
    assert_eq!(bench.discipline.probability(), expected);
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("p_base", expected), ("p_drop", expected * expected), ("queueing_delay_s", 0.031)]);
}

#[test]
fn without_drops_on_overload_the_buffer_fills() {
    let mut bench = bench(&Pi2Config { limit: QueueSize::Packets(5), drop_on_overload: false, ..Pi2Config::default() });
    (0..6).for_each(|label| bench.enqueue(packet(label, Capable0)));
    assert_eq!(bench.dropped.0, [(packet(5, Capable0), DropReason::Overflow, false)]);
    bench.now = Time::ZERO + Span::from_seconds(10);
    assert_eq!(bench.drain(), [0, 1, 2, 3, 4]);
    assert_eq!(bench.discipline.probability(), 2_147_483_647.0 / 4_294_967_296.0);
}

#[test]
fn bounds_are_checked() {
    for (config, field) in [
        (Pi2Config { limit: QueueSize::Bytes(39), ..Pi2Config::default() }, "limit"),
        (Pi2Config { mtu: Bytes(0), ..Pi2Config::default() }, "mtu"),
        (Pi2Config { target: Some(Span::ZERO), ..Pi2Config::default() }, "target"),
        (Pi2Config { coupling_factor: 0.5, ..Pi2Config::default() }, "coupling_factor"),
    ] {
        assert_eq!(Pi2::<Labelled>::new(&config, LINK, 0).map(|_| ()).unwrap_err().field, field);
    }
}
