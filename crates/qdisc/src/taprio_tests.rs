//! Windows, guard bands and priorities of gates by time.

use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec;

use proptest::prelude::*;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{DropTail, DropTailConfig, Fifo, Red, RedConfig, Tbf, TbfConfig};

fn fifo() -> Box<dyn Discipline<Labelled>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig::default(), LINK, 0).unwrap())))
}

fn bench(config: &TaprioConfig<()>) -> Bench<Taprio<Labelled>> {
    let queues = config.classes.iter().map(|_| fifo()).collect();
    Bench::new(Taprio::new(config, LINK, queues).unwrap())
}

/// The classes `a` and `b`, for the traffic classes 0 and 1, and intervals in microseconds.
fn config(schedule: &[(&[&str], u64)]) -> TaprioConfig<()> {
    let interval = |&(open, us): &(&[&str], u64)| TaprioInterval::new(open, Span::from_microseconds(us));
    TaprioConfig {
        classes: vec![TaprioClass::new("a", &[0]), TaprioClass::new("b", &[1])],
        schedule: schedule.iter().map(interval).collect(),
        default_class: None,
        cycle_time: None,
        base_time: Span::ZERO,
    }
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// 1250 B take 100 us on the link.
const LONG: u32 = 1250;

/// When the transmissions of all queued packets start, with their classes, if the link has nothing else to do.
fn starts(bench: &mut Bench<Taprio<Labelled>>) -> Vec<(Time, u8)> {
    let mut starts = Vec::new();
    loop {
        match bench.serve() {
            Served::Packet(packet) => {
                starts.push((bench.now, packet.class()));
                bench.now += LINK.transmission_time(u64::from(packet.len_bytes()));
            }
            Served::PollAt(at) => {
                assert!(at > bench.now);
                bench.now = at;
            }
            Served::Idle => return starts,
        }
    }
}

fn starts_of(config: &TaprioConfig<()>, packets: &[(u8, u32)]) -> Vec<(Time, u8)> {
    let mut bench = bench(config);
    packets.iter().for_each(|&(class, length)| bench.enqueue(Labelled::new(0, 1, length, class)));
    starts(&mut bench)
}

#[test]
fn a_class_sends_while_its_gate_is_open() {
    let config = config(&[(&["a"], 200), (&["b"], 300)]);
    let packets = [(1, LONG), (1, LONG), (1, LONG), (1, LONG), (0, LONG), (0, LONG), (0, LONG)];
    let expected =
        [(0, 0), (100, 0), (200, 1), (300, 1), (400, 1), (500, 0), (700, 1)].map(|(us, class)| (at(us), class));
    assert_eq!(starts_of(&config, &packets), expected);
}

/// A window of two frames carries two, whose last bit leaves as the gate closes, and not one that is a byte longer.
#[test]
fn a_frame_ends_before_its_gate_closes_to_the_picosecond() {
    let windows = config(&[(&["a"], 200), (&["b"], 300)]);
    assert_eq!(starts_of(&windows, &[(0, LONG), (0, LONG)]), [(at(0), 0), (at(100), 0)]);
    assert_eq!(starts_of(&windows, &[(0, LONG), (0, LONG + 1)]), [(at(0), 0), (at(500), 0)]);
    let mut short = windows.clone();
    short.schedule[0].interval = Span::from_picoseconds(199_999_999);
    let second = Time::ZERO + Span::from_picoseconds(499_999_999);
    assert_eq!(starts_of(&short, &[(0, LONG), (0, LONG)]), [(at(0), 0), (second, 0)]);
    // It came too late for this window.
    let mut late = bench(&windows);
    late.now = at(100) + Span::from_picoseconds(1);
    late.enqueue(Labelled::new(0, 1, LONG, 0));
    assert_eq!(starts(&mut late), [(at(500), 0)]);
}

#[test]
fn a_shorter_frame_of_another_class_may_use_the_guard_band() {
    let config = config(&[(&["a", "b"], 150), (&[], 50)]);
    // The second of `a` does not fit any more, and keeps its place.
    let sent = starts_of(&config, &[(0, LONG), (0, LONG), (1, 600)]);
    assert_eq!(sent, [(at(0), 0), (at(100), 1), (at(200), 0)]);
}

#[test]
fn the_first_class_goes_first_while_both_gates_are_open() {
    let config = config(&[(&["b", "a"], 1000)]);
    let sent = starts_of(&config, &[(1, LONG), (1, LONG), (0, LONG)]);
    assert_eq!(sent.iter().map(|&(_, class)| class).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn a_frame_may_pass_from_one_open_interval_to_the_next() {
    // Open from 250 to 50 us of the next cycle, 100 us in all.
    let config = config(&[(&["a"], 50), (&["b"], 200), (&["a"], 50)]);
    assert_eq!(starts_of(&config, &[(0, 600), (0, LONG), (1, 40)])[..3], [(at(0), 0), (at(50), 1), (at(250), 0)]);
}

#[test]
fn a_frame_that_fits_into_no_window_is_dropped_on_arrival() {
    let windows = config(&[(&["a"], 100), (&["b"], 300), (&["a"], 20), (&[], 1)]);
    for (class, longest) in [(0, LONG), (1, 3 * LONG)] {
        let mut bench = bench(&windows);
        let [fits, refused] = [longest, longest + 1].map(|length| Labelled::new(length, 1, length, class));
        bench.enqueue(fits);
        bench.enqueue(refused);
        assert_eq!(bench.dropped.0, [(refused, DropReason::RateLimit, false)]);
        assert_eq!(starts(&mut bench).len(), 1);
    }
    assert_eq!(windows.longest_packet(LINK), Some(Bytes(3750)));
    assert_eq!(config(&[(&["a"], 1), (&["a", "b"], 1)]).longest_packet(LINK), None);
}

#[test]
fn a_cycle_extends_the_last_interval_or_cuts_the_list() {
    let of_cycle = |us| TaprioConfig {
        cycle_time: Some(Span::from_microseconds(us)),
        ..config(&[(&["a"], 100), (&["b"], 100), (&["a"], 100)])
    };
    let packets = [(1, LONG), (1, LONG), (1, LONG)];
    let times = |us| starts_of(&of_cycle(us), &packets).iter().map(|&(time, _)| time).collect::<Vec<_>>();
    assert_eq!(times(300), [100, 400, 700].map(at));
    assert_eq!(times(1000), [100, 1100, 2100].map(at));
    assert_eq!(times(220), [100, 320, 540].map(at));
    // The extended interval is open: `a` sends until the end of the cycle, and on.
    let sent = starts_of(&of_cycle(500), &[(0, LONG); 6]);
    assert_eq!(sent.iter().map(|&(time, _)| time).collect::<Vec<_>>(), [0, 200, 300, 400, 500, 700].map(at));
    // The third interval does not begin.
    let cut = TaprioConfig {
        cycle_time: Some(Span::from_microseconds(200)),
        ..config(&[(&[], 100), (&["a"], 100), (&["b"], 1)])
    };
    let placed = cut.check(LINK).unwrap_err();
    assert_eq!((placed.table.as_str(), placed.error.field), ("classes.1", "name"));
}

#[test]
fn before_the_first_cycle_all_gates_are_open() {
    let config = TaprioConfig { base_time: Span::from_microseconds(350), ..config(&[(&["a"], 200), (&["b"], 300)]) };
    // The fourth packet of `b` would end in the window of `a`, which has none.
    let sent = starts_of(&config, &[(1, LONG), (1, LONG), (1, LONG), (1, LONG)]);
    assert_eq!(sent.iter().map(|&(time, _)| time).collect::<Vec<_>>(), [0, 100, 200, 550].map(at));
    let sent = starts_of(&config, &[(0, LONG); 6]);
    assert_eq!(sent.iter().map(|&(time, _)| time).collect::<Vec<_>>(), [0, 100, 200, 300, 400, 850].map(at));
}

#[test]
fn an_inner_queue_learns_of_its_idle_time_behind_a_closed_gate() {
    let red: Box<dyn Discipline<Labelled>> = {
        let law = Red::new(&RedConfig { weight: 0.5, ..RedConfig::default() }, LINK, 0).unwrap();
        Box::new(Fifo::<_, Red>::new(Box::new(law)))
    };
    let config = config(&[(&["a"], 160), (&["b"], 840)]);
    let mut bench = Bench::new(Taprio::new(&config, LINK, vec![red, fifo()]).unwrap());
    (0..4).for_each(|label| bench.enqueue(Labelled::new(label, 1, 500, 0)));
    let average = |bench: &Bench<Taprio<Labelled>>| {
        let mut average = f64::NAN;
        bench.discipline.children(&mut |gated| {
            gated.children(&mut |queue| {
                queue.gauges(&mut |name, value| {
                    if name == "avg" {
                        average = value
                    }
                })
            });
        });
        average
    };
    assert!(average(&bench) > 2.0);
    // The last packet ends as the gate closes.
    assert_eq!(starts(&mut bench).len(), 4);
    assert_eq!(bench.now, at(160));
    bench.now = at(990);
    bench.enqueue(Labelled::new(4, 1, 500, 0));
    assert!(average(&bench) < 1e-4, "{}", average(&bench));
}

#[test]
fn a_queue_that_shapes_is_asked_again_in_its_window() {
    // 1000 B in a millisecond.
    let slow = TbfConfig::<()> { rate: Some(Rate::megabits(8)), burst: Some(Bytes(1000)), ..TbfConfig::default() };
    let tbf = Tbf::new(&slow, LINK, vec![fifo()]).unwrap();
    let config = config(&[(&["a"], 300), (&["b"], 400)]);
    let mut bench = Bench::new(Taprio::new(&config, LINK, vec![Box::new(tbf), fifo()]).unwrap());
    (0..3).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 0)));
    // Tokens at 1 ms, when the gate is closed; from 1400 us the tokens are there, the next at 2.4 ms.
    let times: Vec<_> = starts(&mut bench).into_iter().map(|(time, _)| time).collect();
    assert_eq!(times, [at(0), at(1400), at(2800)]);
}

