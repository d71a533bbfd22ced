//! No text makes the reader of htsim's connection matrices panic. A matrix that it accepts has the connections that it
//! promises, between nodes that it has, and each reads back as it is written.
#![no_main]

use forebay_scenario::Matrix;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(bytes) else { return Corpus::Reject };
    match Matrix::parse(text) {
        Ok(matrix) => {
            for connection in &matrix.connections {
                let [from, to] = connection.ends;
                assert!(from != to && from < matrix.nodes && to < matrix.nodes && connection.bytes > 0);
                let written = connection.to_string();
                let again = Matrix::parse(&format!("Nodes {}\nConnections 1\n{written}\n", matrix.nodes));
                assert_eq!(again.expect("what is written is read").connections[0].to_string(), written);
            }
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    Corpus::Keep
});
