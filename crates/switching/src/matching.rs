//! Which input is joined to which output.

use core::fmt;

use crate::MAX_PORTS;
use crate::port_set::{all, contains, members, only};

/// Means "no port".
const NONE: u8 = u8::MAX;

/// A matching: each input is joined to at most one output, and each output to at most one input.
#[derive(Clone)]
pub struct Matching {
    ports: usize,
    output_of: [u8; MAX_PORTS],
    input_of: [u8; MAX_PORTS],
    inputs: u64,
    outputs: u64,
}

impl Matching {
    /// The empty matching of a switch with this many `ports`.
    ///
    /// # Panics
    /// Unless `ports` is between 1 and [`MAX_PORTS`].
    #[must_use]
    pub fn new(ports: usize) -> Self {
        assert!((1..=MAX_PORTS).contains(&ports), "a switch has 1 to {MAX_PORTS} ports, not {ports}");
        Self { ports, output_of: [NONE; MAX_PORTS], input_of: [NONE; MAX_PORTS], inputs: 0, outputs: 0 }
    }

    /// Parts all pairs.
    pub fn clear(&mut self) {
        self.output_of = [NONE; MAX_PORTS];
        self.input_of = [NONE; MAX_PORTS];
        self.inputs = 0;
        self.outputs = 0;
    }

    /// Joins `input` to `output`.
    ///
    /// # Panics
    /// If one of them is not a port of this switch or is joined already.
    pub fn connect(&mut self, input: usize, output: usize) {
        let ports = all(self.ports);
        assert!(contains(ports & !self.inputs, input), "input {input} is joined already, or is none");
        assert!(contains(ports & !self.outputs, output), "output {output} is joined already, or is none");
        self.output_of[input] = output as u8;
        self.input_of[output] = input as u8;
        self.inputs |= only(input);
        self.outputs |= only(output);
    }

    /// The number of ports on each side of the switch.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// The output that `input` is joined to.
    #[must_use]
    pub fn output_of(&self, input: usize) -> Option<usize> {
        contains(self.inputs, input).then(|| usize::from(self.output_of[input]))
    }

    /// The input that `output` is joined to.
    #[must_use]
    pub fn input_of(&self, output: usize) -> Option<usize> {
        contains(self.outputs, output).then(|| usize::from(self.input_of[output]))
    }

    /// The set of inputs that are joined to an output.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// The set of outputs that are joined to an input.
    #[must_use]
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// The pairs of input and output, by rising input.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        members(self.inputs).map(|input| (input, usize::from(self.output_of[input])))
    }

    /// The number of joined pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inputs.count_ones() as usize
    }

    /// Whether no pair is joined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inputs == 0
    }
}

impl PartialEq for Matching {
    fn eq(&self, other: &Self) -> bool {
        self.ports == other.ports && self.output_of == other.output_of
    }
}

impl Eq for Matching {}

impl fmt::Debug for Matching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.pairs()).finish()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn both_sides_know_the_pair() {
        let mut matching = Matching::new(4);
        matching.connect(2, 0);
        matching.connect(0, 3);
        assert_eq!(matching.pairs().collect::<Vec<_>>(), [(0, 3), (2, 0)]);
        assert_eq!((matching.output_of(2), matching.input_of(3)), (Some(0), Some(0)));
        assert_eq!((matching.output_of(1), matching.input_of(1), matching.len()), (None, None, 2));
        matching.clear();
        assert!(matching.is_empty());
        assert_eq!(matching, Matching::new(4));
    }

    #[test]
    #[should_panic(expected = "output 1 is joined already")]
    fn an_output_takes_one_input() {
        let mut matching = Matching::new(2);
        matching.connect(0, 1);
        matching.connect(1, 1);
    }

    #[test]
    #[should_panic(expected = "input 2 is joined already, or is none")]
    fn only_ports_of_the_switch_are_joined() {
        Matching::new(2).connect(2, 0);
    }
    #[test]
    fn the_sets_of_ports_are_those_of_the_pairs() {
        let mut matching = Matching::new(4);
        matching.connect(2, 0);
        matching.connect(0, 3);
        assert_eq!((matching.inputs(), matching.outputs(), matching.ports()), (0b0101, 0b1001, 4));
        assert!(!matching.is_empty());
    }

    #[test]
    fn matchings_are_equal_where_ports_and_pairs_are() {
        let joined = |ports, input, output| {
            let mut matching = Matching::new(ports);
            matching.connect(input, output);
            matching
        };
        assert_eq!(joined(4, 1, 2), joined(4, 1, 2));
        assert_ne!(joined(4, 1, 2), joined(4, 2, 1));
        assert_ne!(joined(4, 1, 2), joined(3, 1, 2));
    }
}
