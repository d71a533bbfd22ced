//! CoDel: the drop times of the control law, ns-3's suite, the dropping state from begin to end.

use alloc::vec::Vec;

use super::*;
use crate::Ecn;
use crate::test_support::{Bench, LINK, Labelled};

fn bench(config: &CodelConfig) -> Bench<Codel<Labelled>> {
    Bench::new(Codel::new(config, LINK, 0).unwrap())
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(milliseconds)
}

/// Lets this many packets of 1000 B come.
fn fill(bench: &mut Bench<Codel<Labelled>>, packets: u32, ecn: Ecn) {
    for label in 0..packets {
        let mut packet = Labelled::new(label, 1, 1000, 0);
        packet.arrival.ecn = ecn;
        bench.enqueue(packet);
    }
}

fn queued(bench: &Bench<Codel<Labelled>>) -> u64 {
    bench.discipline.backlog().packets
}

/// When the first ten packets of a queue that never ends are dropped, in milliseconds after the first.
fn drop_times_ms(square_root: SquareRoot) -> Vec<f64> {
    let limit = QueueSize::Packets(100_000);
    let mut bench = bench(&CodelConfig { limit, square_root, ..CodelConfig::default() });
    fill(&mut bench, 70_000, Ecn::NotCapable);
    let mut times: Vec<f64> = Vec::new();
    while times.len() < 10 {
        bench.now += Span::from_microseconds(10);
        bench.dequeue().unwrap();
        times.resize(bench.dropped.0.len(), bench.now.seconds() * 1e3);
    }
    let first = times[0];
    assert!((first - 105.0).abs() < 0.011, "the delay is at the target after 5 ms, and stays an interval: {first}");
    times.iter().map(|time| time - first).collect()
}

#[test]
fn drops_come_at_the_times_of_the_control_law() {
    let exact = [0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99, 401.79, 437.14, 470.48];
    let newton = [0.0, 100.0, 150.0, 206.25, 255.03, 299.18, 339.59, 377.11, 412.26, 445.44];
    for (square_root, expected) in [(SquareRoot::Exact, exact), (SquareRoot::Newton16, newton)] {
        for (time, expected) in drop_times_ms(square_root).iter().zip(expected) {
            // To the next departure, 10 µs later at most.
            assert!((time - expected).abs() <= 0.02, "{square_root:?}: {time} instead of {expected}");
        }
    }
}

#[test]
fn newton16_has_the_sixteen_bits_of_linux() {
    let mut state = ControlState::NEW;
    let bits = (1..=10).map(|count| {
        if count > 1 {
            state.set_count(count);
        }
        state.inverse_sqrt >> 16
    });
    let expected = [65_535, 32_769, 36_864, 31_968, 28_935, 26_481, 24_588, 23_037, 21_746, 20_647];
    assert_eq!(bits.collect::<Vec<u32>>(), expected);
}

#[test]
fn drops_as_ns3s_suite_has_it() {
    let mut bench = bench(&CodelConfig::default());
    fill(&mut bench, 20, Ecn::NotCapable);
    // Milliseconds, packets left, drops so far. The last call is due for the drops at 310 and at 381 ms.
    for (time, left, drops) in [(10, 19, 0), (210, 17, 1), (210, 16, 1), (420, 13, 3)] {
        bench.now = at(time);
        bench.dequeue().unwrap();
        assert_eq!((queued(&bench), bench.dropped.0.len()), (left, drops), "at {time} ms");
    }
    assert!(bench.dropped.0.iter().all(|(_, reason, queued)| *reason == DropReason::Early && *queued));
    assert_eq!(bench.discipline.state.drop_next, at(310) + Span::from_picoseconds(70_710_678_119 + 57_735_026_919));
}