#[test]
fn each_parameter_is_checked() {
    let refused = |config: &TaprioConfig<()>| {
        let queues = config.classes.iter().map(|_| fifo()).collect();
        let built = Taprio::<Labelled>::new(config, LINK, queues).err().map(|error| error.field);
        let placed = config.check(LINK).err();
        assert_eq!(built, placed.as_ref().map(|placed| placed.error.field));
        placed.map(|placed| (placed.table, placed.error.field))
    };
    let at = |table: &str, field| Some((table.to_string(), field));
    let both: &[(&[&str], u64)] = &[(&["a", "b"], 1)];
    assert_eq!(refused(&config(both)), None);
    assert_eq!(refused(&config(&[])), at("", "schedule"));
    assert_eq!(refused(&config(&[(&["a", "b"], 1), (&["a"], 0)])), at("schedule.1", "interval"));
    assert_eq!(refused(&config(&[(&["a", "c"], 1)])), at("schedule.0", "open"));
    assert_eq!(refused(&config(&[(&["a"], 1), (&[], 5)])), at("classes.1", "name"));
    let day = 24 * 3600 * 1_000_000;
    assert_eq!(refused(&config(&[(&["a", "b"], day)])), None);
    assert_eq!(refused(&config(&[(&["a", "b"], day + 1)])), at("schedule.0", "interval"));
    assert_eq!(refused(&config(&[(&["a", "b"], day), (&["a"], 1)])), at("", "cycle_time"));
    let of_cycle = |span| refused(&TaprioConfig { cycle_time: Some(span), ..config(both) });
    assert_eq!(of_cycle(Span::ZERO), at("", "cycle_time"));
    assert_eq!([day, day + 1].map(|us| of_cycle(Span::from_microseconds(us))), [None, at("", "cycle_time")]);
    assert_eq!(refused(&TaprioConfig { classes: vec![], ..config(both) }), at("", "classes"));
    assert_eq!(refused(&TaprioConfig { default_class: Some("c".into()), ..config(both) }), at("", "default_class"));
    for queues in [1, 3] {
        let queues = (0..queues).map(|_| fifo()).collect();
        assert_eq!(Taprio::new(&config(both), LINK, queues).err().map(|error| error.field), Some("classes"));
    }
    let shared = config(&[(&["a"], 100), (&["a", "b"], 300)]);
    assert_eq!([0, 1].map(|class| shared.inner_rate(class, LINK)), [LINK, Rate::megabits(75)]);
}

