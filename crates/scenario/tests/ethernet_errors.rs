//! The errors for faulty Ethernets: one snapshot per mistake.

use forebay_scenario::Scenario;

const ETHERNET: &str = r#"duration = "1 s"

[topology.ethernet]
link = { rate = "10 Gbps", delay = "500 ns" }
congestion_management.e2cm = {}
switches = [{ name = "SW1", nodes = ["1", "2"] }, { name = "SW2", nodes = ["3", "4"] }]
trunks = [["SW1", "SW2"]]
service = [{ node = "3", rate = "1 Gbps", from = "100 ms", to = "200 ms" }]

[topology.ethernet.switch]
memory = "300 KB"
pause = { high = "280 KB", low = "260 KB" }

[topology.ethernet.adapter]
egress_memory = "150 KB"
pause = { high = "140 KB", low = "130 KB" }
voq_limit = "10 packets"

[[flows]]
name = "hot"
from = ["1", "2"]
to = "3"
transport.frames = { rate = "5 Gbps", set_point = "30 KB" }

[[flows]]
name = "all"
from = "4"
to = "others"
transport.frames = { rate = "5 Gbps", on_off = { period = "1 ms", duty = 0.5 } }
"#;

const STAR: &str = r#"duration = "1 s"

[topology.star]
access = { rate = "1 Gbps", delay = "1 us" }
bottleneck = { rate = "1 Gbps", delay = "1 us" }

[[flows]]
name = "frames"
transport.frames = { rate = "500 Mbps" }
"#;

