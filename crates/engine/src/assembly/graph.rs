//! The graph of a network: nodes, links, and the paths of flows.

use std::sync::Arc;

use forebay_records::StringColumn;
use forebay_records::random::salt;
use forebay_switching::{PathPolicy, PathPolicyConfig};

use crate::error::RunError;
use crate::forwarding::{Adjacency, Edge, Forwarding};
use crate::packet::Packet;
use crate::spec::flows::{Flow, Flows};
use crate::spec::{LinkId, NodeIndex, NodeSpec};

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
    pub forwarding: Forwarding,
    /// The policy of each node; empty if each packet takes the first of several paths.
    policies: Vec<Option<Arc<dyn PathPolicy>>>,
    /// The entropy of each (flow, direction); empty likewise.
    entropies: Vec<u32>,
}

/// The packets of a flow in one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub from: NodeIndex,
    pub to: NodeIndex,
    /// The length of the shortest in bytes.
    pub least_bytes: u32,
}

impl Stream {
    /// The data of a flow, and its ACKs if it has any.
    pub fn of(flow: Flow<'_>) -> [Option<Self>; 2] {
        let (data_bytes, ack_bytes) = flow.transport.least_bytes();
        let Flow { source, destination, .. } = flow;
        let acks = ack_bytes.map(|least_bytes| Self { from: destination, to: source, least_bytes });
        [Some(Self { from: source, to: destination, least_bytes: data_bytes }), acks]
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
        paths: &PathPolicyConfig,
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
        let forwarding = Forwarding::new(&forwards, &edges, ends);
        let (mut policies, mut entropies) = (Vec::new(), Vec::new());
        if paths.build(0).is_some() && forwarding.has_equal_paths() {
            let policy = |name: &str| paths.build(salt(seed, &format!("node/{name}/paths")));
            policies = names.iter().map(policy).collect();
            let entropy = |flow: &Flow<'_>, end| match flow.slot {
                0 => salt(seed, &format!("flow/{}/paths/{end}", flow.name)),
                slot => salt(seed, &format!("flow/{}/{slot}/paths/{end}", flow.name)),
            };
            entropies = flows.iter().flat_map(|flow| [entropy(&flow, "source"), entropy(&flow, "sink")]).collect();
        }
        Ok(Self { kinds, edges, into, out, inputs, outputs, forwarding, policies, entropies })
    }

    pub fn kind(&self, node: NodeIndex) -> Kind {
        self.kinds[node as usize]
    }

    /// How many inputs come before the endpoints at a node, for what it sends on. A host does not send on what comes by
    /// links.
    pub fn links_before_endpoints(&self, node: NodeIndex) -> u32 {
        if self.kind(node) == Kind::Host { 0 } else { self.into.of(node).len() as u32 }
    }

    pub fn policy(&self, node: NodeIndex) -> Option<&Arc<dyn PathPolicy>> {
        self.policies.get(node as usize)?.as_ref()
    }

    /// The destination of each (flow, direction), and what equal paths are chosen by. A source that no packets are sent
    /// to has a number of its own, by which disciplines tell hosts apart.
    pub fn destinations(&self, flows: &Flows) -> (Vec<u32>, Vec<u32>) {
        let number = |node| self.forwarding.number(node).unwrap_or(self.forwarding.destinations() + node);
        let numbers = flows.iter().flat_map(|flow| [number(flow.destination), number(flow.source)]).collect();
        (numbers, self.entropies.clone())
    }

    /// The next link of the packets of a (flow, direction).
    pub fn next_link(&self, node: NodeIndex, destination: u32, direction: usize) -> Option<LinkId> {
        match self.forwarding.next_hops(node, destination) {
            [] => None,
            [only] => Some(*only),
            equal => {
                let chosen = self.policy(node).map(|policy| policy.choose(self.entropies[direction], equal.len()));
                Some(equal[chosen.unwrap_or(0)])
            }
        }
    }

    /// Calls `visit` for each link that the packets of a (flow, direction) take.
    ///
    /// # Errors
    /// If no path leads to their destination.
    pub fn walk(&self, stream: Stream, direction: usize, mut visit: impl FnMut(LinkId)) -> Result<(), RunError> {
        let nowhere = || RunError::Invariant(format!("no path leads from node {} to {}", stream.from, stream.to));
        let destination = self.forwarding.number(stream.to).ok_or_else(nowhere)?;
        let (mut node, mut crossed) = (stream.from, 0);
        while node != stream.to || crossed == 0 {
            let link = self.next_link(node, destination, direction).ok_or_else(nowhere)?;
            visit(link);
            node = self.edges[link as usize].to;
            crossed += 1;
            if crossed > self.edges.len() {
                return Err(nowhere());
            }
        }
        Ok(())
    }
}
