//! Which thread runs which stage.
//!
//! Threads wait for each other once a round, and a round is no longer than the channels between threads. So stages that
//! a short channel joins stay on one thread: they form a group. A packet that crosses costs both threads, so a group
//! goes to the thread that it exchanges most packets with, as long as all threads have about the same work.

use std::collections::BinaryHeap;

use forebay_qdisc::Span;

use crate::driver::node::NodeId;
use crate::driver::order::Channel;

/// Packets that a thread could handle while it is at the barrier: about ten microseconds.
const PACKETS_OF_A_BARRIER: f64 = 500.0;

/// Packets that a thread could handle while it hands one over, or takes one over, with the cache misses of its next
/// hop. In benchmark `f-lossless` packets cross at every hop, and two threads take 1.37 times the CPU time of one.
const PACKETS_OF_A_CROSSING: f64 = 0.5;

/// Delays tried at most.
const TRIES: usize = 64;

/// How often each group may move to another thread.
const PASSES: usize = 8;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partition {
    pub thread_of: Vec<usize>,
    pub threads: usize,
    /// Expected speed-up over one thread.
    pub gain: f64,
}

/// The best partition of stages that handle `loads` packets per second, with the channels between them. `None` if all
/// stay together.
pub(crate) fn partition(loads: &[f64], channels: &[Channel], threads: usize) -> Option<Partition> {
    let mut delays: Vec<Span> =
        channels.iter().map(|channel| channel.delay).filter(|&delay| delay > Span::ZERO).collect();
    delays.push(Span::from_seconds(1));
    delays.sort_unstable();
    delays.dedup();
    let every = delays.len().div_ceil(TRIES);
    let partitions =
        delays.iter().rev().step_by(every).filter_map(|&delay| partition_at(loads, channels, threads, delay));
    partitions.max_by(|one, other| one.gain.total_cmp(&other.gain))
}

/// Keeps together what channels shorter than `delay` join.
fn partition_at(loads: &[f64], channels: &[Channel], threads: usize, delay: Span) -> Option<Partition> {
    let groups = Groups::new(loads, channels, delay);
    let threads = threads.min(groups.loads.len());
    if threads < 2 {
        return None;
    }
    let mut dealt = groups.deal(threads);
    for _ in 0..PASSES {
        if !dealt.improve(&groups) {
            break;
        }
    }
    let thread_of: Vec<usize> = groups.of_stages.iter().map(|&group| dealt.thread_of[group]).collect();
    let thread = |stage: NodeId| thread_of[stage as usize];
    let crossing = channels.iter().filter(|channel| thread(channel.from) != thread(channel.to));
    let window = crossing.map(|channel| channel.delay).min().unwrap_or(Span::from_seconds(1));
    let (all, most) = (loads.iter().sum::<f64>(), dealt.costs.iter().copied().fold(0.0, f64::max));
    let gain = all / (most + PACKETS_OF_A_BARRIER / window.seconds());
    Some(Partition { thread_of, threads, gain })
}

/// Stages that stay together.
struct Groups {
    /// The group of each stage.
    of_stages: Vec<usize>,
    loads: Vec<f64>,
    /// The cost of the packets that each group exchanges with others, if they cross.
    neighbours: Vec<Vec<(usize, f64)>>,
}

impl Groups {
    fn new(loads: &[f64], channels: &[Channel], delay: Span) -> Self {
        let mut joined: Vec<usize> = (0..loads.len()).collect();
        for channel in channels.iter().filter(|channel| channel.delay < delay) {
            let (one, other) = (root(&mut joined, channel.from as usize), root(&mut joined, channel.to as usize));
            joined[one.max(other)] = one.min(other);
        }
        let (mut of_stages, mut of_groups) = (Vec::with_capacity(loads.len()), Vec::new());
        for (stage, &load) in loads.iter().enumerate() {
            // The first stage of a group represents it.
            let first = root(&mut joined, stage);
            if first == stage {
                of_groups.push(0.0);
            }
            let group = if first == stage { of_groups.len() - 1 } else { of_stages[first] };
            of_stages.push(group);
            of_groups[group] += load;
        }
        let mut neighbours = vec![Vec::new(); of_groups.len()];
        for channel in channels {
            let (from, to) = (of_stages[channel.from as usize], of_stages[channel.to as usize]);
            if from != to {
                let cost = channel.packets * PACKETS_OF_A_CROSSING;
                neighbours[from].push((to, cost));
                neighbours[to].push((from, cost));
            }
        }
        Self { of_stages, loads: of_groups, neighbours }
    }

