//! COBALT: the table of inverse square roots, ns-3's suite, CoDel's count and BLUE's probability.

use super::*;
use alloc::vec::Vec;

use crate::test_support::{Bench, LINK, Labelled, OnPacket, rng};
use crate::{Ecn, FlowInfo, Sink};

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
        (2, 3_037_000_500),
        (3, 2_479_700_525),
        (4, 2_147_483_647),
        (8, 1_518_500_250),
        (15, 1_108_955_788),
    ];
    for (count, inverse) in known {
        assert_eq!(INVERSE_SQRT[count], inverse, "{count}");
    }
    for (count, &inverse) in INVERSE_SQRT.iter().enumerate().skip(1) {
        let exact = 4_294_967_296.0 / libm::sqrt(count as f64);
        assert!((f64::from(inverse) - exact).abs() <= 1.0, "{count}");
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
        assert_eq!(bench.discipline.state.probability, 100.0 / 256.0);
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
    assert_eq!(bench.discipline.state.probability, 2.0 / 256.0);
    while bench.discipline.backlog().packets > 0 {
        bench.dequeue();
    }
    for millisecond in 12..=30 {
        bench.now = at(millisecond);
        assert_eq!(bench.dequeue(), None);
    }
    // At 18, 24 and 30 ms.
    assert_eq!(bench.discipline.state.probability, 2.0 / 256.0 - 3.0 / 4096.0);
}

#[test]
fn a_step_of_blue_comes_later_than_a_target_after_the_last() {
    let mut bench = bench(&CobaltConfig { limit: QueueSize::Packets(1), ..CobaltConfig::default() });
    fill(&mut bench, 1, Ecn::NotCapable);
    for (time, steps) in [(5, 0.0), (6, 1.0), (11, 1.0), (12, 2.0)] {
        bench.now = at(time);
        fill(&mut bench, 1, Ecn::NotCapable);
        assert_eq!(bench.discipline.state.probability, steps / 256.0, "up, at {time} ms");
    }
    assert!(bench.dequeue().is_some());
    for (time, steps) in [(17, 0.0), (18, 1.0), (23, 1.0), (24, 2.0)] {
        bench.now = at(time);
        assert_eq!(bench.dequeue(), None);
        assert_eq!(bench.discipline.state.probability, 2.0 / 256.0 - steps / 4096.0, "down, at {time} ms");
    }
}

#[test]
fn blues_probability_stays_within_0_and_1() {
    let config = CobaltConfig { limit: QueueSize::Packets(1), increment: 0.6, decrement: 0.7, ..Default::default() };
    let mut bench = bench(&config);
    fill(&mut bench, 1, Ecn::NotCapable);
    for (time, expected) in [(10, 0.6), (20, 1.0), (30, 1.0)] {
        bench.now = at(time);
        fill(&mut bench, 1, Ecn::NotCapable);
        assert_eq!(bench.discipline.state.probability, expected);
    }
    assert!(bench.dequeue().is_some());
    for (time, expected) in [(40, 1.0 - 0.7), (50, 0.0), (60, 0.0)] {
        bench.now = at(time);
        assert_eq!(bench.dequeue(), None);
        assert_eq!(bench.discipline.state.probability, expected);
    }
}

#[test]
fn an_idle_link_does_not_hold_back_blues_first_step() {
    let mut bench = bench(&CobaltConfig { limit: QueueSize::Packets(1), ..CobaltConfig::default() });
    bench.now = at(10);
    assert_eq!(bench.dequeue(), None);
    bench.now = at(12);
    fill(&mut bench, 2, Ecn::NotCapable);
    assert_eq!(bench.discipline.state.probability, 1.0 / 256.0);
}

