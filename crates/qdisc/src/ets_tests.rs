//! Strict bands, and turns of the others.

use alloc::vec;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Codel, CodelConfig, DropTail, DropTailConfig, Fifo, Span, Tbf, TbfConfig};

fn fifo() -> Box<dyn Discipline<Labelled>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig::default(), LINK, 0).unwrap())))
}

fn bench(config: &EtsConfig<()>) -> Bench<Ets<Labelled>> {
    let queues = config.inner_queues().iter().map(|_| fifo()).collect();
    Bench::new(Ets::new(config, LINK, queues).unwrap())
}

fn band(class: u8, quantum: u64) -> EtsBand<()> {
    let name = ["a", "b", "c", "d"][usize::from(class)];
    EtsBand { quantum: Some(Bytes(quantum)).filter(|quantum| quantum.0 > 0), ..EtsBand::new(name, &[class]) }
}

fn bands(strict: u32, bands: Vec<EtsBand<()>>) -> EtsConfig<()> {
    EtsConfig { bands, strict: Some(strict), ..EtsConfig::default() }
}

/// The classes in the order of departure of `packets`, by class and length.
fn order(bench: &mut Bench<Ets<Labelled>>, packets: &[(u8, u32)]) -> Vec<u8> {
    packets.iter().for_each(|&(class, length)| bench.enqueue(Labelled::new(0, 1, length, class)));
    core::iter::from_fn(|| bench.dequeue().map(|packet| packet.class())).collect()
}

#[test]
fn strict_bands_come_first_and_in_order() {
    let mut bench = bench(&bands(2, vec![band(0, 0), band(1, 0), band(2, 1514)]));
    assert_eq!(order(&mut bench, &[(2, 100), (1, 100), (2, 100), (0, 100), (1, 100)]), [0, 1, 1, 2, 2]);
    assert_eq!(bench.serve(), Served::Idle);
}

