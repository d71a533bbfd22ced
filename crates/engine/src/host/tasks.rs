//! The tasks of a host: messages that wait for others, and computations.
//!
//! Every condition is an event at the host itself: a message that is acknowledged, one that has arrived, the end of a
//! computation. Each task counts the conditions that are still open. Only the first packet and the last byte of a
//! message touch a task; packets in between do not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::random::salt;

use crate::error::RunError;
use crate::observe::ranks::{Blocked, RankReport};
use crate::observe::report::Report;
use crate::packet::FlowId;
use crate::spec::flows::Flows;
use crate::spec::{Action, NodeIndex, Task, TaskEvent, TaskGraph};

/// The adapter of a host, by the number of its endpoint.
type AdapterId = u32;

/// An event that tasks wait for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    /// All of a message of this host is acknowledged.
    Sent(FlowId),
    /// All of a message to this host has arrived.
    Received(FlowId),
    /// The time of an [`Effect::Due`].
    Due(u32),
}

/// The consequence of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The message of a flow begins now.
    Begin(FlowId),
    /// At that time [`Happened::Due`] is due for this task.
    Due(Time, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// For other tasks, or for the start of the graph.
    Waiting,
    /// For its processor.
    Queued,
    Started,
    Ended(Time),
}

#[derive(Debug)]
struct HostTask {
    action: Action,
    state: State,
    /// Whether the message is here, of a task that receives one.
    has_arrived: bool,
    /// Dependencies whose event has not happened.
    open: u32,
    /// The tasks that wait for it.
    followers: Range<u32>,
}

/// The tasks of one graph at the host.
#[derive(Debug)]
struct Section {
    graph: Arc<str>,
    /// The place of the graph among all.
    number: u32,
    node: NodeIndex,
    tasks: Range<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Tasks {
    tasks: Vec<HostTask>,
    sections: Vec<Section>,
    followers: Vec<(u32, TaskEvent)>,
    /// The tasks of messages, sorted by flow.
    sends: Vec<(FlowId, u32)>,
    receives: Vec<(FlowId, u32)>,
    /// When each processor of a graph is free.
    processors: BTreeMap<(u32, u32), Time>,
    /// Tasks that start now.
    starting: VecDeque<u32>,
    effects: VecDeque<Effect>,
}

impl Tasks {
    /// The next consequence of events so far.
    pub fn effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The event happens now.
    pub fn on(&mut self, event: Happened, now: Time) {
        let of = |tasks: &[(FlowId, u32)], flow: FlowId| {
            tasks.binary_search_by_key(&flow, |&(flow, _)| flow).ok().map(|place| tasks[place].1)
        };
        match event {
            // Messages of other groups have no task.
            Happened::Sent(flow) => of(&self.sends, flow).into_iter().for_each(|task| self.end(task, now)),
            Happened::Received(flow) => {
                let Some(task) = of(&self.receives, flow) else { return };
                self.tasks[task as usize].has_arrived = true;
                if self.tasks[task as usize].state == State::Started {
                    self.end(task, now);
                }
            }
            Happened::Due(task) => match self.tasks[task as usize].state {
                State::Waiting => self.starting.push_back(task),
                State::Queued => self.compute(task, now),
                State::Started => self.end(task, now),
                State::Ended(_) => {}
            },
        }
        while let Some(task) = self.starting.pop_front() {
            self.start(task, now);
        }
    }

    fn start(&mut self, task: u32, now: Time) {
        let HostTask { action, has_arrived, .. } = self.tasks[task as usize];
        match action {
            Action::Send(flow) => {
                self.effects.push_back(Effect::Begin(flow));
                self.has_started(task);
            }
            Action::Receive(_) => {
                self.has_started(task);
                if has_arrived {
                    self.end(task, now);
                }
            }
            Action::Compute { time, processor } => {
                let Some(processor) = processor else { return self.compute(task, now) };
                let section = self.sections.partition_point(|section| section.tasks.end <= task) as u32;
                let free_at = self.processors.entry((section, processor)).or_insert(Time::ZERO);
                let begins = now.max(*free_at);
                *free_at = begins.saturating_add(time);
                if begins > now {
                    self.tasks[task as usize].state = State::Queued;
                    self.effects.push_back(Effect::Due(begins, task));
                } else {
                    self.compute(task, now);
                }
            }
        }
    }

    fn compute(&mut self, task: u32, now: Time) {
        self.has_started(task);
        let Action::Compute { time, .. } = self.tasks[task as usize].action else { return };
        if time.picoseconds() == 0 {
            self.end(task, now);
        } else {
            self.effects.push_back(Effect::Due(now.saturating_add(time), task));
        }
    }

