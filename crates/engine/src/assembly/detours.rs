//! Routes around links that are avoided for a time.
//!
//! If no other route leads to a destination, the usual one stays. It leads to an avoided link, and never into a loop:
//! if a node on it had another route, all nodes before it would use that route.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::driver::routes::Periods;
use crate::forwarding::{Edge, Forwarding};
use crate::spec::{LinkId, NodeIndex, RouteChange};

/// Numbers of routes.
type Numbers = Rc<[usize]>;

/// The usual routes, and those of other times.
pub(crate) struct Routing {
    pub usual: Forwarding,
    others: Vec<Forwarding>,
    pub periods: Periods,
    /// By node and destination, the numbers of the routes that differ there, as far as they are known.
    different: RefCell<BTreeMap<(NodeIndex, u32), Numbers>>,
    /// The number of the usual routes.
    usual_alone: Numbers,
}

impl Routing {
    /// The routes of a network, as [`Forwarding::new`] has them, with their changes in the order of time.
    pub fn new(
        forwards: &[bool],
        edges: &[Edge],
        ends: impl Iterator<Item = NodeIndex> + Clone,
        changes: &[RouteChange],
    ) -> Self {
        let (mut others, mut periods) = (Vec::new(), Vec::with_capacity(changes.len()));
        let mut numbers: BTreeMap<&BTreeSet<LinkId>, usize> = BTreeMap::new();
        for RouteChange { from, avoided } in changes {
            let mut avoid = || {
                others.push(Forwarding::avoiding(avoided, forwards, edges, ends.clone()));
                others.len()
            };
            let number = if avoided.is_empty() { 0 } else { *numbers.entry(avoided).or_insert_with(&mut avoid) };
            periods.push((*from, number));
        }
        let periods = Periods::new(periods.into_iter());
        let (usual, usual_alone) = (Forwarding::new(forwards, edges, ends), Rc::from([0]));
        Self { usual, others, periods, different: RefCell::default(), usual_alone }
    }

    /// How many different routes there are.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The next hops of a node to a destination, the preferred one first, in the routes of this number.
    pub fn next_hops(&self, number: usize, node: NodeIndex, destination: u32) -> &[LinkId] {
        let usual = self.usual.next_hops(node, destination);
        let other = number.checked_sub(1).map(|other| self.others[other].next_hops(node, destination));
        other.filter(|hops| !hops.is_empty()).unwrap_or(usual)
    }

    /// The numbers of routes with different next hops of a node to a destination. There may be far fewer than routes.
    pub fn different(&self, node: NodeIndex, destination: u32) -> Numbers {
        // A fabric has a million pairs.
        if self.others.is_empty() {
            return Rc::clone(&self.usual_alone);
        }
        let find = || {
            let mut seen = BTreeSet::new();
            (0..self.count()).filter(|&number| seen.insert(self.next_hops(number, node, destination))).collect()
        };
        Rc::clone(self.different.borrow_mut().entry((node, destination)).or_insert_with(find))
    }

    /// Whether a node has several next hops to a destination at some time.
    pub fn has_choice(&self, node: NodeIndex) -> bool {
        let has = |destination| (0..self.count()).any(|number| self.next_hops(number, node, destination).len() > 1);
        self.usual.only(node).is_none() && (0..self.usual.destinations()).any(has)
    }

    /// Whether any node has several next hops to a destination at some time.
    pub fn has_equal_paths(&self) -> bool {
        self.usual.has_equal_paths() || self.others.iter().any(Forwarding::has_equal_paths)
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Time;
    use proptest::prelude::*;

    use super::*;

    const ROUTERS: u32 = 6;
    const HOSTS: u32 = 3;

    /// Cables between routers, each with a metric, and two hosts at routers of their own or at several.
    fn cables() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
        let between = prop::collection::vec((0..ROUTERS, 0..ROUTERS, 1_u32..3), 3..12);
        let at_hosts = prop::collection::vec((0..ROUTERS, 0..HOSTS), 0..3);
        (between, at_hosts).prop_map(|(between, at_hosts)| {
            let own = (0..HOSTS).map(|host| (host, host, 1));
            let more = at_hosts.into_iter().map(|(router, host)| (router, host, 1));
            let to_hosts = own.chain(more).map(|(router, host, metric)| (router, ROUTERS + host, metric));
            between.into_iter().filter(|(one, other, _)| one != other).chain(to_hosts).collect()
        })
    }

    proptest! {
        /// From each node packets come to their destination, or to a link that is avoided, and none into a loop.
        #[test]
        fn no_packet_comes_into_a_loop(cables in cables(), down in prop::collection::btree_set(0_u32..24, 1..8)) {
            let edge = |&(from, to, metric): &(u32, u32, u32)| [
                Edge { from, to, metric },
                Edge { from: to, to: from, metric },
            ];
            let edges: Vec<Edge> = cables.iter().flat_map(edge).collect();
            let nodes = ROUTERS + HOSTS;
            let forwards: Vec<bool> = (0..nodes).map(|node| node < ROUTERS).collect();
            let change = RouteChange { from: Time::ZERO, avoided: down.clone() };
            let routing = Routing::new(&forwards, &edges, ROUTERS..nodes, &[change]);
            for (to, from) in (ROUTERS..nodes).flat_map(|to| (0..nodes).map(move |from| (to, from))) {
                let Some(number) = routing.usual.number(to) else { continue };
                if routing.usual.path(&edges, from, to).is_none() {
                    continue;
                }
                let around = Forwarding::avoiding(&down, &forwards, &edges, std::iter::once(to));
                let path = around.path(&edges, from, to).unwrap_or_default();
                let is_up = !path.is_empty() && path.iter().all(|link| !down.contains(link));
                // All nodes that packets may come to over so many links.
                let mut reached = BTreeSet::from([from]);
                for _ in 0..=nodes {
                    let hops = reached.iter().filter(|&&node| node != to);
                    let hops = hops.flat_map(|&node| routing.next_hops(1, node, number));
                    let (lost, passed): (Vec<LinkId>, Vec<LinkId>) = hops.partition(|link| down.contains(link));
                    prop_assert!(lost.is_empty() || !is_up, "another path leads from {from} to {to}");
                    reached = passed.into_iter().map(|link| edges[link as usize].to).collect();
                }
                prop_assert!(reached.is_empty(), "a loop on the way from {from} to {to}");
            }
        }
    }
}
