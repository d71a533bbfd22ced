//! Ethernets in a scenario: the networks of the E2CM proposal are built, with the flows and links that they should
//! have.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, names, run};

/// Memory and watermarks of the E2CM proposal.
const LOSSLESS: &str = r#"
switch = { memory = "300 KB", pause = { high = "280 KB", low = "260 KB" } }
adapter = { egress_memory = "150 KB", pause = { high = "140 KB", low = "130 KB" } }
"#;

/// Its bursts and its parking lot: no PAUSE, and little room at the sources.
const LOSSY: &str = r#"adapter = { voq_limit = "10 packets" }"#;

/// Two switches with the victim's source on the hot nodes' trunk.
const TWO_SWITCHES: &str = r#"
switches = [{ name = "SW1", nodes = ["1", "2"] }, { name = "SW2", nodes = ["3", "4", "5", "6", "7"] }]
trunks = [["SW1", "SW2"]]
"#;

/// Four edge switches around a core.
const TREE: &str = r#"
switches = [
    { name = "ES1", nodes = ["1", "2", "3"] }, { name = "ES2", nodes = ["4", "5", "6"] },
    { name = "ES3", nodes = ["7", "8"] }, { name = "ES4", nodes = ["9", "10"] }, { name = "C0" },
]
trunks = [["ES1", "C0"], ["ES2", "C0"], ["ES3", "C0"], ["ES4", "C0"]]
"#;

const PARKING_LOT: &str = r#"
switches = [
    { name = "SWa", nodes = ["1", "2", "3", "4", "5"] }, { name = "SWb", nodes = ["6", "7"] },
    { name = "SWc", nodes = ["8", "9"] },
]
trunks = [["SWa", "SWb"], ["SWb", "SWc"]]
"#;

fn flows(name: &str, from: &str, to: &str, frames: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = {from}\nto = {to}\ntransport.frames = {{ {frames} }}\n")
}

/// One scenario of the proposal.
struct Shape {
    name: &'static str,
    network: String,
    flows: String,
    /// Names of flows, in part, and how many there are.
    has_flows: (&'static [&'static str], usize),
    links: usize,
}

