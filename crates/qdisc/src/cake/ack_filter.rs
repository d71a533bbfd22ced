//! The ACK filter: a queued ACK goes if a later one of its connection has all its information (`cake_ack_filter`).

use crate::{FlowKey, TcpHeader};

/// Whether CAKE drops ACKs that later ones make redundant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "lowercase"))]
pub enum CakeAckFilter {
    /// It does not.
    #[default]
    Off,
    /// It leaves at least two of a connection in the queue.
    On,
    /// It also drops one directly in front of the ACK that makes it redundant.
    Aggressive,
}

/// A queued TCP segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub flow: FlowKey,
    pub header: TcpHeader,
}

/// Flags that tell a sender about congestion. A change of them is news.
const ECN_FLAGS: u16 = TcpHeader::ECE | TcpHeader::CWR;

/// The place in `queue` of the ACK that `newcomer`, the last segment of the queue, makes redundant. `queue` has the
/// other packets in their order: which of them are TCP segments, and where they are.
pub(super) fn redundant<'a>(
    queue: impl Iterator<Item = (usize, Option<&'a Segment>)>,
    newcomer: &Segment,
    is_aggressive: bool,
) -> Option<usize> {
    if newcomer.header.flags & (TcpHeader::ACK | TcpHeader::SYN) != TcpHeader::ACK {
        return None;
    }
    // The first candidate, its flags, and whether it is the last packet so far.
    let mut first: Option<(usize, u16)> = None;
    let (mut candidates, mut is_last) = (0_u32, false);
    for (place, segment) in queue {
        is_last = false;
        let Some(segment) = segment.filter(|segment| segment.flow == newcomer.flow) else { continue };
        let flags = segment.header.flags & ECN_FLAGS;
        // The news that it brought would be lost.
        if first.is_some_and(|(_, of_first)| of_first != flags) {
            first = None;
            candidates -= 1;
        }
        if !may_go(&segment.header, &newcomer.header) {
            continue;
        }
        if first.is_none() {
            first = Some((place, flags));
            is_last = true;
        }
        candidates += 1;
        if candidates > 1 {
            return first.map(|(place, _)| place);
        }
    }
    let (place, flags) = first?;
    (is_aggressive && is_last && flags == newcomer.header.flags & ECN_FLAGS).then_some(place)
}

/// Whether `newcomer` has all the information of a queued segment, and more.
fn may_go(queued: &TcpHeader, newcomer: &TcpHeader) -> bool {
    let sack = compare_sack(queued, newcomer);
    has_safe_header(queued, newcomer)
        && queued.is_pure
        && !is_after(queued.number, newcomer.number)
        && sack != Sack::Lost
        && !(queued.number == newcomer.number && sack == Sack::Same)
}

/// `cake_tcph_may_drop`: no flag but ACK, ECE and CWR, no option but those that a later ACK repeats.
fn has_safe_header(queued: &TcpHeader, newcomer: &TcpHeader) -> bool {
    let (value, echo) = newcomer.timestamps.unwrap_or_default();
    let is_newer = |(queued_value, queued_echo)| is_after(queued_value, value) || is_after(queued_echo, echo);
    queued.flags & !ECN_FLAGS == TcpHeader::ACK && !queued.has_other_options && !queued.timestamps.is_some_and(is_newer)
}

/// The fate of the SACK blocks of an ACK if a later one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sack {
    /// The later one does not have all of them, or they report a duplicate (RFC 2883).
    Lost,
    Same,
    More,
}

/// `cake_tcph_sack_compare`.
fn compare_sack(queued: &TcpHeader, newcomer: &TcpHeader) -> Sack {
    let (old, new) = (queued.sack.as_slice(), newcomer.sack.as_slice());
    match (old, new) {
        ([], []) => return Sack::Same,
        ([], _) => return Sack::More,
        (_, []) => return Sack::Lost,
        _ => {}
    }
    let is_covered = |&(left, right): &(u32, u32)| {
        let is_duplicate = is_after(queued.number, left);
        let covers = |&(from, to): &(u32, u32)| !is_after(from, left) && !is_after(right, to);
        !is_duplicate && new.iter().any(covers)
    };
    if !old.iter().all(is_covered) {
        return Sack::Lost;
    }
    let bytes = |blocks: &[(u32, u32)]| {
        blocks.iter().fold(0_u32, |sum, (left, right)| sum.wrapping_add(right.wrapping_sub(*left)))
    };
    if bytes(new) > bytes(old) { Sack::More } else { Sack::Same }
}

/// Whether one number of TCP comes after another, modulo 2^32 (RFC 9293, section 3.4).
fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
#[path = "ack_filter_tests.rs"]
mod tests;
