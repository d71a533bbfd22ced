//! TCP presets: their values, overrides, and a loss that a modern sender survives and an old one does not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_scenario::{Scenario, run};

/// Fifty flows against a flood that fills the link on its own, through PIE.
const FLOOD: &str = r#"duration = "20 s"

[topology.dumbbell]
access = { rate = "1 Gbps", delay = "1 ms" }
bottleneck = { rate = "100 Mbps", delay = "10 ms", queue = "pie" }

[[flows]]
name = "tcp"
count = 50
transport = "tcp"
start = { uniform = ["0 s", "1 s"] }

[[flows]]
name = "flood"
transport.udp = { packet = "1500 B", constant = { rate = "100 Mbps" } }
"#;

fn load(tcp: &str) -> Result<Scenario, String> {
    let overrides = [("flows.tcp.transport".to_owned(), format!("{{ tcp = {tcp} }}"))];
    Scenario::load(FLOOD, "flood.toml", &overrides).map_err(|error| format!("{error:?}"))
}

/// The goodputs of the fifty, in bits per second.
fn goodputs(tcp: &str, seed: u64) -> Vec<f64> {
    let result = run(&load(tcp).unwrap(), Some(seed), None, &mut |_| true).unwrap();
    let (names, goodputs) = (result.flows.texts("name"), result.flows.floats("goodput_bps"));
    names.iter().zip(goodputs).filter(|(name, _)| name.starts_with("tcp")).map(|(_, &goodput)| goodput).collect()
}

/// How many of 600 have less than a fifth of their mean.
fn starved(tcp: &str) -> usize {
    let of_seed = |seed| {
        let goodputs = goodputs(tcp, seed);
        let mean = goodputs.iter().sum::<f64>() / goodputs.len() as f64;
        goodputs.iter().filter(|&&goodput| goodput < mean / 5.0).count()
    };
    (1..=12).map(of_seed).sum()
}

/// Without timestamps a timeout that has doubled stays doubled until a segment that was sent once is acknowledged.
#[test]
fn heavy_loss_starves_fewer_senders_with_timestamps() {
    let with = [r#"{ preset = "linux" }"#, r#"{ preset = "rfc" }"#].map(starved);
    let without = [r#"{ preset = "basic", sack = true, min_rto = "200 ms" }"#, r#"{ preset = "ns2", sack = true }"#];
    let without = without.map(starved);
    assert!(3 * with.iter().sum::<usize>() < without.iter().sum(), "{with:?}, {without:?}");
}

#[test]
fn a_key_beside_a_preset_overrides_it_wherever_it_stands() {
    let all = [
        r#"{ preset = "linux", initial_window_segments = 1 }"#,
        r#"{ initial_window_segments = 1, preset = "linux" }"#,
    ];
    let [before, after] = all.map(|tcp| goodputs(tcp, 1));
    assert_eq!(before, after);
    assert_ne!(before, goodputs(r#"{ preset = "linux" }"#, 1));
}

#[test]
fn the_default_preset_is_linux() {
    let config = |tcp: &str| load(tcp).unwrap().spec().flows[0].transport.clone();
    assert_eq!(config("{}"), config(r#"{ preset = "linux" }"#));
    assert_ne!(config("{}"), config(r#"{ preset = "basic" }"#));
}

/// Switching off an option also switches off everything that needs it.
#[test]
fn a_preset_without_an_option_is_a_tcp_without_it() {
    for keys in ["sack = false", "rack = false", "timestamps = false", "sack = false, timestamps = false"] {
        for preset in ["linux", "rfc"] {
            let loaded = load(&format!("{{ preset = \"{preset}\", {keys} }}"));
            assert!(loaded.is_ok(), "{preset}, {keys}: {}", loaded.err().unwrap());
        }
    }
}

#[test]
fn what_needs_an_option_says_so() {
    let error = load(r#"{ preset = "basic", rack = true }"#).unwrap_err();
    assert!(error.contains("`rack` must be false unless sack is true"), "{error}");
    let error = load(r#"{ preset = "bsd" }"#).unwrap_err();
    assert!(error.contains("\"linux\"") || error.contains("linux"), "{error}");
}

/// A sender behind a slow access link has a millisecond of its rate there, or else its whole window.
#[test]
fn small_queues_keep_a_window_out_of_the_senders_own_uplink() {
    let round_trip = |tcp: &str| {
        let text = format!(
            r#"duration = "10 s"
            [topology.star]
            access = {{ rate = "10 Mbps", delay = "5 ms" }}
            bottleneck = {{ rate = "1 Gbps", delay = "5 ms" }}
            [[flows]]
            name = "f"
            transport.tcp = {tcp}"#
        );
        let scenario = Scenario::load(&text, "slow.toml", &[]).unwrap();
        let result = run(&scenario, None, None, &mut |_| true).unwrap();
        (result.flows.floats("delay_mean_s")[0], result.flows.floats("goodput_bps")[0])
    };
    let (with, goodput) = round_trip("{}");
    let (without, _) = round_trip("{ small_queues = false }");
    // Propagation takes 10 ms, three segments 3.6 ms.
    assert!(with < 0.015, "{with}");
    assert!(goodput > 9.4e6, "{goodput}");
    assert!(without > 0.2, "{without}");
}
