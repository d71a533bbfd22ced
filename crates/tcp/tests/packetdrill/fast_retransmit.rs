//! Conditions for a loss.

use crate::driver::{FIN, Script, again, at, new, timer};
use crate::{linux, linux_1460, without_sack};

pub fn scripts() -> Vec<Script> {
    vec![last_byte(), last_segment(), three_sacks(), three_duplicates()]
}

fn last_byte() -> Script {
    Script {
        path: "fast_retransmit/fr-4pkt-fack-last-byte",
        about: "A SACK of a single byte tells nothing: probe for the tail, then timeout.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(100).sack(0, &[(3.999, 4.0)]).sends(&[]),
            timer(200, 205).sends(&[again(3, 4)]),
            timer(500, 515).sends(&[again(0, 1)]),
            at(1005).sack(1, &[(3.999, 4.0)]).sends(&[again(1, 3)]),
            at(1105).sack(3, &[(3.999, 4.0)]).sends(&[again(3, 4)]),
            at(1205).ack(4).sends(&[]),
            at(1205).close().sends(&[FIN]),
        ],
    }
}

fn last_segment() -> Script {
    Script {
        path: "fast_retransmit/fr-4pkt-fack-last-mss",
        about: "A SACK of the last of four segments: the others are lost a quarter of a round trip later.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(100).sack(0, &[(3, 4)]).sends(&[]),
            // The script says 40 ms, those of the folder `sack` 27 ms for the same case: the kernel adds two ticks of
            // its clock to the 25 ms, of 1 to 10 ms each.
            timer(125, 140).sends(&[again(0, 1)]),
        ],
    }
}

fn three_sacks() -> Script {
    Script {
        path: "fast_retransmit/fr-4pkt-sack",
        about: "Three SACKs: a fast retransmission.",
        config: linux_1460(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(100).sack(0, &[(1, 2)]),
            at(100).sack(0, &[(1, 3)]),
            at(100).sack(0, &[(1, 4)]).sends(&[again(0, 1)]),
            at(200).ack(4),
            at(300).close().sends(&[FIN]),
        ],
    }
}

fn three_duplicates() -> Script {
    Script {
        path: "fast_retransmit/fr-4pkt",
        about: "Three duplicate ACKs without SACK: a fast retransmission.",
        config: without_sack(linux_1460()),
        round_trip: 100.0,
        rows: vec![
            at(0).write(4).sends(&[new(0, 4)]),
            at(100).ack(0),
            at(100).ack(0),
            at(100).ack(0).sends(&[again(0, 1)]),
            at(200).ack(4),
            at(300).close().sends(&[FIN]),
        ],
    }
}
