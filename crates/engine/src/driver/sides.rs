//! The two sides of an Ethernet: nodes between which no link leads, so that they can run together.
//!
//! What a node sends reaches the next one no sooner than a *lookahead* later, the time of the shortest frame on the
//! shortest link. If all nodes run in one round, none may run further than that. But in two halves, each node's
//! neighbours having their turn in the other half, a side may run as far beyond what the other one has done, and so
//! twice as far each time. Most Ethernets have two sides: trees, rings of an even number of switches, leaves and
//! spines.

use std::ops::Range;

/// A node, as [`Sides`](crate::driver::sides::Sides) number them.
pub(crate) type NodeId = u32;

/// How many nodes are looked at together: this many comparisons, without branches, cost less than a branch for each.
pub(crate) const DUE_TOGETHER: usize = 8;

/// Which node is on which side, and the numbers of all: those of a side fill groups that are looked at together.
pub(crate) struct Sides {
    /// The number of each node, in the order of the description.
    pub ids: Vec<NodeId>,
    /// The place in the description of the node of each number; `None` where a group is not full.
    pub nodes: Vec<Option<u32>>,
    /// The groups of each side.
    pub groups: Vec<Range<usize>>,
}

impl Sides {
    /// Of this many nodes with these links, from node to node; of one side if a way over an odd number of links leads
    /// back to where it began.
    pub fn new(nodes: usize, links: &[(u32, u32)]) -> Self {
        let sides = two_sides(nodes, links).unwrap_or_else(|| vec![(0..nodes as u32).collect()]);
        let mut numbered = Self { ids: vec![0; nodes], nodes: Vec::new(), groups: Vec::new() };
        for side in sides {
            let first = numbered.nodes.len() / DUE_TOGETHER;
            for node in side {
                numbered.ids[node as usize] = numbered.nodes.len() as NodeId;
                numbered.nodes.push(Some(node));
            }
            let end = numbered.nodes.len().div_ceil(DUE_TOGETHER);
            numbered.nodes.resize(end * DUE_TOGETHER, None);
            numbered.groups.push(first..end);
        }
        numbered
    }
}

/// The nodes of two sides such that every link leads from one to the other, if there are such sides.
fn two_sides(nodes: usize, links: &[(u32, u32)]) -> Option<Vec<Vec<u32>>> {
    let mut neighbours = vec![Vec::new(); nodes];
    for &(one, other) in links {
        neighbours[one as usize].push(other);
        neighbours[other as usize].push(one);
    }
    let mut side_of: Vec<Option<bool>> = vec![None; nodes];
    for start in 0..nodes as u32 {
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
    let of = |side| (0..nodes as u32).filter(|&node| side_of[node as usize] == Some(side)).collect();
    Some(vec![of(false), of(true)])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The side of the node of each number.
    fn sides_of(sides: &Sides) -> Vec<usize> {
        let side = |id: &NodeId| sides.groups.iter().position(|groups| groups.contains(&(*id as usize / DUE_TOGETHER)));
        sides.ids.iter().map(|id| side(id).unwrap()).collect()
    }

    #[test]
    fn a_tree_has_two_sides_and_a_triangle_one() {
        // A switch with nine nodes and another one, which has one.
        let star: Vec<(u32, u32)> = (1..=10).map(|node| (0, node)).chain([(10, 11)]).collect();
        let sides = Sides::new(12, &star);
        assert_eq!(sides_of(&sides), [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
        assert_eq!((&sides.groups[..], sides.nodes.len()), (&[0..1, 1..3][..], 24));
        let ring = |nodes: u32| (0..nodes).map(|node| (node, (node + 1) % nodes)).collect::<Vec<_>>();
        assert_eq!(sides_of(&Sides::new(4, &ring(4))), [0, 1, 0, 1]);
        assert_eq!(sides_of(&Sides::new(3, &ring(3))), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn no_link_stays_on_its_side_and_every_node_has_its_number(
            nodes in 1_usize..40, links in prop::collection::vec((0_u32..40, 0_u32..40), 0..40),
        ) {
            let of_nodes = |&(one, other): &(u32, u32)| (one % nodes as u32, other % nodes as u32);
            let links: Vec<(u32, u32)> = links.iter().map(of_nodes).collect();
            let sides = Sides::new(nodes, &links);
            for node in 0..nodes {
                prop_assert_eq!(sides.nodes[sides.ids[node] as usize], Some(node as u32));
            }
            prop_assert_eq!(sides.nodes.iter().flatten().count(), nodes);
            prop_assert_eq!(sides.groups.last().map(|groups| groups.end * DUE_TOGETHER), Some(sides.nodes.len()));
            let side_of = sides_of(&sides);
            if sides.groups.len() == 2 {
                prop_assert!(links.iter().all(|&(one, other)| side_of[one as usize] != side_of[other as usize]));
            }
        }
    }
}
