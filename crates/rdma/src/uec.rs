//! Ultra Ethernet: packets and the constants of a network.

mod receiver;
mod sender;

use forebay_units::{Bytes, ParameterError, Rate, Span, Time, require};

use crate::control::nscc::NsccLaw;
use crate::entropy::LoadBalancing;

pub use receiver::UecReceiver;
pub use sender::{UecNext, UecSender};

/// Bytes of the header of a data packet, and of an ACK, NACK, pull or request to send.
pub const HEADER_BYTES: u32 = 64;
/// The largest packet: its length has 16 bits in the records of a sender.
const MAX_MTU_BYTES: u32 = 65_535;
/// A receiver acknowledges after this many bytes.
const ACK_BYTES: u32 = 16_384;

/// Congestion control of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SenderControl {
    /// NSCC.
    Nscc,
    /// The source's DCTCP: each marked ACK takes a third of what it acknowledges from the window.
    Dctcp,
    /// A window that only timeouts shrink.
    Constant,
    /// None: the receiver's credit is the only bound.
    None,
}

/// Congestion control of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum UecControl {
    /// NSCC: the sender's window follows delay and marks.
    Nscc,
    /// RCCC: the receiver grants credit.
    Rccc,
    /// NSCC and RCCC.
    Both,
    /// A window that marks shrink, as in the Consortium's simulator.
    Dctcp,
    /// A window that only timeouts shrink, by a packet each, as in the Consortium's simulator.
    Constant,
}

impl UecControl {
    /// The part of the sender, and whether the receiver has one.
    fn parts(self) -> (SenderControl, bool) {
        match self {
            Self::Nscc => (SenderControl::Nscc, false),
            Self::Rccc => (SenderControl::None, true),
            Self::Both => (SenderControl::Nscc, true),
            Self::Dctcp => (SenderControl::Dctcp, false),
            Self::Constant => (SenderControl::Constant, false),
        }
    }
}

forebay_units::configuration! {
    /// Parameters of Ultra Ethernet. The defaults are those of the Consortium's simulator.
    #[derive(Copy)]
    pub struct UecConfig {
        /// Congestion control.
        pub control: UecControl = UecControl::Nscc;
        /// A full packet on the wire, of which 64 B are headers.
        pub packet: Bytes = Bytes(4_150);
        /// How a sender chooses the entropy of a packet, by which switches choose its path.
        pub load_balancing: LoadBalancing = LoadBalancing::Mixed;
        /// The number of entropies, a power of two. 1: all packets of a flow have one entropy.
        pub paths: u16 = 64;
        /// Whether the switches trim: the target delay is shorter then, and the timeout too.
        pub trimming: bool = true;
        /// The first window. Default: 1.5 bandwidth-delay products of the flow's path.
        pub first_window: Option<Bytes> = None;
        /// How many times slower the fabric is than its hosts. Above 1, and with RCCC, the pacer of a receiver follows
        /// marks and trims in the fabric. The source does so with RCCC alone.
        pub oversubscription: u32 = 1;
        /// The longest round trip of the network. Default: of a full packet between the hosts of all such flows.
        pub round_trip: Option<Span> = None;
        /// Time after which a packet without answer is sent again. Default: 15 us and six times that of a full queue.
        pub timeout: Option<Span> = None;
    }
}

impl UecConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let has_size = (u64::from(HEADER_BYTES) + 1..=u64::from(MAX_MTU_BYTES)).contains(&self.packet.0);
        require(has_size, "packet", "be from 65 to 65 535 B")?;
        require(self.paths.is_power_of_two(), "paths", "be a power of two")?;
        let fits = |window: Bytes| (self.packet.0..=1 << 40).contains(&window.0);
        require(self.first_window.is_none_or(fits), "first_window", "be a `packet` or more, and at most 1 TiB")?;
        let has_receiver_control = self.control.parts().1;
        require((1..=1_000).contains(&self.oversubscription), "oversubscription", "be from 1 to 1000")?;
        require(self.oversubscription == 1 || has_receiver_control, "oversubscription", "be 1 without RCCC")?;
        require(self.round_trip.is_none_or(|span| span > Span::ZERO), "round_trip", "be more than 0")?;
        require(self.timeout.is_none_or(|span| span > Span::ZERO), "timeout", "be more than 0")
    }

    /// The constants of a network with this rate of its hosts. `round_trip` is its longest one.
    #[must_use]
    pub fn network(&self, line_rate: Rate, round_trip: Span) -> UecNetwork {
        let (sender_control, has_receiver_control) = self.control.parts();
        let packet_bytes = self.packet.0.min(u64::from(MAX_MTU_BYTES)) as u32;
        let network = UecNetwork::new(line_rate, self.round_trip.unwrap_or(round_trip))
            .with_packets(packet_bytes, self.trimming)
            .with_control(sender_control, has_receiver_control)
            .with_paths(self.load_balancing, self.paths);
        UecNetwork {
            timeout: self.timeout.unwrap_or(network.timeout),
            oversubscription: self.oversubscription,
            first_window: self.first_window.map(|window| window.0),
            ..network
        }
    }
}

