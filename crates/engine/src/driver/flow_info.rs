//! Facts about simulated packets, for disciplines that need more than a flow key.

use forebay_qdisc::{FlowInfo, Hosts, SackOption, TcpHeader, Time};

use crate::driver::node::Channels;
use crate::packet::{Packet, ack_stamp, flags};

/// A timestamp of TCP counts microseconds.
const TICK_PS: u64 = 1_000_000;

impl FlowInfo<Packet> for Channels {
    /// The numbers of the nodes where the packets of both directions end.
    fn hosts(&self, packet: &Packet) -> Hosts {
        let direction = packet.direction_index();
        let end = |direction| self.routes.destinations.get(direction).map_or(u64::MAX, u64::from);
        Hosts { source: end(direction ^ 1), destination: end(direction) }
    }

    /// The header of an ACK. Without the time of its own sending, so that only the timestamp that it returns counts.
    /// Data segments acknowledge nothing here, since the data of each direction is a flow of its own.
    fn tcp_header(&self, packet: &Packet) -> Option<TcpHeader> {
        if !packet.is_ack() || self.routes.destinations.is_encrypted(packet.flow_id()) {
            return None;
        }
        let options = self.tables.options_of(packet).copied().unwrap_or_default();
        let echo = ack_stamp::echo(packet.stamp, packet.time);
        Some(TcpHeader {
            flags: wire_flags(packet),
            number: packet.number(),
            is_pure: true,
            sack: SackOption::new(options.sack.iter().map(|(left, right)| (left as u32, right as u32))),
            timestamps: (echo != Time::NEVER).then_some((0, (echo.picoseconds() / TICK_PS) as u32)),
            // The option of accurate ECN.
            has_other_options: options.marked_bytes.is_some(),
        })
    }

    /// The lengths of simulated packets are those that the scenario states.
    fn framing_bytes(&self, _packet: &Packet) -> u32 {
        0
    }

    fn is_arp(&self, _packet: &Packet) -> bool {
        false
    }

    fn remaining_bytes(&self, packet: &Packet) -> Option<u64> {
        if packet.is_ack() { Some(0) } else { self.tables.remaining_bytes(packet) }
    }

    fn departure(&self, packet: &Packet) -> Option<Time> {
        (!packet.is_ack()).then(|| packet.departure())
    }
}

fn wire_flags(packet: &Packet) -> u16 {
    let pairs = [
        (flags::ACK, TcpHeader::ACK),
        (flags::SYN, TcpHeader::SYN),
        (flags::FIN, TcpHeader::FIN),
        (flags::ECE, TcpHeader::ECE),
        (flags::CWR, TcpHeader::CWR),
        (flags::AE, TcpHeader::AE),
    ];
    pairs.into_iter().fold(0, |word, (flag, wire)| if packet.has(flag) { word | wire } else { word })
}

#[cfg(test)]
#[path = "flow_info_tests.rs"]
mod tests;
