//! Which nodes packets pass.

use crate::driver::prefetch::prefetch;
use crate::packet::Packet;
use crate::spec::LinkId;

/// Index of a node.
pub(crate) type NodeId = u32;

/// With as many routes, what a packet meets is not in the processor's caches; with fewer it is, and looking ahead costs
/// more than it spares.
const BEYOND_THE_CACHE: usize = 4096;

/// A step of a route: the node, and the number of what feeds it there: the link by which a packet comes or, behind the
/// links' numbers, the endpoint. Packets that reach a node at one time come in the order of these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub node: NodeId,
    pub feeder: u32,
}

/// The routes of all (flow, direction)s, one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct RouteRows {
    steps: Vec<Step>,
    ends: Vec<usize>,
}

impl RouteRows {
    /// Adds a step to the last row.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// The last row is complete.
    pub fn end_row(&mut self) {
        self.ends.push(self.steps.len());
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The rows in order.
    fn iter(&self) -> impl Iterator<Item = &[Step]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.steps[start..end])
    }
}

/// Which node a packet reaches next, by its route or by the link on which it goes.
pub(crate) struct Routes {
    /// The route of each (flow, direction), in rows of equal length; the last node is that of the endpoint.
    steps: Vec<Step>,
    stride: usize,
    /// How many rows there are, those of control frames, which have no route, among them.
    directions: usize,
    /// Where links between nodes lead; nowhere if only routes say so.
    link_ends: Vec<Step>,
    /// The link by which a packet leaves the node that a step reaches, where a node has to be told.
    leaves_by: Vec<LinkId>,
    /// How many links lead to each node.
    links_to: Vec<usize>,
}

const NOWHERE: Step = Step { node: NodeId::MAX, feeder: u32::MAX };

impl Routes {
    /// From the routes of all (flow, direction)s, of which there are as many as `directions`, and where links lead. At
    /// shared ports nodes have to be told by which link a packet leaves: then `tells_links`.
    pub fn new(routes: &RouteRows, directions: usize, link_ends: Vec<Step>, tells_links: bool) -> Self {
        let stride = routes.iter().map(<[Step]>::len).max().unwrap_or(0).max(1);
        let mut steps = Vec::with_capacity(routes.len() * stride);
        for (route, row) in routes.iter().zip(1..) {
            steps.extend_from_slice(route);
            steps.resize(row * stride, NOWHERE);
        }
        // It leaves by what feeds the following node.
        let leaves_by = if tells_links { steps.iter().skip(1).map(|step| step.feeder).collect() } else { Vec::new() };
        Self { steps, stride, directions, link_ends, leaves_by, links_to: Vec::new() }
    }

    /// Gives the nodes the numbers of their `places`, and the links that lead to a node numbers from zero on.
    pub fn number(&mut self, places: &[NodeId]) {
        let mut links_to = vec![0; places.iter().max().map_or(0, |&last| last as usize + 1)];
        for step in self.link_ends.iter_mut().chain(&mut self.steps).filter(|step| **step != NOWHERE) {
            step.node = places[step.node as usize];
        }
        for step in &mut self.link_ends {
            let count = &mut links_to[step.node as usize];
            (step.feeder, *count) = (*count as u32, *count + 1);
        }
        self.links_to = links_to;
    }

    /// How many links lead to a node; none to one that routes lead to.
    pub fn links_to(&self, node: usize) -> usize {
        self.links_to.get(node).copied().unwrap_or(0)
    }

    /// How many routes there are.
    pub fn directions(&self) -> usize {
        self.directions
    }

    /// Whether the routes are too many for the processor's caches.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.directions >= BEYOND_THE_CACHE
    }

    /// Asks for the route of a (flow, direction).
    #[inline]
    pub fn prefetch(&self, direction: usize) {
        prefetch(&self.steps[direction * self.stride]);
    }

    /// Where `packet`, which is being sent, arrives next.
    #[inline]
    pub fn next(&self, packet: &Packet) -> Step {
        self.steps[packet.direction_index() * self.stride + packet.hop()]
    }

    /// Where a link between nodes leads.
    #[inline]
    pub fn end_of(&self, link: LinkId) -> Step {
        self.link_ends[link as usize]
    }

    /// The link by which `packet` leaves the node that it has reached, where that is told.
    pub fn leaves_by(&self, packet: &Packet) -> LinkId {
        self.leaves_by[packet.direction_index() * self.stride + packet.hop() - 1]
    }

    /// What has fed the node that `packet` has reached.
    #[inline]
    pub fn feeder(&self, packet: &Packet) -> u32 {
        self.steps[packet.direction_index() * self.stride + packet.hop() - 1].feeder
    }
}
