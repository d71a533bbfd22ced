//! COBALT: the table of inverse square roots, ns-3's suite, CoDel's count and BLUE's probability.

use super::*;
use crate::Ecn;
use crate::test_support::{Bench, LINK, Labelled};

fn bench(config: &CobaltConfig) -> Bench<Cobalt<Labelled>> {
    Bench::new(Cobalt::new(config, LINK, 0).unwrap())
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(milliseconds)
}

fn fill(bench: &mut Bench<Cobalt<Labelled>>, packets: u32, ecn: Ecn) {
    for label in 0..packets {
        let mut packet = Labelled::new(label, 1, 1000, 0);
        packet.arrival.ecn = ecn;
        bench.enqueue(packet);
    }
}

#[test]
fn the_table_of_inverse_square_roots_is_cakes() {
    let known = [
        (0, 0xffff_ffff),
        (1, 0xffff_ffff),
        (2, 0xb4ea_d8a0),
        (3, 0x93cd_39e7),
        (4, 0x7fff_ffff),
        (5, 0x727c_9717),
        (8, 0x5a82_799a),
        (15, 0x4219_528c),
    ];
    for (count, inverse) in known {
        assert_eq!(INVERSE_SQRT[count], inverse, "{count}");
    }
}

#[test]
fn overflow_raises_blues_probability() {
    for (limit, len_bytes) in [(QueueSize::Packets(100), 1), (QueueSize::Bytes(150_000), 1500)] {
        let mut bench = bench(&CobaltConfig { limit, ..CobaltConfig::default() });
        for label in 1..=200 {
            bench.now = at(10 * u64::from(label));
            bench.enqueue(Labelled::new(label, 1, len_bytes, 0));
        }
        assert_eq!(bench.dropped.0.len(), 100);
        assert!(bench.dropped.0.iter().all(|(_, reason, queued)| *reason == DropReason::Overflow && !queued));
        assert_eq!(bench.discipline.blue.probability, 100.0 / 256.0);
    }
}

#[test]
fn blue_takes_one_step_in_a_target() {
    let mut bench = bench(&CobaltConfig { limit: QueueSize::Packets(1), ..CobaltConfig::default() });
    for millisecond in 0..=12 {
        bench.now = at(millisecond);
        bench.enqueue(Labelled::new(0, 1, 1000, 0));
    }
    // At 6 ms and at 12 ms.
    assert_eq!(bench.discipline.blue.probability, 2.0 / 256.0);
    while bench.discipline.backlog().packets > 0 {
        bench.dequeue();
    }
    for millisecond in 12..=30 {
        bench.now = at(millisecond);
        assert_eq!(bench.dequeue(), None);
    }
    // At 18, 24 and 30 ms.
    assert_eq!(bench.discipline.blue.probability, 2.0 / 256.0 - 3.0 / 4096.0);
}

#[test]
fn drops_as_ns3s_suite_has_it() {
    let mut bench = bench(&CobaltConfig::default());
    fill(&mut bench, 20, Ecn::NotCapable);
    bench.now = at(10);
    bench.dequeue().unwrap();
    assert!(bench.dropped.0.is_empty());
    bench.now = at(210);
    bench.dequeue().unwrap();
    assert!(!bench.dropped.0.is_empty());
}

#[test]
fn marks_as_ns3s_suite_has_it() {
    let mut bench = bench(&CobaltConfig { ecn: true, ..CobaltConfig::default() });
    fill(&mut bench, 20, Ecn::Capable0);
    for (time, marked) in [(10, false), (210, true), (210, true), (420, true)] {
        bench.now = at(time);
        let packet = bench.dequeue().unwrap();
        assert_eq!(packet.arrival.ecn == Ecn::CongestionExperienced, marked, "at {time} ms");
    }
    assert_eq!((bench.discipline.backlog().packets, bench.dropped.0.len()), (16, 0));
}

#[test]
fn drops_what_may_not_be_marked() {
    let mut bench = bench(&CobaltConfig { ecn: true, ..CobaltConfig::default() });
    fill(&mut bench, 3, Ecn::Capable0);
    fill(&mut bench, 17, Ecn::NotCapable);
    let mut marks = 0;
    for time in [10, 210, 210] {
        bench.now = at(time);
        marks += u32::from(bench.dequeue().unwrap().arrival.ecn == Ecn::CongestionExperienced);
    }
    // After three signals the next is due at 210 + 57.7 ms, then 50, 44.7, 40.8 and 37.8 ms after one another: four by
    // 420 ms.
    bench.now = at(420);
    assert_eq!(bench.dequeue().unwrap().arrival.ecn, Ecn::NotCapable);
    assert_eq!((marks, bench.dropped.0.len()), (2, 4));
    assert_eq!(bench.discipline.count, 7);
}

