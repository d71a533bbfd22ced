//! NDP: full windows at once, trimmed packets, and a receiver that pulls.
//!
//! A sender starts with a full window and sprays it over all paths. Each packet that arrives, whole or trimmed, lets
//! the receiver put a pull into a queue that all its flows share. The queue is served in turn at the rate of the link,
//! and each pull lets its sender send one packet, retransmissions first.
//!
//! Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance",
//! SIGCOMM 2017; rules and constants are those of its simulator (ndp.cpp in csg-htsim).
//!
//! # Where we differ
//! - The last packet of a flow is as short as its data; the source rounds up to whole packets.
//! - A sender that waits for a pull longer than the timeout sends one packet: pulls may be lost.
//! - The timeout is not drawn.
//! - A switch drops a header that does not fit. The source can return it to its sender.

mod paths;

use alloc::collections::VecDeque;

use forebay_units::{Bytes, ParameterError, Rate, Span, Time, require};
use rand_core::Rng;

use crate::arrived::Reassembly;
use paths::Paths;

/// The header of a data packet; the size of a trimmed one, of an ACK, NACK and pull.
pub const HEADER_BYTES: u32 = 64;

forebay_units::configuration! {
    /// Parameters of NDP. The defaults are those of its simulator.
    #[derive(Copy)]
    pub struct NdpConfig {
        /// A full packet on the wire, of which 64 B are headers.
        pub packet: Bytes = Bytes(9_000);
        /// Packets that a flow sends at once.
        pub window: u32 = 23;
        /// Time after which a packet without answer is sent again.
        pub timeout: Span = Span::from_milliseconds(5);
        /// The number of entropies over which a flow sprays its packets, a power of two.
        pub paths: u16 = 64;
        /// Whether paths with many trimmed packets are left out for a while.
        pub path_penalties: bool = false;
    }
}

impl NdpConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let has_size = (u64::from(HEADER_BYTES) + 1..=65_535).contains(&self.packet.0);
        require(has_size, "packet", "be from 65 to 65 535 B")?;
        require((1..=65_536).contains(&self.window), "window", "be from 1 to 65 536 packets")?;
        require(self.timeout > Span::ZERO, "timeout", "be more than 0")?;
        require(self.paths.is_power_of_two(), "paths", "be a power of two")
    }

    /// The constants of a network with this rate of its hosts.
    #[must_use]
    pub fn network(&self, line_rate: Rate) -> NdpNetwork {
        NdpNetwork {
            line_rate,
            mtu_bytes: self.packet.0 as u32,
            window_packets: self.window,
            timeout: self.timeout,
            paths: self.paths,
            penalizes_paths: self.path_penalties,
        }
    }
}

/// The constants of a network, which its flows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpNetwork {
    /// The rate of the hosts.
    pub line_rate: Rate,
    /// A full packet on the wire.
    pub mtu_bytes: u32,
    /// Packets that a flow sends at once.
    pub window_packets: u32,
    /// Time after which a packet without answer is sent again.
    pub timeout: Span,
    /// The number of paths, rounded up to a power of two.
    pub paths: u16,
    /// Whether paths with many trimmed packets are left out for a while.
    pub penalizes_paths: bool,
}

impl Default for NdpNetwork {
    fn default() -> Self {
        NdpConfig::default().network(Rate::megabits(10_000))
    }
}

impl NdpNetwork {
    /// Payload of a full packet.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        u64::from(self.mtu_bytes.saturating_sub(HEADER_BYTES).max(1))
    }

    fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload_bytes())
    }
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpPacket {
    /// Its number.
    pub number: u64,
    /// The packet on the wire.
    pub wire_bytes: u32,
    /// The choice of its path.
    pub path: u16,
    /// It has been sent before.
    pub is_retransmission: bool,
    /// It is the last one of its flow.
    pub is_last: bool,
}

/// The answer of a receiver to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpReply {
    /// The packet.
    pub number: u64,
    /// Its path.
    pub path: u16,
    /// The packet had lost its payload: it is a NACK.
    pub is_nack: bool,
    /// The first packet that is missing.
    pub cumulative: u64,
    /// The receiver asks its pull queue for a pull.
    pub wants_pull: bool,
    /// The flow is complete: its pulls must leave the queue.
    pub is_complete: bool,
}

