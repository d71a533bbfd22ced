//! Every discipline passes the conformance suite, with its defaults and with the parameters that change its course.

#[path = "conformance/cake.rs"]
mod cake;
#[path = "conformance/codel.rs"]
mod codel;
#[path = "conformance/data_center.rs"]
mod data_center;
#[path = "conformance/inner_queues.rs"]
mod inner_queues;
#[path = "conformance/pie_and_pi2.rs"]
mod pie_and_pi2;
#[path = "conformance/ranked.rs"]
mod ranked;
#[path = "conformance/rem_hhf_fq.rs"]
mod rem_hhf_fq;

use std::sync::Mutex;

use cake::{cake, cake_work};
use codel::{cobalt, cobalt_work, codel, codel_work, fq_codel, fq_codel_work};
use data_center::*;
use forebay_qdisc::dbl::{DblFunction, DblInputPorts, FlowTable, InputPortAction, LendTable, SharedFlowTable};
use forebay_qdisc::framing::LinkLayer;
use forebay_qdisc::*;
use forebay_testkit::{Order, *};
use forebay_units::{Bytes, QueueSize};
use pie_and_pi2::{dualpi2, dualpi2_work, fq_pie, fq_pie_work, pi2, pi2_work, pie};
use ranked::{afq, ranked_work};
use rem_hhf_fq::{fq, fq_work, hhf, hhf_work, rem};

const LINK: Rate = Rate::megabits(100);
const SMALL: QueueSize = QueueSize::Packets(20);

/// The longest packet of IP.
const LONGEST: u64 = 65_535;

/// How many of the shortest packets make room for one of this many bytes.
const fn room_for(bytes: u64) -> u64 {
    bytes.div_ceil(40)
}

/// Looks at the first packets of this many `flows`, each of `length` bytes, until the first has a quantum for it.
const fn turns(flows: u64, length: u64, quantum: u64) -> u64 {
    flows * (length.div_ceil(quantum) - 1) + 1
}

/// A packet may cost up to this many others, or itself, and comes out after this many looks at packets.
const fn fair_queue(dropped: u64, looks: u64) -> Work {
    let enqueue = Call::new(3 + dropped, dropped, 0);
    Work::new(if dropped > 1 { enqueue.at_most() } else { enqueue }, Call::new(looks, 0, 0))
}

/// SFQ that moves all packets when the hash changes, each with four looks, and so may lose this many of them to buckets
/// that are full. An arrival may cost up to `dropped` packets besides.
const fn perturbed(packets: u64, refused: u64, dropped: u64, looks: u64) -> Work {
    let enqueue = Call::new(4 * packets + 3 + dropped, refused + dropped, 0).at_most();
    let dequeue = Call::new(4 * packets + looks, refused, 0);
    Work::new(enqueue, if refused > 0 { dequeue.at_most() } else { dequeue })
}

/// CHOKe with this many candidates, all of which may be dropped with the arriving packet. No number of draws is enough
/// for certain: one in two, or more, finds a packet, and 64 in a row miss once in 10^19 times.
const fn choke_work(candidates: u64) -> Work {
    Work::new(Call::new(4 + 2 * candidates, 1 + candidates, 64 * candidates + 1).at_most(), Call::new(1, 0, 0))
}

