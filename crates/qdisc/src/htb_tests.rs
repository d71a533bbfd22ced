//! Rates, borrowing, priorities and turns of hierarchical token buckets.

use alloc::string::ToString;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Cbq, CbqClass, CbqConfig, Codel, CodelConfig, DropReason, DropTail, DropTailConfig, Fifo, Span};

type Classes = Vec<HtbClass<()>>;

fn kilobits(kilobits: u64) -> Rate {
    Rate::new(1000 * kilobits).unwrap()
}

/// A class for the traffic class of this number, whose name is the number.
fn root(number: u8, rate: Rate) -> HtbClass<()> {
    HtbClass::new(&number.to_string(), &[number], rate)
}

/// A class that lends, with no packets of its own.
fn inner(number: u8, rate: Rate) -> HtbClass<()> {
    HtbClass { classes: vec![], ..root(number, rate) }
}

fn child(number: u8, parent: u8, rate: Rate, ceil: Rate) -> HtbClass<()> {
    HtbClass { parent: Some(parent.to_string()), ceil: Some(ceil), ..root(number, rate) }
}

fn config(classes: Classes) -> HtbConfig<()> {
    HtbConfig { classes, default_class: None, direct_limit: FIFO_LIMIT, r2q: 10 }
}

fn fifo_of(limit: QueueSize) -> Box<dyn Discipline<Labelled>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig { limit }, LINK, 0).unwrap())))
}

fn fifo() -> Box<dyn Discipline<Labelled>> {
    fifo_of(FIFO_LIMIT)
}

fn built(config: &HtbConfig<()>) -> Result<Htb<Labelled>, ParameterError> {
    Htb::new(config, LINK, config.inner_queues().iter().map(|inner| fifo_of(inner.fifo_limit)).collect())
}

fn bench(classes: Classes) -> Bench<Htb<Labelled>> {
    Bench::new(built(&config(classes)).unwrap())
}

/// Keeps `busy` traffic classes backlogged with packets of their sizes for `duration`, on a link of 1 Gb/s; the bytes
/// that each sends.
fn send(bench: &mut Bench<Htb<Labelled>>, busy: &[(u8, u32)], duration: Span) -> Vec<u64> {
    let link = Rate::megabits(1000);
    let (mut sent, mut queued) = (vec![0; 10], [0_u32; 10]);
    let end = bench.now + duration;
    while bench.now < end {
        for &(class, size) in busy {
            while queued[usize::from(class)] < 5 {
                bench.enqueue(Labelled::new(0, u64::from(class), size, class));
                queued[usize::from(class)] += 1;
            }
        }
        match bench.serve() {
            Served::Packet(packet) => {
                let (class, len_bytes) = (usize::from(packet.class()), u64::from(packet.len_bytes()));
                queued[class] = queued[class].saturating_sub(1);
                sent[class] += len_bytes;
                bench.now += link.transmission_time(len_bytes);
            }
            Served::PollAt(at) => {
                assert!(at > bench.now);
                bench.now = at;
            }
            Served::Idle => panic!("packets are queued"),
        }
    }
    sent
}

/// The traffic classes that send next, when `busy` stay backlogged with 1000 B and the link is infinitely fast.
fn order(bench: &mut Bench<Htb<Labelled>>, busy: &[u8], packets: usize) -> Vec<u8> {
    for _ in 0..packets {
        busy.iter().for_each(|&class| bench.enqueue(Labelled::new(0, 1, 1000, class)));
    }
    (0..packets)
        .map(|_| {
            loop {
                match bench.serve() {
                    Served::Packet(packet) => break packet.class(),
                    Served::PollAt(at) => bench.now = at,
                    Served::Idle => panic!("packets are queued"),
                }
            }
        })
        .collect()
}

fn assert_rates(sent: &[u64], seconds: f64, megabits: &[(usize, f64)]) {
    for &(class, expected) in megabits {
        let rate = sent[class] as f64 * 8e-6 / seconds;
        assert!((rate / expected - 1.0).abs() < 0.001, "class {class}: {rate} Mb/s, not {expected}");
    }
}

