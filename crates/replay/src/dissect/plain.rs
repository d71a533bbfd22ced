//! A fast path for the most common frames: a transport header with ports directly after an IPv4 header without options
//! or after an IPv6 header, not fragmented, with at most one VLAN tag.
//!
//! All other frames go to the general parser, which takes 40 ns longer. A property test compares the two.

use etherparse::{IpNumber, ether_type};
use forebay_qdisc::FlowKey;

use super::{Headers, has_ports, key};

/// The EtherTypes of IEEE 802.1Q and of what may follow its tag.
const TAG: u16 = ether_type::VLAN_TAGGED_FRAME.0;
const IPV4: u16 = ether_type::IPV4.0;
const IPV6: u16 = ether_type::IPV6.0;

/// Of an IPv4 header's word at byte 6, the bits that a fragment has set: more fragments, offset.
const FRAGMENT: u16 = 0x3fff;

/// The headers of such an Ethernet frame; `None` for any other.
#[inline]
pub(super) fn headers(frame: &[u8]) -> Option<Headers> {
    let (ip_at, ether_type) = match word(frame, 12)? {
        TAG => (18, word(frame, 16)?),
        ether_type => (14, ether_type),
    };
    let packet = frame.get(ip_at..)?;
    let (key, traffic_class) = match ether_type {
        IPV4 => ipv4(packet.first_chunk()?)?,
        IPV6 => ipv6(packet.first_chunk()?)?,
        _ => return None,
    };
    Some(Headers { key, traffic_class, ip_at: Some(ip_at as u16), incomplete: false, opaque: false })
}

/// The key and the traffic class of a header and the ports after it (RFC 791, section 3.1).
#[inline]
fn ipv4(packet: &[u8; 24]) -> Option<(FlowKey, u8)> {
    let number = |at| chunk(packet, at).map(u32::from_be_bytes);
    let (source, destination, ports) = (number(12)?, number(16)?, number(20)?);
    let (traffic_class, total_bytes, protocol) = (packet[1], word(packet, 2)?, packet[9]);
    let whole = word(packet, 6)? & FRAGMENT == 0 && usize::from(total_bytes) >= packet.len();
    if packet[0] != 0x45 || !whole || !has_ports(IpNumber(protocol)) {
        return None;
    }
    Some((key::ipv4(key::ports(protocol, ports), source, destination), traffic_class))
}

/// The same of IPv6 (RFC 8200, section 3).
#[inline]
fn ipv6(packet: &[u8; 44]) -> Option<(FlowKey, u8)> {
    let address = |at| chunk(packet, at).map(u128::from_be_bytes);
    let (source, destination, ports) = (address(8)?, address(24)?, u32::from_be_bytes(chunk(packet, 40)?));
    let (traffic_class, payload_bytes, protocol) = (packet[0] << 4 | packet[1] >> 4, word(packet, 4)?, packet[6]);
    if packet[0] >> 4 != 6 || payload_bytes < 4 || !has_ports(IpNumber(protocol)) {
        return None;
    }
    Some((key::ipv6(key::ports(protocol, ports), source, destination), traffic_class))
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u16> {
    chunk(bytes, at).map(u16::from_be_bytes)
}

#[inline]
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use etherparse::{PacketBuilder, VlanId};
    use proptest::prelude::*;

    use super::super::{LinkType, dissect, read};
    use super::*;

    /// Frames that take the fast path, and where their IP headers begin.
    fn plain() -> Vec<(Vec<u8>, u16)> {
        let ethernet = || PacketBuilder::ethernet2([1; 6], [2; 6]);
        let tagged = || ethernet().single_vlan(VlanId::try_new(7).unwrap());
        let mut frames = vec![(Vec::new(), 14), (Vec::new(), 14), (Vec::new(), 14), (Vec::new(), 18), (Vec::new(), 18)];
        let payload = [9; 20];
        ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5, 6).write(&mut frames[0].0, &payload).unwrap();
        ethernet().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5, 6, 1, 2).write(&mut frames[1].0, &payload).unwrap();
        ethernet().ipv6([3; 16], [4; 16], 64).udp(5, 6).write(&mut frames[2].0, &payload).unwrap();
        tagged().ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5, 6).write(&mut frames[3].0, &payload).unwrap();
        tagged().ipv6([3; 16], [4; 16], 64).tcp(5, 6, 1, 2).write(&mut frames[4].0, &payload).unwrap();
        frames
    }

    #[test]
    fn plain_frames_are_read() {
        for (frame, ip_at) in plain() {
            let found = headers(&frame).unwrap();
            assert_eq!((found.ip_at, found), (Some(ip_at), read(LinkType::Ethernet, &frame).1));
        }
    }

    #[test]
    fn a_packet_that_ends_before_its_ports_is_not_plain() {
        for (frame, ip_at) in plain() {
            // The low byte of the total length (IPv4) or of the payload's (IPv6).
            let low = usize::from(ip_at) + if frame[usize::from(ip_at)] >> 4 == 4 { 3 } else { 5 };
            for bytes in 0..60 {
                let mut frame = frame.clone();
                frame[low] = bytes;
                assert_eq!(dissect(LinkType::Ethernet, &frame), read(LinkType::Ethernet, &frame).1, "{bytes} bytes");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        /// Most changes hit the headers, so that options, fragments, tags, other protocols and wrong lengths are among
        /// the frames.
        #[test]
        fn changed_and_cut_frames_have_the_headers_that_the_general_parser_finds(
            which in 0_usize..5,
            changes in prop::collection::vec((12_usize..62, any::<u8>()), 0..4),
            bits in prop::collection::vec((12_usize..62, 0_u32..8), 0..3),
            kept in 0_usize..120,
        ) {
            let mut frame = plain().swap_remove(which).0;
            for (at, value) in changes {
                frame[at] = value;
            }
            for (at, bit) in bits {
                frame[at] ^= 1 << bit;
            }
            frame.truncate(kept);
            prop_assert_eq!(dissect(LinkType::Ethernet, &frame), read(LinkType::Ethernet, &frame).1);
        }
    }
}
