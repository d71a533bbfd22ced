//! Giving the window back, and not giving it back. These tables are derived from Linux's rules rather than taken from a
//! script. `tcp_init_undo` starts a count with the retransmissions in flight, a repeating probe included. Each
//! retransmission adds one, each D-SACK of a retransmission subtracts one, and at zero the window is restored. A mark
//! forbids that (`prior_ssthresh`), and the reduction for a mark ends the count (`undo_marker`).

use forebay_tcp::TcpConfig;

use crate::driver::{Row, Script, again, at, new, timer};
use crate::linux;

pub fn scripts() -> Vec<Script> {
    vec![
        late_segment(),
        half_of_the_duplicates(),
        duplicate_of_a_probe(),
        duplicates_of_probe_and_retransmission(),
        mark_in_the_recovery(),
        mark_after_the_recovery(),
        loss_after_an_undo(),
    ]
}

/// Ten segments, of which three SACKs say that the first is lost: 7 of 10 segments are left.
fn first_of_ten_is_missing() -> Vec<Row> {
    vec![
        at(0).write(10).sends(&[new(0, 10)]),
        at(100).sack(0, &[(1, 2)]),
        at(100).sack(0, &[(1, 3)]),
        at(100).sack(0, &[(1, 4)]).sends(&[again(0, 1)]).threshold(7),
    ]
}

/// The same with more to send: the first two SACKs release two new segments, and the recovery lasts up to segment 12.
/// Segment 0 is only late.
fn first_of_many_is_late() -> Vec<Row> {
    let mut rows = vec![
        at(0).write(40).sends(&[new(0, 10)]),
        at(100).sack(0, &[(1, 2)]).sends(&[new(10, 11)]),
        at(100).sack(0, &[(1, 3)]).sends(&[new(11, 12)]),
        at(100).sack(0, &[(1, 4)]).sends(&[again(0, 1)]).threshold(7),
    ];
    rows.extend((5..=10).map(|end| at(96 + end).sack(0, &[(1, end)])));
    rows.push(at(190).ack(10).threshold(7));
    rows
}

fn late_segment() -> Script {
    let mut rows = first_of_ten_is_missing();
    rows.extend([
        // It was only late.
        at(101).ack(4),
        at(107).ack(10).window(7).threshold(7),
        at(200).sack(10, &[(0, 1)]).window(10).no_threshold(),
    ]);
    Script {
        path: "rules/undo-dsack",
        about: "The D-SACK of the one retransmission, after the recovery: nothing was lost.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn half_of_the_duplicates() -> Script {
    Script {
        path: "rules/undo-dsack-one-of-two",
        about: "Two are sent again, and one of them was lost: one D-SACK is not enough.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            // Five are in the network, and seven may be.
            at(100).sack(0, &[(2, 5)]).sends(&[again(0, 2)]).threshold(7),
            at(102).sack(0, &[(2, 7)]),
            // Segment 0 was late.
            at(103).sack(1, &[(2, 10)]),
            at(200).sack(1, &[(0, 1), (2, 10)]).threshold(7),
            at(202).ack(10).window(7).threshold(7),
        ],
    }
}

/// Segments 2 and 3 are unacknowledged for two round trips: a probe repeats segment 3. More data follows. Segment 3
/// arrives, and a segment sent after the probe shows that segment 2 is lost. The count is two: the probe and segment 2.
fn loss_after_a_probe() -> Vec<Row> {
    vec![
        at(0).write(4).sends(&[new(0, 4)]),
        at(100).ack(2).window(10),
        timer(300, 305).sends(&[again(3, 4)]),
        at(310).write(5).sends(&[new(4, 9)]),
        // Too soon after the probe to be its ACK.
        at(330).sack(2, &[(3, 4)]).sends(&[]),
        at(410).sack(2, &[(3, 5)]).sends(&[again(2, 3)]).threshold(7),
        at(411).sack(2, &[(3, 4), (3, 5)]).sends(&[]).threshold(7),
    ]
}

fn duplicate_of_a_probe() -> Script {
    let mut rows = loss_after_a_probe();
    rows.extend([
        at(414).sack(2, &[(3, 9)]).threshold(7),
        // The retransmission of segment 2 arrives for the first time.
        at(510).ack(9).window(7).threshold(7),
    ]);
    Script {
        path: "rules/undo-dsack-of-a-probe",
        about: "The D-SACK of a probe says nothing about a loss found after it.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn duplicates_of_probe_and_retransmission() -> Script {
    let mut rows = loss_after_a_probe();
    rows.extend([
        // Segment 2 was late, too.
        at(412).ack(5),
        at(420).ack(9).window(7).threshold(7),
        at(510).sack(9, &[(2, 3)]).window(10).no_threshold(),
    ]);
    Script {
        path: "rules/undo-dsack-of-probe-and-retransmission",
        about: "With the D-SACK of the retransmission nothing was lost.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn mark_in_the_recovery() -> Script {
    let mut rows = first_of_ten_is_missing();
    rows.extend([
        at(101).sack(0, &[(1, 5)]).ece(),
        at(102).ack(10).window(7).threshold(7),
        at(200).sack(10, &[(0, 1)]).window(7).threshold(7),
    ]);
    Script {
        path: "rules/undo-not-after-a-mark-in-the-recovery",
        about: "A mark in the same window of data called for the reduction, too.",
        config: TcpConfig { ecn: true, ..linux() },
        round_trip: 100.0,
        rows,
    }
}

fn mark_after_the_recovery() -> Script {
    let mut rows = first_of_many_is_late();
    rows.extend([
        at(200).ack(12).window(7).threshold(7),
        // The mark is on a segment sent in the recovery: another window of data. 7 x 717 / 1024 is 4.
        at(203).ack(13).ece().threshold(4),
        at(206).sack(13, &[(0, 1)]).threshold(4),
        at(207).ack(14).threshold(4),
    ]);
    Script {
        path: "rules/undo-not-after-the-reduction-for-a-mark",
        about: "The reduction for a mark cannot be undone, nor can the one for the loss before it any more.",
        config: TcpConfig { ecn: true, ..linux() },
        round_trip: 100.0,
        rows,
    }
}

fn loss_after_an_undo() -> Script {
    let mut rows = first_of_many_is_late();
    rows.extend([
        at(199).sack(10, &[(0, 1)]).window(10).no_threshold(),
        // Segment 10 is lost, which was in flight when the reduction was undone.
        at(205).sack(10, &[(11, 12)]),
        at(206).sack(10, &[(11, 13)]).no_threshold(),
        at(207).sack(10, &[(11, 14)]).threshold(7),
    ]);
    Script {
        path: "rules/undo-then-loss",
        about: "After an undo it is as if there had been no reduction: the next loss reduces the window.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}
