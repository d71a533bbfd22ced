//! iSLIP: round-robin arbiters at outputs and inputs, whose pointers move only when a grant is accepted.
//!
//! # What it does
//! Each iteration has three steps among the ports not yet matched. (1) Every input requests all outputs for which it
//! has packets. (2) Every output grants the first requesting input at or after its pointer. (3) Every input accepts the
//! first granting output at or after its own pointer. In the first iteration, an accepted grant moves both pointers to
//! one past the partner. Because a pointer stays until its grant is accepted, no virtual output queue starves. Under
//! heavy uniform traffic the pointers of the outputs desynchronise: each then grants a different input, and all are
//! busy.
//!
//! # When to use it
//! Use it to model the scheduler of a real switch: it is cheap, starves no queue and carries any uniform load. Under
//! loads that are not uniform it carries less than `mwm`; a small speedup such as 6/5 makes up for it.
//!
//! # Example
//! ```toml
//! fabric.cioq = { scheduler.islip = { iterations = 2 }, speedup = "6/5" }
//! ```
//!
//! Set `iterations` first: one is the cheapest, and more than log2 of the number of ports hardly add pairs.
//!
//! # Source
//! N. McKeown, "The iSLIP Scheduling Algorithm for Input-Queued Switches", IEEE/ACM Transactions on Networking 7(2),
//! 1999.
//!
//! # Where we differ
//! By default the number of iterations is log2 of the number of ports, rounded up, plus one. Pointers start at port 0.
//! An output that may not receive neither grants nor moves its pointer.
//!
//! # Cost
//! Two pointers for each port. At most two rotations of a word for each port and iteration. No random numbers. It ends
//! as soon as an iteration adds no pair.
//!
//! # Parameters
//! See [`IslipConfig`].

use alloc::boxed::Box;

use rand_core::Rng;

use crate::port_set::{first_from, members, only};
use crate::scheduler::iterations;
use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, Scheduler};

/// Parameters of iSLIP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct IslipConfig {
    /// Maximum number of iterations of request, grant and accept in a phase. Default: log2 of the number of ports,
    /// rounded up, plus one: 4 for 8 ports.
    pub iterations: Option<u32>,
}

/// iSLIP.
#[derive(Clone, Debug)]
pub(crate) struct Islip {
    iterations: u32,
    grant_pointers: [u8; MAX_PORTS],
    accept_pointers: [u8; MAX_PORTS],
}

/// The scheduler for this many ports.
pub(crate) fn build(config: &IslipConfig, ports: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
    Ok(Box::new(Islip::new(config, ports)?))
}

impl Islip {
    pub fn new(config: &IslipConfig, ports: usize) -> Result<Self, ParameterError> {
        let iterations = iterations(config.iterations, ports)?;
        Ok(Self { iterations, grant_pointers: [0; MAX_PORTS], accept_pointers: [0; MAX_PORTS] })
    }

    /// One iteration; says whether it added a pair.
    fn iterate(&mut self, first: bool, occupancy: &Occupancy, outputs: u64, matching: &mut Matching) -> bool {
        let free_inputs = occupancy.inputs() & !matching.inputs();
        let free_outputs = occupancy.outputs() & outputs & !matching.outputs();
        let mut grants = [0_u64; MAX_PORTS];
        let mut granted_inputs = 0;
        for output in members(free_outputs) {
            let requests = occupancy.requests_of_output(output) & free_inputs;
            if let Some(input) = first_from(requests, usize::from(self.grant_pointers[output])) {
                grants[input] |= only(output);
                granted_inputs |= only(input);
            }
        }
        for input in members(granted_inputs) {
            if let Some(output) = first_from(grants[input], usize::from(self.accept_pointers[input])) {
                matching.connect(input, output);
                // Pointers move in the first iteration only, lest a queue starve (section III).
                if first {
                    self.accept_pointers[input] = ((output + 1) % occupancy.ports()) as u8;
                    self.grant_pointers[output] = ((input + 1) % occupancy.ports()) as u8;
                }
            }
        }
        granted_inputs != 0
    }
}

impl Scheduler for Islip {
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, _rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        for iteration in 0..self.iterations {
            if !self.iterate(iteration == 0, occupancy, outputs, matching) {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::rng;

    fn islip(iterations: u32, ports: usize) -> Islip {
        Islip::new(&IslipConfig { iterations: Some(iterations) }, ports).unwrap()
    }

    fn pairs(islip: &mut Islip, occupancy: &Occupancy, outputs: u64) -> Vec<(usize, usize)> {
        let mut matching = Matching::new(occupancy.ports());
        islip.schedule(occupancy, outputs, &mut rng(1), &mut matching);
        matching.pairs().collect()
    }

    fn pointers(islip: &Islip, ports: usize) -> (&[u8], &[u8]) {
        (&islip.grant_pointers[..ports], &islip.accept_pointers[..ports])
    }

    #[test]
    fn pointers_fall_out_of_step_under_full_load() {
        let (mut islip, full) = (islip(1, 3), Occupancy::from_lengths(3, &[9; 9]));
        // All outputs grant input 0, which accepts output 0; only those two pointers move.
        assert_eq!(pairs(&mut islip, &full, u64::MAX), [(0, 0)]);
        assert_eq!(pointers(&islip, 3), (&[1, 0, 0][..], &[1, 0, 0][..]));
        // Output 0 grants input 1, outputs 1 and 2 grant input 0, which takes output 1.
        assert_eq!(pairs(&mut islip, &full, u64::MAX), [(0, 1), (1, 0)]);
        assert_eq!(pointers(&islip, 3), (&[2, 1, 0][..], &[2, 1, 0][..]));
        // From here on every output points at another input: all are joined, one after the other.
        assert_eq!(pairs(&mut islip, &full, u64::MAX), [(0, 2), (1, 1), (2, 0)]);
        assert_eq!(pointers(&islip, 3), (&[0, 2, 1][..], &[0, 2, 1][..]));
        assert_eq!(pairs(&mut islip, &full, u64::MAX), [(0, 0), (1, 2), (2, 1)]);
        assert_eq!(pairs(&mut islip, &full, u64::MAX), [(0, 1), (1, 0), (2, 2)]);
    }

    #[test]
    fn later_iterations_fill_up_and_move_no_pointer() {
        // Input 0 for outputs 0 and 1, input 1 for output 0, inputs 2 and 3 for output 1.
        let lengths = [1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0];
        let occupancy = Occupancy::from_lengths(4, &lengths);
        let (mut once, mut twice) = (islip(1, 4), islip(2, 4));
        assert_eq!(pairs(&mut once, &occupancy, u64::MAX), [(0, 0)]);
        assert_eq!(pairs(&mut twice, &occupancy, u64::MAX), [(0, 0), (2, 1)]);
        assert_eq!(pointers(&once, 4), pointers(&twice, 4));
        assert_eq!(pointers(&twice, 4), (&[1, 0, 0, 0][..], &[1, 0, 0, 0][..]));
    }

    #[test]
    fn an_output_that_may_not_receive_is_left_alone() {
        let (mut islip, full) = (islip(1, 3), Occupancy::from_lengths(3, &[9; 9]));
        assert_eq!(pairs(&mut islip, &full, 0b110), [(0, 1)]);
        assert_eq!(pointers(&islip, 3), (&[0, 1, 0][..], &[2, 0, 0][..]));
        assert_eq!(pairs(&mut islip, &full, 0), []);
    }
}
