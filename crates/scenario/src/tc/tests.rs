//! The script of each discipline as a text that a person can read, and the rules of numbers.

use forebay_units::{Rate, Span};

use super::port::{exact_time, number, time};
use super::*;

pub(crate) const TARGET: TcTarget<'_> = TcTarget { device: "eth0", packet_bytes: 1500 };

pub(crate) fn scenario(queue: &str, rest: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "1 s"
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "1 ms" }}
        bottleneck = {{ rate = "20 Mbps", delay = "10 ms"{rest}, queue.{queue} }}
        [[flows]]
        name = "tcp"
        transport = "tcp"
        "#
    );
    Scenario::load(&text, "test.toml", &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The lines that belong to the queue alone.
fn queue_lines(queue: &str) -> String {
    let script = tc_commands(&scenario(queue, ""), "bottleneck", TARGET).unwrap();
    let of_queue = script
        .lines()
        .skip(3)
        .filter(|line| !line.contains("root handle 1: tbf "))
        .take_while(|line| !line.starts_with("# Delay and loss"));
    format!("{queue}\n{}\n\n", of_queue.map(|line| format!("  {line}\n")).collect::<String>().trim_end())
}

/// Queues with their defaults, and with every parameter that has a counterpart.
pub(crate) const QUEUES: [&str; 60] = [
    "drop_tail = {}",
    r#"drop_tail = { limit = "75 KB" }"#,
    "red = {}",
    r#"red = { limit = "120 KB", min_threshold = "30 KB", max_threshold = "90 KB", ecn = true, gentle = true }"#,
    "red = { wait = true, small_queue_guard = true, byte_mode = true, ecn = true, hard_drop = false }",
    "ared = {}",
    r#"ared = { min_threshold = "20 packets", weight = 0.002, gentle = false, top = 0.3 }"#,
    "codel = {}",
    r#"codel = { limit = "150 KB", square_root = "newton16", ecn = true, ce_threshold = "1 ms", target = "550 ns" }"#,
    "fq_codel = {}",
    r#"fq_codel = { preset = "linux", limit = "10240 packets", flows = 1024, quantum = "300 B", ecn = false }"#,
    "pie = {}",
    r#"pie = { alpha = 0.2, ecn = true, byte_mode = true, derandomize = true, max_burst = "100 ms" }"#,
    "sfq = {}",
    r#"sfq = { buckets = 46, quantum = "1514 B", perturbation_interval = "10 s", bucket_limit = "40 packets" }"#,
    "sfq_red = {}",
    "drr = {}",
    "drr = { buckets = 64, steal_from_head = true, weights = [{ class = 1, weight = 2 }] }",
    "sfb = {}",
    r#"sfb = { limit = "1000 packets", levels = 8, bins = 16, bin_size = 19, bin_limit = 24, increment = 0.00050354,
  decrement = 0.000045776, rate_limit = "120 kbps", burst = "30 KB", rate_limit_scope = "linux", parole_time = "0 s",
  rehash_interval = "600 s" }"#,
    "choke = {}",
    r#"choke = { limit = "300 KB", candidates = 3, ecn = true }"#,
    "cobalt = {}",
    "dualpi2 = {}",
    r#"dualpi2 = { typical_rtt = "20 ms", max_rtt = "200 ms", step_threshold_packets = 5, ecn_mask = "any_ect",
  drop_on_overload = false, drop_on_enqueue = true, min_qlen_step = 2, classic_protection = 20 }"#,
    r#"dualpi2 = { preset = "rfc", l4s_classes = [1], limit = "1 MB", target = "10 ms", alpha = 0.2 }"#,
    "dbl = {}",
    "breathe = {}",
    "sfred = {}",
    "blue = {}",
    "pi = {}",
    r#"cbq.classes = [{ name = "voice", classes = [1], priority = 0, rate = "2 Mbps", queue.drop_tail = {} },
  { name = "web", share = 3, priority = 1, queue.fq_codel = {} }, { name = "rest", priority = 1, queue.dbl = {} }]"#,
    r#"cbq.classes = [{ name = "a", classes = [0], queue.red = {} }, { name = "b", share = 3, queue.pie = {} }]"#,
    r#"cbq.classes = [{ name = "outer", queue.cbq.classes = [{ name = "inner", classes = [5], queue.sfq = {} }] }]"#,
    "fq_pie = {}",
    r#"fq_pie = { limit = "1 MB", flows = 2000, alpha = 0.1, ecn = true, byte_mode = true, mark_threshold = 0.125,
  preset = "rfc", max_burst = "100 ms" }"#,
    "fq = {}",
    r#"fq = { limit = "300 KB", flows = 1000, flow_max_rate = "8 Mbps", ce_threshold = "4 ms",
  weights = [65536, 65536, 65536] }"#,
    "hhf = {}",
    r#"hhf = { limit = "500 packets", admit_bytes = "64 KB", reset_timeout = "20 ms", non_hh_weight = 4 }"#,
    "rem = {}",
    "cake = {}",
    r#"cake = { bandwidth = "19 Mbps", link_layer = "docsis", ack_filter = "on", isolation = "dual-srchost",
  tins = "diffserv4", rtt = "lan", wash = true, limit = "4 MB" }"#,
    r#"cake = { bandwidth = "9500 kbps", autorate_ingress = true, ingress = true, tins = "besteffort", vlan_tags = 2,
  overhead = -4, mpu = 64, framing = "ptm", ack_filter = "aggressive", isolation = "flowblind" }"#,
    r#"cake = { link_layer = "pppoe-llcsnap", overhead = 44, framing = "none", mpu = 0 }"#,
    "tbf = {}",
    r#"tbf = { rate = "9 Mbps", burst = "4 KB", limit = "30 KB" }"#,
    r#"tbf = { rate = "9 Mbps", peakrate = "12 Mbps", mtu = "1600 B", latency = "50 ms" }"#,
    r#"tbf = { rate = "9 Mbps", burst = "4 KB", queue = "fq_codel" }"#,
    r#"htb = { default_class = "rest", classes = [
  { name = "voice", parent = "home", rate = "2 Mbps", classes = [46, 40], burst = "3 KB", cburst = "2 KB" },
  { name = "rest", parent = "home", rate = "10 Mbps", ceil = "20 Mbps", priority = 1, quantum = "3 KB",
    queue = "codel" },
  { name = "home", rate = "20 Mbps" }] }"#,
    r#"htb = { direct_limit = "30 KB", r2q = 5, classes = [{ name = "all", rate = "2 Mbps",
  queue.prio.bands = [{ name = "fast", classes = [1] }, { name = "slow", queue.tbf = { rate = "1 Mbps" } }] }] }"#,
    "prio = {}",
    r#"prio = { default_band = "voice", limit = "30 KB", bands = [
  { name = "voice", classes = [46], queue.tbf = { rate = "2 Mbps" } }, { name = "rest", queue = "fq_codel" }] }"#,
    r#"prio.bands = [{ name = "only" }]"#,
    "ets = {}",
    r#"ets = { strict = 1, bands = [{ name = "control", classes = [48] },
  { name = "storage", classes = [8], quantum = "6000 B" },
  { name = "rest", quantum = "3000 B", queue.tbf = { rate = "1 Mbps" } }] }"#,
    r#"ets = { strict = 2, bands = [{ name = "a" }, { name = "b", queue = "red" }] }"#,
    r#"taprio = { classes = [{ name = "control", classes = [7] }, { name = "rest", queue = "fq_codel" }],
  schedule = [{ open = ["control"], interval = "1 ms" }, { open = ["control", "rest"], interval = "9 ms" }] }"#,
    r#"taprio = { classes = [{ name = "a", classes = [1] }, { name = "b" }, { name = "c" }], default_class = "b",
  base_time = "1.5 s", cycle_time = "10 s", schedule = [{ open = ["a"], interval = "500 ps" },
  { open = ["b", "c"], interval = "1 ms" }] }"#,
    r#"tbf.queue.taprio = { classes = [{ name = "a" }], schedule = [{ open = ["a"], interval = "1 ms" }] }"#,
];

