//! Which node a packet reaches next.

use std::sync::Arc;

use crate::driver::prefetch::prefetch;
use crate::driver::ties::Salts;
use crate::packet::Packet;
use crate::spec::LinkId;

pub(crate) type NodeId = u32;

/// With this many routes the caches do not hold what packets touch, and prefetching pays.
const BEYOND_THE_CACHE: usize = 4096;

/// A node and the number of its feeder: the link by which a packet comes or, numbered behind the links, the endpoint.
/// At one time packets come in the order of [`Salts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub node: NodeId,
    pub feeder: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RouteRows {
    steps: Vec<Step>,
    ends: Vec<usize>,
}

impl RouteRows {
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    pub fn end_row(&mut self) {
        self.ends.push(self.steps.len());
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &[Step]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.steps[start..end])
    }
}

/// Clones share the tables.
#[derive(Clone)]
pub(crate) struct Routes {
    /// By (flow, direction), in rows of `stride` steps. A route ends at the endpoint's node.
    steps: Arc<[Step]>,
    stride: usize,
    /// (Flow, direction)s, with those of control frames, which have no route.
    directions: usize,
    /// Where links lead; empty if packets follow routes.
    link_ends: Arc<[Step]>,
    /// The link by which a packet leaves the node of each step; empty if no node needs it.
    leaves_by: Arc<[LinkId]>,
    /// Salts of all feeders.
    salts: Salts,
    /// Salts of the links to each node; empty if packets follow routes.
    salts_to: Arc<[Salts]>,
}

const NOWHERE: Step = Step { node: NodeId::MAX, feeder: u32::MAX };

impl Routes {
    /// `tells_links`: nodes of shared ports need to know by which link a packet leaves. `salts` are those of all
    /// feeders.
    pub fn new(routes: &RouteRows, directions: usize, link_ends: Vec<Step>, tells_links: bool, salts: Salts) -> Self {
        let stride = routes.iter().map(<[Step]>::len).max().unwrap_or(0).max(1);
        let mut steps = Vec::with_capacity(routes.len() * stride);
        for (route, row) in routes.iter().zip(1..) {
            steps.extend_from_slice(route);
            steps.resize(row * stride, NOWHERE);
        }
        // A packet leaves by what feeds the next node.
        let leaves_by =
            if tells_links { steps.iter().skip(1).map(|step| step.feeder).collect() } else { Arc::default() };
        Self {
            steps: steps.into(),
            stride,
            directions,
            link_ends: link_ends.into(),
            leaves_by,
            salts,
            salts_to: Arc::default(),
        }
    }

    /// Renumbers nodes by their `places`, and the links to each node from zero on.
    pub fn number(&mut self, places: &[NodeId]) {
        let mut salts_to = vec![Vec::new(); places.iter().max().map_or(0, |&last| last as usize + 1)];
        let (steps, link_ends) = (Arc::make_mut(&mut self.steps), Arc::make_mut(&mut self.link_ends));
        for step in link_ends.iter_mut().chain(steps).filter(|step| **step != NOWHERE) {
            step.node = places[step.node as usize];
        }
        for (step, link) in link_ends.iter_mut().zip(0..) {
            let salts = &mut salts_to[step.node as usize];
            step.feeder = salts.len() as u32;
            salts.push(self.salts.of(link));
        }
        self.salts_to = salts_to.into_iter().map(|salts| Salts::new(salts.into_iter())).collect();
    }

    /// The salts of the links that lead to a node; `None` if packets follow routes.
    pub fn links_to(&self, node: usize) -> Option<&Salts> {
        self.salts_to.get(node).filter(|salts| salts.len() > 0)
    }

    pub fn directions(&self) -> usize {
        self.directions
    }

    #[inline]
    pub fn are_many(&self) -> bool {
        self.directions >= BEYOND_THE_CACHE
    }

    #[inline]
    pub fn prefetch(&self, direction: usize) {
        prefetch(&self.steps[direction * self.stride]);
    }

    /// The next node of a packet that is being sent.
    #[inline]
    pub fn next(&self, packet: &Packet) -> Step {
        self.steps[packet.direction_index() * self.stride + packet.hop()]
    }

    #[inline]
    pub fn end_of(&self, link: LinkId) -> Step {
        self.link_ends[link as usize]
    }

    /// By which link a packet leaves its node. Needs `tells_links`.
    pub fn leaves_by(&self, packet: &Packet) -> LinkId {
        self.leaves_by[packet.direction_index() * self.stride + packet.hop() - 1]
    }

    /// Whether `one` comes after `other`, which arrives at the same node at the same time.
    #[inline]
    pub fn come_after(&self, one: &Packet, other: &Packet) -> bool {
        let feeders = [one, other].map(|packet| self.feeder(packet));
        feeders[0] != feeders[1] && self.salts.come_after(feeders[0], feeders[1], one.time)
    }

    /// The feeder of the packet's node.
    #[inline]
    fn feeder(&self, packet: &Packet) -> u32 {
        self.steps[packet.direction_index() * self.stride + packet.hop() - 1].feeder
    }
}
