//! The tables of a queue are consistent, whatever had come before the measured interval.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};
use proptest::prelude::*;
use support::{
    LOSSLESS, TWO_SWITCHES, Timing, assert_near, count, disciplines, flows, mean_from, number, series, simulate,
};

/// Asserts that each queue was at some time as long as it was in the mean, and that its flows' rows come to what was
/// counted of it.
fn assert_conserved(result: &RunResult) {
    let (queues, rows) = (&result.queues, &result.queue_flows);
    for (at, name) in queues.texts("name").iter().enumerate() {
        let (mean, longest) = (queues.floats("length_mean_packets")[at], queues.counts("length_max_packets")[at]);
        // The mean of a constant length may be off by its rounding.
        assert!(mean <= longest as f64 * (1.0 + 1e-12), "`{name}`: {mean} in the mean, {longest} at most");
        for column in ["packets_arrived", "packets_dropped", "packets_marked"] {
            let of_rows = rows.texts("queue").iter().zip(rows.counts(column)).filter(|(queue, _)| *queue == name);
            let sum: u64 = of_rows.map(|(_, count)| count).sum();
            assert_eq!(sum, queues.counts(column)[at], "`{column}` of `{name}`");
        }
    }
}

fn run_text(text: &str, seed: u64) -> RunResult {
    let scenario =
        Scenario::load(text, "conservation.toml", &[]).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    run(&scenario, Some(seed), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Fifty flows that send until the warm-up ends, through this queue of 1 Mb/s.
fn stopped_at_the_warm_up(queue: &str) -> RunResult {
    run_text(
        &format!(
            "duration = \"4 s\"\nwarmup = \"1 s\"\n[topology.star]\n\
             access = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"1 Mbps\", delay = \"1 ms\", queue = {queue} }}\n\
             [[flows]]\nname = \"early\"\ncount = 50\nstagger = \"19 ms\"\nstop = \"999 ms\"\n\
             transport.udp = {{ packet = \"1000 B\", constant = {{ rate = \"100 kbps\" }} }}\n"
        ),
        1,
    )
}

#[test]
fn drops_of_packets_that_had_come_before_the_warm_up_was_over_have_their_rows() {
    // CoDel drops packets at the head that arrived in the last second of the warm-up. For some flows nothing else
    // happens within the measured interval.
    let result = stopped_at_the_warm_up("{ codel = {} }");
    assert_conserved(&result);
    let rows = &result.queue_flows;
    assert_eq!(rows.counts("packets_arrived").iter().sum::<u64>(), 0);
    let only_drops = rows.counts("packets_dropped").iter().zip(rows.floats("wait_mean_s"));
    assert!(only_drops.filter(|(dropped, wait)| **dropped > 0 && wait.is_nan()).count() > 0);
}

#[test]
fn a_queue_that_stands_when_the_warm_up_ends_counts_for_the_longest() {
    for queue in ["\"drop_tail\"", "\"drr\""] {
        let result = stopped_at_the_warm_up(queue);
        assert_conserved(&result);
        // Nothing comes any more: the queue only gets shorter.
        let mean = result.queues.floats("length_mean_packets")[0];
        let longest = result.queues.counts("length_max_packets")[0];
        assert!(longest > 100 && mean > 40.0, "{queue}: {mean} in the mean, {longest} at most");
    }
    // A fabric that lets a tenth of the line's rate through, and a warm-up that ends between two of its phases.
    let result = run_text(
        "duration = \"3 s\"\nwarmup = \"999900 us\"\n[topology.switch]\nports = 2\n\
         access = { rate = \"100 Mbps\", delay = \"1 ms\" }\ninput = { rate = \"100 Mbps\", delay = \"1 ms\" }\n\
         output = { rate = \"100 Mbps\", delay = \"1 ms\", queue = \"drop_tail\" }\n\
         fabric.cioq = { scheduler = \"islip\", cell = \"10 KB\" }\n\
         [[flows]]\nname = \"early\"\ncount = 4\nstop = \"800 ms\"\n\
         transport.udp = { packet = \"1000 B\", constant = { rate = \"10 Mbps\" } }\n",
        1,
    );
    assert_conserved(&result);
    assert!(count(&result.queues, "switch/input-1", "length_max_packets") > 300, "{:?}", result.queues);
}

/// Many flows discover rates often: most packets that wait before node 3 are probes.
const PROBES: &str = "congestion_management.fecn = { interval = \"20 us\" }\n\
                      service = [{ node = \"3\", rate = \"100 Mbps\", from = \"500 us\" }]\n";

#[test]
fn probes_that_queue_with_the_data_count_for_the_mean_as_for_the_longest() {
    let ethernet = format!("{LOSSLESS}{TWO_SWITCHES}{PROBES}");
    let all: String =
        (0..20).map(|flow| flows(&format!("f{flow}"), &["1", "2", "4", "5"], "3", "rate = \"20 Mbps\"")).collect();
    let result = simulate(&Timing::new(1.0, 3.0).sampled("1 us"), &ethernet, &all);
    assert_conserved(&result);
    let sampled = mean_from(series(&result, "SW2->3", "length_packets"), 1e-3);
    assert!(sampled > 10.0, "{sampled}");
    assert_near("mean length", number(&result.queues, "SW2->3", "length_mean_packets"), sampled, 0.01);
}

fn queues() -> Vec<String> {
    let short = "{ drop_tail = { limit = \"3 packets\" } }".to_owned();
    disciplines().into_iter().map(|(_, queue)| queue).chain([short]).collect()
}

fn group(index: usize, (transport, count, class, start_ms, sends_ms): (u8, u32, u8, u32, u32)) -> String {
    let transport = match transport {
        0 => "transport = \"tcp\"",
        1 => "transport.tcp = { sack = true, ecn = true, delayed_ack = true }",
        2 => "transport.udp = { packet = \"700 B\", ping.interval = \"3 ms\" }",
        3 => "transport.udp = { packet = \"1000 B\", constant = { rate = \"4 Mbps\" } }",
        _ => "transport.udp = { packet = { uniform = [\"64 B\", \"1500 B\"] }, poisson = { rate = \"3 Mbps\" } }",
    };
    format!(
        "[[flows]]\nname = \"g{index}\"\ncount = {count}\nclass = {class}\nstart = \"{start_ms} ms\"\n\
         stop = \"{} ms\"\n{transport}\n",
        start_ms + sends_ms
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_queue_was_as_long_as_its_mean_and_is_the_sum_of_its_rows(
        topology in 0..3,
        queue in prop::sample::select(queues()),
        back in prop::sample::select(queues()),
        megabits in 1..10,
        warmup_ms in 1..900,
        groups in prop::collection::vec((0_u8..5, 1_u32..12, 0_u8..2, 0_u32..500, 1_u32..900), 1..4),
        seed in any::<u64>(),
    ) {
        let access = "access = { rate = \"100 Mbps\", delay = \"2 ms\" }";
        let topology = match topology {
            0 => format!(
                "[topology.star]\n{access}\nbottleneck = {{ rate = \"{megabits} Mbps\", delay = \"1 ms\", \
                 queue = {queue} }}\nreverse = {{ rate = \"100 kbps\", delay = \"1 ms\", queue = {back} }}"
            ),
            1 => format!(
                "[topology.chain]\nhops = 3\n{access}\n\
                 link = {{ rate = \"{megabits} Mbps\", delay = \"1 ms\", queue = {queue} }}"
            ),
            _ => format!(
                "[topology.switch]\nports = 3\n{access}\ninput = {{ rate = \"{megabits} Mbps\", delay = \"1 ms\" }}\n\
                 output = {{ rate = \"{megabits} Mbps\", delay = \"1 ms\", queue = {queue} }}\n\
                 fabric.cioq = {{ scheduler = \"islip\", voq_limit = \"30 packets\" }}"
            ),
        };
        let flows: String = groups.into_iter().enumerate().map(|(index, of)| group(index, of)).collect();
        let text = format!("duration = \"1 s\"\nwarmup = \"{warmup_ms} ms\"\n{topology}\n{flows}");
        assert_conserved(&run_text(&text, seed));
    }

    #[test]
    fn so_is_a_port_of_an_ethernet(
        scheme in prop::sample::select(vec!["ecm", "e2cm", "qcn", "fecn", "dbp", "dcqcn"]),
        warmup_us in 1..2000_u32,
        gigabits in 1..9_u32,
        slow in 1..10_u32,
    ) {
        let ethernet = format!(
            "{LOSSLESS}{TWO_SWITCHES}congestion_management = \"{scheme}\"\n\
             service = [{{ node = \"3\", rate = \"{slow} Gbps\", from = \"500 us\" }}]\n"
        );
        let all = flows("hot", &["1", "2", "4"], "3", &format!("rate = \"{gigabits} Gbps\""))
            + &flows("cross", &["5"], "others", "rate = \"2 Gbps\"");
        assert_conserved(&simulate(&Timing::new(f64::from(warmup_us) / 1e3, 2.5), &ethernet, &all));
    }
}
