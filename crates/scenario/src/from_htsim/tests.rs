//! Scenarios of runs, faults, and what any topology becomes.

use proptest::prelude::*;

use super::*;

/// Host 0 to the last one of `nodes`.
fn one(nodes: u32) -> String {
    format!("Nodes {nodes}\nConnections 1\n0->{} start 0 size 2000000\n", nodes - 1)
}

fn converted(nodes: u32, topology: Option<&str>, options: &str) -> Result<String, String> {
    let (matrix, topology) = (one(nodes), topology.map(|text| HtsimFile { text, name: "net.topo" }));
    let run = HtsimRun { matrix: HtsimFile { text: &matrix, name: "one.cm" }, topology, options };
    scenario_from_htsim(&run).map_err(|error| error.render(false))
}

#[test]
fn a_run_without_options_has_the_defaults_of_htsim() {
    assert_eq!(converted(16, None, "").unwrap(), include_str!("one.toml"));
}

/// A leaf-spine network whose fabric is four times slower than its hosts, and a fat-tree with the same ratio.
const LEAF_SPINE: &str = "Nodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 200\nOversubscribed 4\n\nTier 1\nDownlink_speed_Gbps 100\n\
    Radix_Down 4\nDownlink_Latency_ns 500\nQueue_Down 10\n";
const FAT_TREE: &str = "# 128 hosts\nNodes 128\nTiers 3\nPodsize 16\nTier 0\nDownlink_speed_Gbps 400\nRadix_Down 4\n\
    Radix_Up 4\nDownlink_Latency_ns 1000\nTier 1\nOversubscribed 4\nDownlink_speed_Gbps 400\nRadix_Down 4\nRadix_Up 1\n\
    Downlink_Latency_ns 1000\nTier 2\nDownlink_speed_Gbps 400\nRadix_Down 8\nDownlink_Latency_ns 1000\n";

