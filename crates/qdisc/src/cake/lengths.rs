//! The lengths of packets, for the statistics.

/// The shortest and the longest packets so far, without and with their overhead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lengths {
    pub network: [u32; 2],
    pub adjusted: [u32; 2],
}

impl Lengths {
    pub const NONE: Self = Self { network: [u32::MAX, 0], adjusted: [u32::MAX, 0] };

    pub fn note(&mut self, network_bytes: u32, adjusted_bytes: u32) {
        for ([least, most], bytes) in [(&mut self.network, network_bytes), (&mut self.adjusted, adjusted_bytes)] {
            (*least, *most) = ((*least).min(bytes), (*most).max(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_and_the_longest_lengths_are_noted() {
        let mut lengths = Lengths::NONE;
        [(100, 138), (60, 84), (1500, 1538)]
            .into_iter()
            .for_each(|(network, adjusted)| lengths.note(network, adjusted));
        assert_eq!((lengths.network, lengths.adjusted), ([60, 1500], [84, 1538]));
    }
}
