//! pFabric: a window sent at once, and switches that serve and drop packets by the bytes left of their flows.
//!
//! A sender starts with a window of about a bandwidth-delay product. Its switches have small queues, serve the packet
//! of the smallest rank first and drop the one of the largest. Only a short timeout detects losses. After several
//! timeouts in a row the sender stops to send data, and probes until an ACK comes.
//!
//! Source: Alizadeh et al., "pFabric: Minimal near-optimal datacenter transport", SIGCOMM 2013. The rules of the
//! window, the timer and the ACKs are those of pHost's simulator (flow.cpp, pfabricflow.cpp). Its constants for
//! pFabric are the paper's. Packets have 1460 B of data and 40 B of headers, and the first window has 12 of them. The
//! timeout is 45 us, or three round trips. Queues hold 36 864 B.
//!
//! # Where we differ
//! - The rank of a packet is the size of the flow less the number of its first byte, as in the simulator of SP-PIFO's
//!   authors and for all transports here. In the paper it is what is not acknowledged: `ranks = "unacknowledged"`.
//! - The window does not grow beyond `max_window`, by default the first one. In pHost's simulator it is 15 packets.
//! - The simulator has no probes. The paper has them after five timeouts. A probe here has the length and the rank of
//!   an ACK.
//! - The first window and the timeout follow the path by default.

use alloc::collections::VecDeque;

use forebay_units::{Bytes, ParameterError, Rate, Span, Time, require};

use crate::arrived::Reassembly;

/// A threshold of slow start that no window reaches.
const NO_THRESHOLD: f64 = 1e9;
/// Round trips of the default timeout.
const TIMEOUT_ROUND_TRIPS: u64 = 3;

/// The rank of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum PfabricRanks {
    /// The bytes of the flow from the first byte of the packet on.
    Unsent,
    /// The bytes of the flow that are not acknowledged when the packet leaves, as in the paper.
    Unacknowledged,
}

forebay_units::configuration! {
    /// Parameters of pFabric. The defaults are those of the paper.
    #[derive(Copy)]
    pub struct PfabricConfig {
        /// A full packet on the wire, with headers.
        pub packet: Bytes = Bytes(1_500);
        /// Headers of a packet; the length of an ACK and of a probe.
        pub header: Bytes = Bytes(40);
        /// Packets that a flow sends at once. Default: the bandwidth-delay product of the flow's path, rounded up.
        pub window: Option<u32> = None;
        /// The largest window. Default: the first one.
        pub max_window: Option<u32> = None;
        /// Time without progress after which everything without ACK is sent again. Default: three times the longest
        /// round trip of the network.
        pub timeout: Option<Span> = None;
        /// Timeouts in a row after which a sender probes. `None`: it never does.
        pub probe_after: Option<u32> = Some(5);
        /// The rank of a packet in queues with `ranks = "remaining_size"`.
        pub ranks: PfabricRanks = PfabricRanks::Unsent;
    }
}

impl PfabricConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        require((1..=500).contains(&self.header.0), "header", "be from 1 to 500 B")?;
        let has_size = (self.header.0 + 1..=65_535).contains(&self.packet.0);
        require(has_size, "packet", "be more than `header`, and at most 65 535 B")?;
        let is_window = |window: u32| (1..=65_536).contains(&window);
        require(self.window.is_none_or(is_window), "window", "be from 1 to 65 536 packets")?;
        let largest = |window| is_window(window) && window >= self.window.unwrap_or(1);
        require(self.max_window.is_none_or(largest), "max_window", "be `window` or more, and at most 65 536 packets")?;
        require(self.timeout.is_none_or(|timeout| timeout > Span::ZERO), "timeout", "be more than 0")?;
        require(self.probe_after.is_none_or(|timeouts| timeouts > 0), "probe_after", "be at least 1")
    }

    /// The constants of a network with this rate of its hosts. `round_trip` is its longest one.
    #[must_use]
    pub fn network(&self, line_rate: Rate, round_trip: Span) -> PfabricNetwork {
        let timeout = Span::from_picoseconds(round_trip.picoseconds().saturating_mul(TIMEOUT_ROUND_TRIPS));
        PfabricNetwork { config: *self, line_rate, timeout: self.timeout.unwrap_or(timeout) }
    }
}

