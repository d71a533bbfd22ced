//! A home or an office: hosts behind a gateway, its line to the provider, and servers.

use forebay_units::{Rate, Span};
use schemars::JsonSchema;

use super::{LinkSpec, QueueSpec, SpanDistribution};

/// Hosts behind a gateway, its line to the provider, and servers. The network for questions about an access link, in
/// both directions at once. Flows lead from a host to a server, or the other way, by the names of both. Links:
/// `<host>->gateway` and back, `gateway-up`, `up`, `down`, `gateway-down`, `isp-><server>` and back.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Home {
    /// The hosts of the home.
    pub hosts: Vec<HomeHost>,
    /// The line from the home's modem to the provider, with the queue of the modem.
    pub up: LinkSpec,
    /// The line from the provider to the modem, with the queue of the provider.
    pub down: LinkSpec,
    /// Queues of the gateway, with shapers below the rates of the line: then packets wait there, and not in the modem
    /// or at the provider.
    #[serde(default)]
    pub gateway: Gateway,
    /// The servers, each behind a link of its own to the provider.
    pub servers: Vec<Server>,
}

/// A host of a home, or several that are alike.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeHost {
    /// Its name.
    pub name: String,
    /// This many hosts, `name-0`, `name-1`, …. In `from` and `to` of flows their name is a list of all. Default: one,
    /// with that name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Its link to the gateway, in both directions. Default: 1 Gb/s and 100 us, as Ethernet in a house.
    #[serde(default = "local_link")]
    pub link: LinkSpec,
}

/// Queues of a gateway, each at a port of this `rate`. A discipline that shapes, such as `cake` with a `bandwidth`,
/// decides when packets leave.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gateway {
    /// Towards the line. Default: no queue.
    pub up: Option<GatewayPort>,
    /// For what comes from the line. Default: no queue.
    pub down: Option<GatewayPort>,
    /// Rate of the ports of the gateway. Default: 1 Gb/s.
    pub rate: Rate,
}

/// A port of a gateway.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayPort {
    /// Its queue.
    pub queue: Box<QueueSpec>,
}

/// A server, or several that are alike.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// This many servers, `name-0`, `name-1`, …. In `from` and `to` of flows their name is a list of all. Default: one,
    /// with that name.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
    /// Its link to the provider, in both directions, with the delay of the Internet between the two. Default: 10 Gb/s
    /// and 10 ms.
    #[serde(default = "internet")]
    pub link: LinkSpec,
}

impl Default for Gateway {
    fn default() -> Self {
        Self { up: None, down: None, rate: Rate::megabits(1000) }
    }
}

fn local_link() -> LinkSpec {
    LinkSpec::of(Rate::megabits(1000), SpanDistribution::Constant(Span::from_microseconds(100)))
}

fn internet() -> LinkSpec {
    LinkSpec::of(Rate::megabits(10_000), SpanDistribution::Constant(Span::from_milliseconds(10)))
}
