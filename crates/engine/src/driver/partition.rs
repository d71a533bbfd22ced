//! Which thread runs which stage.
//!
//! Threads wait for each other once a round, and a round is no longer than the channels between threads. So stages that
//! a short channel joins stay on one thread. The others are dealt out so that all threads have about the same work.

use forebay_qdisc::Span;

/// Packets that a thread could handle while it is at the barrier: about ten microseconds.
const PACKETS_OF_A_BARRIER: f64 = 500.0;

/// Delays tried at most.
const TRIES: usize = 64;

/// A channel between two stages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageChannel {
    pub from: usize,
    pub to: usize,
    pub delay: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Partition {
    pub thread_of: Vec<usize>,
    pub threads: usize,
    /// Expected speed-up over one thread.
    pub gain: f64,
}

/// The best partition of stages that handle `loads` packets per second. `None` if all stay together.
pub(crate) fn partition(loads: &[f64], channels: &[StageChannel], threads: usize) -> Option<Partition> {
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
fn partition_at(loads: &[f64], channels: &[StageChannel], threads: usize, delay: Span) -> Option<Partition> {
    let mut joined: Vec<usize> = (0..loads.len()).collect();
    for channel in channels.iter().filter(|channel| channel.delay < delay) {
        let (one, other) = (root(&mut joined, channel.from), root(&mut joined, channel.to));
        joined[one.max(other)] = one.min(other);
    }
    let mut of_groups = vec![0.0; loads.len()];
    for (stage, load) in loads.iter().enumerate() {
        of_groups[root(&mut joined, stage)] += load;
    }
    let mut groups: Vec<usize> = (0..loads.len()).filter(|&stage| joined[stage] == stage).collect();
    let threads = threads.min(groups.len());
    if threads < 2 {
        return None;
    }
    // The largest first, each to the thread with the least work.
    groups.sort_by(|&one, &other| of_groups[other].total_cmp(&of_groups[one]));
    let mut work = vec![0.0_f64; threads];
    let mut thread_of_group = vec![0; loads.len()];
    for (dealt, &group) in groups.iter().enumerate() {
        // No thread is left without a stage.
        let least = (0..threads).min_by(|&one, &other| work[one].total_cmp(&work[other]).then(one.cmp(&other)))?;
        let thread = if dealt < threads { dealt } else { least };
        work[thread] += of_groups[group];
        thread_of_group[group] = thread;
    }
    let thread_of: Vec<usize> = (0..loads.len()).map(|stage| thread_of_group[root(&mut joined, stage)]).collect();
    let crossing = channels.iter().filter(|channel| thread_of[channel.from] != thread_of[channel.to]);
    let window = crossing.map(|channel| channel.delay).min().unwrap_or(Span::from_seconds(1));
    let (all, most) = (work.iter().sum::<f64>(), work.iter().copied().fold(0.0, f64::max));
    let gain = all / (most + PACKETS_OF_A_BARRIER / window.seconds());
    Some(Partition { thread_of, threads, gain })
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

    fn channel(from: usize, to: usize, microseconds: u64) -> StageChannel {
        StageChannel { from, to, delay: Span::from_microseconds(microseconds) }
    }

    /// A ring of a port, sinks, the port back, and sources.
    fn ring(delays: [u64; 4]) -> [StageChannel; 4] {
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

    proptest! {
        #[test]
        fn every_thread_has_work_and_no_lane_without_delay_is_between_threads(
            loads in prop::collection::vec(0.0_f64..1e6, 1..30),
            channels in prop::collection::vec((0_usize..30, 0_usize..30, 0_u64..5), 0..60),
            threads in 2_usize..6,
        ) {
            let channel = |(from, to, delay): (usize, usize, u64)| channel(from % loads.len(), to % loads.len(), delay);
            let channels: Vec<StageChannel> = channels.into_iter().map(channel).collect();
            if let Some(found) = partition(&loads, &channels, threads) {
                prop_assert!((2..=threads).contains(&found.threads));
                prop_assert!((0..found.threads).all(|thread| found.thread_of.contains(&thread)));
                for channel in channels {
                    let threads = [channel.from, channel.to].map(|stage| found.thread_of[stage]);
                    prop_assert!(channel.delay > Span::ZERO || threads[0] == threads[1]);
                }
            }
        }
    }
}
