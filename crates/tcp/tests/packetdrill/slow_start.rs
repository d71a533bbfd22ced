//! Slow start: with few or many segments to an ACK, with too little to send, after an idle time.

use crate::driver::{Row, Script, at, new, ours};
use crate::why::Why;
use crate::{linux, linux_1460};

pub fn scripts() -> Vec<Script> {
    vec![
        an_ack_for_each(),
        an_ack_for_two_of_five(),
        an_ack_for_two_of_six(),
        an_ack_for_two(),
        an_ack_for_four(),
        after_idle(),
        nine_in_flight(),
        ten_in_flight(),
        paced(),
    ]
}

fn an_ack_for_each() -> Script {
    let mut rows = vec![at(0).write(30).sends(&[new(0, 10)]).window(10)];
    rows.extend((1..=10).map(|ack| at(105 + 5 * ((ack - 1) / 2)).ack(ack).sends(&[new(8 + 2 * ack, 10 + 2 * ack)])));
    rows.push(at(125).window(20));
    Script {
        path: "slow_start/slow-start-ack-per-1pkt",
        about: "An ACK for each segment: two leave for it.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn an_ack_for_two_of_five() -> Script {
    Script {
        path: "slow_start/slow-start-ack-per-2pkt-send-5pkt",
        about: "Five segments in a window of ten: half of it is not in use, and it does not grow.",
        config: linux(),
        round_trip: 0.02,
        rows: vec![
            at(0).write(5).sends(&[new(0, 5)]).window(10),
            at(0.02).ack(2).window(10),
            at(0.04).ack(4).window(10),
            at(0.06).ack(5).window(10),
        ],
    }
}

fn an_ack_for_two_of_six() -> Script {
    Script {
        path: "slow_start/slow-start-ack-per-2pkt-send-6pkt",
        about: "Six segments in a window of ten: it grows to twice what is in use.",
        config: linux(),
        round_trip: 0.02,
        rows: vec![
            at(0).write(6).sends(&[new(0, 6)]).window(10),
            at(0.02).ack(2).window(12),
            at(0.04).ack(4).window(12),
            at(0.06).ack(6).window(12),
        ],
    }
}

fn an_ack_for_two() -> Script {
    let mut rows = vec![at(0).write(30).sends(&[new(0, 10)]).window(10)];
    rows.extend((1..=5).map(|ack| at(100 + 5 * ack).ack(2 * ack).sends(&[new(6 + 4 * ack, 10 + 4 * ack)])));
    rows.push(at(125).window(20));
    Script {
        path: "slow_start/slow-start-ack-per-2pkt",
        about: "An ACK for two segments: four leave for it.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn an_ack_for_four() -> Script {
    Script {
        path: "slow_start/slow-start-ack-per-4pkt",
        about: "An ACK for four segments: eight leave for it.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(30).sends(&[new(0, 10)]).window(10),
            at(110).ack(4).sends(&[new(10, 18)]),
            at(120).ack(8).sends(&[new(18, 26)]),
            at(125).ack(10).sends(&[new(26, 30)]).window(20),
        ],
    }
}

fn after_idle() -> Script {
    Script {
        path: "slow_start/slow-start-after-idle",
        about: "Two idle seconds take a window of 36 back to the initial one.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(26).sends(&[new(0, 10)]).window(10),
            at(100).ack(10).sends(&[new(10, 26)]).window(20),
            at(200).ack(26).window(36),
            at(2200).write(20).first(&[new(26, 31)]).window(10),
        ],
    }
}

/// Data that an application writes once is acknowledged by two segments at a time.
fn written_once(segments: i32, windows: [u64; 5]) -> Vec<Row> {
    let mut rows = vec![at(0).write(segments).sends(&[new(0, segments)]).window(10)];
    let acks = (1..).zip(windows).map(|(ack, window)| at(100 + 5 * ack).ack((2 * ack).min(segments)).window(window));
    rows.extend(acks);
    rows
}

fn nine_in_flight() -> Script {
    Script {
        path: "slow_start/slow-start-app-limited-9-packets-out",
        about: "Nine segments in a window of ten: it grows to twice what was in use.",
        config: linux(),
        round_trip: 100.0,
        rows: written_once(9, [12, 14, 16, 18, 18]),
    }
}

fn ten_in_flight() -> Script {
    Script {
        path: "slow_start/slow-start-app-limited",
        about: "Ten segments in a window of ten: it doubles, though there is nothing more to send.",
        config: linux(),
        round_trip: 100.0,
        rows: written_once(10, [12, 14, 16, 18, 20]),
    }
}

fn paced() -> Script {
    // The script paces from the second round trip on; ours sends at once what the window allows.
    let at_once = |from: i32, to: f64| ours().sends(&[new(from, to)]);
    let written = 40_000.0 / 1460.0;
    Script {
        path: "slow_start/slow-start-fq-ack-per-2pkt",
        about: "With pacing by the queue below (`fq`) the window grows as without.",
        config: linux_1460(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(written).sends(&[new(0, 10)]).window(10),
            at(105).ack(2).window(12).sends(&[new(10, 12)]).but(Why::Pacing, at_once(10, 14.0)),
            at(108).ack(4).window(14),
            at(109).sends(&[new(12, 14)]).but(Why::Pacing, at_once(14, 18.0)),
            at(110).ack(6).window(16),
            at(117).sends(&[new(14, 16)]).but(Why::Pacing, at_once(18, 22.0)),
            at(119).ack(8).window(18),
            at(120).ack(10),
            at(124).sends(&[new(16, 18)]).but(Why::Pacing, at_once(22, written)),
            at(131).sends(&[new(18, 20)]).window(20).but(Why::Pacing, ours().sends(&[])),
        ],
    }
}