const TEN_SECONDS: Span = Span::from_seconds(10);

#[test]
fn a_class_alone_sends_at_its_rate_exactly() {
    let rate = kilobits(7777);
    let mut bench = bench(vec![root(1, rate)]);
    let sent = send(&mut bench, &[(1, 999)], TEN_SECONDS);
    // The burst, and a packet that is paid for later.
    let bound = rate.bytes_in(TEN_SECONDS);
    assert!((bound..=bound + 1600 + 999).contains(&sent[1]), "{} of {bound}", sent[1]);
}

#[test]
fn busy_classes_get_their_guarantees() {
    let mbps = Rate::megabits;
    let mut bench =
        bench(vec![inner(0, mbps(100)), child(1, 0, mbps(40), mbps(100)), child(2, 0, mbps(60), mbps(100))]);
    assert_rates(&send(&mut bench, &[(1, 300), (2, 1500)], TEN_SECONDS), 10.0, &[(1, 40.0), (2, 60.0)]);
}

#[test]
fn a_class_borrows_what_others_leave_up_to_its_ceiling() {
    let mbps = Rate::megabits;
    let family = |ceil| {
        let mut bench = bench(vec![inner(0, mbps(100)), child(1, 0, mbps(10), ceil), child(2, 0, mbps(90), mbps(90))]);
        send(&mut bench, &[(1, 1000)], TEN_SECONDS)
    };
    for (ceil, expected) in [(10, 10.0), (35, 35.0), (100, 100.0), (1000, 100.0)] {
        assert_rates(&family(mbps(ceil)), 10.0, &[(1, expected)]);
    }
}

/// A borrowed packet is no charge on the guarantee of the borrower.
#[test]
fn the_excess_is_divided_by_quantum_on_top_of_the_guarantees() {
    let leaf = |number, rate, quantum: u64| HtbClass {
        quantum: Some(Bytes(quantum)),
        ..child(number, 0, kilobits(rate), kilobits(1000))
    };
    // 100 and 300 kb/s for certain, and 600 in halves or in quarters.
    for (quanta, expected) in [([1500, 1500], [0.4, 0.6]), ([1500, 4500], [0.25, 0.75])] {
        let mut bench = bench(vec![inner(0, kilobits(1000)), leaf(1, 100, quanta[0]), leaf(2, 300, quanta[1])]);
        let sent = send(&mut bench, &[(1, 1000), (2, 1000)], Span::from_seconds(100));
        assert_rates(&sent, 100.0, &[(1, expected[0]), (2, expected[1])]);
    }
}

#[test]
fn the_quantum_follows_from_the_rate_within_bounds() {
    let quantum = |rate, r2q| root(1, rate).quantum(r2q);
    assert_eq!(quantum(kilobits(400), 10), 5000);
    assert_eq!(quantum(kilobits(400), 20), 2500);
    assert_eq!(quantum(kilobits(79), 10), 1000);
    assert_eq!(quantum(Rate::megabits(17), 10), 200_000);
    assert_eq!(HtbClass { quantum: Some(Bytes(7)), ..root(1, Rate::megabits(1)) }.quantum(10), 7);
}

#[test]
fn bursts_are_those_of_tc() {
    assert_eq!(default_burst(Rate::megabits(1)), Bytes(1600));
    assert_eq!(default_burst(Rate::megabits(10_000)), Bytes(1601));
    // A byte a microsecond. A class sends while it owes nothing: 1600 B are two packets of 1000 B.
    let mut one = bench(vec![root(1, Rate::megabits(8))]);
    (0..9).for_each(|label| one.enqueue(Labelled::new(label, 1, 1000, 1)));
    assert_eq!(one.drain(), [0, 1]);
    assert_eq!(one.serve(), Served::PollAt(Time::ZERO + Span::from_microseconds(400)));
    let of_bursts =
        |burst, cburst| HtbClass { burst: Some(Bytes(burst)), cburst: Some(Bytes(cburst)), ..root(1, LINK) };
    for (burst, cburst, packets) in [(0, 5000, 1), (5000, 0, 1), (4000, 5000, 5), (5000, 3000, 4)] {
        let mut bench = bench(vec![of_bursts(burst, cburst)]);
        (0..9).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 1)));
        assert_eq!(bench.drain().len(), packets, "{burst} {cburst}");
    }
}