#[test]
fn unlisted_traffic_goes_to_the_last_class_or_the_named_one() {
    for (default_class, class) in [(None, 1), (Some("a".to_string()), 0)] {
        let config = TaprioConfig { default_class, ..config(&[(&["a"], 100), (&["b"], 100)]) };
        assert_eq!(starts_of(&config, &[(77, LONG)]), [(at(100 * class), 77)]);
    }
}

#[test]
fn gauges_count_the_classes_with_packets() {
    let mut bench = bench(&config(&[(&["a"], 100), (&["b"], 100)]));
    bench.enqueue(Labelled::new(0, 1, LONG, 1));
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("backlogged_classes", 1.0)]);
}

/// The gates of a schedule, by a walk through its list.
struct Gates {
    /// Which gates are open, as bits, and for how long.
    schedule: Vec<(u8, u64)>,
    /// Length of the cycle.
    length: u64,
    base: u64,
}

impl Gates {
    fn open_at(&self, time: u64) -> u8 {
        if time < self.base {
            return 3;
        }
        let mut phase = (time - self.base) % self.length;
        for &(open, length) in &self.schedule {
            if phase < length {
                return open;
            }
            phase -= length;
        }
        self.schedule[self.schedule.len() - 1].0
    }

    /// The times in this range at which a gate may move.
    fn turns(&self, from: u64, to: u64) -> impl Iterator<Item = u64> {
        let cycles = (0..).map(|cycle| self.base + cycle * self.length).take_while(move |start| *start < to);
        let starts = cycles.flat_map(move |cycle| {
            let mut start = 0;
            self.schedule.iter().map(move |&(_, interval)| {
                let turn = cycle + start;
                start = (start + interval).min(self.length);
                turn
            })
        });
        starts.filter(move |turn| (from..to).contains(turn))
    }

