//! Messages that wait for others: the tasks of a pattern.
//!
//! A task waits for tasks of its own host only, so that nothing jumps from host to host. A host sees the end of a
//! message that it sends by its acknowledgment, and the end of one that it receives by the last byte.

use forebay_engine::TaskEvent;
use forebay_qdisc::Time;
use forebay_units::Span;

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

/// Finds a circle among `count` things, each pair of which is one that waits and the one it waits for. Returns the
/// things of a circle, each waiting for the next.
pub(crate) fn circle(count: usize, waits: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut waits = waits.to_vec();
    waits.sort_unstable();
    let before = |thing: u32| {
        let first = waits.partition_point(|&(waiting, _)| waiting < thing);
        waits[first..].iter().take_while(move |&&(waiting, _)| waiting == thing).map(|&(_, on)| on)
    };
    // Takes away what waits for nothing that is left.
    let mut open = vec![0_u32; count];
    let mut followers = vec![Vec::new(); count];
    for &(waiting, on) in &waits {
        open[waiting as usize] += 1;
        followers[on as usize].push(waiting);
    }
    let mut free: Vec<u32> = (0..count as u32).filter(|&thing| open[thing as usize] == 0).collect();
    while let Some(thing) = free.pop() {
        for &follower in &followers[thing as usize] {
            open[follower as usize] -= 1;
            if open[follower as usize] == 0 {
                free.push(follower);
            }
        }
    }
    // Each of the others waits for another of them.
    let mut way = vec![(0..count as u32).find(|&thing| open[thing as usize] > 0)?];
    loop {
        let next = before(way[way.len() - 1]).find(|&on| open[on as usize] > 0)?;
        if let Some(first) = way.iter().position(|&thing| thing == next) {
            return Some(way.split_off(first));
        }
        way.push(next);
    }
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