#[test]
fn a_class_wakes_to_the_picosecond() {
    let mut bench =
        bench(vec![HtbClass { burst: Some(Bytes(0)), cburst: Some(Bytes(0)), ..root(1, Rate::megabits(3)) }]);
    (0..3).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 1)));
    assert_eq!(bench.drain(), [0]);
    let at = Time::ZERO + Rate::megabits(3).transmission_time(1000);
    assert_eq!(bench.serve(), Served::PollAt(at));
    bench.now = at - Span::from_picoseconds(1);
    assert_eq!(bench.serve(), Served::PollAt(at));
    bench.now = at;
    assert_eq!(bench.drain(), [1]);
}

#[test]
fn a_bucket_fills_for_a_minute_at_most() {
    // A byte a second.
    let slow = HtbClass { burst: Some(Bytes(100)), cburst: Some(Bytes(100)), ..root(1, Rate::new(8).unwrap()) };
    let mut bench = bench(vec![slow]);
    (0..20).for_each(|label| bench.enqueue(Labelled::new(label, 1, 20, 1)));
    // Of 100 B, the sixth packet goes on credit.
    assert_eq!(bench.drain().len(), 6);
    bench.now += Span::from_seconds(120);
    // 40 B, not 100.
    assert_eq!(bench.drain().len(), 3);
}

/// Rules of DRR: a turn ends when the deficit falls below nothing.
#[test]
fn leaves_take_turns_by_their_deficits() {
    let leaf = |number, quantum: u64| HtbClass {
        quantum: Some(Bytes(quantum)),
        burst: Some(Bytes(100_000)),
        cburst: Some(Bytes(100_000)),
        ..root(number, LINK)
    };
    let mut equal = bench(vec![leaf(1, 1500), leaf(2, 1500)]);
    // Deficits after each packet: 500, 500, 1000, 1000, 0 and 500, 0 and 500, 1000, …
    assert_eq!(order(&mut equal, &[1, 2], 12), [1, 2, 1, 2, 1, 1, 2, 2, 1, 2, 1, 1]);
    let mut unequal = bench(vec![leaf(1, 1000), leaf(2, 3000)]);
    assert_eq!(order(&mut unequal, &[1, 2], 12), [1, 2, 1, 2, 2, 2, 1, 2, 2, 2, 1, 2]);
}

#[test]
fn each_level_has_a_deficit_of_its_own() {
    // At level 0 a packet each, then from the parent. 600 B of the deficit of the first are left from there.
    let leaf =
        |number| HtbClass { quantum: Some(Bytes(1600)), burst: Some(Bytes(0)), ..child(number, 0, kilobits(1), LINK) };
    let parent = HtbClass { burst: Some(Bytes(100_000)), cburst: Some(Bytes(100_000)), ..inner(0, LINK) };
    let free = |leaf| HtbClass { cburst: Some(Bytes(100_000)), ..leaf };
    let mut bench = bench(vec![parent, free(leaf(1)), free(leaf(2))]);
    // Level 0: 1 and 2, each of which then owes its rate. Level 7: deficits 600, 600, 1200 and 200 (1600 - 400), …
    assert_eq!(order(&mut bench, &[1, 2], 8), [1, 2, 1, 2, 1, 2, 1, 1]);
}

