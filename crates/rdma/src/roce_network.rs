//! The constants of a network with RoCE, and its queue pairs.

use forebay_units::{Rate, Span};

use crate::controller::Setup;
use crate::queue_pair::QueuePair;
use crate::roce::RoceConfig;

/// The constants of a network, which its flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct RoceNetwork {
    /// Control, window, recovery and packets.
    pub config: RoceConfig,
    /// The rate of the hosts.
    pub line_rate: Rate,
    /// The window at the rate of the line, in bytes.
    pub window_bytes: u64,
}

impl RoceNetwork {
    /// A network with this rate of its hosts. `round_trip` is its longest one; the window is the data that the rate
    /// sends in it.
    #[must_use]
    pub fn new(config: RoceConfig, line_rate: Rate, round_trip: Span) -> Self {
        Self { config, line_rate, window_bytes: line_rate.bytes_in(round_trip).max(1) }
    }

    /// A queue pair with `bytes` to send, on a path of `hops` links.
    #[must_use]
    pub fn queue_pair(&self, bytes: u64, base_round_trip: Span, hops: u32) -> QueuePair {
        let RoceConfig { control, payload, .. } = &self.config;
        let setup = Setup {
            line_rate: self.line_rate,
            base_round_trip,
            window_bytes: self.window_bytes,
            payload_bytes: payload.0 as u32,
            packet_bytes: self.config.packet_bytes() as u32,
            hops,
        };
        QueuePair::new(bytes, control.build(&setup), &setup, &self.config)
    }
}
