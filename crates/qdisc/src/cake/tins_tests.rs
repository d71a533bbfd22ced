//! The tables of edge.md: the tin of each DSCP, and the share of each tin.

use alloc::vec::Vec;

use super::*;

/// The DSCPs in a tin.
fn members(tins: CakeTins, tin: u8) -> Vec<usize> {
    (0..64).filter(|&dscp| tins.tin_of()[dscp] == tin).collect()
}

#[test]
fn diffserv3_has_bulk_and_voice() {
    assert_eq!(members(CakeTins::Diffserv3, 1), [1, 8]);
    assert_eq!(members(CakeTins::Diffserv3, 2), [4, 44, 46, 48, 56]);
    assert_eq!(members(CakeTins::Diffserv3, 0).len(), 57);
}

#[test]
fn diffserv4_has_video_too() {
    assert_eq!(members(CakeTins::Diffserv4, 1), [1, 8]);
    assert_eq!(members(CakeTins::Diffserv4, 2), [4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38]);
    assert_eq!(members(CakeTins::Diffserv4, 3), [32, 40, 44, 46, 48, 56]);
    assert_eq!(members(CakeTins::Diffserv4, 0).len(), 44);
}

#[test]
fn diffserv8_has_eight() {
    let expected: [(u8, &[usize]); 7] = [
        (0, &[1]),
        (1, &[2, 8, 10, 12, 14]),
        (3, &[24, 26, 28, 30, 34, 36, 38]),
        (4, &[4, 18, 20, 22]),
        (5, &[16]),
        (6, &[32, 40, 44, 46]),
        (7, &[48, 56]),
    ];
    for (tin, dscps) in expected {
        assert_eq!(members(CakeTins::Diffserv8, tin), dscps, "{tin}");
    }
    assert_eq!(members(CakeTins::Diffserv8, 2).len(), 40);
}

#[test]
fn precedence_is_the_upper_three_bits_and_best_effort_one_tin() {
    assert!(
        (0..8).all(|tin| members(CakeTins::Precedence, tin).into_iter().eq(8 * tin as usize..8 * tin as usize + 8))
    );
    assert_eq!(members(CakeTins::Besteffort, 0).len(), 64);
}

#[test]
fn each_tin_has_its_rate_and_its_quantum() {
    let shares = |tins: CakeTins| -> Vec<(u64, i32)> {
        tins.shares(1_000_000).into_iter().map(|share| (share.bytes_per_second, share.quantum)).collect()
    };
    assert_eq!(shares(CakeTins::Besteffort), [(1_000_000, 65_535)]);
    assert_eq!(shares(CakeTins::Diffserv3), [(1_000_000, 1024), (62_500, 64), (250_000, 256)]);
    assert_eq!(shares(CakeTins::Diffserv4), [(1_000_000, 1024), (62_500, 64), (500_000, 512), (250_000, 256)]);
    let eight = [
        (1_000_000, 256),
        (875_000, 224),
        (765_625, 196),
        (669_921, 171),
        (586_180, 149),
        (512_907, 130),
        (448_793, 113),
        (392_693, 98),
    ];
    assert_eq!(shares(CakeTins::Diffserv8), eight);
    assert_eq!(shares(CakeTins::Precedence), eight);
}

#[test]
fn every_tin_is_shown_once() {
    use CakeTins::{Besteffort, Diffserv3, Diffserv4, Diffserv8, Precedence};
    for tins in [Besteffort, Precedence, Diffserv3, Diffserv4, Diffserv8] {
        let mut order = tins.order().to_vec();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..tins.shares(0).len()), "{tins:?}");
    }
    assert_eq!((Diffserv3.order(), Diffserv4.order()), (&[1, 0, 2][..], &[1, 0, 2, 3][..]));
}
