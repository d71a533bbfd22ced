//! The same network run in the order of the global clock: what the driver's results are compared with.
//!
//! A heap holds when each node is due. The earliest node runs for one picosecond; of nodes that are due at the same
//! time, a feeder runs before what it feeds at once. There are no horizons and no rounds: how long lanes are matters
//! for nothing but that order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use forebay_qdisc::{Span, Time};

use crate::driver::node::NodeId;
use crate::driver::progress::Progress;
use crate::driver::windows::Windows;
use crate::error::RunError;

/// Which node runs when.
struct Agenda {
    /// Time, place in the order and number of a node; entries for other times than `due` are stale.
    heap: BinaryHeap<Reverse<(Time, u32, NodeId)>>,
    /// The place of each node in the order.
    places: Vec<u32>,
    /// When each node is to run next.
    due: Vec<Time>,
}

impl Agenda {
    fn new(order: impl Iterator<Item = NodeId>, nodes: usize) -> Self {
        let mut places = vec![0; nodes];
        for (node, place) in order.zip(0..) {
            places[node as usize] = place;
        }
        Self { heap: BinaryHeap::new(), due: vec![Time::NEVER; places.len()], places }
    }

    /// A node is to run at `due`, if it is not to run before.
    fn plan(&mut self, node: NodeId, due: Time) {
        if due < self.due[node as usize] {
            self.due[node as usize] = due;
            self.heap.push(Reverse((due, self.places[node as usize], node)));
        }
    }

    /// Takes out what comes next: the time, the place and the node.
    fn pop(&mut self) -> Option<(Time, u32, NodeId)> {
        while let Some(Reverse((time, place, node))) = self.heap.pop() {
            if self.due[node as usize] == time {
                self.due[node as usize] = Time::NEVER;
                return Some((time, place, node));
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
        let Self { nodes, turns, feeders, lanes, .. } = self;
        let mut fed: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
        for turn in &*turns {
            feeders[turn.feeders.clone()].iter().for_each(|&(feeder, _)| fed[feeder as usize].push(turn.node));
        }
        let mut agenda = Agenda::new(turns.iter().map(|turn| turn.node), nodes.len());
        for (node, id) in nodes.iter_mut().zip(0..) {
            node.start(id, lanes);
            lanes.plan(id, node.next());
        }
        for id in 0..nodes.len() as NodeId {
            agenda.plan(id, lanes.next(id));
        }
        let mut last = None;
        while let Some((now, place, id)) = agenda.pop().filter(|&(now, ..)| now <= lanes.measured.to) {
            assert!(last < Some((now, place)), "a node falls back behind the clock");
            last = Some((now, place));
            let before = lanes.taken;
            let node = &mut nodes[id as usize];
            node.run(now + Span::from_picoseconds(1), id, lanes);
            lanes.plan(id, node.next());
            agenda.plan(id, lanes.next(id));
            for &node in &fed[id as usize] {
                agenda.plan(node, lanes.next(node));
            }
            progress.events += 1;
            progress.count_work(now, lanes.taken - before + 1)?;
        }
        Ok(())
    }
}
