//! Fabrics with the transports of data centers: nothing is lost without a switch that drops, each byte arrives once,
//! and neither threads nor the order of running change a result.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_divided, run_in_order};
use proptest::prelude::*;

/// Ports of Ethernet switches stop the port before them well before the memory is full.
const LOSSLESS: &str = r#"
switch.ethernet_switch = { memory = "4 MB", pause = { high = "120 KB", low = "60 KB" } }
adapter = { pause = { high = "60 KB", low = "30 KB" } }"#;

const TRANSPORTS: [&str; 18] = [
    "tcp = {}",
    "uec = {}",
    "uec = { control = \"rccc\" }",
    "uec = { control = \"both\", paths = 4, load_balancing = \"reps\" }",
    "uec = { control = \"dctcp\", trimming = false }",
    "ndp = {}",
    "ndp = { path_penalties = true, packet = \"1500 B\" }",
    "homa = {}",
    "homa = { priorities = 2, cutoffs = [], max_overcommit = 2, oldest_share = 0.5, packet = \"9000 B\" }",
    "pfabric = {}",
    "pfabric = { ranks = \"unacknowledged\", probe_after = 1, max_window = 100 }",
    "roce = {}",
    "roce = { control = \"dcqcn_paper\", window = \"variable\" }",
    "roce = { control = \"timely\", window = \"none\", recovery = \"irn\" }",
    "roce = { control = \"swift\" }",
    "roce = { control = \"hpcc\" }",
    "roce = { control = { hpcc = { max_stage = 5 } }, recovery = \"irn\" }",
    "roce = { control = \"dctcp\", recovery = \"irn\" }",
];

const PATHS: [&str; 5] = [
    r#""ecmp""#,
    r#""spray""#,
    r#"{ spray = { order = "round_robin" } }"#,
    r#"{ flowlet = { timeout = "5 us" } }"#,
    r#"{ conga = { timeout = "5 us" } }"#,
];

#[derive(Clone, Debug)]
struct Case {
    leaves: u32,
    spines: u32,
    hosts: u32,
    gigabits: u64,
    /// By host: transport, destination as the remainder of the number of hosts, bytes, and start in us.
    messages: Vec<(usize, u32, u64, u64)>,
    paths: &'static str,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let message = (0..TRANSPORTS.len(), 0_u32..16, 1_u64..200_000, 0_u64..100);
    let messages = prop::collection::vec(message, 1..8);
    let paths = prop::sample::select(PATHS.to_vec());
    (1_u32..4, 1_u32..4, 1_u32..4, prop::sample::select(vec![25_u64, 100]), messages, paths, any::<u64>()).prop_map(
        |(leaves, spines, hosts, gigabits, messages, paths, seed)| Case {
            leaves: if hosts == 1 { leaves.max(2) } else { leaves },
            spines,
            hosts,
            gigabits,
            messages,
            paths,
            seed,
        },
    )
}

impl Case {
    fn text(&self, queue: &str, keys: &str) -> String {
        let Self { leaves, spines, hosts, gigabits, paths, .. } = self;
        let count = leaves * hosts;
        let groups: String = (0..count)
            .zip(self.messages.iter().cycle())
            .enumerate()
            .map(|(index, (from, &(transport, to, bytes, start)))| {
                let to = (from + 1 + to % (count - 1)) % count;
                format!(
                    r#"
                    [[flows]]
                    name = "m{index}"
                    from = "host{from}"
                    to = "host{to}"
                    start = "{start} us"
                    transport.{}
                    app.fixed = {{ size = "{bytes} B" }}"#,
                    TRANSPORTS[transport]
                )
            })
            .collect();
        format!(
            r#"
            duration = "400 ms"
            [topology.leaf_spine]
            leaves = {leaves}
            spines = {spines}
            hosts = {hosts}
            paths = {paths}
            host_link = {{ rate = "{gigabits} Gbps", delay = "1 us", {queue} }}
            {keys}
            {groups}
            "#
        )
    }

    fn scenario(&self, queue: &str, keys: &str) -> Scenario {
        let text = self.text(queue, keys);
        Scenario::load(&text, "fabric.toml", &[]).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)))
    }

    fn run(&self, scenario: &Scenario) -> RunResult {
        run(scenario, Some(self.seed), None, &mut |_| true).unwrap()
    }
}

fn delivers_everything(result: &RunResult) -> Result<(), TestCaseError> {
    let flows = &result.flows;
    for ((name, size), fct) in flows.texts("name").iter().zip(flows.floats("size_bytes")).zip(flows.floats("fct_s")) {
        prop_assert!(fct.is_finite(), "{} of {} B does not end", name, size);
    }
    let delivered = flows.floats("goodput_bps").iter().map(|bps| bps * 0.4 / 8.0);
    for (delivered, size) in delivered.zip(flows.floats("size_bytes")) {
        prop_assert!((delivered - size).abs() < 0.5, "{} of {} B", delivered, size);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn queues_that_trim_and_drop_delay_messages_and_lose_none(case in case()) {
        // Three packets of 9000 B: much is lost.
        let marks = r#"ecn = true, min_threshold = "9000 B", max_threshold = "18000 B""#;
        let queue = format!("queue.trimming = {{ limit = \"27000 B\", {marks} }}");
        let scenario = case.scenario(&queue, "");
        let result = case.run(&scenario);
        delivers_everything(&result)?;
        let two = NonZeroUsize::new(2).unwrap();
        let divided = run_divided(two, &scenario, Some(case.seed), None, None, &mut |_| true).unwrap();
        let in_order = run_in_order(&scenario, Some(case.seed), None, &mut |_| true).unwrap();
        prop_assert_eq!([&divided.digest, &in_order.digest], [&result.digest; 2]);
    }

    #[test]
    fn switches_that_pause_lose_nothing(case in case()) {
        let scenario = case.scenario("", LOSSLESS);
        let result = case.run(&scenario);
        let two = NonZeroUsize::new(2).unwrap();
        let divided = run_divided(two, &scenario, Some(case.seed), None, None, &mut |_| true).unwrap();
        prop_assert_eq!(&divided.digest, &result.digest);
        prop_assert_eq!(result.flows.counts("packets_dropped").iter().sum::<u64>(), 0);
        delivers_everything(&result)?;
    }
}
