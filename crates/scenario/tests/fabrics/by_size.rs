//! Homa and pFabric in fabrics whose ports serve the packets of short messages first.

use forebay_scenario::Scenario;

use crate::result;

/// Eight priorities, the highest first.
fn priorities() -> String {
    let band = |class: u32| format!(r#"{{ name = "p{class}", classes = [{class}] }}"#);
    let bands: Vec<String> = (0..8).rev().map(band).collect();
    format!("queue.prio.bands = [{}]", bands.join(", "))
}

/// Two bandwidth-delay products of the paper, at 10 Gb/s.
const BY_SIZE: &str = r#"queue.pifo = { limit = "36864 B", ranks = "remaining_size" }"#;

fn leaf_spine(queue: &str, groups: &str) -> String {
    format!(
        r#"
        duration = "20 ms"
        [topology.leaf_spine]
        leaves = 4
        spines = 4
        hosts = 4
        paths = "spray"
        host_link = {{ rate = "10 Gbps", delay = "1 us", {queue} }}
        uplink = {{ rate = "10 Gbps", delay = "1 us", {queue} }}
        {groups}
        "#
    )
}

/// Messages: sender, receiver, bytes and start in us.
fn messages(transport: &str, messages: &[(u32, u32, u64, u64)]) -> String {
    let group = |(index, (from, to, bytes, start)): (usize, &(u32, u32, u64, u64))| {
        format!(
            r#"
            [[flows]]
            name = "m{index}"
            from = "host{from}"
            to = "host{to}"
            start = "{start} us"
            transport.{transport}
            app.fixed = {{ size = "{bytes} B" }}"#
        )
    };
    messages.iter().enumerate().map(group).collect()
}

/// Completion times in us, and slowdowns.
fn times(queue: &str, transport: &str, of: &[(u32, u32, u64, u64)]) -> (Vec<f64>, Vec<f64>) {
    let result = result(&leaf_spine(queue, &messages(transport, of)));
    let delivered: f64 = result.flows.floats("goodput_bps").iter().map(|bps| bps / 8.0 * 0.02).sum();
    let sent = of.iter().map(|message| message.2).sum::<u64>() as f64;
    assert!((delivered - sent).abs() < 0.5, "each byte is delivered once: {delivered} of {sent}");
    let times = result.flows.floats("fct_s").iter().map(|time| time * 1e6).collect();
    (times, result.flows.floats("slowdown").to_vec())
}

#[test]
fn a_message_alone_takes_the_time_of_its_bytes() {
    // Store-and-forward over four links of 10 Gb/s and 1 us, and back: the transports add nothing, neither at the
    // border of the unscheduled bytes nor where the window ends.
    for (transport, queue, [packet, header]) in
        [("homa = {}", priorities(), [1_500_u64, 58]), ("pfabric = {}", BY_SIZE.into(), [1_500, 40])]
    {
        for bytes in [1, 1_442, 1_443, 12_000, 100_000, 2_000_000] {
            let (times, slowdowns) = times(&queue, transport, &[(0, 15, bytes, 0)]);
            let payload = packet - header;
            let packets = bytes.div_ceil(payload);
            let wire = bytes + packets * header;
            // Behind the last packet there is none; before it the largest one fixes the pace of each hop.
            let largest = if packets == 1 { wire } else { packet };
            let last = wire - (packets - 1) * packet;
            let forward = if packets == 1 { 4 * largest } else { (packets - 1) * packet + 3 * packet + last };
            let expected = (forward + 4 * header) as f64 * 8.0 / 1e4 + 8.0;
            assert!((times[0] - expected).abs() < 1e-6, "{transport} {bytes}: {} of {expected}", times[0]);
            assert!((slowdowns[0] - 1.0).abs() < 1e-9 || packets == 2, "{transport} {bytes}: {}", slowdowns[0]);
        }
    }
}

#[test]
fn an_incast_ends_with_the_bytes_of_all_and_the_shortest_first() {
    // 12 senders of other leaves, each with a message of another length.
    let incast: Vec<_> = (0..12).map(|from| (from, 15, 100_000 + 20_000 * u64::from(from), 0)).collect();
    // pFabric's senders do not share the link: packets beyond its rate are lost, and sent again after a timeout.
    for (transport, queue, payload, header, most) in
        [("homa = {}", priorities(), 1_442, 58, 1.05), ("pfabric = {}", BY_SIZE.to_owned(), 1_460, 40, 1.25)]
    {
        let (times, _) = times(&queue, transport, &incast);
        let wire = |bytes: u64| bytes + bytes.div_ceil(payload) * header;
        let bound = incast.iter().map(|message| wire(message.2)).sum::<u64>() as f64 * 8.0 / 1e4;
        let last = times.iter().copied().fold(0.0, f64::max);
        assert!(last > bound && last < most * bound, "{transport}: {last} of {bound}");
        // Data is on its way ahead of the order, so that neighbors may pass each other.
        assert!(times.windows(3).all(|three| three[0] < three[2]), "{transport}: {times:?}");
    }
}

#[test]
fn a_short_message_passes_long_ones() {
    let long = [(0, 15, 4_000_000, 0), (4, 15, 4_000_000, 0), (8, 15, 4_000_000, 0)];
    let all: Vec<_> = long.into_iter().chain([(1, 15, 100, 1_000), (5, 15, 10_000, 1_500)]).collect();
    for (transport, queue) in [("homa = {}", priorities()), ("pfabric = {}", BY_SIZE.to_owned())] {
        let (_, slowdowns) = times(&queue, transport, &all);
        // Each of the four ports may be sending a packet when one comes: 1.2 us each.
        assert!(slowdowns[3] < 2.0 && slowdowns[4] < 1.5, "{transport}: {slowdowns:?}");
        let (_, in_order) = times(r#"queue.drop_tail = { limit = "1 MB" }"#, transport, &all);
        assert!(in_order[3] > 2.0 * slowdowns[3], "{transport}: {in_order:?} and {slowdowns:?}");
    }
}

#[test]
fn a_sender_serves_its_shortest_message_first() {
    // All have one source, and different destinations.
    let all = [(0, 15, 1_000_000, 0), (0, 14, 500_000, 0), (0, 13, 100_000, 0), (0, 12, 1_000, 300)];
    for (transport, queue) in [("homa = { oldest_share = 0 }", priorities()), ("pfabric = {}", BY_SIZE.to_owned())] {
        let (times, slowdowns) = times(&queue, transport, &all);
        assert!(times[2] < times[1] && times[1] < times[0], "{transport}: {times:?}");
        assert!(slowdowns[2] < 1.3 && slowdowns[3] < 1.3, "{transport}: {slowdowns:?}");
    }
}

/// The mean completion time in us of remote procedure calls below 10 KB, at 70 % of the payload that links can carry.
fn mean_of_calls(queue: &str, transport: &str, paths: &str) -> f64 {
    let group = format!(
        r#"
        [[flows]]
        name = "rpc"
        stop = "1 ms"
        transport.{transport}
        pattern.open_loop = {{ load = 0.7, size = {{ cdf = "google_rpc2008" }} }}
        "#
    );
    let text = leaf_spine(queue, &group).replace("\"spray\"", paths).replacen(
        "[topology",
        "host_jitter = \"none\"\n[topology",
        1,
    );
    let flows = result(&text).flows;
    let times = flows.floats("fct_s").iter().zip(flows.floats("size_bytes")).filter(|(_, bytes)| **bytes < 10_000.0);
    let times: Vec<f64> = times.map(|(time, _)| time * 1e6).collect();
    assert!(times.len() > 3_000 && times.iter().all(|time| time.is_finite()), "{transport}: {} calls", times.len());
    times.iter().sum::<f64>() / times.len() as f64
}

#[test]
fn short_calls_are_several_times_faster_than_with_dctcp_over_ecmp() {
    // DCTCP's threshold at 10 Gb/s: 65 packets.
    let marking = r#"queue.red = { limit = "300 KB", min_threshold = "97500 B", max_threshold = "97501 B", weight = 1,
        ecn = true, hard_drop = false }"#
        .replace('\n', " ");
    let dctcp = mean_of_calls(&marking, "tcp = { congestion_control = \"dctcp\" }", "\"ecmp\"");
    for (transport, queue) in [("homa = {}", priorities()), ("pfabric = {}", BY_SIZE.to_owned())] {
        let mean = mean_of_calls(&queue, transport, "\"spray\"");
        assert!(3.0 * mean < dctcp, "{transport}: {mean} us, DCTCP {dctcp} us");
    }
}

#[test]
fn the_classes_of_homa_follow_that_of_the_flow() {
    // Priorities 0 to 7 become classes 8 to 15, of which the queue has bands for all.
    let queue = r#"queue.prio.bands = [
        { name = "high", classes = [12, 13, 14, 15] }, { name = "low", classes = [8, 9, 10, 11] },
        { name = "other", queue.drop_tail = { limit = "1 packets" } },
    ]"#
    .replace('\n', " ");
    let groups = messages("homa = {}", &[(0, 15, 1_000_000, 0), (4, 15, 1_000_000, 0), (8, 15, 500, 300)]);
    let flows = result(&leaf_spine(&queue, &groups.replace("transport.", "class = 8\n transport."))).flows;
    assert_eq!(flows.counts("packets_dropped").iter().sum::<u64>(), 0);
    assert!(flows.floats("slowdown")[2] < 2.0, "{:?}", flows.floats("slowdown"));
}

