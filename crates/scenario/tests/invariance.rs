//! Observation and a flow that sends nothing must not change a result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::RunResult;
use forebay_records::{Column, Table};
use forebay_scenario::{Scenario, choices, run};
use support::{LOSSLESS, TWO_SWITCHES, classed, disciplines, flows};

/// Columns that may differ: the memory of disciplines, of which samples see more, and the place of a flow in a table.
const LEFT_OUT: [&str; 2] = ["state_bytes", "bucket"];

/// The rows of a table, but for those of what is called idle.
fn rows(table: &Table) -> Vec<String> {
    let mut rows = Vec::new();
    for (name, column) in table.columns.iter().filter(|(name, _)| !LEFT_OUT.contains(name)) {
        let values: Vec<String> = match column {
            Column::Text(values) => values.iter().map(str::to_owned).collect(),
            Column::Float(values) => values.iter().map(|value| format!("{value:?}")).collect(),
            Column::Count(values) => values.iter().map(u64::to_string).collect(),
        };
        rows.resize(values.len(), String::new());
        for (row, value) in rows.iter_mut().zip(values) {
            row.push_str(&format!(" {name}={value}"));
        }
    }
    rows.retain(|row| !row.contains("idle"));
    rows
}

/// All tables, row by row.
fn tables(result: &RunResult) -> Vec<String> {
    [&result.flows, &result.queues, &result.links, &result.queue_flows, &result.adapters, &result.pings]
        .into_iter()
        .flat_map(rows)
        .collect()
}

