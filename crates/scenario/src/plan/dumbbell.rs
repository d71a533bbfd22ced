//! Sources, a router, the bottleneck, a second router, and sinks.

use forebay_qdisc::Rng;
use forebay_records::random::stream;

use super::{Plan, PlannedKind, SharedHosts, each_flow};
use crate::names;
use crate::schema::{Dumbbell, FlowGroup, HostCount, LinkSpec, Placement};

impl Plan<'_> {
    /// The links between two routers, or between a router and its sink.
    pub(super) fn bottleneck(&mut self, spec: &LinkSpec, reverse: Option<&LinkSpec>, (from, to): (u32, u32)) {
        self.link(names::BOTTLENECK.into(), names::BOTTLENECK, spec, (from, to));
        let delay_name = if reverse.is_some() { names::REVERSE } else { names::BOTTLENECK };
        let reverse = reverse.cloned().unwrap_or_else(|| spec.plain());
        self.link(names::REVERSE.into(), delay_name, &reverse, (to, from));
    }

    pub(super) fn dumbbell(&mut self, dumbbell: &Dumbbell, groups: &[FlowGroup]) {
        let (left, right) = (self.node("left", PlannedKind::Router), self.node("right", PlannedKind::Router));
        self.bottleneck(&dumbbell.bottleneck, dumbbell.reverse.as_ref(), (left, right));
        let sink_access = dumbbell.sink_access.as_ref().unwrap_or(&dumbbell.access);
        let hosts = |count: HostCount| if let HostCount::Hosts(hosts) = count { hosts } else { 0 };
        let source = |plan: &mut Self, host: &str, access: &LinkSpec| {
            let node = plan.host(format!("source-{host}"));
            plan.access(names::access(host), access, node, left);
            node
        };
        let sink = |plan: &mut Self, host: &str| {
            let node = plan.host(format!("sink-{host}"));
            plan.access(names::sink(host), sink_access, right, node);
            node
        };
        let sources: Vec<u32> =
            (0..hosts(dumbbell.sources)).map(|host| source(self, &host.to_string(), &dumbbell.access)).collect();
        let sinks: Vec<u32> = (0..hosts(dumbbell.sinks)).map(|host| sink(self, &host.to_string())).collect();
        let mut place = 0_usize;
        let mut shared = SharedHosts::new(groups);
        each_flow(groups, |group, index, name| {
            let (source, sink) = shared.of(group.1, index, || {
                let (mut rng, seed) = (None, self.seed);
                let mut choose = |hosts: &[u32]| -> Option<u32> {
                    let count = hosts.len().max(1);
                    let at = match dumbbell.placement {
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
                let source = match (chosen_source, &group.1.access) {
                    (Some(source), None) => source,
                    (_, own) => source(self, &name, own.as_ref().unwrap_or(&dumbbell.access)),
                };
                (source, chosen_sink.unwrap_or_else(|| sink(self, &name)))
            });
            self.flow(group, index, name, source, sink);
        });
    }
}
