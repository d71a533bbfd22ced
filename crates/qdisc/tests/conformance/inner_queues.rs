//! Disciplines with queues inside them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

/// The queues of three classes: a law's, a fair queue's, and those of classes one of which is shaped.
fn inner_queues() -> Vec<Box<dyn Discipline<TestPacket>>> {
    let law: Box<dyn Admission> = Box::new(Dbl::new(&dbl(), LINK, 7).unwrap());
    let wfq = Wfq::new(&WfqConfig { limit: SMALL, ..WfqConfig::default() }, LINK, 7).unwrap();
    let inner = CbqConfig {
        classes: vec![CbqClass { rate: Some(Rate::megabits(1)), ..CbqClass::new("all", &[], ()) }],
        default_class: None,
    };
    let drr: Box<dyn Discipline<TestPacket>> = Box::new(Drr::new(&drr(), LINK, 7).unwrap());
    let inner = Cbq::new(&inner, LINK, vec![drr]).unwrap();
    vec![Box::new(Fifo::new(law)), Box::new(wfq), Box::new(inner)]
}

/// Each class asks its queue once at most: DBL's, WFQ's, and DRR's with a look more for each level of classes. `each`
/// is the looks of the outer discipline at a packet that arrives, and at one that leaves.
const fn classes_work(each: u64) -> Work {
    Work::new(Call::new(5 + each, 1, 1), Call::new(2 + 1 + turns(20, LONGEST, 450) + 3 + each, 0, 0).at_most())
}

/// Bands for the traffic classes of the suite, one of which none lists.
fn three_bands() -> Vec<PrioBand<()>> {
    vec![PrioBand::new("a", &[0, 2]), PrioBand::new("b", &[1]), PrioBand::new("c", &[3])]
}

#[test]
fn prio_of_several_disciplines() {
    conformance("prio_of_several_disciplines", classes_work(1), || {
        let config = PrioConfig { bands: three_bands(), ..PrioConfig::default() };
        Box::new(Prio::new(&config, LINK, inner_queues()).unwrap())
    });
}

#[test]
fn prio_defaults() {
    let work = Work::new(Call::new(2, 1, 0), Call::new(1, 0, 0));
    conformance("prio_defaults", work, || {
        let fifo = || -> Box<dyn Discipline<TestPacket>> {
            Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig::default(), LINK, 7).unwrap())))
        };
        Box::new(Prio::new(&PrioConfig::<()>::default(), LINK, vec![fifo(), fifo(), fifo()]).unwrap())
    });
}

#[test]
fn ets_of_several_disciplines() {
    for strict in [0, 1, 3] {
        conformance("ets_of_several_disciplines", classes_work(1), || {
            let band = |PrioBand { name, classes, .. }: PrioBand<()>| EtsBand::<()>::new(&name, &classes);
            let bands = three_bands().into_iter().map(band).collect();
            let config = EtsConfig { bands, strict: Some(strict), ..EtsConfig::default() };
            Box::new(Ets::new(&config, LINK, inner_queues()).unwrap())
        });
    }
}

#[test]
fn taprio_of_several_disciplines() {
    conformance("taprio_of_several_disciplines", classes_work(2), || {
        let class = |PrioBand { name, classes, .. }: PrioBand<()>| TaprioClass::<()>::new(&name, &classes);
        let config = TaprioConfig {
            classes: three_bands().into_iter().map(class).collect(),
            schedule: vec![
                TaprioInterval::new(&["a"], Span::from_microseconds(200)),
                TaprioInterval::new(&["b", "c"], Span::from_microseconds(6000)),
                TaprioInterval::new(&[], Span::from_microseconds(50)),
                TaprioInterval::new(&["a", "b"], Span::from_microseconds(1000)),
            ],
            default_class: None,
            cycle_time: Some(Span::from_milliseconds(8)),
            base_time: Span::from_milliseconds(1),
        };
        Box::new(Taprio::new(&config, LINK, inner_queues()).unwrap())
    });
}