fn run_text(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "p.toml", &[]).unwrap_or_else(|e| panic!("{}\n{text}", e.render(false)));
    run(&scenario, Some(3), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[track_caller]
fn assert_same(what: &str, one: &str, other: &str) {
    let (one, other) = (tables(&run_text(one)), tables(&run_text(other)));
    for (one, other) in one.iter().zip(&other) {
        assert_eq!(one, other, "{what}");
    }
    assert_eq!(one.len(), other.len(), "{what}");
}

/// Schemes of congestion management.
fn schemes() -> impl Iterator<Item = String> {
    choices().into_iter().filter(|choice| choice.kind == "scheme").map(|choice| choice.name)
}

/// All kinds of flows both ways between hosts that they share, through this discipline; `front` is put in front of
/// them. All that starts together has the same delays, so that much happens at one instant.
fn shared_hosts(queue: &str, front: &str, probes: &str) -> String {
    let link = "rate = \"100 Mbps\", delay = \"1 ms\"";
    let core = format!("rate = \"8 Mbps\", delay = \"2 ms\", queue = {queue}");
    let group = |name: &str, from: &str, to: &str, keys: &str| {
        format!("[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{keys}\n")
    };
    let flows = [
        group("tcp", "a", "c", "count = 4\ntransport = \"tcp\""),
        group("ecn", "b", "d", "count = 2\nclass = 1\ntransport.tcp = { sack = true, ecn = true, delayed_ack = true }"),
        group("back", "d", "a", "count = 2\nstagger = \"50 ms\"\ntransport.tcp = { congestion_control = \"cubic\" }"),
        group(
            "web",
            "a",
            "d",
            "count = 2\ntransport = \"tcp\"\napp.request_response = { request = \"300 B\", \
             response = { exponential = \"30 KB\" }, think = { exponential = \"50 ms\" } }",
        ),
        group(
            "flood",
            "b",
            "c",
            "class = 1\nstart = \"500 ms\"\nstop = \"2 s\"\n\
             transport.udp = { packet = \"1000 B\", constant = { rate = \"8 Mbps\" } }",
        ),
        group("ping", "a", "d", "class = 1\ntransport.udp.ping.interval = \"on_answer\""),
        group("echo", "d", "b", "transport.udp = { packet = \"500 B\", ping = { interval = \"7 ms\" } }"),
        group("game", "c", "a", "transport.udp.game = \"down\""),
        group(
            "poisson",
            "c",
            "b",
            "stop = \"2900 ms\"\ntransport.udp = { packet = \"700 B\", poisson = { rate = \"9 Mbps\" } }",
        ),
    ];
    format!(
        "duration = \"3 s\"\nwarmup = \"500 ms\"\n{probes}[topology.graph]\n\
         nodes = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}, {{ name = \"d\" }}, \
         {{ name = \"left\", kind = \"router\" }}, {{ name = \"right\", kind = \"router\" }}]\n\
         links = [{{ from = \"a\", to = \"left\", {link} }}, {{ from = \"b\", to = \"left\", {link} }}, \
         {{ from = \"left\", to = \"right\", {core} }}, \
         {{ from = \"right\", to = \"c\", {link} }}, {{ from = \"right\", to = \"d\", {link} }}]\n{front}{}",
        flows.concat()
    )
}

/// UDP that stops before the run ends, on a link of its own: the queue runs empty and nothing comes that would have it
/// looked at. A packet is what FQ-CoDel allows a flow in its turn: when the link comes free the flow is given another.
fn silent_at_the_end(queue: &str, probes: &str) -> String {
    format!(
        "duration = \"1 s\"\nwarmup = \"300 ms\"\n{probes}[topology.star]\n\
         access = {{ rate = \"100 Mbps\", delay = \"1 ms\" }}\n\
         bottleneck = {{ rate = \"10 Mbps\", delay = \"1 ms\", queue = {queue} }}\n\
         [[flows]]\nname = \"udp\"\ncount = 3\nclass = 1\nstop = \"990 ms\"\n\
         transport.udp = {{ packet = \"1514 B\", poisson = {{ rate = \"3 Mbps\" }} }}\n"
    )
}

fn ethernet(scheme: &str, front: &str, probes: &str) -> String {
    let hot = flows("hot", &["1", "2", "4"], "3", "rate = \"5 Gbps\"");
    let cross = classed("cross", 1, &["5"], "others", "rate = \"2 Gbps\", size = \"500 B\"");
    format!(
        "duration = \"3 ms\"\nwarmup = \"500 us\"\n{probes}[topology.ethernet]\n{LOSSLESS}{TWO_SWITCHES}\
         congestion_management = \"{scheme}\"\n{front}{hot}{cross}"
    )
}

#[test]
fn to_be_sampled_changes_no_result() {
    // An interval that ends with the run, and one that does not.
    for interval in ["10 ms", "7 ms"] {
        let probes = |flow: &str| {
            format!(
                "[probes]\ninterval = \"{interval}\"\nseries = [\"queues\", \"flows\", \"links\"]\n\
                 flow_gauges = [{{ queue = \"{}\", flows = [\"{flow}\"] }}]\nsenders = [{}]\n",
                if flow == "tcp" { "left->right" } else { "bottleneck" },
                if flow == "tcp" { "\"tcp\"" } else { "" }
            )
        };
        for (name, queue) in disciplines() {
            let what = format!("{name} every {interval}");
            assert_same(&what, &shared_hosts(&queue, "", ""), &shared_hosts(&queue, "", &probes("tcp")));
            assert_same(&what, &silent_at_the_end(&queue, ""), &silent_at_the_end(&queue, &probes("udp")));
        }
    }
    for interval in ["100 us", "7 us"] {
        let probes = format!("[probes]\ninterval = \"{interval}\"\nseries = [\"queues\", \"flows\", \"links\"]\n");
        for scheme in schemes() {
            let what = format!("{scheme} every {interval}");
            assert_same(&what, &ethernet(&scheme, "", ""), &ethernet(&scheme, "", &probes));
        }
    }
}

/// The disciplines that place flows by a hash of their number, each with a table so large that the flows of these
/// scenarios do not meet in it, whatever their numbers are.
const HASHED: [(&str, &str); 8] = [
    ("dbl", "{ dbl = { flow_table_entries = 65536 } }"),
    ("fq", "{ fq = { flows = 65536 } }"),
    ("fq_codel", "{ fq_codel = { flows = 65536 } }"),
    ("fq_pie", "{ fq_pie = { flows = 65536 } }"),
    ("sfb", "{ sfb = { bins = 65536 } }"),
    ("sfq", "{ sfq = { buckets = 65536 } }"),
    ("sfred", "{ sfred = { bins = 65536 } }"),
    ("sfq_red", "{ sfq_red = { buckets = 4096, limit = \"40 MB\" } }"),
];

/// Flows of each kind that send nothing before the end.
const IDLE: [&str; 2] = [
    "[[flows]]\nname = \"idle\"\nFROM\ncount = 3\ntransport.udp = { packet = \"1000 B\", \
     steps = [{ from = \"100 s\", rate = \"8 Mbps\" }] }\n",
    // A packet sent in the last picosecond arrives after the end.
    "[[flows]]\nname = \"idle\"\nFROM\ncount = 2\nstart = \"END\"\ntransport = \"tcp\"\n",
];

#[test]
fn a_flow_that_sends_nothing_changes_no_other() {
    for (name, queue) in disciplines() {
        let queue = HASHED.iter().find(|(hashed, _)| *hashed == name).map_or(queue, |(_, queue)| (*queue).to_owned());
        let idle = IDLE[0].replace("FROM", "from = \"a\"\nto = \"d\"");
        assert_same(&name, &shared_hosts(&queue, "", ""), &shared_hosts(&queue, &idle, ""));
        for idle in IDLE {
            let idle = idle.replace("FROM\n", "").replace("END", "999999999999 ps");
            let alone = silent_at_the_end(&queue, "");
            assert_same(&name, &alone, &alone.replacen("[[flows]]", &format!("{idle}[[flows]]"), 1));
        }
    }
}

/// The reason for the large tables above.
#[test]
fn a_flow_that_sends_nothing_moves_the_others_of_a_small_table() {
    let idle = IDLE[0].replace("FROM", "from = \"a\"\nto = \"d\"");
    let small = "{ sfq = { buckets = 4 } }";
    let (alone, beside) = (run_text(&shared_hosts(small, "", "")), run_text(&shared_hosts(small, &idle, "")));
    assert_ne!(tables(&alone), tables(&beside));
}

#[test]
fn an_adapter_that_sends_nothing_changes_no_other() {
    // Node 6 sends its first frame when the run has ended.
    let idle = "[[flows]]\nname = \"idle\"\nfrom = \"6\"\nto = \"1\"\nstart = \"2999999999 ps\"\n\
                transport.frames = { rate = \"5 Gbps\" }\n";
    let without_its_link = |text: &str| -> Vec<String> {
        tables(&run_text(text))
            .into_iter()
            .filter(|row| !row.contains("name=6->") && !row.contains("name=6 "))
            .collect()
    };
    for scheme in schemes() {
        let (alone, beside) = (ethernet(&scheme, "", ""), ethernet(&scheme, idle, ""));
        assert_eq!(without_its_link(&alone), without_its_link(&beside), "{scheme}");
    }
}
