//! The errors for faulty scenarios: one snapshot per mistake.

use forebay_scenario::Scenario;

const STAR: &str = r#"name = "demo"
duration = "10 s"
warmup = "2 s"

[topology.star]
access = { rate = "100 Mbps", delay = "550 ns" }

[topology.star.bottleneck]
rate = "10 Mbps"
delay = "1 ms"
queue.red = { min_threshold = "5 packets", max_threshold = "15 packets", weight = 0.002 }

[[flows]]
name = "tcp"
count = 5
transport.tcp = { segment = "1000 B" }
start = { uniform = ["0 s", "1 s"] }

[[flows]]
name = "flood"
transport.udp = { packet = "1000 B", constant = { rate = "20 Mbps", jitter = 0.5 } }

[probes]
interval = "100 ms"
series = ["queues", "flows"]
flow_gauges = [{ queue = "bottleneck", flows = ["flood", "tcp-3"] }]

[[traces]]
link = "bottleneck"
"#;

const GRAPH: &str = r#"duration = "10 s"
topology.graph.nodes = [{ name = "a" }, { name = "b" }, { name = "c" }, { name = "r", kind = "router" }]

[[topology.graph.links]]
from = "a"
to = "r"
rate = "10 Mbps"
delay = "1 ms"

[[topology.graph.links]]
from = "r"
to = "b"
rate = "10 Mbps"
delay = "1 ms"

[[flows]]
name = "tcp"
transport = "tcp"
from = "a"
to = "b"
"#;

const SWITCH: &str = r#"duration = "1 s"

[topology.switch]
ports = 3
access = { rate = "10 Mbps", delay = "1 ms" }
input = { rate = "100 Mbps", delay = "1 ms" }
output = { rate = "100 Mbps", delay = "1 ms", queue = "drop_tail" }
load.matrix = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]

[topology.switch.fabric.cioq]
scheduler.islip = { iterations = 4 }
speedup = "6/5"
voq_limit = "3 packets"

[[flows]]
name = "tcp"
count = 9
transport = "tcp"

[[flows]]
name = "cells"
transport.cells = { size = "1000 B", load = 0.4 }
"#;

fn render(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    match Scenario::load(text, "scenarios/demo.toml", &overrides) {
        Ok(_) => panic!("nothing is wrong with this scenario"),
        Err(error) => format!("{error}\n{}", error.render(false)),
    }
}

