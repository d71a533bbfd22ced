//! Ethernets: a link from each node to its switch, and links between switches.
//!
//! # Example
//!
//! ```toml
//! duration = "100 ms"
//! warmup = "20 ms"
//!
//! [topology.ethernet]
//! link = { rate = "10 Gbps", delay = "500 ns" }
//! congestion_management = "qcn"
//! switch.pause = { high = "280 KB", low = "260 KB" }
//! adapter.pause = { high = "140 KB", low = "130 KB" }
//! switches = [
//!     { name = "SW1", nodes = ["1", "2"] },
//!     { name = "SW2", nodes = ["3", "4"] },
//! ]
//! trunks = [["SW1", "SW2"]]
//!
//! [[flows]]
//! name = "hot"
//! from = ["1", "2", "3"]
//! to = "4"
//! transport.frames = { rate = "5 Gbps" }
//! ```

use forebay_document::{Invalid, Path};

use super::outline::{Links, Outline, Traffic};
use super::{EthernetPlan, Plan, PlannedAdapter, PlannedKind, PlannedSwitch, TopologyBuilder};
use crate::schema::{Ethernet, LinkSpec, ScenarioSpec, Service, ServiceAt, ServicePeriod, SpanDistribution};
use crate::validate::ethernet;

impl TopologyBuilder for Ethernet {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        ethernet::validate(self, path)
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        let congestion_management = self.congestion_management.as_ref();
        outline.paths = Some(&self.paths);
        outline.ethernet = Some(EthernetPlan::new(&self.adapter, congestion_management));
        let line_rate = self.link.rate;
        for switch in &self.switches {
            let path = outline.path.key("switch");
            let switch_kind = PlannedSwitch { spec: &self.switch, congestion_management, line_rate, path };
            outline.add_node(&*switch.name, PlannedKind::EthernetSwitch(Box::new(switch_kind)));
        }
        for node in self.nodes() {
            let service = self.service_of(node, ServiceAt::Node).collect();
            let adapter = PlannedAdapter { spec: &self.adapter, congestion_management, line_rate, service };
            outline.add_node(node, PlannedKind::Adapter(Box::new(adapter)));
        }
        let of_nodes = self.switches.iter().flat_map(|it| it.nodes.iter().map(|node| [&node.name, &it.name]));
        let trunks = self.trunks.iter().map(|[one, other]| [one, other]);
        let links: Vec<[&String; 2]> = of_nodes.chain(trunks).collect();
        // From a node to its switch, over at most two more links, and to the other node.
        let crossings = (2.0 + self.trunks.len().min(2) as f64) / links.len() as f64;
        for [one, other] in links {
            let (Some(from), Some(to)) = (outline.node(one), outline.node(other)) else { continue };
            let ways = [self.way_to(other), self.way_to(one)].map(|spec| (spec, outline.path.clone()));
            let joined = outline.joined([from, to], ways, Traffic::Both);
            outline.links.push(Links { crossings, ..joined });
        }
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        plan.build_named();
    }
}

impl Ethernet {
    /// The periods of other rates at the port to a node, or at the node itself.
    fn service_of(&self, node: &str, at: ServiceAt) -> impl Iterator<Item = ServicePeriod> {
        self.service.iter().filter(move |service| service.node == node && service.at == at).map(Service::period)
    }

    /// A link, as a switch sends on it.
    fn way_to(&self, node: &str) -> LinkSpec {
        LinkSpec {
            queue: self.queue.clone(),
            service: self.service_of(node, ServiceAt::Switch).collect(),
            impairments: self.link.impairments.clone(),
            ..LinkSpec::of(self.link.rate, SpanDistribution::Constant(self.link.delay))
        }
    }
}
