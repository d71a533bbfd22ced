//! The salts of a network's feeders.

use crate::driver::ties::{Salts, salt_of_endpoint, salt_of_link};
use crate::host::endpoints::Numbers;
use crate::layout::EndpointId;
use crate::packet::FlowId;
use crate::spec::LinkId;
use crate::spec::flows::Flows;
use crate::spec::links::Links;

/// The salts of all feeders: links, then endpoints.
pub(super) fn salts(seed: u64, links: &Links, flows: &Flows, numbers: &Numbers) -> Salts {
    let of_links = (0..links.all.len()).map(|link| salt_of_link(seed, links.name(link as LinkId)));
    let of_endpoint = |(&flow, endpoint): (&FlowId, EndpointId)| {
        let is_source = numbers.ends[flow as usize].0 == endpoint;
        salt_of_endpoint(seed, flows.get(flow as usize).name, is_source)
    };
    Salts::new(of_links.chain(numbers.flow_of.iter().zip(0..).map(of_endpoint)))
}
