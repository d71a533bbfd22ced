//! No text makes the reader of GOAL traces panic. A trace that it accepts reads back as it is written.
#![no_main]

use forebay_scenario::GoalTrace;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    match GoalTrace::parse(text) {
        Ok(trace) => {
            let again = GoalTrace::parse(&trace.lines().join("\n"));
            assert_eq!(again.expect("what is written is read"), trace);
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    Corpus::Keep
});
