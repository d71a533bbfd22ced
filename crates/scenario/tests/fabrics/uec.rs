//! Ultra Ethernet in fabrics, against closed forms and the Consortium's simulator.

use forebay_scenario::Scenario;

use crate::result;

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
    result(&text).flows.floats("fct_s")[0] * 1e6
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

/// The queues of the Consortium's simulator at 100 Gb/s: 43 packets with the one being sent, marks at 20 and 80 %.
const QUEUE: &str = r#"queue.trimming = { limit = "42 packets", header_limit = "356900 B", headers_per_data = 100000,
    ecn = true, min_threshold = "9 packets", max_threshold = "35 packets" }"#;

/// Messages of 2 MB over a fat-tree of 16 hosts, from each source to its destination. Returns the completion times in
/// us, in order.
fn messages(pairs: impl Iterator<Item = (u32, u32)>, transport: &str) -> Vec<f64> {
    let group = |(index, (from, to)): (usize, (u32, u32))| {
        format!(
            r#"
        [[flows]]
        name = "m{index}"
        from = "host{from}"
        to = "host{to}"
        transport = {{ {transport} }}
        app.fixed = {{ size = "2 MB" }}"#
        )
    };
    let groups: String = pairs.enumerate().map(group).collect();
    let text = format!(
        r#"
        duration = "10 ms"
        [topology.fat_tree]
        k = 4
        host_link = {{ rate = "100 Gbps", delay = "1 us", {QUEUE} }}
        {groups}
        "#
    );
    let result = result(&text);
    let mut times: Vec<f64> = result.flows.floats("fct_s").iter().map(|time| time * 1e6).collect();
    assert!(times.iter().all(|time| time.is_finite()), "all messages are complete");
    let delivered: f64 = result.flows.floats("goodput_bps").iter().map(|bps| bps / 8.0 * 0.01).sum();
    assert!((delivered / 2e6 - times.len() as f64).abs() < 1e-6, "each byte is delivered once: {delivered}");
    times.sort_by(f64::total_cmp);
    times
}

fn is_near(measured: f64, published: f64, tolerance: f64) -> bool {
    (measured / published - 1.0).abs() <= tolerance
}

#[test]
fn incasts_end_when_the_consortiums_simulator_says_so() {
    let incast = || (0..15).map(|from| (from, 15));
    // The bound: all packets over one link, and the way of the last one.
    let bound = 15.0 * (2_000_000.0 + 490.0 * 64.0) * 8.0 / 1e5 + 4.3;
    for (control, published) in [("nscc", 2478.53), ("both", 2462.92)] {
        let last = messages(incast(), &format!("uec = {{ control = \"{control}\" }}"))[14];
        assert!(last >= bound && is_near(last, published, 0.02), "{control}: {last} us");
    }
}

#[test]
fn permutations_end_when_the_consortiums_simulator_says_so() {
    let permutation = || (0..16).zip([8, 4, 13, 10, 12, 15, 0, 9, 14, 7, 5, 3, 11, 6, 2, 1]);
    for (control, published) in [("rccc", 195.7), ("both", 196.8)] {
        let last = messages(permutation(), &format!("uec = {{ control = \"{control}\", paths = 128 }}"))[15];
        assert!(is_near(last, published, 0.03), "{control}: {last} us");
    }
    // With one path for each, some meet on a link.
    let one_path = messages(permutation(), "uec = { paths = 1 }")[15];
    assert!(one_path > 2.0 * 176.2, "{one_path} us");
}

#[test]
fn trimmed_packets_of_ndp_are_pulled_again() {
    let incast = messages((0..15).map(|from| (from, 15)), "ndp = { window = 23 }");
    // At least the time of all packets over one link, and hardly more: full speed, since nothing is lost.
    let bound = 15.0 * (2_000_000.0 + 224.0 * 64.0) * 8.0 / 1e5;
    assert!(incast[14] > bound && incast[14] < 1.02 * bound, "{incast:?}");
    // The pull queue serves all flows in turn.
    assert!(incast[0] > 0.85 * bound, "{incast:?}");
}

/// A message to a host of another pod, with further `keys`.
fn one_message(keys: &str) -> String {
    format!(
        r#"
        duration = "100 us"
        [topology.fat_tree]
        k = 4
        host_link = {{ rate = "100 Gbps", delay = "1 us" }}
        [[flows]]
        name = "one"
        from = "host0"
        to = "host15"
        {keys}
        "#
    )
}

#[test]
fn mistakes_are_named_with_their_place() {
    let mistake = |keys: &str| Scenario::load(&one_message(keys), "uec.toml", &[]).unwrap_err().render(false);
    assert!(mistake("transport.uec = { paths = 48 }").contains("uec: `paths` must be a power of two"));
    assert!(mistake("transport.roce = { payload = \"0 B\" }").contains("roce: `payload` must"));
    assert!(mistake("transport.ndp = { window = 0 }").contains("ndp: `window` must"));
    assert!(
        mistake("transport = \"uec\"\napp.transfers = { size = \"1 MB\", gap = \"1 ms\" }")
            .contains("`uec` has no such")
    );
    assert!(mistake("transport = \"uec\"\nstop = \"50 us\"").contains("sends its message as a whole"));
    assert!(mistake("transport = \"ndp\"\necn = true").contains("ECN-capable"));
}

#[test]
fn a_window_is_shown_where_there_is_one() {
    // The largest window in bytes; `None` if none is shown.
    let shown = |transport: &str| {
        let probes = "[probes]\ninterval = \"10 us\"\nseries = [\"flows\"]";
        let keys = format!("transport.{transport}\napp.fixed = {{ size = \"1 MB\" }}\n{probes}");
        let series = result(&one_message(&keys)).series;
        let window = series.iter().find(|series| series.quantity == "congestion_window_bytes");
        window.map(|window| window.values.iter().fold(0.0, |most: f64, value| most.max(*value)))
    };
    assert_eq!(shown("uec = {}"), Some(262_926.0));
    assert_eq!(shown("uec = { control = \"rccc\" }"), None);
    assert_eq!(shown("ndp = {}"), None);
    assert_eq!(shown("roce = { window = \"none\" }"), None);
    assert!(shown("roce = { window = \"fixed\" }").is_some_and(|bytes| bytes > 150_000.0));
    // The window is Swift's own, which starts with 32 packets.
    assert!(shown("roce = { window = \"none\", control = \"swift\" }").is_some_and(|bytes| bytes >= 32_000.0));
}
