//! The rules of the filter, one by one.

use alloc::vec::Vec;

use super::*;
use crate::SackOption;

const FLOW: FlowKey = FlowKey(1);

/// A pure ACK of this number.
fn ack(number: u32) -> TcpHeader {
    TcpHeader { flags: TcpHeader::ACK, number, is_pure: true, ..TcpHeader::default() }
}

fn with_sack(number: u32, blocks: &[(u32, u32)]) -> TcpHeader {
    TcpHeader { sack: SackOption::new(blocks.iter().copied()), ..ack(number) }
}

/// The place of the ACK that goes, if `newcomer` comes behind these; `None` is a packet that is no TCP segment.
fn filtered(queue: &[Option<TcpHeader>], newcomer: TcpHeader, is_aggressive: bool) -> Option<usize> {
    let segment = |header: TcpHeader| Segment { flow: FLOW, header };
    let queue: Vec<Option<Segment>> = queue.iter().map(|header| header.map(segment)).collect();
    redundant(queue.iter().map(Option::as_ref).enumerate(), &segment(newcomer), is_aggressive)
}

/// Whether `queued` may go for `newcomer`: as the second candidate it makes the first go.
fn goes(queued: TcpHeader, newcomer: TcpHeader) -> bool {
    let alone = filtered(&[Some(queued)], newcomer, true) == Some(0);
    let in_a_pair = filtered(&[Some(queued), Some(queued)], newcomer, false) == Some(0);
    assert_eq!(alone, in_a_pair);
    alone
}

#[test]
fn the_second_candidate_makes_the_first_go() {
    let queue = [ack(10), ack(20), ack(30)].map(Some);
    assert_eq!(filtered(&queue[..1], ack(40), false), None);
    assert_eq!(filtered(&queue[..2], ack(40), false), Some(0));
    assert_eq!(filtered(&queue, ack(40), false), Some(0));
    assert_eq!(filtered(&[], ack(40), true), None);
}

#[test]
fn aggressively_a_single_candidate_goes_if_it_is_directly_before_and_its_flags_are_equal() {
    let ece = TcpHeader { flags: TcpHeader::ACK | TcpHeader::ECE, ..ack(10) };
    assert_eq!(filtered(&[Some(ack(10))], ack(20), true), Some(0));
    assert_eq!(filtered(&[Some(ack(10)), None], ack(20), true), None);
    assert_eq!(filtered(&[None, Some(ack(10))], ack(20), true), Some(1));
    assert_eq!(filtered(&[Some(ece)], ack(20), true), None);
    assert_eq!(filtered(&[Some(ece)], TcpHeader { number: 20, ..ece }, true), Some(0));
    assert_eq!(filtered(&[Some(ack(10))], ack(20), false), None);
}

#[test]
fn packets_in_between_do_not_protect_candidates() {
    let data = TcpHeader { is_pure: false, ..ack(15) };
    assert_eq!(filtered(&[Some(ack(10)), None, Some(data), Some(ack(20))], ack(30), false), Some(0));
}

#[test]
fn the_newcomer_has_ack_without_syn_and_may_carry_data() {
    let queue = [ack(10), ack(20)].map(Some);
    let with_flags = |flags| filtered(&queue, TcpHeader { flags, ..ack(30) }, false);
    let [ack_flag, syn, fin] = [TcpHeader::ACK, TcpHeader::SYN, TcpHeader::FIN];
    assert_eq!(
        [ack_flag, ack_flag | fin, 0, syn, ack_flag | syn].map(with_flags),
        [Some(0), Some(0), None, None, None]
    );
    assert_eq!(filtered(&queue, TcpHeader { is_pure: false, ..ack(30) }, false), Some(0));
}

#[test]
fn other_connections_do_not_count() {
    let segment = |flow, header| Segment { flow: FlowKey(flow), header };
    let queue = [segment(1, ack(10)), segment(2, ack(20)), segment(1, ack(30))];
    let filtered = |newcomer: Segment| redundant(queue.iter().map(Some).enumerate(), &newcomer, false);
    assert_eq!(filtered(segment(1, ack(40))), Some(0));
    assert_eq!(filtered(segment(2, ack(40))), None);
}

