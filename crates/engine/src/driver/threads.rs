//! One network on several threads: the same results.
//!
//! Each thread runs some stages, with channels of its own. At the barrier that ends a round it hands over the packets
//! for nodes of other threads, and how far it has come. Feeders on other threads count as of the last barrier.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use forebay_qdisc::{Span, Time};

use crate::driver::barrier::{Barrier, Broken, Participant};
use crate::driver::node::NodeId;
use crate::driver::order::Channel;
use crate::driver::partition::{Partition, partition};
use crate::driver::progress::Progress;
use crate::driver::windows::{Feeder, Stage, Windows, end_of_window};
use crate::error::RunError;
use crate::observe::meter::Meter;
use crate::packet::Packet;
use crate::packet::side_tables::Detached;

/// The lead of a stage over the first pending event, in advances of that event in the last round.
const ROUNDS_AHEAD: u64 = 4;

/// Packets and times that one thread passes to another at a barrier.
#[derive(Default)]
struct Handover {
    /// The packets for each node there that is fed from here.
    packets: Vec<Vec<Packet>>,
    /// The packets' data in side tables.
    detached: Detached,
    /// The earliest output of each stage that feeds the other thread.
    earliest_output: Vec<Time>,
    /// The sender's first pending event.
    first: Time,
    /// Nodes that were due in the last round.
    turns: u64,
}

/// The least expected speed-up with which threads are worth their starting.
const LEAST_GAIN: f64 = 1.05;

#[derive(Default)]
struct Neighbour {
    /// Nodes there that are fed from here, and the reverse.
    fed: Vec<NodeId>,
    feeding: Vec<NodeId>,
    /// Stages here that feed stages there, and the reverse, by their numbers here.
    tells: Vec<usize>,
    hears: Vec<usize>,
}

struct Part {
    windows: Windows,
    neighbours: Vec<Neighbour>,
}

/// A handover from each thread to each, for even and for odd rounds: none is filled before it is emptied.
struct Mailboxes {
    handovers: [Vec<Mutex<Handover>>; 2],
    threads: usize,
}

impl Windows {
    /// `None` if one thread runs the network as fast.
    pub fn partition(&self, threads: NonZeroUsize) -> Option<Partition> {
        self.best_partition(threads).filter(|partition| partition.gain >= LEAST_GAIN)
    }

    /// The best partition, even if it is slower than one thread. `None` if the network cannot be divided.
    pub fn best_partition(&self, threads: NonZeroUsize) -> Option<Partition> {
        if threads.get() < 2 {
            return None;
        }
        let loads: Vec<f64> = self.stages.iter().map(|stage| stage.load).collect();
        let mut channels = Vec::with_capacity(self.feeders.len());
        for (stage, to) in self.stages.iter().zip(0..) {
            let channel =
                |&Feeder { stage: from, packets, delay }: &Feeder| Channel { from, to, delay, packets: packets.into() };
            channels.extend(self.feeders[stage.feeders.clone()].iter().map(channel));
        }
        partition(&loads, &channels, threads.get())
    }

    /// Runs to the end, on the threads of a partition if there is one. Returns their number, and the CPU time in
    /// seconds of those other than this one.
    ///
    /// # Errors
    /// As [`Windows::run_on_threads`].
    pub fn run_on(
        &mut self,
        partition: Option<Partition>,
        progress: &mut Progress<'_>,
    ) -> Result<(usize, f64), RunError> {
        match partition {
            Some(partition) => Ok((partition.threads, self.run_on_threads(&partition, progress)?)),
            None => self.run(progress).map(|()| (1, 0.0)),
        }
    }

