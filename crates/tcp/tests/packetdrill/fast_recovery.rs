//! Proportional rate reduction.

use crate::driver::{Script, again, at, new, ours};
use crate::linux;
use crate::why::Why;

pub fn scripts() -> Vec<Script> {
    vec![one_of_ten(), ten_of_twenty(), four_of_ten(), late_ack()]
}

fn one_of_ten() -> Script {
    let mut rows = vec![
        at(0).write(10).sends(&[new(0, 10)]),
        at(110).sack(0, &[(1, 2)]),
        at(120).sack(0, &[(1, 3)]),
        at(130).sack(0, &[(1, 4)]).sends(&[again(0, 1)]),
        at(140).window(7).threshold(7),
        at(150).write(7),
    ];
    rows.extend((5..=10).map(|end| at(110 + 10 * end).sack(0, &[(1, end)]).sends(&[new(end + 5, end + 6)])));
    rows.extend([
        at(230).ack(10).sends(&[new(16, 17)]),
        at(240).window(7).threshold(7),
        at(270).ack(12),
        at(290).ack(14),
        at(310).ack(16),
        at(330).ack(17).sends(&[]),
    ]);
    Script {
        path: "fast_recovery/prr-ss-10pkt-lost-1",
        about: "One of ten is lost: three SACKs take what is in the network to the threshold, and from then on one \
                leaves for one that arrives.",
        config: linux(),
        round_trip: 100.0,
        rows,
    }
}

fn ten_of_twenty() -> Script {
    Script {
        path: "fast_recovery/prr-ss-30pkt-lost-1_4-11_16",
        about: "Four are lost in a row, and then the first of those sent again once more.",
        config: linux(),
        round_trip: 10.0,
        rows: vec![
            at(0).write(20).sends(&[new(0, 10)]),
            at(10).sack(0, &[(4, 5)]).sends(&[new(10, 11)]),
            at(12).sack(0, &[(4, 6)]).sends(&[new(11, 12)]),
            at(14).sack(0, &[(4, 7)]).sends(&[again(0, 1)]),
            at(16).sack(0, &[(4, 8)]).sends(&[again(1, 2)]),
            at(18).sack(0, &[(4, 9)]).sends(&[again(2, 3)]),
            at(20).sack(0, &[(4, 10)]).sends(&[again(3, 4)]),
            at(22).sack(0, &[(4, 11)]).sends(&[new(12, 13)]),
            at(24).sack(0, &[(4, 12)]).sends(&[new(13, 14)]),
            // An ACK that advances and reports no new loss sends one segment more.
            at(34).sack(1, &[(4, 12)]).sends(&[new(14, 16)]),
            // Segment 2 was sent after segment 1 and has arrived: segment 1 is lost again.
            at(36).sack(1, &[(2, 12)]).sends(&[again(1, 2), new(16, 17)]),
            at(38).sack(1, &[(2, 13)]).sends(&[new(17, 18)]),
            at(40).sack(1, &[(2, 14)]).sends(&[new(18, 19)]),
        ],
    }
}

fn four_of_ten() -> Script {
    Script {
        path: "fast_recovery/prr-ss-30pkt-lost1_4",
        about: "Four of ten are lost; after the recovery the threshold's worth leaves at once.",
        config: linux(),
        round_trip: 10.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(10).sack(0, &[(4, 5)]),
            at(12).sack(0, &[(4, 6)]),
            at(12).sack(0, &[(4, 7)]).sends(&[again(0, 1)]),
            at(12).sack(0, &[(4, 8)]).sends(&[again(1, 2)]),
            at(12).sack(0, &[(4, 9)]).sends(&[again(2, 3)]),
            at(12).sack(0, &[(4, 10)]).sends(&[again(3, 4)]),
            at(22).sack(1, &[(4, 10)]),
            at(22).sack(2, &[(4, 10)]),
            at(22).sack(3, &[(4, 10)]),
            at(22).ack(10).sends(&[]),
            at(32).write(10).sends(&[new(10, 17)]),
        ],
    }
}

fn late_ack() -> Script {
    Script {
        path: "fast_recovery/prr-ss-ack-below-snd_una-cubic",
        about: "An ACK that was overtaken is below the last one, but its SACK blocks are news.",
        config: linux(),
        round_trip: 10.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(10).sack(0, &[(1, 2)]),
            at(10).sack(0, &[(1, 3)]),
            at(10).sack(0, &[(1, 3), (8, 9)]).sends(&[again(0, 1)]),
            // With a round trip of 12 ms, that of segment 0 sent again, segment 9 is overdue here, and a new loss takes
            // the third segment away. With 22 ms, that of segment 3, it is not overdue yet.
            at(22).sack(4, &[(8, 9)]).sends(&[again(4, 7)]).but(Why::RackRoundTrip, ours().sends(&[again(4, 6)])),
            at(22).write(10),
            at(24)
                .sack(3, &[(5, 7)])
                .sends(&[again(7, 8), new(10, 11)])
                .but(Why::RackRoundTrip, ours().sends(&[again(7, 8), again(9, 10)])),
        ],
    }
}