#[test]
fn of_one_level_the_first_priority_borrows_all() {
    let mbps = Rate::megabits;
    let leaf = |number, priority| HtbClass { priority: Some(priority), ..child(number, 0, mbps(10), mbps(100)) };
    let mut bench = bench(vec![inner(0, mbps(100)), leaf(1, 7), leaf(2, 3), leaf(3, 3)]);
    let all = [(1, 1000), (2, 1000), (3, 1000)];
    // The guarantee of the last priority holds.
    assert_rates(&send(&mut bench, &all, TEN_SECONDS), 10.0, &[(1, 10.0), (2, 45.0), (3, 45.0)]);
}

#[test]
fn a_guarantee_comes_before_a_priority() {
    let leaf = |number, priority, rate| HtbClass { priority: Some(priority), ..child(number, 0, rate, LINK) };
    let parent = HtbClass { burst: Some(Bytes(100_000)), cburst: Some(Bytes(100_000)), ..inner(0, LINK) };
    let mut bench = bench(vec![parent, leaf(1, 0, kilobits(1)), leaf(2, 5, Rate::megabits(50))]);
    // The first has credit for two packets at its own rate.
    assert_eq!(order(&mut bench, &[1, 2], 5), [1, 1, 2, 2, 1]);
}

#[test]
fn the_nearest_lender_lends_and_the_deepest_first() {
    let wide = |class: HtbClass<()>| HtbClass { burst: Some(Bytes(100_000)), cburst: Some(Bytes(100_000)), ..class };
    let leaf = |number, parent| HtbClass {
        burst: Some(Bytes(0)),
        cburst: Some(Bytes(100_000)),
        ..child(number, parent, kilobits(1), LINK)
    };
    // 0 <- 3 and 1 <- 2 <- 4: class 2 lends to 4 at level 6, class 0 to 3 at level 7.
    let two = HtbClass { classes: vec![], burst: Some(Bytes(2500)), ..wide(child(2, 1, kilobits(2), LINK)) };
    let classes = vec![wide(inner(0, LINK)), wide(inner(1, LINK)), two, leaf(3, 0), leaf(4, 2)];
    let mut bench = bench(classes);
    // At their own rates; from class 2, which has paid for the first packet, until it owes; in turns from the roots.
    assert_eq!(order(&mut bench, &[3, 4], 9), [3, 4, 4, 4, 3, 3, 4, 3, 4]);
    assert_eq!(bench.discipline.tree.borrowed, 7);
}

#[test]
fn the_ceilings_of_all_on_the_way_hold() {
    let mbps = Rate::megabits;
    let middle = HtbClass { classes: vec![], ..child(1, 0, mbps(10), mbps(20)) };
    let mut bench = bench(vec![inner(0, mbps(100)), middle, child(2, 1, mbps(5), mbps(100))]);
    assert_rates(&send(&mut bench, &[(2, 1000)], TEN_SECONDS), 10.0, &[(2, 20.0)]);
}

/// The rates in Mb/s that the HTB of Linux 6.18.44 gave on a veth, with UDP packets of 1000 B. A sender kept each of
/// the busy classes backlogged for six seconds or more. A class with a ceiling loses its turn while it waits
/// for the ceiling's tokens, and the others then use up their quanta.
#[test]
fn rates_are_those_that_a_kernel_measures() {
    let mbps = Rate::megabits;
    let guide = vec![
        inner(0, mbps(20)),
        child(1, 0, mbps(5), mbps(20)),
        child(2, 0, mbps(5), mbps(10)),
        child(3, 0, mbps(10), mbps(20)),
    ];
    let ways = vec![
        inner(0, mbps(100)),
        HtbClass { classes: vec![], ..child(1, 0, mbps(10), mbps(20)) },
        child(2, 1, mbps(5), mbps(100)),
        child(3, 0, mbps(50), mbps(100)),
    ];
    let of_priority = |number, priority| HtbClass { priority: Some(priority), ..child(number, 0, mbps(10), mbps(100)) };
    let priorities = vec![inner(0, mbps(100)), of_priority(1, 7), of_priority(2, 3), of_priority(3, 3)];
    let measured: [(&Classes, &[(usize, f64)]); 8] = [
        (&guide, &[(1, 5.0), (2, 5.0), (3, 10.0)]),
        (&guide, &[(1, 14.402), (2, 5.59)]),
        (&guide, &[(2, 9.999)]),
        (&guide, &[(2, 6.66), (3, 13.297)]),
        (&guide, &[(1, 19.994)]),
        (&ways, &[(2, 19.985)]),
        (&ways, &[(2, 10.404), (3, 89.431)]),
        (&priorities, &[(1, 10.0), (2, 44.965), (3, 45.001)]),
    ];
    for (classes, rates) in measured {
        let busy: Vec<_> = rates.iter().map(|&(class, _)| (class as u8, 1000)).collect();
        let sent = send(&mut bench(classes.clone()), &busy, Span::from_seconds(20));
        for &(class, kernel) in rates {
            let rate = sent[class] as f64 * 8e-6 / 20.0;
            assert!((rate / kernel - 1.0).abs() < 0.003, "class {class}: {rate} Mb/s, in the kernel {kernel}");
        }
    }
}

