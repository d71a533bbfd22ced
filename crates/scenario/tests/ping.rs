//! Pings and games: round trips of packets that their destination sends back, and drawn sizes and gaps.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_records::Table;
use forebay_scenario::{Scenario, run};

fn star(bottleneck: &str, reverse: &str, flows: &str) -> String {
    format!(
        r#"
        duration = "10 s"
        host_jitter = "none"
        probes = {{ interval = "500 ms", series = ["flows"] }}
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "5 ms" }}
        bottleneck = {{ rate = "2 Mbps", delay = "15 ms", {bottleneck} }}
        reverse = {{ rate = "1 Mbps", delay = "15 ms", {reverse} }}
        {flows}
        "#
    )
}

fn pings(ping: &str) -> String {
    format!("[[flows]]\nname = \"ping\"\ntransport.udp = {{ {ping} }}\n")
}

fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "ping.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The round-trip time of a packet of so many bytes on the idle star: propagation, and transmission on four links.
fn idle_s(bytes: f64) -> f64 {
    2.0 * (0.005 + 0.015) + bytes * 8.0 * (2.0 / 1e9 + 1.0 / 2e6 + 1.0 / 1e6)
}

fn series<'r>(result: &'r RunResult, name: &str) -> &'r [f64] {
    let found = result.series.iter().find(|series| series.name == name && series.quantity == "rtt_s");
    &found.unwrap().values
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
}

#[test]
fn an_idle_path_is_measured_to_the_picosecond() {
    for (ping, bytes, sent, waiting) in [
        // The last one leaves at the end of the run.
        ("ping = {}", 84.0, 50, 1),
        ("packet = \"1000 B\", ping = { interval = \"50 ms\" }", 1000.0, 199, 2),
        // As many as fit one after the other.
        ("packet = \"29 B\", ping = { interval = \"on_answer\" }", 29.0, (10.0 / idle_s(29.0)) as u64, 1),
    ] {
        let result = simulate(&star("", "", &pings(ping)));
        let table = &result.pings;
        assert_eq!(table.texts("name").iter().next().unwrap(), "ping");
        assert_eq!(table.counts("sent"), [sent], "{ping}");
        assert_eq!(table.counts("answered"), [sent], "{ping}");
        for column in ["rtt_min_s", "rtt_mean_s", "rtt_max_s"] {
            assert_near(table.floats(column)[0], idle_s(bytes), 1.5e-12);
        }
        assert_eq!(table.floats("jitter_s"), [0.0]);
        assert_near(table.floats("rtt_p50_s")[0], idle_s(bytes), 0.02 * idle_s(bytes));
        let means = series(&result, "ping");
        assert_eq!(means.len(), 20);
        means.iter().for_each(|&mean| assert_near(mean, idle_s(bytes), 1.5e-12));
        assert_eq!(result.flows.texts("kind").iter().next().unwrap(), "ping");
        assert_eq!(result.flows.counts("packets_sent"), [sent + waiting]);
    }
}

/// UDP that keeps a queue full.
fn flood(name: &str, direction: &str, rate: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\ndirection = \"{direction}\"\nhosts_of = \"ping\"\n\
         transport.udp = {{ packet = \"1000 B\", constant = {{ rate = \"{rate}\", jitter = 0.5 }} }}\n"
    )
}

#[test]
fn a_round_trip_waits_in_both_queues() {
    let queue = "queue.drop_tail = { limit = \"25 packets\" }";
    // No multiple of a transmission: it would meet the queue in the same state each time.
    let ping = "ping.interval = \"97 ms\"";
    let rtt_s = |flows: &[String]| {
        let result = simulate(&star(queue, queue, &format!("{}{}", pings(ping), flows.concat())));
        // While queues are full.
        series(&result, "ping")[4..].iter().filter(|mean| !mean.is_nan()).fold(0.0, |most, &mean| f64::max(most, mean))
    };
    let (up, down) = (flood("up", "forward", "3 Mbps"), flood("down", "backward", "2 Mbps"));
    // A full queue of 25 packets takes 0.1 s there, 0.2 s back; a ping that is let in finds 24 packets or so.
    let there_s = rtt_s(std::slice::from_ref(&up)) - idle_s(84.0);
    let back_s = rtt_s(std::slice::from_ref(&down)) - idle_s(84.0);
    let both_s = rtt_s(&[up, down]) - idle_s(84.0);
    assert_near(there_s, 0.1, 0.006);
    assert_near(back_s, 0.2, 0.012);
    assert_near(both_s, 0.3, 0.018);
}