/// The constants of a network, which its flows share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PfabricNetwork {
    /// The parameters.
    pub config: PfabricConfig,
    /// The rate of the hosts.
    pub line_rate: Rate,
    /// The retransmission timeout.
    pub timeout: Span,
}

impl PfabricNetwork {
    /// The length of an ACK and of a probe.
    #[must_use]
    pub fn header_bytes(&self) -> u32 {
        self.config.header.0 as u32
    }

    /// Payload of a full packet.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.config.packet.0 - self.config.header.0
    }

    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload_bytes())
    }

    /// The first window of a flow in packets.
    #[must_use]
    pub fn window_packets(&self, base_round_trip: Span) -> u32 {
        let product = self.line_rate.bytes_in(base_round_trip).div_ceil(self.config.packet.0);
        let allowed = self.config.max_window.map_or(65_536, u64::from);
        self.config.window.unwrap_or(product.clamp(1, allowed) as u32)
    }
}

/// A data packet or a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricPacket {
    /// Its number; of a probe, that of the first packet without ACK.
    pub number: u64,
    /// The packet on the wire.
    pub wire_bytes: u32,
    /// It has been sent before.
    pub is_retransmission: bool,
    /// It has no data, and only asks for an ACK.
    pub is_probe: bool,
    /// Bytes of the flow that do not count for its rank.
    pub ranked_from: u64,
}

