//! No text makes the parsers of quantities panic, and what they take reads back as it is written.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use forebay_units::{Bytes, QueueSize, Rate, Span};
use libfuzzer_sys::fuzz_target;

fn reads_back<T: FromStr<Err: Debug> + Display + Debug + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().expect("what is written reads back"), value);
    }
}

fuzz_target!(|text: &str| {
    reads_back::<Span>(text);
    reads_back::<Rate>(text);
    reads_back::<Bytes>(text);
    reads_back::<QueueSize>(text);
});
