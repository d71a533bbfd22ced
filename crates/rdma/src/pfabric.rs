//! pFabric: a fixed window, and the remaining size as the rank of each packet.
//!
//! Switches send the packet with the smallest rank first and drop the one with the largest. A sender only keeps a
//! window full and repeats what times out. Each packet is acknowledged.
//!
//! Source: Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013, section 4.3; rank,
//! window and timeout are those of SP-PIFO's simulator.
//!
//! # Where we differ
//! The probe mode of the paper is left out, as in the simulator: after each timeout the sender repeats what is missing.

use forebay_units::{ParameterError, Span, Time, require};

use crate::ranges::Ranges;

/// The parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricConfig {
    /// Payload of a full packet.
    pub payload_bytes: u32,
    /// The window: about a bandwidth-delay product.
    pub window_bytes: u64,
    /// The retransmission timeout: three round trips of the source's network.
    pub timeout: Span,
}

impl Default for PfabricConfig {
    fn default() -> Self {
        Self { payload_bytes: 1_380, window_bytes: 30 * 1_380, timeout: Span::from_nanoseconds(96_384) }
    }
}

impl PfabricConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        require((1..=65_000).contains(&self.payload_bytes), "payload_bytes", "be from 1 to 65 000")?;
        let is_enough = self.window_bytes >= u64::from(self.payload_bytes);
        require(is_enough, "window_bytes", "be at least `payload_bytes`")?;
        require(self.timeout > Span::ZERO, "timeout", "be more than 0")
    }
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricPacket {
    /// Its first byte.
    pub sequence: u64,
    /// Its payload.
    pub payload_bytes: u32,
    /// Bytes of the flow from this packet on: less goes first.
    pub rank: u64,
    /// It has been sent before.
    pub is_retransmission: bool,
}

/// An ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfabricAck {
    /// The first byte that is missing.
    pub cumulative: u64,
    /// The packet that caused it: its first byte and length.
    pub packet: (u64, u32),
    /// Payload that had not arrived before.
    pub new_bytes: u64,
}

/// The sender of a flow.
#[derive(Clone, Debug)]
pub struct PfabricSender {
    size: u64,
    una: u64,
    next: u64,
    highest: u64,
    acked: Ranges,
    timeout_at: Time,
    timeouts: u32,
}

impl PfabricSender {
    /// A flow of `size` bytes.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self { size, una: 0, next: 0, highest: 0, acked: Ranges::default(), timeout_at: Time::NEVER, timeouts: 0 }
    }

    /// Whether all data is acknowledged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.una >= self.size
    }

    /// Timeouts so far.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// The packet that leaves at `now`, if the window allows one.
    pub fn next_packet(&mut self, now: Time, config: &PfabricConfig) -> Option<PfabricPacket> {
        self.next = self.acked.end_of(self.next).unwrap_or(self.next);
        if self.next >= self.size || self.next - self.una >= config.window_bytes.max(1) {
            return None;
        }
        let mut end = (self.next + u64::from(config.payload_bytes.max(1))).min(self.size);
        end = self.acked.start_after(self.next).map_or(end, |start| start.min(end));
        let packet = PfabricPacket {
            sequence: self.next,
            payload_bytes: (end - self.next) as u32,
            rank: self.size - self.next,
            is_retransmission: self.next < self.highest,
        };
        self.next = end;
        self.highest = self.highest.max(end);
        if self.timeout_at == Time::NEVER {
            self.timeout_at = now.saturating_add(config.timeout);
        }
        Some(packet)
    }

    /// An ACK has arrived.
    pub fn on_ack(&mut self, ack: &PfabricAck, now: Time, config: &PfabricConfig) {
        let before = self.una;
        let (start, bytes) = ack.packet;
        self.acked.insert(start, (start + u64::from(bytes)).min(self.highest));
        self.una = self.una.max(ack.cumulative.min(self.highest));
        self.una = self.acked.end_of(self.una).unwrap_or(self.una);
        self.acked.remove_below(self.una);
        self.next = self.next.max(self.una);
        if self.is_complete() || self.una == self.highest {
            self.timeout_at = Time::NEVER;
        } else if self.una > before {
            self.timeout_at = now.saturating_add(config.timeout);
        }
    }

    /// The next expiry of the timer.
    #[must_use]
    pub fn timer(&self) -> Time {
        self.timeout_at
    }

    /// [`PfabricSender::timer`] has expired.
    pub fn on_timer(&mut self, now: Time) {
        if self.timeout_at <= now && self.timeout_at != Time::NEVER {
            self.next = self.una;
            self.timeouts += 1;
            self.timeout_at = Time::NEVER;
        }
    }
}