#[test]
fn only_pure_acks_with_no_flags_but_ece_and_cwr_go() {
    assert!(goes(ack(10), ack(20)));
    assert!(!goes(TcpHeader { is_pure: false, ..ack(10) }, ack(20)));
    for flag in [TcpHeader::FIN, TcpHeader::SYN, 1 << 2, 1 << 3, 1 << 5, TcpHeader::AE, 1 << 9, 1 << 11] {
        let flags = TcpHeader::ACK | flag;
        assert!(!goes(TcpHeader { flags, ..ack(10) }, ack(20)), "{flag:#x}");
    }
    assert!(!goes(TcpHeader { flags: 0, ..ack(10) }, ack(20)));
    let marked = |number| TcpHeader { flags: TcpHeader::ACK | TcpHeader::ECE | TcpHeader::CWR, ..ack(number) };
    assert!(goes(marked(10), marked(20)));
}

#[test]
fn an_ack_with_options_that_a_later_one_does_not_repeat_stays() {
    assert!(!goes(TcpHeader { has_other_options: true, ..ack(10) }, ack(20)));
    assert!(goes(ack(10), TcpHeader { has_other_options: true, ..ack(20) }));
}

#[test]
fn neither_timestamp_may_be_later_than_the_newcomers() {
    let at = |number, value, echo| TcpHeader { timestamps: Some((value, echo)), ..ack(number) };
    assert!(goes(at(10, 5, 7), at(20, 5, 7)));
    assert!(goes(at(10, 4, 6), at(20, 5, 7)));
    assert!(!goes(at(10, 6, 7), at(20, 5, 7)));
    assert!(!goes(at(10, 5, 8), at(20, 5, 7)));
    // Modulo 2^32.
    assert!(goes(at(10, u32::MAX, u32::MAX), at(20, 3, 3)));
    assert!(!goes(at(10, 3, 3), at(20, u32::MAX, u32::MAX)));
    assert!(!goes(at(10, 5, 7), ack(20)));
    assert!(goes(ack(10), at(20, 5, 7)));
}

#[test]
fn an_ack_of_more_stays_and_one_of_as_much_goes_only_for_more_sack() {
    assert!(!goes(ack(21), ack(20)));
    assert!(!goes(ack(20), ack(20)));
    assert!(goes(ack(19), ack(20)));
    assert!(goes(ack(u32::MAX - 5), ack(4)));
    assert!(!goes(ack(4), ack(u32::MAX - 5)));
    assert!(goes(ack(20), with_sack(20, &[(30, 40)])));
    assert!(goes(with_sack(20, &[(30, 40)]), with_sack(20, &[(30, 41)])));
    assert!(!goes(with_sack(20, &[(30, 40)]), with_sack(20, &[(30, 40)])));
    assert!(goes(with_sack(19, &[(30, 40)]), with_sack(20, &[(30, 40)])));
}

#[test]
fn the_newcomers_blocks_must_cover_those_of_the_ack_that_goes() {
    let old = with_sack(10, &[(30, 40), (50, 60)]);
    assert!(goes(old, with_sack(20, &[(50, 70), (25, 40)])));
    assert!(!goes(old, with_sack(20, &[(50, 70), (31, 40)])));
    assert!(!goes(old, with_sack(20, &[(30, 39), (50, 60)])));
    // Even if the cumulative number covers them: the newcomer has no blocks.
    assert!(!goes(old, ack(100)));
    assert!(goes(with_sack(u32::MAX - 20, &[(u32::MAX - 9, 5)]), with_sack(u32::MAX - 19, &[(u32::MAX - 9, 6)])));
}

#[test]
fn an_ack_that_reports_a_duplicate_stays() {
    let duplicate = with_sack(10, &[(5, 8), (30, 40)]);
    assert!(!goes(duplicate, with_sack(20, &[(5, 8), (30, 40)])));
    assert!(goes(with_sack(10, &[(10, 12)]), with_sack(20, &[(10, 12)])));
}

#[test]
fn a_change_of_the_ecn_flags_is_kept() {
    let with = |number, flags| Some(TcpHeader { flags: TcpHeader::ACK | flags, ..ack(number) });
    let (ece, cwr) = (TcpHeader::ECE, TcpHeader::CWR);
    // The first brought news, which the second does not bring: it stays, and two of the later ones are needed.
    assert_eq!(filtered(&[with(10, 0), with(20, ece)], ack(30), false), None);
    assert_eq!(filtered(&[with(10, 0), with(20, ece), with(30, ece)], ack(40), false), Some(1));
    assert_eq!(filtered(&[with(10, cwr), with(20, ece), with(30, 0)], ack(40), true), Some(2));
    // A segment that may not go itself can have changed flags.
    let data = Some(TcpHeader { is_pure: false, flags: TcpHeader::ACK | ece, ..ack(15) });
    assert_eq!(filtered(&[with(10, 0), data, with(20, 0), with(30, 0)], ack(40), false), Some(2));
}
