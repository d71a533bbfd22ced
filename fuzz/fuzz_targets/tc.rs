//! No text makes the reader of `tc` commands panic. An error can be drawn. Accepted commands give keys that a link of a
//! scenario can have, and whose own commands can be printed.
#![no_main]

use forebay_scenario::{Scenario, TcTarget, link_from_tc, tc_commands};
use libfuzzer_sys::{Corpus, fuzz_target};

const REST: &str = "duration = '1 s'\n[[flows]]\nname = 'udp'\n\
                    transport.udp = { packet = '40 B', constant = { rate = '1 kbps' } }\n[topology.star]\n\
                    access = { rate = '1 Gbps', delay = '1 ms' }\n[topology.star.bottleneck]\n";

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    let keys = match link_from_tc(text, "fuzz", None) {
        Ok(keys) => keys,
        Err(error) => {
            assert!(!error.render(false).trim().is_empty());
            return Corpus::Keep;
        }
    };
    let missing = |key: &str, value: &str| {
        if keys.lines().any(|line| line.starts_with(&format!("{key} = "))) { String::new() } else { value.to_owned() }
    };
    let document = [REST, &missing("rate", "rate = '1 Gbps'\n"), &missing("delay", "delay = '0 s'\n"), &keys].concat();
    let scenario = Scenario::load(&document, "fuzz.toml", &[]).expect("the keys of a link are those of a scenario");
    let target = TcTarget { device: "eth0", packet_bytes: 1500 };
    assert!(tc_commands(&scenario, "bottleneck", target).is_some(), "the scenario has a bottleneck");
    Corpus::Keep
});
