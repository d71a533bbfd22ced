//! Which links lead to which destinations.
//!
//! A destination is a host where packets end. The next hops of a node are its outgoing links on a path of the least
//! metric; hosts forward nothing. One tree of shortest paths serves all hosts behind the same node.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use crate::spec::{LinkId, NodeIndex};

/// A link as forwarding sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The node that sends on it.
    pub from: NodeIndex,
    /// The node that receives from it.
    pub to: NodeIndex,
    /// Its cost: a path of the least sum is taken.
    pub metric: u32,
}

/// The next hops of every node to every destination.
#[derive(Debug)]
pub struct Forwarding {
    /// The number of each node as a destination; [`NONE`] where no packet ends.
    numbers: Vec<u32>,
    destinations: u32,
    rows: Vec<Row>,
    /// By row and destination: a link, [`NONE`], or a set where several paths are equal.
    hops: Vec<u32>,
    sets: Vec<Box<[LinkId]>>,
}

/// The next hops of one node.
#[derive(Clone, Copy, Debug)]
enum Row {
    /// One link leads to everything.
    Only(LinkId),
    /// From here on in `hops`.
    At(usize),
}

/// Nothing: no link, no number.
const NONE: u32 = u32::MAX;

/// The bit of a set, which no link has. A network has fewer links.
const SET: u32 = 1 << 31;

/// The cost of a path. The one whose links come first is preferred among paths with equal metrics, in the same way in
/// both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    metric: u64,
    /// The sum of the places of its links.
    places: u64,
    /// Settles equal sums.
    salt: u64,
}

impl Cost {
    const ZERO: Self = Self { metric: 0, places: 0, salt: 0 };

    fn plus(self, metric: u32, place: u32) -> Self {
        Self {
            metric: self.metric + u64::from(metric),
            places: self.places + u64::from(place),
            salt: self.salt + scramble(place),
        }
    }
}

/// A number of 40 bits for a place, such that equal sums of places have different sums of these. The finalizer of
/// SplitMix64 (Steele et al. 2014).
fn scramble(place: u32) -> u64 {
    let mut hash = u64::from(place).wrapping_add(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (hash ^ hash >> 31) >> 24
}

/// The links between nodes that forward, and from hosts.
struct Graph<'a> {
    edges: &'a [Edge],
    forwards: &'a [bool],
    /// Links into each node, and out of it: where they begin in `sorted`, and these.
    into: Adjacency,
    out: Adjacency,
    /// The place of each link in the order of all, the same in both directions.
    places: Vec<u32>,
    /// Links that no path takes.
    avoided: &'a BTreeSet<LinkId>,
}

/// The links at each node, in their order.
pub(crate) struct Adjacency {
    first: Vec<u32>,
    links: Vec<LinkId>,
}