#[test]
fn mistakes_are_named_with_their_place() {
    let mistake = |queue: &str, transport: &str| {
        let text = leaf_spine(queue, &messages(transport, &[(0, 15, 1_000, 0)]));
        Scenario::load(&text, "by_size.toml", &[]).unwrap_err().render(false)
    };
    assert!(mistake("", "homa = { priorities = 4 }").contains("homa: `cutoffs` must be so few"));
    assert!(mistake("", "homa = { overcommit = 4 }").contains("max_overcommit"));
    assert!(mistake("", "homa = {}\nclass = 249").contains("expected at most 248"));
    assert!(
        mistake("", "pfabric = { window = 10, max_window = 9 }").contains("pfabric: `max_window` must be `window`")
    );
    let switches = |class: u8, keys: &str| {
        let text = leaf_spine("", &messages(&format!("homa = {{}}\nclass = {class}"), &[(0, 15, 1_000, 0)]));
        let switch = format!("switch.ethernet_switch = {{ memory = \"4 MB\"{keys} }}\nuplink");
        Scenario::load(&text.replacen("uplink", &switch, 1), "by_size.toml", &[]).unwrap_err().render(false)
    };
    assert!(switches(1, "").contains("expected priorities from 0 to 7"));
    let by_class = r#", priority_pause = { high = "200 KB", low = "100 KB" }"#;
    assert!(switches(0, by_class).contains("expected `pause` in place of `priority_pause`"));
}

#[test]
fn a_lossless_fabric_of_strict_priorities_delivers_homa() {
    let text =
        leaf_spine("", &messages("homa = {}", &[(0, 15, 2_000_000, 0), (4, 15, 2_000_000, 0), (8, 15, 100, 900)]));
    let switch = r#"switch.ethernet_switch = { memory = "4 MB", strict_priority = true,
        pause = { high = "120 KB", low = "60 KB" } }
        adapter = { pause = { high = "60 KB", low = "30 KB" } }
        uplink"#;
    let flows = result(&text.replacen("uplink", switch, 1)).flows;
    assert_eq!(flows.counts("packets_dropped").iter().sum::<u64>(), 0);
    assert!(flows.floats("slowdown")[2] < 2.0, "{:?}", flows.floats("slowdown"));
}