/// The six scenarios of the E2CM proposal.
fn shapes() -> Vec<Shape> {
    let baseline = |name, network: &str, links| Shape {
        name,
        network: format!("{LOSSLESS}{network}"),
        flows: flows("culprit", r#"["2", "3", "4", "5"]"#, r#""6""#, r#"rate = "5 Gbps""#)
            + &flows("victim", r#""1""#, r#""7""#, r#"rate = "5 Gbps""#),
        has_flows: (&["culprit-2-6", "culprit-5-6", "victim"], 5),
        links,
    };
    let star = |nodes: &[&str]| format!("switches = [{{ name = \"SW\", nodes = {nodes:?} }}]\n");
    let toggling = r#"rate = "10 Gbps", on_off = { period = "200 ms", duty = 0.5 }"#;
    vec![
        baseline("baseline", TWO_SWITCHES, 16),
        baseline("baseline on the tree", TREE, 28),
        Shape {
            name: "mice and elephants",
            network: format!(
                "{LOSSLESS}{}service = [{{ node = \"1\", rate = \"5 Gbps\", from = \"2 ms\" }}]",
                star(&["1", "2", "3", "4", "5", "6"])
            ),
            flows: flows("mouse", r#"["2", "3"]"#, r#""1""#, r#"rate = "500 Mbps""#)
                + &flows("elephant", r#"["4", "5", "6"]"#, r#""1""#, r#"rate = "6667 Mbps""#),
            has_flows: (&["mouse-3-1", "elephant-4-1"], 5),
            links: 12,
        },
        Shape {
            name: "output generated, single hop",
            network: format!(
                "{LOSSLESS}{}service = [{{ node = \"1\", rate = \"1 Gbps\" }}]",
                star(&["1", "2", "3", "4", "5", "6", "7", "8"])
            ),
            flows: flows("all", r#"["1", "2", "3", "4", "5", "6", "7", "8"]"#, r#""others""#, r#"rate = "8500 Mbps""#),
            has_flows: (&["all-1-2", "all-8-7"], 56),
            links: 16,
        },
        Shape {
            name: "output generated, multi-hop",
            network: format!("{LOSSLESS}{TREE}service = [{{ node = \"7\", rate = \"500 Mbps\" }}]"),
            flows: flows("light", r#"["1", "2", "3", "4", "5", "6"]"#, r#""others""#, r#"rate = "2500 Mbps""#)
                + &flows("heavy", r#"["7", "8", "9", "10"]"#, r#""others""#, r#"rate = "4 Gbps""#),
            has_flows: (&["light-1-7", "heavy-10-7"], 90),
            links: 28,
        },
        Shape {
            name: "bursty",
            network: format!("{LOSSY}{TWO_SWITCHES}"),
            flows: flows("steady", r#"["2", "3"]"#, r#""6""#, r#"rate = "10 Gbps""#)
                + &flows("toggling", r#"["4", "5"]"#, r#""6""#, toggling),
            has_flows: (&["steady-2-6", "toggling-5-6"], 4),
            links: 16,
        },
        Shape {
            name: "parking lot",
            network: format!("{LOSSY}{PARKING_LOT}"),
            flows: flows("hot", r#"["1", "2", "3", "4"]"#, r#""9""#, r#"rate = "10 Gbps", set_point = "30 KB""#)
                + &flows("cold", r#"["5", "6"]"#, r#"["7", "8"]"#, r#"rate = "10 Gbps""#),
            has_flows: (&["hot-4-9", "cold-5-7", "cold-6-8"], 6),
            links: 22,
        },
    ]
}

fn load(shape: &Shape, scheme: &str) -> Scenario {
    let text = format!(
        "duration = \"3 ms\"\n[topology.ethernet]\nlink = {{ rate = \"10 Gbps\", delay = \"500 ns\" }}\n{scheme}{}\n{}",
        shape.network, shape.flows
    );
    Scenario::load(&text, "shape.toml", &[]).unwrap_or_else(|error| panic!("{}\n{error}", shape.name))
}

fn simulate(scenario: &Scenario) -> RunResult {
    run(scenario, Some(1), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_proposals_networks_have_their_flows_and_links() {
    for shape in shapes() {
        let scenario = load(&shape, "congestion_management = \"e2cm\"\n");
        let flows: Vec<String> = names::flows(scenario.spec());
        for name in shape.has_flows.0 {
            assert!(flows.iter().any(|flow| flow == name), "{}: no `{name}` in {flows:?}", shape.name);
        }
        assert_eq!((flows.len(), names::links(scenario.spec()).len()), (shape.has_flows.1, shape.links));
        assert_eq!(names::flow_count(scenario.spec()), flows.len() as u64, "{}", shape.name);
        assert_eq!(names::link_count(scenario.spec()), shape.links as u64, "{}", shape.name);
    }
}

#[test]
fn the_proposals_networks_run() {
    for shape in shapes() {
        let result = simulate(&load(&shape, "congestion_management = \"e2cm\"\n"));
        assert_eq!(result.flows.texts("name").len(), shape.has_flows.1, "{}", shape.name);
        assert_eq!(result.links.texts("name").len(), shape.links, "{}", shape.name);
        let delivered: u64 = result.flows.counts("packets_delivered").iter().sum();
        assert!(delivered > 0, "{}: nothing arrived", shape.name);
    }
}

#[test]
fn every_scheme_runs_by_its_bare_name() {
    let baseline = &shapes()[0];
    for scheme in ["ecm", "e2cm", "qcn", "fecn", "dbp", "dcqcn"] {
        let result = simulate(&load(baseline, &format!("congestion_management = \"{scheme}\"\n")));
        let delivered = result.flows.counts("packets_delivered");
        assert!(delivered.iter().all(|&frames| frames > 0), "{scheme}: {delivered:?}");
    }
}

#[test]
fn the_frames_of_a_source_are_spread_over_all_others() {
    let shape = Shape {
        name: "uniform",
        network: format!("{LOSSLESS}switches = [{{ name = \"SW\", nodes = [\"a\", \"b\", \"c\", \"d\"] }}]"),
        flows: flows("all", r#"["a", "b"]"#, r#""others""#, r#"rate = "6 Gbps""#),
        has_flows: (&[], 6),
        links: 8,
    };
    let result = simulate(&load(&shape, ""));
    let sent = result.flows.counts("packets_sent");
    // 2500 slots in 3 ms: 500 frames each of the six flows, with a standard deviation of 20.
    for (name, &frames) in result.flows.texts("name").iter().zip(sent) {
        assert!(frames.abs_diff(500) < 100, "{name}: {frames}");
    }
    // A slot has one frame at most: no source sends faster than its link.
    let all: u64 = sent.iter().sum();
    assert!(all.abs_diff(3000) < 140, "{all}");
}

#[test]
fn all_that_an_ethernet_takes_is_taken() {
    let text = include_str!("scenarios/ethernet.toml");
    let scenario = Scenario::load(text, "ethernet.toml", &[]).map_err(|error| error.render(false)).unwrap();
    let result = simulate(&scenario);
    let names = result.flows.texts("name");
    let expected = ["hot-1-3", "hot-2-3", "burst-5-4", "burst-5-1", "mesh-1-2", "mesh-5-4"];
    assert!(expected.iter().all(|name| names.iter().any(|it| it == *name)), "{names:?}");
    assert_eq!(names.len(), 2 + 2 + 20);
}
