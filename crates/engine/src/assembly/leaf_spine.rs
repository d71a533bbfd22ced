//! Leaves and spines, for path policies that see all packets.

use std::sync::Arc;

use forebay_qdisc::Rate;
use forebay_switching::LeafSpineNode;

use crate::assembly::graph::{Graph, Kind};
use crate::forwarding::Edge;
use crate::spec::{LinkId, NodeIndex};

/// Neither a leaf nor a spine.
const NONE: u32 = u32::MAX;

/// A leaf is a switch with hosts, a spine is one without. Empty if no policy sees all packets.
pub(crate) struct LeafSpine {
    /// By the number of a destination, or of a source that no packets are sent to: its leaf.
    pub leaf_of: Arc<[u32]>,
    /// By node: the number of a leaf among leaves, of a spine among spines.
    leaves: Vec<u32>,
    spines: Vec<u32>,
    leaf_count: u32,
}

impl LeafSpine {
    pub fn new(graph: &Graph) -> Self {
        let nodes = graph.kinds.len() as NodeIndex;
        let (mut leaves, mut spines) = (vec![NONE; nodes as usize], vec![NONE; nodes as usize]);
        let (mut leaf_count, mut spine_count) = (0, 0);
        let is_host = |node: NodeIndex| matches!(graph.kind(node), Kind::Host | Kind::Adapter);
        for node in (0..nodes).filter(|&node| graph.sees_all(node)) {
            let has_hosts = graph.out.of(node).iter().any(|&link| is_host(graph.edges[link as usize].to));
            let (numbers, count) =
                if has_hosts { (&mut leaves, &mut leaf_count) } else { (&mut spines, &mut spine_count) };
            (numbers[node as usize], *count) = (*count, *count + 1);
        }
        if leaf_count == 0 {
            return Self { leaf_of: Arc::default(), leaves, spines, leaf_count };
        }
        let destinations = graph.routing.usual.destinations();
        let mut leaf_of = vec![NONE; (destinations + nodes) as usize];
        for node in (0..nodes).filter(|&node| is_host(node)) {
            let leaf = graph.out.of(node).first().map_or(NONE, |&link| leaves[graph.edges[link as usize].to as usize]);
            for number in [graph.routing.usual.number(node), Some(destinations + node)].into_iter().flatten() {
                leaf_of[number as usize] = leaf;
            }
        }
        Self { leaf_of: leaf_of.into(), leaves, spines, leaf_count }
    }

    /// A switch with its ports.
    pub fn node(&self, graph: &Graph, node: NodeIndex, rate: impl Fn(LinkId) -> Rate) -> LeafSpineNode {
        let known = |number: u32| Some(number).filter(|&number| number != NONE);
        let port = |&link: &LinkId| {
            let Edge { to, .. } = graph.edges[link as usize];
            (rate(link), known(self.spines[to as usize]))
        };
        LeafSpineNode {
            leaf: known(self.leaves[node as usize]),
            leaves: self.leaf_count,
            ports: graph.out.of(node).iter().map(port).collect(),
        }
    }
}