/// Name of the snapshot, a text in the valid scenario, and its replacement.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("unknown_key", "min_threshold", "min_thresh"),
    ("unknown_key_without_a_near_one", "warmup", "colour"),
    ("wrong_unit", "delay = \"1 ms\"", "delay = \"1 meter\""),
    ("number_without_unit", "delay = \"1 ms\"", "delay = 1"),
    ("negative_rate", "\"10 Mbps\"", "\"-10 Mbps\""),
    ("rate_of_zero", "\"10 Mbps\"", "\"0 Mbps\""),
    ("zero_packets", "min_threshold", "limit = \"0 packets\", min_threshold"),
    ("weight_of_one_and_a_half", "0.002", "1.5"),
    (
        "limit_smaller_than_a_packet",
        "queue.red = { min_threshold = \"5 packets\", max_threshold = \"15 packets\", weight = 0.002 }",
        "queue.drop_tail = { limit = \"900 B\" }",
    ),
    ("no_toml", "[[flows]]\nname = \"tcp\"", "<flows name=\"tcp\">"),
    ("missing_key", "duration = \"10 s\"\n", ""),
    ("missing_key_of_a_link", "delay = \"1 ms\"\n", ""),
    ("missing_key_of_a_bare_name", "transport.tcp = { segment = \"1000 B\" }", "transport = \"udp\""),
    (
        "steps_out_of_order",
        "constant = { rate = \"20 Mbps\", jitter = 0.5 }",
        "steps = [{ from = \"1 s\", rate = \"1 Mbps\" }, { from = \"1 s\", rate = \"2 Mbps\" }]",
    ),
    ("text_for_a_number", "count = 5", "count = \"5\""),
    ("fraction_for_a_whole_number", "count = 5", "count = 2.5"),
    ("negative_count", "count = 5", "count = -5"),
    ("zero_count", "count = 5", "count = 0"),
    ("two_topologies", "[[flows]]\nname = \"tcp\"", "[topology.chain]\nhops = 2\n[[flows]]\nname = \"tcp\""),
    (
        "unknown_topology",
        "access = { rate = \"100 Mbps\", delay = \"550 ns\" }\n\n[topology.star.bottleneck]",
        "access = { rate = \"100 Mbps\", delay = \"550 ns\" }\n\n[topology.satr.bottleneck]",
    ),
    ("unknown_discipline", "queue.red = {", "queue.rde = {"),
    (
        "unknown_bare_discipline",
        "queue.red = { min_threshold = \"5 packets\", max_threshold = \"15 packets\", weight = 0.002 }",
        "queue = \"drop-tail\"",
    ),
    (
        "share_of_a_class",
        "queue.red = { min_threshold = \"5 packets\", max_threshold = \"15 packets\", weight = 0.002 }",
        "queue.cbq.classes = [{ name = \"a\", queue = \"dbl\" }, { name = \"b\", share = -1.0, queue = \"red\" }]",
    ),
    (
        "queue_of_a_class",
        "queue.red = { min_threshold = \"5 packets\", max_threshold = \"15 packets\", weight = 0.002 }",
        "queue.cbq.classes = [{ name = \"a\", queue = \"dbl\" }, \
         { name = \"b\", queue.dbl = { mark_probability = 2.0 } }]",
    ),
    (
        "bare_name_without_defaults",
        "queue.red = { min_threshold = \"5 packets\", max_threshold = \"15 packets\", weight = 0.002 }",
        "queue = \"cbq\"",
    ),
    ("two_patterns", "constant = {", "poisson = { rate = \"1 Mbps\" }, constant = {"),
    ("no_pattern", ", constant = { rate = \"20 Mbps\", jitter = 0.5 }", ""),
    ("jitter_above_one", "jitter = 0.5", "jitter = 1.5"),
    ("bounds_the_wrong_way_round", "[\"0 s\", \"1 s\"]", "[\"1 s\", \"0 s\"]"),
    ("three_bounds", "[\"0 s\", \"1 s\"]", "[\"0 s\", \"1 s\", \"2 s\"]"),
    ("unknown_distribution", "uniform", "unifrom"),
    ("packet_too_large", "packet = \"1000 B\"", "packet = \"70 KB\""),
    ("header_larger_than_segment", "segment = \"1000 B\"", "segment = \"40 B\""),
    ("warmup_too_long", "warmup = \"2 s\"", "warmup = \"10 s\""),
    ("two_groups_of_a_name", "\"flood\"\ntransport", "\"tcp\"\ntransport"),
    ("group_named_like_a_flow", "\"flood\"\ntransport", "\"tcp-2\"\ntransport"),
    ("gauges_of_an_unknown_flow", "\"tcp-3\"", "\"tcp-5\""),
    ("sender_of_an_unknown_flow", "[\"queues\", \"flows\"]", "[]\nsenders = [\"tcp\", \"tpc\"]"),
    ("sender_without_a_window", "[\"queues\", \"flows\"]", "[]\nsenders = [\"flood\"]"),
    ("trace_of_an_unknown_link", "link = \"bottleneck\"", "link = \"botleneck\""),
    ("too_many_samples", "\"100 ms\"", "\"1 ns\""),
    ("two_cubics_of_linux", "{ segment = \"1000 B\" }", "{ congestion_control = \"linux_cubic\" }"),
    ("loss_has_moved", "delay = \"1 ms\"", "delay = \"1 ms\"\nloss = 0.01"),
    ("reordering_without_jitter", "delay = \"1 ms\"", "delay = \"1 ms\"\nimpairments.reordering = true"),
    (
        "periods_that_overlap",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nservice = [{ rate = \"1 Mbps\" }, { rate = \"0 bps\", from = \"2 s\" }]",
    ),
    (
        "a_period_that_ends_before_it_begins",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nservice = [{ rate = \"1 Mbps\", from = \"2 s\", to = \"1 s\" }]",
    ),
    ("loss_as_text", "delay = \"1 ms\"", "delay = \"1 ms\"\nimpairments.loss = \"1 %\""),
    ("loss_by_an_unknown_model", "delay = \"1 ms\"", "delay = \"1 ms\"\nimpairments.loss = { gilbert = { p = 0.1 } }"),
    (
        "a_bad_state_without_end",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.loss.gilbert_elliott = { to_bad = 0.1, to_good = 0 }",
    ),
    (
        "moves_above_one",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.loss.four_state = { p13 = 0.8, p31 = 0.5, p14 = 0.3 }",
    ),
    (
        "lost_packets_of_no_flow",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.lose = [{ flow = \"tpc\", packets = [1] }]",
    ),
    (
        "lost_packet_zero",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.lose = [{ flow = \"tcp\", packets = [0, 1] }]",
    ),
    (
        "early_packets_without_jitter",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.reordering = { probability = 0.2 }",
    ),
    (
        "correlation_of_a_constant_jitter",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments = { jitter = \"5 ms\", jitter_correlation = 0.5 }",
    ),
    (
        "slots_in_disorder",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\nimpairments.slots = { min = \"8 ms\", max = \"1 ms\" }",
    ),
    ("a_service_of_nothing", "delay = \"1 ms\"", "delay = \"1 ms\"\nservice = [{ from = \"2 s\" }]"),
    (
        "a_trace_and_rates",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\ntrace.opportunities = { times_ms = [1] }\nservice = [{ rate = \"1 Mbps\" }]",
    ),
    (
        "a_trace_without_opportunities",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\ntrace.opportunities = { times_ms = [0, 0] }",
    ),
    ("a_trace_that_goes_back", "delay = \"1 ms\"", "delay = \"1 ms\"\ntrace.opportunities = { times_ms = [1, 5, 4] }"),
    (
        "a_trace_of_outages",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\ntrace.steps = [{ duration = \"1 s\", rate = \"0 bps\" }]",
    ),
    (
        "a_trace_of_a_picosecond",
        "delay = \"1 ms\"",
        "delay = \"1 ms\"\ntrace.steps = [{ duration = \"1 ps\", rate = \"1 Mbps\" }]",
    ),
    ("a_trace_that_is_not_there", "delay = \"1 ms\"", "delay = \"1 ms\"\ntrace.file = \"no/such.csv\""),
    ("an_outage_of_no_time", "delay = \"1 ms\"", "delay = \"1 ms\"\ndown = [{ from = \"2 s\", to = \"2 s\" }]"),
    ("loss_of_everything", "delay = \"1 ms\"", "delay = \"1 ms\"\nimpairments.loss = 1.0"),
    ("from_outside_a_graph", "count = 5", "count = 5\nfrom = \"a\""),
    ("key_given_twice", "count = 5", "count = 5\ncount = 6"),
    ("name_with_an_escape", "name = \"flood\"", "name = \"fl\\u001b[31mood\""),
    ("name_written_backwards", "name = \"flood\"", "name = \"fl\u{202e}doo\""),
    ("escape_in_no_toml", "name = \"flood\"", "name = \"fl\u{1b}[31mood\""),
    ("key_with_an_escape", "count = 5", "\"co\\u001bunt\" = 5"),
    ("name_of_a_class", "queue.red = {", "queue.cbq.classes = [{ name = \"a\\u0007\" }]\nqueue.red = {"),
    ("description_with_an_escape", "name = \"demo\"", "name = \"demo\"\ndescription = \"two\\nlines\\u001b\""),
    ("trace_file_with_a_nul", "link = \"bottleneck\"", "link = \"bottleneck\"\nfile = \"a\\u0000.pcapng\""),
    ("trace_file_in_a_folder", "link = \"bottleneck\"", "link = \"bottleneck\"\nfile = \"../a.pcapng\""),
    ("trace_file_over_a_result", "link = \"bottleneck\"", "link = \"bottleneck\"\nfile = \"result.json\""),
];

/// An output of 16 ports gets 16 times its fraction of each input's load.
#[test]
fn the_load_of_cells_scales_the_load_of_a_switch() {
    let load = |loads: &[f64]| {
        let groups: String = (loads.iter().enumerate())
            .map(|(number, load)| {
                format!("[[flows]]\nname = \"c{number}\"\ntransport.cells = {{ size = \"500 B\", load = {load} }}\n")
            })
            .collect();
        let text = format!(
            "name = \"hot\"\nduration = \"1 ms\"\n[topology.switch]\nports = 16\nfabric.cioq = {{}}\n\
             load.hot_spot = {{ output = 1, fraction = 0.1 }}\ninput = {{ rate = \"1 Gbps\", delay = \"0 s\" }}\n\
             output = {{ rate = \"1 Gbps\", delay = \"0 s\" }}\n{groups}"
        );
        Scenario::load(&text, "hot.toml", &[]).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(load(&[0.5]), Ok(()));
    assert_eq!(load(&[0.25, 0.25]), Ok(()));
    for loads in [&[0.7][..], &[0.4, 0.3]] {
        let error = load(loads).unwrap_err();
        assert!(error.contains("output 1 is overloaded: it would receive 1.1200 of its line rate"), "{error}");
    }
}

#[test]
fn each_mistake_gets_its_message() {
    for (name, valid, mistake) in MISTAKES {
        assert!(STAR.contains(valid), "{name}: `{valid}` is not in the scenario");
        insta::assert_snapshot!(*name, render(&STAR.replacen(valid, mistake, 1), &[]));
    }
}

const GRAPH_MISTAKES: &[(&str, &str, &str)] = &[
    ("graph_unreachable_destination", "to = \"b\"\n", "to = \"c\"\n"),
    ("graph_unknown_host", "from = \"a\"\nto = \"b\"", "from = \"aa\"\nto = \"b\""),
    ("graph_router_as_sink", "from = \"a\"\nto = \"b\"", "from = \"a\"\nto = [\"b\", \"r\"]"),
    ("graph_missing_sink", "from = \"a\"\nto = \"b\"", "from = \"a\""),
    ("graph_unknown_node", "from = \"r\"", "from = \"router\""),
    ("graph_two_nodes_of_a_name", "{ name = \"c\" }", "{ name = \"b\" }"),
    (
        "graph_reroute_after_days",
        "topology.graph.nodes",
        "topology.graph.reroute_after = \"90000 s\"\ntopology.graph.nodes",
    ),
    (
        "graph_reroute_with_ethernet",
        "nodes = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }, { name = \"r\", kind = \"router\" }]",
        "reroute_after = \"1 s\"\ntopology.graph.nodes = [{ name = \"a\" }, { name = \"b\" }, { name = \"r\", kind = \
         \"ethernet_switch\" }]",
    ),
];

#[test]
fn each_mistake_in_a_graph_gets_its_message() {
    for (name, valid, mistake) in GRAPH_MISTAKES {
        let at = GRAPH.rfind(valid).unwrap();
        let text = format!("{}{mistake}{}", &GRAPH[..at], &GRAPH[at + valid.len()..]);
        insta::assert_snapshot!(*name, render(&text, &[]));
    }
}

const BAD_OVERRIDES: &[(&str, &str, &str)] = &[
    ("override_unknown_key", "topology.star.bottleneck.quueue", "red"),
    ("override_wrong_value", "topology.star.bottleneck.rate", "100"),
    ("override_wrong_type", "flows.tcp.count", "many"),
    ("override_unknown_group", "flows.flod.count", "10"),
    ("override_index_past_the_end", "flows.7.count", "10"),
    ("override_below_a_text", "topology.star.bottleneck.rate.fast", "10"),
    ("override_empty_key", "flows..count", "10"),
    ("override_out_of_bounds", "topology.star.bottleneck.queue.red.weight", "1.5"),
    ("override_second_discipline", "topology.star.bottleneck.queue.drop_tail.limit", "10 packets"),
];

#[test]
fn each_bad_override_is_shown_as_its_place() {
    for (name, key, value) in BAD_OVERRIDES {
        insta::assert_snapshot!(*name, render(STAR, &[(key, value)]));
    }
}

#[test]
fn whatever_a_scenario_holds_its_error_can_be_printed() {
    let unprintable = |text: &str| text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'));
    for odd in ['\0', '\u{1b}', '\u{9b}', '\u{202e}'] {
        for (valid, mistake) in [("tcp", format!("t{odd}cp")), ("count = 5", format!("co{odd}unt = 5"))] {
            let text = STAR.replacen(valid, &mistake, 1);
            let error = Scenario::load(&text, &format!("{odd}.toml"), &[]).unwrap_err();
            assert!(!unprintable(&error.to_string()) && !unprintable(&error.render(false)), "{error}");
        }
        let set = [("name".to_owned(), format!("demo{odd}"))];
        let error = Scenario::load(STAR, "demo.toml", &set).unwrap_err();
        assert!(!unprintable(&error.render(false)), "{error}");
        let unnamed = STAR.replacen("name = \"demo\"\n", "", 1);
        let scenario = Scenario::load(&unnamed, &format!("x{odd}.toml"), &[]).unwrap();
        assert!(!unprintable(scenario.name()));
    }
}

#[test]
fn a_trace_cannot_take_the_name_of_a_result_or_one_too_long() {
    let with = |file: &str| {
        let text = STAR.replacen("link = \"bottleneck\"", &format!("link = \"bottleneck\"\nfile = \"{file}\""), 1);
        Scenario::load(&text, "demo.toml", &[]).map_err(|error| error.to_string())
    };
    for file in ["result.json", "scenario.toml", "flows.parquet", "series.parquet", "Result.JSON", "goodput.png"] {
        assert!(with(file).is_err_and(|error| error.contains("result")), "{file}");
    }
    for file in ["a.pcapng", "a.pcap", "a", "results.json.pcapng"] {
        assert!(with(file).is_ok(), "{file}");
    }
    let long = format!("{}.pcapng", "n".repeat(300));
    assert!(with(&long).is_err_and(|error| error.contains("307 bytes")));
}

#[test]
fn a_seed_of_all_bits_survives_the_record() {
    for seed in [0, 1, i64::MAX as u64, 1 << 63, u64::MAX] {
        let text = format!("seed = {seed}\n{STAR}");
        let scenario = Scenario::load(&text, "demo.toml", &[]).unwrap();
        let again = Scenario::load(&scenario.to_toml(), "demo.toml", &[]).unwrap();
        assert_eq!((scenario.spec().seed, again.spec().seed), (seed, seed));
    }
    let error = Scenario::load(&format!("seed = 18446744073709551616\n{STAR}"), "demo.toml", &[]).unwrap_err();
    assert_eq!((error.line, error.column), (1, 8));
}

#[test]
fn colours_only_where_they_are_wanted() {
    let error = Scenario::load("duration = 1", "x.toml", &[]).unwrap_err();
    assert!(error.render(true).contains('\u{1b}'));
    assert!(!error.render(false).contains('\u{1b}'));
    assert_eq!((error.line, error.column), (1, 12));
}

#[test]
fn the_valid_scenarios_are_valid() {
    for text in [STAR, GRAPH] {
        Scenario::load(text, "demo.toml", &[]).map_err(|error| error.render(false)).unwrap();
    }
}

#[test]
fn each_mistake_in_a_switch_gets_its_message() {
    let mistakes: &[(&str, &str, &str)] = &[
        ("switch_of_one_port", "ports = 3", "ports = 1"),
        ("switch_of_too_many_ports", "ports = 3", "ports = 65"),
        ("switch_slower_than_its_lines", "speedup = \"6/5\"", "speedup = 0.9"),
        ("switch_speedup_not_rational", "speedup = \"6/5\"", "speedup = \"fast\""),
        ("switch_faster_than_useful", "speedup = \"6/5\"", "speedup = 3.5"),
        ("switch_without_buffer", "voq_limit = \"3 packets\"", "voq_limit = \"0 packets\""),
        ("switch_buffer_in_bytes", "voq_limit = \"3 packets\"", "voq_limit = \"3 KB\""),
        ("switch_output_without_buffer", "queue = \"drop_tail\"", "queue.drop_tail = { limit = \"0 packets\" }"),
        ("switch_scheduler_without_iterations", "iterations = 4", "iterations = 0"),
        ("switch_unknown_scheduler", "scheduler.islip = { iterations = 4 }", "scheduler = \"slip\""),
        ("switch_cell_too_short", "speedup = \"6/5\"", "speedup = \"6/5\"\ncell = \"500 B\""),
        ("switch_load_missing_row", "[[0.5, 0.3, 0.2], ", "["),
        ("switch_load_short_row", "[0.5, 0.3, 0.2]", "[0.5, 0.3]"),
        ("switch_load_negative", "[0.5, 0.3, 0.2]", "[0.5, -0.3, 0.2]"),
        ("switch_row_overloaded", "[0.5, 0.3, 0.2]", "[0.5, 0.3, 2.4]"),
        ("switch_column_overloaded", "[0.2, 0.5, 0.3], [0.3, 0.2, 0.5]", "[1.8, 0.1, 0.3], [0.3, 0.2, 0.5]"),
        (
            "switch_hot_spot_nowhere",
            "load.matrix = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]",
            "load.hot_spot = { output = 4 }",
        ),
        ("switch_without_access", "access = { rate = \"10 Mbps\", delay = \"1 ms\" }\n", ""),
        ("switch_cells_overloaded", "load = 0.4", "load = 1.4"),
        ("switch_cells_counted", "name = \"cells\"", "name = \"cells\"\ncount = 2"),
    ];
    assert!(Scenario::load(SWITCH, "scenarios/demo.toml", &[]).is_ok());
    for (name, from, to) in mistakes {
        assert_eq!(SWITCH.matches(from).count(), 1, "{name}");
        insta::assert_snapshot!(*name, render(&SWITCH.replace(from, to), &[]));
    }
    let allowed = SWITCH
        .replace("[0.2, 0.5, 0.3], [0.3", "[1.8, 0.1, 0.3], [0.3")
        .replace("ports = 3", "ports = 3\nallow_overload = true");
    assert!(Scenario::load(&allowed, "scenarios/demo.toml", &[]).is_ok());
    let half = "[[1.2, 0.8, 0.4], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]";
    let scaled = SWITCH.replace("[[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]", half);
    assert!(Scenario::load(&scaled, "scenarios/demo.toml", &[]).is_ok(), "0.4 of 2.4 is less than the line carries");
    insta::assert_snapshot!(
        "cells_without_a_switch",
        render(
            &STAR.replace(
                "transport.udp = { packet = \"1000 B\", constant = { rate = \"20 Mbps\", jitter = 0.5 } }",
                "transport.cells = { size = \"1000 B\", load = 0.5 }"
            ),
            &[]
        )
    );
}
