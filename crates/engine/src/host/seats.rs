//! Which endpoint has its place in which host.

use crate::host::hosts::NONE;
use crate::layout::{EndpointId, HostPlan};

pub(crate) struct Seats {
    /// The group, the host and the seat there of each.
    places: Vec<(u32, u32, u32)>,
    /// The endpoint that packets of each (flow, direction) come to.
    ends: Vec<Option<EndpointId>>,
    /// The range of (flow, direction)s that come to each group.
    spans: Vec<(usize, usize)>,
}

impl Seats {
    pub fn new(groups: &[Vec<HostPlan>], endpoints: usize, ends: Vec<Option<EndpointId>>) -> Self {
        let mut places = vec![(NONE, NONE, NONE); endpoints];
        for (group, number) in groups.iter().zip(0..) {
            for (plan, host) in group.iter().zip(0..) {
                for (&endpoint, seat) in plan.endpoints.iter().zip(0..) {
                    places[endpoint as usize] = (number, host, seat);
                }
            }
        }
        let mut spans = vec![(ends.len(), 0); groups.len()];
        for (end, direction) in ends.iter().zip(0..) {
            let Some(end) = end else { continue };
            let (first, last) = &mut spans[places[*end as usize].0 as usize];
            (*first, *last) = (direction.min(*first), direction + 1);
        }
        Self { places, ends, spans }
    }

    /// The first (flow, direction) that comes to `group`, and the (host, seat) of each from it on to the last.
    pub fn of_directions(&self, group: u32) -> (usize, Vec<(u32, u32)>) {
        let (first, last) = self.spans[group as usize];
        let first = first.min(last);
        let seat = |end: &Option<EndpointId>| match end.map(|end| self.places[end as usize]) {
            Some((of, host, seat)) if of == group => (host, seat),
            _ => (NONE, NONE),
        };
        (first, self.ends[first..last].iter().map(seat).collect())
    }
}
