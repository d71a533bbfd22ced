//! No text makes the reader of size distributions panic. A distribution that it accepts has at least two points, which
//! rise from a share of 0 to 1, and a mean between them.
#![no_main]

use forebay_scenario::SizeCdf;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    match SizeCdf::parse(text) {
        Ok(sizes) => {
            let points = sizes.points();
            assert!(points.len() >= 2 && points[0].share == 0.0 && points[points.len() - 1].share == 1.0);
            assert!(points.windows(2).all(|pair| pair[0].value < pair[1].value && pair[0].share <= pair[1].share));
            let [least, most] = sizes.bounds();
            let mean = sizes.distribution().mean();
            assert!(mean >= least * (1.0 - 1e-9) && mean <= most * (1.0 + 1e-9), "{mean}");
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    Corpus::Keep
});
