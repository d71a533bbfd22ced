//! Which virtual output queues hold packets, and how many.

use alloc::vec;
use alloc::vec::Vec;

use crate::MAX_PORTS;
use crate::port_set::{all, only};

/// The lengths of all virtual output queues, and who requests whom; kept up with each packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    ports: usize,
    /// Packets from `input` to `output`, at `input * ports + output`.
    lengths: Vec<u32>,
    /// The outputs for which an input has packets, by input.
    requests_of_input: Vec<u64>,
    /// The inputs that have packets for an output, by output.
    requests_of_output: Vec<u64>,
    /// The inputs that have packets.
    inputs: u64,
    /// The outputs that packets wait for.
    outputs: u64,
    packets: u64,
}

impl Occupancy {
    /// No packets at the inputs of a switch with this many `ports`.
    ///
    /// # Panics
    /// Unless `ports` is between 1 and [`MAX_PORTS`].
    #[must_use]
    pub fn new(ports: usize) -> Self {
        assert!((1..=MAX_PORTS).contains(&ports), "a switch has 1 to {MAX_PORTS} ports, not {ports}");
        Self {
            ports,
            lengths: vec![0; ports * ports],
            requests_of_input: vec![0; ports],
            requests_of_output: vec![0; ports],
            inputs: 0,
            outputs: 0,
            packets: 0,
        }
    }

    /// The occupancy with these `lengths`, row by row: `input * ports + output`.
    ///
    /// # Panics
    /// Unless `ports` is between 1 and [`MAX_PORTS`] and there are `ports * ports` lengths.
    #[must_use]
    pub fn from_lengths(ports: usize, lengths: &[u32]) -> Self {
        let mut occupancy = Self::new(ports);
        assert_eq!(lengths.len(), ports * ports, "one length for each pair of ports");
        for (pair, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            occupancy.lengths[pair] = *length;
            occupancy.packets += u64::from(*length);
            occupancy.request(pair / ports, pair % ports);
        }
        occupancy
    }

    fn request(&mut self, input: usize, output: usize) {
        self.requests_of_input[input] |= only(output);
        self.requests_of_output[output] |= only(input);
        self.inputs |= only(input);
        self.outputs |= only(output);
    }

    /// A packet came to `input` for `output`.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn increment(&mut self, input: usize, output: usize) {
        let length = &mut self.lengths[input * self.ports + output];
        *length += 1;
        self.packets += 1;
        if *length == 1 {
            self.request(input, output);
        }
    }

    /// A packet left `input` for `output`.
    ///
    /// # Panics
    /// If there was none, or there is no such port.
    pub fn decrement(&mut self, input: usize, output: usize) {
        let length = &mut self.lengths[input * self.ports + output];
        assert!(*length > 0, "no packet from input {input} to output {output}");
        *length -= 1;
        self.packets -= 1;
        if *length > 0 {
            return;
        }
        self.requests_of_input[input] &= !only(output);
        self.requests_of_output[output] &= !only(input);
        if self.requests_of_input[input] == 0 {
            self.inputs &= !only(input);
        }
        if self.requests_of_output[output] == 0 {
            self.outputs &= !only(output);
        }
    }

    /// The number of ports on each side of the switch.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.ports
    }

    /// Packets from `input` to `output`.
    #[must_use]
    pub fn length(&self, input: usize, output: usize) -> u32 {
        self.lengths_of_input(input)[output]
    }

    /// Packets from `input` to each output.
    #[must_use]
    pub fn lengths_of_input(&self, input: usize) -> &[u32] {
        &self.lengths[input * self.ports..][..self.ports]
    }

    /// The set of outputs that `input` has packets for; output `j` is bit `j`.
    #[must_use]
    pub fn requests_of_input(&self, input: usize) -> u64 {
        self.requests_of_input[input]
    }

    /// The set of inputs that have packets for `output`; input `i` is bit `i`.
    #[must_use]
    pub fn requests_of_output(&self, output: usize) -> u64 {
        self.requests_of_output[output]
    }

    /// The set of inputs that have packets.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// The set of outputs that packets wait for.
    #[must_use]
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// The set of all outputs of the switch.
    #[must_use]
    pub fn all_outputs(&self) -> u64 {
        all(self.ports)
    }

    /// Packets at all inputs together.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Bytes that the counters take on the heap.
    pub(crate) fn heap_bytes(&self) -> u64 {
        let words = self.requests_of_input.capacity() + self.requests_of_output.capacity();
        (self.lengths.capacity() * size_of::<u32>() + words * size_of::<u64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_kept_by_steps_are_those_of_the_lengths(
            ports in 1_usize..=9,
            steps in prop::collection::vec((any::<bool>(), 0_usize..81), 0..200),
        ) {
            let mut occupancy = Occupancy::new(ports);
            let mut lengths = vec![0_u32; ports * ports];
            for (up, pair) in steps {
                let pair = pair % (ports * ports);
                let (input, output) = (pair / ports, pair % ports);
                if up {
                    lengths[pair] += 1;
                    occupancy.increment(input, output);
                } else if lengths[pair] > 0 {
                    lengths[pair] -= 1;
                    occupancy.decrement(input, output);
                }
                prop_assert_eq!(&occupancy, &Occupancy::from_lengths(ports, &lengths));
                prop_assert_eq!(occupancy.is_empty(), lengths.iter().all(|length| *length == 0));
            }
        }
    }

    #[test]
    fn requests_are_seen_from_both_sides() {
        let occupancy = Occupancy::from_lengths(3, &[0, 2, 1, 0, 0, 0, 0, 7, 0]);
        assert_eq!([0, 1, 2].map(|input| occupancy.requests_of_input(input)), [0b110, 0, 0b010]);
        assert_eq!([0, 1, 2].map(|output| occupancy.requests_of_output(output)), [0, 0b101, 0b001]);
        assert_eq!((occupancy.inputs(), occupancy.outputs(), occupancy.packets()), (0b101, 0b110, 10));
        assert_eq!(occupancy.length(2, 1), 7);
    }
}
