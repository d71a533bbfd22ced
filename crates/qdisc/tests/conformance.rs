//! Every discipline passes the conformance suite, with its defaults and with the parameters that change its course.

use forebay_qdisc::dbl::{DblFunction, DblInputPorts, InputPortAction, SharedFlowTable};
use forebay_qdisc::*;
use forebay_testkit::{TestPacket, bounded_memory, conformance, conformance_law};
use forebay_units::{Bytes, QueueSize};

const LINK: Rate = Rate::megabits(100);
const SMALL: QueueSize = QueueSize::Packets(20);

/// Names a law, or a discipline, and a configuration of it. `bounded` checks its memory instead of its calls: once for
/// each discipline, for it takes a second or two.
macro_rules! conforms {
    ($test:ident: law $law:ident, $config:expr) => {
        #[test]
        fn $test() {
            conformance_law(stringify!($test), || Box::new($law::new(&$config, LINK, 7).unwrap()));
        }
    };
    ($test:ident: bounded law $law:ident, $config:expr) => {
        #[test]
        fn $test() {
            let law: Box<dyn Admission> = Box::new($law::new(&$config, LINK, 7).unwrap());
            bounded_memory(stringify!($law), Box::new(Fifo::new(law)));
        }
    };
    ($test:ident: bounded discipline $discipline:ident, $config:expr) => {
        #[test]
        fn $test() {
            bounded_memory(stringify!($test), Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap()));
        }
    };
    ($test:ident: discipline $discipline:ident, $config:expr) => {
        #[test]
        fn $test() {
            conformance(stringify!($test), || Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap()));
        }
    };
}

fn red() -> RedConfig {
    RedConfig {
        limit: SMALL,
        min_threshold: QueueSize::Packets(3),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.3,
        ..RedConfig::default()
    }
}

fn fred() -> FredConfig {
    FredConfig {
        limit: SMALL,
        min_threshold: QueueSize::Packets(3),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.3,
        ..FredConfig::default()
    }
}

fn dbl() -> DblConfig {
    DblConfig { limit: SMALL, dbl_min_cells: 8, dbl_max_cells: 40, ecn: true, ..DblConfig::default() }
}

fn dbl_with_all() -> DblConfig {
    DblConfig {
        dbl_function: DblFunction::Linear,
        include_arrival: true,
        flow_table_entries: 5,
        cell_size: Bytes(80),
        rehash_interval: Some(Span::from_milliseconds(1)),
        off_classes: vec![1],
        hard_drop_classes: vec![2],
        mark_probability: Some(1.0),
        input_ports: Some(DblInputPorts { limit: 0, ..DblInputPorts::default() }),
        ..dbl()
    }
}

fn dbl_shutdown() -> DblConfig {
    let ports = DblInputPorts { limit: 1, action: InputPortAction::Shutdown, ..DblInputPorts::default() };
    DblConfig { mark_probability: Some(1.0), input_ports: Some(ports), ..dbl() }
}

fn weights() -> Vec<ClassWeight> {
    vec![ClassWeight { class: 1, weight: 0.3 }, ClassWeight { class: 2, weight: 5.0 }]
}

fn drr() -> DrrConfig {
    DrrConfig { limit: SMALL, weights: weights(), ..DrrConfig::default() }
}