#[test]
fn marks_as_ns3s_suite_has_it() {
    let mut bench = bench(&CodelConfig { ecn: true, ..CodelConfig::default() });
    fill(&mut bench, 20, Ecn::Capable0);
    for (time, marked) in [(10, false), (210, true), (210, false), (420, true)] {
        bench.now = at(time);
        let packet = bench.dequeue().unwrap();
        assert_eq!(packet.arrival.ecn == Ecn::CongestionExperienced, marked, "at {time} ms");
    }
    assert_eq!((queued(&bench), bench.dropped.0.len()), (16, 0));
}

#[test]
fn marks_what_is_capable_and_drops_the_rest() {
    let mut bench = bench(&CodelConfig { ecn: true, ..CodelConfig::default() });
    fill(&mut bench, 3, Ecn::Capable0);
    fill(&mut bench, 17, Ecn::NotCapable);
    // Marks at 210 ms and at 420 ms, which was due at 310. Then drops are due at 380.7, 438.4, 488.4, 533.2, 574.0 and
    // 611.8 ms, and the next at 647.1.
    for (time, drops) in [(10, 0), (210, 0), (420, 0), (640, 6)] {
        bench.now = at(time);
        bench.dequeue().unwrap();
        assert_eq!(bench.dropped.0.len(), drops, "at {time} ms");
    }
}

#[test]
fn the_ce_threshold_marks_by_delay_alone() {
    let ce_threshold = Some(Span::from_milliseconds(2));
    let mut bench = bench(&CodelConfig { ce_threshold, ..CodelConfig::default() });
    fill(&mut bench, 3, Ecn::Capable1);
    fill(&mut bench, 1, Ecn::NotCapable);
    let expected = [(1, Ecn::Capable1), (2, Ecn::Capable1), (3, Ecn::CongestionExperienced), (4, Ecn::NotCapable)];
    for (time, ecn) in expected {
        bench.now = at(time);
        assert_eq!(bench.dequeue().unwrap().arrival.ecn, ecn);
    }
}

/// Drops five packets at once, lets the queue recover, and is at the first drop of the next dropping state at `time`.
fn second_state(time: u64) -> ControlState {
    let mut bench = bench(&CodelConfig::default());
    fill(&mut bench, 20, Ecn::NotCapable);
    for milliseconds in [10, 210, 500] {
        bench.now = at(milliseconds);
        bench.dequeue().unwrap();
    }
    assert_eq!((bench.discipline.state.count, bench.dropped.0.len()), (5, 5));
    bench.drain();
    assert!(!bench.discipline.state.dropping);
    bench.now = at(time - 200);
    fill(&mut bench, 20, Ecn::NotCapable);
    for milliseconds in [time - 110, time] {
        bench.now = at(milliseconds);
        bench.dequeue().unwrap();
    }
    assert!(bench.discipline.state.dropping);
    bench.discipline.state
}

#[test]
fn a_dropping_state_goes_on_where_the_last_one_ended() {
    // The first of five drops began the state. The next drop would have been at 533 ms: 16 intervals later, 2.13 s.
    let soon = second_state(800);
    assert_eq!((soon.count, soon.drop_next), (4, at(850)));
    let late = second_state(2200);
    assert_eq!((late.count, late.drop_next), (1, at(2300)));
}

#[test]
fn the_rate_of_drops_is_remembered_for_sixteen_intervals() {
    // RFC 8289, routine `dequeue`: `delta > 1 && now - drop_next_ < 16 * INTERVAL`.
    let law = ControlLaw::new(&CodelConfig::default()).unwrap();
    for (now, last_count, count) in [(1599, 4, 5), (1600, 4, 1), (1599, 7, 2), (1599, 8, 1)] {
        let drop_next = Time::ZERO;
        let mut state =
            ControlState { count: 9, last_count, drop_next, inverse_sqrt: 21_746 << 16, ..ControlState::NEW };
        state.enter_dropping(&law, at(now));
        assert_eq!(state.inverse_sqrt == ControlState::NEW.inverse_sqrt, count == 1, "{now} ms, from {last_count}");
        assert_eq!((state.count, state.last_count), (count, count), "{now} ms, from {last_count}");
    }
}

