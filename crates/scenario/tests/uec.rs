//! Ultra Ethernet in fabrics, against closed forms and the Consortium's simulator.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

fn result(text: &str) -> RunResult {
    let scenario = Scenario::load(text, "uec.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)));
    run(&scenario, None, None, &mut |_| true).unwrap()
}

/// One message from host 0 to host `to` of a fat-tree of 16 hosts. Returns the time of its last ACK in us.
fn alone(bytes: u64, to: u32, gbps: u64, keys: &str) -> f64 {
    let text = format!(
        r#"
        duration = "10 ms"
        [topology.fat_tree]
        k = 4
        host_link = {{ rate = "{gbps} Gbps", delay = "1 us" }}
        [[flows]]
        name = "one"
        from = "host0"
        to = "host{to}"
        transport.uec = {{ {keys} }}
        app.fixed = {{ size = "{bytes} B" }}
        "#
    );
    result(&text).flows.floats("acknowledged_s")[0] * 1e6
}

/// The time of the last ACK: the packets one after the other, and the last one and its ACK over `links`.
fn closed_form(bytes: u64, links: u64, gbps: u64, packet_bytes: u64) -> f64 {
    let packets = bytes.div_ceil(packet_bytes - 64);
    let wire_bytes = bytes + 64 * packets;
    let us = |bytes: u64| 8.0 * bytes as f64 / gbps as f64 / 1e3;
    let forwarded = if packets == 1 { wire_bytes } else { packet_bytes };
    us(wire_bytes) + us((links - 1) * forwarded) + us(links * 64) + 2.0 * links as f64
}

#[test]
fn a_message_alone_takes_the_time_of_the_closed_form() {
    for (bytes, to, links) in
        [(2_000_000, 15, 6), (2_000_000, 3, 4), (2_000_000, 1, 2), (40_860, 15, 6), (408_600, 15, 6), (100, 15, 6)]
    {
        // At 25 Gb/s the window of a short path is 7 packets, too few for an ACK every 16 KiB.
        for gbps in [25, 100, 400, 800].into_iter().filter(|gbps| *gbps > 25 || links == 6) {
            let (measured, expected) = (alone(bytes, to, gbps, ""), closed_form(bytes, links, gbps, 4_150));
            assert!((measured / expected - 1.0).abs() < 1e-6, "{bytes} B, {links} links, {gbps} Gb/s: {measured}");
        }
    }
    // Printed by the Consortium's simulator.
    let digits =
        [alone(2_000_000, 15, 100, ""), alone(40_860, 15, 100, ""), alone(2_000_000, 15, 100, "packet = \"9000 B\"")];
    let published = [176.2, 17.0107, 176.778];
    assert!(digits.iter().zip(published).all(|(ours, theirs)| (ours / theirs - 1.0).abs() < 1e-4), "{digits:?}");
}
