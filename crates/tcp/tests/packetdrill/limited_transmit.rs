//! New data for the first two duplicate ACKs.

use crate::driver::{FIN, Row, Script, Sent, at, new, ours};
use crate::why::Why;
use crate::{linux, without_sack};

pub fn scripts() -> Vec<Script> {
    vec![
        Script {
            path: "limited_transmit/limited-transmit-sack",
            about: "A new segment for each of two SACKs; it was reordering, and the window grows on.",
            config: linux(),
            round_trip: 100.0,
            rows: rows(at(110).sack(0, &[(1, 2)]), at(120).sack(0, &[(1, 3)]), |row, _| row),
        },
        Script {
            path: "limited_transmit/limited-transmit-no-sack",
            about: "A new segment for each of two duplicate ACKs; it was reordering, and the window grows on.",
            config: without_sack(linux()),
            round_trip: 100.0,
            rows: rows(at(110).ack(0), at(120).ack(0), |row, sent| row.but(Why::DuplicatesCount, ours().sends(sent))),
        },
    ]
}

/// `differs` gets our sender's behaviour where Linux does not count twice.
fn rows(first: Row, second: Row, differs: fn(Row, &[Sent]) -> Row) -> Vec<Row> {
    vec![
        at(0).write(15).sends(&[new(0, 10)]),
        first.sends(&[new(10, 11)]),
        second.sends(&[new(11, 12)]),
        // Two of the three were counted when their SACKs or duplicates came: the window grows by one.
        differs(at(130).ack(3).sends(&[new(12, 14)]), &[new(12, 15)]),
        differs(at(150).ack(5).sends(&[new(14, 15)]), &[]),
        at(170).ack(7),
        at(190).ack(9),
        at(210).ack(11),
        at(230).ack(13),
        at(250).ack(15),
        at(420).close().sends(&[FIN]),
    ]
}
