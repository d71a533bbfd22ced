//! Hosts behind a gateway, its line to the provider, and servers.
//!
//! # Example
//!
//! ```toml
//! duration = "20 s"
//! warmup = "5 s"
//!
//! [topology.home]
//! hosts = [{ name = "laptop" }, { name = "phone", count = 2 }]
//! servers = [{ name = "cloud" }, { name = "far" }]
//!
//! [topology.home.up]
//! rate = "10 Mbps"
//! delay = "5 ms"
//! queue.drop_tail = { limit = "256 KB" }
//!
//! [topology.home.down]
//! rate = "50 Mbps"
//! delay = "5 ms"
//! queue = "fq_codel"
//!
//! [[flows]]
//! name = "backup"
//! from = "laptop"
//! to = "cloud"
//! transport = "tcp"
//!
//! [[flows]]
//! name = "films"
//! count = 2
//! from = "far"
//! to = "phone"
//! transport = "tcp"
//! ```

use std::borrow::Cow;
use std::collections::BTreeSet;

use forebay_document::{Invalid, Path};
use forebay_units::Span;

use super::outline::{Crossed, Direction, Links, Outline, Traffic};
use super::{Plan, PlannedKind, TopologyBuilder};
use crate::names;
use crate::schema::{GatewayPort, Home, LinkSpec, ScenarioSpec, SpanDistribution};
use crate::validate::home;

const GATEWAY: &str = "gateway";
const MODEM: &str = "modem";
const PROVIDER: &str = "isp";

/// The nodes between hosts and servers.
pub(crate) const OWN_NODES: [&str; 3] = [GATEWAY, MODEM, PROVIDER];

impl TopologyBuilder for Home {
    fn check(&self, _: &ScenarioSpec, path: &Path) -> Result<(), Invalid> {
        home::validate(self, path)
    }

    fn hosts_behind_line(&self) -> Option<BTreeSet<&str>> {
        Some(self.hosts.iter().map(|host| host.name.as_str()).collect())
    }

    fn outline<'s>(&'s self, outline: &mut Outline<'s>) {
        for name in OWN_NODES {
            outline.add_node(name, PlannedKind::Router);
        }
        let names = self.hosts.iter().map(|host| &host.name).chain(self.servers.iter().map(|server| &server.name));
        for name in names {
            outline.add_node(&**name, PlannedKind::Host);
        }
        let at = outline.path.clone();
        for (index, host) in self.hosts.iter().enumerate() {
            own_link(outline, [&host.name, GATEWAY], &host.link, at.key("hosts").index(index).key("link"));
        }
        let inner = |port: &Option<GatewayPort>| LinkSpec {
            queue: port.as_ref().map(|port| port.queue.clone()),
            ..LinkSpec::of(self.gateway.rate, SpanDistribution::Constant(Span::ZERO))
        };
        let gateway = at.key("gateway");
        let ports = [("gateway-up", &self.gateway.up, "up"), ("gateway-down", &self.gateway.down, "down")];
        let ports = ports.map(|(name, port, key)| {
            let path = port.is_some().then(|| gateway.key(key));
            Direction::new((name.into(), ""), Cow::Owned(inner(port)), path, Traffic::Both)
        });
        pair(outline, [GATEWAY, MODEM], ports);
        let line = [("up", &self.up), ("down", &self.down)];
        let line = line.map(|(name, spec)| Direction::described(name, spec, at.key(name), Traffic::Both));
        pair(outline, [MODEM, PROVIDER], line);
        for (index, server) in self.servers.iter().enumerate() {
            own_link(outline, [PROVIDER, &server.name], &server.link, at.key("servers").index(index).key("link"));
        }
    }

    fn build<'s>(&'s self, plan: &mut Plan<'s>) {
        plan.build_named();
    }
}

/// Adds the link of a host or server: both directions are alike, and the queue of the description is that of the way
/// there.
fn own_link<'s>(outline: &mut Outline<'s>, [from, to]: [&'s str; 2], spec: &'s LinkSpec, path: Path) {
    let name = |from: &str, to: &str| (names::graph_link(from, to).into(), "");
    let there = Direction::new(name(from, to), Cow::Borrowed(spec), Some(path), Traffic::Some);
    let back = Direction::new(name(to, from), Cow::Owned(spec.without_queue()), None, Traffic::Some);
    pair(outline, [from, to], [there, back]);
}

fn pair<'s>(outline: &mut Outline<'s>, [from, to]: [&str; 2], [there, back]: [Direction<'s>; 2]) {
    let (Some(from), Some(to)) = (outline.node(from), outline.node(to)) else { return };
    let crossed = if there.traffic == Traffic::Both { Crossed::All } else { Crossed::Part };
    outline.links.push(Links { crossed, ends: Some([from, to]), ..Links::bottleneck(there, Some(back)) });
}