/// A packet that has been sent.
#[derive(Clone, Copy, Debug)]
struct Record {
    sent_at: Time,
    state: State,
    transmissions: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Queued,
    Arrived,
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct NdpSender {
    bytes: u64,
    /// The packets from `first` on that have been sent.
    records: VecDeque<Record>,
    first: u64,
    queued: u32,
    in_flight: u32,
    /// Packets that the window, pulls and timeouts allow.
    allowance: u32,
    /// The highest pull.
    pulled: u64,
    /// No packet times out before; the exact time is computed when it comes.
    timeout_at: Time,
    paths: Paths,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl NdpSender {
    /// A flow of `bytes` of payload.
    #[must_use]
    pub fn new(bytes: u64, network: &NdpNetwork, rng: &mut dyn Rng) -> Self {
        Self {
            bytes,
            records: VecDeque::new(),
            first: 0,
            queued: 0,
            in_flight: 0,
            allowance: network.window_packets.max(1),
            pulled: 0,
            timeout_at: Time::NEVER,
            paths: Paths::new(network.paths, rng),
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    fn sent(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Whether all data is acknowledged.
    #[must_use]
    pub fn is_complete(&self, network: &NdpNetwork) -> bool {
        self.first >= network.packets(self.bytes)
    }

    /// Packets that timed out.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Whether a packet may leave.
    #[must_use]
    pub fn is_ready(&self, network: &NdpNetwork) -> bool {
        self.allowance > 0 && self.has_data(network)
    }

    /// Packets that were sent again.
    #[must_use]
    pub fn retransmitted_packets(&self) -> u32 {
        self.retransmitted_packets
    }

    fn has_data(&self, network: &NdpNetwork) -> bool {
        self.queued > 0 || self.sent() < network.packets(self.bytes)
    }

    /// The packet that leaves at `now`, if one may.
    pub fn next_packet(&mut self, now: Time, rng: &mut dyn Rng, network: &NdpNetwork) -> Option<NdpPacket> {
        if !self.is_ready(network) {
            return None;
        }
        self.allowance -= 1;
        let queued = (self.queued > 0).then(|| self.records.iter().position(|record| record.state == State::Queued));
        let index = if let Some(index) = queued.flatten() {
            self.queued -= 1;
            index
        } else {
            self.records.push_back(Record { sent_at: now, state: State::InFlight, transmissions: 0 });
            self.records.len() - 1
        };
        let record = &mut self.records[index];
        *record = Record { sent_at: now, state: State::InFlight, transmissions: record.transmissions + 1 };
        let is_retransmission = record.transmissions > 1;
        self.retransmitted_packets += u32::from(is_retransmission);
        self.in_flight += 1;
        self.timeout_at = self.timeout_at.min(now.saturating_add(network.timeout));
        let number = self.first + index as u64;
        let payload = (self.bytes - number * network.payload_bytes()).min(network.payload_bytes());
        Some(NdpPacket {
            number,
            wire_bytes: payload as u32 + HEADER_BYTES,
            path: self.paths.next(rng),
            is_retransmission,
            is_last: number + 1 == network.packets(self.bytes),
        })
    }

    /// An ACK or NACK has arrived.
    pub fn on_reply(&mut self, reply: &NdpReply, now: Time, network: &NdpNetwork) {
        if network.penalizes_paths {
            self.paths.count(reply.path, reply.is_nack);
        }
        if reply.is_nack {
            self.queue(reply.number);
        } else {
            self.arrive(reply.number);
        }
        for number in self.first..reply.cumulative.min(self.sent()) {
            self.arrive(number);
        }
        while self.records.front().is_some_and(|record| record.state == State::Arrived) {
            self.records.pop_front();
            self.first += 1;
        }
        self.watch(now, network);
    }

    /// The pull with this number has arrived. Numbers count from 1, and include lost pulls.
    pub fn on_pull(&mut self, number: u64, now: Time, network: &NdpNetwork) {
        if number > self.pulled {
            self.allowance = self.allowance.saturating_add(u32::try_from(number - self.pulled).unwrap_or(u32::MAX));
            self.pulled = number;
        }
        if !self.has_data(network) {
            self.allowance = 0;
        }
        self.watch(now, network);
    }

    fn record(&mut self, number: u64) -> Option<&mut Record> {
        self.records.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn queue(&mut self, number: u64) {
        if let Some(record) = self.record(number)
            && record.state == State::InFlight
        {
            record.state = State::Queued;
            self.in_flight -= 1;
            self.queued += 1;
        }
    }

    fn arrive(&mut self, number: u64) {
        let Some(record) = self.record(number) else { return };
        match core::mem::replace(&mut record.state, State::Arrived) {
            State::InFlight => self.in_flight -= 1,
            State::Queued => self.queued -= 1,
            State::Arrived => {}
        }
    }

    /// Starts the timeout of a sender that waits for a pull, with nothing in flight.
    fn watch(&mut self, now: Time, network: &NdpNetwork) {
        if self.is_complete(network) {
            self.timeout_at = Time::NEVER;
        } else if self.in_flight == 0 {
            self.timeout_at = now.saturating_add(network.timeout);
        }
    }

    /// The next expiry of the timer.
    #[must_use]
    pub fn timer(&self) -> Time {
        self.timeout_at
    }

    /// [`NdpSender::timer`] has expired: packets that timed out may be sent without a pull.
    pub fn on_timer(&mut self, now: Time, network: &NdpNetwork) {
        if now < self.timeout_at {
            return;
        }
        self.timeout_at = Time::NEVER;
        let (mut expired, is_waiting) = (0, self.in_flight == 0);
        for record in &mut self.records {
            let expiry = record.sent_at.saturating_add(network.timeout);
            if record.state == State::InFlight && expiry <= now {
                record.state = State::Queued;
                expired += 1;
            } else if record.state == State::InFlight {
                self.timeout_at = self.timeout_at.min(expiry);
            }
        }
        self.in_flight -= expired;
        self.timeouts += expired;
        self.queued += expired;
        self.allowance = self.allowance.saturating_add(expired).max(u32::from(is_waiting));
        if expired > 0 || is_waiting {
            self.watch(now, network);
        }
    }
}

/// The receiver of a flow.
#[derive(Clone, Debug, Default)]
pub struct NdpReceiver {
    packets: Reassembly,
    /// The number of packets, once the last one has come.
    count: Option<u64>,
    payload_bytes: u64,
}

impl NdpReceiver {
    /// Payload that has arrived, without duplicates.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// A packet has arrived, whole or trimmed.
    pub fn on_packet(&mut self, packet: &NdpPacket, is_trimmed: bool) -> NdpReply {
        if !is_trimmed && !self.packets.is_too_far(packet.number) {
            self.keep(packet);
        }
        let is_complete = self.count == Some(self.packets.expected());
        NdpReply {
            number: packet.number,
            path: packet.path,
            is_nack: is_trimmed && !self.packets.has(packet.number),
            cumulative: self.packets.expected(),
            wants_pull: !is_complete,
            is_complete,
        }
    }

    fn keep(&mut self, packet: &NdpPacket) {
        if packet.is_last {
            self.count = Some(packet.number + 1);
        }
        if self.packets.has(packet.number) {
            return;
        }
        self.payload_bytes += u64::from(packet.wire_bytes.saturating_sub(HEADER_BYTES));
        self.packets.insert(packet.number);
    }
}

/// A pull, for the caller to send to the flow's sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpPull {
    /// The flow's number at the queue.
    pub flow: u32,
    /// Its number in the flow, from 1.
    pub number: u64,
}

/// The pull queue of a receiving host: its flows in turn, a pull in the time of a full packet.
#[derive(Debug)]
pub struct NdpPullQueue {
    /// For each flow the pulls that wait, and the last one's number.
    flows: alloc::vec::Vec<(u32, u64)>,
    waiting: VecDeque<u32>,
    interval: Span,
    /// No pull leaves before.
    next: Time,
}

impl NdpPullQueue {
    /// The queue of a host.
    #[must_use]
    pub fn new(network: &NdpNetwork) -> Self {
        Self {
            flows: alloc::vec::Vec::new(),
            waiting: VecDeque::new(),
            interval: network.line_rate.transmission_time(u64::from(network.mtu_bytes)),
            next: Time::ZERO,
        }
    }

    /// Adds a flow and returns its number.
    pub fn add(&mut self) -> u32 {
        self.flows.push((0, 0));
        self.flows.len() as u32 - 1
    }

    /// Starts over with a flow that takes the number of one that has ended.
    pub fn reuse(&mut self, flow: u32) {
        self.release(flow);
        self.flows[flow as usize].1 = 0;
    }

    /// The flow asks for a pull.
    pub fn request(&mut self, flow: u32, now: Time) {
        self.next = self.next.max(now);
        let waiting = &mut self.flows[flow as usize].0;
        if *waiting == 0 {
            self.waiting.push_back(flow);
        }
        *waiting += 1;
    }

    /// The flow is complete: its pulls leave the queue.
    pub fn release(&mut self, flow: u32) {
        if core::mem::take(&mut self.flows[flow as usize].0) > 0 {
            self.waiting.retain(|&other| other != flow);
        }
    }

    /// The time of the next pull.
    #[must_use]
    pub fn timer(&self) -> Time {
        if self.waiting.is_empty() { Time::NEVER } else { self.next }
    }

    /// The pull that leaves at `now`, if one is due.
    pub fn on_timer(&mut self, now: Time) -> Option<NdpPull> {
        if now < self.next {
            return None;
        }
        let flow = self.waiting.pop_front()?;
        let (waiting, number) = &mut self.flows[flow as usize];
        *waiting -= 1;
        *number += 1;
        let number = *number;
        if *waiting > 0 {
            self.waiting.push_back(flow);
        }
        self.next = now.saturating_add(self.interval);
        Some(NdpPull { flow, number })
    }
}

#[cfg(test)]
mod tests;
