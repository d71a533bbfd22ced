//! Sources with access links of their own, one router, and one sink behind the bottleneck.
//!
//! # Example
//!
//! ```toml
//! duration = "10 s"
//! warmup = "2 s"
//!
//! [topology.star]
//! access = { rate = "100 Mbps", delay = "1 ms" }
//! bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "fq_codel" }
//!
//! [[flows]]
//! name = "tcp"
//! count = 5
//! transport = "tcp"
//! ```

use super::outline::{Direction, Outline};
use super::{Plan, PlannedKind, SharedHosts, TopologyBuilder};
use crate::schema::Star;

const BOTTLENECK: usize = 0;

impl TopologyBuilder for Star {
    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        outline.shares_hosts = true;
        outline.add_bottleneck(&self.bottleneck, self.reverse.as_ref());
        outline.add_uplinks(Some(&self.access), None, |access| Direction::of_access(("access-", "/back"), access));
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        let (router, sink) = (plan.node("router", PlannedKind::Router), plan.host("sink"));
        plan.link(BOTTLENECK, "", (router, sink));
        let mut shared = SharedHosts::new(&plan.outline.spec.flows);
        plan.each_flow(|plan, group, index, name| {
            let host = shared.of(group.1, index, || plan.source(group.0, &name, router));
            plan.flow(group, index, name, host, sink);
        });
    }
}