#[test]
fn a_next_drop_in_the_future_counts_as_recent() {
    let law = ControlLaw::new(&CodelConfig::default()).unwrap();
    let mut state = ControlState { count: 9, last_count: 4, drop_next: at(10_000), ..ControlState::NEW };
    state.enter_dropping(&law, at(1));
    assert_eq!((state.count, state.last_count), (5, 5));
}

#[test]
fn the_target_itself_is_too_long() {
    // RFC 8289, routine `dodequeue`: `sojourn_time < TARGET` is well below it.
    let mut bench = bench(&CodelConfig::default());
    fill(&mut bench, 5, Ecn::NotCapable);
    for (time, drops) in [(5, 0), (105, 1)] {
        bench.now = at(time);
        bench.dequeue().unwrap();
        assert_eq!(bench.dropped.0.len(), drops, "at {time} ms");
    }
}

#[test]
fn a_packet_below_the_target_ends_the_dropping_state() {
    let mut bench = bench(&CodelConfig::default());
    fill(&mut bench, 5, Ecn::NotCapable);
    bench.now = at(10);
    bench.dequeue();
    bench.now = at(210);
    fill(&mut bench, 5, Ecn::NotCapable);
    bench.dequeue();
    assert!(bench.discipline.state.dropping);
    // Due again at 310 ms; the packets that came at 210 ms are young at 211 ms.
    bench.dequeue();
    bench.dequeue();
    bench.now = at(211);
    assert_eq!(bench.dequeue().unwrap().label, 0);
    assert!(!bench.discipline.state.dropping);
}

#[test]
fn the_last_packet_is_never_dropped() {
    let mut bench = bench(&CodelConfig::default());
    for label in 0..1000 {
        bench.now += Span::from_seconds(1);
        bench.enqueue(Labelled::new(label, 1, 1500, 0));
        bench.enqueue(Labelled::new(label, 1, 1500, 0));
        bench.now += Span::from_seconds(1);
        bench.dequeue().unwrap();
        bench.now += Span::from_seconds(1);
        bench.dequeue().unwrap();
    }
    assert!(bench.dropped.0.is_empty());
}

#[test]
fn nothing_is_dropped_with_at_most_a_packet_of_the_mtu_left() {
    // RFC 8289, routine `dodequeue`: `bytes() <= MAXPACKET`. Each packet waits for two seconds, one is left each time.
    for (max_packet_size, drops) in [(1500, false), (1499, true)] {
        let mut bench = bench(&CodelConfig { max_packet_size: Bytes(max_packet_size), ..CodelConfig::default() });
        bench.enqueue(Labelled::new(0, 1, 1500, 0));
        for label in 1..100 {
            bench.enqueue(Labelled::new(label, 1, 1500, 0));
            bench.now += Span::from_seconds(1);
            bench.dequeue().unwrap();
        }
        assert_eq!(!bench.dropped.0.is_empty(), drops, "{max_packet_size}");
    }
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let mut bench = bench(&CodelConfig { limit: QueueSize::Packets(3), ..CodelConfig::default() });
    fill(&mut bench, 4, Ecn::Capable0);
    let [(packet, DropReason::Overflow, false)] = bench.dropped.0[..] else { panic!("{:?}", bench.dropped.0) };
    assert_eq!(packet.label, 3);
}

#[test]
fn each_parameter_is_checked() {
    let cases = [
        (CodelConfig { limit: QueueSize::Packets(0), ..CodelConfig::default() }, "limit"),
        (CodelConfig { target: Span::ZERO, ..CodelConfig::default() }, "target"),
        (CodelConfig { interval: Span::from_milliseconds(4), ..CodelConfig::default() }, "interval"),
        (CodelConfig { max_packet_size: Bytes(0), ..CodelConfig::default() }, "max_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(Codel::<Labelled>::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
