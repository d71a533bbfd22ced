//! The graph of a network: nodes, links, and the paths of flows.

use std::collections::BTreeSet;
use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::StringColumn;
use forebay_records::random::salt;
use forebay_switching::{NodePolicy, PathPolicy, PathPolicyConfig, StatefulPolicy};

use crate::assembly::detours::Routing;
use crate::error::RunError;
use crate::forwarding::{Adjacency, Edge};
use crate::packet::Packet;
use crate::spec::flows::{Flow, Flows};
use crate::spec::{LinkId, NodeIndex, NodeSpec, RouteChange, Transport};

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Host,
    /// A host with an adapter.
    Adapter,
    Router,
    Crossbar,
    EthernetSwitch,
}

impl Kind {
    fn of(spec: &NodeSpec) -> Self {
        match spec {
            NodeSpec::Host(None) => Self::Host,
            NodeSpec::Host(Some(_)) => Self::Adapter,
            NodeSpec::Router => Self::Router,
            NodeSpec::Crossbar(_) => Self::Crossbar,
            NodeSpec::EthernetSwitch(_) => Self::EthernetSwitch,
        }
    }

    pub fn is_ethernet(self) -> bool {
        matches!(self, Self::Adapter | Self::EthernetSwitch)
    }
}

/// None of something, one, or several different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distinct {
    None,
    One(u32),
    Several,
}

impl Distinct {
    pub fn add(&mut self, new: u32) {
        *self = match *self {
            Self::None => Self::One(new),
            Self::One(known) if known == new => return,
            _ => Self::Several,
        }
    }
}

pub(crate) struct Graph {
    pub kinds: Vec<Kind>,
    pub edges: Vec<Edge>,
    /// The links into each node, in the order of its inputs, and those out of it.
    pub into: Adjacency,
    pub out: Adjacency,
    /// The number of each link among the inputs of the node at its far end, and among the outputs of its sender.
    pub inputs: Vec<u32>,
    pub outputs: Vec<u32>,
    pub routing: Routing,
    policies: Policies,
}

/// The policies of the nodes, which all are of one kind.
enum Policies {
    /// Each packet takes the first of several paths.
    First,
    /// Those of all nodes, and the entropy of each (flow, direction).
    Stateless { by_node: Vec<Arc<dyn PathPolicy>>, entropies: Vec<u32> },
    /// Each node that chooses owns its policy.
    Stateful { config: PathPolicyConfig, chooses: Vec<bool>, sees_all: bool },
}

/// The packets of a flow in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub from: NodeIndex,
    pub to: NodeIndex,
    /// The length of the shortest in bytes.
    pub least_bytes: u32,
    /// Whether its packets carry what equal paths are chosen by.
    pub sprays: bool,
}

impl Stream {
    /// The data of a flow, and its ACKs if it has any.
    pub fn of(flow: Flow<'_>) -> [Option<Self>; 2] {
        let (data_bytes, ack_bytes) = flow.transport.least_bytes();
        let Flow { source, destination, .. } = flow;
        let sprays = matches!(flow.transport, Transport::Message(message) if message.transport.sprays());
        let acks = ack_bytes.map(|least_bytes| Self { from: destination, to: source, least_bytes, sprays });
        [Some(Self { from: source, to: destination, least_bytes: data_bytes, sprays }), acks]
    }
}

/// A link that packets take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    /// The link before it; none at their source.
    pub before: Option<LinkId>,
    pub link: LinkId,
    /// Whether they end behind it.
    pub is_last: bool,
    /// Whether a policy with state chose it.
    pub is_chosen: bool,
}