/// A queue of `count` bands or classes.
fn many(key: &str, list: &str, count: usize) -> String {
    let names: Vec<_> = (0..count).map(|index| format!("{{ name = \"{index}\" }}")).collect();
    format!("{key} = {{ {list} = [{}] }}", names.join(", "))
}

#[test]
fn more_bands_than_linux_has_become_a_fifo() {
    for kind in ["prio", "ets"] {
        let lines = |count| queue_lines(&many(kind, "bands", count));
        assert!(lines(16).contains(&format!("{kind} bands 16")), "{}", lines(16));
        assert!(lines(17).contains("Linux has at most 16 bands"), "{}", lines(17));
        assert!(lines(17).contains("pfifo limit 1000") && !lines(17).contains("filter"), "{}", lines(17));
    }
}

#[test]
fn an_interval_too_long_for_tc_becomes_several() {
    let queue = r#"taprio = { classes = [{ name = "a" }], schedule = [{ open = ["a"], interval = "10 s" }] }"#;
    let lines = queue_lines(queue);
    let entries = "sched-entry S 01 4294967295 sched-entry S 01 4294967295 sched-entry S 01 1410065410 clockid";
    assert!(lines.contains(entries), "{lines}");
}

/// Set `FOREBAY_GOLDEN_UPDATE=1` to write the file; read the difference.
#[test]
fn each_discipline_becomes_these_commands() {
    let found: String = QUEUES.iter().map(|queue| queue_lines(queue)).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tc/commands.txt");
    if std::env::var_os("FOREBAY_GOLDEN_UPDATE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
}

#[test]
fn a_normal_jitter_is_netems_distribution() {
    let jitter = ", impairments.jitter = { normal = { mean = \"5 ms\", deviation = \"2 ms\" } }";
    let script = tc_commands(&scenario("codel = {}", jitter), "bottleneck", TARGET).unwrap();
    assert!(script.contains("delay 15ms 2ms distribution normal"));
}

#[test]
fn delay_and_loss_are_netem_behind_the_queue() {
    let script = tc_commands(&scenario("codel = {}", ", impairments.loss = 0.0001"), "bottleneck", TARGET).unwrap();
    let expected = [
        "# bottleneck: 20 Mbps, codel",
        "# Linux counts the 14 bytes of an Ethernet header in each packet; the scenario does not.",
        "# Segmentation offload makes packets of 64 KB: ethtool -K eth0 tso off gso off gro off",
        "tc qdisc replace dev eth0 root handle 1: tbf rate 20mbit burst 1600 limit 1600",
        "# square_root = \"exact\": Linux computes as with \"newton16\".",
        "tc qdisc add dev eth0 parent 1:1 handle 10: codel limit 1000 target 5ms interval 100ms noecn",
        "# Delay and loss come after the queue. At the other end of the link, if eth0 receives there:",
        "#   ip link add ifb0 type ifb && ip link set ifb0 up",
        "#   tc qdisc add dev eth0 handle ffff: ingress",
        "#   tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0",
        "#   tc qdisc add dev ifb0 root netem limit 1000 delay 10ms loss 0.01%",
        "# To remove it: tc qdisc del dev eth0 root",
    ];
    assert_eq!(script.lines().collect::<Vec<_>>(), expected);
}

/// iproute2 6.1 refuses `delay 100ns`: netem reads whole microseconds.
#[test]
fn delay_and_jitter_are_whole_microseconds() {
    let rest = ", impairments.jitter = { uniform = [\"0 s\", \"3 us\"] }";
    let script = tc_commands(&scenario("codel = {}", rest), "bottleneck", TARGET).unwrap();
    assert!(script.contains("netem limit 1000 delay 10002us 2us\n"), "{script}");
    assert!(script.contains("# Delay and jitter are rounded up to microseconds.\n"), "{script}");
}

#[test]
fn only_described_queues_are_offered_but_any_link_can_be_asked_for() {
    let scenario = scenario("codel = {}", "");
    assert_eq!(described_queues(&scenario), ["bottleneck"]);
    let unlimited = tc_commands(&scenario, "reverse", TARGET).unwrap();
    assert!(unlimited.contains("pfifo limit 1000000"), "{unlimited}");
    assert_eq!(tc_commands(&scenario, "bottelneck", TARGET), None);
}

#[test]
fn every_line_is_a_command_or_a_comment() {
    for queue in QUEUES {
        let script = tc_commands(&scenario(queue, ", impairments.loss = 0.1"), "bottleneck", TARGET).unwrap();
        for line in script.lines() {
            assert!(line.starts_with("# ") || line.starts_with("tc "), "{line}");
        }
    }
}

#[test]
fn the_assured_rates_of_classes_fit_into_the_link() {
    for queue in QUEUES.iter().filter(|queue| queue.starts_with("cbq")) {
        let script = tc_commands(&scenario(queue, ""), "bottleneck", TARGET).unwrap();
        let of_leaves = script.lines().filter(|line| line.contains("parent 1:1 classid"));
        let rates = of_leaves.map(|line| line.split(" rate ").nth(1).unwrap().split(' ').next().unwrap());
        let bits = |text: &str| {
            let number: u64 = text.trim_end_matches(char::is_alphabetic).parse().unwrap();
            number
                * if text.ends_with("mbit") {
                    1_000_000
                } else if text.ends_with("kbit") {
                    1000
                } else {
                    1
                }
        };
        let total: u64 = rates.map(bits).sum();
        assert!((1..=20_000_000).contains(&total), "{script}");
    }
}

#[test]
fn numbers_have_units_that_tc_reads() {
    let rates = [20_000_000, 1_500_000, 64_001].map(|bits| rate(Rate::new(bits).unwrap()));
    assert_eq!(rates, ["20mbit", "1500kbit", "64001bit"]);
    let spans = [5_000_000_000, 550_000, 1_500_000_000, 1_000_000_000_000].map(Span::from_picoseconds);
    assert_eq!(spans.map(time), ["5ms", "1us", "1500us", "1s"]);
    assert_eq!(spans.map(exact_time), ["5ms", "550ns", "1500us", "1s"]);
    assert_eq!([0.02, 0.0005, 1.0, 0.000_045_776, 100.0].map(number), ["0.02", "0.0005", "1", "0.000045776", "100"]);
}
