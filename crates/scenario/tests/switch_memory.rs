//! Memory of switches that decides when feeders stop, and the watchdog that frees outputs stopped without end.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{PacketEvent, RunResult};
use forebay_scenario::{Scenario, WatchSpec, run_watched};
use forebay_units::Span;
use support::{Timing, classed, count, flows, gigabits, load, number, ports, simulate, star, sum};

const LINK: &str = "link = { rate = \"10 Gbps\", delay = \"600 ns\" }\n";

/// One sender at the line's rate to a node that takes next to nothing; the port back to the sender is busy. Keys of the
/// switch.
fn overshoot(switch: &str) -> RunResult {
    let service = "service = [{ node = \"2\", rate = \"10 Mbps\" }]\n";
    let full = r#"rate = "10 Gbps", arrivals = "constant""#;
    let flows = flows("hot", &["1"], "2", full) + &flows("back", &["3", "4"], "1", full);
    simulate(&Timing::new(0.0, 0.3), &format!("{LINK}{}{service}[topology.ethernet.switch]\n{switch}", star(4)), &flows)
}

fn pool(headroom: u64, more: &str) -> String {
    format!("memory = \"150 KB\"\nbuffer.headroom_pool = {{ headroom = \"{headroom} B\" }}\n{more}")
}

#[test]
fn an_input_holds_its_share_of_what_is_free_and_the_headroom_holds_the_rest() {
    // Four ports of 150 KB, less reserve and headroom of each: an eighth of what its own use leaves free.
    for (key, headroom) in [("pause", 6065), ("priority_pause", 12_000)] {
        let result = overshoot(&pool(headroom, &format!("{key} = {{}}")));
        assert_eq!(sum(&ports(&result), "frames_lost"), 0);
        let shared = 4 * (150_000 - headroom - 4096);
        let most = count(&ports(&result), "SW->1", "memory_max_bytes");
        // The inputs of the others fill up as well: n of them hold alpha / (1 + n alpha) each.
        let (alone, of_three) = (shared / 9, shared / 11);
        assert!(most + 1500 > 4096 + of_three && most <= 4096 + alone + headroom, "{key}: {most}");
        assert!(count(&ports(&result), "SW->1", "pause_frames_sent") > 0);
    }
}

