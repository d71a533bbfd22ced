//! The driver: runs each node as far as it is known what reaches it.
//!
//! In a round every stage (mostly a single node) has its turn. It may run until the first time at which one of its
//! feeders could still send it something: what the feeder has done, or until when its link is busy, and the delay of
//! the lane between them. Stages between which nothing passes may be at different times. When nothing is to be done for
//! a while, all move on to the next thing that is.

#[cfg(feature = "oracle")]
mod oracle;

use std::ops::Range;

use forebay_qdisc::{Span, Time};

use crate::driver::agenda::TOGETHER;
use crate::driver::granules::SLOTS;
use crate::driver::node::{Lanes, Node, NodeId};
use crate::driver::order::{Lane, order};
use crate::driver::progress::Progress;
use crate::driver::routes::Routes;
use crate::driver::stages::{between, stages};
use crate::error::RunError;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;

/// A window is no longer than as many packets take on the fastest link: they are to fit into the processor's caches.
const PACKETS_OF_WINDOW: u64 = 4096;

/// Lanes that hold fewer packets than this are short: windows are then as long as the queues of busy links allow.
const PACKETS_OF_SHORT_LANE: u64 = 64;

/// A network of nodes, ready to run.
pub(crate) struct Windows {
    /// In the order of stages; nodes of a stage that has several begin at a multiple of [`TOGETHER`].
    nodes: Vec<Option<Box<dyn Node>>>,
    /// In the order in which they run within a round.
    stages: Vec<Stage>,
    /// The feeders of all stages, and the delay of the shortest lane from each.
    feeders: Vec<(usize, Span)>,
    lanes: Lanes,
    /// The place of each node in the order in which they were added.
    places: Vec<NodeId>,
    /// Who has no feeders may run at least this much ahead of the first thing that is to be done.
    least_ahead: Span,
}

/// Nodes that run up to the same time.
struct Stage {
    nodes: Range<NodeId>,
    /// The place of its feeders among those of all.
    feeders: Range<usize>,
    /// Its nodes begin to send nothing more before this.
    silent_until: Time,
}

impl Windows {
    /// Nodes with the lanes between them; those in the range `together` run in few [`stages`]. A packet takes
    /// `packet_time` on the fastest link.
    ///
    /// # Errors
    /// If there is a circle of lanes without any delay.
    pub fn new(
        nodes: Vec<Box<dyn Node>>,
        lanes: &[Lane],
        together: Range<NodeId>,
        mut routes: Routes,
        packet_time: Span,
        measured: MeasuredInterval,
    ) -> Result<Self, RunError> {
        let (stage_of, count) = stages(nodes.len(), lanes, together);
        let between = between(&stage_of, lanes);
        let (order, shortest) = order(count, &between)
            .ok_or_else(|| RunError::Invariant("packets may go round in a circle without any delay".into()))?;
        let (stages, feeders, places) = lay_out(&order, &stage_of, &between);
        let mut placed: Vec<Option<Box<dyn Node>>> = Vec::new();
        placed.resize_with(stages.last().map_or(0, |last| last.nodes.end as usize), || None);
        for (node, &place) in nodes.into_iter().zip(&places) {
            placed[place as usize] = Some(node);
        }
        routes.number(&places);
        // What is on the longest lane is to fit into an inbox's slots.
        let longest_lane = lanes.iter().map(|lane| lane.delay).max().unwrap_or(Span::ZERO);
        let longest = (packet_time * PACKETS_OF_WINDOW).max(longest_lane / (SLOTS / 2));
        let is_short = shortest < packet_time * PACKETS_OF_SHORT_LANE;
        let granule = if is_short { longest } else { longest.min(shortest) };
        let least_ahead = if is_short { packet_time * PACKETS_OF_SHORT_LANE } else { shortest };
        let lanes = Lanes::new(routes, placed.len(), granule.picoseconds().max(1).ilog2(), measured);
        Ok(Self { nodes: placed, stages, feeders, lanes, places, least_ahead })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let end = self.lanes.measured.to + Span::from_picoseconds(1);
        self.start(progress)?;
        let mut before = Time::ZERO;
        loop {
            let begin = self.lanes.agenda.first();
            if begin >= end {
                return Ok(());
            }
            // Who has no feeders runs a little further than the others are going to come, and not much: what nobody
            // takes yet is looked at in each round.
            let ahead = (begin.since(before) * 2).max(self.least_ahead);
            before = begin;
            let latest = self.lanes.end_of_granule(begin).min(begin.saturating_add(ahead)).min(end);
            let taken_before = self.lanes.taken;
            let turns = self.round(begin, latest);
            if turns == 0 {
                return Err(RunError::Invariant(format!("what is due at {} s has no turn", begin.seconds())));
            }
            progress.events += turns;
            progress.count_work(begin, self.lanes.taken - taken_before + turns)?;
        }
    }

