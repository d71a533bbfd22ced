//! Video and web pages over a network.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run, run_in_order};

/// A server sends over `rate` to a user at a distance of 20 ms and back.
fn text(rate: &str, queue: &str, app: &str, others: &str) -> String {
    format!(
        r#"
        duration = "60 s"
        warmup = "10 s"
        [topology.star]
        access = {{ rate = "10 Gbps", delay = "5 ms" }}
        bottleneck = {{ rate = "{rate}", delay = "5 ms", queue = {queue} }}
        [[flows]]
        name = "user"
        host_jitter = "none"
        transport.tcp = {{ delayed_ack = false }}
        app.{app}
        {others}
        "#
    )
}

fn load(text: &str) -> Scenario {
    Scenario::load(text, "applications.toml", &[]).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

fn simulate(text: &str) -> RunResult {
    run(&load(text), None, None, &mut |_| true).unwrap()
}

#[test]
fn a_page_takes_a_round_trip_for_each_turn() {
    for (parallel, turns) in [(1, 4.0), (2, 3.0), (3, 2.0), (1000, 2.0)] {
        let web = format!(
            "web = {{ main = \"1000 B\", objects = 3, object = \"1000 B\", parsing = \"50 ms\", reading = \"1 s\", \
             parallel = {parallel} }}"
        );
        let result = simulate(&text("1 Gbps", "\"drop_tail\"", &web, ""));
        let (pages, mean_s) = (&result.pages, result.pages.floats("load_mean_s")[0]);
        // 20 ms a turn, and less than 0.1 ms for the transmissions.
        let expected = 0.05 + turns * 0.02;
        assert!((expected..expected + 4e-4).contains(&mean_s), "{parallel}: {mean_s} instead of {expected}");
        let per_page = 1.0 + mean_s;
        assert!((pages.counts("loaded")[0] as f64 - 50.0 / per_page).abs() <= 1.0);
        assert_eq!(result.flows.counts("transfers_completed")[0], pages.counts("loaded")[0]);
        assert!(result.videos.columns.is_empty());
    }
}

/// Six objects of 1000 B, or as many as given, over some connections of a fast link with a round trip of 20 ms.
fn browser(connections: u32, objects: u32) -> String {
    let web = format!(
        "web = {{ connections = {connections}, main = \"1000 B\", objects = {objects}, object = \"1000 B\", parsing = \
         \"50 ms\", reading = \"1 s\" }}"
    );
    text("1 Gbps", "\"drop_tail\"", &web, "")
}

#[test]
fn objects_come_over_several_connections() {
    // Each connection is open after the first page, and then takes an object in a round trip.
    for (connections, objects, turns) in [(6, 6, 1), (6, 7, 2), (6, 13, 3), (3, 6, 2), (2, 1, 1), (32, 40, 2)] {
        let pages = simulate(&browser(connections, objects)).pages;
        let (mean_s, expected) = (pages.floats("load_mean_s")[0], 0.07 + f64::from(turns) * 0.02);
        // Less than 1 ms for the transmissions.
        assert!((expected..expected + 1e-3).contains(&mean_s), "{connections}, {objects}: {mean_s}");
    }
}

#[test]
fn each_connection_opens_with_a_handshake() {
    // The first connection serves an object in each round trip, the others after one for the handshake.
    for (connections, objects, turns) in [(6, 1, 1), (6, 6, 2), (6, 7, 2), (6, 8, 3), (6, 13, 3), (6, 14, 4), (2, 5, 3)]
    {
        let first = browser(connections, objects).replace("\"60 s\"", "\"1 s\"").replace("\"10 s\"", "\"0 s\"");
        let pages = simulate(&first).pages;
        // The first connection's handshake, the main object, parsing, the objects.
        let (load_s, expected) = (pages.floats("load_max_s")[0], 0.09 + f64::from(turns) * 0.02);
        assert_eq!(pages.counts("loaded")[0], 1);
        assert!((expected..expected + 1e-3).contains(&load_s), "{connections}, {objects}: {load_s}");
    }
}

#[test]
fn a_browser_has_a_row_for_its_connections() {
    let probes = "[probes]\ninterval = \"1 s\"\nseries = [\"flows\"]\n[topology.star]";
    let result = simulate(&browser(6, 12).replacen("[topology.star]", probes, 1));
    let (flows, loaded) = (&result.flows, result.pages.counts("loaded")[0]);
    assert_eq!(flows.texts("name").iter().collect::<Vec<_>>(), ["user", "user/request"]);
    // All pages but for the two that the measured interval may cut.
    for (flow, bytes) in [13 * 1000, 13 * 328].into_iter().enumerate() {
        let payload = flows.floats("goodput_bps")[flow] * 50.0 / 8.0;
        let pages = payload / f64::from(bytes);
        assert!((pages - loaded as f64).abs() <= 1.0, "{pages} pages, not {loaded}");
    }
    assert_eq!(flows.counts("transfers_completed")[0], loaded);
    let series = |quantity: &str| result.series.iter().filter(|series| series.quantity == quantity).collect::<Vec<_>>();
    let mean = series("goodput_bps")[0].values[10..].iter().sum::<f64>() / 50.0;
    assert!((mean - flows.floats("goodput_bps")[0]).abs() < 1e-6 * mean);
    assert_eq!((series("goodput_bps").len(), series("congestion_window_bytes").len()), (2, 0));
}

#[test]
fn connections_share_a_fair_queue_like_users() {
    // Two browsers load large objects all the time; the scheduler divides the link among their connections.
    let web = |connections: u32| {
        format!("web = {{ connections = {connections}, objects = 200, object = \"200 KB\", reading = \"10 ms\" }}")
    };
    let other = format!("[[flows]]\nname = \"other\"\ntransport = \"tcp\"\napp.{}", web(6));
    let flows = simulate(&text("20 Mbps", "\"fq_codel\"", &web(2), &other)).flows;
    let goodputs = flows.floats("goodput_bps");
    let ratio = goodputs[2] / goodputs[0];
    assert!((2.3..3.3).contains(&ratio), "{ratio}");
}

#[test]
fn a_download_in_the_same_queue_delays_pages() {
    let download = "[[flows]]\nname = \"download\"\ntransport = \"tcp\"";
    let p50 = |queue: &str| {
        let web = "web = { objects = 10, object = \"5 KB\", reading = \"500 ms\" }";
        simulate(&text("10 Mbps", queue, web, download)).pages.floats("load_p50_s")[0]
    };
    let (fifo, fair) = (p50("{ drop_tail = { limit = \"500 packets\" } }"), p50("\"fq_codel\""));
    assert!(fifo > 3.0 * fair, "{fifo}, {fair}");
}

#[test]
fn video_takes_the_bitrate_that_fits() {
    // The low bitrates of the start are in the buffer for up to 25 s.
    for (rate, least, most) in [("2 Mbps", 1.4e6, 1.92e6), ("20 Mbps", 5.999e6, 6.001e6)] {
        let late = text(rate, "\"drop_tail\"", "video = {}", "").replace("warmup = \"10 s\"", "warmup = \"40 s\"");
        let videos = simulate(&late).videos;
        let bitrate = videos.floats("bitrate_mean_bps")[0];
        assert!((least..=most).contains(&bitrate), "{rate}: {bitrate}");
        assert_eq!(videos.counts("stalls")[0], 0);
        assert!((videos.floats("played_s")[0] - 20.0).abs() < 1e-6, "it plays all the time");
        assert!((0.02..0.5).contains(&videos.floats("startup_s")[0]));
    }
}

#[test]
fn a_video_of_one_bitrate_stalls_where_the_link_is_slower() {
    // 3 s of video arrive in 4 s, and a little more for headers and requests.
    let video = "video = { bitrates = [\"4 Mbps\"] }";
    let result = simulate(&text("3 Mbps", "\"drop_tail\"", video, ""));
    let videos = &result.videos;
    let (played, stalled) = (videos.floats("played_s")[0], videos.floats("stalled_s")[0]);
    assert!((played + stalled - 50.0).abs() < 1e-6);
    assert!((0.70..0.75).contains(&(played / 50.0)), "{played}");
    assert!((11..=13).contains(&videos.counts("stalls")[0]), "{}", videos.counts("stalls")[0]);
}

#[test]
fn an_abandoned_download_leaves_the_link_to_the_next() {
    // 10 Mb/s carry 6 Mb/s of video, 1 Mb/s a sixth: the rest of an abandoned segment must not follow.
    let slow = "{ drop_tail = { limit = \"50 packets\" } }, service = [{ rate = \"1 Mbps\", from = \"30 s\" }]";
    let video = "video = { rule = \"throughput\", buffer = \"12 s\" }";
    let result = simulate(&text("10 Mbps", slow, video, ""));
    let videos = &result.videos;
    assert_eq!(videos.counts("stalls")[0], 0);
    assert!((1..=8).contains(&videos.counts("segments_abandoned")[0]), "{}", videos.counts("segments_abandoned")[0]);
    assert!((videos.floats("played_s")[0] - 50.0).abs() < 1e-6);
    let bola = simulate(&text("10 Mbps", slow, "video = { buffer = \"12 s\" }", "")).videos;
    assert!(bola.counts("segments_abandoned")[0] == 0 && bola.counts("stalls")[0] > 0, "BOLA waits for the segment");
}

#[test]
fn each_rule_plays_a_video_of_one_bitrate() {
    for rule in ["bola", "throughput", "dynamic", "buffer_based"] {
        let video = format!("video = {{ bitrates = [\"1 Mbps\"], rule = \"{rule}\" }}");
        let videos = simulate(&text("5 Mbps", "\"drop_tail\"", &video, "")).videos;
        assert!((videos.floats("bitrate_mean_bps")[0] - 1e6).abs() < 1e-3 && videos.counts("stalls")[0] == 0, "{rule}");
    }
}

#[test]
fn a_watched_video_has_its_bitrate_and_buffer_over_time() {
    let probes = "[probes]\ninterval = \"1 s\"\nseries = [\"flows\"]";
    let text = text("2 Mbps", "\"drop_tail\"", "video = { length = \"30 s\" }", "");
    let text = text.replacen("[topology.star]", &format!("{probes}\n[topology.star]"), 1);
    let result = simulate(&text);
    let series = |quantity: &str| result.series.iter().find(|series| series.quantity == quantity).unwrap();
    let (bitrates, buffers) = (&series("video_bitrate_bps").values, &series("video_buffer_s").values);
    assert_eq!((bitrates.len(), buffers.len()), (60, 60));
    assert!(bitrates[9] > 0.0 && buffers[9] > 3.0);
    assert_eq!((bitrates[50], buffers[50]), (0.0, 0.0), "the video is over");
    assert!(buffers.iter().all(|buffer| (0.0..=25.0).contains(buffer)));
}

#[test]
fn the_order_of_events_does_not_matter() {
    let others = r#"
        [[flows]]
        name = "pages"
        count = 3
        transport = "tcp"
        app.web = { reading = "200 ms" }
        [[flows]]
        name = "browser"
        count = 2
        transport = "tcp"
        app.web = { reading = "200 ms", connections = 6 }
        [[flows]]
        name = "more"
        count = 2
        transport.tcp = { sack = true }
        app.video = { rule = "buffer_based", segment = "1 s", buffer = "5 s" }
        [[flows]]
        name = "download"
        transport = "tcp"
    "#;
    // The rate falls, so that downloads are abandoned.
    let queue = "\"fq_codel\", service = [{ rate = \"1 Mbps\", from = \"30 s\" }]";
    let scenario = load(&text("10 Mbps", queue, "video = { rule = \"dynamic\" }", others));
    let one = run(&scenario, None, None, &mut |_| true).unwrap();
    let in_order = run_in_order(&scenario, None, None, &mut |_| true).unwrap();
    assert_eq!(one.digest, in_order.digest);
    assert!(one.videos.counts("segments_abandoned")[0] > 0);
    assert_eq!((one.videos.texts("name").len(), one.pages.texts("name").len()), (3, 5));
}

#[test]
fn values_out_of_bounds_are_refused() {
    for (app, message) in [
        ("video = { bitrates = [] }", "expected 1 to 64 bitrates"),
        ("video = { bitrates = [\"2 Mbps\", \"1 Mbps\"] }", "does not ascend"),
        ("video = { buffer = \"5 s\" }", "at least two segments"),
        ("video = { length = \"1 s\" }", "shorter than a segment"),
        ("video = { request = \"0 B\" }", "expected 1 B to 1000 B"),
        ("video.rule.buffer_based = { reservoir = \"20 s\" }", "both within `buffer` less a segment"),
        ("video.rule.buffer_based = { reservoir = \"5000 h\", cushion = \"446745 s\" }", "both within `buffer`"),
        ("web = { parallel = 0 }", "expected 1 to 1000"),
        ("web = { connections = 0 }", "expected 1 to 32"),
        ("web = { connections = 33 }", "expected 1 to 32"),
        ("web = { objects = 20000 }", "expected 0 to 10000"),
        ("web = { object = \"0 B\" }", "expected 1 B to"),
        ("video.rule = \"abr\"", "abr"),
    ] {
        let error = Scenario::load(&text("1 Mbps", "\"drop_tail\"", app, ""), "applications.toml", &[]).unwrap_err();
        assert!(error.render(false).contains(message), "{app}: {}", error.render(false));
    }
    let probes = "[probes]\ninterval = \"1 s\"\nsenders = [\"user\"]\n[topology.star]";
    let watched = browser(2, 1).replacen("[topology.star]", probes, 1);
    let error = Scenario::load(&watched, "applications.toml", &[]).unwrap_err();
    assert!(error.render(false).contains("a flow for each of its connections"), "{}", error.render(false));
    let short = text("1 Mbps", "\"drop_tail\"", "video = {}", "").replace("delayed_ack = false", "segment = \"200 B\"");
    let error = Scenario::load(&short, "applications.toml", &[]).unwrap_err();
    assert!(error.render(false).contains("since requests of `app` must not be cut"), "{}", error.render(false));
}
