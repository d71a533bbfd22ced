//! The driver: runs each node as far as its arrivals are known.
//!
//! In a round every stage, mostly a single node, has one turn. It may run until a feeder could next send it something:
//! until the feeder has run or its link is busy, plus the delay of the lane. So stages may be at different times. When
//! nothing happens for a while, the next round begins at the next event.

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
use crate::ethernet::control::ControlRows;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;

/// Length of a window in packets of the fastest link, which are to fit into the caches. Very long lanes need more.
const PACKETS_OF_WINDOW: u64 = 4096;

/// A lane that holds fewer packets is short: windows are then as long as the queues of busy links allow.
const PACKETS_OF_SHORT_LANE: u64 = 64;

/// Sources that do not wait for answers generate no more packets than that in a round, on average. So neither a round's
/// memory nor its time depends on their rate.
pub const GENERATED_IN_ROUND: u64 = 1 << 18;

pub(crate) struct Windows {
    /// By stage. A stage of several nodes has groups of [`TOGETHER`] of its own.
    pub(super) nodes: Vec<Option<Box<dyn Node>>>,
    /// In the order of a round.
    pub(super) stages: Vec<Stage>,
    /// How many stages run here, the first ones. The others are on other threads.
    pub(super) here: usize,
    /// Of all stages, with the delay of the shortest lane from each.
    pub(super) feeders: Vec<(usize, Span)>,
    pub(super) lanes: Lanes,
    /// Of each node, in the order in which they were added.
    pub(super) places: Vec<NodeId>,
    /// How far at least a round may run ahead of the first pending event.
    pub(super) least_ahead: Span,
    /// How far at most.
    pub(super) most_ahead: Span,
}

/// Nodes that run up to the same time.
pub(super) struct Stage {
    pub nodes: Range<NodeId>,
    /// Where its feeders are in `Windows::feeders`.
    pub feeders: Range<usize>,
    /// Its nodes have run until then.
    pub ran_until: Time,
    /// They begin to send nothing more before.
    pub silent_until: Time,
    /// Expected packets per second.
    pub load: f64,
}

impl Windows {
    /// Nodes in the range `together` run in few [`stages`]. A packet takes `packet_time` on the fastest link.
    ///
    /// # Errors
    /// If there is a cycle of lanes without delay.
    pub fn new(
        nodes: Vec<Box<dyn Node>>,
        lanes: &[Lane],
        loads: &[f64],
        together: Range<NodeId>,
        mut routes: Routes,
        packet_time: Span,
        measured: MeasuredInterval,
    ) -> Result<Self, RunError> {
        let (stage_of, count) = stages(nodes.len(), lanes, together);
        let between = between(&stage_of, lanes);
        let (order, shortest) = order(count, &between)
            .ok_or_else(|| RunError::Invariant("packets may go round in a circle without any delay".into()))?;
        let (mut stages, feeders, places) = lay_out(&order, &stage_of, &between);
        for (node, &place) in places.iter().enumerate() {
            let stage = stages.partition_point(|stage| stage.nodes.end <= place);
            stages[stage].load += loads.get(node).copied().unwrap_or(1.0);
        }
        let mut placed: Vec<Option<Box<dyn Node>>> = Vec::new();
        placed.resize_with(stages.last().map_or(0, |last| last.nodes.end as usize), || None);
        for (node, &place) in nodes.into_iter().zip(&places) {
            placed[place as usize] = Some(node);
        }
        routes.number(&places);
        // An inbox's slots must hold the packets on the longest lane.
        let longest_lane = lanes.iter().map(|lane| lane.delay).max().unwrap_or(Span::ZERO);
        let longest = (packet_time * PACKETS_OF_WINDOW).max(longest_lane / (SLOTS / 2));
        let is_short = shortest < packet_time * PACKETS_OF_SHORT_LANE;
        let granule = if is_short { longest } else { longest.min(shortest) };
        let least_ahead = if is_short { packet_time * PACKETS_OF_SHORT_LANE } else { shortest };
        let lanes = Lanes::new(routes, placed.len(), granule.picoseconds().max(1).ilog2(), measured);
        let (here, most_ahead) = (stages.len(), Span::MAX);
        Ok(Self { nodes: placed, here, stages, feeders, lanes, places, least_ahead, most_ahead })
    }

