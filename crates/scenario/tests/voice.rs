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

/// The call over a link whose delay varies by up to 20 ms, evenly.
fn varying(voice: &str) -> RunResult {
    let jitter = "queue = \"drop_tail\", impairments.jitter = { uniform = [\"0 ms\", \"20 ms\"] }";
    simulate(&text(jitter, voice, "").replace("20 s", "200 s"))
}

#[test]
fn packets_that_come_after_the_jitter_buffer_are_late() {
    for (buffer, share) in [("15 ms", 0.25), ("5 ms", 0.75), ("20 ms", 0.0)] {
        let flows = varying(&format!("voice.jitter_buffer = \"{buffer}\"")).flows;
        let (late, delivered) = (flows.counts("packets_late")[0] as f64, flows.counts("packets_delivered")[0] as f64);
        // The standard deviation of the share is 0.4 %.
        assert!((late / delivered - share).abs() < 0.015, "{buffer}: {late} of {delivered}");
        assert_eq!(flows.counts("packets_dropped")[0], 0);
    }
}

#[test]
fn a_jitter_buffer_that_holds_all_packets_is_delay_and_nothing_else() {
    // The table of the E-model has ratings of 150 ms and 200 ms without loss.
    for (buffer, rating) in [("100 ms", 89.54), ("150 ms", 85.80)] {
        let flows = varying(&format!("voice.jitter_buffer = \"{buffer}\"")).flows;
        assert_eq!(flows.counts("packets_late")[0], 0);
        assert!((flows.floats("r_factor")[0] - rating).abs() < 0.15, "{buffer}: {}", flows.floats("r_factor")[0]);
    }
    // A quarter of the packets lost is no conversation.
    assert!(varying("voice.jitter_buffer = \"15 ms\"").flows.floats("mos")[0] < 1.2);
}

#[test]
fn a_jitter_buffer_changes_nothing_but_the_quality() {
    let (without, with) = (varying("voice = {}"), varying("voice.jitter_buffer = \"60 ms\""));
    assert!(without.flows.column("packets_late").is_none());
    for (name, column) in without.flows.columns.iter().filter(|(name, _)| !["r_factor", "mos"].contains(name)) {
        assert_eq!(format!("{column:?}"), format!("{:?}", with.flows.column(name).unwrap()), "{name}");
    }
}

#[test]
fn a_jitter_buffer_is_a_positive_time_of_a_call() {
    for (voice, message) in [
        ("voice.jitter_buffer = \"0 ms\"", "a jitter buffer of 0 ps is out of bounds"),
        ("voice.jitter_buffer = \"11 s\"", "expected 1 us to 10 s"),
        ("voice.jitter_buffer = \"-60 ms\"", "-60 ms"),
        ("packet = \"200 B\", constant = { rate = \"80 kbps\", jitter_buffer = \"60 ms\" }", "jitter_buffer"),
        ("packet = \"200 B\", constant = { rate = \"80 kbps\" }, jitter_buffer = \"60 ms\"", "jitter_buffer"),
    ] {
        let error = Scenario::load(&text("queue = \"drop_tail\"", voice, ""), "voice.toml", &[]).unwrap_err();
        println!("{}", error.render(false));
        assert!(error.render(false).contains(message), "{}", error.render(false));
    }
}