impl Policies {
    fn new(
        paths: &PathPolicyConfig,
        (names, forwards): (&StringColumn, &[bool]),
        flows: &Flows,
        routing: &Routing,
        seed: u64,
    ) -> Self {
        match paths.build(0) {
            NodePolicy::First => return Self::First,
            NodePolicy::Stateful(policy) => {
                let sees_all = policy.sees_all();
                let chooses = |node| routing.has_choice(node) || sees_all && forwards[node as usize];
                let chooses = (0..names.len() as NodeIndex).map(chooses).collect();
                return Self::Stateful { config: paths.clone(), chooses, sees_all };
            }
            NodePolicy::Stateless(_) => {}
        }
        let policy = |name: &str| match paths.build(salt(seed, &format!("node/{name}/paths"))) {
            NodePolicy::Stateless(policy) => Some(policy),
            _ => None,
        };
        let entropy = |flow: &Flow<'_>, end| match flow.slot {
            0 => salt(seed, &format!("flow/{}/paths/{end}", flow.name)),
            slot => salt(seed, &format!("flow/{}/{slot}/paths/{end}", flow.name)),
        };
        let of_flow = |flow: Flow<'_>| [entropy(&flow, "source"), entropy(&flow, "sink")];
        Self::Stateless {
            by_node: names.iter().filter_map(policy).collect(),
            entropies: flows.iter().flat_map(of_flow).collect(),
        }
    }
}

impl Graph {
    /// # Errors
    /// If a node has more inputs than packets can tell apart.
    pub fn new(
        nodes: &[NodeSpec],
        names: &StringColumn,
        edges: Vec<Edge>,
        flows: &Flows,
        (paths, changes): (&PathPolicyConfig, &[RouteChange]),
        seed: u64,
    ) -> Result<Self, RunError> {
        let kinds: Vec<Kind> = nodes.iter().map(Kind::of).collect();
        let into = Adjacency::new(nodes.len(), &edges, |edge| edge.to);
        let out = Adjacency::new(nodes.len(), &edges, |edge| edge.from);
        let (inputs, outputs) = (into.places(edges.len()), out.places(edges.len()));
        if inputs.iter().any(|&input| input >= Packet::MOST_INPUTS) {
            return Err(RunError::Invariant("a node has more inputs than packets can tell apart".into()));
        }
        let forwards: Vec<bool> = nodes.iter().map(NodeSpec::forwards).collect();
        // Messages about frames go back to their sources, too.
        let is_reached =
            |flow: &Flow<'_>| flow.transport.least_bytes().1.is_some() || kinds[flow.source as usize] == Kind::Adapter;
        let sources = flows.iter().filter(is_reached).map(|flow| flow.source);
        let ends = flows.iter().map(|flow| flow.destination).chain(sources);
        let routing = Routing::new(&forwards, &edges, ends, changes);
        let policies = if routing.has_equal_paths() {
            Policies::new(paths, (names, &forwards), flows, &routing, seed)
        } else {
            Policies::First
        };
        Ok(Self { kinds, edges, into, out, inputs, outputs, routing, policies })
    }

    pub fn kind(&self, node: NodeIndex) -> Kind {
        self.kinds[node as usize]
    }

    /// How many inputs come before the endpoints at a node, for what it sends on. A host does not send on what comes by
    /// links.
    pub fn links_before_endpoints(&self, node: NodeIndex) -> u32 {
        if self.kind(node) == Kind::Host { 0 } else { self.into.of(node).len() as u32 }
    }

    /// Whether all packets of a flow take the same path while routes stay.
    fn keeps_paths(&self, stream: Stream) -> bool {
        match &self.policies {
            Policies::First => true,
            // All nodes have the same policy.
            Policies::Stateless { by_node, .. } => {
                by_node.first().is_none_or(|policy| policy.keeps_paths() && !stream.sprays)
            }
            Policies::Stateful { .. } => false,
        }
    }

    /// The policy of a node, if that is one without state.
    pub fn policy(&self, node: NodeIndex) -> Option<&Arc<dyn PathPolicy>> {
        if let Policies::Stateless { by_node, .. } = &self.policies { by_node.get(node as usize) } else { None }
    }

    /// The policy of a node that owns it and has a choice.
    pub fn stateful_policy(&self, node: NodeIndex) -> Option<Box<dyn StatefulPolicy>> {
        let Policies::Stateful { config, chooses, .. } = &self.policies else { return None };
        match config.build(0) {
            NodePolicy::Stateful(policy) if chooses[node as usize] => Some(policy),
            _ => None,
        }
    }

    /// Whether a node of the driver in front of its ports chooses among them for this node.
    pub fn has_chooser(&self, node: NodeIndex) -> bool {
        let is_of_ports = matches!(self.kind(node), Kind::Host | Kind::Router);
        is_of_ports && matches!(&self.policies, Policies::Stateful { chooses, .. } if chooses[node as usize])
    }

