//! Routers in a row, with flows that may join at each, and one sink at the end.

use super::{Plan, PlannedKind, SharedHosts, each_flow};
use crate::names;
use crate::schema::{Chain, Enters, FlowGroup};

impl Plan<'_> {
    pub(super) fn chain(&mut self, chain: &Chain, groups: &[FlowGroup]) {
        let routers: Vec<u32> =
            (1..=chain.hops).map(|number| self.node(format!("router-{number}"), PlannedKind::Router)).collect();
        let sink = self.host("sink");
        for (&router, number) in routers.iter().zip(1_u32..) {
            let next = routers.get(number as usize).copied().unwrap_or(sink);
            let name = names::hop(number);
            self.link(name.clone(), &name, &chain.link, (router, next));
            self.link(names::hop_back(number), &name, &chain.link.plain(), (next, router));
        }
        let mut shared = SharedHosts::new(groups);
        each_flow(groups, |group, index, name| {
            let router = match group.1.enters.unwrap_or_default() {
                Enters::At(router) => router as usize - 1,
                Enters::Each => index as usize,
            };
            let host = shared.of(group.1, index, || {
                let host = self.host(format!("source-{name}"));
                let link = group.1.access.as_ref().unwrap_or(&chain.access);
                self.access(names::access(&name), link, host, routers[router]);
                host
            });
            self.flow(group, index, name, host, sink);
        });
    }
}
