//! Steps of collective operations, run on sets in place of sums.

use std::collections::BTreeSet;

use super::*;

fn steps(algorithm: Algorithm, halves: &[Half], hosts: usize, bytes: u64) -> Steps<'_> {
    Steps { halves, algorithm, hosts, bytes }
}

const ALL_REDUCE: &[Half] = &[Reduce, Gather];

/// Data of a host by chunk: the hosts whose inputs are in the sum.
type Data = Vec<BTreeSet<usize>>;

/// Runs the steps on data. In the first half a host adds what it receives, in the second it replaces its chunks. The
/// chunks of a message follow from its algorithm and must have its bytes.
fn run(steps: &Steps<'_>) -> Vec<Data> {
    let hosts = steps.hosts;
    let mut data: Vec<Data> = (0..hosts).map(|host| vec![BTreeSet::from([host]); hosts]).collect();
    for step in 0..steps.count() {
        let (half, inner) = (steps.halves[step / steps.of_half()], step % steps.of_half());
        let before = data.clone();
        for (host, own) in before.iter().enumerate() {
            let Transfer { to, bytes } = steps.transfer(step, host);
            assert_eq!(steps.source(step, to), host);
            let chunks: Vec<usize> = match (steps.algorithm, half) {
                (Algorithm::Ring, Reduce) => vec![(host + hosts - inner) % hosts],
                (Algorithm::Ring, Gather) => vec![(host + 1 + hosts - inner) % hosts],
                (Algorithm::HalvingDoubling, Reduce) => {
                    let (from, end) = steps.share(to, inner + 1);
                    (from..end).collect()
                }
                (Algorithm::HalvingDoubling, Gather) => {
                    let (from, end) = steps.share(host, steps.of_half() - inner);
                    (from..end).collect()
                }
            };
            assert_eq!(bytes, chunks.iter().map(|&chunk| steps.chunks(chunk, chunk + 1)).sum::<u64>());
            for chunk in chunks {
                let sent = own[chunk].clone();
                match half {
                    Reduce => data[to][chunk].extend(sent),
                    Gather => data[to][chunk] = sent,
                }
            }
        }
    }
    data
}

#[test]
fn each_host_ends_with_the_sum_of_all() {
    for (algorithm, hosts) in [(Algorithm::Ring, vec![2, 3, 5, 16]), (Algorithm::HalvingDoubling, vec![2, 4, 8, 32])] {
        for hosts in hosts {
            let steps = steps(algorithm, ALL_REDUCE, hosts, 1_000_003);
            let all: BTreeSet<usize> = (0..hosts).collect();
            let data = run(&steps);
            assert!(data.iter().flatten().all(|sum| *sum == all), "{algorithm:?}, {hosts} hosts: {data:?}");
        }
    }
}

#[test]
fn each_host_sends_the_bytes_of_the_closed_form() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling] {
        for (halves, factor) in [(ALL_REDUCE, 2), (&[Reduce], 1), (&[Gather], 1)] {
            let steps = steps(algorithm, halves, 16, 16_000);
            for host in 0..16 {
                let bytes: u64 = (0..steps.count()).map(|step| steps.transfer(step, host).bytes).sum();
                assert_eq!(bytes, factor * 15_000, "{algorithm:?}, {halves:?}");
            }
            let count = if algorithm == Algorithm::Ring { 15 } else { 4 };
            assert_eq!(steps.count(), factor as usize * count);
        }
    }
}

#[test]
fn the_largest_halves_go_to_neighbours() {
    let steps = steps(Algorithm::HalvingDoubling, ALL_REDUCE, 8, 800);
    let of_first: Vec<(usize, u64)> = (0..6).map(|step| steps.transfer(step, 0)).map(|it| (it.to, it.bytes)).collect();
    assert_eq!(of_first, [(1, 400), (2, 200), (4, 100), (4, 100), (2, 200), (1, 400)]);
}