    fn has_started(&mut self, task: u32) {
        self.tasks[task as usize].state = State::Started;
        self.release(task, TaskEvent::Start);
    }

    fn end(&mut self, task: u32, now: Time) {
        self.tasks[task as usize].state = State::Ended(now);
        self.release(task, TaskEvent::End);
    }

    /// Closes a condition of the tasks that wait for this event.
    fn release(&mut self, task: u32, event: TaskEvent) {
        for follower in self.tasks[task as usize].followers.clone() {
            let (follower, waits_for) = self.followers[follower as usize];
            if waits_for == event {
                let open = &mut self.tasks[follower as usize].open;
                *open -= 1;
                if *open == 0 {
                    self.starting.push_back(follower);
                }
            }
        }
    }

    /// Runs the tasks of a host without messages.
    pub fn run_alone(&mut self, end: Time) {
        let mut timers = BinaryHeap::new();
        loop {
            while let Some(effect) = self.effect() {
                if let Effect::Due(at, task) = effect {
                    timers.push(Reverse((at, task)));
                }
            }
            match timers.pop() {
                Some(Reverse((at, task))) if at <= end => self.on(Happened::Due(task), at),
                _ => return,
            }
        }
    }

    pub fn report(&self, report: &mut Report) {
        for Section { graph, number, node, tasks } in &self.sections {
            let all = || tasks.clone().map(|task| (task, &self.tasks[task as usize]));
            let end = |(_, task): (u32, &HostTask)| if let State::Ended(at) = task.state { Some(at) } else { None };
            let waiting = all().filter(|(_, task)| {
                matches!(task.action, Action::Send(_)) && matches!(task.state, State::Waiting | State::Queued)
            });
            let waiting: Vec<u32> = waiting.map(|(number, _)| number).collect();
            report.rank(RankReport {
                graph: Arc::clone(graph),
                number: *number,
                node: *node,
                tasks: tasks.len() as u64,
                unfinished: all().filter(|&it| end(it).is_none()).count() as u64,
                end: all().filter_map(end).max(),
                waiting: waiting.len() as u64,
                blocked: waiting.first().and_then(|&task| self.blocked(task, tasks)),
            });
        }
    }

    /// Why a message has not begun: the first task, on the way back from it, that has begun and not ended.
    fn blocked(&self, waiting: u32, section: &Range<u32>) -> Option<Blocked> {
        let flow = |task: u32| match self.tasks[task as usize].action {
            Action::Send(flow) | Action::Receive(flow) => Some(flow),
            Action::Compute { .. } => None,
        };
        // By task, those before it whose event has not happened.
        let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for task in section.clone() {
            let HostTask { state, followers, .. } = &self.tasks[task as usize];
            for &(follower, event) in &self.followers[followers.start as usize..followers.end as usize] {
                let is_open = match state {
                    State::Waiting | State::Queued => true,
                    State::Started => event == TaskEvent::End,
                    State::Ended(_) => false,
                };
                if is_open {
                    before.entry(follower).or_default().push(task);
                }
            }
        }
        let (mut seen, mut next) = (BTreeSet::from([waiting]), VecDeque::from([waiting]));
        while let Some(task) = next.pop_front() {
            for &task in before.get(&task).into_iter().flatten() {
                let HostTask { action, state, .. } = self.tasks[task as usize];
                if state != State::Waiting {
                    let is_receive = matches!(action, Action::Receive(_));
                    return Some(Blocked { message: flow(waiting)?, by: flow(task), is_receive });
                }
                if seen.insert(task) {
                    next.push_back(task);
                }
            }
        }
        None
    }
}

/// The tasks of all hosts, each until its host is made.
#[derive(Default)]
pub(crate) struct TaskPlan {
    of_adapters: BTreeMap<AdapterId, Tasks>,
    /// Those of hosts without messages of the graph.
    alone: BTreeMap<(u32, NodeIndex), Tasks>,
}

impl TaskPlan {
    /// `ends` are the adapters of each flow.
    ///
    /// # Errors
    /// If a task is not at an end of its flow, or waits for one of another host.
    pub fn new(
        graphs: Vec<TaskGraph>,
        flows: &Flows,
        ends: &[(AdapterId, AdapterId)],
        seed: u64,
    ) -> Result<Self, RunError> {
        let mut plan = Self::default();
        let mut graphs: Vec<(u32, TaskGraph)> = (0..).zip(graphs).collect();
        // At one time, the order of tasks does not depend on the order of groups in a scenario.
        graphs.sort_by_cached_key(|(_, graph)| salt(seed, &format!("tasks/{}", graph.name)));
        for (number, graph) in graphs {
            plan.add(number, graph, flows, ends)?;
        }
        for tasks in plan.of_adapters.values_mut().chain(plan.alone.values_mut()) {
            tasks.sends.sort_unstable();
            tasks.receives.sort_unstable();
        }
        Ok(plan)
    }