    /// Deals the groups out, to one thread after the other, until each has its part of the work. A thread first gets
    /// the largest group that is left, then always the one that exchanges most packets with those that it has.
    fn deal(&self, threads: usize) -> Dealt {
        let mut largest: Vec<usize> = (0..self.loads.len()).collect();
        largest.sort_by(|&one, &other| self.loads[other].total_cmp(&self.loads[one]));
        let mut thread_of = vec![usize::MAX; self.loads.len()];
        let (mut left, mut work_left) = (self.loads.len(), self.loads.iter().sum::<f64>());
        for thread in 0..threads {
            let threads_behind = threads - thread - 1;
            let (target, mut work) = (work_left / (threads - thread) as f64, 0.0);
            let (mut pulls, mut heap) = (vec![0.0_f64; self.loads.len()], BinaryHeap::new());
            let mut next_largest = largest.iter().copied();
            // No thread is left without a group.
            while left > threads_behind {
                let is_left = |group: &usize| thread_of[*group] == usize::MAX;
                let mut pulled = std::iter::from_fn(|| heap.pop().map(|(_, group)| group));
                let Some(group) = pulled.find(is_left).or_else(|| next_largest.find(is_left)) else { break };
                if threads_behind > 0 && work > 0.0 && work + self.loads[group] / 2.0 > target {
                    break;
                }
                (thread_of[group], left) = (thread, left - 1);
                work += self.loads[group];
                for &(neighbour, cost) in &self.neighbours[group] {
                    pulls[neighbour] += cost;
                    heap.push((pulls[neighbour].to_bits(), neighbour));
                }
            }
            work_left -= work;
        }
        Dealt::new(self, thread_of, threads)
    }
}

/// Groups on threads.
struct Dealt {
    thread_of: Vec<usize>,
    /// The groups of each thread, and the cost of its work and of its packets that cross.
    counts: Vec<usize>,
    costs: Vec<f64>,
}

impl Dealt {
    fn new(groups: &Groups, thread_of: Vec<usize>, threads: usize) -> Self {
        let (mut counts, mut costs) = (vec![0; threads], vec![0.0; threads]);
        for (group, &thread) in thread_of.iter().enumerate() {
            counts[thread] += 1;
            let crossing = groups.neighbours[group].iter().filter(|(neighbour, _)| thread_of[*neighbour] != thread);
            costs[thread] += groups.loads[group] + crossing.map(|(_, cost)| cost).sum::<f64>();
        }
        Self { thread_of, counts, costs }
    }

    /// Moves groups, each to where the costlier of both threads then has least. Returns whether one has moved.
    fn improve(&mut self, groups: &Groups) -> bool {
        let mut has_moved = false;
        let mut to_threads = vec![0.0; self.costs.len()];
        for (group, neighbours) in groups.neighbours.iter().enumerate() {
            let from = self.thread_of[group];
            if self.counts[from] == 1 {
                continue;
            }
            to_threads.fill(0.0);
            neighbours.iter().for_each(|&(neighbour, cost)| to_threads[self.thread_of[neighbour]] += cost);
            let all = to_threads.iter().sum::<f64>();
            // Packets to a third thread cross before and after.
            let after = |to: usize| {
                let from_after = self.costs[from] - groups.loads[group] - (all - to_threads[from]) + to_threads[from];
                let to_after = self.costs[to] + groups.loads[group] - to_threads[to] + (all - to_threads[to]);
                (from_after, to_after)
            };
            let most = |to: usize| after(to).0.max(after(to).1);
            // By more than the rounding of sums.
            let is_better = |&to: &usize| most(to) < self.costs[from].max(self.costs[to]) * (1.0 - 1e-9);
            let others = (0..self.costs.len()).filter(|&to| to != from);
            if let Some(to) = others.filter(is_better).min_by(|&one, &other| most(one).total_cmp(&most(other))) {
                (self.costs[from], self.costs[to]) = after(to);
                (self.counts[from], self.counts[to]) = (self.counts[from] - 1, self.counts[to] + 1);
                (self.thread_of[group], has_moved) = (to, true);
            }
        }
        has_moved
    }
}

