//! The reference for the driver: the same network in the order of the global clock.
//!
//! A heap holds when each node is due. The earliest node runs for one picosecond. Of nodes due at one time, a feeder
//! runs before what it feeds at once. There are no horizons and no rounds, and delays of channels matter for that order
//! alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::{Span, Time};

use crate::driver::node::NodeId;
use crate::driver::progress::Progress;
use crate::driver::windows::{Windows, turn};
use crate::error::RunError;

struct Agenda {
    /// Time and node. Entries that differ from `due` are stale.
    heap: BinaryHeap<Reverse<(Time, NodeId)>>,
    due: Vec<Time>,
}

impl Agenda {
    /// Plans a node for `due`, unless it runs earlier.
    fn plan(&mut self, node: NodeId, due: Time) {
        if due < self.due[node as usize] {
            self.due[node as usize] = due;
            self.heap.push(Reverse((due, node)));
        }
    }

    fn pop(&mut self) -> Option<(Time, NodeId)> {
        while let Some(Reverse((time, node))) = self.heap.pop() {
            if self.due[node as usize] == time {
                self.due[node as usize] = Time::NEVER;
                return Some((time, node));
            }
        }
        None
    }
}

impl Windows {
    /// Runs to the end, one instant after the other: the same results, slower.
    ///
    /// # Errors
    /// If the run is stopped.
    ///
    /// # Panics
    /// If a node falls back behind the clock.
    pub fn run_in_order(&mut self, progress: &mut Progress<'_>) -> Result<(), RunError> {
        self.start(progress)?;
        let Self { nodes, stages, feeders, channels, .. } = self;
        // The nodes that each node's stage feeds.
        let mut fed: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
        for stage in &*stages {
            for feeder in &feeders[stage.feeders.clone()] {
                let nodes = stages[feeder.stage as usize].nodes.clone();
                nodes.for_each(|node| fed[node as usize].extend(stage.nodes.clone()));
            }
        }
        let mut agenda = Agenda { heap: BinaryHeap::new(), due: vec![Time::NEVER; nodes.len()] };
        for (node, id) in nodes.iter_mut().zip(0..) {
            if let Some(node) = node {
                node.decide_nothing_ahead();
                agenda.plan(id, channels.agenda.of(id));
            }
        }
        let mut last = None;
        while let Some((now, id)) = agenda.pop().filter(|&(now, _)| now <= channels.measured.to) {
            assert!(last < Some((now, id)), "a node falls back behind the clock");
            last = Some((now, id));
            let before = channels.taken;
            turn(nodes, id, now + Span::from_picoseconds(1), channels);
            agenda.plan(id, channels.agenda.of(id));
            for &node in &fed[id as usize] {
                agenda.plan(node, channels.agenda.of(node));
            }
            progress.events += 1;
            progress.count_work(now, channels.taken - before + 1, nodes)?;
        }
        Ok(())
    }
}
