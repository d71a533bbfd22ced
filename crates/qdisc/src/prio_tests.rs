//! Bands by priority.

use alloc::vec;

use forebay_units::Bytes;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{DropTail, DropTailConfig, Fifo, Span, Tbf, TbfConfig};

fn fifo() -> Box<dyn Discipline<Labelled>> {
    Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig::default(), LINK, 0).unwrap())))
}

fn bench(config: &PrioConfig<()>) -> Bench<Prio<Labelled>> {
    let queues = config.inner_queues().iter().map(|_| fifo()).collect();
    Bench::new(Prio::new(config, LINK, queues).unwrap())
}

fn bands(bands: Vec<PrioBand<()>>) -> PrioConfig<()> {
    PrioConfig { bands, ..PrioConfig::default() }
}

fn three() -> PrioConfig<()> {
    bands(vec![PrioBand::new("a", &[7]), PrioBand::new("b", &[3, 9]), PrioBand::new("c", &[1])])
}

#[test]
fn the_first_band_with_packets_sends() {
    let mut bench = bench(&three());
    for (label, class) in [(0, 1), (1, 9), (2, 7), (3, 3), (4, 7)] {
        bench.enqueue(Labelled::new(label, 1, 1000, class));
    }
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(2));
    bench.enqueue(Labelled::new(5, 1, 1000, 7));
    assert_eq!(bench.drain(), [4, 5, 1, 3, 0]);
    assert_eq!(bench.serve(), Served::Idle);
}

#[test]
fn unlisted_traffic_goes_to_the_last_band_or_the_named_one() {
    for (default_band, expected) in [(None, [1, 0]), (Some("a".into()), [0, 1])] {
        let mut bench = bench(&PrioConfig { default_band, ..three() });
        bench.enqueue(Labelled::new(0, 1, 1000, 200));
        bench.enqueue(Labelled::new(1, 1, 1000, 3));
        assert_eq!(bench.drain(), expected);
    }
}

#[test]
fn the_bare_name_has_linuxs_bands() {
    let mut bench = bench(&PrioConfig::default());
    // Best effort, bulk, interactive, and the interactive bulk of DSCP 46.
    for (label, class) in [(0, 0), (1, 2), (2, 6), (3, 46)] {
        bench.enqueue(Labelled::new(label, 1, 1000, class));
    }
    assert_eq!(bench.drain(), [2, 0, 3, 1]);
}

#[test]
fn a_band_that_shapes_leaves_the_link_to_the_next() {
    let slow = TbfConfig::<()> { rate: Some(Rate::megabits(8)), burst: Some(Bytes(1000)), ..TbfConfig::default() };
    let tbf = Tbf::new(&slow, LINK, vec![fifo()]).unwrap();
    let config = bands(vec![PrioBand::new("a", &[7]), PrioBand::new("b", &[])]);
    let mut bench = Bench::new(Prio::new(&config, LINK, vec![Box::new(tbf), fifo()]).unwrap());
    for (label, class) in [(0, 7), (1, 7), (2, 0), (3, 0)] {
        bench.enqueue(Labelled::new(label, 1, 1000, class));
    }
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(0));
    assert_eq!(bench.dequeue().map(|packet| packet.label), Some(2));
    bench.now += Span::from_milliseconds(1);
    assert_eq!(bench.drain(), [1, 3]);
    bench.enqueue(Labelled::new(4, 1, 1000, 7));
    assert_eq!(bench.serve(), Served::PollAt(bench.now + Span::from_milliseconds(1)));
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("backlogged_bands", 1.0)]);
}

#[test]
fn each_parameter_is_checked() {
    let refused = |config: &PrioConfig<()>| {
        let queues = config.inner_queues().iter().map(|_| fifo()).collect();
        let built = Prio::<Labelled>::new(config, LINK, queues).err().map(|error| error.field);
        let placed = config.check(LINK).err();
        assert_eq!(built, placed.as_ref().map(|placed| placed.error.field));
        placed.map(|placed| (placed.table, placed.error.field))
    };
    assert_eq!((refused(&three()), refused(&PrioConfig::default())), (None, None));
    assert_eq!(refused(&PrioConfig { limit: QueueSize::Packets(0), ..three() }), Some((String::new(), "limit")));
    let twice = bands(vec![PrioBand::new("a", &[7]), PrioBand::new("b", &[7])]);
    assert_eq!(refused(&twice), Some(("bands.1".into(), "classes")));
    for queues in [2, 4] {
        let queues = (0..queues).map(|_| fifo()).collect();
        assert_eq!(Prio::new(&three(), LINK, queues).err().map(|error| error.field), Some("bands"));
    }
    let limit = QueueSize::Packets(7);
    let limited = PrioConfig { limit, ..three() };
    assert!(limited.inner_queues().iter().all(|inner| inner.queue.is_none() && inner.fifo_limit == limit));
    assert_eq!(limited.inner_rate(1, LINK), LINK);
}
