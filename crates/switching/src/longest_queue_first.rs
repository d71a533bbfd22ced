//! Longest queue first: outputs and inputs prefer the longest virtual output queue.
//!
//! # What it does
//! The greedy rule matches the pair with the longest queue, removes both ports, and starts again. The weight of its
//! matching is at least half of the largest possible. The variant iLQF suits hardware: a fixed number of iterations,
//! each with three steps among the ports not yet matched. (1) Every input requests all outputs for which it has
//! packets, and states how many. (2) Every output grants the request with the longest queue. (3) Every input accepts
//! the grant with the longest queue.
//!
//! # When to use it
//! Use it for loads that are not uniform, where it comes closer to `mwm` than schedulers that ignore queue lengths. A
//! short queue can starve behind long ones.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler.ilqf = { iterations = 2 } }
//! ```
//!
//! Without `iterations` it computes the greedy matching.
//!
//! # Source
//! N. McKeown, "Scheduling Algorithms for Input-Queued Cell Switches", PhD thesis, University of California at
//! Berkeley, 1995 (iLQF).
//!
//! # Where we differ
//! - Queues of equal length are ordered by a hash of the pair and a number drawn again in each phase, so all pairs are
//!   strictly ordered. For grants and accepts, iLQF draws separate numbers. A pair that has won among many requests is
//!   likely to have a large hash, and with a single order an input would accept from the output for which most others
//!   wait. The greedy rule has one order of all pairs.
//! - The greedy matching is found without sorting, by iterations in which an input accepts the grant of its longest
//!   request or none. The pair that the greedy rule takes next is the first choice of both its ports, and the greedy
//!   rule eventually takes every pair that is the first choice of both.
//!
//! # Cost
//! 8 bytes for each pair of ports. A look at each remaining request in each iteration; one random number a phase, two
//! with iLQF.
//!
//! # Parameters
//! See [`IlqfConfig`].

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rand_core::Rng;

use crate::port_set::{contains, members, only};
use crate::scheduler::iterations;
use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, Scheduler};

/// Parameters of longest queue first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct IlqfConfig {
    /// Maximum number of iterations of request, grant and accept in a phase (iLQF). Default: none; the matching is the
    /// greedy one.
    pub iterations: Option<u32>,
}

/// Longest queue first.
#[derive(Clone, Debug)]
pub(crate) struct Ilqf {
    iterations: u32,
    /// Whether an input would rather wait for the next iteration than accept less than its longest request.
    greedy: bool,
    /// Length of the queue, then the phase's order among equals when outputs grant (and in the greedy rule); at
    /// `input * ports + output`, set for requests only.
    keys: Vec<u64>,
}

/// The scheduler for this many ports.
pub(crate) fn build(config: &IlqfConfig, ports: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(Box::new(Ilqf::new(config, ports)?))
}

impl Ilqf {
    pub fn new(config: &IlqfConfig, ports: usize) -> Result<Self, ParameterError> {
        let greedy = config.iterations.is_none();
        // Each iteration adds a pair while there is one to add: as many as there are ports is "to the end".
        let iterations = if greedy { ports as u32 } else { iterations(config.iterations, ports)? };
        Ok(Self { iterations, greedy, keys: vec![0; ports * ports] })
    }

    fn order_requests(&mut self, occupancy: &Occupancy, salt: u32) {
        for input in members(occupancy.inputs()) {
            let lengths = occupancy.lengths_of_input(input);
            for output in members(occupancy.requests_of_input(input)) {
                let pair = input * occupancy.ports() + output;
                self.keys[pair] = u64::from(lengths[output]) << 32 | u64::from(mix(pair as u32 ^ salt));
            }
        }
    }

    /// Returns the input in `requests` that `output` prefers; the switch has `ports` ports.
    fn granted(&self, requests: u64, output: usize, ports: usize) -> Option<usize> {
        members(requests).max_by_key(|input| self.keys[input * ports + output])
    }

    /// The output of `choices` that `input` prefers; under a `salt` equals are ordered again.
    fn accepted(&self, choices: u64, input: usize, ports: usize, salt: Option<u32>) -> Option<usize> {
        members(choices).max_by_key(|output| {
            let pair = input * ports + output;
            let key = self.keys[pair];
            salt.map_or(key, |salt| key >> 32 << 32 | u64::from(mix(pair as u32 ^ salt)))
        })
    }
}

/// A bijection of 32-bit words in which each bit depends on all (the finaliser of MurmurHash3): different pairs never
/// come out equal.
const fn mix(mut word: u32) -> u32 {
    word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    word = (word ^ (word >> 13)).wrapping_mul(0xc2b2_ae35);
    word ^ (word >> 16)
}

