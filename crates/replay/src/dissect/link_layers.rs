//! The headers between the start of a frame and its IP header: link layers, tags, labels and tunnels of layer 2.
//!
//! Each header is one [`step`]. A step reads only the bytes that it has checked for, and its caller stops after
//! [`MOST_HEADERS`] of them.
//!
//! Sources: IEEE 802.1Q (tags), 802.1AE (MACsec), 802.1ah (PBB), 802.1BR (E-TAG), 802.1CB (R-TAG), 802.2 (LLC), 802.11;
//! RFC 1042 (SNAP). RFC 1661 and 1662 (PPP), RFC 2516 (PPPoE), RFC 3032 and 4385 (MPLS, pseudowires), RFC 4928 (how
//! routers detect the payload of MPLS); <https://www.radiotap.org>.

use super::{IpNumber, LinkType, ether_type};

/// No real frame has more headers before IP.
const MOST_HEADERS: usize = 32;

const IPV4: u16 = ether_type::IPV4.0;
const IPV6: u16 = ether_type::IPV6.0;
const PPPOE_SESSION: u16 = 0x8864;

/// The payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// IP, from a byte of the frame on.
    Ip { ether_type: u16, at: usize },
    /// No IP that can be seen, with the EtherType read last (0: none).
    Other { ether_type: u16, why: Unseen },
}

/// Why no IP header can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// The frame ends before it.
    Cut,
    /// The frame carries something that is not IP: ARP, spanning tree, a beacon.
    NotIp,
    /// The frame may carry IP behind something that is not read: encryption, an unknown EtherType.
    Opaque,
}

/// The header that comes next.
#[derive(Clone, Copy, Debug)]
enum Header {
    Ethernet,
    /// After this EtherType.
    EtherType(u16),
    Llc,
    Ppp,
    CiscoHdlc,
    Mpls,
    Radiotap,
    /// With padding to 4 bytes after it, or without.
    Wifi {
        padded: bool,
    },
    /// IP of the version that its first bits have.
    Ip,
}

/// Finds out what a frame carries.
pub(super) fn carried(link_type: LinkType, frame: &[u8]) -> Carried {
    let (mut header, mut at) = match link_type {
        LinkType::Ethernet => (Header::Ethernet, 0),
        LinkType::LinuxCooked => (ether_type_at(frame, 14), 16),
        LinkType::LinuxCooked2 => (ether_type_at(frame, 0), 20),
        LinkType::RawIp => (Header::Ip, 0),
        LinkType::Loopback => (Header::Ip, 4),
        LinkType::Ppp => (Header::Ppp, 0),
        LinkType::PppSerial if matches!(frame.first(), Some(0x0f | 0x8f)) => (Header::CiscoHdlc, 0),
        LinkType::PppSerial => (Header::Ppp, 0),
        LinkType::PppoeSession => (Header::EtherType(PPPOE_SESSION), 0),
        LinkType::CiscoHdlc => (Header::CiscoHdlc, 0),
        LinkType::Wifi => (Header::Wifi { padded: false }, 0),
        LinkType::Radiotap => (Header::Radiotap, 0),
    };
    let mut ether_type = 0;
    for _ in 0..MOST_HEADERS {
        let Some(rest) = frame.get(at..) else { return Carried::Other { ether_type, why: Unseen::Cut } };
        if let Header::EtherType(found) = header {
            ether_type = found;
            if matches!(found, IPV4 | IPV6) {
                return Carried::Ip { ether_type, at };
            }
        }
        match step(header, rest) {
            Ok((next, bytes)) => (header, at) = (next, at + bytes),
            Err(why) => return Carried::Other { ether_type, why },
        }
    }
    Carried::Other { ether_type, why: Unseen::Opaque }
}

/// The bytes in front of a frame that its receiver has added, which were not on the wire.
pub(crate) fn added_bytes(link_type: LinkType, frame: &[u8]) -> u32 {
    match link_type {
        LinkType::Radiotap => radiotap_bytes(frame).map_or(0, |bytes| bytes as u32),
        _ => 0,
    }
}

/// Reads one header at the start of `rest`: the header after it, and the number of bytes to it.
fn step(header: Header, rest: &[u8]) -> Result<(Header, usize), Unseen> {
    match header {
        Header::Ethernet => after_ether_type(rest, 12),
        Header::EtherType(ether_type) => behind(ether_type, rest),
        Header::Llc => llc(rest),
        Header::Ppp => ppp(rest),
        Header::CiscoHdlc => after_ether_type(rest, 2),
        Header::Mpls => mpls(rest),
        Header::Radiotap => radiotap(rest),
        Header::Wifi { padded } => wifi(rest, padded),
        Header::Ip => match rest.first().ok_or(Unseen::Cut)? >> 4 {
            4 => Ok((Header::EtherType(IPV4), 0)),
            6 => Ok((Header::EtherType(IPV6), 0)),
            _ => Err(Unseen::Opaque),
        },
    }
}

