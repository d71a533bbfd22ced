//! Sources, a router, the bottleneck, a second router, and sinks.
//!
//! # Example
//!
//! ```toml
//! duration = "10 s"
//! warmup = "2 s"
//!
//! [topology.dumbbell]
//! sources = 5
//! sinks = 5
//! access = { rate = "100 Mbps", delay = { uniform = ["1 ms", "20 ms"] } }
//! bottleneck = { rate = "10 Mbps", delay = "5 ms", queue = "codel" }
//!
//! [[flows]]
//! name = "tcp"
//! count = 20
//! transport = "tcp"
//! ```

use forebay_document::{Invalid, Path};
use forebay_qdisc::Rng;
use forebay_records::random::stream;

use super::outline::{Direction, Each, Links, Outline, Role, Traffic};
use super::{Plan, PlannedKind, SharedHosts, TopologyBuilder};
use crate::schema::{Dumbbell, FlowGroup, HostCount, Placement, ScenarioSpec};
use crate::validate::require;

const BOTTLENECK: usize = 0;
const SOURCES: usize = 1;
const MOST_HOSTS: u32 = 1 << 20;

impl TopologyBuilder for Dumbbell {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        for (key, hosts) in [("sources", self.sources), ("sinks", self.sinks)] {
            let holds = number(hosts).is_none_or(|number| number <= MOST_HOSTS);
            require(holds, || path.key(key), || "too many hosts".into(), "expected at most 1048576")?;
        }
        Ok(())
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        outline.shares_hosts = true;
        outline.add_bottleneck(&self.bottleneck, self.reverse.as_ref());
        let back = |access| Direction::of_access(("access-", "/back"), access);
        outline.add_uplinks(Some(&self.access), number(self.sources), back);
        let (key, sinks) = self.sink_access.as_ref().map_or(("access", &self.access), |access| ("sink_access", access));
        let there = outline.described("sink-", sinks, key, Traffic::Data);
        let with_sinks = |group: &&(usize, &FlowGroup)| group.1.hosts_of.is_none();
        let groups: Vec<(usize, &FlowGroup)> = outline.spec.flows.iter().enumerate().collect();
        let flows = || groups.iter().filter(with_sinks).map(|group| group.0).collect();
        let each = number(self.sinks).map_or_else(|| Each::FlowOf(flows()), |sinks| Each::Number(0..sinks));
        let back = Direction::of_access(("sink-", "/back"), sinks);
        outline.links.push(Links { crossings: 1.0, ..Links::of_hosts(Role::Downlink, each, there, back) });
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        let (left, right) = (plan.node("left", PlannedKind::Router), plan.node("right", PlannedKind::Router));
        plan.link(BOTTLENECK, "", (left, right));
        let sink_links = plan.outline.links.len() - 1;
        let sink = |plan: &mut Plan<'s>, host: &str| {
            let node = plan.host(format!("sink-{host}"));
            plan.link(sink_links, host, (right, node));
            node
        };
        let source = |plan: &mut Plan<'s>, host: u32| {
            let node = plan.host(format!("source-{host}"));
            plan.link(SOURCES, &host.to_string(), (node, left));
            node
        };
        let sources: Vec<u32> = (0..number(self.sources).unwrap_or(0)).map(|host| source(plan, host)).collect();
        let sinks: Vec<u32> = (0..number(self.sinks).unwrap_or(0)).map(|host| sink(plan, &host.to_string())).collect();
        let mut place = 0_usize;
        let mut shared = SharedHosts::new(&plan.outline.spec.flows);
        plan.each_flow(|plan, group, index, name| {
            let (source, sink) = shared.of(group.1, index, || {
                let (mut rng, seed) = (None, plan.seed);
                let mut choose = |hosts: &[u32]| -> Option<u32> {
                    let count = hosts.len().max(1);
                    let at = match self.placement {
                        Placement::RoundRobin => place % count,
                        Placement::Random => {
                            let rng = rng.get_or_insert_with(|| stream(seed, &format!("flow/{name}/placement")));
                            (rng.next_u64() % (count as u64)) as usize
                        }
                    };
                    hosts.get(at).copied()
                };
                let (chosen_source, chosen_sink) = (choose(&sources), choose(&sinks));
                place += 1;
                // A group's own access link, or "per-flow" hosts: the flow gets hosts of its own.
                let chosen_source = chosen_source.filter(|_| group.1.access.is_none());
                let source = chosen_source.unwrap_or_else(|| plan.source(group.0, &name, left));
                (source, chosen_sink.unwrap_or_else(|| sink(plan, &name)))
            });
            plan.flow(group, index, name, source, sink);
        });
    }
}

/// How many hosts there are, unless each flow has its own.
fn number(hosts: HostCount) -> Option<u32> {
    if let HostCount::Hosts(number) = hosts { Some(number) } else { None }
}
