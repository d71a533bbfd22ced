//! The flows and endpoints at each adapter.

use std::collections::BTreeMap;

use forebay_qdisc::Ecn;
use forebay_records::random::stream;
use forebay_switching::congestion::CongestionManagement;

use crate::assembly::graph::{Graph, Kind};
use crate::error::RunError;
use crate::ethernet::adapter::AdapterParts;
use crate::ethernet::attached::AttachedParts;
use crate::ethernet::frames::GeneratorParts;
use crate::ethernet::receive::DestinationFlow;
use crate::ethernet::voq::{SourceFlow, Supply};
use crate::host::endpoints::{EndpointId, Endpoints};
use crate::host::send_path::SendPath;
use crate::observe::flow_counters::{ReceiveCounters, SendCounters};
use crate::packet::{FlowId, Packet};
use crate::spec::flows::Flow;
use crate::spec::{Distribution, NodeIndex, Transport};

pub(super) struct AdapterFlows<'a> {
    endpoints: &'a Endpoints<'a>,
    /// By node.
    flows_at: BTreeMap<NodeIndex, Vec<FlowId>>,
}

impl<'a> AdapterFlows<'a> {
    /// # Errors
    /// If a flow begins or ends at a switch, has cells at an adapter, or has packets without room for the tags of all
    /// congestion points.
    pub fn new(
        graph: &Graph,
        congestion: Option<&CongestionManagement>,
        endpoints: &'a Endpoints<'a>,
    ) -> Result<Self, RunError> {
        let mut adapter_flows = Self { flows_at: BTreeMap::new(), endpoints };
        let points = (0..).zip(&graph.kinds).filter(|(_, kind)| **kind == Kind::EthernetSwitch);
        let points: usize = points.map(|(node, _)| graph.out.of(node).len()).sum();
        let are_tagged = congestion.is_some_and(CongestionManagement::tags_frames);
        for (flow, number) in endpoints.flows.iter().zip(0..) {
            let refused = |why: &str| Err(RunError::Invariant(format!("`{}`: {why}", flow.name)));
            let ends = [flow.source, flow.destination];
            if ends.iter().any(|&end| graph.kind(end) == Kind::EthernetSwitch) {
                return refused("begins or ends at a switch");
            }
            let are_adapters = ends.map(|end| graph.kind(end) == Kind::Adapter);
            match flow.transport {
                Transport::Cells { .. } if are_adapters != [false; 2] => {
                    return refused("an Ethernet carries no cells");
                }
                Transport::Tcp { .. } | Transport::Udp { .. } | Transport::Ping(_) | Transport::Message(_)
                    if are_tagged && points > Packet::MOST_TAGS as usize =>
                {
                    return refused("more congestion points than its packets can tell apart");
                }
                _ => {}
            }
            adapter_flows.flows_at.entry(flow.source).or_default().push(number);
            if flow.destination != flow.source {
                adapter_flows.flows_at.entry(flow.destination).or_default().push(number);
            }
        }
        Ok(adapter_flows)
    }