    /// Lets every node do what it does before time zero.
    fn start(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        for (node, id) in self.nodes.iter_mut().zip(0..) {
            let Some(node) = node else { continue };
            progress.count_work(Time::ZERO, 1)?;
            node.start(id, &mut self.lanes);
            self.lanes.plan(id, node.next());
        }
        Ok(())
    }

    /// Every stage has its turn: its nodes run as far as they may, but not beyond `latest`. Nothing is left from before
    /// `begin`. Returns how many nodes had anything to do.
    fn round(&mut self, begin: Time, latest: Time) -> u64 {
        let Self { nodes, stages, feeders, lanes, .. } = self;
        let mut turns = 0;
        for number in 0..stages.len() {
            let mut until = latest;
            for &(feeder, delay) in &feeders[stages[number].feeders.clone()] {
                until = until.min(stages[feeder].silent_until.max(begin).saturating_add(delay));
            }
            let stage = &mut stages[number];
            stage.silent_until = stage.silent_until.max(until);
            let first = stage.nodes.start;
            if stage.nodes.len() == 1 {
                if lanes.agenda.of(first) < until {
                    turns += 1;
                    stage.silent_until = stage.silent_until.max(turn(nodes, first, until, lanes));
                }
                continue;
            }
            for group in first as usize / TOGETHER..(stage.nodes.end as usize).div_ceil(TOGETHER) {
                // A branch for each node would often be mispredicted: only set bits are visited.
                let mut due = lanes.agenda.due(group, until);
                turns += u64::from(due.count_ones());
                while due != 0 {
                    let node = (group * TOGETHER) as NodeId + due.trailing_zeros();
                    due &= due - 1;
                    turn(nodes, node, until, lanes);
                }
            }
        }
        turns
    }

    /// Hands in all books, in the order in which nodes were added.
    pub fn finish(self, report: &mut Report) {
        let Self { mut nodes, lanes, places, .. } = self;
        lanes.finish(report);
        let end = lanes.measured.to;
        for place in places {
            // Each goes when it has handed in its books: of a million flows not all need be there twice.
            if let Some(mut node) = nodes[place as usize].take() {
                node.finish(end, report);
            }
        }
    }
}

/// A node runs until then; returns before when it begins to send nothing more.
#[inline]
fn turn(nodes: &mut [Option<Box<dyn Node>>], id: NodeId, until: Time, lanes: &mut Lanes) -> Time {
    let Some(node) = &mut nodes[id as usize] else { return until };
    let silent_until = node.run(until, id, lanes);
    lanes.plan(id, node.next());
    silent_until
}

/// The stages in their `order` with the lanes `between` them, their feeders, and the place of each node.
fn lay_out(order: &[NodeId], stage_of: &[usize], between: &[Lane]) -> (Vec<Stage>, Vec<(usize, Span)>, Vec<NodeId>) {
    let mut turn_of = vec![0; order.len()];
    for (&stage, turn) in order.iter().zip(0..) {
        turn_of[stage as usize] = turn;
    }
    let (mut of_stage, mut feeders_of) = (vec![Vec::new(); order.len()], vec![Vec::new(); order.len()]);
    for (&stage, node) in stage_of.iter().zip(0_usize..) {
        of_stage[turn_of[stage]].push(node);
    }
    for lane in between {
        feeders_of[turn_of[lane.to as usize]].push((turn_of[lane.from as usize], lane.delay));
    }
    let (mut stages, mut feeders, mut places) = (Vec::with_capacity(order.len()), Vec::new(), vec![0; stage_of.len()]);
    let mut next = 0;
    for (nodes, mut of_stage) in of_stage.into_iter().zip(feeders_of) {
        if nodes.len() > 1 {
            next = NodeId::next_multiple_of(next, TOGETHER as NodeId);
        }
        let first = next;
        for node in nodes {
            (places[node], next) = (next, next + 1);
        }
        let first_feeder = feeders.len();
        feeders.append(&mut of_stage);
        stages.push(Stage { nodes: first..next, feeders: first_feeder..feeders.len(), silent_until: Time::ZERO });
        if stages.last().is_some_and(|stage| stage.nodes.len() > 1) {
            next = NodeId::next_multiple_of(next, TOGETHER as NodeId);
        }
    }
    (stages, feeders, places)
}
