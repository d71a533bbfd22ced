//! CUBIC and HyStart.

use forebay_tcp::{SlowStart, TcpConfig};

use crate::driver::{Row, Script, again, at, new, ours, timer};
use crate::linux;
use crate::why::Why;

pub fn scripts() -> Vec<Script> {
    vec![
        bulk(),
        bulk_law_alone(),
        idle_restart(),
        hystart_delay_falls(),
        hystart_delay_rises(),
        reordering_timeout(),
        growth_after_timeout(),
    ]
}

/// An ACK of two segments each 100 ms, from the `first` to the `last` such ACK, the first two segments at `start`.
fn acks_of_two(first: i32, last: i32, start: i32) -> impl Iterator<Item = Row> {
    (first..=last).map(move |ack| at(start + 100 * (ack - first + 1)).ack(2 * ack))
}

/// The windows after some of the first 60 ACKs.
const BULK_WINDOWS: [(usize, u64); 8] = [(5, 20), (10, 30), (15, 40), (19, 48), (30, 49), (40, 50), (50, 52), (60, 58)];

fn bulk() -> Script {
    let mut rows = vec![at(0).write(400).window(10)];
    rows.extend(acks_of_two(1, 60, 0));
    // HyStart ends slow start five ACKs sooner, and CUBIC continues from there.
    let of_us = [None, None, Some(36), Some(36), Some(37), Some(39), Some(44), Some(53)];
    for ((ack, window), of_us) in BULK_WINDOWS.into_iter().zip(of_us) {
        let row = rows[ack].clone().window(window);
        rows[ack] = match of_us {
            Some(of_us) => row.but(Why::HyStartRound, ours().window(of_us)),
            None => row,
        };
    }
    Script {
        path: "cubic/cubic-bulk-166k",
        about: "Two segments are acknowledged each 100 ms, so that the queue grows: HyStart ends slow start.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn bulk_law_alone() -> Script {
    let mut rows = vec![at(0).write(400).window(10)];
    rows.extend(acks_of_two(1, 200, 0));
    for (ack, window) in BULK_WINDOWS {
        rows[ack] = rows[ack].clone().window(window);
    }
    // From here on one segment more for two acknowledged.
    for ack in (61..=70).chain((80..=200).step_by(10)) {
        rows[ack] = rows[ack].clone().window(ack as u64 - 2);
        if ack > 134 {
            // All 400 segments have left.
            rows[ack] = rows[ack].clone().but(Why::NothingToSend, ours().window(133));
        }
    }
    Script {
        path: "cubic/cubic-bulk-166k",
        about: "The same with slow start ended at 48 by hand: CUBIC alone.",
        config: TcpConfig { slow_start: Some(SlowStart::Standard), initial_ssthresh_segments: Some(48), ..linux() },
        round_trip: 100.0,
        rows,
    }
}

/// Slow start is ended by hand, as above.
fn idle_restart() -> Script {
    let mut rows = vec![at(0).write(40).window(10)];
    rows.extend(acks_of_two(1, 20, 0));
    for (ack, window) in [(5, 20), (10, 30), (15, 40)] {
        rows[ack] = rows[ack].clone().window(window);
    }
    rows[19] = rows[19].clone().window(48).but(Why::NothingToSend, ours().window(40));
    rows.push(at(6000).write(160));
    rows.extend(acks_of_two(21, 60, 6000));
    for (ack, window, of_us) in [(30, 48, 30), (40, 49, 48), (50, 52, 49), (60, 58, 50)] {
        rows[ack + 1] = rows[ack + 1].clone().window(window).but(Why::IdleRestart, ours().window(of_us));
    }
    Script {
        path: "cubic/cubic-bulk-166k-idle-restart",
        about: "Four idle seconds after slow start do not count as time in which the window may grow.",
        config: TcpConfig { slow_start: Some(SlowStart::Standard), initial_ssthresh_segments: Some(48), ..linux() },
        round_trip: 100.0,
        rows,
    }
}

fn hystart_delay_falls() -> Script {
    let mut rows = vec![
        at(0).write(28).sends(&[new(0, 10)]).window(10),
        at(200).ack(10).sends(&[new(10, 28)]).window(20),
        at(380).write(2).sends(&[new(28, 30)]),
    ];
    // The ninth sample of the round is the shortest of all: the threshold must be compared with it, too.
    rows.extend((0..10).map(|ack| at(400 + ack).ack(12 + 2 * ack).window(22 + 2 * ack as u64).no_threshold()));
    Script {
        path: "cubic/cubic-hystart-delay-min-rtt-jumps-downward",
        about: "A round-trip sample shorter than all before does not end slow start.",
        config: linux(),
        round_trip: 200.0,
        rows,
    }
}

fn hystart_delay_rises() -> Script {
    let mut rows =
        vec![at(0).write(30).sends(&[new(0, 10)]).window(10), at(200).ack(10).sends(&[new(10, 30)]).window(20)];
    rows.extend((0..8).map(|ack| at(440 + ack).ack(12 + 2 * ack).window(22 + 2 * ack as u64).no_threshold()));
    rows.push(at(448).ack(28).window(36).threshold(36));
    rows.push(at(449).ack(30).window(36).threshold(36));
    Script {
        path: "cubic/cubic-hystart-delay-rtt-jumps-upward",
        about: "The ninth sample of a round ends slow start where all nine are longer than the shortest by an eighth.",
        config: linux(),
        round_trip: 200.0,
        rows,
    }
}

/// The script then lets the local interface refuse the retransmission, which our sender cannot meet with.
fn reordering_timeout() -> Script {
    Script {
        path: "cubic/cubic-rack-reo-timeout-retrans-failed-incoming-data",
        about: "Reordering by seven segments, then a gap of one segment: a timer finds the loss.",
        config: linux(),
        round_trip: 20.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(20).sack(0, &[(9, 10)]),
            at(20).sack(0, &[(3, 4), (9, 10)]),
            at(20).ack(10).sends(&[]),
            at(40).window(19).but(Why::SackOpens, ours().window(18)),
            at(45).write(2).sends(&[new(10, 12)]),
            at(65).sack(10, &[(11, 12)]).sends(&[]).window(19).but(Why::SackOpens, ours().window(18)),
            timer(66, 85).sends(&[again(10, 11)]),
            at(95).sack(10, &[(11, 12)]).sends(&[]),
        ],
    }
}