    /// Adds the flows that begin or end at the adapter `node`, and its endpoints.
    ///
    /// # Errors
    /// If an endpoint cannot be made.
    pub fn add_flows(
        &mut self,
        parts: &mut AdapterParts,
        node: NodeIndex,
        seed: u64,
        sampled: bool,
    ) -> Result<(), RunError> {
        let (mut generator_of, mut places, mut delays) = (Vec::new(), BTreeMap::new(), Vec::new());
        for id in self.flows_at.remove(&node).unwrap_or_default() {
            let flow = self.endpoints.flows.get(id as usize);
            let has_endpoints = !matches!(flow.transport, Transport::Frames { .. });
            let (source, sink) = self.endpoints.numbers.ends[id as usize];
            let (data, acks) = (2 * id as usize, 2 * id as usize + 1);
            let has_acks = flow.transport.least_bytes().1.is_some();
            if flow.source == node {
                let supply = supply(parts, flow, &mut generator_of, seed);
                let queue = add_source(parts, id, flow, supply, seed, sampled);
                if has_endpoints {
                    let place = self.place(&mut parts.attached, source, &mut places, &mut delays)?;
                    parts.attached.numbers.push((data, queue));
                    parts.attached.numbers.extend(has_acks.then_some((acks, place)));
                }
                continue;
            }
            let scheme = parts.spec.congestion.as_ref();
            parts.destinations.push(DestinationFlow {
                flow: id,
                class: flow.class,
                reflector: scheme.and_then(|scheme| scheme.reflector(parts.in_rate)),
                rng: random(seed, flow, "reflector"),
                has_endpoint: has_endpoints,
                counters: ReceiveCounters::new(sampled && !has_endpoints),
            });
            if has_endpoints {
                let place = self.place(&mut parts.attached, sink, &mut places, &mut delays)?;
                parts.attached.numbers.push((data, place));
            }
            if has_acks {
                let queue = parts.sources.len() as u32;
                let (rng, counters, supply) = (random(seed, flow, "acks"), SendCounters::new(false), Supply::Endpoint);
                let class = flow.class;
                parts.sources.push(SourceFlow { flow: id, class, is_ack: true, supply, reaction: None, rng, counters });
                parts.attached.numbers.push((acks, queue));
            }
        }
        let rng = stream(seed, &format!("adapter/{}/processing", parts.name));
        parts.attached.path = SendPath::new(delays, None, rng);
        Ok(())
    }

    /// The index of an endpoint behind its adapter. Makes the endpoint on the first call.
    fn place(
        &self,
        attached: &mut AttachedParts,
        endpoint: EndpointId,
        places: &mut BTreeMap<EndpointId, u32>,
        delays: &mut Vec<Distribution>,
    ) -> Result<u32, RunError> {
        if let Some(&place) = places.get(&endpoint) {
            return Ok(place);
        }
        let place = attached.endpoints.len() as u32;
        attached.endpoints.push(self.endpoints.make(endpoint)?);
        attached.salts.push(self.endpoints.salt(endpoint));
        delays.push(self.endpoints.processing_time(endpoint));
        places.insert(endpoint, place);
        Ok(place)
    }
}

/// A random stream for a part of a flow.
fn random(seed: u64, flow: Flow<'_>, what: &str) -> rand_pcg::Pcg64Mcg {
    stream(seed, &format!("flow/{}/{what}", flow.name))
}

/// The source of a flow's frames. Adds the generator, unless another flow of the group has added it.
fn supply<'a>(parts: &mut AdapterParts, flow: Flow<'a>, generator_of: &mut Vec<(&'a str, u32)>, seed: u64) -> Supply {
    let &Transport::Frames { generator, share, arrivals, len_bytes, ecn, .. } = flow.transport else {
        return Supply::Endpoint;
    };
    let name = (flow.group, generator);
    let known = generator_of.iter().position(|other| *other == name);
    let generator = known.unwrap_or_else(|| {
        generator_of.push(name);
        parts.generators.push(GeneratorParts {
            arrivals,
            slot: parts.out_rate.transmission_time(u64::from(len_bytes)),
            start: flow.start,
            stop: flow.stop,
            rng: random(seed, flow, "frames"),
        });
        parts.generators.len() - 1
    });
    Supply::Generator { generator, share, len_bytes, ecn: if ecn { Ecn::Capable0 } else { Ecn::NotCapable } }
}

/// Adds the queue of a flow's data. Returns its index.
fn add_source(parts: &mut AdapterParts, id: FlowId, flow: Flow<'_>, supply: Supply, seed: u64, sampled: bool) -> u32 {
    let scheme = parts.spec.congestion.as_ref();
    let set_point = if let Transport::Frames { set_point, .. } = flow.transport { *set_point } else { None };
    let reaction = scheme.map(|scheme| {
        let own = set_point.and_then(|set_point| scheme.with_flow_set_point(set_point));
        own.as_ref().unwrap_or(scheme).reaction_point(parts.out_rate, flow.start)
    });
    let (rng, counters, class) = (random(seed, flow, "reaction"), SendCounters::new(sampled), flow.class);
    parts.sources.push(SourceFlow { flow: id, class, is_ack: false, supply, reaction, rng, counters });
    parts.sources.len() as u32 - 1
}
