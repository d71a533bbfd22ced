//! Maximum size matching: as many pairs as can be matched at once.
//!
//! # What it does
//! It matches the largest possible number of pairs, regardless of the lengths of their queues. It visits the inputs one
//! after the other. From each, a breadth-first search looks for a free output along an augmenting path. It goes to an
//! output that is already matched, to the input that holds it, to another output of that input, and so on. The pairs
//! along the path then change partners. This moves the most packets in every single phase. Nevertheless it is not
//! stable under all admissible traffic and can starve a queue, because it ignores the lengths of queues.
//!
//! # When to use it
//! Use it to show that the largest matching in each phase is not the best in the long run: it can starve a queue and is
//! not stable under all admissible loads. To carry any admissible load use `mwm`.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler = "maximum_size", voq_limit = "100 packets" }
//! ```
//!
//! # Source
//! J. Hopcroft and R. Karp, "An n^5/2 Algorithm for Maximum Matchings in Bipartite Graphs", SIAM Journal on Computing
//! 2(4), 1973, for augmenting paths; N. McKeown, A. Mekkittikul, V. Anantharam and J. Walrand, "Achieving 100%
//! Throughput in an Input-Queued Switch", IEEE Transactions on Communications 47(8), 1999, for its use and its faults.
//!
//! # Where we differ
//! It searches one augmenting path at a time and not, like Hopcroft and Karp, all the shortest together: at 64 ports a
//! search takes a few words of bits. The first input and, for each search, the first output are drawn, so that ties
//! favour no port; the maximum matchings do not have equal probabilities.
//!
//! # Cost
//! No state. At most one search for each input, each of at most one look at every port.
//!
//! # Parameters
//! None: see [`MaximumSizeConfig`].

use alloc::boxed::Box;

use rand_core::Rng;

use crate::port_set::{below, first_from, members, members_from, only};
use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, Scheduler};

/// Maximum size matching has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct MaximumSizeConfig {}

/// Means "no port".
const NONE: u8 = u8::MAX;

/// Maximum size matching.
#[derive(Clone, Debug)]
pub(crate) struct MaximumSize {
    output_of: [u8; MAX_PORTS],
    input_of: [u8; MAX_PORTS],
    free_outputs: u64,
}

/// The scheduler for any number of ports.
pub(crate) fn build(_: &MaximumSizeConfig, _: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(Box::new(MaximumSize::new()))
}

impl MaximumSize {
    pub fn new() -> Self {
        Self { output_of: [NONE; MAX_PORTS], input_of: [NONE; MAX_PORTS], free_outputs: 0 }
    }

    /// Joins `root` to an output, if there is an augmenting path; outputs are looked at from `start` on.
    fn augment(&mut self, root: usize, start: usize, occupancy: &Occupancy, outputs: u64) {
        // The input from which each output was reached.
        let mut reached_from = [NONE; MAX_PORTS];
        let mut unseen = outputs;
        let mut queue = [0_u8; MAX_PORTS];
        let (mut head, mut tail) = (0, 1);
        queue[0] = root as u8;
        while head < tail {
            let input = usize::from(queue[head]);
            head += 1;
            let candidates = occupancy.requests_of_input(input) & unseen;
            if let Some(output) = first_from(candidates & self.free_outputs, start) {
                reached_from[output] = input as u8;
                self.change_partners(output, &reached_from);
                return;
            }
            unseen &= !candidates;
            for output in members_from(candidates, start) {
                reached_from[output] = input as u8;
                queue[tail] = self.input_of[output];
                tail += 1;
            }
        }
    }

    /// Follows the path back from its free `output` to its root, which is the input that had no partner.
    fn change_partners(&mut self, mut output: usize, reached_from: &[u8; MAX_PORTS]) {
        self.free_outputs &= !only(output);
        loop {
            let input = usize::from(reached_from[output]);
            let former = self.output_of[input];
            self.output_of[input] = output as u8;
            self.input_of[output] = input as u8;
            if former == NONE {
                return;
            }
            output = usize::from(former);
        }
    }
}

impl Scheduler for MaximumSize {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        if occupancy.is_empty() {
            return;
        }
        let ports = occupancy.ports();
        let outputs = outputs & occupancy.all_outputs();
        self.output_of = [NONE; MAX_PORTS];
        self.free_outputs = outputs;
        let first = below(ports, rng);
        for input in members_from(occupancy.inputs(), first) {
            self.augment(input, below(ports, rng), occupancy, outputs);
        }
        for input in members(occupancy.inputs()) {
            if self.output_of[input] != NONE {
                matching.connect(input, usize::from(self.output_of[input]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{hostile_occupancy, rng};

    /// The size of a maximum matching, by trying for each input to leave it out and to join it to each output.
    fn maximum_size(occupancy: &Occupancy, input: usize, outputs: u64) -> usize {
        if input == occupancy.ports() {
            return 0;
        }
        let joined = members(occupancy.requests_of_input(input) & outputs)
            .map(|output| 1 + maximum_size(occupancy, input + 1, outputs & !only(output)));
        joined.chain([maximum_size(occupancy, input + 1, outputs)]).max().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn no_matching_is_larger(occupancy in hostile_occupancy(6), outputs: u64, seed: u64) {
            let mut matching = Matching::new(occupancy.ports());
            MaximumSize::new().schedule(&occupancy, outputs, &mut rng(seed), &mut matching);
            prop_assert_eq!(matching.len(), maximum_size(&occupancy, 0, outputs));
        }
    }

    #[test]
    fn a_greedy_choice_is_taken_back() {
        // Input 0 can have both outputs, input 1 only output 0.
        let occupancy = Occupancy::from_lengths(2, &[1, 1, 1, 0]);
        let mut matching = Matching::new(2);
        for seed in 0..20 {
            MaximumSize::new().schedule(&occupancy, u64::MAX, &mut rng(seed), &mut matching);
            assert_eq!((matching.output_of(0), matching.output_of(1)), (Some(1), Some(0)));
        }
    }
}