fn growth_after_timeout() -> Script {
    let mut rows = vec![
        at(0).write(1).sends(&[new(0, 1)]),
        at(100).ack(1).window(10),
        at(100).write(1).sends(&[new(1, 2)]),
        // A probe for the tail, and a timeout.
        timer(400, 403).sends(&[again(1, 2)]),
        timer(700, 703).sends(&[again(1, 2)]),
        at(803).ack(2).window(2).threshold(7),
        at(803).write(200).sends(&[new(2, 4)]).window(2),
    ];
    for (ack, ms) in [(3, 903), (4, 905), (5, 1003), (6, 1005), (7, 1007)] {
        rows.push(at(ms).ack(ack).sends(&[new(2 * ack - 2, 2 * ack)]).window(ack as u64));
    }
    let times = [1009, 1107, 1109, 1111, 1113, 1115, 1117, 1119, 1217, 1220, 1222, 1224, 1226, 1228, 1230];
    for (ack, ms) in (8..).zip(times) {
        rows.push(at(ms).ack(ack).sends(&[new(ack + 6, ack + 7)]));
    }
    rows.push(at(1328).ack(23).sends(&[new(29, 31)]).window(8));
    Script {
        path: "cubic/cubic-rto-ss-ca-cwnd-bump",
        about: "Probe, timeout, slow start, and then CUBIC from the threshold on: one segment for about twenty.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}