conforms!(drop_tail: law DropTail, DropTailConfig { limit: SMALL });
conforms!(drop_tail_in_bytes: law DropTail, DropTailConfig { limit: QueueSize::Bytes(20_000) });
conforms!(red_defaults: law Red, RedConfig::default());
conforms!(red_paper: law Red, red());
conforms!(red_ecn: law Red, RedConfig { ecn: true, hard_drop: false, gentle: true, ..red() });
conforms!(red_as_in_ns2: law Red, RedConfig { wait: true, small_queue_guard: true, byte_mode: true, ..red() });
conforms!(fred_defaults: law Fred, FredConfig::default());
conforms!(fred_many_flows: law Fred, FredConfig { ecn: true, ..fred() });
conforms!(fred_few_flows: law Fred, FredConfig { many_flows: false, ..fred() });
conforms!(dbl_defaults: law Dbl, DblConfig::default());
conforms!(dbl_small: law Dbl, dbl());
conforms!(dbl_with_everything: law Dbl, dbl_with_all());
conforms!(dbl_with_shutdown: law Dbl, dbl_shutdown());
conforms!(dbl_catalyst4500: law Dbl, DblConfig { limit: SMALL, ..DblConfig::preset(dbl::DblPreset::Catalyst4500) });
conforms!(drr_defaults: discipline Drr, DrrConfig::default());
conforms!(drr_small: discipline Drr, drr());
conforms!(drr_from_head: discipline Drr, DrrConfig { steal_from_head: true, ..drr() });
conforms!(drr_buckets_in_bytes: discipline Drr,
    DrrConfig { buckets: Some(3), limit: QueueSize::Bytes(20_000), quantum: Bytes(100), ..drr() });
conforms!(wfq_defaults: discipline Wfq, WfqConfig::default());
conforms!(wfq_small: discipline Wfq, WfqConfig { limit: SMALL, weights: weights() });
conforms!(drop_tail_memory: bounded law DropTail, DropTailConfig::default());
conforms!(red_memory: bounded law Red, RedConfig::default());
conforms!(fred_memory: bounded law Fred, FredConfig::default());
conforms!(dbl_memory: bounded law Dbl, DblConfig::default());
conforms!(drr_memory: bounded discipline Drr, DrrConfig::default());
conforms!(wfq_memory: bounded discipline Wfq, WfqConfig::default());
conforms!(wfq_in_bytes: discipline Wfq, WfqConfig { limit: QueueSize::Bytes(20_000), weights: weights() });

#[test]
fn dbl_beside_another_queue_of_its_table() {
    conformance_law("dbl_beside_another_queue_of_its_table", || {
        let table = SharedFlowTable::new(16);
        let mut other = Dbl::with_shared_table(&dbl(), LINK, 1, &table).unwrap();
        let arrival = Arrival { flow: FlowKey(1), len_bytes: 1000, ..Arrival::default() };
        let mut rng = rand_pcg::Pcg64Mcg::new(1);
        other.admit(&arrival, &mut Offer { now: Time::ZERO, backlog: Backlog::default(), rng: &mut rng });
        Box::new(Dbl::with_shared_table(&dbl(), LINK, 1, &table).unwrap())
    });
}

#[test]
fn cbq_of_several_disciplines() {
    conformance("cbq_of_several_disciplines", || {
        let shaped = CbqClass { rate: Some(Rate::megabits(10)), priority: 1, ..CbqClass::new("shaped", &[1], ()) };
        let first = CbqClass { share: 3.0, ..CbqClass::new("first", &[0, 2], ()) };
        let classes = vec![first, shaped, CbqClass::new("rest", &[], ())];
        let law: Box<dyn Admission> = Box::new(Dbl::new(&dbl(), LINK, 7).unwrap());
        let wfq = Wfq::new(&WfqConfig { limit: SMALL, ..WfqConfig::default() }, LINK, 7).unwrap();
        let inner = CbqConfig {
            classes: vec![CbqClass { rate: Some(Rate::megabits(1)), ..CbqClass::new("all", &[], ()) }],
            default_class: None,
        };
        let drr: Box<dyn Discipline<TestPacket>> = Box::new(Drr::new(&drr(), LINK, 7).unwrap());
        let inner = Cbq::new(&inner, vec![drr]).unwrap();
        let queues: Vec<Box<dyn Discipline<TestPacket>>> =
            vec![Box::new(Fifo::new(law)), Box::new(wfq), Box::new(inner)];
        Box::new(Cbq::new(&CbqConfig { classes, default_class: None }, queues).unwrap())
    });
}