#[test]
fn packets_of_no_leaf_go_first_and_unshaped() {
    let limited = HtbConfig { direct_limit: QueueSize::Packets(3), ..config(vec![root(1, kilobits(8))]) };
    let mut bench = Bench::new(built(&limited).unwrap());
    bench.enqueue(Labelled::new(1, 1, 1000, 1));
    (2..6).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 9)));
    assert_eq!(bench.dropped.0.iter().map(|(packet, ..)| packet.label).collect::<Vec<_>>(), [5]);
    assert_eq!(bench.drain(), [2, 3, 4, 1]);
    assert_eq!(bench.discipline.direct_packets, 3);
    let by_default = HtbConfig { default_class: Some("1".into()), ..config(vec![root(1, kilobits(8)), root(2, LINK)]) };
    let mut bench = Bench::new(built(&by_default).unwrap());
    (0..9).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 9)));
    assert_eq!(bench.drain(), [0, 1]);
    assert_eq!(bench.discipline.direct_packets, 0);
}

#[test]
fn a_leaf_that_shapes_leaves_its_turn_to_others_until_its_time() {
    let shaped = CbqClass { rate: Some(Rate::megabits(8)), burst: Bytes(0), ..CbqClass::new("all", &[], ()) };
    let shaper = Cbq::new(&CbqConfig { classes: vec![shaped], default_class: None }, LINK, vec![fifo()]).unwrap();
    let fast = |number| HtbClass { burst: Some(Bytes(100_000)), cburst: Some(Bytes(100_000)), ..root(number, LINK) };
    let config = config(vec![fast(1), fast(2)]);
    let mut bench = Bench::new(Htb::new(&config, LINK, vec![Box::new(shaper), fifo(), fifo()]).unwrap());
    for label in 0..3 {
        bench.enqueue(Labelled::new(label, 1, 1000, 1));
        bench.enqueue(Labelled::new(10 + label, 1, 1000, 2));
    }
    assert_eq!(bench.drain(), [0, 10, 11, 12]);
    // 1000 B at 8 Mb/s.
    assert_eq!(bench.serve(), Served::PollAt(Time::ZERO + Span::from_milliseconds(1)));
    bench.now += Span::from_microseconds(500);
    assert_eq!(bench.serve(), Served::PollAt(Time::ZERO + Span::from_milliseconds(1)));
    bench.now += Span::from_microseconds(500);
    assert_eq!(bench.drain(), [1]);
    bench.now += Span::from_milliseconds(1);
    bench.enqueue(Labelled::new(13, 1, 1000, 2));
    assert_eq!(bench.drain(), [2, 13]);
    assert_eq!(bench.serve(), Served::Idle);
}

