//! Which endpoint has its place in which host.

use crate::assembly::hosts::HostPlan;
use crate::host::endpoints::EndpointId;
use crate::host::hosts::NONE;

pub(crate) struct EndpointPlacement {
    /// The group, the host and the place there of each.
    places: Vec<(u32, u32, u32)>,
    /// The endpoint that packets of each (flow, direction) come to.
    ends: Vec<Option<EndpointId>>,
    /// The range of (flow, direction)s that come to each group.
    spans: Vec<(usize, usize)>,
}

impl EndpointPlacement {
    /// `group_of` has the group of each endpoint's host.
    pub fn new(groups: &[Vec<HostPlan>], group_of: &[(u32, u32)], ends: Vec<Option<EndpointId>>) -> Self {
        let mut places = vec![(NONE, NONE, NONE); group_of.len()];
        for (group, number) in groups.iter().zip(0..) {
            for (plan, host) in group.iter().zip(0..) {
                for (&endpoint, place) in plan.endpoints.iter().zip(0..) {
                    places[endpoint as usize] = (number, host, place);
                }
            }
        }
        let mut spans = vec![(ends.len(), 0); groups.len()];
        for (end, direction) in ends.iter().zip(0..) {
            let Some(end) = end else { continue };
            // An endpoint behind an adapter is in no group.
            let Some((first, last)) = spans.get_mut(places[*end as usize].0 as usize) else { continue };
            (*first, *last) = (direction.min(*first), direction + 1);
        }
        Self { places, ends, spans }
    }

    /// The first (flow, direction) that comes to `group`, and the (host, place) of each from it on to the last.
    pub fn of_directions(&self, group: u32) -> (usize, Vec<(u32, u32)>) {
        let (first, last) = self.spans[group as usize];
        let first = first.min(last);
        let place = |end: &Option<EndpointId>| match end.map(|end| self.places[end as usize]) {
            Some((of, host, place)) if of == group => (host, place),
            _ => (NONE, NONE),
        };
        (first, self.ends[first..last].iter().map(place).collect())
    }
}
