//! Calls: their packets, and their quality.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

fn text(bottleneck: &str, voice: &str, others: &str) -> String {
    format!(
        r#"
        duration = "20 s"
        [topology.star]
        access = {{ rate = "1 Gbps", delay = "5 ms" }}
        bottleneck = {{ rate = "2 Mbps", delay = "45 ms", {bottleneck} }}
        [[flows]]
        name = "call"
        host_jitter = "none"
        transport.udp = {{ {voice} }}
        {others}
        "#
    )
}

fn simulate(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "voice.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap()
}

#[test]
fn a_call_alone_has_the_rating_of_its_delay() {
    let result = simulate(&text("queue = \"drop_tail\"", "voice = {}", ""));
    let flows = &result.flows;
    // A packet each 20 ms, after a random part of it.
    assert!((999..=1000).contains(&flows.counts("packets_sent")[0]));
    assert_eq!(flows.texts("kind").iter().next().unwrap(), "voice");
    // 172 of 200 B are payload.
    assert!((flows.floats("goodput_bps")[0] / 68_800.0 - 1.0).abs() < 0.01);
    // 50 ms and the transmissions, without jitter.
    assert!((flows.floats("r_factor")[0] - 91.76).abs() < 0.1, "{}", flows.floats("r_factor")[0]);
    assert!((flows.floats("mos")[0] - 4.38).abs() < 0.01);
}

#[test]
fn a_download_in_the_same_queue_spoils_a_call() {
    let tcp = "[[flows]]\nname = \"download\"\ntransport = \"tcp\"";
    let mos = |queue: &str| {
        let result = simulate(&text(queue, "voice = {}", tcp));
        assert!(result.flows.floats("mos")[1].is_nan());
        result.flows.floats("mos")[0]
    };
    let (fifo, fair) = (mos("queue.drop_tail = { limit = \"200 packets\" }"), mos("queue = \"fq_codel\""));
    assert!(fifo < 2.5 && fair > 4.2, "{fifo}, {fair}");
    // Without a call there is no column.
    let none = simulate(&text("queue = \"drop_tail\"", "packet = \"200 B\", constant = { rate = \"80 kbps\" }", ""));
    assert!(none.flows.column("mos").is_none());
}

#[test]
fn a_call_has_no_packet_size_of_its_own() {
    for (voice, message) in [
        ("voice = {}, packet = \"100 B\"", "whose packets have 200 B"),
        ("constant = { rate = \"80 kbps\" }", "`packet` is missing"),
        ("voice = {}, poisson = { rate = \"80 kbps\" }", "two patterns"),
    ] {
        let error = Scenario::load(&text("queue = \"drop_tail\"", voice, ""), "voice.toml", &[]).unwrap_err();
        assert!(error.render(false).contains(message), "{}", error.render(false));
    }
}
