//! Leaf-spine networks and fat-trees: how packets spread over their paths, lossless ones, and mistakes in their tables.

use std::num::NonZeroUsize;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_divided, run_in_order};

const ROUND_ROBIN: &str = r#"paths.spray = { order = "round_robin" }"#;

const LOSSLESS: &str = r#"switch.ethernet_switch = { memory = "300 KB", pause = { high = "200 KB", low = "100 KB" } }
    adapter = { pause = { high = "100 KB", low = "50 KB" } }"#;

/// A fat-tree of 16 hosts, each of which sends to the one after the next 8, to another pod.
fn shifted(keys: &str) -> String {
    let to: Vec<String> = (0..16).map(|host| format!("\"host{}\"", (host + 8) % 16)).collect();
    format!(
        r#"
        duration = "5 ms"
        [topology.fat_tree]
        k = 4
        host_link = {{ rate = "10 Gbps", delay = "1 us" }}
        {keys}
        [[flows]]
        name = "udp"
        count = 16
        from = "hosts"
        to = [{}]
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "8 Gbps", jitter = 0.5 }} }}
        "#,
        to.join(", ")
    )
}

fn scenario(text: &str) -> Scenario {
    Scenario::load(text, "fabric.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn result(text: &str) -> RunResult {
    run(&scenario(text), None, None, &mut |_| true).unwrap()
}

fn mistake(text: &str) -> String {
    Scenario::load(text, "fabric.toml", &[]).unwrap_err().render(false)
}

/// The packets that each edge switch sent to each of its aggregation switches.
fn upwards(result: &RunResult) -> Vec<u64> {
    let (names, packets) = (result.links.texts("name"), result.links.counts("packets"));
    let up = names
        .iter()
        .zip(packets)
        .filter(|(name, _)| name.contains("edge") && (name.ends_with("port2") || name.ends_with("port3")));
    up.map(|(_, packets)| *packets).collect()
}

#[test]
fn spraying_loads_all_paths_alike_and_ecmp_does_not() {
    // Two hosts at 8 Gb/s over two links: 5000 packets each, drawn with a standard deviation of 50. In turn the two
    // links differ by one, and by packets on their way at the end.
    for (paths, deviation) in [("paths = \"spray\"", 5 * 50), (ROUND_ROBIN, 4)] {
        for kind in ["", LOSSLESS] {
            let sprayed = upwards(&result(&shifted(&format!("{paths}\n{kind}"))));
            assert_eq!(sprayed.len(), 16);
            assert!(sprayed.iter().all(|packets| packets.abs_diff(5000) < 5 * 50), "{paths} {sprayed:?}");
            let differences = sprayed.chunks(2).map(|of_switch| of_switch[0].abs_diff(of_switch[1]));
            assert!(differences.max() < Some(2 * deviation), "{paths} {sprayed:?}");
        }
    }
    let hashed = upwards(&result(&shifted("")));
    // Each of two flows is on one link: both may be on the same.
    assert!(hashed.iter().any(|packets| *packets < 1000), "{hashed:?}");
}

#[test]
fn neither_threads_nor_the_order_of_running_change_what_is_drawn() {
    let policies = ["", "paths = \"spray\"", ROUND_ROBIN, "paths.flowlet = { timeout = \"2 us\" }"];
    for keys in policies.into_iter().flat_map(|paths| [paths.to_owned(), format!("{paths}\n{LOSSLESS}")]) {
        let scenario = scenario(&shifted(&keys));
        let one = run(&scenario, None, None, &mut |_| true).unwrap();
        let two = run_divided(NonZeroUsize::new(2).unwrap(), &scenario, None, None, None, &mut |_| true).unwrap();
        let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
        assert_eq!([&two.digest, &in_order.digest], [&one.digest; 2], "{keys}");
    }
}

#[test]
fn a_lossless_fabric_loses_nothing_in_an_incast() {
    let text = format!(
        r#"
        duration = "5 ms"
        [topology.leaf_spine]
        leaves = 4
        spines = 2
        hosts = 4
        host_link = {{ rate = "10 Gbps", delay = "1 us" }}
        {LOSSLESS}
        [[flows]]
        name = "incast"
        count = 15
        from = "hosts"
        to = "host15"
        transport.udp = {{ packet = "1000 B", constant = {{ rate = "5 Gbps" }} }}
        "#
    );
    let result = result(&text);
    let lost: u64 = result.queues.counts("frames_lost").iter().sum();
    assert_eq!(lost, 0);
    let (names, utilization) = (result.links.texts("name"), result.links.floats("utilization"));
    let to_receiver = names.iter().zip(utilization).find(|(name, _)| *name == "leaf3.port3").unwrap().1;
    assert!(*to_receiver > 0.95, "{to_receiver}");
}

#[test]
fn a_mistake_in_a_fabric_is_named_with_its_place() {
    let tree = |keys: &str| mistake(&shifted("").replace("k = 4", keys));
    assert!(tree("k = 5").contains("expected an even number of ports"));
    assert!(tree("k = 200").contains("expected at most 128"));
    assert!(tree("k = 4\nedge_oversubscription = 3").contains("expected a divisor of 2, which is k/2"));
    assert!(tree("k = 4\ncongestion_management = \"qcn\"").contains("expected `switch = \"ethernet_switch\"`"));
    let exception = |table: &str| tree(&format!("k = 4\nexceptions = [{table}]"));
    assert!(exception("{ ports = \"pod0.edge0.port9\", down = true }").contains("there is no port"));
    assert!(exception("{ ports = \"host0.port0\" }").contains("an exception changes nothing"));
    assert!(exception("{ ports = \"core0.port0\", one_way = true, down = true }").contains("down as a whole"));
    assert!(exception("{ ports = \"host0.port0\", queue = \"red\" }").contains("hosts have no queue"));
    let limit = exception("{ ports = \"core0.port0\", queue.drop_tail = { limit = \"0 packets\" } }");
    assert!(limit.contains("limit"), "{limit}");
    assert!(exception("{ ports = \"host0.port0\", queue = \"red\" }").contains("hosts have no queue"));
    let wrong = exception("{ ports = \"core0.port0\", queue.drop_tail = { limit = \"0 packets\" } }");
    assert!(wrong.contains("drop_tail: `limit`"), "{wrong}");
    let other = mistake(&shifted("").replace("from = \"hosts\"", "from = \"host16\""));
    assert!(other.contains("there is no host `host16`"), "{other}");
    // The only way of a host.
    assert!(exception("{ ports = \"host3.port0\", down = true }").contains("host3"));
}

#[test]
fn an_exception_gives_single_ports_another_queue() {
    let keys = r#"exceptions = [{ ports = "core0.port0", rate = "2 Gbps", one_way = true, queue = "red" }]"#;
    let result = result(&shifted(keys));
    let (names, disciplines) = (result.queues.texts("name"), result.queues.texts("discipline"));
    let rows: Vec<(&str, &str)> = names.iter().zip(disciplines.iter()).collect();
    assert_eq!(rows, [("core0.port0", "red")]);
}