/// The data behind an EtherType other than IP's.
fn behind(ether_type: u16, rest: &[u8]) -> Result<(Header, usize), Unseen> {
    match ether_type {
        // IEEE 802.3, clause 3.2.6: below 1536 the field is a length.
        0..0x0600 => Ok((Header::Llc, 0)),
        // VLAN tags: 802.1Q, 802.1ad, and two that vendors used before it.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => after_ether_type(rest, 2),
        0x88e5 => macsec(rest),
        // The I-TAG, behind which a whole frame follows.
        0x88e7 => Ok((Header::Ethernet, 4)),
        // Cisco metadata: version, length, option, security group tag.
        0x8909 => after_ether_type(rest, 6),
        // A VN-Tag or an R-TAG, and an E-TAG.
        0x8926 | 0xf1c1 => after_ether_type(rest, 4),
        0x893f => after_ether_type(rest, 6),
        0x8847 | 0x8848 => Ok((Header::Mpls, 0)),
        0x880b => Ok((Header::Ppp, 0)),
        PPPOE_SESSION => Ok((Header::Ppp, 6)),
        _ if carries_no_ip(ether_type) => Err(Unseen::NotIp),
        _ => Err(Unseen::Opaque),
    }
}

/// Protocols that never carry IP: address resolution, the control of links, bridges and clocks.
pub(crate) const fn carries_no_ip(ether_type: u16) -> bool {
    matches!(
        ether_type,
        // ARP, RARP, Wake-on-LAN, Cisco's discovery over HDLC
        0x0806 | 0x8035 | 0x0842 | 0x2000
        // PAUSE, LACP, PPPoE discovery, EAPOL, LLDP, MRP and MVRP
        | 0x8808 | 0x8809 | 0x8863 | 0x888e | 0x88cc | 0x88e3 | 0x88f5 | 0x88f6
        // PTP, connectivity fault management, FCoE initialization, loopback
        | 0x88f7 | 0x8902 | 0x8914 | 0x9000
    )
}

/// A header that ends with an EtherType at `at`.
fn after_ether_type(rest: &[u8], at: usize) -> Result<(Header, usize), Unseen> {
    Ok((Header::EtherType(word(rest, at).ok_or(Unseen::Cut)?), at + 2))
}

/// The EtherType in the header of a link type; of a frame that is too short for it, the payload is missing too.
fn ether_type_at(frame: &[u8], at: usize) -> Header {
    word(frame, at).map_or(Header::Ip, Header::EtherType)
}

/// IEEE 802.1AE, clause 9: the payload is readable unless it is encrypted (E) or changed (C).
fn macsec(rest: &[u8]) -> Result<(Header, usize), Unseen> {
    let control = rest.first().ok_or(Unseen::Cut)?;
    if control & 0b1000_1100 != 0 {
        return Err(Unseen::Opaque);
    }
    let with_channel_identifier = control & 0b0010_0000 != 0;
    after_ether_type(rest, if with_channel_identifier { 14 } else { 6 })
}

/// IEEE 802.2, and RFC 1042 for SNAP.
fn llc(rest: &[u8]) -> Result<(Header, usize), Unseen> {
    match *rest.first_chunk().ok_or(Unseen::Cut)? {
        [0xaa, 0xaa, 0x03] => match *rest.get(3..6).and_then(|oui| oui.first_chunk()).ok_or(Unseen::Cut)? {
            // Encapsulated Ethernet, and the bridge tunnel of IEEE 802.1H.
            [0, 0, 0] | [0, 0, 0xf8] => after_ether_type(rest, 6),
            // Cisco's protocols between switches.
            [0, 0, 0x0c] => Err(Unseen::NotIp),
            _ => Err(Unseen::Opaque),
        },
        [0x06, 0x06, 0x03] => Ok((Header::Ip, 3)),
        // Spanning tree, IPX in three forms, ISO (IS-IS), NetBIOS.
        [0x42 | 0xe0 | 0xff | 0x10 | 0xfe | 0xf0, _, _] => Err(Unseen::NotIp),
        _ => Err(Unseen::Opaque),
    }
}

/// RFC 1661, section 2, with the address and control fields of RFC 1662 or without.
fn ppp(rest: &[u8]) -> Result<(Header, usize), Unseen> {
    let at = if rest.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
    let first = *rest.get(at).ok_or(Unseen::Cut)?;
    // Section 6.5: a compressed protocol field is one odd byte.
    let (protocol, bytes) =
        if first & 1 == 1 { (u16::from(first), 1) } else { (word(rest, at).ok_or(Unseen::Cut)?, 2) };
    let next = match protocol {
        0x0021 => Header::EtherType(IPV4),
        0x0057 => Header::EtherType(IPV6),
        0x0281 | 0x0283 => Header::Mpls,
        // Network and link control, authentication.
        0x8000.. => return Err(Unseen::NotIp),
        _ => return Err(Unseen::Opaque),
    };
    Ok((next, at + bytes))
}

