//! Messages that wait for others: the tasks of a pattern.
//!
//! A task waits for tasks of its own host only, so that nothing jumps from host to host. A host sees the end of a
//! message that it sends by its acknowledgment, and the end of one that it receives by the last byte.

use forebay_engine::TaskEvent;
use forebay_qdisc::Time;
use forebay_units::Span;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

/// The tasks of a pattern's hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tasks {
    pub all: Vec<Task>,
    pub dependencies: Vec<Dependency>,
}

/// A task of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Task {
    /// Its place in [`super::Setting::hosts`].
    pub host: usize,
    pub action: Action,
    /// When it starts, if it waits for no other.
    pub start: Time,
}

/// The work of a task. Messages have their places among those of the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Until all of it is acknowledged.
    Send(u32),
    /// Until all of it has arrived.
    Receive(u32),
    /// The way of an ACK between these hosts, from the second to the first, without queues.
    Acknowledge([usize; 2]),
    /// A processor does one computation at a time.
    Compute { time: Span, processor: u32 },
}

/// A task starts only after an event of another one, `on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub task: u32,
    pub on: u32,
    pub event: TaskEvent,
}

impl Tasks {
    /// Adds a task, and returns its place.
    pub fn add(&mut self, host: usize, action: Action, start: Time) -> u32 {
        self.all.push(Task { host, action, start });
        self.all.len() as u32 - 1
    }

    /// `task` starts only after the end of `on`.
    pub fn after(&mut self, task: u32, on: u32) {
        self.dependencies.push(Dependency { task, on, event: TaskEvent::End });
    }
}

/// Things that wait for each other in a circle, if any of `count` do. `waits` has pairs of one that waits and the one
/// it waits for.
pub(crate) fn circle(count: usize, waits: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut graph = DiGraph::<(), ()>::with_capacity(count, waits.len());
    (0..count).for_each(|_| _ = graph.add_node(()));
    graph.extend_with_edges(waits.iter().copied());
    let is_circle = |things: &Vec<NodeIndex>| things.len() > 1 || graph.contains_edge(things[0], things[0]);
    let things = tarjan_scc(&graph).into_iter().find(is_circle)?;
    Some(things.into_iter().map(|thing| thing.index() as u32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_where_there_is_one() {
        assert_eq!(circle(0, &[]), None);
        assert_eq!(circle(4, &[(1, 0), (2, 1), (3, 1), (3, 2)]), None);
        // 3 waits for the circle and is not a part of it.
        let mut found = circle(5, &[(1, 0), (2, 1), (4, 2), (1, 4), (3, 1)]).expect("a circle");
        found.sort_unstable();
        assert_eq!(found, [1, 2, 4]);
        assert_eq!(circle(1, &[(0, 0)]), Some(vec![0]));
    }
}
