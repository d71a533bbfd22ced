//! A valid scenario runs, or stops with an error: it never panics, and its accounting balances.

use forebay_engine::RunError;
use forebay_scenario::{Scenario, run};
use proptest::prelude::*;

const SCENARIOS: &[&str] = &[
    include_str!("scenarios/star.toml"),
    include_str!("scenarios/dumbbell.toml"),
    include_str!("scenarios/chain.toml"),
    include_str!("scenarios/switch.toml"),
    include_str!("scenarios/graph.toml"),
];

/// Keys of the queue at the heart of each scenario.
const QUEUES: &[&str] = &[
    "topology.star.bottleneck.queue",
    "topology.dumbbell.bottleneck.queue",
    "topology.chain.link.queue",
    "topology.switch.output.queue",
    "topology.graph.links.r1->r2.queue",
];

/// Their rates and delays.
const RATES: &[&str] = &[
    "topology.star.bottleneck.rate",
    "topology.dumbbell.bottleneck.rate",
    "topology.chain.link.rate",
    "topology.switch.output.rate",
    "topology.graph.links.r1->r2.rate",
];

fn discipline() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "drop_tail",
        "red",
        "fred",
        "dbl",
        "drr",
        "wfq",
        "{ drop_tail = { limit = \"1 packet\" } }",
        "{ drop_tail = { limit = \"1500 B\" } }",
        "{ dbl = { flow_table = \"shared\", flow_table_entries = 1, ecn = true, rehash_interval = \"1 ms\" } }",
        "{ dbl = { input_ports = { limit = 0, action = \"shutdown\" } } }",
        "{ drr = { quantum = \"1 B\", buckets = 1 } }",
        "{ cbq = { classes = [{ name = \"a\", classes = [3], rate = \"1 kbps\", queue = \"wfq\" }, \
           { name = \"b\", priority = 1, queue = \"fred\" }] } }",
    ])
}

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("1 kbps".to_owned()),
        Just("10 Tbps".to_owned()),
        (1_000_u64..10_000_000_000).prop_map(|bps| format!("{bps} bps"))
    ]
}

fn span() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0 s".to_owned()),
        Just("1 ps".to_owned()),
        Just("24 h".to_owned()),
        (0_u64..1_000_000_000_000).prop_map(|picoseconds| format!("{picoseconds} ps")),
        (1_u64..1_000_000_000).prop_map(|mean| format!("{{ exponential = \"{mean} ns\" }}")),
    ]
}