/// The stage that represents all that are joined to this one.
fn root(joined: &mut [usize], mut stage: usize) -> usize {
    while joined[stage] != stage {
        joined[stage] = joined[joined[stage]];
        stage = joined[stage];
    }
    stage
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn channel(from: NodeId, to: NodeId, microseconds: u64) -> Channel {
        Channel { from, to, delay: Span::from_microseconds(microseconds), packets: 0.0 }
    }

    /// A ring of a port, sinks, the port back, and sources.
    fn ring(delays: [u64; 4]) -> [Channel; 4] {
        [channel(0, 1, delays[0]), channel(1, 2, delays[1]), channel(2, 3, delays[2]), channel(3, 0, delays[3])]
    }

    #[test]
    fn short_lanes_are_kept_on_one_thread() {
        let found = partition(&[1e6; 4], &ring([10_000, 10, 10_000, 10]), 2).unwrap();
        assert_eq!(found.thread_of, [0, 1, 1, 0]);
        assert!(found.gain > 1.9, "{found:?}");
        // Windows of ten packets do not pay.
        let found = partition(&[1e6; 4], &ring([10; 4]), 2).unwrap();
        assert!(found.gain < 0.2, "{found:?}");
        // Without delay there is nothing to divide.
        assert_eq!(partition(&[1e6; 2], &[channel(0, 1, 0)], 2), None);
        assert_eq!(partition(&[1e6], &[], 2), None);
    }

    #[test]
    fn one_that_has_nearly_all_the_work_leaves_little_to_gain() {
        let found = partition(&[0.0, 9e6, 0.0, 1e6], &ring([10_000; 4]), 2).unwrap();
        assert_ne!(found.thread_of[1], found.thread_of[3]);
        assert!(found.gain < 1.2, "{found:?}");
    }

    /// Two stars of four stages. Each stage also sends a few packets to the other star.
    fn two_stars() -> (Vec<f64>, Vec<Channel>) {
        let within = (0..8).filter(|stage| stage % 4 != 0).map(|stage| (stage, stage / 4 * 4, 2e5));
        let between = (0..8).map(|stage| (stage, (stage + 4) % 8, 1e3));
        let channel = |(from, to, packets)| Channel { packets, ..channel(from, to, 10_000) };
        (vec![1e6; 8], within.chain(between).map(channel).collect())
    }

    #[test]
    fn stages_that_exchange_packets_stay_together() {
        let (loads, channels) = two_stars();
        let found = partition(&loads, &channels, 2).unwrap();
        assert!((0..8).all(|stage| found.thread_of[stage] == found.thread_of[stage / 4 * 4]), "{found:?}");
        assert!(found.gain > 1.9, "{found:?}");
    }

    #[test]
    fn packets_that_cross_threads_are_dearer_than_a_second_thread_is_worth() {
        // Each stage handles as many packets as it exchanges.
        let loads = [1e6; 2];
        let channels = [0, 1].map(|from| Channel { packets: 1e6, ..channel(from, 1 - from, 10_000) });
        assert!(partition(&loads, &channels, 2).unwrap().gain < 1.0);
    }

    proptest! {
        #[test]
        fn costs_are_known_after_any_moves(
            loads in prop::collection::vec(0.0_f64..1e6, 2..12),
            channels in prop::collection::vec((0_u32..12, 0_u32..12, 0.0_f64..1e6), 0..60),
            threads in 2_usize..5,
        ) {
            let stages = loads.len() as NodeId;
            let channel = |(from, to, packets): (NodeId, NodeId, f64)| {
                Channel { packets, ..channel(from % stages, to % stages, 1) }
            };
            let channels: Vec<Channel> = channels.into_iter().map(channel).collect();
            let groups = Groups::new(&loads, &channels, Span::ZERO);
            let mut dealt = groups.deal(threads.min(loads.len()));
            let most = |dealt: &Dealt| dealt.costs.iter().copied().fold(0.0, f64::max);
            let before = most(&dealt);
            while dealt.improve(&groups) {}
            prop_assert!(most(&dealt) <= before);
            let anew = Dealt::new(&groups, dealt.thread_of.clone(), dealt.costs.len());
            prop_assert_eq!(&anew.counts, &dealt.counts);
            for (anew, moved) in anew.costs.iter().zip(&dealt.costs) {
                prop_assert!((anew - moved).abs() <= 1e-3, "{anew}, {moved}");
            }
        }

        #[test]
        fn every_thread_has_work_and_no_lane_without_delay_is_between_threads(
            loads in prop::collection::vec(0.0_f64..1e6, 1..30),
            channels in prop::collection::vec((0_u32..30, 0_u32..30, 0_u64..5), 0..60),
            threads in 2_usize..6,
        ) {
            let stages = loads.len() as NodeId;
            let channel = |(from, to, delay): (NodeId, NodeId, u64)| channel(from % stages, to % stages, delay);
            let channels: Vec<Channel> = channels.into_iter().map(channel).collect();
            if let Some(found) = partition(&loads, &channels, threads) {
                prop_assert!((2..=threads).contains(&found.threads));
                prop_assert!((0..found.threads).all(|thread| found.thread_of.contains(&thread)));
                for channel in channels {
                    let threads = [channel.from, channel.to].map(|stage| found.thread_of[stage as usize]);
                    prop_assert!(channel.delay > Span::ZERO || threads[0] == threads[1]);
                }
            }
        }
    }
}
