//! In which order nodes run within a round.
//!
//! A node may run beyond its feeders by the delay of the channel between them. It keeps up with feeders that run
//! earlier in the round. A channel that leads back, from a later node, limits it to the delay of that channel. So
//! channels that lead back must be long.

use std::collections::BTreeSet;

use forebay_qdisc::Span;

use crate::driver::node::NodeId;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Channel {
    pub from: NodeId,
    pub to: NodeId,
    /// A packet that `from` begins to send arrives no sooner than this much later.
    pub delay: Span,
    /// Expected packets per second.
    pub packets: f64,
}

/// An order in which the shortest channel that leads back is as long as possible, with the delay of that channel
/// ([`Span::MAX`] if none leads back). `None` if there is a cycle without delay.
pub(crate) fn order(nodes: usize, channels: &[Channel]) -> Option<(Vec<NodeId>, Span)> {
    let mut delays: Vec<Span> = channels.iter().map(|channel| channel.delay).collect();
    delays.sort_unstable();
    delays.dedup();
    delays.retain(|&delay| delay > Span::ZERO);
    delays.push(Span::MAX);
    // Finds the longest delay such that all shorter channels can lead forward.
    let (mut best, mut low, mut high) = (None, 0, delays.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        match forward(nodes, channels, delays[middle]) {
            Some(order) => {
                best = Some((order, delays[middle]));
                low = middle + 1;
            }
            None => high = middle,
        }
    }
    best
}

/// An order in which all channels shorter than `delay` lead forward, if there is one. The next node is one with the
/// fewest remaining feeders, so that most longer channels lead forward, too.
fn forward(nodes: usize, channels: &[Channel], delay: Span) -> Option<Vec<NodeId>> {
    // Feeders that are not in the order yet: over short channels, and over all.
    let mut feeders = vec![(0_u32, 0_u32); nodes];
    let mut following: Vec<Vec<(NodeId, u32)>> = vec![Vec::new(); nodes];
    for channel in channels.iter().filter(|channel| channel.from != channel.to || channel.delay < delay) {
        let short = u32::from(channel.delay < delay);
        let (of_short, of_all) = &mut feeders[channel.to as usize];
        (*of_short, *of_all) = (*of_short + short, *of_all + 1);
        following[channel.from as usize].push((channel.to, short));
    }
    let may_come = |feeders: &[(u32, u32)], node: NodeId| {
        let (of_short, of_all) = feeders[node as usize];
        (of_short == 0).then_some((of_all, node))
    };
    let mut may: BTreeSet<(u32, NodeId)> = (0..nodes as NodeId).filter_map(|node| may_come(&feeders, node)).collect();
    let mut order = Vec::with_capacity(nodes);
    let mut placed = vec![false; nodes];
    while let Some((_, node)) = may.pop_first() {
        placed[node as usize] = true;
        order.push(node);
        for &(next, short) in &following[node as usize] {
            if let Some(before) = may_come(&feeders, next) {
                may.remove(&before);
            }
            let (of_short, of_all) = &mut feeders[next as usize];
            (*of_short, *of_all) = (*of_short - short, *of_all - 1);
            may.extend(may_come(&feeders, next).filter(|_| !placed[next as usize]));
        }
    }
    (order.len() == nodes).then_some(order)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn channel(from: NodeId, to: NodeId, nanoseconds: u64) -> Channel {
        Channel { from, to, delay: Span::from_nanoseconds(nanoseconds), packets: 0.0 }
    }

    fn shortest_back(order: &[NodeId], channels: &[Channel]) -> Span {
        let place = |node: NodeId| order.iter().position(|&other| other == node);
        let back = channels.iter().filter(|channel| place(channel.to) <= place(channel.from));
        back.map(|channel| channel.delay).min().unwrap_or(Span::MAX)
    }

    #[test]
    fn a_ring_is_cut_at_its_longest_lane() {
        let ring = [channel(0, 1, 5), channel(1, 2, 90), channel(2, 3, 7), channel(3, 0, 0)];
        assert_eq!(order(4, &ring), Some((vec![2, 3, 0, 1], Span::from_nanoseconds(90))));
    }

    #[test]
    fn a_circle_without_delay_has_no_order() {
        assert_eq!(order(2, &[channel(0, 1, 0), channel(1, 0, 0)]), None);
        assert_eq!(order(1, &[channel(0, 0, 0)]), None);
    }

    proptest! {
        #[test]
        fn no_order_is_better(channels in prop::collection::vec((0_u32..5, 0_u32..5, 1_u64..20), 1..12)) {
            let channels = channels.into_iter().map(|(from, to, delay)| channel(from, to, delay));
            let channels: Vec<Channel> = channels.collect();
            let (found, shortest) = order(5, &channels).unwrap();
            prop_assert_eq!(shortest, shortest_back(&found, &channels));
            let mut permutation = vec![0, 1, 2, 3, 4];
            let mut best = Span::ZERO;
            permute(&mut permutation, 0, &mut |order| best = best.max(shortest_back(order, &channels)));
            prop_assert_eq!(shortest_back(&found, &channels), best);
        }
    }

    fn permute(nodes: &mut Vec<NodeId>, from: usize, visit: &mut impl FnMut(&[NodeId])) {
        if from == nodes.len() {
            return visit(nodes);
        }
        for place in from..nodes.len() {
            nodes.swap(from, place);
            permute(nodes, from + 1, visit);
            nodes.swap(from, place);
        }
    }
}