fn transport() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec!["41 B", "100 B", "1500 B", "65535 B"]);
    let packet = prop::sample::select(vec!["\"1 B\"", "\"1000 B\"", "\"65535 B\"", "{ exponential = \"100 B\" }"]);
    prop_oneof![
        (segment, any::<bool>(), any::<bool>()).prop_map(|(segment, sack, delayed_ack)| format!(
            "{{ tcp = {{ segment = \"{segment}\", sack = {sack}, delayed_ack = {delayed_ack}, ecn = {sack} }} }}"
        )),
        (packet.clone(), rate(), 0.0..=1.0).prop_map(|(packet, rate, jitter)| format!(
            "{{ udp = {{ packet = {packet}, \
             constant = {{ rate = \"{rate}\", jitter = {jitter:.3}, random_phase = true }} }} }}"
        )),
        (packet.clone(), rate()).prop_map(|(packet, rate)| format!(
            "{{ udp = {{ packet = {packet}, poisson = {{ rate = \"{rate}\" }} }} }}"
        )),
        (packet.clone(), rate()).prop_map(|(packet, rate)| format!(
            "{{ udp = {{ packet = {packet}, \
             on_off = {{ rate = \"{rate}\", on = {{ exponential = \"1 us\" }}, off = \"0 s\" }} }} }}"
        )),
        (packet, rate(), rate(), 0_u64..50).prop_map(|(packet, rate, other, from)| format!(
            "{{ udp = {{ packet = {packet}, steps = [\
             {{ from = \"{from} ms\", rate = \"{rate}\" }}, {{ from = \"60 ms\", rate = \"{other}\" }}] }} }}"
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_passes_runs(
        which in 0..SCENARIOS.len(),
        queue in discipline(),
        rate in rate(),
        delay in span(),
        transport in transport(),
        duration in 1_u64..100,
        seed in any::<u64>(),
    ) {
        let delay_key = RATES[which].replace(".rate", ".delay");
        let overrides = [
            ("duration", format!("{duration} ms")),
            ("warmup", "100 us".into()),
            ("flows.0.start", "0 s".into()),
            ("flows.0.stagger", "0 s".into()),
            ("flows.0.app", "unlimited".into()),
            ("flows.0.transport", transport),
            (QUEUES[which], queue.into()),
            (RATES[which], rate),
            (delay_key.as_str(), delay),
            ("probes.interval", "1 ms".into()),
        ]
        .map(|(key, value)| (key.to_owned(), value));
        let text = SCENARIOS[which].replace("start = \"1 s\"\nstop = \"9 s\"\n", "");
        let loaded = Scenario::load(&text, "p.toml", &overrides);
        prop_assume!(loaded.is_ok());
        let scenario = loaded.unwrap();
        let mut checks = 0;
        let result = run(&scenario, Some(seed), None, &mut |_| {
            checks += 1;
            checks < 4
        });
        match result {
            Ok(result) => prop_assert_eq!(result.seed, seed),
            // A day of delay at 10 Tbps may ask for more memory than the machine has.
            Err(error) => prop_assert!(matches!(error, RunError::Stopped | RunError::TooLarge(_)), "{error}"),
        }
    }
}

#[test]
fn a_flow_that_is_to_stop_before_it_starts_sends_nothing() {
    for transport in ["\"tcp\"", "{ udp = { packet = \"1000 B\", constant = { rate = \"1 Mbps\" } } }"] {
        let text = format!(
            "duration = \"2 s\"\n[topology.star]\naccess = {{ rate = \"10 Mbps\", delay = \"1 ms\" }}\n\
             bottleneck = {{ rate = \"10 Mbps\", delay = \"1 ms\" }}\n\
             [[flows]]\nname = \"f\"\ncount = 3\nstagger = \"400 ms\"\nstop = \"500 ms\"\ntransport = {transport}\n"
        );
        let scenario =
            Scenario::load(&text, "late.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let result = run(&scenario, None, None, &mut |_| true).unwrap();
        let sent = result.flows.counts("packets_sent");
        assert!(sent[0] > 0 && sent[1] > 0, "{sent:?}");
        assert_eq!(sent[2], 0);
    }
}

/// Two leaves and two spines: the model uses one spine, and a run warns of it.
#[test]
fn a_run_over_one_of_two_spines_warns_and_has_the_capacity_of_one() {
    let link = |from: &str, to: &str| {
        let rate = if to == "z" { 10 } else { 1 };
        format!("{{ from = '{from}', to = '{to}', rate = '{rate} Gbps', delay = '1 us' }},")
    };
    let ends = [("a", "L1"), ("b", "L1"), ("L1", "S1"), ("L1", "S2"), ("S1", "L2"), ("S2", "L2"), ("L2", "z")];
    let links: String = ends.iter().map(|(from, to)| link(from, to)).collect();
    let routers: String =
        ["L1", "L2", "S1", "S2"].map(|name| format!("{{ name = '{name}', kind = 'router' }},")).concat();
    let text = format!(
        "duration = '5 ms'
        [topology.graph]
        nodes = [{{ name = 'a' }}, {{ name = 'b' }}, {{ name = 'z' }}, {routers}]
        links = [{links}]
        [[flows]]
        name = 'f'
        count = 2
        from = ['a', 'b']
        to = 'z'
        transport.udp = {{ packet = '1500 B', poisson = {{ rate = '800 Mbps' }} }}"
    );
    let scenario = Scenario::load(&text, "spines.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario, None, None, &mut |_| true).unwrap();
    let warns = |text: &str| result.warnings.iter().any(|warning| warning.text.contains(text));
    assert!(warns("`a` to `z` has 2 equally short paths"), "{:?}", result.warnings);
    let total: f64 = result.flows.floats("goodput_bps").iter().sum();
    assert!(total < 1e9, "{total}");
}
