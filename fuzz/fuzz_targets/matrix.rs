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
            }
            let lines = |matrix: &Matrix| {
                let connections = matrix.connections.iter().map(ToString::to_string);
                connections.chain(matrix.triggers.iter().map(ToString::to_string)).collect::<Vec<_>>().join("\n")
            };
            let (nodes, count) = (matrix.nodes, matrix.connections.len());
            let again = Matrix::parse(&format!("Nodes {nodes}\nConnections {count}\n{}\n", lines(&matrix)));
            assert_eq!(lines(&again.expect("what is written is read")), lines(&matrix));
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
    Corpus::Keep
});
