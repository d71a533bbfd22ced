//! The driver: runs each node as far as it is known what reaches it.
//!
//! In a round every node has its turn. It may run until the first time at which one of its feeders could still send it
//! something: what the feeder has done, or until when its link is busy, and the delay of the lane between them. Nodes
//! between which nothing passes may be at different times. When nothing is to be done for a while, all move on to the
//! next thing that is.

#[cfg(feature = "oracle")]
mod oracle;

use forebay_qdisc::{Span, Time};

use crate::driver::node::{Lanes, Node, NodeId};
use crate::driver::order::{Lane, order};
use crate::driver::progress::Progress;
use crate::driver::routes::Routes;
use crate::error::RunError;
use crate::observe::report::Report;
use crate::observe::window::Window;

/// No node runs further ahead of the first thing that is to be done than this: what is on its way is to fit into the
/// processor's caches.
const LONGEST: Span = Span::from_milliseconds(16);

/// A network of nodes, ready to run.
pub(crate) struct Windows {
    nodes: Vec<Box<dyn Node>>,
    /// In which order they run.
    order: Vec<NodeId>,
    /// The feeders of each node, and the delay of the lane from each.
    feeders: Vec<Vec<(NodeId, Span)>>,
    lanes: Lanes,
}

impl Windows {
    /// Nodes with the lanes between them.
    ///
    /// # Errors
    /// If there is a circle of lanes without any delay.
    pub fn new(nodes: Vec<Box<dyn Node>>, between: &[Lane], routes: Routes, window: Window) -> Result<Self, RunError> {
        let (order, shortest) = order(nodes.len(), between)
            .ok_or_else(|| RunError::Invariant("packets may go round in a circle without any delay".into()))?;
        let granule = shortest.min(LONGEST).max(Span::from_milliseconds(1)).picoseconds();
        let lanes = Lanes::new(routes, nodes.len(), granule.ilog2(), window);
        let mut feeders = vec![Vec::new(); nodes.len()];
        for lane in between {
            feeders[lane.to as usize].push((lane.from, lane.delay));
        }
        Ok(Self { nodes, order, feeders, lanes })
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// If the run is stopped.
    pub fn run(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        let Self { nodes, order, feeders, lanes } = self;
        let end = lanes.window.to + Span::from_picoseconds(1);
        for (node, id) in nodes.iter_mut().zip(0..) {
            progress.count_work(Time::ZERO, 1)?;
            node.start(id, lanes);
        }
        // When each node has something to do by itself.
        let mut due: Vec<Time> = nodes.iter().map(|node| node.next()).collect();
        // Each node has done everything before the first of these times, and sends nothing before the second.
        let mut done = vec![Time::ZERO; nodes.len()];
        let mut silent = vec![Time::ZERO; nodes.len()];
        loop {
            let first = due.iter().zip(0..).map(|(&due, id)| due.min(lanes.next(id)));
            let begin = first.min().unwrap_or(Time::NEVER);
            if begin >= end {
                return Ok(());
            }
            let turns_before = progress.events;
            let latest = lanes.end_of_granule(begin).min(begin.saturating_add(LONGEST)).min(end);
            for &id in &*order {
                let node = id as usize;
                let of_feeder =
                    |&(feeder, delay): &(NodeId, Span)| silent[feeder as usize].max(begin).saturating_add(delay);
                let until = feeders[node].iter().map(of_feeder).fold(latest, Time::min);
                if until <= done[node] {
                    continue;
                }
                done[node] = until;
                silent[node] = silent[node].max(until);
                if due[node].min(lanes.next(id)) >= until {
                    continue;
                }
                let before = lanes.taken;
                let busy_until = nodes[node].run(until, id, lanes);
                silent[node] = silent[node].max(busy_until);
                due[node] = nodes[node].next();
                progress.events += 1;
                progress.count_work(begin, lanes.taken - before + 1)?;
            }
            if progress.events == turns_before {
                return Err(RunError::Invariant(format!("what is due at {} s has no turn", begin.seconds())));
            }
        }
    }

    /// Hands in all books.
    pub fn finish(self, report: &mut Report) {
        let Self { nodes, lanes, .. } = self;
        lanes.finish(report);
        let end = lanes.window.to;
        // Each goes when it has handed in its books: of a million flows not all need be there twice.
        for mut node in nodes {
            node.finish(end, report);
        }
    }
}