#[test]
fn topologies_have_the_tiers_of_their_files() {
    let text = converted(32, Some(LEAF_SPINE), "-receiver_cc_only -paths 128 -cwnd 50 -hop_latency 2").unwrap();
    for line in [
        "leaves = 4",
        "spines = 2",
        "hosts = 8",
        "# line 17, Queue_Down: htsim_uec replaces it",
        "# -hop_latency: it has no",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains("parallel"));
    // Half of the leaf's latency is in each of its links. The receiver controls: its own link has no marks.
    assert!(text.contains("host_link = { rate = \"100 Gbps\", delay = \"1.1 us\", queue.trimming = { limit = \""));
    assert!(text.contains("uplink = { rate = \"100 Gbps\", delay = \"600 ns\""));
    assert_eq!(text.matches("ecn = true").count(), 1);
    assert!(
        text.contains(r#"control = "rccc", paths = 128, first_window = "207500 B", oversubscription = 4"#),
        "{text}"
    );

    let text = converted(128, Some(FAT_TREE), "-linkspeed 400000 -mtu 9000 -load_balancing_algo reps").unwrap();
    assert!(text.contains("k = 8\ncore_oversubscription = 4\nhost_link = { rate = \"400 Gbps\""), "{text}");
    assert!(text.contains(r#"control = "nscc", packet = "9000 B", load_balancing = "reps", round_trip = "#), "{text}");
}

#[test]
fn failed_links_keep_a_quarter() {
    let text = converted(16, None, "-failed 3").unwrap();
    // Aggregation switch 0 leads to cores 0 and 2, switch 1 to 1 and 3. htsim counts two links for each.
    assert!(
        text.contains(r#"ports = ["core0.port0", "core2.port0", "core1.port0"], rate = "25 Gbps", one_way = true"#)
    );
    assert!(text.contains(r#"min_threshold = "9337 B", max_threshold = "36312 B""#), "{text}");
    let text = converted(32, Some(LEAF_SPINE), "-failed 1").unwrap();
    assert!(text.contains(r#"["leaf0.port8", "spine0.port0", "leaf1.port8", "spine0.port1", "#), "{text}");
}

#[test]
fn queues_and_controls_follow_their_options() {
    let keys = |options: &str| converted(16, None, options).unwrap();
    let large = keys("-q 500 -ecn 10 400");
    assert!(large.contains(r#"limit = "499 packets", header_limit = "4150000 B""#), "{large}");
    assert!(large.contains(r#"min_threshold = "10 packets", max_threshold = "400 packets""#));
    // 15 us and six times 500 packets.
    assert!(large.contains("timeout = \"1.011 ms\""), "{large}");
    assert!(keys("-queue_size_bdp_factor 2").contains("limit = \"85 packets\""));
    assert!(keys("-sender_cc_algo dctcp -o out.dat -log flow_events").contains("control = \"dctcp\""));
    assert!(keys("-sender_cc -receiver_cc").contains("control = \"both\""));
    assert!(keys("-receiver_cc_only -sender_cc").contains("control = \"both\""));
    assert!(keys("-receiver_cc -sender_cc_only -strat ecmp_host").contains("control = \"nscc\""));
    let two = converted(18, None, "-tiers 2 -nodes 18 -hop_latency 0.5").unwrap();
    assert!(
        two.contains("leaves = 6\nspines = 3\nhosts = 3\nhost_link = { rate = \"100 Gbps\", delay = \"500 ns\""),
        "{two}"
    );
}

#[test]
fn faults_are_shown_with_their_place() {
    let fault = |nodes: u32, topology: Option<&str>, options: &str| converted(nodes, topology, options).unwrap_err();
    let in_options = |options: &str| fault(16, None, options);
    for (options, message) in [
        ("-sender_cc_onyl", "did you mean `-sender_cc_only`?"),
        ("-conn_reuse", "several messages on a connection"),
        ("-strat ecmp_rr", "`-strat ecmp_rr` has no counterpart"),
        ("-end", "`-end` needs a value"),
        ("-end 0", "expected a whole number from 1"),
        ("-load_balancing_algo reps_legacy", "did you mean `reps`?"),
        ("-sender_cc_algo dctcp -receiver_cc", "together with the receiver's control"),
        ("-q 20", "marks from 9 to 35 packets do not fit into a queue of 20"),
        ("-paths 48", "`paths` must be a power of two"),
        ("-nodes 8", "8 nodes, and the matrix has 16"),
        ("-failed 17", "17 failed links of 16"),
    ] {
        let error = in_options(options);
        assert!(error.contains(message), "{options}\n{error}");
    }
    assert!(fault(20, None, "").contains("htsim has no network of 3 tiers with 20 hosts"));
    assert!(fault(128, Some(FAT_TREE), "").contains("give `-linkspeed 400000`"));
    assert!(fault(16, Some(LEAF_SPINE), "").contains("the topology has 32 nodes, and the matrix 16"));
    for (from, to, message) in [
        ("Radix_Up 2", "Radix_Up 4", "8 ports down and 4 up are not oversubscribed 4 times"),
        ("Podsize 32", "Podsize 16", "`Podsize` is 16"),
        ("Radix_Down 4", "Radix_Down 5", "`Radix_Down` is 5, and the leaves need 4"),
        ("Tiers 2", "Tiers 4", "expected a whole number from 2 to 3"),
        ("Tiers 2", "Tiers two", "`two` is out of range"),
        ("Tier 1", "# Tier 1", "`Downlink_speed_Gbps` is given twice"),
        ("Radix_Up 2", "Radix", "a line has a name and a number"),
        ("Radix_Up 2", "Radius_Up 2", "unknown name `Radius_Up`"),
        ("Nodes 32\n", "", "`Nodes` is missing"),
    ] {
        let error = fault(32, Some(&LEAF_SPINE.replacen(from, to, 1)), "");
        assert!(error.contains(message), "{from} -> {to}\n{error}");
    }
    let matrix = HtsimFile { text: "Nodes 16\nConnections 1\n0->0 start 0 size 1\n", name: "bad.cm" };
    let error = scenario_from_htsim(&HtsimRun { matrix, topology: None, options: "" }).unwrap_err();
    assert_eq!(error.line, 3);
    assert!(error.render(false).contains("node 0 would send to itself"), "{}", error.render(false));
}

proptest! {
    #[test]
    fn any_leaf_spine_network_has_its_hosts_and_its_oversubscription(
        leaves in 1_u32..6, spines in 1_u32..5, parallel in 1_u32..3, ratio in 1_u32..4,
    ) {
        let (up, down) = (spines * parallel, spines * parallel * ratio);
        let nodes = leaves * down;
        let text = format!(
            "Nodes {nodes}\nTiers 2\nPodsize {nodes}\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down {down}\n\
             Radix_Up {up}\nOversubscribed {ratio}\nDownlink_Latency_ns 1000\nTier 1\n\
             Downlink_speed_Gbps 100\nBundle {parallel}\n\
             Radix_Down {}\nDownlink_Latency_ns 1000\n", leaves * parallel
        );
        let network = Network::parse(&text, nodes).unwrap();
        prop_assert_eq!(&network.shape, &topology::Shape::LeafSpine { leaves, spines, hosts: down, parallel });
        prop_assert_eq!(network.oversubscription, ratio);
        prop_assert!(nodes < 2 || converted(nodes, Some(&text), "-failed 1").is_ok());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "([A-Za-z_#]{0,9} ?[0-9-]{0,4}\n){0,12}", nodes in 1_u32..40) {
        let _ = Network::parse(&text, nodes);
    }
}