    /// Whether the policy of a node sees packets with a single next hop, too.
    pub fn sees_all(&self, node: NodeIndex) -> bool {
        matches!(&self.policies, Policies::Stateful { chooses, sees_all: true, .. } if chooses[node as usize])
    }

    /// The destination of each (flow, direction), and what equal paths are chosen by. A source that no packets are sent
    /// to has a number of its own, by which disciplines tell hosts apart.
    pub fn destinations(&self, flows: &Flows) -> (Vec<u32>, Vec<u32>) {
        let number = |node| self.routing.usual.number(node).unwrap_or(self.routing.usual.destinations() + node);
        let numbers = flows.iter().flat_map(|flow| [number(flow.destination), number(flow.source)]).collect();
        let entropies = match &self.policies {
            Policies::Stateless { entropies, .. } => entropies.clone(),
            _ => Vec::new(),
        };
        (numbers, entropies)
    }

    /// The next links of the packets of a (flow, direction), in the routes of this number: one, unless its packets take
    /// different paths. Empty if no path leads there.
    fn next_links(&self, routes: usize, node: NodeIndex, destination: u32, of: (Stream, usize)) -> &[LinkId] {
        let (stream, direction) = of;
        let equal = self.routing.next_hops(routes, node, destination);
        match &self.policies {
            _ if equal.len() < 2 || !self.keeps_paths(stream) => equal,
            Policies::Stateless { by_node, entropies } => {
                let chosen = by_node[node as usize].choose(entropies[direction], Time::ZERO, equal.len());
                &equal[chosen..=chosen]
            }
            _ => &equal[..1],
        }
    }

    /// Calls `visit` for each link that the packets of a (flow, direction) take: in the order of their path, where
    /// routes do not change.
    ///
    /// # Errors
    /// If no path leads to their destination.
    pub fn walk(&self, stream: Stream, direction: usize, mut visit: impl FnMut(Hop)) -> Result<(), RunError> {
        let nowhere = || RunError::Invariant(format!("no path leads from node {} to {}", stream.from, stream.to));
        let destination = self.routing.usual.number(stream.to).ok_or_else(nowhere)?;
        let hops = |routes: usize, node: NodeIndex, before: Option<LinkId>| {
            let links = self.next_links(routes, node, destination, (stream, direction));
            let is_last = |link: LinkId| self.edges[link as usize].to == stream.to;
            let has_state = matches!(self.policies, Policies::Stateful { .. });
            let is_chosen = has_state && links.len() > 1 || self.sees_all(node);
            links.iter().map(move |&link| Hop { before, link, is_last: is_last(link), is_chosen })
        };
        if self.routing.count() > 1 || !self.keeps_paths(stream) {
            return self.walk_all((stream.from, destination), hops, visit, nowhere);
        }
        let hop = |node, before| hops(0, node, before).next().ok_or_else(nowhere);
        let (mut next, mut crossed) = (hop(stream.from, None)?, 1);
        visit(next);
        while !next.is_last {
            next = hop(self.edges[next.link as usize].to, Some(next.link))?;
            visit(next);
            crossed += 1;
            if crossed > self.edges.len() {
                return Err(nowhere());
            }
        }
        Ok(())
    }

    /// The same where routes change, or packets of a flow take different paths: at each node they may take any link of
    /// these.
    fn walk_all<H: Iterator<Item = Hop>>(
        &self,
        (from, destination): (NodeIndex, u32),
        hops: impl Fn(usize, NodeIndex, Option<LinkId>) -> H,
        mut visit: impl FnMut(Hop),
        nowhere: impl Fn() -> RunError,
    ) -> Result<(), RunError> {
        let (mut found, mut ahead) = (BTreeSet::new(), vec![(from, None)]);
        while let Some((node, before)) = ahead.pop() {
            for &routes in &*self.routing.different(node, destination) {
                let mut hops = hops(routes, node, before).peekable();
                hops.peek().ok_or_else(&nowhere)?;
                for hop in hops {
                    if found.insert((before, hop.link, hop.is_chosen)) {
                        visit(hop);
                        ahead.extend((!hop.is_last).then(|| (self.edges[hop.link as usize].to, Some(hop.link))));
                    }
                }
            }
        }
        Ok(())
    }
}
