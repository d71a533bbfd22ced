//! From the bytes of a frame to its flow, its ECN codepoint and its traffic class; and the mark CE into its bytes.
//! Knows nothing of captures: a live data plane has the same frames.

mod link_layers;
mod plain;
mod tcp;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, ether_type, ip_number};
use forebay_qdisc::{Ecn, FlowKey, Hosts, hash_flow};

use link_layers::{Carried, Unseen, carried};
pub(crate) use link_layers::{added_bytes, carries_no_ip};
pub use tcp::tcp_header;

/// The common fields of packets of one flow. Tags, labels and other headers before IP do not count; tunnels within IP
/// are not looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlowIdentity {
    /// The five-tuple.
    Ports {
        /// IP protocol number.
        protocol: u8,
        /// Sender.
        source: SocketAddr,
        /// Receiver.
        destination: SocketAddr,
    },
    /// IP without ports: other protocols, and all fragments of fragmented packets, of which only the first shows them.
    Addresses {
        /// IP protocol number.
        protocol: u8,
        /// Sender.
        source: IpAddr,
        /// Receiver.
        destination: IpAddr,
    },
    /// No visible IP header: all packets of that EtherType.
    NotIp {
        /// The EtherType before the part that is not IP or not readable; 0 if there is none.
        ether_type: u16,
    },
}

impl FlowIdentity {
    /// The receiver's address, if it has one.
    #[must_use]
    pub fn destination(&self) -> Option<IpAddr> {
        match self {
            Self::Ports { destination, .. } => Some(destination.ip()),
            Self::Addresses { destination, .. } => Some(*destination),
            Self::NotIp { .. } => None,
        }
    }

    /// The sender and the receiver as opaque keys; those of packets without addresses are the same.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        match *self {
            Self::Ports { source, destination, .. } => {
                Hosts { source: key::host(source.ip()), destination: key::host(destination.ip()) }
            }
            Self::Addresses { source, destination, .. } => {
                Hosts { source: key::host(source), destination: key::host(destination) }
            }
            Self::NotIp { .. } => Hosts::default(),
        }
    }

    /// Whether it is all packets of the address resolution protocol (RFC 826).
    #[must_use]
    pub fn is_arp(&self) -> bool {
        matches!(*self, Self::NotIp { ether_type } if EtherType(ether_type) == ether_type::ARP)
    }

    /// The key under which queue disciplines know the flow: a hash of all of the identity.
    #[must_use]
    pub fn key(&self) -> FlowKey {
        let (tag, source, destination) = match *self {
            Self::Ports { protocol, source, destination } => {
                let ports = u32::from(source.port()) << 16 | u32::from(destination.port());
                (key::ports(protocol, ports), source.ip(), destination.ip())
            }
            Self::Addresses { protocol, source, destination } => (key::no_ports(protocol), source, destination),
            Self::NotIp { ether_type } => return FlowKey(hash_flow(FlowKey(u64::from(ether_type)), 3)),
        };
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => key::ipv4(tag, source.to_bits(), destination.to_bits()),
            _ => key::ipv6(tag, bits(source), bits(destination)),
        }
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// How a flow's key is made of the numbers in its headers.
mod key {
    use std::net::IpAddr;

    use forebay_qdisc::{FlowKey, hash_flow};

    /// `ports` as in the header: the sender's, then the receiver's.
    pub(super) fn ports(protocol: u8, ports: u32) -> u64 {
        1 << 56 | u64::from(protocol) << 32 | u64::from(ports)
    }

    pub(super) fn no_ports(protocol: u8) -> u64 {
        2 << 56 | u64::from(protocol) << 32
    }

    /// Both addresses in one word: a round of the hash costs as much as a discipline may.
    pub(super) fn ipv4(tag: u64, source: u32, destination: u32) -> FlowKey {
        chain(tag, [u64::from(source) << 32 | u64::from(destination)])
    }

    pub(super) fn ipv6(tag: u64, source: u128, destination: u128) -> FlowKey {
        chain(tag, [source >> 64, source, destination >> 64, destination].map(|word| word as u64))
    }

    pub(super) fn host(address: IpAddr) -> u64 {
        match address {
            IpAddr::V4(address) => 4 << 56 | u64::from(address.to_bits()),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                let FlowKey(key) = chain(6 << 56, [bits >> 64, bits].map(|word| word as u64));
                key
            }
        }
    }

    fn chain<const N: usize>(tag: u64, words: [u64; N]) -> FlowKey {
        FlowKey(words.into_iter().fold(tag, |key, word| hash_flow(FlowKey(word), key)))
    }
}

