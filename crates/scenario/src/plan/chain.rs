//! Routers in a row, with flows that may join at each, and one sink at the end.
//!
//! # Example
//!
//! ```toml
//! duration = "10 s"
//! warmup = "2 s"
//!
//! [topology.chain]
//! hops = 3
//! access = { rate = "100 Mbps", delay = "1 ms" }
//! link = { rate = "10 Mbps", delay = "1 ms", queue = "dbl" }
//!
//! [[flows]]
//! name = "through"
//! transport = "tcp"
//!
//! [[flows]]
//! name = "joining"
//! count = 3
//! enters = "each"
//! transport.udp = { packet = "1000 B", constant = { rate = "10 Mbps" } }
//! ```

use forebay_document::{Invalid, Path};

use super::outline::{Crossed, Direction, Each, Links, Outline, Traffic};
use super::{Plan, PlannedKind, SharedHosts, TopologyBuilder};
use crate::schema::{Chain, Enters, ScenarioSpec};
use crate::validate::require;

const HOPS: usize = 0;
/// A packet counts the links that it has passed in a byte; two of them lead to a chain and from it.
const MOST_HOPS: u32 = 250;

impl TopologyBuilder for Chain {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        let message = || format!("a chain of {} hops", self.hops);
        require((1..=MOST_HOPS).contains(&self.hops), || path.key("hops"), message, "expected 1 to 250")
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        outline.shares_hosts = true;
        outline.entries = Some(self.hops);
        let there = outline.described("hop-", &self.link, "link", Traffic::Data);
        let back = Direction::plain(("hop-", "/back"), &self.link);
        let each = Each::Number(1..self.hops + 1);
        let crossings = f64::from(self.hops);
        let hops = Links { each, crossings, crossed: Crossed::All, ..Links::bottleneck(there, Some(back)) };
        outline.links.push(hops);
        outline.add_uplinks(Some(&self.access), None, |access| Direction::of_access(("access-", "/back"), access));
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        let routers: Vec<u32> =
            (1..=self.hops).map(|number| plan.node(format!("router-{number}"), PlannedKind::Router)).collect();
        let sink = plan.host("sink");
        for (&router, number) in routers.iter().zip(1_u32..) {
            let next = routers.get(number as usize).copied().unwrap_or(sink);
            plan.link(HOPS, &number.to_string(), (router, next));
        }
        let mut shared = SharedHosts::new(&plan.outline.spec.flows);
        plan.each_flow(|plan, group, index, name| {
            let router = match group.1.enters.unwrap_or_default() {
                Enters::At(router) => router as usize - 1,
                Enters::Each => index as usize,
            };
            let host = shared.of(group.1, index, || plan.source(group.0, &name, routers[router]));
            plan.flow(group, index, name, host, sink);
        });
    }
}
