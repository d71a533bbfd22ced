//! Nodes, links and paths of fabrics, against the closed forms.

use std::collections::BTreeSet;

use crate::plan::Plan;
use crate::{Scenario, plan_data};

fn load(topology: &str, flows: &str) -> Scenario {
    let text = format!("duration = \"1 ms\"\n{topology}\n{flows}");
    Scenario::load(&text, "fabric.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn fat_tree(keys: &str) -> String {
    format!("[topology.fat_tree]\nhost_link = {{ rate = \"100 Gbps\", delay = \"1 us\" }}\n{keys}")
}

fn leaf_spine(keys: &str) -> String {
    format!("[topology.leaf_spine]\nhost_link = {{ rate = \"100 Gbps\", delay = \"1 us\" }}\n{keys}")
}

const ALL: &str = "[[flows]]\nname = \"udp\"\ncount = 3\nfrom = \"host0\"\nto = [\"host1\", \"host2\", \"host15\"]\n\
    transport.udp = { packet = \"1000 B\", constant = { rate = \"1 Gbps\" } }";

/// The links of the preferred path, and the number of paths, from the first host to another.
fn ways(scenario: &Scenario, to: &str) -> (usize, u64) {
    let plan = Plan::new(scenario.spec(), 1);
    let (forwarding, edges) = plan.forwarding();
    let [from, to] = ["host0", to].map(|name| plan.outline.node(name).expect("a host"));
    let path = forwarding.path(&edges, from, to).expect("a path");
    (path.len(), forwarding.count_paths(&edges, from, to))
}

#[test]
fn a_fat_tree_has_the_nodes_links_and_paths_of_its_arity() {
    for (k, hosts, switches) in [(4, 16, 20), (6, 54, 45), (8, 128, 80), (12, 432, 180), (16, 1024, 320)] {
        let half = k / 2;
        // A host at the same edge switch, in the same pod, and in another pod.
        let (near, far) = (format!("host{half}"), format!("host{}", half * half));
        let flows = format!(
            "[[flows]]\nname = \"udp\"\ncount = 3\nfrom = \"host0\"\nto = [\"host1\", \"{near}\", \"{far}\"]\n\
            transport.udp = {{ packet = \"1000 B\", constant = {{ rate = \"1 Gbps\" }} }}"
        );
        let scenario = load(&fat_tree(&format!("k = {k}")), &flows);
        let data = plan_data(&scenario);
        let of_hosts = data.nodes.iter().filter(|(name, _)| name.starts_with("host")).count();
        assert_eq!((of_hosts, data.nodes.len() - of_hosts), (hosts, switches), "k = {k}");
        assert_eq!(data.links.len(), 2 * 3 * hosts, "k = {k}: three tiers of links, each in two directions");
        let squared = u64::try_from(half * half).expect("small");
        assert_eq!(ways(&scenario, "host1"), (2, 1), "k = {k}");
        assert_eq!(ways(&scenario, &near), (4, u64::try_from(half).expect("small")), "k = {k}");
        assert_eq!(ways(&scenario, &far), (6, squared), "k = {k}");
    }
}

#[test]
fn an_aggregation_switch_reaches_every_core_of_its_place() {
    let scenario = load(&fat_tree("k = 4"), ALL);
    let plan = Plan::new(scenario.spec(), 1);
    let name = |node: u32| plan.nodes[node as usize].name.as_str();
    let up: BTreeSet<(&str, &str)> = plan
        .links
        .iter()
        .map(|link| (name(link.from), name(link.to)))
        .filter(|(from, to)| from.contains("agg") && to.starts_with("core"))
        .collect();
    let expected: BTreeSet<(&str, &str)> =
        [("pod2.agg0", "core0"), ("pod2.agg0", "core2"), ("pod2.agg1", "core1"), ("pod2.agg1", "core3")].into();
    assert!(up.is_superset(&expected), "{up:?}");
    assert_eq!(up.len(), 16);
}

#[test]
fn oversubscription_takes_aggregation_switches_and_cores_away() {
    let scenario = load(&fat_tree("k = 8\nedge_oversubscription = 2\ncore_oversubscription = 4"), ALL);
    let count = |part: &str| plan_data(&scenario).nodes.iter().filter(|(name, _)| name.contains(part)).count();
    // Of 4 uplinks of an edge switch 2 are left, and of 4 of an aggregation switch one.
    assert_eq!((count("edge"), count("agg"), count("core"), count("host")), (32, 16, 2, 128));
    assert_eq!(ways(&scenario, "host15"), (4, 2));
}

#[test]
fn parallel_links_of_a_leaf_are_paths_of_their_own() {
    let scenario = load(&leaf_spine("leaves = 4\nspines = 3\nhosts = 4\nparallel = 2"), ALL);
    assert_eq!(ways(&scenario, "host1"), (2, 1));
    assert_eq!(ways(&scenario, "host15"), (4, 3 * 2 * 2), "two links up to each spine, and two down");
    let links = plan_data(&scenario).links;
    assert_eq!(links.len(), 2 * (16 + 4 * 3 * 2));
    let ports: BTreeSet<&str> =
        links.iter().map(|link| link.name.as_str()).filter(|it| it.starts_with("leaf1.")).collect();
    assert_eq!(ports.len(), 10);
    assert!(ports.contains("leaf1.port9"), "ports count from 0: {ports:?}");
}

#[test]
fn links_that_differ_have_their_rate_in_the_directions_that_are_meant() {
    let exceptions = r#"leaves = 2
        spines = 2
        hosts = 8
        exceptions = [
            { ports = ["leaf0.port8", "spine1.port0"], rate = "25 Gbps", one_way = true },
            { ports = "leaf1.port8", rate = "40 Gbps" },
            { ports = "leaf1.port9", down = true },
        ]"#;
    let scenario = load(&leaf_spine(exceptions), ALL);
    let links = plan_data(&scenario).links;
    let rate = |name: &str| links.iter().find(|link| link.name == name).map(|link| link.rate.to_string());
    let gbps = |rate: u32| Some(format!("{rate} Gbps"));
    assert_eq!((rate("leaf0.port8"), rate("spine0.port0")), (gbps(25), gbps(100)));
    assert_eq!((rate("leaf0.port9"), rate("spine1.port0")), (gbps(100), gbps(25)));
    assert_eq!((rate("leaf1.port8"), rate("spine0.port1")), (gbps(40), gbps(40)));
    assert_eq!((rate("leaf1.port9"), rate("spine1.port1")), (None, None), "a link that is down is not there");
    assert_eq!(ways(&scenario, "host15"), (4, 1));
}
