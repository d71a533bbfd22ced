//! The state of a port that in-band telemetry reports.

use forebay_qdisc::{Rate, Time};

use crate::packet::Packet;
use crate::packet::side_tables::SideTables;

/// The counter of a port that appends telemetry to the packets that it sends.
#[derive(Debug, Default)]
pub(crate) struct PortTelemetry {
    /// All that the port has begun to send.
    sent_bytes: u64,
    /// Length of the queue after the last packet left it.
    pub queued_bytes: u64,
}

impl PortTelemetry {
    /// A packet begins its transmission, over a link of `rate`.
    pub fn sends(&mut self, packet: &Packet, now: Time, rate: Rate, tables: &mut SideTables) {
        tables.append_telemetry(packet, now, self.sent_bytes, self.queued_bytes, rate);
        self.sent_bytes += u64::from(packet.len_bytes());
    }
}
