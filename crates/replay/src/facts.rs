//! Facts about a packet from its headers, for disciplines that need more than a flow key.

use forebay_qdisc::{FlowInfo, Hosts, TcpHeader};

use crate::dissect::{FlowIdentity, LinkType, identify, tcp_header};

/// Where IP begins in an Ethernet frame without tags.
const ETHERNET_HEADER_BYTES: u32 = 14;

/// Facts about the packet that arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// Its hosts: the addresses of IP. Packets without them have the same ones.
    pub hosts: Hosts,
    /// Its TCP header.
    pub tcp: Option<TcpHeader>,
    /// Bytes of its length that are not its IP packet.
    pub framing_bytes: u32,
    /// Whether it is ARP.
    pub is_arp: bool,
}

impl PacketFacts {
    /// Facts about an Ethernet frame, which counts as `len_bytes`, with its IP header at `ip_at`.
    #[must_use]
    pub fn of_frame(frame: &[u8], ip_at: Option<u16>, len_bytes: u32) -> Self {
        let flow = identify(LinkType::Ethernet, frame);
        Self {
            hosts: flow.hosts(),
            tcp: ip_at.and_then(|at| tcp_header(frame, at)),
            framing_bytes: Self::framing_bytes_of_frame(frame, ip_at, len_bytes),
            is_arp: flow.is_arp(),
        }
    }

    /// The framing among the `len_bytes` of an Ethernet frame.
    #[must_use]
    pub fn framing_bytes_of_frame(frame: &[u8], ip_at: Option<u16>, len_bytes: u32) -> u32 {
        let added_bytes = len_bytes.saturating_sub(frame.len() as u32);
        added_bytes + ip_at.map_or(ETHERNET_HEADER_BYTES, u32::from)
    }

    /// Facts about a packet of this flow that was captured on a link of this type, with its IP header at `ip_at` of
    /// what counts.
    pub(crate) fn of_capture(
        flow: &FlowIdentity,
        link_type: Option<LinkType>,
        ip_at: Option<u32>,
        tcp: Option<TcpHeader>,
    ) -> Self {
        let header_bytes = if link_type == Some(LinkType::Ethernet) { ETHERNET_HEADER_BYTES } else { 0 };
        Self { hosts: flow.hosts(), tcp, framing_bytes: ip_at.unwrap_or(header_bytes), is_arp: flow.is_arp() }
    }
}

/// About any packet: a discipline asks about the one that arrives.
impl<P> FlowInfo<P> for PacketFacts {
    fn hosts(&self, _packet: &P) -> Hosts {
        self.hosts
    }

    fn tcp_header(&self, _packet: &P) -> Option<TcpHeader> {
        self.tcp
    }

    fn framing_bytes(&self, _packet: &P) -> u32 {
        self.framing_bytes
    }

    fn is_arp(&self, _packet: &P) -> bool {
        self.is_arp
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{EtherType, PacketBuilder, VlanId};

    use super::*;
    use crate::dissect::dissect;

    fn facts(frame: &[u8], len_bytes: u32) -> PacketFacts {
        PacketFacts::of_frame(frame, dissect(LinkType::Ethernet, frame).ip_at, len_bytes)
    }

    fn ipv4(source: u8, destination: u8, port: u16) -> Vec<u8> {
        let mut frame = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv4([10, 0, 0, source], [10, 0, 0, destination], 64);
        builder.tcp(port, 80, 1, 1).ack(9).write(&mut frame, &[]).unwrap();
        frame
    }

    #[test]
    fn a_host_is_its_address_at_either_end_and_whatever_its_ports() {
        let hosts = |source, destination, port| facts(&ipv4(source, destination, port), 54).hosts;
        let there = hosts(1, 2, 1000);
        assert_eq!(there, hosts(1, 2, 2000));
        assert_eq!(hosts(2, 1, 1000), Hosts { source: there.destination, destination: there.source });
        assert_ne!(there.source, hosts(3, 2, 1000).source);
        let ipv6 = |source: u8| {
            let mut frame = Vec::new();
            let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).ipv6([source; 16], [9; 16], 64);
            builder.udp(1, 2).write(&mut frame, &[]).unwrap();
            facts(&frame, 62).hosts
        };
        assert_eq!(ipv6(1), ipv6(1));
        assert_ne!(ipv6(1).source, ipv6(2).source);
        assert_eq!(ipv6(1).destination, ipv6(2).destination);
    }

    #[test]
    fn framing_is_what_is_counted_beyond_the_ip_packet() {
        let frame = ipv4(1, 2, 3);
        assert_eq!([54, 78].map(|len_bytes| facts(&frame, len_bytes).framing_bytes), [14, 38]);
        let mut tagged = Vec::new();
        let builder = PacketBuilder::ethernet2([1; 6], [2; 6]).single_vlan(VlanId::try_new(7).unwrap());
        builder.ipv4([1; 4], [2; 4], 64).udp(1, 2).write(&mut tagged, &[]).unwrap();
        assert_eq!(facts(&tagged, tagged.len() as u32).framing_bytes, 18);
    }

    #[test]
    fn arp_has_no_hosts_and_no_tcp_header() {
        let arp = [&[1; 12][..], &EtherType::ARP.0.to_be_bytes(), &[0; 46]].concat();
        let expected = PacketFacts { framing_bytes: 14, is_arp: true, ..PacketFacts::default() };
        assert_eq!(facts(&arp, 60), expected);
        let other = [&[1; 12][..], &[0x88, 0xcc], &[0; 46]].concat();
        assert_eq!(facts(&other, 60), PacketFacts { is_arp: false, ..expected });
    }

    #[test]
    fn a_captured_frame_has_the_facts_of_a_live_one() {
        for frame in [ipv4(1, 2, 3), [&[1; 12][..], &EtherType::ARP.0.to_be_bytes(), &[0; 46]].concat()] {
            let headers = dissect(LinkType::Ethernet, &frame);
            let (flow, ip_at) = (identify(LinkType::Ethernet, &frame), headers.ip_at);
            let tcp = ip_at.and_then(|at| tcp_header(&frame, at));
            let captured = PacketFacts::of_capture(&flow, Some(LinkType::Ethernet), ip_at.map(u32::from), tcp);
            assert_eq!(captured, facts(&frame, frame.len() as u32));
        }
        let not_ip = FlowIdentity::NotIp { ether_type: 0 };
        assert_eq!(PacketFacts::of_capture(&not_ip, None, None, None), PacketFacts::default());
    }
}
