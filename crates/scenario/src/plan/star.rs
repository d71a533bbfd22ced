//! Sources with access links of their own, one router, and one sink behind the bottleneck.

use super::{Plan, PlannedKind, SharedHosts, each_flow};
use crate::names;
use crate::schema::{FlowGroup, Star};

impl Plan<'_> {
    pub(super) fn star(&mut self, star: &Star, groups: &[FlowGroup]) {
        let (router, sink) = (self.node("router", PlannedKind::Router), self.host("sink"));
        self.bottleneck(&star.bottleneck, star.reverse.as_ref(), (router, sink));
        let mut shared = SharedHosts::new(groups);
        each_flow(groups, |group, index, name| {
            let host = shared.of(group.1, index, || {
                let host = self.host(format!("source-{name}"));
                let link = group.1.access.as_ref().unwrap_or(&star.access);
                self.access(names::access(&name), link, host, router);
                host
            });
            self.flow(group, index, name, host, sink);
        });
    }
}