#[test]
fn lost_packets_and_lost_answers_are_missing() {
    let lossy = "impairments.lose = [{ flow = \"ping\", packets = [2, 3] }]";
    let answers = "impairments.lose = [{ flow = \"ping\", acks = [1, 4] }]";
    let result = simulate(&star(lossy, answers, &pings("ping = {}")));
    assert_eq!([result.pings.counts("sent")[0], result.pings.counts("answered")[0]], [50, 46]);
    assert_eq!(result.flows.counts("packets_dropped"), [2], "answers are not packets of the flow's data");
    // One at a time, each loss costs the timeout.
    let ping = "ping = { interval = \"on_answer\", timeout = \"500 ms\" }";
    let result = simulate(&star(lossy, answers, &pings(ping)));
    let expected = ((10.0 - 4.0 * 0.5) / idle_s(84.0)) as u64;
    let [sent, answered] = [result.pings.counts("sent")[0], result.pings.counts("answered")[0]];
    assert_eq!([sent, answered], [expected + 4, expected]);
    // The answer of the first packet is lost, then two packets in a row.
    let means = series(&result, "ping");
    assert!(means[..3].iter().all(|mean| mean.is_nan()) && !means[3].is_nan(), "{means:?}");
}

#[test]
fn an_answer_after_the_timeout_counts_as_lost() {
    let result = simulate(&star("", "", &pings("ping.timeout = \"30 ms\"")));
    assert_eq!([result.pings.counts("sent")[0], result.pings.counts("answered")[0]], [50, 0]);
    assert!(result.pings.floats("rtt_mean_s")[0].is_nan());
    let late = simulate(&star("", "", &pings("ping = { interval = \"on_answer\", timeout = \"30 ms\" }")));
    assert_eq!([late.pings.counts("sent")[0], late.pings.counts("answered")[0]], [333, 0]);
}

#[test]
fn copies_of_a_packet_are_answered_and_counted_once() {
    let result = simulate(&star("impairments.duplication = 0.5", "impairments.duplication = 0.5", &pings("ping = {}")));
    assert_eq!([result.pings.counts("sent")[0], result.pings.counts("answered")[0]], [50, 50]);
    let one = simulate(&star("impairments.duplication = 0.9", "", &pings("ping.interval = \"on_answer\"")));
    let most = (10.0 / idle_s(84.0)) as u64;
    assert!((most - 20..=most).contains(&one.pings.counts("sent")[0]), "a copy's answer starts no other packet");
}

#[test]
fn only_packets_after_the_warm_up_count() {
    let text = star("", "", &pings("ping = {}")).replace("duration", "warmup = \"4 s\"\nduration");
    let result = simulate(&text);
    assert_eq!([result.pings.counts("sent")[0], result.pings.counts("answered")[0]], [30, 30]);
    assert_eq!(series(&result, "ping").len(), 20, "series begin with the run");
    // No series are asked for.
    let silent = simulate(&text.replace("probes = { interval = \"500 ms\", series = [\"flows\"] }", ""));
    assert!(silent.series.is_empty());
    assert_eq!(format!("{:?}", silent.pings), format!("{:?}", result.pings));
}

#[test]
fn pings_start_and_stop_as_flows_do() {
    let group = "start = \"1 s\"\nstop = \"3 s\"\nclass = 46\necn = true\n[[flows]]\nname = \"none\"\n\
                 transport = \"tcp\"\napp.fixed.size = \"1 KB\"\n";
    let result = simulate(&star("queue.red = { ecn = true }", "", &(pings("ping = {}") + group)));
    assert_eq!(result.pings.counts("sent"), [10]);
    assert_eq!(result.flows.floats("start_s")[0], 1.0);
    assert_eq!(result.pings.texts("name").iter().count(), 1, "only pings are in the table");
}