    /// Runs to the end. Returns the CPU time of the other threads in seconds.
    ///
    /// # Errors
    /// If the run is stopped, a thread cannot be started, or a due node gets no turn.
    ///
    /// # Panics
    /// If one of the threads does.
    fn run_on_threads(&mut self, partition: &Partition, progress: &mut Progress<'_>) -> Result<f64, RunError> {
        let mut parts = self.divide(partition);
        let mailboxes = Mailboxes::new(&parts);
        let barrier = Barrier::new(partition.threads);
        let (mine, others) = parts.split_first_mut().ok_or_else(|| RunError::Invariant("no threads".into()))?;
        let cpu_s = thread::scope(|scope| {
            let here = Participant(&barrier);
            let mut started = Vec::with_capacity(others.len());
            for (part, number) in others.iter_mut().zip(1..) {
                let (mailboxes, barrier, end) = (&mailboxes, &barrier, progress.end);
                let work = move || {
                    let _here = Participant(barrier);
                    let meter = Meter::start();
                    let mut goes_on = |_: f64, _: &[_]| !barrier.is_broken();
                    let mut progress = Progress::new(&mut goes_on, end);
                    let ended = part.run(number, mailboxes, barrier, &mut progress);
                    ended.map(|()| (progress.events, meter.elapsed().as_secs_f64()))
                };
                let thread = thread::Builder::new().name(format!("forebay-{number}"));
                started.push(thread.spawn_scoped(scope, work).map_err(RunError::Thread)?);
            }
            let mut ended = mine.run(0, &mailboxes, &barrier, progress);
            // Ends the other threads if this one ended early.
            drop(here);
            let mut cpu_s = 0.0;
            for thread in started {
                match thread.join() {
                    Ok(Ok((events, of_thread))) => {
                        (progress.events, cpu_s) = (progress.events + events, cpu_s + of_thread)
                    }
                    // An error says more than that others were stopped.
                    Ok(Err(error)) if matches!(ended, Ok(()) | Err(RunError::Stopped)) => ended = Err(error),
                    Ok(Err(_)) => {}
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            ended.map(|()| cpu_s)
        })?;
        for part in parts {
            self.channels.join(&part.windows.channels);
            for (mine, theirs) in self.nodes.iter_mut().zip(part.windows.nodes) {
                *mine = mine.take().or(theirs);
            }
        }
        Ok(cpu_s)
    }

    /// Moves the nodes to the threads.
    fn divide(&mut self, partition: &Partition) -> Vec<Part> {
        let mut thread_of_node = vec![0; self.nodes.len()];
        for (stage, &thread) in self.stages.iter().zip(&partition.thread_of) {
            thread_of_node[stage.nodes.start as usize..stage.nodes.end as usize].fill(thread);
        }
        (0..partition.threads).map(|thread| self.part(thread, partition, &thread_of_node)).collect()
    }

    fn part(&mut self, thread: usize, partition: &Partition, thread_of_node: &[usize]) -> Part {
        let Partition { thread_of, threads, .. } = partition;
        let mut neighbours: Vec<Neighbour> = Vec::new();
        neighbours.resize_with(*threads, Neighbour::default);
        let here: Vec<usize> = (0..self.stages.len()).filter(|&stage| thread_of[stage] == thread).collect();
        // Its own stages come first, then their feeders on other threads.
        let mut number_of = vec![None; self.stages.len()];
        here.iter().zip(0..).for_each(|(&stage, number)| number_of[stage] = Some(number));
        let (mut stages, mut feeders, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for &stage in &here {
            let first = feeders.len();
            for &feeder in &self.feeders[self.stages[stage].feeders.clone()] {
                let number = *number_of[feeder.stage as usize].get_or_insert_with(|| {
                    elsewhere.push(feeder.stage);
                    here.len() + elsewhere.len() - 1
                });
                feeders.push(Feeder { stage: number as u32, ..feeder });
            }
            stages.push(Stage::new(self.stages[stage].nodes.clone(), first..feeders.len()));
        }
        stages.extend(elsewhere.iter().map(|_| Stage::new(0..0, 0..0)));
        // Both sides list stages in the order of all, so that no numbers are sent.
        for (from, &number) in number_of.iter().enumerate() {
            if thread_of[from] != thread
                && let Some(number) = number
            {
                neighbours[thread_of[from]].hears.push(number);
            }
        }
        let mut told = vec![None; self.stages.len()];
        for (to, stage) in self.stages.iter().enumerate() {
            let feeders = || self.feeders[stage.feeders.clone()].iter().map(|feeder| feeder.stage as usize);
            if thread_of[to] == thread {
                for (from, neighbour) in neighbours.iter_mut().enumerate().filter(|&(from, _)| from != thread) {
                    if feeders().any(|feeder| thread_of[feeder] == from) {
                        neighbour.feeding.extend(stage.nodes.clone());
                    }
                }
            } else if feeders().any(|feeder| thread_of[feeder] == thread) {
                neighbours[thread_of[to]].fed.extend(stage.nodes.clone());
                for feeder in feeders().filter(|&feeder| thread_of[feeder] == thread) {
                    told[feeder].get_or_insert_with(|| vec![false; *threads])[thread_of[to]] = true;
                }
            }
        }
        for (stage, told) in told.into_iter().enumerate() {
            let told = told.unwrap_or_default();
            for (neighbour, _) in neighbours.iter_mut().zip(told).filter(|(_, told)| *told) {
                neighbour.tells.extend(number_of[stage]);
            }
        }
        let channels = self.channels.of_thread(|node| thread_of_node[node as usize] != thread);
        let take = |(node, &of)| if of == thread { Option::take(node) } else { None };
        let nodes = self.nodes.iter_mut().zip(thread_of_node).map(take).collect();
        let windows = Windows {
            nodes,
            here: here.len(),
            stages,
            feeders,
            channels,
            places: Vec::new(),
            window_bits: self.window_bits,
            least_ahead: self.least_ahead,
            most_ahead: self.most_ahead,
        };
        Part { windows, neighbours }
    }
}

impl Mailboxes {
    fn new(parts: &[Part]) -> Self {
        let handover = |(from, to): (&Part, usize)| {
            let mut handover = Handover::default();
            handover.packets.resize_with(from.neighbours[to].fed.len(), Vec::new);
            Mutex::new(handover)
        };
        let handovers =
            || parts.iter().flat_map(|from| (0..parts.len()).map(move |to| (from, to))).map(handover).collect();
        Self { handovers: [handovers(), handovers()], threads: parts.len() }
    }

    fn handover(&self, round: usize, from: usize, to: usize) -> MutexGuard<'_, Handover> {
        let handover = &self.handovers[round % 2][from * self.threads + to];
        handover.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    fn run(
        &mut self,
        me: usize,
        mailboxes: &Mailboxes,
        barrier: &Barrier,
        progress: &mut Progress<'_>,
    ) -> Result<(), RunError> {
        let end = self.windows.channels.measured.to + Span::from_picoseconds(1);
        self.windows.start(progress)?;
        let (mut before, mut turns, mut rounds) = (Time::ZERO, 1, 0);
        loop {
            let first = self.windows.channels.agenda.first();
            self.send(me, mailboxes, rounds, first, turns);
            barrier.wait().map_err(|Broken| RunError::Stopped)?;
            let (begin, all_turns) = self.receive(me, mailboxes, rounds, first, turns);
            if begin >= end {
                return Ok(());
            }
            if all_turns == 0 {
                return Err(RunError::Invariant(format!("event due at {} s was never run", begin.seconds())));
            }
            let windows = &mut self.windows;
            let ahead = (begin.since(before) * ROUNDS_AHEAD).max(windows.least_ahead).min(windows.most_ahead);
            (before, rounds) = (begin, rounds + 1);
            let latest = begin.saturating_add(ahead).min(end);
            let work_before = windows.channels.work();
            // Stages stop at the end of a window. So they come to take whole buckets, and rounds are as long as the
            // channels between threads allow.
            let bits = windows.window_bits;
            turns = windows.round(begin, |stage| end_of_window(stage.ran_until.max(begin), bits).min(latest));
            progress.events += turns;
            progress.count_work(begin, windows.channels.work() - work_before + turns, &[])?;
        }
    }

    fn send(&mut self, me: usize, mailboxes: &Mailboxes, round: usize, first: Time, turns: u64) {
        let Windows { stages, channels, .. } = &mut self.windows;
        for (to, Neighbour { fed, tells, .. }) in self.neighbours.iter().enumerate().filter(|&(to, _)| to != me) {
            let mut handover = mailboxes.handover(round, me, to);
            let Handover { packets, detached, earliest_output, .. } = &mut *handover;
            for (&node, handover) in fed.iter().zip(packets) {
                if channels.agenda.of(node) == Time::NEVER {
                    continue;
                }
                channels.agenda.set(node, Time::NEVER);
                if let Some(outgoing) = channels.outgoing(node) {
                    std::mem::swap(outgoing, handover);
                }
                for packet in &*handover {
                    channels.tables.detach(packet, detached);
                }
            }
            earliest_output.clear();
            earliest_output.extend(tells.iter().map(|&stage| stages[stage].earliest_output));
            (handover.first, handover.turns) = (first, turns);
        }
    }

    /// Returns the first pending event of all threads, and how many nodes were due.
    fn receive(
        &mut self,
        me: usize,
        mailboxes: &Mailboxes,
        round: usize,
        mut first: Time,
        mut turns: u64,
    ) -> (Time, u64) {
        let Windows { stages, channels, .. } = &mut self.windows;
        for (from, neighbour) in self.neighbours.iter().enumerate().filter(|&(from, _)| from != me) {
            let mut handover = mailboxes.handover(round, from, me);
            let Handover { packets, detached, earliest_output, first: first_there, turns: turns_there } =
                &mut *handover;
            for (&node, packets) in neighbour.feeding.iter().zip(packets) {
                channels.accept(node, packets.drain(..), detached);
            }
            for (&stage, &earliest_output) in neighbour.hears.iter().zip(&*earliest_output) {
                stages[stage].earliest_output = earliest_output;
            }
            (first, turns) = (first.min(*first_there), turns + *turns_there);
        }
        (first, turns)
    }
}