/// Name of the snapshot, a text in the valid scenario, and its replacement.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("watermarks_out_of_order", "low = \"260 KB\"", "low = \"290 KB\""),
    ("watermark_beyond_the_memory", "high = \"140 KB\"", "high = \"160 KB\""),
    ("memory_too_small_for_the_headroom", "high = \"280 KB\"", "high = \"297 KB\""),
    ("headroom_of_the_adapter", "high = \"140 KB\", low = \"130 KB\"", "high = \"149 KB\", low = \"145 KB\""),
    ("headroom_of_a_long_link", "delay = \"500 ns\"", "delay = \"100 us\""),
    ("headroom_of_a_slow_reaction", "voq_limit", "reaction = \"400 quanta\"\nvoq_limit"),
    ("memory_smaller_than_a_frame", "egress_memory = \"150 KB\"", "egress_memory = \"1 KB\""),
    (
        "both_kinds_of_pause",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\npriority_pause = { high = \"40 KB\", low = \"30 KB\" }\npause",
    ),
    (
        "limited_outputs_beside_pause",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\nbuffer = \"dynamic_threshold\"\npause",
    ),
    (
        "output_limit_outside_of_its_policy",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\noutput_limit.static = \"60 KB\"\npause",
    ),
    (
        "output_limit_of_nothing",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\nbuffer.partitions.output_limit.dynamic = 0.0\npause",
    ),
    (
        "output_limit_below_a_frame",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\nbuffer.partitions.output_limit.static = \"1 KB\"\npause",
    ),
    (
        "alpha_of_nothing",
        "memory = \"300 KB\"\npause",
        "memory = \"300 KB\"\nbuffer.dynamic_threshold.alpha = 0\npause",
    ),
    ("reaction_without_unit", "voq_limit", "reaction = \"400\"\nvoq_limit"),
    ("queue_in_bytes", "\"10 packets\"", "\"10 KB\""),
    ("no_rate_limiters", "voq_limit", "rate_limiters = 0\nvoq_limit"),
    ("unknown_scheme", "congestion_management.e2cm = {}", "congestion_management = \"e2mc\""),
    ("node_on_two_switches", "nodes = [\"3\", \"4\"]", "nodes = [\"3\", \"4\", \"2\"]"),
    ("node_named_like_a_switch", "nodes = [\"3\", \"4\"]", "nodes = [\"3\", \"4\", \"SW1\"]"),
    ("node_named_others", "nodes = [\"3\", \"4\"]", "nodes = [\"3\", \"4\", \"others\"]"),
    ("two_switches_of_a_name", "name = \"SW2\"", "name = \"SW1\""),
    ("switches_not_joined", "trunks = [[\"SW1\", \"SW2\"]]\n", ""),
    ("trunk_to_nowhere", "[[\"SW1\", \"SW2\"]]", "[[\"SW1\", \"SW3\"]]"),
    ("trunk_to_itself", "[[\"SW1\", \"SW2\"]]", "[[\"SW1\", \"SW1\"]]"),
    ("trunk_given_twice", "[[\"SW1\", \"SW2\"]]", "[[\"SW1\", \"SW2\"], [\"SW2\", \"SW1\"]]"),
    ("service_above_the_link", "rate = \"1 Gbps\"", "rate = \"11 Gbps\""),
    ("service_of_an_unknown_node", "node = \"3\"", "node = \"SW2\""),
    ("service_that_ends_first", "to = \"200 ms\"", "to = \"50 ms\""),
    ("services_that_overlap", "to = \"200 ms\" }", "to = \"200 ms\" }, { node = \"3\", rate = \"2 Gbps\" }"),
    ("flow_from_an_unknown_node", "from = [\"1\", \"2\"]", "from = [\"1\", \"9\"]"),
    ("flow_to_itself", "from = [\"1\", \"2\"]", "from = [\"1\", \"3\"]"),
    ("flow_given_twice", "from = [\"1\", \"2\"]", "from = [\"1\", \"1\"]"),
    ("flow_to_others_and_more", "to = \"others\"", "to = [\"others\", \"1\"]"),
    ("flow_without_sink", "to = \"3\"\n", ""),
    ("flow_named_like_a_group", "name = \"all\"", "name = \"hot-1-3\""),
    ("faster_than_the_link", "rate = \"5 Gbps\", set_point", "rate = \"10.1 Gbps\", set_point"),
    (
        "faster_than_the_link_together",
        "on_off = { period = \"1 ms\", duty = 0.5 }",
        "size = \"64 B\" }\n[[flows]]\nname = \"more\"\nfrom = \"4\"\nto = \"1\"\n\
         transport.frames = { rate = \"6 Gbps\"",
    ),
    ("frame_too_short", "rate = \"5 Gbps\", set_point", "rate = \"5 Gbps\", size = \"40 B\", set_point"),
    ("frames_counted", "name = \"hot\"", "name = \"hot\"\ncount = 2"),
    ("class_of_nine", "name = \"hot\"", "name = \"hot\"\nclass = 9"),
    ("duty_of_two", "duty = 0.5", "duty = 2.0"),
    ("period_too_short", "period = \"1 ms\"", "period = \"2 us\""),
    ("set_point_beyond_severe", "set_point = \"30 KB\"", "set_point = \"60 KB\""),
    ("set_point_without_e2cm", "congestion_management.e2cm = {}", "congestion_management = \"qcn\""),
    (
        "tcp_to_others",
        "transport.frames = { rate = \"5 Gbps\", on_off = { period = \"1 ms\", duty = 0.5 } }",
        "transport = \"tcp\"",
    ),
    (
        "tcp_with_an_access_link",
        "transport.frames = { rate = \"5 Gbps\", set_point = \"30 KB\" }",
        "transport = \"tcp\"\naccess = { rate = \"1 Gbps\", delay = \"1 us\" }",
    ),
    (
        "udp_to_itself",
        "from = \"4\"\nto = \"others\"\ntransport.frames = { rate = \"5 Gbps\", \
         on_off = { period = \"1 ms\", duty = 0.5 } }",
        "count = 3\nfrom = [\"4\", \"1\"]\nto = \"1\"\n\
         transport.udp = { packet = \"1 KB\", constant = { rate = \"1 Gbps\" } }",
    ),
    ("queue_and_scheme", "congestion_management.e2cm = {}", "congestion_management.e2cm = {}\nqueue = \"codel\""),
    ("queue_that_shares_a_table", "congestion_management.e2cm = {}", "queue.dbl = { flow_table = \"shared\" }"),
];

fn render(text: &str) -> String {
    match Scenario::load(text, "scenarios/demo.toml", &[]) {
        Ok(_) => panic!("nothing is wrong with this scenario"),
        Err(error) => format!("{error}\n{}", error.render(false)),
    }
}

#[test]
fn each_mistake_in_an_ethernet_gets_its_message() {
    for (name, valid, mistake) in MISTAKES {
        assert_eq!(ETHERNET.matches(valid).count(), 1, "{name}: `{valid}`");
        insta::assert_snapshot!(*name, render(&ETHERNET.replace(valid, mistake)));
    }
}

