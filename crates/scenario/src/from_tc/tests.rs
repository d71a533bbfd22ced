//! Commands and output with the keys that they become, faults, and the way there and back.

use proptest::prelude::*;

use super::*;
use crate::tc::tests::{QUEUES, TARGET, scenario};
use crate::tc_commands;

/// Commands and output as people write and see them. A blank line ends an example.
const EXAMPLES: &str = include_str!("examples.txt");

#[test]
fn a_name_of_several_lines_stays_in_the_comment() {
    let keys = link_from_tc("tc qdisc add dev 'eth0\nrate = 1' root codel", "test", None).unwrap();
    assert!(keys.starts_with("# Keys of a link, of eth0 rate = 1, from tc.\n"), "{keys}");
}

/// Set `FOREBAY_GOLDEN_UPDATE=1` to write the file; read the difference.
#[test]
fn commands_and_output_become_these_keys() {
    let mut found = String::new();
    for example in EXAMPLES.split("\n\n").filter(|example| !example.trim().is_empty()) {
        let lines = |is_key: bool| example.lines().filter(move |line| line.starts_with("> ") == is_key);
        let text: String = lines(false).map(|line| format!("{line}\n")).collect();
        let keys = link_from_tc(&text, "tc", None).unwrap_or_else(|error| panic!("{error}\n{text}"));
        found += &text;
        found.extend(keys.lines().skip(1).map(|line| format!("> {line}\n")));
        found += "\n";
    }
    if std::env::var_os("FOREBAY_GOLDEN_UPDATE").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/from_tc/examples.txt");
        std::fs::write(path, &found).unwrap();
        return;
    }
    assert_eq!(found, EXAMPLES);
}

/// The commands of a script that are for the interface itself. Without a quantum, sfq has that of the interface, which
/// is 1514 B.
fn commands(scenario: &Scenario) -> Vec<String> {
    let script = tc_commands(scenario, "bottleneck", TARGET).unwrap();
    script
        .lines()
        .filter(|line| line.starts_with("tc "))
        .map(|line| line.replace(" quantum 1514 divisor", " divisor"))
        .collect()
}

