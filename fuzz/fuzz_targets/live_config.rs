//! No text makes the reader of live configurations panic. An error can be drawn. An accepted configuration can be built
//! within its buffers, and a setting that changes nothing leaves it unchanged.
#![no_main]

use forebay_live::config::LiveConfig;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    // Lines behind a NUL are settings, as `--set` and the control socket give them.
    let (file, settings) = text.split_once('\0').unwrap_or((text, ""));
    let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let overrides: Vec<(String, String)> = settings.lines().filter_map(pair).collect();
    let config = match LiveConfig::load(file, "fuzz.toml", &overrides) {
        Err(error) => {
            assert!(!error.render(false).trim().is_empty());
            return Corpus::Keep;
        }
        Ok(config) => config,
    };
    let mut forgetful = Vec::new();
    for one in &overrides {
        forebay_document::append_override(&mut forgetful, one.clone());
    }
    assert!(forgetful.len() <= overrides.len());
    for (name, direction) in config.directions() {
        // Bounds were checked when it was read, and memory as well.
        let buffers = u64::from(config.buffers(Some(direction)));
        assert!(direction.buffers_needed() <= buffers, "{name}: {buffers}");
        if buffers <= 1 << 16 {
            let built = direction.build(&direction.queue, config.control.seed).expect("its parameters were checked");
            assert!(built.most_packets <= buffers);
            direction.build_shadow(config.control.seed).expect("its parameters were checked");
        }
    }
    Corpus::Keep
});