#[test]
fn a_queue_at_a_switch_may_not_clear_the_class_of_frames() {
    for queue in ["cake = { wash = true }", "cbq.classes = [{ name = \"all\", queue.cake = { wash = true } }]"] {
        let text = ETHERNET.replace("congestion_management.e2cm = {}", &format!("queue.{queue}"));
        let message = render(&text.replace(", set_point = \"30 KB\"", ""));
        assert!(message.contains("`wash = true` at a switch of an Ethernet"), "{message}");
        let allowed = text.replace("wash = true", "").replace(", set_point = \"30 KB\"", "");
        assert!(Scenario::load(&allowed, "demo.toml", &[]).is_ok(), "{allowed}");
    }
}

#[test]
fn each_class_needs_memory_of_its_own() {
    let by_class = |watermarks: &str| {
        let text = ETHERNET.replace("name = \"hot\"", "name = \"hot\"\nclass = 3");
        text.replace("pause = { high = \"280 KB\", low = \"260 KB\" }", &format!("priority_pause = {watermarks}"))
    };
    assert!(Scenario::load(&by_class("{ high = \"144 KB\", low = \"130 KB\" }"), "demo.toml", &[]).is_ok());
    let text = by_class("{ high = \"145 KB\", low = \"130 KB\" }");
    insta::assert_snapshot!("headroom_of_each_class", render(&text));
}

#[test]
fn a_discipline_has_an_order_of_its_own() {
    let text = ETHERNET.replace("congestion_management.e2cm = {}", "queue = \"codel\"");
    let text = text.replace(", set_point = \"30 KB\"", "");
    insta::assert_snapshot!(
        "queue_too_small_for_a_frame",
        render(&text.replace("queue = \"codel\"", "queue.drop_tail = { limit = \"1 KB\" }"))
    );
    let text = text.replacen("\nmemory =", "\narbiter = \"round_robin\"\nmemory =", 1);
    insta::assert_snapshot!("queue_and_arbiter", render(&text));
}

#[test]
fn endpoints_have_few_bits_to_name_a_congestion_point() {
    let switches: Vec<String> = (0..600).map(|number| format!("{{ name = \"S{number}\" }}")).collect();
    let trunks: Vec<String> = (1..600).map(|number| format!("[\"S{}\", \"S{number}\"]", number - 1)).collect();
    let joined = format!("trunks = [[\"SW2\", \"S0\"], [\"SW1\", \"SW2\"], {}]", trunks.join(", "));
    let text =
        ETHERNET.replace("{ name = \"SW2\", nodes", &format!("{}, {{ name = \"SW2\", nodes", switches.join(", ")));
    let text = text.replace("trunks = [[\"SW1\", \"SW2\"]]", &joined);
    assert!(Scenario::load(&text, "demo.toml", &[]).is_ok());
    let text = text.replace("transport.frames = { rate = \"5 Gbps\", set_point = \"30 KB\" }", "transport = \"tcp\"");
    let error = Scenario::load(&text, "demo.toml", &[]).unwrap_err().to_string();
    assert!(error.ends_with("e2cm: 1206 ports of switches, and flows of TCP or UDP"), "{error}");
}

#[test]
fn frames_need_an_ethernet() {
    insta::assert_snapshot!("frames_without_an_ethernet", render(STAR));
}

const GRAPH: &str = r#"duration = "1 s"

[topology.graph]
adapter.pause = { high = "140 KB", low = "130 KB" }
nodes = [
    { name = "a" }, { name = "b" }, { name = "c" },
    { name = "S", kind.ethernet_switch = { memory = "400 KB", pause = { high = "280 KB", low = "260 KB" } } },
    { name = "T", kind = "ethernet_switch" },
]
links = [
    { from = "a", to = "S", rate = "10 Gbps", delay = "500 ns" },
    { from = "S", to = "b", rate = "40 Gbps", delay = "500 ns", queue = "codel" },
    { from = "S", to = "T", rate = "100 Gbps", delay = "1 us" },
    { from = "T", to = "c", rate = "1 Gbps", delay = "500 ns" },
]

[[flows]]
name = "frames"
from = ["a", "b"]
to = "c"
transport.frames = { rate = "5 Gbps" }

[[flows]]
name = "tcp"
from = "a"
to = "b"
transport = "tcp"
"#;