/// The receiver of a flow.
#[derive(Clone, Debug, Default)]
pub struct PfabricReceiver {
    expected: u64,
    held: Ranges,
}

impl PfabricReceiver {
    /// A data packet has arrived.
    pub fn on_data(&mut self, sequence: u64, bytes: u32) -> PfabricAck {
        let new_bytes = self.held.insert(sequence.max(self.expected), sequence + u64::from(bytes));
        self.expected = self.held.end_of(self.expected).unwrap_or(self.expected);
        self.held.remove_below(self.expected);
        PfabricAck { cumulative: self.expected, packet: (sequence, bytes), new_bytes }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_window_leaves_with_the_remaining_size_as_rank() {
        let config = PfabricConfig { payload_bytes: 1_000, window_bytes: 3_000, ..PfabricConfig::default() };
        let mut sender = PfabricSender::new(4_500);
        let ranks = |sender: &mut PfabricSender, microseconds| -> Vec<u64> {
            core::iter::from_fn(|| sender.next_packet(at(microseconds), &config)).map(|packet| packet.rank).collect()
        };
        assert_eq!(ranks(&mut sender, 0), [4_500, 3_500, 2_500]);
        // The second packet arrives; the window stays at the first one.
        let ack = PfabricAck { cumulative: 0, packet: (1_000, 1_000), new_bytes: 1_000 };
        sender.on_ack(&ack, at(10), &config);
        assert!(ranks(&mut sender, 10).is_empty());
        assert_eq!(sender.timer(), Time::from_picoseconds(96_384_000));
        sender.on_timer(sender.timer());
        // The first and the third again, then new data.
        assert_eq!(ranks(&mut sender, 97), [4_500, 2_500]);
        sender.on_ack(&PfabricAck { cumulative: 2_000, packet: (0, 1_000), new_bytes: 1_000 }, at(110), &config);
        assert_eq!(ranks(&mut sender, 110), [1_500, 500]);
        sender.on_ack(&PfabricAck { cumulative: 4_500, packet: (4_000, 500), new_bytes: 500 }, at(120), &config);
        assert_eq!((sender.is_complete(), sender.timer(), sender.timeouts()), (true, Time::NEVER, 1));
    }

    #[test]
    fn parameters_have_bounds() {
        let config = PfabricConfig::default();
        assert!(config.validate().is_ok());
        let fields = [
            PfabricConfig { payload_bytes: 0, ..config },
            PfabricConfig { window_bytes: 1_379, ..config },
            PfabricConfig { timeout: Span::ZERO, ..config },
        ]
        .map(|config| config.validate().unwrap_err().field);
        assert_eq!(fields, ["payload_bytes", "window_bytes", "timeout"]);
    }

    enum Packet {
        Data(PfabricPacket),
        Ack(PfabricAck),
    }

    proptest! {
        #[test]
        fn every_byte_is_delivered_once(
            size in 1_u64..200_000,
            fates in prop::collection::vec((prop::bool::weighted(0.3), 0_u64..30_000), 0..300),
        ) {
            let config = PfabricConfig::default();
            let (mut sender, mut receiver) = (PfabricSender::new(size), PfabricReceiver::default());
            let (mut fates, mut packets, mut sent) = (fates.into_iter(), BTreeMap::new(), 0_u64);
            let (mut now, mut delivered) = (Time::ZERO, 0);
            let mut send = |packets: &mut BTreeMap<_, _>, now: Time, packet: Packet| {
                let (is_lost, delay) = fates.next().unwrap_or((false, 0));
                sent += 1;
                if !is_lost {
                    packets.insert((now + Span::from_nanoseconds(10_000 + delay), sent), packet);
                }
            };
            for step in 0.. {
                prop_assert!(step < 100_000, "no end: {sender:?}");
                while let Some(packet) = sender.next_packet(now, &config) {
                    send(&mut packets, now, Packet::Data(packet));
                }
                if sender.is_complete() {
                    break;
                }
                let arrival = packets.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
                now = arrival.min(sender.timer());
                prop_assert!(now != Time::NEVER);
                if sender.timer() <= now {
                    sender.on_timer(now);
                    continue;
                }
                match packets.pop_first().unwrap().1 {
                    Packet::Data(packet) => {
                        let ack = receiver.on_data(packet.sequence, packet.payload_bytes);
                        delivered += ack.new_bytes;
                        send(&mut packets, now, Packet::Ack(ack));
                    }
                    Packet::Ack(ack) => sender.on_ack(&ack, now, &config),
                }
            }
            prop_assert_eq!(delivered, size);
        }
    }
}
