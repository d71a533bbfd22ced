//! A fat-tree: pods of edge and aggregation switches, and core switches between the pods.
//!
//! # Example
//!
//! ```toml
//! duration = "10 ms"
//! warmup = "2 ms"
//!
//! [topology.fat_tree]
//! k = 4
//!
//! [topology.fat_tree.host_link]
//! rate = "10 Gbps"
//! delay = "1 us"
//! queue.drop_tail = { limit = "100 packets" }
//!
//! [[flows]]
//! name = "shift"
//! count = 16
//! from = "hosts"
//! to = [
//!     "host4", "host5", "host6", "host7", "host8", "host9",
//!     "host10", "host11", "host12", "host13", "host14", "host15",
//!     "host0", "host1", "host2", "host3",
//! ]
//! transport = "tcp"
//! ```

use forebay_document::{Invalid, Path};

use super::clos::{Cable, Clos, ClosBuilder};
use crate::schema::FatTree;
use crate::validate::clos;

impl ClosBuilder for FatTree {
    fn check_numbers(&self, path: &Path) -> Result<(), Invalid> {
        clos::fat_tree(self, path)
    }

    /// Edge switches, then aggregation switches, then cores, then hosts.
    fn clos(&self) -> Clos<'_> {
        let (pods, edges_of_pod) = (self.k, self.k / 2);
        let [hosts_of_edge, aggs_of_pod, cores_of_agg] = self.widths();
        let (edges, aggs, cores) = (pods * edges_of_pod, pods * aggs_of_pod, aggs_of_pod * cores_of_agg);
        let (hosts, first_host) = (edges * hosts_of_edge, edges + aggs + cores);
        let of_hosts = (0..hosts).map(|host| Cable { tier: 0, lower: first_host + host, upper: host / hosts_of_edge });
        let of_edges = (0..edges).flat_map(|edge| {
            let first = edges + edge / edges_of_pod * aggs_of_pod;
            (first..first + aggs_of_pod).map(move |upper| Cable { tier: 1, lower: edge, upper })
        });
        let of_aggs = (0..aggs).flat_map(|agg| {
            let core = move |link: u32| edges + aggs + link * aggs_of_pod + agg % aggs_of_pod;
            (0..cores_of_agg).map(move |link| Cable { tier: 2, lower: edges + agg, upper: core(link) })
        });
        let in_pods = |name: &'static str, each: u32| {
            (0..pods).flat_map(move |pod| (0..each).map(move |number| format!("pod{pod}.{name}{number}")))
        };
        let names = in_pods("edge", edges_of_pod).chain(in_pods("agg", aggs_of_pod));
        let host_link = (&self.host_link, "host_link");
        let edge_link = self.edge_link.as_ref().map_or(host_link, |link| (link, "edge_link"));
        let core_link = self.core_link.as_ref().map_or(edge_link, |link| (link, "core_link"));
        Clos {
            switch: &self.switch,
            host_port: self.host_port.as_ref(),
            adapter: &self.adapter,
            congestion_management: self.congestion_management.as_ref(),
            paths: &self.paths,
            exceptions: &self.exceptions,
            tiers: vec![host_link, edge_link, core_link],
            switches: names.chain((0..cores).map(|core| format!("core{core}"))).collect(),
            hosts,
            cables: of_hosts.chain(of_edges).chain(of_aggs).collect(),
        }
    }
}