/// As [`MISTAKES`], in a graph.
const GRAPH_MISTAKES: &[(&str, &str, &str)] = &[
    ("graph_with_a_router", "{ name = \"T\", kind = \"ethernet_switch\" }", "{ name = \"T\", kind = \"router\" }"),
    ("graph_host_with_two_links", "{ from = \"T\", to = \"c\"", "{ from = \"T\", to = \"b\""),
    ("graph_with_duplication", "delay = \"1 us\" }", "delay = \"1 us\", impairments.duplication = 0.1 }"),
    (
        "graph_with_service_at_an_adapter",
        "{ from = \"T\", to = \"c\"",
        "{ service = [{ rate = \"1 Gbps\" }], from = \"T\", to = \"c\"",
    ),
    ("graph_with_a_metric", "delay = \"1 us\" }", "delay = \"1 us\", metric = 2 }"),
    ("graph_with_a_drawn_delay", "delay = \"1 us\" }", "delay = { uniform = [\"1 us\", \"2 us\"] } }"),
    (
        "graph_with_a_way_back",
        "delay = \"1 us\" }",
        "delay = \"1 us\", reverse = { rate = \"1 Gbps\", delay = \"1 us\" } }",
    ),
    ("graph_with_queue_and_scheme", "adapter.pause", "congestion_management = \"qcn\"\nadapter.pause"),
    ("graph_with_queue_and_push_out", "memory = \"400 KB\"", "memory = \"400 KB\", buffer = \"longest_queue_drop\""),
    ("graph_headroom", "delay = \"1 us\" }", "delay = \"10 us\" }"),
    ("graph_quanta_of_two_rates", "memory = \"400 KB\"", "memory = \"400 KB\", reaction = \"60 quanta\""),
    ("graph_frames_to_nowhere", "to = \"c\"\n", "to = \"d\"\n"),
    ("graph_frames_too_fast", "rate = \"5 Gbps\"", "rate = \"15 Gbps\""),
    ("graph_class_of_nine", "name = \"tcp\"", "name = \"tcp\"\nclass = 9"),
];

#[test]
fn each_mistake_in_a_graph_of_ethernet_switches_gets_its_message() {
    assert!(Scenario::load(GRAPH, "demo.toml", &[]).is_ok());
    for (name, valid, mistake) in GRAPH_MISTAKES {
        assert_eq!(GRAPH.matches(valid).count(), 1, "{name}: `{valid}`");
        insta::assert_snapshot!(*name, render(&GRAPH.replace(valid, mistake)));
    }
    let routed = GRAPH.replace("kind = \"ethernet_switch\"", "kind = \"router\"");
    let routed = routed.replace(
        "kind.ethernet_switch = { memory = \"400 KB\", pause = { high = \"280 KB\", low = \"260 KB\" } }",
        "kind = \"router\"",
    );
    insta::assert_snapshot!("graph_with_adapters_alone", render(&routed));
}

/// An Ethernet next to a router, with hosts on both.
const MIXED: &str = r#"duration = "1 s"

[topology.graph]
nodes = [
    { name = "a" }, { name = "b" }, { name = "c" }, { name = "d" },
    { name = "S", kind.ethernet_switch = { memory = "400 KB" } },
    { name = "T", kind = "ethernet_switch" },
    { name = "R", kind = "router" },
]
links = [
    { from = "a", to = "S", rate = "10 Gbps", delay = "500 ns" },
    { from = "S", to = "b", rate = "10 Gbps", delay = "500 ns" },
    { from = "S", to = "R", rate = "10 Gbps", delay = "1 us" },
    { from = "R", to = "c", rate = "1 Gbps", delay = "500 ns", queue.csfq = {} },
    { from = "R", to = "T", rate = "1 Gbps", delay = "1 us" },
    { from = "T", to = "d", rate = "1 Gbps", delay = "500 ns" },
]

[[flows]]
name = "frames"
from = "a"
to = "b"
transport.frames = { rate = "500 Mbps" }

[[flows]]
name = "tcp"
from = "a"
to = "c"
transport = "tcp"
"#;

/// As [`MISTAKES`], in a graph with nodes of several kinds.
const MIXED_MISTAKES: &[(&str, &str, &str)] = &[
    ("mixed_pause_towards_a_router", "\"400 KB\"", "\"400 KB\", pause = { high = \"90 KB\", low = \"80 KB\" }"),
    (
        "mixed_priority_pause_towards_a_router",
        "\"400 KB\"",
        "\"400 KB\", priority_pause = { high = \"30 KB\", low = \"20 KB\", allow_loss = true }",
    ),
    ("mixed_frames_without_an_adapter", "to = \"b\"\ntransport", "to = \"c\"\ntransport"),
    ("mixed_frames_across_a_router", "to = \"b\"\ntransport", "to = \"d\"\ntransport"),
    ("mixed_congestion_point_and_rate_labels", "nodes = [", "congestion_management = \"qcn\"\nnodes = ["),
    ("mixed_host_with_two_links", "{ from = \"T\", to = \"d\"", "{ from = \"T\", to = \"c\""),
    (
        "mixed_jitter",
        "delay = \"1 us\" },\n    { from = \"R\", to = \"c\"",
        "delay = \"1 us\", impairments.jitter = { exponential = \"1 us\" } },\n    { from = \"R\", to = \"c\"",
    ),
];

