//! No bytes make the reader of requests for metrics panic, and pieces that arrive one after the other give the verdict
//! of the whole.
#![no_main]

use forebay_live::metrics::{MOST_REQUEST_BYTES, MetricsRequest, parse_head};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [piece, head @ ..] = bytes else { return };
    let whole = parse_head(head);
    let step = usize::from(*piece) + 1;
    let lengths = (step..head.len()).step_by(step).chain([head.len()]);
    let first = lengths.filter_map(|length| parse_head(&head[..length])).next();
    assert_eq!(first, whole);
    if head.len() > MOST_REQUEST_BYTES {
        assert!(whole.is_some(), "it would be read without end");
    }
    if let Some(MetricsRequest::Metrics { .. }) = whole {
        assert!(head.starts_with(b"GET /") || head.starts_with(b"HEAD /") || head[0].is_ascii_whitespace());
    }
});