impl Scheduler for Ilqf {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        if occupancy.is_empty() {
            return;
        }
        self.order_requests(occupancy, rng.next_u32());
        let accept_salt = (!self.greedy).then(|| rng.next_u32());
        let ports = occupancy.ports();
        for _ in 0..self.iterations {
            let free_inputs = occupancy.inputs() & !matching.inputs();
            let free_outputs = occupancy.outputs() & outputs & !matching.outputs();
            let mut grants = [0_u64; MAX_PORTS];
            let mut granted_inputs = 0;
            for output in members(free_outputs) {
                let requests = occupancy.requests_of_output(output) & free_inputs;
                if let Some(input) = self.granted(requests, output, ports) {
                    grants[input] |= only(output);
                    granted_inputs |= only(input);
                }
            }
            if granted_inputs == 0 {
                break;
            }
            for input in members(granted_inputs) {
                let choices =
                    if self.greedy { occupancy.requests_of_input(input) & free_outputs } else { grants[input] };
                let longest = self.accepted(choices, input, ports, accept_salt);
                if let Some(output) = longest.filter(|output| contains(grants[input], *output)) {
                    matching.connect(input, output);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{hostile_occupancy, rng};

    /// Sorts all requests by falling key and takes each whose ports are both free.
    fn greedy(ilqf: &Ilqf, occupancy: &Occupancy) -> Matching {
        let ports = occupancy.ports();
        let mut requests: Vec<(u64, usize)> = (0..ports * ports)
            .filter(|pair| occupancy.length(pair / ports, pair % ports) > 0)
            .map(|pair| (ilqf.keys[pair], pair))
            .collect();
        requests.sort_unstable_by(|a, b| b.cmp(a));
        let mut matching = Matching::new(ports);
        for (_, pair) in requests {
            let (input, output) = (pair / ports, pair % ports);
            if matching.output_of(input).is_none() && matching.input_of(output).is_none() {
                matching.connect(input, output);
            }
        }
        matching
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn mutual_first_choices_are_the_greedy_matching(occupancy in hostile_occupancy(16), seed: u64) {
            let mut ilqf = Ilqf::new(&IlqfConfig::default(), occupancy.ports()).unwrap();
            let mut matching = Matching::new(occupancy.ports());
            ilqf.schedule(&occupancy, u64::MAX, &mut rng(seed), &mut matching);
            prop_assert_eq!(matching, greedy(&ilqf, &occupancy));
        }
    }

    fn pairs(iterations: Option<u32>, ports: usize, lengths: &[u32]) -> Vec<(usize, usize)> {
        let mut matching = Matching::new(ports);
        let mut ilqf = Ilqf::new(&IlqfConfig { iterations }, ports).unwrap();
        ilqf.schedule(&Occupancy::from_lengths(ports, lengths), u64::MAX, &mut rng(1), &mut matching);
        matching.pairs().collect()
    }

    #[test]
    fn the_longest_shuts_out_two_that_are_together_longer() {
        // The best would be 3 + 4.
        assert_eq!(pairs(None, 2, &[5, 3, 4, 0]), [(0, 0)]);
        assert_eq!(pairs(Some(2), 2, &[5, 3, 4, 0]), [(0, 0)]);
    }

    #[test]
    fn an_input_of_ilqf_takes_a_grant_for_want_of_a_better() {
        // Output 0 grants input 1 (6), which accepts output 2 (7). Input 0 would be next at output 0 with 5, as the
        // greedy rule has it; in iLQF it has by then accepted output 1, which granted it 4.
        let lengths = [5, 4, 0, 6, 0, 7, 0, 0, 0];
        assert_eq!(pairs(None, 3, &lengths), [(0, 0), (1, 2)]);
        assert_eq!(pairs(Some(3), 3, &lengths), [(0, 1), (1, 2)]);
    }

    #[test]
    fn equals_win_in_turn() {
        let occupancy = Occupancy::from_lengths(2, &[3, 0, 3, 0]);
        let mut ilqf = Ilqf::new(&IlqfConfig::default(), 2).unwrap();
        let (mut rng, mut matching, mut wins) = (rng(1), Matching::new(2), [0_u32; 2]);
        for _ in 0..10_000 {
            ilqf.schedule(&occupancy, u64::MAX, &mut rng, &mut matching);
            wins[matching.input_of(0).unwrap()] += 1;
        }
        // Binomial with p = 1/2: one standard deviation is 50.
        assert!(wins[0].abs_diff(5_000) < 250, "{wins:?}");
    }
    #[test]
    fn an_input_of_ilqf_does_not_prefer_the_output_that_others_wait_for() {
        // Output 0 has one request, of input 0; output 1 has eight, of equally long queues.
        let lengths: Vec<u32> = (0..64).map(|pair| u32::from(pair == 0 || pair % 8 == 1)).collect();
        let occupancy = Occupancy::from_lengths(8, &lengths);
        let mut ilqf = Ilqf::new(&IlqfConfig { iterations: Some(1) }, 8).unwrap();
        let (mut rng, mut matching, mut others_wait) = (rng(1), Matching::new(8), 0_u32);
        for _ in 0..80_000 {
            ilqf.schedule(&occupancy, u64::MAX, &mut rng, &mut matching);
            others_wait += u32::from(matching.output_of(0) == Some(1));
        }
        // Output 1 grants input 0 one time in eight, and of these it accepts half: 5000, standard deviation 68.
        assert!(others_wait.abs_diff(5_000) < 350, "{others_wait}");
    }
}