#[test]
fn each_mistake_next_to_an_ethernet_gets_its_message() {
    assert!(Scenario::load(MIXED, "demo.toml", &[]).is_ok());
    for (name, valid, mistake) in MIXED_MISTAKES {
        assert_eq!(MIXED.matches(valid).count(), 1, "{name}: `{valid}`");
        insta::assert_snapshot!(*name, render(&MIXED.replace(valid, mistake)));
    }
    // A flow that stays within the Ethernet has a rate limiter, and one that does not cross it needs none.
    let managed = MIXED.replace("nodes = [", "congestion_management = \"qcn\"\nnodes = [");
    let managed = managed.replace("from = \"a\"\nto = \"c\"", "from = \"b\"\nto = \"a\"");
    assert!(Scenario::load(&managed, "demo.toml", &[]).is_ok());
}

/// A law's own bounds are the law's to check; here they get their place in the text.
#[test]
fn each_mistake_in_a_scheme_gets_its_message() {
    let mistakes = [
        ("scheme_step_exceeds_the_rate", "{ ecm = { decrease_gain = 1.5 } }"),
        ("scheme_step_exceeds_the_link", "{ e2cm = { ecm = { increase_gain = 1.5 } } }"),
        ("scheme_quantised_step_exceeds_the_rate", "{ qcn = { decrease_gain = 0.02 } }"),
        ("scheme_least_rate_above_the_line", "{ qcn = { min_rate = \"11 Gbps\" } }"),
    ];
    let plain = ETHERNET.replace(", set_point = \"30 KB\"", "");
    let with =
        |scheme: &str| plain.replace("congestion_management.e2cm = {}", &format!("congestion_management = {scheme}"));
    for (name, scheme) in mistakes {
        insta::assert_snapshot!(name, render(&with(scheme)));
    }
    // Values for 10 Gb/s do not suit 53 Mb/s: alone, and with discoveries of six flows.
    let slow = |scheme: &str| with(scheme).replace("Gbps", "Mbps").replace("10 Mbps", "53 Mbps");
    for (name, scheme) in [
        ("fecn_interval_too_short_for_the_line", "{ fecn = { interval = \"0.1 ms\" } }"),
        ("fecn_discoveries_fill_the_links", "{ fecn = { discovery_period = \"0.05 ms\" } }"),
    ] {
        insta::assert_snapshot!(name, render(&slow(scheme)));
    }
    Scenario::load(&slow("\"fecn\""), "demo.toml", &[]).map_err(|error| error.render(false)).unwrap();
    let limited = with("\"fecn\"").replace("voq_limit", "rate_limiters = 4\nvoq_limit");
    insta::assert_snapshot!("fecn_with_few_limiters", render(&limited));
}

#[test]
fn what_is_no_mistake_is_accepted() {
    let accepted = [
        ("low = \"260 KB\"", "low = \"260 KB\""),
        // Too little headroom, but the loss is wanted.
        ("high = \"280 KB\", low = \"260 KB\"", "high = \"297 KB\", low = \"260 KB\", allow_loss = true"),
        // One service ends where the other begins; those of the port and of the node are two things.
        ("to = \"200 ms\" }", "to = \"200 ms\" }, { node = \"3\", rate = \"2 Gbps\", from = \"200 ms\" }"),
        ("to = \"200 ms\" }", "to = \"200 ms\" }, { node = \"3\", rate = \"2 Gbps\", at = \"node\" }"),
        // Node 4 sends for half of the time only; a hot spot is what all this is about.
        ("rate = \"5 Gbps\", on_off", "rate = \"10 Gbps\", on_off"),
        ("rate = \"5 Gbps\", set_point", "rate = \"10 Gbps\", set_point"),
    ];
    for (valid, other) in accepted {
        assert_eq!(ETHERNET.matches(valid).count(), 1, "{valid}");
        let text = ETHERNET.replace(valid, other);
        Scenario::load(&text, "demo.toml", &[]).map_err(|error| error.render(false)).unwrap();
    }
}