/// The constants of a network, which its flows share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UecNetwork {
    /// A full packet on the wire.
    pub mtu_bytes: u32,
    /// The rate of the hosts.
    pub line_rate: Rate,
    /// The longest round trip: of full packets, without queues.
    pub round_trip: Span,
    /// Whether switches may cut off the payload of data packets.
    pub has_trimming: bool,
    /// The retransmission timeout.
    pub timeout: Span,
    /// The sender's congestion control.
    pub sender_control: SenderControl,
    /// The receiver grants credit (RCCC).
    pub has_receiver_control: bool,
    /// How many times slower the fabric is than its hosts. Above 1, the pacer of a receiver adapts to it.
    pub oversubscription: u32,
    /// The first window in bytes. Default: 1.5 bandwidth-delay products of the path.
    pub first_window: Option<u64>,
    /// The choice of entropies, and their number.
    pub balancing: LoadBalancing,
    /// The number of entropies.
    pub paths: u16,
    pub(crate) law: NsccLaw,
}

impl UecNetwork {
    /// The source's defaults for a network of this rate and longest round trip: packets of 4150 bytes, trimming, NSCC,
    /// 64 entropies, a timeout of 15 us and six times the time of a full queue.
    #[must_use]
    pub fn new(line_rate: Rate, round_trip: Span) -> Self {
        let mtu_bytes = 4_150;
        let mut network = Self {
            mtu_bytes,
            line_rate,
            round_trip,
            has_trimming: true,
            timeout: Span::ZERO,
            sender_control: SenderControl::Nscc,
            has_receiver_control: false,
            oversubscription: 1,
            first_window: None,
            balancing: LoadBalancing::Mixed,
            paths: 64,
            law: NsccLaw::new(line_rate, round_trip, mtu_bytes - HEADER_BYTES, mtu_bytes, true),
        };
        let queue_bytes = network.queue_bytes(true);
        network.timeout = Span::from_microseconds(15) + line_rate.transmission_time(6 * queue_bytes);
        network
    }

    /// Packets of `mtu_bytes` on the wire, with trimming or without.
    #[must_use]
    pub fn with_packets(mut self, mtu_bytes: u32, has_trimming: bool) -> Self {
        self.mtu_bytes = mtu_bytes.clamp(HEADER_BYTES + 1, MAX_MTU_BYTES);
        self.has_trimming = has_trimming;
        let queue_bytes = self.queue_bytes(has_trimming);
        self.timeout = Span::from_microseconds(15) + self.line_rate.transmission_time(6 * queue_bytes);
        self.law = NsccLaw::new(self.line_rate, self.round_trip, self.payload_bytes(), self.mtu_bytes, has_trimming);
        self.with_control(self.sender_control, self.has_receiver_control)
    }

    /// These parts of congestion control.
    #[must_use]
    pub fn with_control(mut self, sender_control: SenderControl, has_receiver_control: bool) -> Self {
        self.sender_control = sender_control;
        // Without any control a sender would have no bound.
        self.has_receiver_control = has_receiver_control || sender_control == SenderControl::None;
        if self.has_receiver_control {
            self.law = self.law.with_receiver_control();
        }
        self
    }

    /// This choice of entropies, and their number.
    #[must_use]
    pub fn with_paths(self, balancing: LoadBalancing, paths: u16) -> Self {
        Self { balancing, paths, ..self }
    }

    /// Payload of a full packet.
    #[must_use]
    pub fn payload_bytes(&self) -> u32 {
        self.mtu_bytes - HEADER_BYTES
    }