    /// Bounds rounds if sources generate this many packets per second without waiting for answers.
    pub fn with_generated(mut self, packets_per_s: f64) -> Self {
        if packets_per_s > 0.0 {
            let most_ahead = Span::from_seconds_f64(GENERATED_IN_ROUND as f64 / packets_per_s);
            self.most_ahead = most_ahead.max(Span::from_picoseconds(1));
        }
        self
    }

    pub fn with_control(mut self, rows: ControlRows) -> Self {
        self.lanes.control = Some(rows);
        self
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped, or a due node gets no turn.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let end = self.lanes.measured.to + Span::from_picoseconds(1);
        self.start(progress)?;
        let mut before = Time::ZERO;
        loop {
            let begin = self.lanes.agenda.first();
            if begin >= end {
                return Ok(());
            }
            // Limits stages without feeders: their packets are scanned in each round until they are taken.
            let ahead = (begin.since(before) * 2).max(self.least_ahead).min(self.most_ahead);
            before = begin;
            let latest = self.lanes.end_of_granule(begin).min(begin.saturating_add(ahead)).min(end);
            let work_before = self.lanes.work();
            let turns = self.round(begin, |_, _| latest);
            if turns == 0 {
                return Err(RunError::Invariant(format!("event due at {} s was never run", begin.seconds())));
            }
            progress.events += turns;
            progress.count_work(begin, self.lanes.work() - work_before + turns)?;
        }
    }

    pub(super) fn start(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        for (node, id) in self.nodes.iter_mut().zip(0..) {
            let Some(node) = node else { continue };
            let work_before = self.lanes.work();
            node.start(id, &mut self.lanes);
            self.lanes.plan(id, node.next());
            progress.count_work(Time::ZERO, self.lanes.work() - work_before + 1)?;
        }
        Ok(())
    }

    /// Gives each stage its turn, at most until `latest`. Nothing before `begin` is pending. Returns how many nodes
    /// were due.
    #[inline]
    pub(super) fn round(&mut self, begin: Time, latest: impl Fn(&Stage, &Lanes) -> Time) -> u64 {
        let Self { nodes, stages, feeders, lanes, here, .. } = self;
        let mut turns = 0;
        for number in 0..*here {
            let mut until = latest(&stages[number], lanes);
            for &(feeder, delay) in &feeders[stages[number].feeders.clone()] {
                until = until.min(stages[feeder].silent_until.max(begin).saturating_add(delay));
            }
            let stage = &mut stages[number];
            stage.ran_until = until;
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
                // Visits set bits only: a branch for each node would often be mispredicted.
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
            // Frees each node after its books: a million flows must not be there twice.
            if let Some(mut node) = nodes[place as usize].take() {
                node.finish(end, report);
            }
        }
    }
}

impl Stage {
    pub fn new(nodes: Range<NodeId>, feeders: Range<usize>) -> Self {
        Self { nodes, feeders, ran_until: Time::ZERO, silent_until: Time::ZERO, load: 0.0 }
    }
}

/// Runs a node. Returns the time before which it begins to send nothing more.
#[inline]
fn turn(nodes: &mut [Option<Box<dyn Node>>], id: NodeId, until: Time, lanes: &mut Lanes) -> Time {
    let Some(node) = &mut nodes[id as usize] else { return until };
    let (silent_until, next) = node.take_turn(until, id, lanes);
    lanes.plan(id, next);
    silent_until
}

/// Also returns the feeders of the stages, and the place of each node.
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
        stages.push(Stage::new(first..next, first_feeder..feeders.len()));
        if stages.last().is_some_and(|stage| stage.nodes.len() > 1) {
            next = NodeId::next_multiple_of(next, TOGETHER as NodeId);
        }
    }
    (stages, feeders, places)
}