#[test]
fn the_ce_threshold_marks_by_delay_alone() {
    let ce_threshold = Some(Span::from_milliseconds(1));
    let mut bench = bench(&CobaltConfig { ecn: true, ce_threshold, ..CobaltConfig::default() });
    // A packet each millisecond, a departure each 1.1 ms: the eleventh has waited 1.1 ms.
    let mut arrivals = 0;
    for departure in 1..=11_u64 {
        let now = Time::ZERO + Span::from_microseconds(1100) * departure;
        while arrivals < 11 && at(arrivals + 1) <= now {
            arrivals += 1;
            bench.now = at(arrivals);
            fill(&mut bench, 1, Ecn::Capable0);
        }
        bench.now = now;
        let marked = bench.dequeue().unwrap().arrival.ecn == Ecn::CongestionExperienced;
        assert_eq!(marked, departure == 11, "{departure}");
    }
}

#[test]
fn a_very_long_delay_raises_blues_probability() {
    for (blue_threshold, expected) in [(Some(Span::from_milliseconds(400)), 60.0 / 256.0), (None, 0.0)] {
        let mut bench = bench(&CobaltConfig { blue_threshold, ..CobaltConfig::default() });
        fill(&mut bench, 400, Ecn::NotCapable);
        for departure in 1..=100 {
            bench.now = at(10 * departure);
            bench.dequeue().unwrap();
        }
        assert_eq!(bench.discipline.blue.probability, expected);
    }
}

#[test]
fn the_count_runs_down_by_the_schedule_by_which_it_ran_up() {
    let mut bench = bench(&CobaltConfig::default());
    fill(&mut bench, 50, Ecn::NotCapable);
    for time in [10, 210, 420] {
        bench.now = at(time);
        bench.dequeue().unwrap();
    }
    let count = bench.discipline.count;
    assert!(count > 4 && bench.discipline.dropping);
    let due = bench.discipline.drop_next;
    // A young packet, when the law has been due three times: 1/sqrt(n) intervals for each n that is left.
    while bench.discipline.queue.pop().is_some() {}
    let gaps = [count - 1, count - 2].map(|n| 0.1 / libm::sqrt(f64::from(n)));
    bench.now = due + Span::from_seconds_f64(gaps[0] + gaps[1] + 0.001);
    fill(&mut bench, 1, Ecn::NotCapable);
    bench.dequeue().unwrap();
    assert!(!bench.discipline.dropping);
    assert_eq!(bench.discipline.count, count - 3);
}

#[test]
fn the_last_packet_is_not_dropped() {
    let config = CobaltConfig { limit: QueueSize::Packets(1), increment: 1.0, ..CobaltConfig::default() };
    let mut bench = bench(&config);
    bench.now = at(10);
    fill(&mut bench, 2, Ecn::NotCapable);
    assert_eq!(bench.discipline.blue.probability, 1.0);
    bench.now = at(1000);
    assert!(bench.dequeue().is_some());
}

#[test]
fn on_a_slow_link_four_packets_are_not_congestion() {
    // 12 ms for a packet of 1500 B at 1 Mb/s.
    let cobalt = Cobalt::new(&CobaltConfig::default(), Rate::megabits(1), 0).unwrap();
    let mut bench = Bench::new(cobalt);
    fill(&mut bench, 2, Ecn::NotCapable);
    for (time, dropping) in [(48, false), (49, true)] {
        bench.now = at(time);
        bench.dequeue().unwrap();
        assert_eq!(bench.discipline.dropping, dropping, "at {time} ms");
    }
}

#[test]
fn each_parameter_is_checked() {
    let cases = [
        (CobaltConfig { limit: QueueSize::Packets(0), ..CobaltConfig::default() }, "limit"),
        (CobaltConfig { target: Span::ZERO, ..CobaltConfig::default() }, "target"),
        (CobaltConfig { interval: Span::from_milliseconds(4), ..CobaltConfig::default() }, "interval"),
        (CobaltConfig { max_packet_size: Bytes(0), ..CobaltConfig::default() }, "max_packet_size"),
        (CobaltConfig { increment: 1.5, ..CobaltConfig::default() }, "increment"),
        (CobaltConfig { decrement: f64::NAN, ..CobaltConfig::default() }, "decrement"),
    ];
    for (config, field) in cases {
        assert_eq!(Cobalt::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