#[test]
fn a_leaf_whose_queue_drops_its_packets_is_passed_over() {
    let codel = CodelConfig { max_packet_size: Bytes(1), ..CodelConfig::default() };
    let codel = Codel::<Labelled>::new(&codel, LINK, 0).unwrap();
    let config = config(vec![root(1, LINK), root(2, LINK)]);
    let mut bench = Bench::new(Htb::new(&config, LINK, vec![Box::new(codel), fifo(), fifo()]).unwrap());
    (0..40).for_each(|label| bench.enqueue(Labelled::new(label, 1, 100, 1)));
    for label in 40..60 {
        bench.enqueue(Labelled::new(label, 1, 100, 2));
    }
    let mut left = 60;
    while left > bench.dropped.0.len() {
        bench.now += Span::from_milliseconds(50);
        left -= usize::from(bench.dequeue().is_some());
    }
    assert!(!bench.dropped.0.is_empty());
    assert!(bench.dropped.0.iter().all(|(packet, reason, _)| packet.class() == 1 && *reason == DropReason::Early));
    assert_eq!((bench.serve(), bench.discipline.backlog()), (Served::Idle, Backlog::default()));
}

#[test]
fn leaves_that_empty_and_fill_keep_the_link_busy() {
    let mbps = Rate::megabits;
    let mut bench = bench(vec![inner(0, mbps(8)), child(1, 0, mbps(2), mbps(8)), child(2, 0, mbps(6), mbps(8))]);
    let (mut sent, mut asked) = (0_u64, 0);
    for round in 0..2000_u32 {
        bench.enqueue(Labelled::new(round, 1, 1000, 1 + (round / 3 % 2) as u8));
        while let Some(packet) = bench.dequeue() {
            sent += u64::from(packet.len_bytes());
        }
        asked += 1;
        bench.now += Span::from_milliseconds(1);
    }
    // As much comes as the root lends.
    assert!(sent + 1000 >= asked * 1000, "{sent}");
}

fn refused(config: &HtbConfig<()>) -> Option<(String, &'static str)> {
    let placed = config.check(LINK).err().map(|placed| (placed.table, placed.error.field));
    assert_eq!(built(config).err().map(|error| error.field), placed.as_ref().map(|(_, field)| *field));
    placed
}

#[test]
fn each_parameter_is_checked() {
    let mbps = Rate::megabits;
    let of = |classes: Classes| refused(&config(classes));
    let at = |table: &str, field| Some((table.to_string(), field));
    let named = |parent: &str, class: HtbClass<()>| HtbClass { parent: Some(parent.into()), ..class };
    assert_eq!(of(vec![]), at("", "classes"));
    assert_eq!(of(vec![root(1, mbps(1)), root(1, mbps(1))]), at("classes.1", "name"));
    assert_eq!(
        of(vec![root(1, mbps(1)), HtbClass { classes: vec![1], ..root(2, mbps(1)) }]),
        at("classes.1", "classes")
    );
    assert_eq!(of(vec![root(1, mbps(1)), named("3", root(2, mbps(1)))]), at("classes.1", "parent"));
    assert_eq!(of(vec![named("1", root(1, mbps(1)))]), at("classes.0", "parent"));
    let circle = vec![root(9, mbps(1)), named("2", inner(1, mbps(1))), named("1", inner(2, mbps(1)))];
    assert_eq!(of(circle), at("classes.1", "parent"));
    assert_eq!(of(vec![HtbClass { ceil: Some(kilobits(999)), ..root(1, mbps(1)) }]), at("classes.0", "ceil"));
    assert_eq!(of(vec![HtbClass { priority: Some(8), ..root(1, mbps(1)) }]), at("classes.0", "priority"));
    assert_eq!(of(vec![HtbClass { quantum: Some(Bytes(0)), ..root(1, mbps(1)) }]), at("classes.0", "quantum"));
    assert_eq!(refused(&HtbConfig { r2q: 0, ..config(vec![root(1, LINK)]) }), at("", "r2q"));
    let unlisted = |name: &str| HtbConfig {
        default_class: Some(name.into()),
        ..config(vec![inner(0, LINK), child(1, 0, LINK, LINK)])
    };
    assert_eq!(
        ["1", "0", "7"].map(|name| refused(&unlisted(name))),
        [None, at("", "default_class"), at("", "default_class")]
    );
    let direct = HtbConfig { direct_limit: QueueSize::Packets(0), ..config(vec![root(1, LINK)]) };
    assert_eq!(direct.check(LINK).err().map(|placed| placed.error.field), Some("direct_limit"));
}

