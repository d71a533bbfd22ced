//! Flows in both directions, and hosts with a count.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_scenario::{Scenario, names, run};

fn load(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn refusal(text: &str) -> String {
    Scenario::load(text, "test.toml", &[]).unwrap_err().to_string()
}

fn links(text: &str) -> Vec<String> {
    names::links(load(text).spec())
}

fn flows(text: &str) -> Vec<String> {
    names::flows(load(text).spec())
}

const STAR: &str = r#"
    duration = "2 s"
    [topology.star]
    access = { rate = "100 Mbps", delay = "1 ms" }
    bottleneck = { rate = "10 Mbps", delay = "5 ms", queue.drop_tail = { limit = "50 packets" } }
    reverse = { rate = "2 Mbps", delay = "5 ms", queue.drop_tail = { limit = "50 packets" } }
"#;

const DUMBBELL: &str = r#"
    duration = "2 s"
    [topology.dumbbell]
    access = { rate = "100 Mbps", delay = "1 ms" }
    bottleneck = { rate = "10 Mbps", delay = "5 ms" }
    reverse = { rate = "2 Mbps", delay = "5 ms" }
"#;

const CHAIN: &str = r#"
    duration = "2 s"
    [topology.chain]
    hops = 2
    access = { rate = "100 Mbps", delay = "1 ms" }
    link = { rate = "10 Mbps", delay = "5 ms" }
"#;

fn call(rate: &str, more: &str) -> String {
    format!(
        r#"
        [[flows]]
        name = "call"
        {more}
        transport.udp = {{ packet = "200 B", constant = {{ rate = "{rate}" }} }}
        "#
    )
}

fn digest(text: &str) -> String {
    run(&load(text), Some(1), None, &mut |_| true).unwrap().digest
}

/// The bits per second of a flow that arrived.
fn goodput(text: &str, group: &str) -> f64 {
    let result = run(&load(text), Some(1), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let flows = result.flows.texts("name").iter().zip(result.flows.floats("goodput_bps"));
    flows.filter(|(name, _)| *name == group).map(|(_, bps)| bps).sum()
}

#[test]
fn a_group_in_both_directions_is_two_between_the_same_hosts() {
    for topology in [STAR, DUMBBELL, CHAIN] {
        let both = topology.to_owned() + &call("100 kbps", "count = 2\ndirection = \"both\"");
        let forward = topology.to_owned() + &call("100 kbps", "count = 2");
        assert_eq!(flows(&both), ["call-0", "call-1", "call-back-0", "call-back-1"]);
        assert_eq!(links(&both), links(&forward), "no hosts of its own");
        let spec = load(&both);
        assert_eq!(names::link_count(spec.spec()) as usize, links(&both).len());
        let whole = load(&both).to_toml();
        assert!(whole.contains("direction = \"both\"") && !whole.contains("call-back"), "{whole}");
        let expanded = load(&both).to_expanded_toml();
        assert!(expanded.contains("name = \"call-back\""), "{expanded}");
        assert_eq!(digest(&expanded), digest(&both), "the expanded text is the same scenario");
    }
}

#[test]
fn a_group_can_have_the_hosts_of_an_earlier_one() {
    let upload = "[[flows]]\nname = \"upload\"\ndirection = \"both\"\nhosts_of = \"call\"\ntransport = \"tcp\"\n";
    for topology in [STAR, DUMBBELL, CHAIN] {
        let call = topology.to_owned() + &call("100 kbps", "direction = \"both\"");
        assert_eq!(links(&(call.clone() + upload)), links(&call));
        let refusal = |more: &str| refusal(&(call.clone() + &upload.replace("hosts_of = \"call\"", more)));
        assert!(refusal("hosts_of = \"cal\"").contains("no group `cal` with hosts of its own comes before `upload`"));
        assert!(refusal("hosts_of = \"call-back\"").contains("no group `call-back` with hosts of its own"));
        assert!(refusal("hosts_of = \"call\"\ncount = 2").contains("`call` has 1 flows, fewer than `upload`"));
    }
    // 1 Mb/s reaches the router over the host's own link, and 100 kb/s of it are the call's.
    let narrow = STAR.replace("rate = \"100 Mbps\"", "rate = \"1 Mbps\"") + &call("100 kbps", "");
    let tcp = "[[flows]]\nname = \"tcp\"\nhosts_of = \"call\"\ntransport = \"tcp\"\n";
    let shared = goodput(&(narrow.clone() + tcp), "tcp");
    assert!((0.7e6..0.9e6).contains(&shared), "{shared}");
    let apart = goodput(&(narrow + &tcp.replace("hosts_of = \"call\"\n", "")), "tcp");
    assert!(apart > 0.92e6, "{apart}");
}

#[test]
fn what_goes_backward_takes_the_way_back() {
    // 3 Mb/s fit forward; backward there is room for 2.
    for topology in [STAR, DUMBBELL] {
        let text = topology.to_owned() + &call("3 Mbps", "direction = \"both\"");
        let (there, back) = (goodput(&text, "call"), goodput(&text, "call-back"));
        assert!((there - 3e6).abs() < 0.03e6, "{there}");
        assert!((back - 2e6).abs() < 0.03e6, "{back}");
        let alone = topology.to_owned() + &call("3 Mbps", "direction = \"backward\"");
        assert!((goodput(&alone, "call") - back).abs() < 0.01e6);
    }
}

#[test]
fn an_upload_fills_the_way_back_of_a_download() {
    let tcp =
        |direction: &str| format!("[[flows]]\nname = \"tcp\"\ndirection = \"{direction}\"\ntransport = \"tcp\"\n");
    let text = STAR.to_owned() + &tcp("both");
    let (there, back) = (goodput(&text, "tcp"), goodput(&text, "tcp-back"));
    let alone = goodput(&(STAR.to_owned() + &tcp("forward")), "tcp");
    // The ACKs of the download wait behind the segments of the upload.
    assert!(alone > 8e6 && there < 0.5 * alone, "{alone} alone, {there}");
    assert!((1.5e6..2e6).contains(&back), "{back}");
}

const GRAPH: &str = r#"
    duration = "1 s"
    [topology.graph]
    nodes = [{ name = "client", count = 3 }, { name = "server" }, { name = "r", kind = "router" }]
    links = [
        { from = "client", to = "r", rate = "100 Mbps", delay = { uniform = ["1 ms", "5 ms"] } },
        { from = "r", to = "server", rate = "10 Mbps", delay = "5 ms" },
    ]
    [[flows]]
    name = "web"
    count = 3
    from = "client"
    to = "server"
    transport = "tcp"
"#;

#[test]
fn hosts_of_a_graph_with_a_count_have_links_each() {
    assert_eq!(
        links(GRAPH),
        [
            "client-0->r",
            "r->client-0",
            "client-1->r",
            "r->client-1",
            "client-2->r",
            "r->client-2",
            "r->server",
            "server->r",
        ]
    );
    let both =
        GRAPH.replace("to = \"server\"\n    transport", "to = \"server\"\n    direction = \"both\"\n    transport");
    assert_eq!(flows(&both), ["web-0", "web-1", "web-2", "web-back-0", "web-back-1", "web-back-2"]);
    let written_out = r#"
        duration = "1 s"
        [topology.graph]
        nodes = [
            { name = "client-0" }, { name = "client-1" }, { name = "client-2" },
            { name = "server" }, { name = "r", kind = "router" },
        ]
        links = [
            { from = "client-0", to = "r", rate = "100 Mbps", delay = { uniform = ["1 ms", "5 ms"] } },
            { from = "client-1", to = "r", rate = "100 Mbps", delay = { uniform = ["1 ms", "5 ms"] } },
            { from = "client-2", to = "r", rate = "100 Mbps", delay = { uniform = ["1 ms", "5 ms"] } },
            { from = "r", to = "server", rate = "10 Mbps", delay = "5 ms" },
        ]
        [[flows]]
        name = "web"
        count = 3
        from = ["client-0", "client-1", "client-2"]
        to = "server"
        transport = "tcp"
    "#;
    assert_eq!(digest(GRAPH), digest(written_out));
}

const ETHERNET: &str = r#"
    duration = "1 ms"
    [topology.ethernet]
    link = { rate = "10 Gbps", delay = "1 us" }
    switches = [{ name = "A", nodes = [{ name = "h", count = 3 }, "sink"] }]
    service = [{ node = "h", rate = "5 Gbps" }]
    [[flows]]
    name = "f"
    from = "h"
    to = "sink"
    transport.frames = { rate = "1 Gbps" }
"#;

#[test]
fn nodes_of_an_ethernet_with_a_count_have_links_and_service_each() {
    assert_eq!(flows(ETHERNET), ["f-h-0-sink", "f-h-1-sink", "f-h-2-sink"]);
    assert_eq!(links(ETHERNET).len(), 8);
    let expanded = load(ETHERNET).to_expanded_toml();
    assert_eq!(expanded.matches("rate = \"5 Gbps\"").count(), 3, "{expanded}");
    let back = ETHERNET.replace("to = \"sink\"", "to = \"sink\"\ndirection = \"backward\"");
    assert_eq!(flows(&back), ["f-sink-h-0", "f-sink-h-1", "f-sink-h-2"]);
}

#[test]
fn refusals_show_the_place_in_the_file() {
    let message = |from: &str, to: &str| refusal(&GRAPH.replacen(from, to, 1));
    assert_eq!(message("count = 3 }", "count = 0 }"), "test.toml:4:41: `client` has a count of 0");
    assert_eq!(message("count = 3 }", "count = 9000000 }"), "test.toml:4:41: `client` has a count of 9000000");
    assert_eq!(
        message("count = 3 }", "count = \"3\" }"),
        "test.toml:4:41: `count` must be a whole number from 0 to 4294967295"
    );
    assert_eq!(
        message("kind = \"router\"", "kind = \"router\", count = 2"),
        "test.toml:4:106: a node that forwards has a count"
    );
    assert_eq!(message("to = \"r\"", "to = \"client\""), "test.toml:6:33: both ends of a link have a count");
    // One of three links that one line describes.
    assert_eq!(message("100 Mbps", "0 Mbps"), "test.toml:6:45: `rate`: a rate must be more than zero");
    assert_eq!(message("from = \"client\"\n", "from = \"clint\"\n"), "test.toml:12:12: there is no host `clint`");
    let ethernet = ETHERNET.replace("to = \"sink\"", "to = \"others\"\ndirection = \"both\"");
    assert_eq!(refusal(&ethernet), "test.toml:11:13: `to = \"others\"` has no way back");
    let twice =
        STAR.to_owned() + &call("1 Mbps", "direction = \"both\"") + &call("1 Mbps", "").replace("call", "call-back");
    assert_eq!(refusal(&twice), "test.toml:14:16: two groups are named `call-back`");
}
