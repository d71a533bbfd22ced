//! The wrapped wavefront arbiter: a wave of grants along the diagonals of the crossbar.
//!
//! # What it does
//! The crosspoints on one wrapped diagonal share neither an input nor an output, so that all of them can be granted at
//! once. The wave visits the diagonals one after the other and grants each request whose input and output are still
//! free, so the matching is maximal. In each phase it starts one diagonal further.
//!
//! # When to use it
//! Use it to model an arbiter in hardware that finds a maximal matching in one pass, without iterations. Like `islip`
//! it ignores the lengths of queues, and carries less than `mwm` under loads that are not uniform.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler = "wavefront", speedup = "6/5" }
//! ```
//!
//! # Source
//! Y. Tamir and H.-C. Chi, "Symmetric Crossbar Arbiters for VLSI Communication Switches", IEEE Transactions on Parallel
//! and Distributed Systems 4(1), 1993.
//!
//! # Where we differ
//! Nowhere: the arbiter is the wrapped one, with a rotating first diagonal.
//!
//! # Cost
//! The number of the first diagonal. A look at each free input on each diagonal; no random numbers.
//!
//! # Parameters
//! None: see [`WavefrontConfig`].

use alloc::boxed::Box;

use rand_core::Rng;

use crate::port_set::{contains, members};
use crate::{Matching, Occupancy, ParameterError, Scheduler};

/// The wavefront arbiter has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct WavefrontConfig {}

/// The wrapped wavefront arbiter.
#[derive(Clone, Debug)]
pub(crate) struct Wavefront {
    first_diagonal: usize,
}

/// The scheduler for any number of ports.
pub(crate) fn build(_: &WavefrontConfig, _: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(Box::new(Wavefront::new()))
}

impl Wavefront {
    pub fn new() -> Self {
        Self { first_diagonal: 0 }
    }
}

impl Scheduler for Wavefront {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, _rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        let ports = occupancy.ports();
        for step in 0..ports {
            let diagonal = self.first_diagonal + step;
            let free_outputs = occupancy.outputs() & outputs & !matching.outputs();
            if free_outputs == 0 {
                break;
            }
            for input in members(occupancy.inputs() & !matching.inputs()) {
                // On a diagonal, input + output is the same modulo the number of ports.
                let output = (diagonal + ports - input) % ports;
                if contains(occupancy.requests_of_input(input) & free_outputs, output) {
                    matching.connect(input, output);
                }
            }
        }
        self.first_diagonal = (self.first_diagonal + 1) % ports;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::rng;

    fn pairs(wavefront: &mut Wavefront, occupancy: &Occupancy) -> Vec<(usize, usize)> {
        let mut matching = Matching::new(occupancy.ports());
        wavefront.schedule(occupancy, u64::MAX, &mut rng(1), &mut matching);
        matching.pairs().collect()
    }

    #[test]
    fn the_first_diagonal_goes_round() {
        let (mut wavefront, full) = (Wavefront::new(), Occupancy::from_lengths(3, &[1; 9]));
        assert_eq!(pairs(&mut wavefront, &full), [(0, 0), (1, 2), (2, 1)]);
        assert_eq!(pairs(&mut wavefront, &full), [(0, 1), (1, 0), (2, 2)]);
        assert_eq!(pairs(&mut wavefront, &full), [(0, 2), (1, 1), (2, 0)]);
        assert_eq!(pairs(&mut wavefront, &full), [(0, 0), (1, 2), (2, 1)]);
    }

    #[test]
    fn later_diagonals_fill_up() {
        // Of the first diagonal only (1, 1) is requested; then (0, 1) is shut out by it, and (0, 0) is not.
        let mut wavefront = Wavefront { first_diagonal: 2 };
        assert_eq!(pairs(&mut wavefront, &Occupancy::from_lengths(3, &[1, 1, 0, 0, 1, 0, 0, 0, 0])), [(0, 0), (1, 1)]);
    }
}