fn tbf() -> TbfConfig<()> {
    TbfConfig { rate: Some(Rate::megabits(20)), burst: Some(Bytes(20_000)), limit: Some(SMALL), ..TbfConfig::default() }
}

/// A FIFO queue without a limit, of which TBF looks at the first packet.
fn fifo() -> Vec<Box<dyn Discipline<TestPacket>>> {
    let unlimited = DropTailConfig { limit: QueueSize::Packets(u64::MAX) };
    vec![Box::new(Fifo::new(Box::new(DropTail::new(&unlimited, LINK, 7).unwrap())))]
}

#[test]
fn tbf_defaults() {
    let work = Work::new(Call::new(2, 1, 0), Call::new(2, 0, 0));
    conformance("tbf_defaults", work, || Box::new(Tbf::new(&TbfConfig::<()>::default(), LINK, fifo()).unwrap()));
}

#[test]
fn tbf_of_two_rates() {
    let work = Work::new(Call::new(2, 1, 0), Call::new(2, 0, 0));
    let config = TbfConfig { peakrate: Some(Rate::megabits(60)), mtu: Some(Bytes(1500)), ..tbf() };
    conformance("tbf_of_two_rates", work, || Box::new(Tbf::new(&config, LINK, fifo()).unwrap()));
}

#[test]
fn tbf_with_a_queue() {
    // A packet more than in the queue, and a look at its length.
    let codel_work = codel_work(20, 1);
    let dequeue = Call { looks: codel_work.dequeue.looks + 1, ..codel_work.dequeue };
    let work = Work::new(Call { looks: codel_work.enqueue.looks + 1, ..codel_work.enqueue }, dequeue.at_most());
    conformance("tbf_with_a_queue", work, || {
        let queue: Box<dyn Discipline<TestPacket>> = Box::new(Codel::new(&codel(), LINK, 7).unwrap());
        Box::new(Tbf::new(&TbfConfig { limit: None, queue: Some(Box::new(())), ..tbf() }, LINK, vec![queue]).unwrap())
    });
}

#[test]
fn htb_of_several_disciplines() {
    conformance("htb_of_several_disciplines", classes_work(1), || {
        let leaf = |name, classes: &[u8], parent: &str| HtbClass {
            parent: Some(parent.into()),
            ceil: Some(Rate::megabits(80)),
            ..HtbClass::<()>::new(name, classes, Rate::megabits(10))
        };
        let classes = vec![
            HtbClass::new("root", &[], Rate::megabits(50)),
            HtbClass { priority: Some(3), ..leaf("a", &[0, 2], "root") },
            HtbClass { ceil: Some(Rate::megabits(30)), rate: Rate::megabits(20), ..leaf("inner", &[], "root") },
            leaf("b", &[1], "inner"),
            HtbClass { burst: Some(Bytes(0)), quantum: Some(Bytes(9000)), ..leaf("c", &[3], "inner") },
        ];
        let config = HtbConfig { classes, default_class: None, direct_limit: SMALL, r2q: 10 };
        let direct: Box<dyn Discipline<TestPacket>> =
            Box::new(Fifo::new(Box::new(DropTail::new(&DropTailConfig { limit: SMALL }, LINK, 7).unwrap())));
        Box::new(Htb::new(&config, LINK, inner_queues().into_iter().chain([direct]).collect()).unwrap())
    });
}

#[test]
fn cbq_of_several_disciplines() {
    conformance("cbq_of_several_disciplines", classes_work(1), || {
        let shaped = CbqClass { rate: Some(Rate::megabits(10)), priority: 1, ..CbqClass::new("shaped", &[1], ()) };
        let first = CbqClass { share: 3.0, ..CbqClass::new("first", &[0, 2], ()) };
        let classes = vec![first, shaped, CbqClass::new("rest", &[], ())];
        Box::new(Cbq::new(&CbqConfig { classes, default_class: None }, LINK, inner_queues()).unwrap())
    });
}
