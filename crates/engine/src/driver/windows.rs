//! The driver: runs each node as far as it is known what reaches it.
//!
//! In a round every node has its turn. It may run until the first time at which one of its feeders could still send it
//! something: what the feeder has done, or until when its link is busy, and the delay of the lane between them. Nodes
//! between which nothing passes may be at different times. When nothing is to be done for a while, all move on to the
//! next thing that is.

#[cfg(feature = "oracle")]
mod oracle;

use std::ops::Range;

use forebay_qdisc::{Span, Time};

use crate::driver::inbox::SLOTS;
use crate::driver::node::{Lanes, Node, NodeId};
use crate::driver::order::{Lane, order};
use crate::driver::progress::Progress;
use crate::driver::routes::Routes;
use crate::error::RunError;
use crate::observe::interval::MeasuredInterval;
use crate::observe::report::Report;

/// A window is no longer than as many packets take on the fastest link: they are to fit into the processor's caches.
const PACKETS_OF_WINDOW: u64 = 4096;

/// Lanes that hold fewer packets than this are short: windows are then as long as the queues of busy links allow.
const PACKETS_OF_SHORT_LANE: u64 = 64;

/// A network of nodes, ready to run.
pub(crate) struct Windows {
    nodes: Vec<Box<dyn Node>>,
    /// In which order they run, each with its feeders.
    turns: Vec<Turn>,
    /// The feeders of all nodes, and the delay of the lane from each.
    feeders: Vec<(NodeId, Span)>,
    lanes: Lanes,
    /// Who has no feeders may run at least this much ahead of the first thing that is to be done.
    least_ahead: Span,
}

/// A node, and the place of its feeders among those of all.
struct Turn {
    node: NodeId,
    feeders: Range<usize>,
}

impl Windows {
    /// Nodes with the lanes between them. A packet takes `packet_time` on the fastest link.
    ///
    /// # Errors
    /// If there is a circle of lanes without any delay.
    pub fn new(
        nodes: Vec<Box<dyn Node>>,
        between: &[Lane],
        routes: Routes,
        packet_time: Span,
        measured: MeasuredInterval,
    ) -> Result<Self, RunError> {
        let (order, shortest) = order(nodes.len(), between)
            .ok_or_else(|| RunError::Invariant("packets may go round in a circle without any delay".into()))?;
        let is_short = shortest < packet_time * PACKETS_OF_SHORT_LANE;
        // What is on the longest lane is to fit into an inbox's slots.
        let longest_lane = between.iter().map(|lane| lane.delay).max().unwrap_or(Span::ZERO);
        let longest = (packet_time * PACKETS_OF_WINDOW).max(longest_lane / (SLOTS / 2));
        let granule = if is_short { longest } else { longest.min(shortest) };
        let lanes = Lanes::new(routes, nodes.len(), granule.picoseconds().max(1).ilog2(), measured);
        let least_ahead = if is_short { packet_time * PACKETS_OF_SHORT_LANE } else { shortest };
        let (mut turns, mut feeders) = (Vec::new(), Vec::new());
        let mut of_node = vec![Vec::new(); nodes.len()];
        let mut feeds = vec![false; nodes.len()];
        for lane in between {
            of_node[lane.to as usize].push((lane.from, lane.delay));
            feeds[lane.from as usize] = true;
        }
        for node in order {
            let first = feeders.len();
            feeders.append(&mut of_node[node as usize]);
            // What no lane leads to or from has nothing to do.
            if feeders.len() > first || feeds[node as usize] {
                turns.push(Turn { node, feeders: first..feeders.len() });
            }
        }
        Ok(Self { nodes, turns, feeders, lanes, least_ahead })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let end = self.lanes.measured.to + Span::from_picoseconds(1);
        for (node, id) in self.nodes.iter_mut().zip(0..) {
            progress.count_work(Time::ZERO, 1)?;
            node.start(id, &mut self.lanes);
            self.lanes.plan(id, node.next());
        }
        // Each node sends nothing before this.
        let mut silent = vec![Time::ZERO; self.nodes.len()];
        let mut before = Time::ZERO;
        loop {
            let begin = self.lanes.begin();
            if begin >= end {
                return Ok(());
            }
            // Who has no feeders runs a little further than the others are going to come, and not much: what nobody
            // takes yet is looked at in each round.
            let ahead = (begin.since(before) * 2).max(self.least_ahead);
            before = begin;
            let latest = self.lanes.end_of_granule(begin).min(begin.saturating_add(ahead)).min(end);
            let turns_before = progress.events;
            self.round(begin, latest, &mut silent, progress)?;
            if progress.events == turns_before {
                return Err(RunError::Invariant(format!("what is due at {} s has no turn", begin.seconds())));
            }
        }
    }

    /// Every node has its turn: it runs as far as it may, but not beyond `latest`. Nothing is left from before `begin`.
    #[inline]
    fn round(
        &mut self,
        begin: Time,
        latest: Time,
        silent: &mut [Time],
        progress: &mut Progress<'_>,
    ) -> Result<(), RunError> {
        let Self { nodes, turns, feeders, lanes, .. } = self;
        for Turn { node, feeders: of_node } in &*turns {
            let (id, node) = (*node, *node as usize);
            let mut until = latest;
            for &(feeder, delay) in &feeders[of_node.clone()] {
                until = until.min(silent[feeder as usize].max(begin).saturating_add(delay));
            }
            if lanes.next(id) >= until {
                silent[node] = silent[node].max(until);
                continue;
            }
            let before = lanes.taken;
            let busy_until = nodes[node].run(until, id, lanes);
            silent[node] = silent[node].max(until).max(busy_until);
            lanes.plan(id, nodes[node].next());
            progress.events += 1;
            progress.count_work(begin, lanes.taken - before + 1)?;
        }
        Ok(())
    }

    /// Hands in all books.
    pub fn finish(self, report: &mut Report) {
        let Self { nodes, lanes, .. } = self;
        lanes.finish(report);
        let end = lanes.measured.to;
        // Each goes when it has handed in its books: of a million flows not all need be there twice.
        for mut node in nodes {
            node.finish(end, report);
        }
    }
}