impl fmt::Display for FlowIdentity {
    /// As tcpdump has it: sender > receiver.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol_name = |protocol: u8| match IpNumber(protocol).keyword_str() {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("IP protocol {protocol}"),
        };
        match self {
            Self::Ports { protocol, source, destination } => {
                write!(f, "{} {source} > {destination}", protocol_name(*protocol))
            }
            Self::Addresses { protocol, source, destination } => {
                write!(f, "{} {source} > {destination}", protocol_name(*protocol))
            }
            Self::NotIp { ether_type: 0 } => f.write_str("no EtherType"),
            Self::NotIp { ether_type } if EtherType(*ether_type) == ether_type::ARP => f.write_str("ARP"),
            Self::NotIp { ether_type } => write!(f, "EtherType {ether_type:#06x}"),
        }
    }
}

/// The properties of a frame for a queue, from its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Its flow: the [`FlowIdentity::key`] of what [`identify`] finds.
    pub key: FlowKey,
    /// The byte of its IP header that has the DSCP (RFC 2474) and the ECN codepoint (RFC 3168); 0 without one.
    pub traffic_class: u8,
    /// Where in the frame its IP header begins; `None` without a readable one.
    pub ip_at: Option<u16>,
    /// Whether the frame ends before all that tells its flow: its headers were cut off, and it is taken for a packet of
    /// a flow that has less of them.
    pub incomplete: bool,
    /// Whether the frame may carry IP behind headers that are not read, or encrypted.
    pub opaque: bool,
}

impl Headers {
    /// Its ECN codepoint.
    #[must_use]
    pub const fn ecn(&self) -> Ecn {
        Ecn::of_traffic_class(self.traffic_class)
    }

    /// Its traffic class: the DSCP.
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.traffic_class >> 2
    }
}

/// How the frames of an interface begin. The numbers are those of the registry of link types that pcap and pcapng
/// share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// LINKTYPE_ETHERNET.
    Ethernet,
    /// LINKTYPE_LINUX_SLL: a made-up header of 16 bytes, the last two of which are the EtherType.
    LinuxCooked,
    /// LINKTYPE_LINUX_SLL2: 20 bytes, the first two of which are the EtherType.
    LinuxCooked2,
    /// LINKTYPE_RAW, LINKTYPE_IPV4, LINKTYPE_IPV6, and the numbers of LINKTYPE_RAW on BSD systems.
    RawIp,
    /// LINKTYPE_NULL and LINKTYPE_LOOP: four bytes, then IP.
    Loopback,
    /// LINKTYPE_PPP: PPP, with address and control field or without.
    Ppp,
    /// LINKTYPE_PPP_HDLC: PPP or Cisco's HDLC on a serial line.
    PppSerial,
    /// LINKTYPE_PPP_ETHER: a PPPoE session header, then PPP.
    PppoeSession,
    /// LINKTYPE_C_HDLC: four bytes, the last two of which are the EtherType.
    CiscoHdlc,
    /// LINKTYPE_IEEE802_11: a frame of IEEE 802.11.
    Wifi,
    /// LINKTYPE_IEEE802_11_RADIOTAP: the same behind a header about its reception.
    Radiotap,
}

impl LinkType {
    /// The link type of that number, if it is one that is read.
    #[must_use]
    pub const fn from_number(number: u16) -> Option<Self> {
        match number {
            1 => Some(Self::Ethernet),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            101 | 228 | 229 | 12 | 14 => Some(Self::RawIp),
            0 | 108 => Some(Self::Loopback),
            9 => Some(Self::Ppp),
            50 => Some(Self::PppSerial),
            51 => Some(Self::PppoeSession),
            104 => Some(Self::CiscoHdlc),
            105 => Some(Self::Wifi),
            127 => Some(Self::Radiotap),
            _ => None,
        }
    }
}

/// Reads the headers of a frame, of which the end may be cut off. An unreadable header leaves the packet in the flow of
/// its EtherType.
#[must_use]
#[inline]
pub fn dissect(link_type: LinkType, frame: &[u8]) -> Headers {
    let plain = if link_type == LinkType::Ethernet { plain::headers(frame) } else { None };
    plain.unwrap_or_else(|| read(link_type, frame).1)
}

/// The flow of a frame.
#[must_use]
pub fn identify(link_type: LinkType, frame: &[u8]) -> FlowIdentity {
    read(link_type, frame).0
}

/// The flow and the headers of any frame.
#[must_use]
#[inline(never)]
pub(crate) fn read(link_type: LinkType, frame: &[u8]) -> (FlowIdentity, Headers) {
    match carried(link_type, frame) {
        Carried::Ip { ether_type, at } => {
            let packet = LaxSlicedPacket::from_ether_type(EtherType(ether_type), frame.get(at..).unwrap_or_default());
            network_headers(frame, &packet, ether_type)
        }
        Carried::Other { ether_type, why } => without_ip(ether_type, why),
    }
}