impl Adjacency {
    /// The links whose `end` each node is.
    pub fn new(nodes: usize, edges: &[Edge], end: impl Fn(&Edge) -> NodeIndex) -> Self {
        let mut first = vec![0; nodes + 1];
        for edge in edges {
            first[end(edge) as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let (mut next, mut links) = (first.clone(), vec![0; edges.len()]);
        for (edge, number) in edges.iter().zip(0..) {
            let next = &mut next[end(edge) as usize];
            links[*next as usize] = number;
            *next += 1;
        }
        Self { first, links }
    }

    pub fn of(&self, node: NodeIndex) -> &[LinkId] {
        &self.links[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

impl Adjacency {
    /// The place of each link among those of its node.
    pub fn places(&self, links: usize) -> Vec<u32> {
        let mut places = vec![0; links];
        for of_node in self.first.windows(2) {
            for (&link, place) in self.links[of_node[0] as usize..of_node[1] as usize].iter().zip(0..) {
                places[link as usize] = place;
            }
        }
        places
    }
}

impl Forwarding {
    /// The tables of a network whose nodes forward or not. `ends` are the nodes where packets end; only these become
    /// destinations.
    #[must_use]
    pub fn new(forwards: &[bool], edges: &[Edge], ends: impl Iterator<Item = NodeIndex>) -> Self {
        Self::avoiding(&BTreeSet::new(), forwards, edges, ends)
    }

    /// The same, where no path takes a link of `avoided`. A node with a single link sends everything on it even then.
    #[must_use]
    pub fn avoiding(
        avoided: &BTreeSet<LinkId>,
        forwards: &[bool],
        edges: &[Edge],
        ends: impl Iterator<Item = NodeIndex>,
    ) -> Self {
        let mut numbers = vec![NONE; forwards.len()];
        let mut destinations = Vec::new();
        for node in ends {
            if numbers[node as usize] == NONE {
                numbers[node as usize] = destinations.len() as u32;
                destinations.push(node);
            }
        }
        let graph = Graph::new(forwards, edges, avoided);
        let mut hops = Vec::new();
        let row = |node: NodeIndex| match graph.out.of(node) {
            [only] => Row::Only(*only),
            [] => Row::Only(NONE),
            _ => {
                hops.resize(hops.len() + destinations.len(), NONE);
                Row::At(hops.len() - destinations.len())
            }
        };
        let rows: Vec<Row> = (0..forwards.len() as NodeIndex).map(row).collect();
        let mut forwarding = Self { numbers, destinations: destinations.len() as u32, rows, hops, sets: Vec::new() };
        // Destinations by the root of their tree, each with the last link of its paths if they share a root.
        let mut trees: BTreeMap<NodeIndex, Vec<(NodeIndex, Option<LinkId>)>> = BTreeMap::new();
        for &destination in &destinations {
            let (root, last) = graph.attachment(destination);
            trees.entry(root).or_default().push((destination, last));
        }
        let mut tree = Tree::new(forwards.len());
        for (root, destinations) in trees {
            tree.grow(&graph, root);
            let has_table = |node: NodeIndex| node != root && matches!(forwarding.rows[node as usize], Row::At(_));
            for (node, hops) in tree.next_hops(&graph, has_table) {
                let hop = forwarding.add_set(hops);
                forwarding.enter(node, destinations.iter().map(|&(destination, _)| (destination, hop)));
            }
            let last = |last: Option<LinkId>| last.filter(|last| !avoided.contains(last));
            let at_root = destinations.iter().filter_map(|&(destination, link)| Some((destination, last(link)?)));
            forwarding.enter(root, at_root);
        }
        forwarding
    }

    /// Enters the next hop of a node to each of these destinations.
    fn enter(&mut self, node: NodeIndex, hops: impl Iterator<Item = (NodeIndex, u32)>) {
        let Row::At(first) = self.rows[node as usize] else { return };
        for (destination, hop) in hops {
            self.hops[first + self.numbers[destination as usize] as usize] = hop;
        }
    }

    fn add_set(&mut self, links: Vec<LinkId>) -> u32 {
        match links[..] {
            [only] => only,
            _ => {
                // Neighbouring destinations mostly have the same set.
                if self.sets.last().is_none_or(|last| **last != links[..]) {
                    self.sets.push(links.into());
                }
                SET | (self.sets.len() as u32 - 1)
            }
        }
    }

    /// The number of a node as a destination; `None` if no packet ends there.
    #[must_use]
    pub fn number(&self, node: NodeIndex) -> Option<u32> {
        Some(self.numbers[node as usize]).filter(|&number| number != NONE)
    }

    /// How many destinations there are.
    #[must_use]
    pub fn destinations(&self) -> u32 {
        self.destinations
    }

    /// The different sets of equal next hops. The links of a set leave the same node.
    #[must_use]
    pub fn equal_hops(&self) -> BTreeSet<Vec<LinkId>> {
        let sorted = |set: &[LinkId]| {
            let mut links = set.to_vec();
            links.sort_unstable();
            links
        };
        self.sets.iter().map(|set| sorted(set)).collect()
    }

    /// Whether any node has several next hops to a destination.
    #[must_use]
    pub fn has_equal_paths(&self) -> bool {
        !self.sets.is_empty()
    }

    /// The only link of a node that has no other; packets to everywhere take it.
    #[must_use]
    pub(crate) fn only(&self, node: NodeIndex) -> Option<LinkId> {
        if let Row::Only(link) = self.rows[node as usize] { Some(link).filter(|&link| link != NONE) } else { None }
    }

    /// The next hops of `node` to the destination of this number, the preferred one first. Empty if no path leads
    /// there.
    #[must_use]
    pub fn next_hops(&self, node: NodeIndex, number: u32) -> &[LinkId] {
        let hop = match &self.rows[node as usize] {
            Row::Only(link) => link,
            Row::At(first) => &self.hops[first + number as usize],
        };
        match *hop {
            NONE => &[],
            set if set & SET != 0 => &self.sets[(set & !SET) as usize],
            _ => std::slice::from_ref(hop),
        }
    }

    /// The links of the preferred path from a node to another; `None` if there is none.
    #[must_use]
    pub fn path(&self, edges: &[Edge], from: NodeIndex, to: NodeIndex) -> Option<Vec<LinkId>> {
        let number = self.number(to)?;
        let (mut node, mut path) = (from, Vec::new());
        while node != to {
            let link = *self.next_hops(node, number).first()?;
            node = edges[link as usize].to;
            // A host that is not the destination leads nowhere.
            if path.len() > edges.len() {
                return None;
            }
            path.push(link);
        }
        Some(path)
    }

    /// How many paths of the least metric lead from a node to another.
    #[must_use]
    pub fn count_paths(&self, edges: &[Edge], from: NodeIndex, to: NodeIndex) -> u64 {
        let Some(number) = self.number(to) else { return 0 };
        let next = |node| {
            let hops = if node == to { &[][..] } else { self.next_hops(node, number) };
            hops.iter().map(|&link| edges[link as usize].to)
        };
        // A node is counted when all nodes in front of it are.
        let (mut in_front, mut seen) = (BTreeMap::from([(from, 0_u64)]), vec![from]);
        while let Some(node) = seen.pop() {
            for following in next(node) {
                seen.extend((!in_front.contains_key(&following)).then_some(following));
                *in_front.entry(following).or_default() += 1;
            }
        }
        let (mut paths, mut ready) = (BTreeMap::from([(from, 1_u64)]), vec![from]);
        while let Some(node) = ready.pop() {
            let of_node = paths.get(&node).copied().unwrap_or(0);
            for following in next(node) {
                let count = paths.entry(following).or_default();
                *count = count.saturating_add(of_node);
                let left = in_front.entry(following).or_default();
                *left -= 1;
                ready.extend((*left == 0).then_some(following));
            }
        }
        paths.get(&to).copied().unwrap_or(0)
    }
}

impl<'a> Graph<'a> {
    fn new(forwards: &'a [bool], edges: &'a [Edge], avoided: &'a BTreeSet<LinkId>) -> Self {
        let nodes = forwards.len();
        let (into, out) =
            (Adjacency::new(nodes, edges, |edge| edge.to), Adjacency::new(nodes, edges, |edge| edge.from));
        // The k-th link from one node to another and the k-th link back are one cable.
        let mut cables: BTreeMap<(NodeIndex, NodeIndex), Vec<LinkId>> = BTreeMap::new();
        let mut places = vec![0; edges.len()];
        let mut used: BTreeMap<(NodeIndex, NodeIndex), usize> = BTreeMap::new();
        for (edge, number) in edges.iter().zip(0..) {
            places[number as usize] = number;
            let Edge { from, to, .. } = *edge;
            if !(forwards[from as usize] && forwards[to as usize]) {
                continue;
            }
            cables.entry((from, to)).or_default().push(number);
            let taken = used.entry((from, to)).or_default();
            if let Some(&back) = cables.get(&(to, from)).and_then(|back| back.get(*taken)) {
                places[number as usize] = back;
            }
            *taken += 1;
        }
        Self { edges, forwards, into, out, places, avoided }
    }

    /// The links into a node that paths may take, each with its edge.
    fn usable_into(&self, node: NodeIndex) -> impl Iterator<Item = (LinkId, Edge)> {
        let usable = self.into.of(node).iter().filter(|link| !self.avoided.contains(link));
        usable.map(|&link| (link, self.edges[link as usize]))
    }

    /// The root of the tree that leads to a destination: the node before it, if there is only one, or itself.
    fn attachment(&self, destination: NodeIndex) -> (NodeIndex, Option<LinkId>) {
        match self.into.of(destination) {
            &[link] if self.forwards[self.edges[link as usize].from as usize] => {
                (self.edges[link as usize].from, Some(link))
            }
            _ => (destination, None),
        }
    }
}

/// The costs of the paths to one root.
struct Tree {
    costs: Vec<Option<Cost>>,
    reached: Vec<NodeIndex>,
}

impl Tree {
    fn new(nodes: usize) -> Self {
        Self { costs: vec![None; nodes], reached: Vec::new() }
    }

    /// Dijkstra's algorithm, against the direction of the links.
    fn grow(&mut self, graph: &Graph<'_>, root: NodeIndex) {
        for node in self.reached.drain(..) {
            self.costs[node as usize] = None;
        }
        let mut next = BinaryHeap::from([Reverse((Cost::ZERO, root))]);
        while let Some(Reverse((cost, node))) = next.pop() {
            if self.costs[node as usize].is_some() {
                continue;
            }
            self.costs[node as usize] = Some(cost);
            self.reached.push(node);
            for (link, Edge { from, metric, .. }) in graph.usable_into(node) {
                if graph.forwards[from as usize] && self.costs[from as usize].is_none() {
                    next.push(Reverse((cost.plus(metric, graph.places[link as usize]), from)));
                }
            }
        }
    }

    /// The nodes in question from which the root can be reached, each with the links that begin paths of the least
    /// metric, the preferred one first.
    fn next_hops(&self, graph: &Graph<'_>, of: impl Fn(NodeIndex) -> bool) -> Vec<(NodeIndex, Vec<LinkId>)> {
        let mut hops: Vec<(NodeIndex, Cost, LinkId)> = Vec::new();
        for &node in &self.reached {
            let Some(cost) = self.costs[node as usize] else { continue };
            let cost = |link: LinkId, metric| cost.plus(metric, graph.places[link as usize]);
            let from_nodes = graph.usable_into(node).filter(|(_, edge)| of(edge.from));
            hops.extend(from_nodes.map(|(link, Edge { from, metric, .. })| (from, cost(link, metric), link)));
        }
        hops.sort_unstable();
        hops.chunk_by(|one, other| one.0 == other.0)
            .map(|of_node| {
                let equal = of_node.iter().take_while(|(_, cost, _)| cost.metric == of_node[0].1.metric);
                (of_node[0].0, equal.map(|&(.., link)| link).collect())
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "forwarding_tests.rs"]
mod tests;
