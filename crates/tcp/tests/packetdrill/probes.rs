//! Tail loss probes. These tables are derived from Linux's rules (`tcp_schedule_loss_probe`, `tcp_send_loss_probe`,
//! `tcp_process_tlp_ack`) rather than taken from a script. With a round trip of 100 ms the timeout is 300 ms. The probe
//! is sent after two round trips, 200 ms more if a single segment is in flight, and at the timeout at the latest.

use forebay_tcp::TcpConfig;

use crate::driver::{Row, Script, again, at, new, timer};
use crate::linux;

pub fn scripts() -> Vec<Script> {
    vec![mended(), in_vain(), new_data(), not_timed(), mark_before_the_answer(), two_small_segments()]
}

/// The fourth of four segments is not acknowledged, and repeated.
fn last_of_four_is_repeated() -> Vec<Row> {
    vec![
        at(0).write(4).sends(&[new(0, 4)]),
        at(100).ack(3).window(10),
        timer(400, 405).sends(&[again(3, 4)]).window(10).no_threshold(),
    ]
}

fn mended() -> Script {
    let mut rows = last_of_four_is_repeated();
    rows.extend([
        // It may be the ACK of the probe or of the original.
        at(500).ack(4).window(10).no_threshold(),
        at(500).write(1).sends(&[new(4, 5)]),
        // No D-SACK has come: the probe has repaired a loss.
        at(600).ack(5).window(7).threshold(7),
        // That is proved: a later D-SACK undoes nothing.
        at(601).sack(5, &[(3, 4)]).window(7).threshold(7),
    ]);
    Script {
        path: "rules/tlp-mends-a-loss",
        about: "The probe has mended a loss, which reduces the window with the first ACK beyond it.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn in_vain() -> Script {
    let mut rows = last_of_four_is_repeated();
    rows.extend([
        at(410).ack(4).window(10).no_threshold(),
        at(500).sack(4, &[(3, 4)]).window(10).no_threshold(),
        at(500).write(1).sends(&[new(4, 5)]),
        at(600).ack(5).window(10).no_threshold(),
    ]);
    Script {
        path: "rules/tlp-in-vain",
        about: "Both copies arrive, as a D-SACK tells: the window stays.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn new_data() -> Script {
    Script {
        path: "rules/tlp-new-data",
        about: "A probe is new data where there is some, beyond the window; its ACK says that nothing is missing.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(12).sends(&[new(0, 10)]),
            timer(200, 205).sends(&[new(10, 11)]).window(10),
            at(300).ack(11).no_threshold().sends(&[new(11, 12)]),
            at(400).ack(12).no_threshold(),
        ],
    }
}

fn not_timed() -> Script {
    Script {
        path: "rules/tlp-is-not-timed",
        about: "Without timestamps, the ACK of a segment that a probe repeats is no round-trip sample (Karn): the \
                timeout stays at 300 ms.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(1).sends(&[new(0, 1)]),
            at(100).ack(1),
            at(100).write(1).sends(&[new(1, 2)]),
            timer(400, 405).sends(&[again(1, 2)]),
            at(500).ack(2),
            at(500).write(1).sends(&[new(2, 3)]),
            timer(800, 805).sends(&[again(2, 3)]),
        ],
    }
}

fn mark_before_the_answer() -> Script {
    let mut rows = last_of_four_is_repeated();
    rows.extend([
        // 10 x 717 / 1024. The reduction ends the episode of the probe (`tlp_high_seq`).
        at(500).ack(4).ece().threshold(7),
        at(500).write(1).sends(&[new(4, 5)]),
        at(600).ack(5).window(7).threshold(7),
    ]);
    Script {
        path: "rules/tlp-and-a-mark",
        about: "A mark has reduced the window: the loss that the probe has mended does not reduce it once more.",
        config: TcpConfig { ecn: true, ..linux() },
        round_trip: 100.0,
        rows,
    }
}

fn two_small_segments() -> Script {
    Script {
        path: "rules/tlp-two-small-segments",
        about: "Two segments of half the size are two: the receiver does not delay an ACK of both, and the probe \
                comes after two round trips.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(0.5).sends(&[new(0, 0.5)]),
            at(0).write(0.5).sends(&[new(0.5, 1)]),
            timer(200, 205).sends(&[again(0.5, 1)]),
        ],
    }
}