/// An ACK, the answer to each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricAck {
    /// The packet that caused it, unless that was a probe.
    pub number: Option<u64>,
    /// The first packet that is missing.
    pub cumulative: u64,
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct PfabricSender {
    bytes: u64,
    /// Whether each packet from `first` on that was ever sent has arrived.
    arrived: VecDeque<bool>,
    /// The first packet without ACK.
    first: u64,
    /// The next packet to send. All before it without ACK are in flight.
    next: u64,
    in_flight: u32,
    /// In packets.
    window: f64,
    max_window: f64,
    threshold: f64,
    expires_at: Time,
    timeouts_in_a_row: u32,
    is_probing: bool,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl PfabricSender {
    /// A flow of `bytes` of payload over a path with this round trip without queues.
    #[must_use]
    pub fn new(bytes: u64, base_round_trip: Span, network: &PfabricNetwork) -> Self {
        let window = network.window_packets(base_round_trip);
        Self {
            bytes,
            arrived: VecDeque::new(),
            first: 0,
            next: 0,
            in_flight: 0,
            window: f64::from(window),
            max_window: f64::from(network.config.max_window.unwrap_or(window)),
            threshold: NO_THRESHOLD,
            expires_at: Time::NEVER,
            timeouts_in_a_row: 0,
            is_probing: false,
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    /// Whether all data is acknowledged.
    #[must_use]
    pub fn is_complete(&self, network: &PfabricNetwork) -> bool {
        self.first >= network.packets(self.bytes)
    }

    /// Whether a packet may leave.
    #[must_use]
    pub fn is_ready(&self, network: &PfabricNetwork) -> bool {
        !self.is_probing && f64::from(self.in_flight) + 1.0 <= self.window && self.next < network.packets(self.bytes)
    }

    /// The window in packets.
    #[must_use]
    pub fn window_packets(&self) -> f64 {
        self.window
    }

    /// Bytes from the next packet on, by which a host chooses among its flows.
    #[must_use]
    pub fn remaining_bytes(&self, network: &PfabricNetwork) -> u64 {
        self.bytes.saturating_sub(self.next * network.payload_bytes())
    }

    /// Times at which the timer found no progress.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Packets that were sent again.
    #[must_use]
    pub fn retransmitted_packets(&self) -> u32 {
        self.retransmitted_packets
    }

    fn index(&self, number: u64) -> usize {
        (number - self.first) as usize
    }

    /// The packet that leaves at `now`, if one may.
    pub fn next_packet(&mut self, now: Time, network: &PfabricNetwork) -> Option<PfabricPacket> {
        if !self.is_ready(network) {
            return None;
        }
        let number = self.next;
        let is_retransmission = self.index(number) < self.arrived.len();
        if !is_retransmission {
            self.arrived.push_back(false);
        }
        self.retransmitted_packets += u32::from(is_retransmission);
        self.in_flight += 1;
        self.next += 1;
        self.pass_arrived();
        if self.expires_at == Time::NEVER {
            self.expires_at = now.saturating_add(network.timeout);
        }
        let offset = number * network.payload_bytes();
        let payload_bytes = (self.bytes - offset).min(network.payload_bytes());
        Some(PfabricPacket {
            number,
            wire_bytes: payload_bytes as u32 + network.header_bytes(),
            is_retransmission,
            is_probe: false,
            ranked_from: self.ranked_from(offset, network),
        })
    }

    /// Bytes of the flow that do not count for the rank of a packet that begins at `offset`.
    fn ranked_from(&self, offset: u64, network: &PfabricNetwork) -> u64 {
        match network.config.ranks {
            PfabricRanks::Unsent => offset,
            PfabricRanks::Unacknowledged => {
                let selective = self.arrived.iter().filter(|&&arrived| arrived).count() as u64;
                // The last packet may be shorter: at least its own bytes are left.
                ((self.first + selective) * network.payload_bytes()).min(self.bytes - 1)
            }
        }
    }

    /// Skips packets that have arrived.
    fn pass_arrived(&mut self) {
        while self.arrived.get(self.index(self.next)).is_some_and(|&arrived| arrived) {
            self.next += 1;
        }
    }

    /// An ACK has arrived.
    pub fn on_ack(&mut self, ack: &PfabricAck, now: Time, network: &PfabricNetwork) {
        let before = self.first;
        for number in self.first..ack.cumulative.min(self.first + self.arrived.len() as u64) {
            self.arrive(number);
        }
        if let Some(number) = ack.number {
            self.arrive(number);
        }
        while self.arrived.front() == Some(&true) {
            self.arrived.pop_front();
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        self.pass_arrived();
        self.timeouts_in_a_row = 0;
        self.is_probing = false;
        if self.first > before {
            let step = if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
            self.window = (self.window + step).min(self.max_window);
            self.expires_at = if self.is_complete(network) { Time::NEVER } else { now.saturating_add(network.timeout) };
        }
    }

    fn arrive(&mut self, number: u64) {
        let Some(index) = number.checked_sub(self.first) else { return };
        let Some(arrived) = self.arrived.get_mut(index as usize) else { return };
        if !core::mem::replace(arrived, true) && number < self.next {
            self.in_flight -= 1;
        }
    }

    /// The next expiry of the timer.
    #[must_use]
    pub fn timer(&self) -> Time {
        self.expires_at
    }

    /// [`PfabricSender::timer`] has expired: all without ACK is lost. Returns a probe, if one is due.
    pub fn on_timer(&mut self, now: Time, network: &PfabricNetwork) -> Option<PfabricPacket> {
        if now < self.expires_at {
            return None;
        }
        self.timeouts += 1;
        self.timeouts_in_a_row += 1;
        self.expires_at = now.saturating_add(network.timeout);
        self.threshold = (self.window / 2.0).max(2.0);
        self.window = 1.0;
        self.next = self.first;
        self.in_flight = 0;
        self.is_probing = network.config.probe_after.is_some_and(|after| self.timeouts_in_a_row >= after);
        self.is_probing.then(|| PfabricPacket {
            number: self.first,
            wire_bytes: network.header_bytes(),
            is_retransmission: true,
            is_probe: true,
            ranked_from: self.ranked_from(self.first * network.payload_bytes(), network),
        })
    }
}

/// The receiver of a flow.
#[derive(Clone, Debug, Default)]
pub struct PfabricReceiver {
    packets: Reassembly,
    payload_bytes: u64,
}

impl PfabricReceiver {
    /// Payload that has arrived, without duplicates.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// A packet has arrived.
    pub fn on_packet(&mut self, packet: &PfabricPacket, network: &PfabricNetwork) -> PfabricAck {
        let is_data = !packet.is_probe && !self.packets.is_too_far(packet.number);
        if is_data && !self.packets.has(packet.number) {
            self.payload_bytes += u64::from(packet.wire_bytes - network.header_bytes());
            self.packets.insert(packet.number);
        }
        PfabricAck { number: is_data.then_some(packet.number), cumulative: self.packets.expected() }
    }
}

#[cfg(test)]
mod tests;