/// Rules of the kernel: a band begins with a quantum, and has one more after each turn.
#[test]
fn the_others_take_turns_by_their_deficits() {
    let mut one = bench(&bands(0, vec![band(0, 1500), band(1, 1500)]));
    let packets: Vec<_> = (0..6).flat_map(|_| [(0, 1000), (1, 1000)]).collect();
    // Deficits: 500 left of 1500, 2000 at the next turn, which is two packets.
    assert_eq!(order(&mut one, &packets), [0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1]);
    let mut exact = bench(&bands(0, vec![band(0, 1000), band(1, 2000)]));
    assert_eq!(order(&mut exact, &packets), [0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn busy_bands_divide_the_link_by_their_quanta() {
    let mut bench = bench(&bands(1, vec![band(0, 0), band(1, 4500), band(2, 1500), band(3, 3000)]));
    let sizes = [0, 1500, 300, 999];
    let (mut sent, mut queued) = ([0_u64; 4], [0; 4]);
    for _ in 0..20_000 {
        for class in 1..4_u8 {
            let index = usize::from(class);
            while queued[index] < 5 {
                bench.enqueue(Labelled::new(0, 1, sizes[index], class));
                queued[index] += 1;
            }
        }
        let packet = bench.dequeue().unwrap();
        let class = usize::from(packet.class());
        queued[class] -= 1;
        sent[class] += u64::from(packet.len_bytes());
    }
    // A quantum and a packet of each, at most.
    let rounds = [1, 2, 3].map(|class| sent[class] as f64 / [4500.0, 1500.0, 3000.0][class - 1]);
    let spread = rounds.iter().copied().fold(0.0, f64::max) - rounds.iter().copied().fold(f64::MAX, f64::min);
    assert!(spread < 2.0, "{rounds:?}");
}

#[test]
fn a_band_that_has_emptied_begins_with_its_quantum() {
    let mut bench = bench(&bands(0, vec![band(0, 1500), band(1, 1500)]));
    assert_eq!(order(&mut bench, &[(0, 1000)]), [0]);
    // Neither 500 nor 2000 are left.
    assert_eq!(order(&mut bench, &[(0, 1500), (1, 1500), (0, 100)]), [0, 1, 0]);
    assert_eq!(order(&mut bench, &[(0, 1501), (1, 1500)]), [1, 0]);
}

#[test]
fn a_quantum_smaller_than_a_packet_saves_up() {
    let mut bench = bench(&bands(0, vec![band(0, 1), band(1, 3)]));
    let packets: Vec<_> = (0..6).flat_map(|_| [(0, 300), (1, 300)]).collect();
    assert_eq!(order(&mut bench, &packets)[..8], [1, 1, 0, 1, 1, 1, 0, 1]);
}

#[test]
fn the_bare_name_has_a_strict_band_and_two_that_share() {
    let config = EtsConfig::default();
    let mut bench = bench(&config);
    let packets: Vec<_> = (0..3).flat_map(|_| [(0, 1514), (2, 1514), (6, 1514)]).collect();
    assert_eq!(order(&mut bench, &packets), [6, 6, 6, 0, 2, 0, 2, 0, 2]);
    let rates = [0, 1, 2].map(|band| config.inner_rate(band, LINK));
    assert_eq!(rates, [100, 50, 50].map(Rate::megabits));
}

#[test]
fn a_band_that_shapes_is_passed_over() {
    let slow = TbfConfig::<()> { rate: Some(Rate::megabits(8)), burst: Some(Bytes(1000)), ..TbfConfig::default() };
    let tbf = || -> Box<dyn Discipline<Labelled>> { Box::new(Tbf::new(&slow, LINK, vec![fifo()]).unwrap()) };
    for (strict, quantum) in [(0, 3000), (1, 0)] {
        let config = bands(strict, vec![band(0, quantum), band(1, 3000)]);
        let mut bench = Bench::new(Ets::new(&config, LINK, vec![tbf(), fifo()]).unwrap());
        assert_eq!(order(&mut bench, &[(0, 1000), (0, 1000), (1, 1000), (1, 1000)]), [0, 1, 1]);
        assert_eq!(bench.serve(), Served::PollAt(bench.now + Span::from_milliseconds(1)));
        bench.now += Span::from_milliseconds(1);
        assert_eq!(order(&mut bench, &[(1, 1000)]), [0, 1]);
    }
}

#[test]
fn a_band_whose_queue_drops_its_packets_leaves_the_round() {
    let codel = CodelConfig { max_packet_size: Bytes(1), ..CodelConfig::default() };
    let codel: Box<dyn Discipline<Labelled>> = Box::new(Codel::new(&codel, LINK, 0).unwrap());
    let config = bands(0, vec![band(0, 300), band(1, 300)]);
    let mut bench = Bench::new(Ets::new(&config, LINK, vec![codel, fifo()]).unwrap());
    for label in 0..60 {
        bench.enqueue(Labelled::new(label, 1, 100, (label / 40) as u8));
    }
    let mut sent = 0;
    while sent + bench.dropped.0.len() < 60 {
        bench.now += Span::from_milliseconds(50);
        sent += usize::from(bench.dequeue().is_some());
    }
    assert!(!bench.dropped.0.is_empty() && bench.discipline.active.is_empty());
    assert_eq!((bench.serve(), bench.discipline.backlog()), (Served::Idle, Backlog::default()));
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("backlogged_bands", 0.0)]);
}

/// A queue that drops a packet of its own with the one that comes.
#[test]
fn a_band_that_an_arrival_empties_leaves_the_round() {
    struct Pairs(Vec<Labelled>);
    impl Discipline<Labelled> for Pairs {
        fn enqueue(&mut self, packet: Labelled, cx: &mut Cx<'_, Labelled>) {
            match self.0.pop() {
                None => self.0.push(packet),
                Some(queued) => {
                    cx.sink.dropped(queued, crate::DropReason::Match, true);
                    cx.sink.dropped(packet, crate::DropReason::Match, false);
                }
            }
        }
        fn dequeue(&mut self, _: &mut Cx<'_, Labelled>) -> Served<Labelled> {
            self.0.pop().into()
        }
        fn backlog(&self) -> Backlog {
            Backlog { packets: self.0.len() as u64, bytes: 100 * self.0.len() as u64 }
        }
        fn state_bytes(&self) -> u64 {
            0
        }
    }
    let config = bands(0, vec![band(0, 300), band(1, 300)]);
    let mut bench = Bench::new(Ets::new(&config, LINK, vec![Box::new(Pairs(vec![])), fifo()]).unwrap());
    for _ in 0..3 {
        bench.enqueue(Labelled::new(0, 1, 100, 0));
    }
    assert_eq!(bench.discipline.active, [0]);
    assert_eq!(order(&mut bench, &[(1, 100)]), [0, 1]);
}

#[test]
fn each_parameter_is_checked() {
    let refused = |config: &EtsConfig<()>| {
        let queues = config.inner_queues().iter().map(|_| fifo()).collect();
        let built = Ets::<Labelled>::new(config, LINK, queues).err().map(|error| error.field);
        let placed = config.check(LINK).err();
        assert_eq!(built, placed.as_ref().map(|placed| placed.error.field));
        placed.map(|placed| (placed.table, placed.error.field))
    };
    let at = |table: &str, field| Some((table.into(), field));
    let two = |strict, quantum| bands(strict, vec![band(0, quantum), band(1, 0)]);
    assert_eq!(refused(&EtsConfig::default()), None);
    assert_eq!([2, 3].map(|strict| refused(&two(strict, 0))), [None, at("", "strict")]);
    assert_eq!([0, 1].map(|strict| refused(&two(strict, 1))), [None, at("bands.0", "quantum")]);
    let of_quantum = |quantum| {
        let band = EtsBand { quantum: Some(Bytes(quantum)), ..EtsBand::new("a", &[]) };
        refused(&bands(0, vec![band]))
    };
    assert_eq!([0, 1, 1 << 32].map(of_quantum), [at("bands.0", "quantum"), None, None]);
    assert_eq!(of_quantum((1 << 32) + 1), at("bands.0", "quantum"));
    assert_eq!(refused(&EtsConfig { limit: QueueSize::Packets(0), ..two(0, 0) }), at("", "limit"));
    assert_eq!(refused(&bands(0, vec![band(0, 0), band(0, 0)])), at("bands.1", "name"));
    assert_eq!(refused(&EtsConfig { default_band: Some("z".into()), ..two(0, 0) }), at("", "default_band"));
    for queues in [1, 3] {
        let queues = (0..queues).map(|_| fifo()).collect();
        assert_eq!(Ets::new(&two(0, 0), LINK, queues).err().map(|error| error.field), Some("bands"));
    }
}

#[test]
fn a_band_is_built_for_its_share() {
    let config = bands(1, vec![band(0, 0), band(1, 4500), band(2, 1500)]);
    assert_eq!([0, 1, 2].map(|band| config.inner_rate(band, LINK)), [100, 75, 25].map(Rate::megabits));
}