#[test]
fn cake_does_not_take_answers_for_acks_of_tcp() {
    // Answers that wait behind each other: the filter would drop all but the last of them.
    let reverse = "queue.cake = { bandwidth = \"100 kbps\", ack_filter = \"aggressive\" }";
    let ping = "packet = \"200 B\", ping = { interval = \"20 ms\" }";
    let result = simulate(&star("", reverse, &(pings(ping) + "stop = \"5 s\"\n")));
    assert_eq!([result.pings.counts("sent")[0], result.pings.counts("answered")[0]], [250, 250]);
}

#[test]
fn pings_cross_an_ethernet() {
    let text = r#"
        duration = "10 ms"
        host_jitter = "none"
        [topology.ethernet]
        link = { rate = "10 Gbps", delay = "1 us" }
        switches = [{ name = "SW", nodes = ["a", "b", "c"] }]
        [[flows]]
        name = "ping"
        from = "a"
        to = "b"
        transport.udp = { packet = "1000 B", ping = { interval = "1 ms" } }
        [[flows]]
        name = "one"
        from = "c"
        to = "a"
        transport.udp.ping.interval = "on_answer"
    "#;
    let result = simulate(text);
    assert_eq!(result.pings.counts("sent")[0], 10);
    assert_eq!(result.pings.counts("answered")[0], 10);
    // Each way two links, and the transmission from the adapter to its node.
    assert_near(result.pings.floats("rtt_min_s")[0], 4.0 * 1e-6 + 6.0 * 8000.0 / 1e10, 1.5e-12);
    assert!(result.pings.counts("answered")[1] > 1000);
}

fn row(table: &Table, name: &str) -> usize {
    table.texts("name").iter().position(|row| row == name).unwrap()
}

#[test]
fn a_game_sends_small_packets_both_ways() {
    let game = |name: &str, direction: &str, way: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = 20\ndirection = \"{direction}\"\ntransport.udp.game = \"{way}\"\n"
        )
    };
    let games = format!("{}{}", game("player", "forward", "up"), game("server", "backward", "down"));
    let text = star("", "", &games).replace("2 Mbps", "1 Gbps").replace("1 Mbps", "1 Gbps");
    let flows = simulate(&text.replace("10 s", "50 s")).flows;
    for (group, data, gap_deviation) in [("player", 82.0, 3.0), ("server", 404.0, 5.0)] {
        let rows: Vec<usize> = (0..20).map(|flow| row(&flows, &format!("{group}-{flow}"))).collect();
        let sum = |column| rows.iter().map(|&row| flows.counts(column)[row]).sum::<u64>() as f64;
        let sent = sum("packets_sent");
        // 20 flows of 50 s: the count deviates by the gap's deviation times the root of the number of packets.
        let deviation: f64 = gap_deviation / 33.0 * (1e6_f64 / 33.0).sqrt() + 20.0;
        assert_near(sent, 1e6 / 33.0, 4.0 * deviation);
        let payload: f64 = rows.iter().map(|&row| flows.floats("goodput_bps")[row] * 50.0 / 8.0).sum();
        assert_near(payload / sum("packets_delivered"), data, 0.01 * data);
    }
}

#[test]
fn impossible_pings_and_games_are_refused() {
    for (keys, message) in [
        ("packet = { uniform = [\"40 B\", \"80 B\"] }, ping = {}", "have one size"),
        ("game = \"up\", packet = \"100 B\"", "which has sizes of its own"),
        ("game = \"sideways\"", "expected one of `up`, `down`"),
        ("game = \"up\", ping = {}", "two patterns, `game` and `ping`"),
        ("ping.interval = \"0 s\"", "expected 1 us to 24 h"),
        ("ping.interval = \"often\"", "or \"on_answer\""),
        ("ping.timeout = \"2 min\"", "expected 1 us to 60 s"),
        ("packet = \"0 B\", ping = {}", "no packet has 0 B"),
        (
            "packet = { normal = { mean = \"40 B\", deviation = \"41 B\" } }, poisson.rate = \"1 Mbps\"",
            "at most the mean",
        ),
    ] {
        let error = Scenario::load(&star("", "", &pings(keys)), "ping.toml", &[]).unwrap_err().render(false);
        assert!(error.contains(message), "{keys}:\n{error}");
    }
    let app = pings("ping = {}") + "app.fixed.size = \"1 KB\"\n";
    let error = Scenario::load(&star("", "", &app), "ping.toml", &[]).unwrap_err().render(false);
    assert!(error.contains("`app` is for TCP"), "{error}");
}