#[test]
fn too_little_headroom_is_refused_or_named_and_its_losses_have_a_reason() {
    let text = |switch: &str| {
        let flows = flows("hot", &["1"], "2", r#"rate = "10 Gbps""#);
        format!(
            "duration = \"1 ms\"\n[topology.ethernet]\n{LINK}{}[topology.ethernet.switch]\n{switch}\n{flows}",
            star(4)
        )
    };
    let error = |switch: &str| {
        let loaded = Scenario::load(&text(switch), "pool.toml", &[]);
        loaded.err().map_or(String::new(), |error| error.render(false))
    };
    assert_eq!(error(&pool(6065, "pause = {}")), "", "two ways of 750 B, three frames, a control frame, and a byte");
    insta::assert_snapshot!("headroom_of_the_pool", error(&pool(6064, "pause = {}")));
    insta::assert_snapshot!("watermarks_of_a_pool", error(&pool(9000, "pause = { high = \"9 KB\", low = \"8 KB\" }")));
    insta::assert_snapshot!("pause_without_watermarks", error("pause = {}"));
    insta::assert_snapshot!("pause_without_low", error("pause = { high = \"9 KB\" }"));
    insta::assert_snapshot!("headroom_beyond_the_memory", error(&pool(146_000, "pause = {}")));
    insta::assert_snapshot!("watchdog_without_time", error("watchdog = { detection = \"0 s\" }"));
    let classes = text(&pool(9000, "priority_pause = {}")) + &classed("other", 5, &["3"], "4", r#"rate = "1 Gbps""#);
    let refusal = Scenario::load(&classes, "pool.toml", &[]).err().map(|error| error.render(false)).unwrap_or_default();
    insta::assert_snapshot!("headroom_of_one_class", refusal);

    // Half of what is needed: a warning with the number, and losses at the input.
    let result = overshoot(&pool(3000, "pause = { allow_loss = true }"));
    let lost = sum(&ports(&result), "frames_lost");
    assert!(lost > 0);
    assert_eq!((sum(&result.queues, "dropped_input_port"), sum(&result.flows, "packets_dropped")), (lost, lost));
    let texts: Vec<String> = result.warnings.iter().map(|it| format!("{} / {}", it.text, it.remedy)).collect();
    let named = |text: &String| text.contains("3 KB of headroom") && text.contains("`headroom = \"6065 B\"`");
    assert!(texts.iter().any(named), "{texts:?}");
}

const POOL: &str = "memory = \"300 KB\"\nbuffer.headroom_pool.classes = 2\npriority_pause = {}";
const WATERMARKS: &str = "memory = \"600 KB\"\npriority_pause = { high = \"280 KB\", low = \"260 KB\" }";

/// A ring of five switches on which class 3 goes two hops the same way round, and class 0 goes one hop. Sources of
/// class 3 stop at 3 ms, the others at 35 ms.
fn ring(switch: &str, queue: &str, duration_ms: f64) -> Scenario {
    let at = |index: usize| index % 5 + 1;
    let switches: Vec<String> =
        (1..=5).map(|index| format!("{{ name = \"R{index}\", nodes = [\"{index}\", \"b{index}\"] }}")).collect();
    let trunks: Vec<[String; 2]> =
        (0..5).map(|index| [index, index + 1].map(|index| format!("R{}", at(index)))).collect();
    let keys = format!(
        "{LINK}{queue}switches = [{}]\ntrunks = {trunks:?}\n\
         [topology.ethernet.adapter]\negress_memory = \"300 KB\"\n\
         priority_pause = {{ high = \"140 KB\", low = \"130 KB\" }}\n[topology.ethernet.switch]\n{switch}\n",
        switches.join(", ")
    );
    let flows = (0..5).map(|index| {
        let (from, to) = (at(index).to_string(), at(index + 2).to_string());
        let [one, other] = [index, index + 1].map(|index| format!("b{}", at(index)));
        let ring = classed(&format!("ring-{from}"), 3, &[&from], &to, "rate = \"10 Gbps\"");
        let free = flows(&format!("free-{from}"), &[&one], &other, "rate = \"1 Gbps\"");
        ring.replace("class = 3", "class = 3\nstop = \"3 ms\"")
            + &free.replace("class = 0", "class = 0\nstop = \"35 ms\"")
    });
    load(&Timing::new(0.0, duration_ms), &keys, &flows.collect::<String>())
}

fn watchdog(action: &str) -> String {
    format!("watchdog = {{ detection = \"2 ms\", restoration = \"1 ms\", poll = \"500 us\", action = \"{action}\" }}")
}

/// With a complete log of a link.
fn run(scenario: &Scenario) -> RunResult {
    let watch = WatchSpec { links: vec!["R1->R2".into()], from: Span::ZERO, to: Span::MAX, most: 100_000 };
    run_watched(scenario, Some(1), &watch, &mut |_| true).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_ring_that_a_policy_stops_is_a_deadlock() {
    for switch in [POOL, WATERMARKS] {
        let deadlock = run(&ring(switch, "", 8.0)).deadlock.expect("five links that stop each other");
        assert_eq!(deadlock.links, ["R1->R2", "R2->R3", "R3->R4", "R4->R5", "R5->R1"]);
        assert!(deadlock.since_s < 5e-3, "{}", deadlock.since_s);
    }
}

#[test]
fn a_watchdog_breaks_a_deadlock_and_says_where_and_when() {
    for switch in [POOL, WATERMARKS] {
        for queue in ["", "queue = \"drop_tail\"\n", "queue.codel = { target = \"1 s\", interval = \"2 s\" }\n"] {
            let what = format!("{switch} {queue}");
            let result = run(&ring(&format!("{switch}\n{}", watchdog("drop")), queue, 40.0));
            assert_eq!(result.deadlock, None, "{what}");
            let [storms, dropped] = ["watchdog_storms", "watchdog_drops"].map(|column| sum(&result.queues, column));
            assert!(storms >= 1 && dropped > 0, "{what}: {storms} storms, {dropped} dropped");
            assert_eq!(sum(&result.queues, "dropped_forced"), dropped, "{what}");
            // All others have arrived: the ring is empty.
            let [sent, arrived] = ["packets_sent", "packets_delivered"].map(|column| sum(&result.flows, column));
            assert_eq!(arrived + dropped, sent, "{what}: {arrived} {dropped}");
            let log = &result.watched.as_ref().unwrap().packets[0];
            let later = log.events.iter().filter(|it| it.event == PacketEvent::DroppedLater).count() as u64;
            assert_eq!((later, log.is_cut), (count(&result.queues, "R1->R2", "watchdog_drops"), false), "{what}");
            let warning = result.warnings.iter().find(|warning| warning.text.contains("watchdog")).unwrap();
            assert!(warning.text.contains("in class 3 without end"), "{}", warning.text);
            assert!(warning.text.starts_with("PAUSE stopped `R"), "{}", warning.text);
            for number in 1..=5 {
                assert!(gigabits(&result, &format!("free-{number}")) > 0.8, "{what}");
            }
        }
    }
}

#[test]
fn a_watchdog_that_forwards_ignores_pause_and_loses_what_has_no_room() {
    let result = run(&ring(&format!("{WATERMARKS}\n{}", watchdog("forward")), "", 40.0));
    assert_eq!(result.deadlock, None);
    assert!(sum(&result.queues, "watchdog_storms") >= 1);
    assert_eq!(sum(&result.queues, "watchdog_drops"), 0);
    let [sent, arrived] = ["packets_sent", "packets_delivered"].map(|column| sum(&result.flows, column));
    let lost = sum(&ports(&result), "frames_lost");
    assert_eq!(arrived + lost, sent, "{lost} lost");
}

#[test]
fn a_watchdog_leaves_an_incast_alone() {
    for switch in [POOL, WATERMARKS] {
        let keys = format!("{LINK}{}[topology.ethernet.switch]\n{switch}\n{}", star(12), watchdog("drop"));
        let names: Vec<String> = (2..=12).map(|node| node.to_string()).collect();
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let result = simulate(&Timing::new(1.0, 20.0), &keys, &flows("incast", &all, "1", "rate = \"10 Gbps\""));
        assert!(number(&ports(&result), "2", "paused_s") > 10e-3, "it is stopped most of the time");
        assert_eq!((sum(&result.queues, "watchdog_storms"), sum(&ports(&result), "frames_lost")), (0, 0));
    }
}