    fn add(
        &mut self,
        number: u32,
        graph: TaskGraph,
        flows: &Flows,
        ends: &[(AdapterId, AdapterId)],
    ) -> Result<(), RunError> {
        let misplaced = |task: usize| RunError::Invariant(format!("`{}`: task {task} is at a wrong host", graph.name));
        let mut adapters: BTreeMap<NodeIndex, AdapterId> = BTreeMap::new();
        for (place, Task { node, action, .. }) in graph.tasks.iter().enumerate() {
            let end = |flow: FlowId| (flows.get(flow as usize), ends[flow as usize]);
            let (at, endpoint) = match *action {
                Action::Send(flow) => (end(flow).0.source, end(flow).1.0),
                Action::Receive(flow) => (end(flow).0.destination, end(flow).1.1),
                Action::Compute { .. } => continue,
            };
            if at != *node || *adapters.entry(*node).or_insert(endpoint) != endpoint {
                return Err(misplaced(place));
            }
        }
        let name: Arc<str> = graph.name.as_str().into();
        let mut locals = vec![0; graph.tasks.len()];
        let mut starts_other = vec![false; graph.tasks.len()];
        let mut edges: Vec<(u32, u32, TaskEvent)> = Vec::with_capacity(graph.dependencies.len());
        let mut open = vec![0_u32; graph.tasks.len()];
        for dependency in &graph.dependencies {
            let [task, on] = [dependency.task, dependency.on].map(|task| task as usize);
            if graph.tasks[task].node != graph.tasks[on].node {
                return Err(misplaced(task));
            }
            open[task] += 1;
            starts_other[on] |= dependency.event == TaskEvent::Start;
            edges.push((dependency.on, dependency.task, dependency.event));
        }
        edges.sort_unstable_by_key(|&(on, task, _)| (on, task));
        for (place, task) in graph.tasks.iter().enumerate() {
            let tasks = self.at(adapters.get(&task.node), (number, task.node));
            locals[place] = tasks.add((&name, number), task, open[place], starts_other[place]);
        }
        for (on, task, event) in edges {
            let node = graph.tasks[on as usize].node;
            let tasks = self.at(adapters.get(&node), (number, node));
            let end = tasks.followers.len() as u32;
            let followers = &mut tasks.tasks[locals[on as usize] as usize].followers;
            // Those of a task follow each other.
            *followers = if followers.start == followers.end { end..end + 1 } else { followers.start..end + 1 };
            tasks.followers.push((locals[task as usize], event));
        }
        Ok(())
    }

    fn at(&mut self, adapter: Option<&AdapterId>, alone: (u32, NodeIndex)) -> &mut Tasks {
        match adapter {
            Some(&endpoint) => self.of_adapters.entry(endpoint).or_default(),
            None => self.alone.entry(alone).or_default(),
        }
    }

    /// Takes the tasks of the host with this adapter.
    pub fn take(&mut self, adapter: AdapterId) -> Option<Box<Tasks>> {
        self.of_adapters.remove(&adapter).map(Box::new)
    }

    /// Those of hosts without messages of their graph.
    pub fn into_alone(self) -> Vec<Tasks> {
        self.alone.into_values().collect()
    }
}

impl Tasks {
    /// Adds a task, with the number of its dependencies, and returns its place. Tasks of a graph follow each other.
    fn add(&mut self, (graph, number): (&Arc<str>, u32), task: &Task, open: u32, starts_other: bool) -> u32 {
        let Task { node, action, start } = *task;
        let place = self.tasks.len() as u32;
        match self.sections.last_mut() {
            Some(section) if section.number == number => section.tasks.end += 1,
            _ => {
                self.sections.push(Section { graph: Arc::clone(graph), number, node, tasks: place..place + 1 });
            }
        }
        let mut state = State::Waiting;
        match action {
            Action::Send(flow) => self.sends.push((flow, place)),
            Action::Receive(flow) => self.receives.push((flow, place)),
            Action::Compute { .. } => {}
        }
        if open == 0 {
            // No one sees when such a receive starts.
            if matches!(action, Action::Receive(_)) && !starts_other {
                state = State::Started;
            } else {
                self.effects.push_back(Effect::Due(start, place));
            }
        }
        self.tasks.push(HostTask { action, state, has_arrived: false, open, followers: 0..0 });
        place
    }
}

#[cfg(test)]
#[path = "tasks_tests.rs"]
mod tests;
