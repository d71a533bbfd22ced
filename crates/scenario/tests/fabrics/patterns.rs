//! Patterns of traffic between the hosts of a topology, and the completion times of their flows.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, memory_estimate, names, plan_data, run, run_divided};

fn load(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn simulate(text: &str, seed: u64) -> RunResult {
    run(&load(text), Some(seed), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

/// A sender that no window and no handshake stops, with the packets of the Ultra Ethernet Consortium's simulator.
const IDEAL: &str = r#"transport.tcp = { preset = "basic", handshake = false, initial_window_segments = 5000,
    max_window_segments = 5000, segment = "4150 B", header = "64 B", ack_size = "64 B" }"#;

fn fat_tree(k: u32, flows: &str) -> String {
    format!(
        r#"
        duration = "3 ms"
        host_jitter = "none"
        [topology.fat_tree]
        k = {k}
        host_link = {{ rate = "100 Gbps", delay = "1 us" }}
        [[flows]]
        name = "f"
        {flows}
        "#
    )
}

#[test]
fn a_flow_alone_takes_the_time_of_the_closed_form() {
    // Six links; the last packets of 2 MB have 1834 B of payload.
    for (bytes, microseconds) in [(2_000_000, 176.1995), (40_860, 17.0107), (408_600, 46.8907)] {
        let matrix =
            format!("{IDEAL}\npattern.matrix = {{ nodes = 16, connections = [\"0->13 start 0 size {bytes}\"] }}");
        let flows = simulate(&fat_tree(4, &matrix), 1).flows;
        let (fct_s, base_s) = (flows.floats("fct_s")[0], flows.floats("base_s")[0]);
        assert!((base_s * 1e6 / microseconds - 1.0).abs() < 1e-5, "{base_s}");
        // The FIN follows the data: its 64 B take 5.12 ns.
        assert!((fct_s - base_s - 5.12e-9).abs() < 1e-11, "{bytes} B: {fct_s} instead of {base_s}");
        assert_eq!(flows.floats("slowdown")[0], fct_s / base_s);
    }
}

#[test]
fn an_incast_takes_the_time_of_its_bytes_on_the_last_link() {
    let pattern = r#"pattern.incast = { receiver = "host15", senders = 15, size = "2 MB" }"#;
    let result = simulate(&fat_tree(4, &format!("{IDEAL}\n{pattern}")), 1);
    let last_s = result.flows.floats("fct_s").iter().fold(0.0, |last: f64, fct| last.max(*fct));
    // 15 x 162.5 us, and the way of a flow from the nearest host. An ACK to another pod crosses four links more.
    let bound_s = 15.0 * 8.0 * (2_000_000.0 + 490.0 * 64.0) / 100e9 + 4.3e-6;
    assert!(last_s >= bound_s && last_s < bound_s + 4.3e-6, "{last_s} and {bound_s}");
    assert_eq!(result.completion_times.counts("completed"), [15, 15]);
}

fn open_loop(load: f64, size: &str, more: &str) -> String {
    format!(
        r#"
        duration = "30 ms"
        host_jitter = "none"
        [topology.leaf_spine]
        leaves = 4
        spines = 4
        hosts = 4
        host_link = {{ rate = "10 Gbps", delay = "1 us" }}
        uplink = {{ rate = "40 Gbps", delay = "1 us" }}
        [[flows]]
        name = "web"
        transport.tcp = {{ max_window_segments = 100 }}
        stop = "20 ms"
        pattern.open_loop = {{ load = {load}, size = {size} }}
        {more}
        "#
    )
}

#[test]
fn the_payload_of_an_open_loop_is_its_load() {
    let mut measured = 0.0;
    for seed in 1..=4 {
        let result = simulate(&open_loop(0.4, "{ exponential = \"50 KB\" }", ""), seed);
        let table = &result.completion_times;
        let all = table.texts("name").iter().position(|name| name == "web all").unwrap();
        assert_eq!(table.counts("unfinished")[all], 0);
        assert_eq!(table.counts("completed")[all] as usize, result.flows.floats("size_bytes").len());
        let delivered = result.flows.floats("goodput_bps").iter().sum::<f64>() * 0.03;
        let sizes = result.flows.floats("size_bytes").iter().sum::<f64>();
        assert!((delivered / (8.0 * sizes) - 1.0).abs() < 1e-9, "{delivered} of {sizes}");
        measured += delivered / (16.0 * 10e9 * 0.02) / 4.0;
    }
    // 4 x 2560 flows of a size whose deviation is its mean: four deviations of the sum are 5.6 %.
    assert!((measured / 0.4 - 1.0).abs() < 0.056, "{measured}");
}

#[test]
fn the_plan_of_a_seed_has_the_flows_of_its_run() {
    let text = open_loop(0.5, "{ cdf = \"websearch\" }", "");
    let (one, two) = (simulate(&text, 1), simulate(&text, 2));
    assert_ne!(one.flows.texts("name").len(), two.flows.texts("name").len(), "their number depends on the seed");
    let of_scenario = load(&text);
    assert_eq!(names::flow_count(of_scenario.spec()) as usize, one.flows.texts("name").len());
    assert_eq!(names::flows(of_scenario.spec()), one.flows.texts("name").iter().collect::<Vec<_>>());
    let of_seed = names::flows_of(of_scenario.spec(), &of_scenario.spec().flows[0], 2);
    assert_eq!(of_seed.len(), two.flows.texts("name").len());
    assert_eq!(plan_data(&of_scenario).groups[0].ends.each_ref().map(Vec::len), [16, 16]);
}

#[test]
fn another_group_changes_no_flow_of_a_pattern() {
    let alone = open_loop(0.2, "{ cdf = \"google_rpc2008\" }", "");
    let other = "[[flows]]\nname = \"a\"\ntransport = \"tcp\"\npattern.permutation = { size = \"1 KB\" }\n";
    let first = alone.replacen("[[flows]]", &format!("{other}[[flows]]"), 1);
    let flows = |text: &str| -> Vec<(String, f64)> {
        let flows = simulate(text, 3).flows;
        let of_web = flows.texts("name").iter().zip(flows.floats("size_bytes")).zip(flows.floats("start_s"));
        let of_web = of_web.filter(|((name, _), _)| name.starts_with("web"));
        of_web.map(|((name, size), start)| (format!("{name} {start}"), *size)).collect()
    };
    let (one, two) = (flows(&alone), flows(&first));
    assert!(one.len() > 1000 && one == two);
}

#[test]
fn threads_change_no_result_of_a_pattern() {
    let scenario = load(&open_loop(0.3, "{ cdf = \"fb_web_server\" }", ""));
    let one = run(&scenario, None, None, &mut |_| true).unwrap();
    let threads = NonZeroUsize::new(2).unwrap();
    let two = run_divided(threads, &scenario, None, None, None, &mut |_| true).unwrap();
    assert_eq!(one.digest, two.digest);
    assert!(one.flows.floats("slowdown") == two.flows.floats("slowdown"));
    assert!(one.completion_times == two.completion_times);
}

#[test]
fn graphs_and_ethernets_have_patterns() {
    let pattern = "[[flows]]\nname = \"f\"\ntransport = \"tcp\"\npattern.all_to_all = { size = \"20 KB\" }\n";
    let graph = r#"
        duration = "100 ms"
        [topology.graph]
        nodes = [{ name = "h", count = 3 }, { name = "R", kind = "router" }]
        links = [{ from = "h", to = "R", rate = "1 Gbps", delay = "10 us" }]
    "#;
    let ethernet = r#"
        duration = "100 ms"
        [topology.ethernet]
        link = { rate = "10 Gbps", delay = "500 ns" }
        switches = [{ name = "S", nodes = [{ name = "h", count = 3 }] }]
    "#;
    for topology in [graph, ethernet] {
        let flows = simulate(&format!("{topology}{pattern}"), 1).flows;
        assert_eq!(flows.texts("name").len(), 6);
        assert!(flows.floats("slowdown").iter().all(|slowdown| *slowdown > 1.0), "{:?}", flows.floats("slowdown"));
    }
    let two = graph.to_owned() + &pattern.replace("pattern", "hosts = \"h\"\npattern");
    assert_eq!(simulate(&two, 1).flows.texts("name").len(), 6, "a name with a count is a list of hosts");
}

#[test]
fn flows_that_do_not_finish_are_counted_and_named_in_a_warning() {
    let text = open_loop(0.5, "\"5 MB\"", "").replace("20 ms", "30 ms");
    let result = simulate(&text, 1);
    let table = &result.completion_times;
    let unfinished = table.counts("unfinished")[1];
    assert!(unfinished > 10, "{unfinished}");
    let nan = result.flows.floats("fct_s").iter().filter(|fct| fct.is_nan()).count() as u64;
    assert_eq!(nan, unfinished);
    assert!(result.flows.floats("slowdown").iter().filter(|slowdown| slowdown.is_nan()).count() as u64 == unfinished);
    let warning = result.warnings.iter().find(|warning| warning.text.contains("had not finished")).unwrap();
    assert!(warning.text.starts_with(&format!("{unfinished} of ")) && warning.text.contains("`web`"));
}

#[test]
fn flows_of_the_warm_up_are_in_no_summary() {
    let text = open_loop(0.2, "\"10 KB\"", "").replace("duration", "warmup = \"10 ms\"\nduration");
    let result = simulate(&text, 1);
    let starts = result.flows.floats("start_s");
    let late = starts.iter().filter(|start| **start >= 0.01).count() as u64;
    assert_eq!(result.completion_times.counts("completed"), [late, late]);
    assert!(late > 100 && (late as usize) < starts.len());
}

#[test]
fn the_base_of_slowdowns_can_be_that_of_hpcc() {
    let flows = |base: &str| simulate(&format!("slowdown_base = \"{base}\"\n{}", open_loop(0.1, "\"1 KB\"", "")), 1);
    let (plain, hpcc) = (flows("store_and_forward"), flows("hpcc"));
    assert_eq!(plain.flows.floats("fct_s"), hpcc.flows.floats("fct_s"));
    assert_ne!(plain.flows.floats("base_s"), hpcc.flows.floats("base_s"));
    assert!(hpcc.completion_times.texts("base").iter().all(|base| base == "hpcc"));
    assert_eq!(plain.digest, hpcc.digest, "the digest leaves both out");
}

#[test]
fn a_single_flow_of_a_given_size_has_its_times_too() {
    let text = |app: &str| {
        format!(
            r#"
            duration = "5 s"
            [topology.star]
            access = {{ rate = "100 Mbps", delay = "1 ms" }}
            bottleneck = {{ rate = "10 Mbps", delay = "5 ms" }}
            [[flows]]
            name = "f"
            transport = "tcp"
            {app}
            "#
        )
    };
    let fixed = simulate(&text("app.fixed = { size = \"1 MB\" }"), 1);
    let slowdown = fixed.flows.floats("slowdown")[0];
    assert!((1.0..1.3).contains(&slowdown), "{slowdown}");
    assert_eq!(fixed.completion_times.texts("name").iter().collect::<Vec<_>>(), ["f <= 1 MB", "f all"]);
    let unlimited = simulate(&text(""), 1);
    assert!(unlimited.flows.column("size_bytes").is_none() && unlimited.completion_times.columns.is_empty());
}

#[test]
fn single_flows_whose_number_is_drawn_cannot_be_watched() {
    let probes = |name: &str| format!("[probes]\ninterval = \"1 ms\"\nsenders = [\"{name}\"]\n");
    let text = open_loop(0.01, "\"10 KB\"", "");
    let error = |text: &str| Scenario::load(text, "test.toml", &[]).unwrap_err().to_string();
    assert!(error(&(text.clone() + &probes("web-0"))).contains("the number of flows of `web` depends on the seed"));
    let result = simulate(&(text + &probes("web")), 1);
    assert!(result.series.iter().any(|series| series.kind == "sender" && series.name == "web-0"));
    let permutation = open_loop(0.01, "\"10 KB\"", "").replace("stop = \"20 ms\"", "");
    let permutation = permutation.replace("open_loop = { load = 0.01, ", "permutation = { ");
    simulate(&(permutation.clone() + &probes("web-15")), 1);
    assert!(error(&(permutation + &probes("web-16"))).contains("there is no flow `web-16`"));
}

#[test]
fn the_estimate_of_memory_counts_the_flows_of_a_pattern() {
    let estimate = |of_load: f64| memory_estimate(&load(&open_loop(of_load, "\"2 KB\"", "")));
    // A tenth of the load is 16 x 1250 flows.
    let more = estimate(0.4) - estimate(0.2);
    assert!((2_300.0..8_000.0).contains(&(more / 40_000.0)), "{more}");
}
