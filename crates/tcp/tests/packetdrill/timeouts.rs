//! Timeouts. These tables are derived from Linux's rules (`tcp_enter_loss`, `tcp_timeout_mark_lost`, `tcp_slow_start`,
//! `tcp_fastretrans_alert`) rather than taken from a script. With a round trip of 100 ms the timeout is 300 ms.

use crate::driver::{Row, Script, again, at, new, timer};
use crate::linux;

pub fn scripts() -> Vec<Script> {
    vec![in_a_recovery(), growth(), more_than_one_in_flight(), lost_retransmission(), small_segments()]
}

fn in_a_recovery() -> Script {
    Script {
        path: "rules/rto-in-a-recovery",
        about: "The retransmission is lost, too. The threshold was set when the recovery began, and stays.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(100).sack(0, &[(1, 2)]),
            at(100).sack(0, &[(1, 3)]),
            at(100).sack(0, &[(1, 4)]).sends(&[again(0, 1)]).threshold(7),
            timer(400, 405).sends(&[again(0, 1)]).window(1).threshold(7),
            // One segment has arrived; the other three were known to have.
            at(500).ack(4).sends(&[again(4, 6)]).window(2).threshold(7),
        ],
    }
}

/// Nothing of ten segments arrives: a probe, and a timeout.
fn ten_are_lost() -> Vec<Row> {
    vec![
        at(0).write(10).sends(&[new(0, 10)]),
        timer(200, 205).sends(&[again(9, 10)]),
        timer(500, 505).sends(&[again(0, 1)]).window(1).threshold(7),
        at(600).ack(1).sends(&[again(1, 3)]).window(2),
    ]
}

fn growth() -> Script {
    let mut rows = ten_are_lost();
    rows.extend([
        at(700).ack(3).sends(&[again(3, 7)]).window(4),
        // Up to the threshold by slow start; one segment counts for congestion avoidance.
        at(800).ack(7).sends(&[again(7, 10)]).window(7).threshold(7),
    ]);
    Script {
        path: "rules/rto-growth",
        about: "After a timeout the window grows by what each ACK covers, up to the threshold.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn more_than_one_in_flight() -> Script {
    Script {
        path: "rules/rto-recent-data-stays-in-flight",
        about: "What was sent less than a round trip ago is not lost, and adds to the window.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(1).sends(&[new(0, 1)]),
            at(100).ack(1),
            at(100).write(1).sends(&[new(1, 2)]),
            timer(400, 405).sends(&[again(1, 2)]),
            at(650).write(3).sends(&[new(2, 5)]),
            timer(700, 705).sends(&[again(1, 2)]).window(4).threshold(7),
        ],
    }
}

fn lost_retransmission() -> Script {
    let mut rows = ten_are_lost();
    // Segment 1 is lost again. 2 x 717 / 1024 is 1, and the threshold is at least 2.
    rows.push(at(700).sack(1, &[(2, 3)]).sends(&[again(1, 2)]).threshold(2));
    Script {
        path: "rules/rto-then-lost-retransmission",
        about: "A retransmission that is lost after a timeout reduces the window once more.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn small_segments() -> Script {
    Script {
        path: "rules/rack-counts-segments",
        about: "Three segments SACKed, of half the size: the first is lost at once, without waiting for reordering.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(0.5),
            at(0).write(0.5),
            at(0).write(0.5),
            at(0).write(0.5).sends(&[new(0, 2)]),
            at(100).sack(0, &[(0.5, 2.0)]).sends(&[again(0, 0.5)]),
        ],
    }
}
