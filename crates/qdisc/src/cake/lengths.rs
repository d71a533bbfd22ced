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
