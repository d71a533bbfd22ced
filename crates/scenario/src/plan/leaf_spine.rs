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

use super::clos::{Cable, Clos};
use super::outline::Outline;
use super::{Plan, TopologyBuilder};
use crate::schema::{LeafSpine, ScenarioSpec};
use crate::validate::clos;

impl TopologyBuilder for LeafSpine {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        clos::leaf_spine(self, path)?;
        clos::validate(&self.clos(), path)
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        self.clos().outline(outline);
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        plan.build_named();
    }
}

impl LeafSpine {
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
