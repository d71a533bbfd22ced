//! A graph of Ethernet switches is the network that `topology.ethernet` describes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

const FLOWS: &str = r#"
[[flows]]
name = "frames"
from = ["1", "2", "3"]
to = "others"
transport.frames = { rate = "4 Gbps" }

[[flows]]
name = "tcp"
count = 3
from = ["1", "4"]
to = ["5", "3", "2"]
class = 2
transport.tcp = { preset = "linux", ecn = true }
"#;

fn result(topology: &str) -> RunResult {
    let text = format!("duration = \"3 ms\"\nwarmup = \"1 ms\"\n{topology}\n{FLOWS}");
    let scenario =
        Scenario::load(&text, "ethernet.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, Some(1), None, &mut |_| true).unwrap()
}

/// The same network as `topology.ethernet` and as a graph; `switch`, `adapter` and `scheme` are keys of either.
fn both(switch: &str, adapter: &str, scheme: &str, queue: &str) -> [RunResult; 2] {
    let ethernet = format!(
        r#"
        [topology.ethernet]
        link = {{ rate = "10 Gbps", delay = "500 ns" }}
        {scheme}
        {queue}
        switch = {{ {switch} }}
        adapter = {{ {adapter} }}
        switches = [{{ name = "A", nodes = ["1", "2"] }}, {{ name = "B", nodes = ["3", "4", "5"] }}]
        trunks = [["A", "B"]]
        "#
    );
    let nodes = ["1", "2", "3", "4", "5"].map(|name| format!("{{ name = \"{name}\" }}")).join(", ");
    let link = |from: &str, to: &str| {
        let queue = if queue.is_empty() { String::new() } else { format!(", {queue}") };
        format!("{{ from = \"{from}\", to = \"{to}\", rate = \"10 Gbps\", delay = \"500 ns\"{queue} }}")
    };
    let links = [("1", "A"), ("2", "A"), ("3", "B"), ("4", "B"), ("5", "B"), ("A", "B")];
    let links = links.map(|(from, to)| link(from, to)).join(", ");
    let graph = format!(
        r#"
        [topology.graph]
        {scheme}
        adapter = {{ {adapter} }}
        nodes = [
            {{ name = "A", kind.ethernet_switch = {{ {switch} }} }},
            {{ name = "B", kind.ethernet_switch = {{ {switch} }} }}, {nodes},
        ]
        links = [{links}]
        "#
    );
    [result(&ethernet), result(&graph)]
}

#[test]
fn a_graph_of_ethernet_switches_gives_the_results_of_the_topology() {
    let pause = ["pause = { high = \"280 KB\", low = \"260 KB\" }", "pause = { high = \"140 KB\", low = \"130 KB\" }"];
    let classes = ["priority_pause = { high = \"40 KB\", low = \"30 KB\" }"; 2];
    for ([switch, adapter], scheme, queue) in [
        (pause, "congestion_management = \"qcn\"", ""),
        (pause, "congestion_management.e2cm = {}", ""),
        (pause, "", "queue = \"codel\""),
        (classes, "", "queue.red = { ecn = true }"),
        (["reaction = \"60 quanta\"", "voq_limit = \"50 packets\""], "", ""),
    ] {
        let [ethernet, graph] = both(switch, adapter, scheme, queue);
        assert_eq!(ethernet.digest, graph.digest, "{switch} {scheme} {queue}");
    }
}
