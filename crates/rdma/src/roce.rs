//! Packets and parameters of RoCE's queue pairs.

use forebay_units::{Bytes, ParameterError, Span, require};

use crate::control::RdmaControl;
use crate::control::dcqcn::DcqcnConfig;
use crate::telemetry::{HEADER_BYTES, Hop};

/// Recovery of lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum Recovery {
    /// The sender repeats everything from the first lost byte on; the receiver keeps nothing out of order.
    GoBackN,
    /// IRN's selective repeat: the sender repeats what no NACK reported as received (Mittal et al. 2018).
    Irn,
}

/// The bound of data in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum RoceWindow {
    /// None: only the rate bounds a sender.
    None,
    /// The bandwidth-delay product.
    Fixed,
    /// The bandwidth-delay product at the current rate.
    Variable,
}

forebay_units::configuration! {
    /// Parameters of a queue pair. The defaults are those of ConWeave's simulator, in which every loss is repaired.
    pub struct RoceConfig {
        /// Congestion control.
        pub control: RdmaControl = RdmaControl::Dcqcn(DcqcnConfig::default());
        /// Payload of a full packet.
        pub payload: Bytes = Bytes(1_000);
        /// Headers of a packet without telemetry: 14 B Ethernet, 20 B IP, 8 B UDP and 6 B of the source's transport.
        pub header: Bytes = Bytes(48);
        /// Recovery of lost packets.
        pub recovery: Recovery = Recovery::GoBackN;
        /// The bound of data in flight.
        pub window: RoceWindow = RoceWindow::Fixed;
        /// Retransmission timeout of go-back-N. `None`: HPCC's simulator has none, and a lost last packet stops its
        /// flow.
        pub timeout: Option<Span> = Some(Span::from_milliseconds(4));
        /// Retransmission timeout of IRN with at most three packets in flight.
        pub irn_short_timeout: Span = Span::from_microseconds(100);
        /// Retransmission timeout of IRN with more.
        pub irn_long_timeout: Span = Span::from_microseconds(320);
        /// Whether IRN has timeouts; the source turns them off where PFC prevents loss.
        pub irn_timeouts: bool = true;
        /// Interval in which a receiver does not repeat a NACK.
        pub nack_interval: Span = Span::from_microseconds(500);
        /// Whether go-back-N acknowledges data that it has (InfiniBand C9-110). HPCC's simulator drops it silently.
        pub acknowledges_duplicates: bool = true;
        /// Whether packets out of order notify the sender of congestion, as adapters do and HPCC's simulator does not.
        pub notifies_out_of_order: bool = true;
        /// A receiver notifies of marks at most once in this interval. The paper on DCQCN: 50 us. Default: of each
        /// mark.
        pub notification_interval: Span = Span::ZERO;
    }
}

impl RoceConfig {
    /// Bytes of a full packet on the wire.
    #[must_use]
    pub fn packet_bytes(&self) -> u64 {
        self.payload.0 + self.header_bytes()
    }

    /// Headers of a data packet, with telemetry.
    #[must_use]
    pub fn header_bytes(&self) -> u64 {
        self.header.0 + if self.control.takes_telemetry() { u64::from(HEADER_BYTES) } else { 0 }
    }

    /// Bytes of an ACK, NACK or notification on the wire: 14 B Ethernet, 20 B IP, 12 B of the source's transport,
    /// telemetry and padding to 60 B.
    #[must_use]
    pub fn answer_bytes(&self) -> u32 {
        if self.control.takes_telemetry() { 46 + HEADER_BYTES } else { 60 }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.control.validate()?;
        require((1..=65_000).contains(&self.payload.0), "payload", "be from 1 to 65 000 B")?;
        require(self.header.0 <= 500, "header", "be at most 500 B")?;
        require(self.timeout.is_none_or(|timeout| timeout > Span::ZERO), "timeout", "be more than 0")?;
        require(self.irn_short_timeout > Span::ZERO, "irn_short_timeout", "be more than 0")?;
        require(self.irn_long_timeout >= self.irn_short_timeout, "irn_long_timeout", "be at least `irn_short_timeout`")
    }
}

/// A data packet of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// Its first byte.
    pub sequence: u64,
    /// Its payload.
    pub payload_bytes: u32,
    /// The packet on the wire.
    pub wire_bytes: u32,
    /// It has been sent before.
    pub is_retransmission: bool,
}

/// The answer of a receiver to a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The packet that returns, if any.
    pub kind: ReplyKind,
    /// The first byte that the receiver misses.
    pub cumulative: u64,
    /// The range that caused a NACK of IRN: its first byte and length.
    pub selective: Option<(u64, u32)>,
    /// It notifies of congestion (CNP). Without a reply, the notification is a packet of its own.
    pub notifies: bool,
    /// Payload that the receiver did not have.
    pub new_bytes: u64,
}

/// The kind of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// No packet returns.
    None,
    /// An ACK.
    Ack,
    /// A NACK.
    Nack,
}

/// An ACK or NACK at the sender.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement<'a> {
    /// The first byte that the receiver misses.
    pub cumulative: u64,
    /// It is a NACK.
    pub is_nack: bool,
    /// [`Reply::selective`].
    pub selective: Option<(u64, u32)>,
    /// [`Reply::notifies`].
    pub notifies: bool,
    /// The time at which the packet that caused it left, if the packet was sent once or carries the time.
    pub sent_at: Option<forebay_units::Time>,
    /// The telemetry of that packet.
    pub telemetry: &'a [Hop],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_bounds() {
        let config = RoceConfig::default();
        assert!(config.validate().is_ok());
        let fields = [
            RoceConfig { payload: Bytes(0), ..config.clone() },
            RoceConfig { header: Bytes(501), ..config.clone() },
            RoceConfig { timeout: Some(Span::ZERO), ..config.clone() },
            RoceConfig { irn_short_timeout: Span::ZERO, ..config.clone() },
            RoceConfig { irn_long_timeout: Span::from_microseconds(99), ..config.clone() },
        ]
        .map(|config| config.validate().unwrap_err().field);
        assert_eq!(fields, ["payload", "header", "timeout", "irn_short_timeout", "irn_long_timeout"]);
    }
}