/// One entry of a label stack (RFC 3032, section 2.1). After the last, only the bytes themselves show what follows.
fn mpls(rest: &[u8]) -> Result<(Header, usize), Unseen> {
    let entry = u32::from_be_bytes(*rest.first_chunk().ok_or(Unseen::Cut)?);
    if entry & 0x100 == 0 {
        return Ok((Header::Mpls, 4));
    }
    let payload = &rest[4..];
    let first = *payload.first().ok_or(Unseen::Cut)?;
    match (entry >> 12, first >> 4) {
        // Explicit null labels name what follows.
        (0, _) => Ok((Header::EtherType(IPV4), 4)),
        (2, _) => Ok((Header::EtherType(IPV6), 4)),
        (_, 4) if is_ipv4(payload) => Ok((Header::EtherType(IPV4), 4)),
        (_, 6) if is_ipv6(payload) || !is_ethernet(payload) => Ok((Header::EtherType(IPV6), 4)),
        // RFC 4385: the control word of a pseudowire begins with 0, its management channel with 1.
        (_, 0) if payload.get(4..).is_some_and(is_ethernet) => Ok((Header::Ethernet, 8)),
        (_, 1) if !is_ethernet(payload) => Err(Unseen::NotIp),
        _ if is_ethernet(payload) => Ok((Header::Ethernet, 4)),
        _ => Err(Unseen::Opaque),
    }
}

/// Whether these bytes, which begin with a 4, are an IPv4 header: its checksum holds (RFC 791), or it is cut off.
fn is_ipv4(bytes: &[u8]) -> bool {
    let header_bytes = usize::from(bytes[0] & 0xf) * 4;
    let Some(header) = bytes.get(..header_bytes) else { return true };
    let sum: u32 = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    header_bytes >= 20 && (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// Whether these bytes, which begin with a 6, are an IPv6 header and the payload that it announces.
fn is_ipv6(bytes: &[u8]) -> bool {
    let (Some(payload_bytes), Some(&next)) = (word(bytes, 4), bytes.get(6)) else { return true };
    let next = IpNumber(next);
    let is_known = next.keyword_str().is_some() || next.is_ipv6_ext_header_value();
    is_known && usize::from(payload_bytes) + 40 <= bytes.len()
}

/// Whether these bytes are a frame whose EtherType is one of those that commonly lead to IP.
fn is_ethernet(bytes: &[u8]) -> bool {
    let common = [IPV4, IPV6, 0x0806, 0x8100, 0x88a8, 0x8847, 0x8848, PPPOE_SESSION, 0x88e5, 0x88e7];
    word(bytes, 12).is_some_and(|ether_type| common.contains(&ether_type))
}

fn radiotap(rest: &[u8]) -> Result<(Header, usize), Unseen> {
    let bytes = radiotap_bytes(rest).ok_or(Unseen::Cut)?;
    Ok((Header::Wifi { padded: is_padded(&rest[..bytes]).unwrap_or(false) }, bytes))
}

/// The length of the radiotap header; `None` of one that is cut off, or of an unknown version.
fn radiotap_bytes(rest: &[u8]) -> Option<usize> {
    let [0, _, low, high, ..] = *rest else { return None };
    let bytes = usize::from(u16::from_le_bytes([low, high]));
    (8..=rest.len()).contains(&bytes).then_some(bytes)
}

/// Whether a radiotap header says that the 802.11 header is padded to a multiple of 4 bytes.
fn is_padded(header: &[u8]) -> Option<bool> {
    let present = |at: usize| header.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    let first = present(4)?;
    let mut at = 8;
    let mut more = first;
    while more >> 31 == 1 {
        more = present(at)?;
        at += 4;
    }
    // Bit 0 is a timestamp of 8 bytes, aligned; bit 1 the flags, of which 0x20 is the padding.
    if first & 1 == 1 {
        at = at.next_multiple_of(8) + 8;
    }
    Some(first & 2 == 2 && header.get(at)? & 0x20 != 0)
}

/// IEEE 802.11, clause 9.3.2: a data frame, up to its LLC header.
fn wifi(rest: &[u8], padded: bool) -> Result<(Header, usize), Unseen> {
    let [control, flags] = *rest.first_chunk().ok_or(Unseen::Cut)?;
    let (kind, subtype) = (control >> 2 & 0b11, control >> 4);
    // Management and control, and data frames without data.
    if kind != 2 || subtype & 0b0100 != 0 {
        return Err(Unseen::NotIp);
    }
    let fragment = rest.get(22).ok_or(Unseen::Cut)? & 0xf;
    let is_protected = flags & 0x40 != 0;
    if control & 0b11 != 0 || is_protected || fragment != 0 {
        return Err(Unseen::Opaque);
    }
    let mut bytes = if flags & 0b11 == 0b11 { 30 } else { 24 };
    let mut is_aggregated = false;
    if subtype & 0b1000 != 0 {
        is_aggregated = rest.get(bytes).ok_or(Unseen::Cut)? & 0x80 != 0;
        // The QoS control field, and the HT control field if the order bit announces it.
        bytes += if flags & 0x80 != 0 { 6 } else { 2 };
    }
    if padded {
        bytes = bytes.next_multiple_of(4);
    }
    // An A-MSDU begins with the addresses and the length of its first frame.
    Ok((Header::Llc, if is_aggregated { bytes + 14 } else { bytes }))
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_be_bytes(*word))
}

#[cfg(test)]
#[path = "link_layers_tests.rs"]
mod tests;