#[test]
fn a_class_with_children_has_no_packets_of_its_own() {
    let family = |parent: HtbClass<()>| refused(&config(vec![parent, child(1, 0, LINK, LINK)]));
    let at = |field| Some(("classes.0".to_string(), field));
    assert_eq!(family(inner(0, LINK)), None);
    assert_eq!(family(HtbClass { queue: Some(()), ..inner(0, LINK) }), at("queue"));
    assert_eq!(family(HtbClass { classes: vec![7], ..inner(0, LINK) }), at("classes"));
    assert_eq!(family(HtbClass { priority: Some(0), ..inner(0, LINK) }), at("priority"));
    assert_eq!(family(HtbClass { quantum: Some(Bytes(1500)), ..inner(0, LINK) }), at("quantum"));
}

#[test]
fn children_do_not_have_more_than_their_parent() {
    let family = |sum: u64| {
        let child = |number, rate| child(number, 0, kilobits(rate), LINK);
        refused(&config(vec![inner(0, kilobits(1000)), child(1, 400), child(2, sum - 400)]))
    };
    assert_eq!((family(1000), family(1001)), (None, Some(("classes.0".to_string(), "rate"))));
}

#[test]
fn a_tree_has_eight_levels() {
    let chain = |levels: u8| {
        let class = |number: u8| match number {
            0 => inner(0, LINK),
            _ => HtbClass { classes: vec![], ..child(number, number - 1, LINK, LINK) },
        };
        let mut classes: Classes = (0..levels).map(class).collect();
        classes.last_mut().unwrap().classes = vec![1];
        config(classes)
    };
    assert_eq!((refused(&chain(8)), refused(&chain(9))), (None, Some(("classes.8".to_string(), "parent"))));
    // Seven lend to the leaf.
    let mut bench = Bench::new(built(&chain(8)).unwrap());
    assert_eq!(order(&mut bench, &[1], 4), [1; 4]);
}

#[test]
fn each_leaf_has_a_queue() {
    let config = config(vec![inner(0, LINK), child(1, 0, LINK, LINK)]);
    for (queues, field) in [(1, Some("classes")), (2, None), (3, Some("classes"))] {
        let queues = (0..queues).map(|_| fifo()).collect();
        assert_eq!(Htb::<Labelled>::new(&config, LINK, queues).err().map(|error| error.field), field);
    }
    let inner = config.inner_queues();
    assert_eq!((inner.len(), inner[0].keys.as_str(), inner[0].index), (2, "classes.1.queue", 1));
    assert_eq!((inner[1].index, inner[1].queue, inner[1].fifo_limit), (2, None, FIFO_LIMIT));
    assert_eq!([1, 2].map(|index| config.inner_rate(index, Rate::megabits(1))), [LINK, Rate::megabits(1)]);
}

#[test]
fn gauges_count_what_was_borrowed_and_refused() {
    let mbps = Rate::megabits;
    let mut bench = bench(vec![inner(0, mbps(8)), child(1, 0, mbps(1), mbps(8))]);
    let sent = send(&mut bench, &[(1, 1000)], Span::from_seconds(1));
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    let [(_, backlogged), (_, borrowed), (_, direct), (_, overlimits)] = gauges[..] else { panic!("{gauges:?}") };
    assert_eq!((backlogged, direct), (1.0, 0.0));
    // Seven of eight packets.
    assert!((borrowed * 1000.0 / sent[1] as f64 - 7.0 / 8.0).abs() < 0.01, "{gauges:?}");
    // Each packet brings the leaf to its ceiling, and the root.
    assert!(overlimits >= sent[1] as f64 / 1000.0 - 3.0, "{gauges:?}");
}
