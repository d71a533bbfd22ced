//! Which endpoint has which place in its group of hosts.

use std::sync::Arc;

use crate::assembly::hosts::HostPlan;
use crate::host::endpoints::EndpointId;
use crate::host::hosts::NONE;

/// By (flow, direction), the number of the endpoint that its packets come to among those of its group; [`NONE`] where
/// they come to none. The groups share the table: of its own, each would need a row for nearly every flow.
///
/// `ends` are the endpoints that packets come to, `count` is how many endpoints there are.
pub(crate) fn endpoint_places(
    groups: &[Vec<HostPlan>],
    count: usize,
    ends: impl Iterator<Item = Option<EndpointId>>,
) -> Arc<[u32]> {
    let mut places = vec![NONE; count];
    for group in groups {
        let endpoints = group.iter().flat_map(|plan| &plan.endpoints);
        endpoints.zip(0..).for_each(|(&endpoint, place)| places[endpoint as usize] = place);
    }
    ends.map(|end| end.map_or(NONE, |end| places[end as usize])).collect()
}
