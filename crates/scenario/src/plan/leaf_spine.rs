//! Leaf switches with hosts, and spine switches that are connected to every leaf.
//!
//! # Example
//!
//! ```toml
//! duration = "10 ms"
//! warmup = "2 ms"
//!
//! [topology.leaf_spine]
//! leaves = 4
//! spines = 2
//! hosts = 4
//!
//! [topology.leaf_spine.host_link]
//! rate = "10 Gbps"
//! delay = "1 us"
//! queue.drop_tail = { limit = "100 packets" }
//!
//! [[flows]]
//! name = "incast"
//! count = 15
//! from = "hosts"
//! to = "host15"
//! transport = "tcp"
//! ```

use forebay_document::{Invalid, Path};

use super::clos::{Cable, Clos, ClosBuilder};
use crate::schema::LeafSpine;
use crate::validate::clos;

impl ClosBuilder for LeafSpine {
    fn check_numbers(&self, path: &Path) -> Result<(), Invalid> {
        clos::leaf_spine(self, path)
    }

    /// Leaves, then spines, then hosts.
    fn clos(&self) -> Clos<'_> {
        let switches = self.leaves + self.spines;
        let hosts = self.leaves * self.hosts;
        let of_hosts = (0..hosts).map(|host| Cable { tier: 0, lower: switches + host, upper: host / self.hosts });
        let pairs = (0..self.leaves).flat_map(|leaf| (0..self.spines).map(move |spine| (leaf, self.leaves + spine)));
        let uplinks = pairs.flat_map(|(lower, upper)| (0..self.parallel).map(move |_| Cable { tier: 1, lower, upper }));
        let names = (0..self.leaves).map(|leaf| format!("leaf{leaf}"));
        Clos {
            switch: &self.switch,
            host_port: self.host_port.as_ref(),
            adapter: &self.adapter,
            congestion_management: self.congestion_management.as_ref(),
            paths: &self.paths,
            exceptions: &self.exceptions,
            tiers: match &self.uplink {
                Some(uplink) => vec![(&self.host_link, "host_link"), (uplink, "uplink")],
                None => vec![(&self.host_link, "host_link"); 2],
            },
            switches: names.chain((0..self.spines).map(|spine| format!("spine{spine}"))).collect(),
            hosts,
            cables: of_hosts.chain(uplinks).collect(),
        }
    }
}