    fn fits(&self, class: u8, bytes: u32, from: u64) -> bool {
        let is_open = |time| self.open_at(time) >> class & 1 == 1;
        let to = from + LINK.transmission_time(u64::from(bytes)).picoseconds();
        is_open(from) && self.turns(from, to).all(is_open)
    }
}

proptest! {
    /// At any time the link sends the first packet of the first class whose gate stays open for all its bits, and it
    /// waits for no other reason.
    #[test]
    fn a_packet_leaves_when_its_gate_stays_open_for_it(
        schedule in prop::collection::vec((0_u8..4, 1_u64..400_000_000), 1..8),
        cycle in prop::option::of(1_u64..1_500_000_000),
        base in 0_u64..1_000_000_000,
        packets in prop::collection::vec((0_u8..2, 40_u32..1500, 0_u64..300_000_000), 1..40),
    ) {
        let names = |open: u8| ["a", "b"].into_iter().enumerate().filter(move |(bit, _)| open >> bit & 1 == 1);
        let interval = |&(open, length): &(u8, u64)| {
            let open: Vec<_> = names(open).map(|(_, name)| name).collect();
            TaprioInterval::new(&open, Span::from_picoseconds(length))
        };
        let config = TaprioConfig {
            schedule: schedule.iter().map(interval).collect(),
            cycle_time: cycle.map(Span::from_picoseconds),
            base_time: Span::from_picoseconds(base),
            ..config(&[])
        };
        prop_assume!(config.check(LINK).is_ok());
        let length = cycle.unwrap_or(schedule.iter().map(|(_, length)| length).sum());
        let gates = Gates { schedule, length, base };
        let mut bench = bench(&config);
        let mut queued = [VecDeque::new(), VecDeque::new()];
        let mut arrivals = packets.iter();
        while let Some(&(class, bytes, gap)) = arrivals.next() {
            bench.now += Span::from_picoseconds(gap);
            let dropped = bench.dropped.0.len();
            bench.enqueue(Labelled::new(0, 1, bytes, class));
            if bench.dropped.0.len() == dropped {
                queued[usize::from(class)].push_back(bytes);
            }
            let is_last = arrivals.len() == 0;
            while queued.iter().any(|queue| !queue.is_empty()) {
                let now = bench.now.picoseconds();
                let heads = (0..2_u8).filter_map(|class| Some((class, *queued[usize::from(class)].front()?)));
                let mut first = heads.clone().find(|&(class, bytes)| gates.fits(class, bytes, now));
                match bench.serve() {
                    Served::Packet(packet) => {
                        prop_assert_eq!(first.take(), Some((packet.class(), packet.len_bytes())), "at {}", now);
                        queued[usize::from(packet.class())].pop_front();
                        bench.now += LINK.transmission_time(u64::from(packet.len_bytes()));
                    }
                    Served::PollAt(at) => {
                        prop_assert_eq!(first, None, "at {}", now);
                        prop_assert!(at > bench.now);
                        // Nothing could have been sent before.
                        let missed = gates.turns(now + 1, at.picoseconds())
                            .find(|&time| heads.clone().any(|(class, bytes)| gates.fits(class, bytes, time)));
                        prop_assert_eq!(missed, None, "from {} to {:?}", now, at);
                        bench.now = at;
                    }
                    Served::Idle => prop_assert!(false, "packets are queued"),
                }
                if !is_last {
                    break;
                }
            }
        }
        prop_assert_eq!(bench.serve(), Served::Idle);
    }
}
