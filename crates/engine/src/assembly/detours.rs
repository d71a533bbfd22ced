//! Routes around links that are avoided for a time.
//!
//! Where no such route leads to a destination, the usual one stays. Those packets come to an avoided link, and not back
//! to where they were: a node on the usual route that had another one would have made it the route of all before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::routes::Periods;
use crate::forwarding::{Edge, Forwarding};
use crate::spec::{LinkId, NodeIndex, RouteChange};

/// The usual routes, and those of other times.
pub(crate) struct Routing {
    pub usual: Forwarding,
    others: Vec<Forwarding>,
    pub periods: Periods,
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
        Self { usual: Forwarding::new(forwards, edges, ends), others, periods }
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
        /// From each node packets come to their destination, or to a link that is avoided, without a circle.
        #[test]
        fn no_packet_goes_in_a_circle(cables in cables(), down in prop::collection::btree_set(0_u32..24, 1..8)) {
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
                let (mut node, mut hops) = (from, 0);
                while node != to {
                    let link = routing.next_hops(1, node, number)[0];
                    if down.contains(&link) {
                        let around = Forwarding::avoiding(&down, &forwards, &edges, std::iter::once(to));
                        let path = around.path(&edges, from, to).unwrap_or_default();
                        let is_up = !path.is_empty() && path.iter().all(|link| !down.contains(link));
                        prop_assert!(!is_up, "another path leads from {from} to {to}");
                        break;
                    }
                    node = edges[link as usize].to;
                    hops += 1;
                    prop_assert!(hops <= nodes, "a circle from {from} to {to}");
                }
            }
        }
    }
}