/// Names a law, or a discipline, a configuration of it, and the most that a call does. `bounded` checks its memory
/// under ten million flows: once for each discipline, for it takes a second or two. `dual_queue` is for a discipline
/// with a queue for L4S, whose packets overtake others of their flow, and `reordering` for one that moves flows to
/// another queue.
macro_rules! conforms {
    ($test:ident: law $law:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            conformance_law(stringify!($test), $work, || Box::new($law::new(&$config, LINK, 7).unwrap()));
        }
    };
    ($test:ident: bounded law $law:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            let law: Box<dyn Admission> = Box::new($law::new(&$config, LINK, 7).unwrap());
            bounded_memory(stringify!($law), $work, Box::new(Fifo::new(law)));
        }
    };
    ($test:ident: bounded discipline $discipline:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            bounded_memory(
                stringify!($test),
                $work,
                Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap()),
            );
        }
    };
    ($test:ident: dual_queue $discipline:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            conformance_in_order(stringify!($test), Order::FlowAndCodepoint, $work, || {
                Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap())
            });
        }
    };
    ($test:ident: reordering $discipline:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            conformance_in_order(stringify!($test), Order::Free, $work, || {
                Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap())
            });
        }
    };
    ($test:ident: discipline $discipline:ident, $config:expr, $work:expr) => {
        #[test]
        fn $test() {
            conformance(stringify!($test), $work, || {
                Box::new($discipline::<TestPacket>::new(&$config, LINK, 7).unwrap())
            });
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

fn ared() -> AredConfig {
    AredConfig { limit: SMALL, weight: Some(0.3), interval: Span::from_microseconds(100), ..AredConfig::default() }
}

fn feng_red() -> FengRedConfig {
    FengRedConfig {
        limit: SMALL,
        min_threshold: QueueSize::Packets(3),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.3,
        ..FengRedConfig::default()
    }
}

fn red_pd() -> RedPdConfig {
    RedPdConfig {
        limit: SMALL,
        target_rtt: Span::from_microseconds(50),
        lists_to_monitor: 2,
        min_change_time: Span::ZERO,
        min_threshold: QueueSize::Packets(2),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.5,
        ..RedPdConfig::default()
    }
}

fn penalty_box() -> PenaltyBoxConfig {
    PenaltyBoxConfig {
        limit: SMALL,
        log_entries: 20,
        interval: Span::from_microseconds(500),
        min_drops: 1,
        min_threshold: QueueSize::Packets(2),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.5,
        ..PenaltyBoxConfig::default()
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

fn sfb() -> SfbConfig {
    SfbConfig { limit: SMALL, bins: 5, bin_size: Some(2), increment: 0.3, decrement: 0.1, ..SfbConfig::default() }
}

fn sfb_with_all() -> SfbConfig {
    SfbConfig {
        levels: 3,
        drop_rule: SfbDropRule::Any,
        rate_limit_scope: SfbRateLimitScope::Aggregate,
        fair_limit: Some(SfbFairLimit { interval: Span::from_milliseconds(1), flow_bits: 64 }),
        rehash_interval: Some(Span::from_milliseconds(1)),
        ..sfb()
    }
}

fn sfred() -> SfredConfig {
    SfredConfig { limit: SMALL, bins: 5, bin_size: Some(2), weight: 0.3, ..SfredConfig::default() }
}

fn afd() -> AfdConfig {
    AfdConfig {
        limit: SMALL,
        shadow_size: 10,
        sampling_interval: 1.5,
        target: QueueSize::Packets(3),
        update_interval: Span::from_microseconds(50),
        ..AfdConfig::default()
    }
}

fn breathe() -> BreatheConfig {
    BreatheConfig {
        limit: SMALL,
        min_threshold: QueueSize::Packets(2),
        max_threshold: QueueSize::Packets(9),
        weight: 0.3,
        max_probability: 0.3,
        counters: Some(4),
        ..BreatheConfig::default()
    }
}

fn breathe_with_all() -> BreatheConfig {
    BreatheConfig {
        uniform_gaps: false,
        member_threshold: 1,
        decay_period: Some(Span::from_microseconds(700)),
        bytes_per_count: Some(Bytes(300)),
        count_departures: true,
        ecn: true,
        ..breathe()
    }
}

fn weights() -> Vec<ClassWeight> {
    vec![ClassWeight { class: 1, weight: 0.3 }, ClassWeight { class: 2, weight: 5.0 }]
}

fn choke() -> ChokeConfig {
    ChokeConfig {
        limit: SMALL,
        min_threshold: QueueSize::Packets(2),
        max_threshold: QueueSize::Packets(9),
        weight: 0.5,
        max_probability: 0.3,
        ..ChokeConfig::default()
    }
}

fn sfq() -> SfqConfig {
    SfqConfig { limit: SMALL, buckets: 4, ..SfqConfig::default() }
}

fn sfq_red() -> SfqRedConfig {
    SfqRedConfig {
        limit: QueueSize::Packets(20),
        buckets: 3,
        min_threshold: QueueSize::Packets(1),
        max_threshold: QueueSize::Packets(4),
        weight: 0.3,
        ..SfqRedConfig::default()
    }
}

fn drr() -> DrrConfig {
    DrrConfig { limit: SMALL, weights: weights(), ..DrrConfig::default() }
}

fn pi() -> PiConfig {
    PiConfig {
        limit: SMALL,
        reference: QueueSize::Packets(4),
        a: 0.02,
        b: 0.01,
        sampling_frequency_hz: 1e4,
        ..PiConfig::default()
    }
}

fn csfq() -> CsfqConfig {
    CsfqConfig {
        limit: SMALL,
        threshold: QueueSize::Packets(3),
        flow_averaging_time: Span::from_milliseconds(1),
        link_averaging_time: Span::from_milliseconds(1),
        window: Span::from_milliseconds(1),
        idle_timeout: Span::from_milliseconds(1),
        max_flows: 5,
        weights: weights(),
        ..CsfqConfig::default()
    }
}

conforms!(drop_tail: law DropTail, DropTailConfig { limit: SMALL }, Work::law(0));
conforms!(drop_tail_in_bytes: law DropTail, DropTailConfig { limit: QueueSize::Bytes(20_000) }, Work::law(0));
conforms!(red_defaults: law Red, RedConfig::default(), Work::law(1));
conforms!(red_paper: law Red, red(), Work::law(1));
conforms!(red_ecn: law Red, RedConfig { ecn: true, hard_drop: false, gentle: true, ..red() }, Work::law(1));
conforms!(red_ecn_as_ns2: law Red,
    RedConfig { ecn: true, gentle: true, max_marking_probability: Some(0.1), ..red() }, Work::law(1));
conforms!(red_as_in_ns2: law Red,
    RedConfig { wait: true, small_queue_guard: true, byte_mode: true, ..red() }, Work::law(1));
conforms!(ared_defaults: law Ared, AredConfig::default(), Work::law(1));
conforms!(ared_small: law Ared, ared(), Work::law(1));
conforms!(ared_as_in_ns2: law Ared,
    AredConfig { ns_clock: true, wait: true, small_queue_guard: true, byte_mode: true, ..ared() }, Work::law(1));
conforms!(ared_in_bytes: law Ared,
    AredConfig { limit: QueueSize::Bytes(20_000), min_threshold: Some(QueueSize::Bytes(2000)), ecn: true, ..ared() },
    Work::law(1));
conforms!(feng_red_defaults: law FengRed, FengRedConfig::default(), Work::law(1));
conforms!(feng_red_small: law FengRed, feng_red(), Work::law(1));
conforms!(red_pd_defaults: law RedPd, RedPdConfig::default(), Work::law(2));
conforms!(red_pd_small: law RedPd, red_pd(), Work::law(2));
conforms!(red_pd_one_list: law RedPd,
    RedPdConfig { lists: 1, lists_to_monitor: 1, list_entries: 1, ecn: true, keep_busy: true, ..red_pd() },
    Work::law(2));
conforms!(penalty_box_defaults: law PenaltyBox, PenaltyBoxConfig::default(), Work::law(1));
conforms!(penalty_box_small: law PenaltyBox, penalty_box(), Work::law(1));
conforms!(penalty_box_short_log: law PenaltyBox,
    PenaltyBoxConfig { log_entries: 2, ecn: true, hard_drop: false, gentle: true, ..penalty_box() }, Work::law(1));
conforms!(fred_defaults: law Fred, FredConfig::default(), Work::law(1));
conforms!(fred_many_flows: law Fred, FredConfig { ecn: true, ..fred() }, Work::law(1));
conforms!(fred_few_flows: law Fred, FredConfig { many_flows: false, ..fred() }, Work::law(1));
conforms!(dbl_defaults: law Dbl, DblConfig::default(), Work::law(1));
conforms!(dbl_small: law Dbl, dbl(), Work::law(1));
conforms!(dbl_with_everything: law Dbl, dbl_with_all(), Work::law(1));
conforms!(dbl_with_shutdown: law Dbl, dbl_shutdown(), Work::law(1));
conforms!(dbl_catalyst4500: law Dbl,
    DblConfig { limit: SMALL, ..DblConfig::preset(dbl::DblPreset::Catalyst4500) }, Work::law(1));
conforms!(blue_defaults: law Blue, BlueConfig::default(), Work::law(1));
conforms!(blue_small: law Blue, BlueConfig {
    limit: SMALL, increment: 0.3, decrement: 0.1, threshold: Some(QueueSize::Packets(3)), ..BlueConfig::default() },
    Work::law(1));
conforms!(blue_separate_freeze: law Blue, BlueConfig {
    limit: QueueSize::Bytes(9000), increment: 0.3, separate_freeze: true, ecn: false, ..BlueConfig::default() },
    Work::law(1));
conforms!(sfb_defaults: law Sfb, SfbConfig::default(), Work::law(1));
conforms!(sfb_small: law Sfb, sfb(), Work::law(1));
conforms!(sfb_with_a_bin_limit: law Sfb, SfbConfig { bin_limit: Some(4), ..sfb() }, Work::law(1));
conforms!(sfb_with_everything: law Sfb, sfb_with_all(), Work::law(1));
conforms!(sfb_moving_hash: law Sfb, SfbConfig { double_buffer: false, ecn: false, ..sfb_with_all() }, Work::law(1));
conforms!(sfred_defaults: law Sfred, SfredConfig::default(), Work::law(1));
conforms!(sfred_small: law Sfred, sfred(), Work::law(1));
conforms!(sfred_moving_hash: law Sfred,
    SfredConfig { rehash_interval: Some(Span::from_milliseconds(1)), max_probability: 1.0, ecn: false, ..sfred() },
    Work::law(1));
conforms!(choke_defaults: discipline Choke, ChokeConfig::default(), choke_work(1));
conforms!(choke_small: discipline Choke, choke(), choke_work(1));
conforms!(choke_first_match_of_many: discipline Choke,
    ChokeConfig { candidates: 10, all_matches: false, ecn: true, ..choke() }, choke_work(10));
conforms!(choke_regions: discipline Choke, ChokeConfig { regions: Some(4), weight: 1.0, ..choke() }, choke_work(8));
conforms!(choke_in_bytes: discipline Choke, ChokeConfig {
    limit: QueueSize::Bytes(20_000), min_threshold: QueueSize::Bytes(2000), max_threshold: QueueSize::Bytes(9000),
    ..choke() }, choke_work(1));
conforms!(sfq_defaults: discipline Sfq, SfqConfig::default(), fair_queue(1, 1));
conforms!(sfq_small: discipline Sfq, sfq(), fair_queue(1, 1));
conforms!(sfq_perturbed_in_bytes: discipline Sfq, SfqConfig {
    limit: QueueSize::Bytes(20_000), quantum: Some(Bytes(300)), steal_from_head: true,
    perturbation_interval: Some(Span::from_microseconds(200)), ..sfq() }, perturbed(500, 0, 500, 2));
conforms!(sfq_perturbed_with_full_buckets: discipline Sfq, SfqConfig {
    bucket_limit: Some(QueueSize::Packets(6)), perturbation_interval: Some(Span::from_microseconds(200)), ..sfq() },
    perturbed(20, 14, 1, 1));
conforms!(sfq_as_in_ns2: discipline Sfq,
    SfqConfig { ns2_admission: true, placement: SfqPlacement::Ns2, ..sfq() },
    Work::new(Call::new(3, 1, 0), Call::new(1, 0, 0)));
conforms!(sfq_red_defaults: discipline SfqRed,
    SfqRedConfig::default(), Work::new(Call::new(3, 1, 1), Call::new(1, 0, 0)));
conforms!(sfq_red_small: discipline SfqRed, sfq_red(), Work::new(Call::new(3, 1, 1), Call::new(1, 0, 0)));
conforms!(sfq_red_ecn: discipline SfqRed,
    SfqRedConfig { ecn: true, hard_drop: false, gentle: true, quantum: Some(Bytes(300)), ..sfq_red() },
    Work::new(Call::new(3, 1, 1), Call::new(2, 0, 0)));
conforms!(drr_defaults: discipline Drr, DrrConfig::default(), fair_queue(1, turns(1000, LONGEST, 1500)));
conforms!(drr_small: discipline Drr, drr(), fair_queue(1, turns(20, LONGEST, 450)));
conforms!(drr_from_head: discipline Drr,
    DrrConfig { steal_from_head: true, ..drr() }, fair_queue(1, turns(20, LONGEST, 450)));
conforms!(drr_buckets_in_bytes: discipline Drr,
    DrrConfig { buckets: Some(3), limit: QueueSize::Bytes(20_000), quantum: Bytes(100), ..drr() },
    fair_queue(500, turns(1, 20_000, 30)));
conforms!(sred_defaults: law Sred, SredConfig::default(), Work::law(3));
conforms!(sred_small: law Sred,
    SredConfig { limit: SMALL, zombies: 5, max_probability: 0.5, ..SredConfig::default() }, Work::law(3));
conforms!(sred_simple_in_bytes: law Sred,
    SredConfig { limit: QueueSize::Bytes(20_000), zombies: 5, full: false, ecn: true, ..SredConfig::default() },
    Work::law(3));
conforms!(pi_defaults: law Pi, PiConfig::default(), Work::law(1));
conforms!(pi_small: law Pi, pi(), Work::law(1));
conforms!(pi_in_bytes: law Pi,
    PiConfig { limit: QueueSize::Bytes(20_000), reference: QueueSize::Bytes(4000), ecn: true, byte_mode: true, ..pi() },
    Work::law(1));
conforms!(csfq_defaults: discipline Csfq, CsfqConfig::default(), Work::new(Call::new(3, 1, 1), Call::new(1, 0, 0)));
conforms!(csfq_edge: discipline Csfq, csfq(), Work::new(Call::new(3, 1, 1), Call::new(1, 0, 0)));
conforms!(csfq_core: discipline Csfq,
    CsfqConfig { role: CsfqRole::Core, limit: QueueSize::Bytes(20_000), ..csfq() },
    Work::new(Call::new(4, 1, 1), Call::new(1, 0, 0)));
conforms!(wfq_defaults: discipline Wfq, WfqConfig::default(), fair_queue(1, 1));
conforms!(wfq_small: discipline Wfq, WfqConfig { limit: SMALL, weights: weights() }, fair_queue(1, 1));
conforms!(afd_defaults: law Afd, AfdConfig::default(), Work::law(3));
conforms!(afd_small: law Afd, afd(), Work::law(3));
conforms!(afd_flow_table: law Afd,
    AfdConfig { form: AfdForm::FlowTable, scale_gains: false, ecn: true, ..afd() }, Work::law(3));
conforms!(afd_in_bytes: law Afd,
    AfdConfig { byte_mode: true, target: QueueSize::Bytes(2000), limit: QueueSize::Bytes(20_000), ..afd() },
    Work::law(LONGEST.div_ceil(1500) + 2));
conforms!(breathe_defaults: law Breathe, BreatheConfig::default(), Work::law(1));
conforms!(breathe_small: law Breathe, breathe(), Work::law(1));
conforms!(breathe_with_everything: law Breathe, breathe_with_all(), Work::law(1));
conforms!(afd_memory: bounded law Afd, AfdConfig::default(), Work::law(3));
conforms!(afd_flow_table_memory: bounded law Afd,
    AfdConfig { form: AfdForm::FlowTable, ..AfdConfig::default() }, Work::law(3));
conforms!(breathe_memory: bounded law Breathe, BreatheConfig::default(), Work::law(1));
conforms!(drop_tail_memory: bounded law DropTail, DropTailConfig::default(), Work::law(0));
conforms!(red_memory: bounded law Red, RedConfig::default(), Work::law(1));
conforms!(ared_memory: bounded law Ared, AredConfig::default(), Work::law(1));
conforms!(feng_red_memory: bounded law FengRed, FengRedConfig::default(), Work::law(1));
conforms!(red_pd_memory: bounded law RedPd, RedPdConfig::default(), Work::law(2));
conforms!(penalty_box_memory: bounded law PenaltyBox, PenaltyBoxConfig::default(), Work::law(1));
conforms!(fred_memory: bounded law Fred, FredConfig::default(), Work::law(1));
conforms!(dbl_memory: bounded law Dbl, DblConfig::default(), Work::law(1));
conforms!(blue_memory: bounded law Blue, BlueConfig::default(), Work::law(1));
conforms!(sfb_memory: bounded law Sfb, SfbConfig::default(), Work::law(1));
conforms!(sfred_memory: bounded law Sfred, SfredConfig::default(), Work::law(1));
conforms!(choke_memory: bounded discipline Choke, ChokeConfig::default(), choke_work(1));
conforms!(sfq_memory: bounded discipline Sfq, SfqConfig::default(), fair_queue(1, 1));
conforms!(sfq_red_memory: bounded discipline SfqRed,
    SfqRedConfig::default(), Work::new(Call::new(3, 1, 1), Call::new(1, 0, 0)));
conforms!(drr_memory: bounded discipline Drr, DrrConfig::default(), fair_queue(1, turns(1000, LONGEST, 1500)));
conforms!(wfq_memory: bounded discipline Wfq, WfqConfig::default(), fair_queue(1, 1));
conforms!(wfq_in_bytes: discipline Wfq,
    WfqConfig { limit: QueueSize::Bytes(20_000), weights: weights() }, fair_queue(500, 1));
conforms!(codel_defaults: discipline Codel, CodelConfig::default(), codel_work(1000, 1));
conforms!(codel_small: discipline Codel, codel(), codel_work(20, 1));
conforms!(codel_ecn_as_in_linux: discipline Codel,
    CodelConfig { ecn: true, ce_threshold: Some(Span::ZERO), square_root: SquareRoot::Newton16, ..codel() },
    codel_work(20, 2));
conforms!(pi2_memory: bounded discipline Pi2, Pi2Config::default(), pi2_work(0, 10_000));
conforms!(pi2_defaults: discipline Pi2, Pi2Config::default(), pi2_work(0, 10_000));
conforms!(pi2_small: discipline Pi2, pi2(), pi2_work(0, 20));
conforms!(pi2_at_enqueue: discipline Pi2,
    Pi2Config { drop_on_enqueue: true, scalable: true, ..pi2() }, pi2_work(2, 20));
conforms!(pi2_in_bytes: discipline Pi2,
    Pi2Config { limit: QueueSize::Bytes(20_000), scalable: true, drop_on_overload: false, ..pi2() },
    pi2_work(0, 500));
conforms!(pi2_as_in_the_rfc: discipline Pi2, Pi2Config { preset: Pi2Preset::Rfc, ..pi2() }, pi2_work(0, 20));
conforms!(dualpi2_memory: bounded discipline DualPi2, DualPi2Config::default(), dualpi2_work(0, 10_000));
conforms!(dualpi2_defaults: dual_queue DualPi2, DualPi2Config::default(), dualpi2_work(0, 10_000));
conforms!(dualpi2_small: dual_queue DualPi2, dualpi2(), dualpi2_work(0, 20));
conforms!(dualpi2_at_enqueue: dual_queue DualPi2,
    DualPi2Config { drop_on_enqueue: true, llll_classes: vec![2], ..dualpi2() }, dualpi2_work(2, 20));
conforms!(dualpi2_in_bytes: dual_queue DualPi2,
    DualPi2Config { limit: QueueSize::Bytes(20_000), drop_on_overload: false, ..dualpi2() }, dualpi2_work(0, 500));
conforms!(dualpi2_as_in_the_rfc: dual_queue DualPi2,
    DualPi2Config { preset: Pi2Preset::Rfc, ..dualpi2() }, dualpi2_work(0, 20));
conforms!(fq_codel_defaults: discipline FqCodel,
    FqCodelConfig::default(), fq_codel_work(room_for(LONGEST) + 63, 10_240));
conforms!(fq_codel_small: discipline FqCodel, fq_codel(), fq_codel_work(3, 20));
conforms!(fq_codel_as_in_linux: discipline FqCodel,
    FqCodelConfig { preset: FqCodelPreset::Linux, ..fq_codel() }, fq_codel_work(3, 20));
conforms!(fq_codel_in_bytes: discipline FqCodel,
    FqCodelConfig { limit: QueueSize::Bytes(20_000), memory_limit: Bytes(15_000), ecn: false, ..fq_codel() },
    fq_codel_work(room_for(15_000) + 2, 375));
conforms!(cake_defaults: discipline Cake, CakeConfig::default(), cake_work(room_for(LONGEST), 0, 400_000));
conforms!(cake_small: discipline Cake, cake(), cake_work(1, 0, 20));
conforms!(cake_with_everything: discipline Cake,
    CakeConfig {
        isolation: CakeIsolation::DualSrchost,
        link_layer: Some(LinkLayer::PppoeLlcsnap),
        ack_filter: CakeAckFilter::On,
        ingress: true,
        autorate_ingress: true,
        wash: true,
        ..cake()
    },
    cake_work(1, 1, 20));
conforms!(cake_of_one_queue: discipline Cake,
    CakeConfig {
        bandwidth: None,
        tins: CakeTins::Besteffort,
        isolation: CakeIsolation::Flowblind,
        ack_filter: CakeAckFilter::Aggressive,
        limit: Some(QueueSize::Bytes(70_000)),
        ..cake()
    },
    cake_work(room_for(LONGEST), 1, 1750));
conforms!(cake_of_hosts: discipline Cake,
    CakeConfig { isolation: CakeIsolation::Hosts, ingress: true, ..cake() }, cake_work(1, 0, 20));
conforms!(cake_memory: bounded discipline Cake, CakeConfig::default(), cake_work(room_for(LONGEST), 0, 400_000));
conforms!(cobalt_defaults: discipline Cobalt, CobaltConfig::default(), cobalt_work(1000));
conforms!(cobalt_small: discipline Cobalt, cobalt(), cobalt_work(20));
conforms!(cobalt_ecn: discipline Cobalt,
    CobaltConfig { ecn: true, ce_threshold: Some(Span::ZERO), ..cobalt() }, cobalt_work(20));
conforms!(pie_defaults: law Pie, PieConfig::default(), Work::law(1));
conforms!(pie_small: law Pie, pie(), Work::law(1));
conforms!(pie_ecn: law Pie,
    PieConfig { ecn: true, mark_threshold: 1.0, derandomize: Some(true), ..pie() }, Work::law(1));
conforms!(pie_as_in_linux: law Pie,
    PieConfig { preset: PiePreset::Linux, ecn: true, mark_threshold: 1.0, byte_mode: true, ..pie() }, Work::law(1));
conforms!(fq_memory: bounded discipline Fq, FqConfig::default(), fq_work(false));
conforms!(fq_defaults: discipline Fq, FqConfig::default(), fq_work(false));
conforms!(fq_small: discipline Fq, fq(), fq_work(true));
conforms!(fq_paced: discipline Fq, FqConfig { flow_max_rate: Some(Rate::megabits(20)), ..fq() }, fq_work(true));
conforms!(fq_paced_by_packets: discipline Fq,
    FqConfig { flow_max_rate: Some(Rate::megabits(5)), low_rate_threshold: Rate::megabits(5), ..fq() }, fq_work(true));
conforms!(fq_in_bytes: discipline Fq, FqConfig { limit: QueueSize::Bytes(20_000), ..fq() }, fq_work(true));
conforms!(hhf_memory: bounded discipline Hhf, HhfConfig::default(), hhf_work(1));
conforms!(hhf_defaults: reordering Hhf, HhfConfig::default(), hhf_work(1));
conforms!(hhf_small: reordering Hhf, hhf(), hhf_work(1));
conforms!(hhf_in_bytes: reordering Hhf,
    HhfConfig { limit: QueueSize::Bytes(20_000), hh_limit: 1, ..hhf() }, hhf_work(room_for(20_000)));
#[path = "conformance/by_rank.rs"]
mod by_rank;
conforms!(afq_memory: bounded discipline Afq, AfqConfig::default(), ranked_work(2));
conforms!(afq_defaults: discipline Afq, AfqConfig::default(), ranked_work(2));
conforms!(afq_small: discipline Afq, afq(), ranked_work(2));
conforms!(afq_in_bytes: discipline Afq, AfqConfig { limit: QueueSize::Bytes(20_000), ..afq() }, ranked_work(2));
conforms!(ecn_threshold_memory: bounded discipline EcnThreshold, EcnThresholdConfig::default(), ecn_threshold_work(0));
conforms!(ecn_threshold_defaults: discipline EcnThreshold, EcnThresholdConfig::default(), ecn_threshold_work(0));
conforms!(ecn_threshold_small: discipline EcnThreshold, ecn_threshold(), ecn_threshold_work(1));
conforms!(ecn_threshold_step: discipline EcnThreshold, ecn_step(), ecn_threshold_work(0));
conforms!(trimming_memory: bounded discipline Trimming, TrimmingConfig::default(), trimming_work());
conforms!(trimming_defaults: reordering Trimming, TrimmingConfig::default(), trimming_work());
conforms!(trimming_small: reordering Trimming, trimming(), trimming_ecn_work());
conforms!(trimming_in_bytes: reordering Trimming, trimming_bytes(), trimming_ecn_work());
conforms!(rem_memory: bounded law Rem, RemConfig::default(), Work::law(1));
conforms!(rem_defaults: law Rem, RemConfig::default(), Work::law(1));
conforms!(rem_small: law Rem, rem(), Work::law(1));
conforms!(rem_ecn_in_bytes: law Rem,
    RemConfig { limit: QueueSize::Bytes(20_000), byte_mode: true, weight: 0.3, ecn: true, ..rem() }, Work::law(1));
conforms!(fq_pie_memory: bounded discipline FqPie, FqPieConfig::default(), fq_pie_work());
conforms!(fq_pie_defaults: discipline FqPie, FqPieConfig::default(), fq_pie_work());
conforms!(fq_pie_small: discipline FqPie, fq_pie(), fq_pie_work());
conforms!(fq_pie_as_in_the_rfcs: discipline FqPie,
    FqPieConfig { preset: PiePreset::Rfc, ecn: true, mark_threshold: 1.0, ..fq_pie() }, fq_pie_work());
conforms!(fq_pie_in_bytes: discipline FqPie,
    FqPieConfig { limit: QueueSize::Bytes(20_000), memory_limit: Bytes(5000), ..fq_pie() }, fq_pie_work());
conforms!(pie_active_by_delay: law Pie,
    PieConfig { active_threshold: Some(Span::from_microseconds(50)), byte_mode: true, ..pie() }, Work::law(1));

struct Locked(Mutex<FlowTable>);

impl LendTable for Locked {
    fn lend(&self, work: &mut dyn FnMut(&mut FlowTable)) {
        work(&mut self.0.lock().expect("no test panics while it holds the table"));
    }
}

#[test]
fn dbl_beside_another_queue_of_its_table() {
    conformance_law("dbl_beside_another_queue_of_its_table", Work::law(1), || {
        let table = SharedFlowTable::new(16, |table| Locked(Mutex::new(table)));
        let mut other = Dbl::with_shared_table(&dbl(), LINK, 1, &table).unwrap();
        let arrival = Arrival { flow: FlowKey(1), len_bytes: 1000, ..Arrival::default() };
        let mut rng = rand_pcg::Pcg64Mcg::new(1);
        other.admit(&arrival, &mut Offer { now: Time::ZERO, backlog: Backlog::default(), rng: &mut rng });
        Box::new(Dbl::with_shared_table(&dbl(), LINK, 1, &table).unwrap())
    });
}