#[test]
fn blue_drops_young_packets_with_its_probability() {
    let mut bench = bench(&CobaltConfig { limit: QueueSize::Packets(20_000), ecn: true, ..CobaltConfig::default() });
    fill(&mut bench, 10_000, Ecn::Capable0);
    bench.discipline.state.probability = 0.05;
    while bench.dequeue().is_some() {}
    // 500 on average, with a deviation of 22. BLUE never marks.
    let dropped = &bench.dropped.0;
    assert!((400..600).contains(&dropped.len()), "{}", dropped.len());
    assert!(dropped.iter().all(|(_, reason, queued)| *reason == DropReason::Early && *queued));
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
    assert_eq!(bench.discipline.state.count, 7);
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
        assert_eq!(bench.discipline.state.probability, expected);
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
    let count = bench.discipline.state.count;
    assert!(count > 4 && bench.discipline.state.dropping);
    let due = bench.discipline.state.drop_next;
    // A young packet, when the law has been due three times: 1/sqrt(n) intervals for each n that is left.
    while bench.discipline.queue.pop().is_some() {}
    let gaps = [count - 1, count - 2].map(|n| 0.1 / libm::sqrt(f64::from(n)));
    bench.now = due + Span::from_seconds_f64(gaps[0] + gaps[1] + 0.001);
    fill(&mut bench, 1, Ecn::NotCapable);
    bench.dequeue().unwrap();
    assert!(!bench.discipline.state.dropping);
    assert_eq!(bench.discipline.state.count, count - 3);
}

/// A bench whose last young packet left at 1 ms, with ten that came at `arrival` ms.
fn late_queue(arrival: u64) -> Bench<Cobalt<Labelled>> {
    let mut bench = bench(&CobaltConfig { ecn: true, ..CobaltConfig::default() });
    bench.now = at(1);
    fill(&mut bench, 1, Ecn::Capable0);
    bench.dequeue().unwrap();
    bench.now = at(arrival);
    fill(&mut bench, 10, Ecn::Capable0);
    bench
}

/// Whether the packet that is sent at this time is marked.
fn marked(bench: &mut Bench<Cobalt<Labelled>>, time: Time) -> bool {
    bench.now = time;
    bench.dequeue().unwrap().arrival.ecn == Ecn::CongestionExperienced
}

#[test]
fn the_first_signal_comes_an_interval_after_the_delay_has_risen() {
    let mut bench = late_queue(10);
    for (time, expected) in [(20, false), (119, false), (120, true)] {
        assert_eq!(marked(&mut bench, at(time)), expected, "at {time} ms");
    }
}

#[test]
fn the_first_signal_comes_at_once_after_more_than_an_interval_of_silence() {
    for (first, expected) in [(101, false), (102, true)] {
        let mut bench = late_queue(50);
        assert!(!marked(&mut bench, at(first)));
        assert_eq!(marked(&mut bench, at(110)), expected, "{first} ms");
    }
}

#[test]
fn an_overflow_makes_the_control_law_act_at_once() {
    let mut bench = bench(&CobaltConfig { ecn: true, limit: QueueSize::Packets(3), ..CobaltConfig::default() });
    fill(&mut bench, 3, Ecn::Capable0);
    bench.now = at(10);
    fill(&mut bench, 1, Ecn::Capable0);
    assert!(marked(&mut bench, at(10)));
    // The second is due 100 ms / sqrt(2) after the overflow.
    assert_eq!(bench.discipline.state.count, 2);
    assert!((bench.discipline.state.drop_next.seconds() - 0.0807).abs() < 1e-4);
}

/// Three signals, at 120 ms, 70.7 ms and 57.7 ms after one another; the rest of the queue has gone.
fn count_of_three() -> Bench<Cobalt<Labelled>> {
    let mut bench = late_queue(10);
    for (time, expected) in [(20, false), (120, true), (191, true)] {
        assert_eq!(marked(&mut bench, at(time)), expected, "at {time} ms");
    }
    while bench.discipline.backlog().packets > 0 {
        bench.dequeue().unwrap();
    }
    assert_eq!(bench.discipline.state.count, 3);
    bench
}

