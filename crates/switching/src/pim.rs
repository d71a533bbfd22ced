//! PIM, parallel iterative matching: random arbiters at outputs and inputs.
//!
//! # What it does
//! Each iteration has three steps among the ports not yet matched. (1) Every input requests all outputs for which it
//! has packets. (2) Every output grants one of the requesting inputs, drawn at random. (3) Every input accepts one of
//! the granting outputs, drawn at random. No state is kept between phases. One iteration matches 1 - 1/e of the ports
//! of a large saturated switch; on average each iteration resolves at least three quarters of the remaining requests.
//!
//! # When to use it
//! Use it to compare random choice with the round-robin pointers of `islip`. With one iteration it carries 63 % of a
//! uniform load on a large switch, so it needs several.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler.pim = { iterations = 4 } }
//! ```
//!
//! Set `iterations` first: log2 of the number of ports is usually enough.
//!
//! # Source
//! T. Anderson, S. Owicki, J. Saxe and C. Thacker, "High-Speed Switch Scheduling for Local-Area Networks", ACM
//! Transactions on Computer Systems 11(4), 1993.
//!
//! # Where we differ
//! By default the number of iterations is log2 of the number of ports, rounded up, plus one; the paper's switch has
//! four for 16 ports.
//!
//! # Cost
//! No state. A random number for each output that grants and each input that accepts among several.
//!
//! # Parameters
//! See [`PimConfig`].

use alloc::boxed::Box;

use rand_core::Rng;

use crate::port_set::{draw_member, members, only};
use crate::scheduler::iterations;
use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, Scheduler};

/// Parameters of PIM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct PimConfig {
    /// Maximum number of iterations of request, grant and accept in a phase. Default: log2 of the number of ports,
    /// rounded up, plus one: 4 for 8 ports.
    pub iterations: Option<u32>,
}

/// Parallel iterative matching.
#[derive(Clone, Debug)]
pub(crate) struct Pim {
    iterations: u32,
}

/// The scheduler for this many ports.
pub(crate) fn build(config: &PimConfig, ports: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(Box::new(Pim::new(config, ports)?))
}

impl Pim {
    pub fn new(config: &PimConfig, ports: usize) -> Result<Self, ParameterError> {
        Ok(Self { iterations: iterations(config.iterations, ports)? })
    }
}

impl Scheduler for Pim {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        for _ in 0..self.iterations {
            let free_inputs = occupancy.inputs() & !matching.inputs();
            let free_outputs = occupancy.outputs() & outputs & !matching.outputs();
            let mut grants = [0_u64; MAX_PORTS];
            let mut granted_inputs = 0;
            for output in members(free_outputs) {
                if let Some(input) = draw_member(occupancy.requests_of_output(output) & free_inputs, rng) {
                    grants[input] |= only(output);
                    granted_inputs |= only(input);
                }
            }
            if granted_inputs == 0 {
                break;
            }
            for input in members(granted_inputs) {
                if let Some(output) = draw_member(grants[input], rng) {
                    matching.connect(input, output);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::rng;

    #[test]
    fn grants_and_accepts_are_drawn_alike_even_from_few() {
        // Inputs 0, 1 and 7 want output 3; each must win a third of the time, wherever the others stand.
        let mut occupancy = Occupancy::new(8);
        [0, 1, 7].into_iter().for_each(|input| occupancy.increment(input, 3));
        let mut pim = Pim::new(&PimConfig { iterations: Some(1) }, 8).unwrap();
        let (mut rng, mut matching, mut wins) = (rng(1), Matching::new(8), [0_u32; 8]);
        for _ in 0..30_000 {
            pim.schedule(&occupancy, u64::MAX, &mut rng, &mut matching);
            wins[matching.input_of(3).unwrap()] += 1;
        }
        // Binomial with p = 1/3: one standard deviation is 82.
        for input in [0, 1, 7] {
            assert!(wins[input].abs_diff(10_000) < 350, "{wins:?}");
        }
    }
}
