//! No text makes the scenario parser, its validation, the drawing of its errors or the building of its network panic.
#![no_main]

use forebay_scenario::Scenario;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    match Scenario::load(text, "fuzz.toml", &[]) {
        Ok(scenario) => {
            // Builds the network, and stops before it runs for long.
            let _ = forebay_scenario::run(&scenario, None, None, &mut |_| false);
            // The scenario stored with the results is valid again.
            let recorded = scenario.to_toml();
            assert!(Scenario::load(&recorded, "fuzz.toml", &[]).is_ok(), "does not read back:\n{recorded}");
        }
        Err(error) => assert!(!format!("{:?}", miette::Report::new(error)).is_empty()),
    }
    Corpus::Keep
});