/// A scenario whose link has the keys that follow from the commands. The rate is that of the first scenario, which is
/// not in the commands where there is no shaper.
fn read_back(commands: &[String]) -> Scenario {
    let text = commands.join("\n");
    let keys = link_from_tc(&text, "tc", None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rate = if keys.contains("\nrate = ") { "" } else { "rate = \"20 Mbps\"\n" };
    let document = format!(
        "duration = '1 s'\n[[flows]]\nname = 'udp'\n\
         transport.udp = {{ packet = '40 B', constant = {{ rate = '1 kbps' }} }}\n[topology.star]\n\
         access = {{ rate = '1 Gbps', delay = '1 ms' }}\n[topology.star.bottleneck]\n{rate}delay = '10 ms'\n{keys}"
    );
    Scenario::load(&document, "link.toml", &[]).unwrap_or_else(|error| panic!("{error}\n{document}"))
}

#[test]
fn each_discipline_comes_back_from_its_commands() {
    // Linux has no CBQ and no COBALT by themselves: they come back as HTB and CAKE. A single band gets a second one.
    let changes = |queue: &str| queue.starts_with("cbq") || queue.starts_with("cobalt") || queue.contains("\"only\"");
    for queue in QUEUES.iter().filter(|queue| !changes(queue)) {
        let written = commands(&scenario(queue, ""));
        assert_eq!(commands(&read_back(&written)), written, "{queue}");
    }
}

/// A link with a queue, in a scenario whose packets are short.
fn link_with(queue: &str) -> String {
    format!(
        "duration = '1 s'\n[[flows]]\nname = 'udp'\n\
         transport.udp = {{ packet = '40 B', constant = {{ rate = '1 kbps' }} }}\n[topology.star]\n\
         access = {{ rate = '1 Gbps', delay = '1 ms' }}\n[topology.star.bottleneck]\n\
         rate = '20 Mbps'\ndelay = '10 ms'\nqueue.{queue}\n"
    )
}

/// Templates of queues: each `#` is a number, and each `?` is true or false.
const TEMPLATES: [&str; 13] = [
    "codel = { square_root = 'newton16', limit = '# packets', target = '# us', interval = '# us', ecn = ? }",
    "fq_codel = { preset = 'linux', limit = '# packets', flows = #, quantum = '# B', ce_threshold = '# us', ecn = ? }",
    "pie = { preset = 'linux', limit = '# packets', target = '# us', update_interval = '# us', byte_mode = ? }",
    "fq_pie = { limit = '# packets', flows = #, target = '# us', quantum = '# B', byte_mode = ?, ecn = ? }",
    "fq = { limit = '# packets', flow_limit = #, quantum = '# B', refill_delay = '# us', flow_max_rate = '# kbps' }",
    "hhf = { limit = '# packets', quantum = '# B', admit_bytes = '# B', non_hh_weight = 3, hh_limit = 7 }",
    "cake = { bandwidth = '# kbps', rtt = '# us', vlan_tags = 1, wash = ?, ingress = ?, limit = '# KB' }",
    "tbf = { rate = '# bps', burst = '# B', limit = '# B' }",
    "red = { limit = '90 MB', min_threshold = '# B', max_threshold = '9 MB', weight = 0.0625, ecn = ?, hard_drop = ? }",
    "sfq = { limit = '# packets', buckets = #, quantum = '# B', perturbation_interval = '# s', steal_from_head = ? }",
    "dualpi2 = { limit = '# packets', step_threshold_packets = #, drop_on_overload = ?, drop_on_enqueue = ? }",
    "htb.classes = [{ name = 'root', rate = '20 Mbps' }, { name = 'leaf', parent = 'root', rate = '# bps', \
     burst = '# B', ceil = '20 Mbps', quantum = '# B', classes = [7], queue.prio = {} }]",
    "taprio = { base_time = '# us', classes = [{ name = 'a', classes = [3] }, { name = 'b' }], \
     schedule = [{ open = ['a'], interval = '# us' }, { open = ['a', 'b'], interval = '# us' }] }",
];

fn filled(template: &str, numbers: &[u32], flags: &[bool]) -> String {
    let with_numbers =
        numbers.iter().fold(template.to_owned(), |text, number| text.replacen('#', &number.to_string(), 1));
    flags.iter().fold(with_numbers, |text, flag| text.replacen('?', &flag.to_string(), 1))
}

#[test]
fn each_template_is_a_queue() {
    for template in TEMPLATES {
        let queue = filled(template, &[2000; 6], &[true; 3]);
        assert!(Scenario::load(&link_with(&queue), "link.toml", &[]).is_ok(), "{queue}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The commands of the queue that is read from commands are these commands.
    #[test]
    fn parameters_that_tc_can_express_come_back(
        template in prop::sample::select(&TEMPLATES[..]),
        numbers in prop::collection::vec(1..65_536_u32, 6),
        flags in prop::collection::vec(any::<bool>(), 3),
    ) {
        let queue = filled(template, &numbers, &flags);
        // Some draws are refused, such as a threshold that is too small for the discipline.
        if let Ok(scenario) = Scenario::load(&link_with(&queue), "link.toml", &[]) {
            let written = commands(&scenario);
            prop_assert_eq!(commands(&read_back(&written)), written, "{}", queue);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        text in "(tc |qdisc |class |filter )?(add |replace |show )?[a-z0-9: .%#'\"\n-]{0,60}",
    ) {
        let _ = link_from_tc(&text, "tc", None);
    }
}

#[test]
fn faults_have_a_place_and_a_remedy() {
    let cases = [
        ("tc qdisc add dev eth0 root fq_kodel", "1:28: there is no counterpart of the qdisc `fq_kodel`", "`fq_codel`"),
        ("tc qdisc add dev eth0 root hfsc", "1:28: there is no counterpart of the qdisc `hfsc`", "these are read"),
        ("tc qdisc add dev eth0 root codel target 5parsecs", "1:41: `5parsecs` is no value of `target`", ""),
        ("tc qdisc add dev eth0 root codel target", "1:34: the value of `target` is missing", ""),
        ("tc qdisc add dev eth0 root codel tarket 5ms", "1:34: `tarket` is not a parameter of codel", "help"),
        ("tc qdisc add dev eth0 root tbf rate $RATE burst 5k limit 5k", "1:37: `$RATE` is no value of `rate`", "shell"),
        ("tc qdisc add dev eth0 root tbf rate 10% burst 5k limit 5k", "1:37: `10%` is a part of", "20mbit"),
        ("tc qdisc add dev eth0 root tbf rate 1mbit limit 5k", "1:28: tbf needs `burst`", ""),
        ("tc qdisc add dev eth0 root htb default 10", "1:28: htb has no classes", "tc class"),
        ("tc qdisc add dev eth0 parent 1:1 codel", "1:34: no qdisc has the handle 1:", ""),
        (
            "# nothing\ntc qdisc add dev a root codel\ntc qdisc add dev b root pie",
            "3:18: the commands are for several",
            "--dev",
        ),
        ("ip link set eth0 up", "1:1: `ip` is no command of tc", ""),
        ("tc qdisc frobnicate dev eth0", "1:10: `frobnicate` is no command of `tc qdisc`", ""),
        ("tc qdisc add dev eth0 root 'codel", "1:28: a quote is never closed", ""),
        ("tc qdisc add dev eth0 handle xyz: root codel", "1:30: `xyz:` is not the number of a qdisc or class", ""),
        ("tc qdisc add dev eth0 root fq_codel flows 70000", "1:28: fq_codel: `flows` must be", ""),
        ("", "1:1: there is no qdisc", ""),
        (
            "tc qdisc add dev a root handle 1: prio\ntc qdisc add dev a parent 1:1 handle 1: prio",
            "1:35: two qdiscs have the handle 1:",
            "",
        ),
        ("qdisc mq 0: dev a root\nqdisc mq 0: dev a parent :1", "2:7: there is no counterpart of the qdisc `mq`", ""),
    ];
    for (text, message, help) in cases {
        let error = link_from_tc(text, "tc", None).unwrap_err();
        assert!(error.to_string().starts_with(&format!("tc:{message}")), "{error}");
        assert!(error.help.clone().unwrap_or_default().contains(help), "{error}: {:?}", error.help);
        assert!(!error.render(false).is_empty());
    }
}

#[test]
fn levels_are_bounded_and_no_number_overflows() {
    let below = |level: usize| format!("tc qdisc add dev a parent {level:x}:1 handle {:x}: prio\n", level + 1);
    let deep: String = (1..2000).map(below).collect();
    let text = format!("tc qdisc add dev a root handle 1: prio\n{deep}");
    assert!(link_from_tc(&text, "tc", None).unwrap_err().to_string().contains("nested too deep"));
    let removed = format!("{text}tc qdisc del dev a root\ntc qdisc add dev a root codel");
    assert!(link_from_tc(&removed, "tc", None).is_ok());
    for words in [
        "netem delay 18000000s 18000000s",
        "sfq perturb 99999999999 limit 10 flows 1 divisor 1",
        "taprio num_tc 1 map 0 queues 1@18446744073709551615 sched-entry S 1 18446744073709551",
        "sfb penalty_rate 4294967295 penalty_burst 4294967295 max 4294967295 target 4294967295",
        "tbf rate 99999tbps burst 9999999g latency 9999999s",
        "red limit 99999999g min 9999999g avpkt 1 burst 4294967295",
        "ets bands 16 strict 16 quanta 1",
    ] {
        // Whether it is accepted or not, it does not panic.
        if let Err(error) = link_from_tc(&format!("tc qdisc add dev a root {words}"), "tc", None) {
            assert!(!error.message.is_empty(), "{words}");
        }
    }
}

#[test]
fn one_of_several_interfaces_is_chosen_by_name() {
    let text = "qdisc noqueue 0: dev lo root refcnt 2\nqdisc codel 8001: dev a root refcnt 2 limit 9p\n\
                qdisc pie 8002: dev b root refcnt 2 limit 8p\n";
    let keys = |device| link_from_tc(text, "tc", Some(device)).unwrap();
    assert!(keys("a").contains("queue.codel") && keys("b").contains("queue.pie"));
    assert!(link_from_tc(text, "tc", Some("c")).unwrap_err().to_string().contains("no command is for the interface c"));
    let alone = text.lines().take(2).collect::<Vec<_>>().join("\n");
    assert!(link_from_tc(&alone, "tc", None).unwrap().contains("queue.codel"));
}

#[test]
fn delay_and_loss_come_back_from_netem() {
    let rest = ", impairments = { loss.gilbert_elliott = { to_bad = 0.01, to_good = 0.25 }, duplication = 0.02, \
                jitter = { uniform = [\"0 ms\", \"10 ms\"] }, jitter_correlation = 0.25, reordering = true }";
    let script = tc_commands(&scenario("codel = {}", rest), "bottleneck", TARGET).unwrap();
    let netem = script.lines().find_map(|line| line.strip_prefix("#   ").filter(|line| line.contains(" netem ")));
    let keys = link_from_tc(netem.unwrap(), "tc", None).unwrap();
    for key in [
        "delay = \"10 ms\"",
        "impairments.loss.gilbert_elliott = { to_bad = 0.01, to_good = 0.25, loss_in_bad = 1, loss_in_good = 0 }",
        "impairments.duplication = 0.02",
        "impairments.jitter = { uniform = [\"0 s\", \"10 ms\"] }",
        "impairments.jitter_correlation = 0.25",
        "impairments.reordering = true",
    ] {
        assert!(keys.lines().any(|line| line == key), "{key}\n{keys}");
    }
}
