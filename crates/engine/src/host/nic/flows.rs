//! Which flows begin and end at which adapter.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::driver::ties::salt_of_endpoint;
use crate::host::endpoints::EndpointId;
use crate::packet::FlowId;
use crate::spec::Transport;
use crate::spec::flows::Flows;

/// The flows of RDMA transports.
#[derive(Default)]
pub(crate) struct NicFlows {
    /// By adapter: those that begin and those that end there.
    at: BTreeMap<EndpointId, [Vec<FlowId>; 2]>,
    /// By flow: its place among those that begin, and among those that end, at the same adapter.
    places: Arc<[[u32; 2]]>,
}

impl NicFlows {
    /// `ends` are the endpoints of each flow. Flows at an adapter are in the order of salts, which does not depend on
    /// the order of groups in a scenario.
    pub fn new(flows: &Flows, ends: &[(EndpointId, EndpointId)], seed: u64) -> Self {
        let mut at: BTreeMap<EndpointId, [Vec<FlowId>; 2]> = BTreeMap::new();
        for (number, (flow, &(source, destination))) in flows.iter().zip(ends).enumerate() {
            if matches!(flow.transport, Transport::Message(_)) {
                at.entry(source).or_default()[0].push(number as FlowId);
                at.entry(destination).or_default()[1].push(number as FlowId);
            }
        }
        let mut places = vec![[0; 2]; if at.is_empty() { 0 } else { ends.len() }];
        for (end, of_end) in at.values_mut().flat_map(|of_adapter| of_adapter.iter_mut().enumerate()) {
            of_end.sort_by_cached_key(|&flow| salt_of_endpoint(seed, flows.get(flow as usize).name, end == 0));
            for (&flow, place) in of_end.iter().zip(0..) {
                places[flow as usize][end] = place;
            }
        }
        Self { at, places: places.into() }
    }

    /// Those that begin and those that end at an adapter.
    pub fn at(&self, endpoint: EndpointId) -> [&[FlowId]; 2] {
        self.at.get(&endpoint).map_or([&[]; 2], |[begin, end]| [begin, end])
    }

    pub fn places(&self) -> Arc<[[u32; 2]]> {
        Arc::clone(&self.places)
    }
}
