//! Which nodes packets pass.

use crate::driver::prefetch::prefetch;
use crate::packet::Packet;

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

/// The route of each (flow, direction), in rows of equal length; the last node is that of the endpoint.
pub(crate) struct Routes {
    stride: usize,
    steps: Vec<Step>,
    directions: usize,
}

impl Routes {
    /// From the routes of all (flow, direction)s.
    pub fn new(routes: &[Vec<Step>]) -> Self {
        let stride = routes.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let mut steps = Vec::with_capacity(routes.len() * stride);
        for (route, row) in routes.iter().zip(1..) {
            steps.extend_from_slice(route);
            steps.resize(row * stride, Step { node: NodeId::MAX, feeder: u32::MAX });
        }
        Self { stride, steps, directions: routes.len() }
    }

    /// How many routes there are.
    pub fn directions(&self) -> usize {
        self.directions
    }

    /// Whether there are so many routes that they are not in the processor's caches.
    #[inline]
    pub fn are_many(&self) -> bool {
        self.directions >= BEYOND_THE_CACHE
    }

    /// Asks for the route of a (flow, direction).
    #[inline]
    pub fn prefetch(&self, direction: usize) {
        prefetch(&self.steps[direction * self.stride]);
    }

    /// The node that `packet`, which is being sent, reaches next.
    #[inline]
    pub fn next(&self, packet: &Packet) -> NodeId {
        self.steps[packet.direction_index() * self.stride + packet.hop()].node
    }

    /// The link by which `packet` leaves the node that it has reached: it feeds the next one.
    pub fn leaves_by(&self, packet: &Packet) -> u32 {
        self.steps[packet.direction_index() * self.stride + packet.hop()].feeder
    }

    /// What has fed the node that `packet` has reached.
    #[inline]
    pub fn feeder(&self, packet: &Packet) -> u32 {
        self.steps[packet.direction_index() * self.stride + packet.hop() - 1].feeder
    }
}
