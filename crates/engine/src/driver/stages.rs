//! Which nodes run up to the same time.
//!
//! Most nodes are a stage each. With very short channels a turn brings a packet or two, and costs less than finding how
//! far each node may run. There, nodes that no channel joins share a stage. Most Ethernets have two such sides: trees,
//! even rings of switches, leaves and spines. Each side runs beyond the other by the delay of the shortest channel.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::driver::node::NodeId;
use crate::driver::order::Channel;

/// The stage of each node, and their number. Nodes in the range `together` form two stages without channels inside, or
/// one if that cannot be. Each other node is its own.
pub(crate) fn stages(nodes: usize, channels: &[Channel], together: Range<NodeId>) -> (Vec<usize>, usize) {
    let mut stage_of = vec![0; nodes];
    let mut stages = 0;
    let sides = two_sides(nodes, channels, &together);
    for (node, number) in stage_of.iter_mut().zip(0..) {
        if !together.contains(&number) {
            (*node, stages) = (stages, stages + 1);
        }
    }
    for number in together.clone() {
        let is_second = sides.as_ref().is_some_and(|sides| sides[number as usize]);
        stage_of[number as usize] = stages + usize::from(is_second);
    }
    let of_sides = together.map(|number| stage_of[number as usize] + 1 - stages).max().unwrap_or(0);
    (stage_of, stages + of_sides)
}

/// All channels between two stages as one, with the delay of the shortest.
pub(crate) fn between(stage_of: &[usize], channels: &[Channel]) -> Vec<Channel> {
    let mut between: BTreeMap<(NodeId, NodeId), Channel> = BTreeMap::new();
    for &channel in channels {
        let [from, to] = [channel.from, channel.to].map(|node| stage_of[node as usize] as NodeId);
        let known = between.entry((from, to)).or_insert(Channel { from, to, packets: 0.0, ..channel });
        known.delay = channel.delay.min(known.delay);
        known.packets += channel.packets;
    }
    between.into_values().collect()
}

/// The side of each node of `together`, if two sides exist such that every channel leads from one to the other.
fn two_sides(nodes: usize, channels: &[Channel], together: &Range<NodeId>) -> Option<Vec<bool>> {
    let mut neighbours = vec![Vec::new(); nodes];
    for channel in channels.iter().filter(|channel| together.contains(&channel.from) && together.contains(&channel.to))
    {
        neighbours[channel.from as usize].push(channel.to);
        neighbours[channel.to as usize].push(channel.from);
    }
    let mut side_of: Vec<Option<bool>> = vec![None; nodes];
    for start in together.clone() {
        let mut reached = vec![(start, side_of[start as usize].unwrap_or(false))];
        while let Some((node, side)) = reached.pop() {
            match side_of[node as usize] {
                Some(known) if known != side => return None,
                Some(_) => {}
                None => {
                    side_of[node as usize] = Some(side);
                    reached.extend(neighbours[node as usize].iter().map(|&neighbour| (neighbour, !side)));
                }
            }
        }
    }
    Some(side_of.into_iter().map(|side| side == Some(true)).collect())
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Span;
    use proptest::prelude::*;

    use super::*;

    fn channel(from: NodeId, to: NodeId, nanoseconds: u64) -> Channel {
        Channel { from, to, delay: Span::from_nanoseconds(nanoseconds), packets: 1.0 }
    }

    fn channels(links: &[(NodeId, NodeId)]) -> Vec<Channel> {
        links.iter().map(|&(from, to)| channel(from, to, u64::from(from + to))).collect()
    }

    #[test]
    fn a_tree_has_two_sides_and_a_triangle_one() {
        let ring = |nodes: u32| channels(&(0..nodes).map(|node| (node, (node + 1) % nodes)).collect::<Vec<_>>());
        assert_eq!(stages(4, &ring(4), 0..4), (vec![0, 1, 0, 1], 2));
        assert_eq!(stages(3, &ring(3), 0..3), (vec![0, 0, 0], 1));
        // Two single nodes and a star.
        let star = channels(&[(1, 2), (1, 3), (0, 1), (3, 4)]);
        assert_eq!(stages(5, &star, 1..4), (vec![0, 2, 3, 3, 1], 4));
        let between = between(&[0, 2, 3, 3, 1], &star);
        assert_eq!(between, [channel(0, 2, 1), Channel { packets: 2.0, ..channel(2, 3, 3) }, channel(3, 1, 7),]);
        assert_eq!(stages(2, &[], 0..0), (vec![0, 1], 2));
    }

    proptest! {
        #[test]
        fn of_two_sides_no_lane_stays_on_its_own(
            nodes in 1_u32..40, links in prop::collection::vec((0_u32..40, 0_u32..40), 0..40),
        ) {
            let links: Vec<(u32, u32)> = links.iter().map(|&(one, other)| (one % nodes, other % nodes)).collect();
            let (stage_of, stages) = stages(nodes as usize, &channels(&links), 0..nodes);
            prop_assert_eq!(stage_of.iter().max().map(|last| last + 1), Some(stages));
            if stages == 2 {
                prop_assert!(links.iter().all(|&(one, other)| stage_of[one as usize] != stage_of[other as usize]));
            }
        }
    }
}
