//! Which segments count as lost, and in which order they are sent again.

use crate::driver::{Script, again, at, new, timer};
use crate::{linux, linux_1460};

pub fn scripts() -> Vec<Script> {
    vec![two_gaps(), order_2_6_8_3_9(), order_7_3_4_8_9(), order_7_5_6_8_9()]
}

fn two_gaps() -> Script {
    Script {
        path: "sack/sack-route-refresh-ip-tos",
        about: "One ACK with two SACK blocks sends what is missing between them again, and nothing else.",
        config: linux_1460(),
        round_trip: 10.0,
        rows: vec![
            at(10).write(4).sends(&[new(0, 4)]),
            at(20).ack(4),
            at(30).write(4).sends(&[new(4, 8)]),
            at(40).ack(8),
            at(50).write(10).sends(&[new(8, 18)]),
            at(60).sack(9, &[(11, 12), (14, 18)]).sends(&[again(9, 11), again(12, 14)]),
            at(70).ack(18),
        ],
    }
}

fn order_2_6_8_3_9() -> Script {
    Script {
        path: "sack/sack-shift-sacked-2-6-8-3-9-nofack",
        about: "Three segments SACKed, none beside another: the gaps below the highest are sent again in order.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(100).sack(0, &[(2, 3)]),
            at(101).sack(0, &[(2, 3), (6, 7)]),
            at(102).sack(0, &[(2, 3), (6, 7), (8, 9)]).sends(&[again(0, 1)]),
            at(109).sack(0, &[(2, 4), (6, 7), (8, 9)]).sends(&[again(1, 2)]),
            at(119).sack(0, &[(2, 4), (6, 7), (8, 10)]),
            at(202).sack(1, &[(2, 4), (6, 7), (8, 10)]),
            at(219).sack(4, &[(6, 7), (8, 10)]),
            at(229).sack(7, &[(8, 10)]),
            at(329).ack(10),
        ],
    }
}

fn order_7_3_4_8_9() -> Script {
    Script {
        path: "sack/sack-shift-sacked-7-3-4-8-9-fack",
        about: "A timer finds all below the one SACKed lost; what is SACKed later is not sent again.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(100).sack(0, &[(7, 8)]).sends(&[]),
            timer(125, 127).sends(&[again(0, 1)]),
            at(129).sack(0, &[(3, 4), (7, 8)]).sends(&[again(1, 2)]),
            at(131).sack(0, &[(3, 5), (7, 8)]).sends(&[again(2, 3)]),
            at(133).sack(0, &[(3, 5), (7, 9)]),
            // packetdrill cannot separate two milliseconds: it may have left at the ACK before.
            at(135).sack(0, &[(3, 5), (7, 10)]).first(&[again(5, 6)]),
            at(235).ack(10),
        ],
    }
}

fn order_7_5_6_8_9() -> Script {
    Script {
        path: "sack/sack-shift-sacked-7-5-6-8-9-fack",
        about: "The same with other SACKs: one segment is sent again for one that arrives.",
        config: linux(),
        round_trip: 100.0,
        rows: vec![
            at(0).write(10).sends(&[new(0, 10)]),
            at(100).sack(0, &[(7, 8)]).sends(&[]),
            timer(125, 127).sends(&[again(0, 1)]),
            at(127).sack(0, &[(5, 6), (7, 8)]).sends(&[again(1, 2)]),
            at(127).sack(0, &[(5, 8)]).sends(&[again(2, 3)]),
            at(127).sack(0, &[(5, 9)]).sends(&[again(3, 4)]),
            at(127).sack(0, &[(5, 10)]).sends(&[again(4, 5)]),
            at(227).ack(10),
        ],
    }
}