    /// The queue of a port: a bandwidth-delay product in whole packets, and five times that without trimming.
    #[must_use]
    pub fn queue_bytes(&self, has_trimming: bool) -> u64 {
        let mtu_bytes = u64::from(self.mtu_bytes);
        let packets = self.line_rate.bytes_in(self.round_trip).div_ceil(mtu_bytes);
        packets * mtu_bytes * if has_trimming { 1 } else { 5 }
    }

    /// 1.5 bandwidth-delay products of a path.
    #[must_use]
    pub fn max_window_bytes(&self, base_round_trip: Span) -> u64 {
        (self.line_rate.bytes_in(base_round_trip) * 3 / 2).max(u64::from(self.mtu_bytes))
    }
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UecPacket {
    /// Its number.
    pub number: u64,
    /// The packet on the wire.
    pub wire_bytes: u32,
    /// The choice of its path.
    pub entropy: u16,
    /// It has been sent before.
    pub is_retransmission: bool,
    /// The sender asks for an ACK.
    pub requests_ack: bool,
    /// Quanta that the sender could use, since its start; for the pacer.
    pub pull_target: i64,
}

/// A request to send, of a sender without credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestToSend {
    /// The choice of its path.
    pub entropy: u16,
    /// As in [`UecPacket::pull_target`].
    pub pull_target: i64,
}

/// An ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UecAck {
    /// The first packet that the receiver misses.
    pub cumulative: u64,
    /// The packet that caused it; `None` for a request to send.
    pub number: Option<u64>,
    /// Packets that have arrived, from this one on.
    pub bitmap_base: u64,
    /// The lowest bit is [`UecAck::bitmap_base`].
    pub bitmap: u64,
    /// Bytes on the wire that have arrived, without duplicates.
    pub received_bytes: u64,
    /// The packet that caused it was marked.
    pub is_marked: bool,
    /// It was a retransmission.
    pub is_of_retransmission: bool,
    /// Its entropy.
    pub entropy: u16,
}

/// A notice of a trimmed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UecNack {
    /// The packet.
    pub number: u64,
    /// Its entropy.
    pub entropy: u16,
    /// It was trimmed by the switch next to the receiver.
    pub is_last_hop: bool,
    /// It was marked.
    pub is_marked: bool,
}

/// The answer of a receiver to a trimmed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrimReply {
    /// The sender must repeat the packet.
    Nack(UecNack),
    /// The packet had arrived before.
    Ack(UecAck),
}

/// A packet in flight, in the sender's ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    sent_at: Time,
    wire_bytes: u16,
    retransmissions: u8,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    InFlight,
    /// Waits to be sent again.
    Queued,
    Arrived,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_of_the_source() {
        let network = UecNetwork::new(Rate::megabits(100_000), Span::from_picoseconds(14_022_720));
        assert_eq!(network.queue_bytes(true), 178_450);
        assert_eq!(network.queue_bytes(false), 892_250);
        assert_eq!(network.timeout.picoseconds(), 100_656_000);
        assert_eq!(network.max_window_bytes(network.round_trip), 262_926);
        assert_eq!(network.payload_bytes(), 4_086);
        assert_eq!(UecConfig::default().network(network.line_rate, network.round_trip), network);
    }

    #[test]
    fn parameters_have_bounds() {
        let config = UecConfig::default();
        assert!(config.validate().is_ok());
        let fields = [
            UecConfig { packet: Bytes(64), ..config },
            UecConfig { paths: 48, ..config },
            UecConfig { first_window: Some(Bytes(4_149)), ..config },
            UecConfig { oversubscription: 4, ..config },
            UecConfig { oversubscription: 0, ..config },
            UecConfig { round_trip: Some(Span::ZERO), ..config },
            UecConfig { timeout: Some(Span::ZERO), ..config },
        ]
        .map(|config| config.validate().unwrap_err().field);
        assert_eq!(
            fields,
            ["packet", "paths", "first_window", "oversubscription", "oversubscription", "round_trip", "timeout"]
        );
        assert!(UecConfig { oversubscription: 4, control: UecControl::Both, ..config }.validate().is_ok());
    }

    #[test]
    fn a_sender_without_control_needs_credit() {
        let network = UecNetwork::new(Rate::megabits(100_000), Span::from_microseconds(14));
        assert!(!network.with_control(SenderControl::Nscc, false).has_receiver_control);
        assert!(network.with_control(SenderControl::None, false).has_receiver_control);
        assert_eq!(network.with_packets(9_000, false).payload_bytes(), 8_936);
    }
}
