//! One scenario with every kind of traffic, as a table of integers that a person can read in a diff.
//!
//! The same table is checked against the release build by `tests/python/test_golden.py`: equal digests mean that debug
//! and release, and whatever machines run the two, agree to the last bit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;

use forebay_engine::RunResult;
use forebay_scenario::{Scenario, run};

/// Counts of flows and queues, and the digest of everything.
fn table(result: &RunResult) -> String {
    let mut text = format!("digest {}\n", result.digest);
    let columns = ["packets_sent", "packets_delivered", "packets_dropped", "packets_marked", "timeouts"];
    for (row, name) in result.flows.texts("name").iter().enumerate() {
        write!(text, "flow {name}").unwrap();
        for column in columns {
            write!(text, " {column}={}", result.flows.counts(column)[row]).unwrap();
        }
        text.push('\n');
    }
    for (row, name) in result.queues.texts("name").iter().enumerate() {
        let count = |column: &str| result.queues.counts(column)[row];
        writeln!(
            text,
            "queue {name} arrived={} dropped={} marked={} belligerent={} longest={}",
            count("packets_arrived"),
            count("packets_dropped"),
            count("packets_marked"),
            count("dropped_belligerent"),
            count("length_max_packets")
        )
        .unwrap();
    }
    text
}

#[test]
fn the_mixed_scenario_gives_what_it_always_gave() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let text = std::fs::read_to_string(folder.join("mixed.toml")).unwrap();
    let scenario = Scenario::load(&text, "mixed.toml", &[]).unwrap();
    let result = run(&scenario, None, None, &mut |_| true).unwrap();
    let measured = table(&result);
    let golden = folder.join("mixed.txt");
    if std::env::var_os("FOREBAY_GOLDEN_UPDATE").is_some() {
        std::fs::write(&golden, &measured).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    assert_eq!(measured, expected, "if the change is meant: FOREBAY_GOLDEN_UPDATE=1 cargo test --test golden");
}
