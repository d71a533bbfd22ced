//! No line on the control socket makes the reader of requests panic, and every error says something.
#![no_main]

use forebay_live::control::parse_request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    if let Err(error) = parse_request(line) {
        assert!(!error.trim().is_empty());
    }
});