fn without_ip(ether_type: u16, why: Unseen) -> (FlowIdentity, Headers) {
    // IEEE 802.3, clause 3.2.6: below 1536 the field is a length.
    let ether_type = if ether_type < 0x0600 { 0 } else { ether_type };
    let flow = FlowIdentity::NotIp { ether_type };
    let (incomplete, opaque) = (why == Unseen::Cut, why == Unseen::Opaque);
    (flow, Headers { key: flow.key(), traffic_class: 0, ip_at: None, incomplete, opaque })
}

fn network_headers(frame: &[u8], packet: &LaxSlicedPacket<'_>, ether_type: u16) -> (FlowIdentity, Headers) {
    let (source, destination, traffic_class, payload, ip_header) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let traffic_class = header.dcp().value() << 2 | header.ecn().value();
            (header.source_addr().into(), header.destination_addr().into(), traffic_class, ip.payload(), header.slice())
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let (source, destination) = (header.source_addr().into(), header.destination_addr().into());
            (source, destination, header.traffic_class(), ip.payload(), header.slice())
        }
        Some(LaxNetSlice::Arp(_)) | None => return without_ip(ether_type, Unseen::Cut),
    };
    let protocol = payload.ip_number.0;
    let with_ports = !payload.fragmented && has_ports(payload.ip_number);
    let ports = if with_ports { ports(payload.payload) } else { None };
    // An extension header that could not be read hides what follows it.
    let hidden = payload.ip_number.is_ipv6_ext_header_value() && !payload.fragmented;
    let flow = match ports {
        Some((source_port, destination_port)) => FlowIdentity::Ports {
            protocol,
            source: SocketAddr::new(source, source_port),
            destination: SocketAddr::new(destination, destination_port),
        },
        None => FlowIdentity::Addresses { protocol, source, destination },
    };
    let headers = Headers {
        key: flow.key(),
        traffic_class,
        ip_at: u16::try_from(ip_header.as_ptr().addr() - frame.as_ptr().addr()).ok(),
        incomplete: (with_ports && ports.is_none()) || hidden,
        opaque: false,
    };
    (flow, headers)
}

const fn has_ports(protocol: IpNumber) -> bool {
    matches!(protocol, ip_number::TCP | ip_number::UDP | ip_number::UDP_LITE | ip_number::SCTP | ip_number::DCCP)
}

/// The ports, which all of these protocols have in their first four bytes: they are there even where the snaplen cuts
/// the rest of the header.
fn ports(payload: &[u8]) -> Option<(u16, u16)> {
    match payload {
        [a, b, c, d, ..] => Some((u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d]))),
        _ => None,
    }
}

/// Sets the ECN codepoint of the IP header at `ip_at` ([`Headers::ip_at`]) to CE (RFC 3168, section 5).
pub fn mark_ce(frame: &mut [u8], ip_at: u16) {
    change_traffic_class(frame, ip_at, |traffic_class| traffic_class | 0b11);
}

/// Sets the DSCP of the IP header at `ip_at` to `class` (RFC 2474, section 3).
pub fn set_class(frame: &mut [u8], ip_at: u16, class: u8) {
    change_traffic_class(frame, ip_at, |traffic_class| class << 2 | traffic_class & 0b11);
}

/// Changes the byte of an IP header that has DSCP and ECN. An IPv4 header's checksum is updated by the difference (RFC
/// 1624, equation 3), so a wrong checksum stays wrong.
fn change_traffic_class(frame: &mut [u8], ip_at: u16, change: impl Fn(u8) -> u8) {
    let Some(header) = frame.get_mut(usize::from(ip_at)..) else { return };
    match header {
        [first, second, ..] if *first >> 4 == 6 => {
            let changed = change(*first << 4 | *second >> 4);
            (*first, *second) = (*first & 0xf0 | changed >> 4, changed << 4 | *second & 0x0f);
        }
        [first, tos, _, _, _, _, _, _, _, _, high, low, ..] if *first >> 4 == 4 && *tos != change(*tos) => {
            let word = |tos| u32::from(u16::from_be_bytes([*first, tos]));
            let checksum = u32::from(u16::from_be_bytes([*high, *low]));
            let mut sum = (!checksum & 0xffff) + (!word(*tos) & 0xffff) + word(change(*tos));
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            *tos = change(*tos);
            [*high, *low] = (!(sum as u16)).to_be_bytes();
        }
        _ => {}
    }
}