#[test]
fn the_count_runs_down_when_the_link_asks_in_vain() {
    let mut bench = count_of_three();
    assert_eq!(bench.dequeue(), None);
    assert!(!bench.discipline.state.dropping);
    assert_eq!(bench.discipline.state.count, 3);
    for left in [2, 1, 0] {
        let due = bench.discipline.state.drop_next;
        bench.now = due - Span::from_picoseconds(1);
        assert_eq!(bench.dequeue(), None);
        assert_eq!(bench.discipline.state.count, left + 1);
        bench.now = due;
        assert_eq!(bench.dequeue(), None);
        assert_eq!(bench.discipline.state.count, left);
    }
    bench.now = at(2000);
    assert_eq!(bench.dequeue(), None);
    assert_eq!(bench.discipline.state.count, 0);
}

#[test]
fn the_count_runs_down_by_one_at_its_time_and_to_nothing_in_a_long_calm() {
    let mut bench = count_of_three();
    let due = bench.discipline.state.drop_next;
    bench.now = due;
    fill(&mut bench, 1, Ecn::Capable0);
    bench.dequeue().unwrap();
    assert_eq!(bench.discipline.state.count, 2);
    // Counted from when it was due: 100 ms / sqrt(2).
    assert!((bench.discipline.state.drop_next.since(due).seconds() - 0.0707).abs() < 1e-4);
    bench.now = at(2000);
    fill(&mut bench, 1, Ecn::Capable0);
    bench.dequeue().unwrap();
    assert_eq!((bench.discipline.state.count, bench.discipline.state.drop_next), (0, at(2100)));
}

/// Keeps why packets were marked.
#[derive(Default)]
struct Marks(Vec<MarkReason>);

impl Sink<Labelled> for Marks {
    fn dropped(&mut self, _packet: Labelled, _reason: DropReason, _queued: bool) {}
    fn marked(&mut self, _packet: &Labelled, reason: MarkReason) {
        self.0.push(reason);
    }
    fn trimmed(&mut self, _packet: &Labelled, _cut_bytes: u32) {}
    fn flow_info(&self) -> &dyn FlowInfo<Labelled> {
        &OnPacket
    }
}

#[test]
fn a_mark_of_the_control_law_is_early_and_one_of_the_threshold_forced() {
    let (mut marks, mut rng) = (Marks::default(), rng());
    let ce_threshold = Some(Span::from_milliseconds(50));
    let config = CobaltConfig { ecn: true, ce_threshold, ..CobaltConfig::default() };
    let mut cobalt = Cobalt::new(&config, LINK, 0).unwrap();
    let mut packet = Labelled::new(0, 1, 1000, 0);
    packet.arrival.ecn = Ecn::Capable0;
    for _ in 0..5 {
        cobalt.enqueue(packet, &mut Cx { now: Time::ZERO, rng: &mut rng, sink: &mut marks });
    }
    // The first has not waited for as long as the threshold. The law is due at 210 and, having been late, at 211 ms.
    for time in [10, 210, 211, 212] {
        cobalt.dequeue(&mut Cx { now: at(time), rng: &mut rng, sink: &mut marks }).packet().unwrap();
    }
    assert_eq!(marks.0, [MarkReason::Early, MarkReason::Early, MarkReason::Forced]);
}

#[test]
fn the_last_packet_is_not_dropped() {
    let config = CobaltConfig { limit: QueueSize::Packets(1), increment: 1.0, ..CobaltConfig::default() };
    let mut bench = bench(&config);
    bench.now = at(10);
    fill(&mut bench, 2, Ecn::NotCapable);
    assert_eq!(bench.discipline.state.probability, 1.0);
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
        assert_eq!(bench.discipline.state.dropping, dropping, "at {time} ms");
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

#[test]
fn a_parameter_may_be_at_its_bound() {
    let interval = CobaltConfig::default().target;
    for config in [
        CobaltConfig { interval, ..CobaltConfig::default() },
        CobaltConfig { max_packet_size: Bytes(1), ..CobaltConfig::default() },
    ] {
        assert!(Cobalt::<Labelled>::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
}
