//! No text makes the reader of htsim's topologies panic. An error can be drawn. An accepted topology gives a scenario
//! that loads.
#![no_main]

use forebay_scenario::{HtsimFile, HtsimRun, Scenario, scenario_from_htsim};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Larger networks only take longer.
const MOST_NODES: u32 = 512;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let value = |name: &str| {
        let words = text.lines().filter_map(|line| line.split_once(' '));
        words.filter(|(key, _)| key.eq_ignore_ascii_case(name)).find_map(|(_, value)| value.trim().parse::<u32>().ok())
    };
    let nodes = value("Nodes").unwrap_or(2).clamp(2, MOST_NODES);
    let rate = u64::from(value("Downlink_speed_Gbps").unwrap_or(100)) * 1000;
    let matrix = format!("Nodes {nodes}\nConnections 1\n0->1 start 0 size 1\n");
    let options = format!("-linkspeed {rate} -failed 1");
    let run = HtsimRun {
        matrix: HtsimFile { text: &matrix, name: "fuzz.cm" },
        topology: Some(HtsimFile { text, name: "fuzz.topo" }),
        options: &options,
    };
    match scenario_from_htsim(&run) {
        Ok(scenario) => {
            let loaded = Scenario::load_with(&scenario, "fuzz.toml", &[], &|_| Ok(matrix.clone()));
            assert!(loaded.is_ok(), "it was checked");
        }
        Err(error) => assert!(!error.render(false).trim().is_empty()),
    }
    Corpus::Keep
});
