//! Frames of every encapsulation, made by hand.

use etherparse::PacketBuilder;
use proptest::prelude::*;

use super::super::{FlowIdentity, dissect, read};
use super::*;

const ADDRESSES: [u8; 12] = [0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2];
const FLOW: &str = "UDP 192.0.2.1:5 > 198.51.100.9:6";
const FLOW_IPV6: &str = "UDP [2020:2020:2020:2020:2020:2020:2020:2020]:5 > [3030:3030:3030:3030:3030:3030:3030:3030]:6";

fn ipv4() -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([192, 0, 2, 1], [198, 51, 100, 9], 64).udp(5, 6);
    builder.write(&mut packet, &[0; 40]).unwrap();
    packet
}

fn ipv6() -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6([0x20; 16], [0x30; 16], 64).udp(5, 6).write(&mut packet, &[0; 40]).unwrap();
    packet
}

fn ethernet(parts: &[&[u8]]) -> Vec<u8> {
    [&ADDRESSES[..], &parts.concat()].concat()
}

fn flow(link_type: LinkType, frame: &[u8]) -> String {
    read(link_type, frame).0.to_string()
}

/// A radiotap header of that many bytes, with a timestamp and these flags.
fn radiotap_of(bytes: u8, flags: u8) -> Vec<u8> {
    let mut header = vec![0, 0, bytes, 0, 0b11, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, flags];
    header.resize(bytes.into(), 0);
    header
}

/// An 802.11 data frame up to its LLC header: frame control, addresses and the fields after them.
fn wifi_of(control: u8, flags: u8, more: &[u8]) -> Vec<u8> {
    [&[control, flags][..], &[0; 22], more].concat()
}

const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// Frames of each encapsulation around an IPv4 packet, by name.
pub(crate) fn encapsulated(ip: &[u8]) -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let ethernet_of = |parts: &[&[u8]]| ethernet(&[&parts.concat(), ip]);
    let length = (ip.len() as u16 + 8).to_be_bytes();
    let inner = ethernet(&[&[8, 0], ip]);
    let label = [0, 0x06, 0x40, 0x40];
    let bottom = [0, 0x06, 0x41, 0x40];
    let on_ethernet = [
        ("plain", ethernet_of(&[&[8, 0]])),
        ("VLAN stack", ethernet_of(&[&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x91, 0, 0, 3, 0x81, 0, 0, 4, 8, 0]])),
        ("PPPoE", ethernet_of(&[&[0x88, 0x64, 0x11, 0, 0, 7, 0, 70, 0, 0x21]])),
        ("PPPoE in a VLAN", ethernet_of(&[&[0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 7, 0, 70, 0, 0x21]])),
        ("MPLS", ethernet_of(&[&[0x88, 0x47], &bottom])),
        ("MPLS label stack", ethernet_of(&[&[0x88, 0x48], &label, &label, &bottom])),
        ("MPLS explicit null", ethernet_of(&[&[0x88, 0x47, 0, 0, 1, 64]])),
        ("MPLS pseudowire", ethernet(&[&[0x88, 0x47], &bottom, &inner])),
        ("MPLS pseudowire with control word", ethernet(&[&[0x88, 0x47], &bottom, &[0, 0, 0, 9], &inner])),
        ("PBB", ethernet(&[&[0x88, 0xa8, 0, 5, 0x88, 0xe7, 0, 0, 0, 100], &inner])),
        ("Cisco metadata", ethernet_of(&[&[0x89, 0x09, 1, 1, 0, 1, 0, 5, 8, 0]])),
        ("VN-Tag", ethernet_of(&[&[0x89, 0x26, 0, 0, 0, 1, 8, 0]])),
        ("E-TAG", ethernet_of(&[&[0x89, 0x3f, 0, 0, 0, 1, 0, 0, 8, 0]])),
        ("R-TAG", ethernet_of(&[&[0xf1, 0xc1, 0, 0, 0, 1, 8, 0]])),
        ("MACsec", ethernet_of(&[&[0x88, 0xe5, 0, 0, 0, 0, 0, 1, 8, 0]])),
        ("MACsec with channel", ethernet_of(&[&[0x88, 0xe5, 0x20, 0, 0, 0, 0, 1], &[7; 8], &[8, 0]])),
        ("LLC and SNAP", ethernet_of(&[&length, &SNAP])),
        ("LLC without SNAP", ethernet_of(&[&length, &[6, 6, 3]])),
    ];
    let on_links: [(_, _, Vec<&[u8]>); 13] = [
        ("PPP", LinkType::Ppp, vec![&[0, 0x21]]),
        ("PPP with address", LinkType::Ppp, vec![&[0xff, 3, 0, 0x21]]),
        ("PPP, compressed", LinkType::Ppp, vec![&[0x21]]),
        ("MPLS over PPP", LinkType::PppSerial, vec![&[0xff, 3, 2, 0x81], &bottom]),
        ("Cisco HDLC", LinkType::PppSerial, vec![&[0x0f, 0, 8, 0]]),
        ("Cisco HDLC alone", LinkType::CiscoHdlc, vec![&[0x8f, 0, 8, 0]]),
        ("PPPoE alone", LinkType::PppoeSession, vec![&[0x11, 0, 0, 7, 0, 70, 0, 0x21]]),
        ("802.11", LinkType::Wifi, vec![&[0x08, 1], &[0; 22], &SNAP]),
        ("802.11 between bridges", LinkType::Wifi, vec![&[0x08, 3], &[0; 28], &SNAP]),
        ("802.11 QoS", LinkType::Wifi, vec![&[0x88, 1], &[0; 24], &SNAP]),
        ("802.11 A-MSDU", LinkType::Wifi, vec![&[0x88, 1], &[0; 22], &[0x80, 0], &[0; 14], &SNAP]),
        ("802.11 HT", LinkType::Wifi, vec![&[0x88, 0x81], &[0; 28], &SNAP]),
        ("LLC on a cooked link", LinkType::LinuxCooked, vec![&[0; 14], &[0, 4], &SNAP]),
    ];
    let radio = [
        ("radiotap", [radiotap_of(18, 0), wifi_of(0x08, 1, &SNAP), ip.to_vec()].concat()),
        (
            "radiotap with padding",
            [radiotap_of(18, 0x20), wifi_of(0x88, 1, &[0; 4]), SNAP.to_vec(), ip.to_vec()].concat(),
        ),
    ];
    let mut all: Vec<_> = on_ethernet.into_iter().map(|(name, frame)| (name, LinkType::Ethernet, frame)).collect();
    all.extend(on_links.into_iter().map(|(name, link, parts)| (name, link, [&parts.concat(), ip].concat())));
    all.extend(radio.into_iter().map(|(name, frame)| (name, LinkType::Radiotap, frame)));
    all
}

#[test]
fn every_encapsulation_shows_its_flow_and_where_ip_begins() {
    let ip = ipv4();
    for (name, link_type, frame) in encapsulated(&ip) {
        let (identity, headers) = read(link_type, &frame);
        assert_eq!(identity.to_string(), FLOW, "{name}");
        let at = usize::from(headers.ip_at.unwrap());
        assert_eq!(&frame[at..], ip, "{name}");
        assert_eq!((headers.key, headers.opaque, headers.incomplete), (identity.key(), false, false), "{name}");
        assert_eq!(dissect(link_type, &frame), headers, "{name}");
    }
}

#[test]
fn ipv6_is_found_behind_labels_and_ppp() {
    let ip = ipv6();
    let bottom = [0, 0x06, 0x41, 0x40];
    for parts in [
        vec![&[0x88, 0x47][..], &bottom],
        vec![&[0x88, 0x47, 0, 0, 0x21, 64]],
        vec![&[0x88, 0x64, 0x11, 0, 0, 7, 0, 90, 0, 0x57]],
    ] {
        assert_eq!(flow(LinkType::Ethernet, &ethernet(&[&parts.concat(), &ip])), FLOW_IPV6, "{parts:x?}");
    }
}

#[test]
fn a_pseudowire_whose_address_looks_like_ip_is_ethernet() {
    let inner = [&[0x45, 0, 0, 30, 0, 1][..], &ADDRESSES[6..], &[8, 0], &ipv4()].concat();
    assert_eq!(flow(LinkType::Ethernet, &ethernet(&[&[0x88, 0x47, 0, 6, 0x41, 64], &inner])), FLOW);
    let inner = [&[0x60, 0, 0, 0, 0xff, 1][..], &ADDRESSES[6..], &[8, 0], &ipv4()].concat();
    assert_eq!(flow(LinkType::Ethernet, &ethernet(&[&[0x88, 0x47, 0, 6, 0x41, 64], &inner])), FLOW);
}

/// Why no IP can be seen in an Ethernet frame of these bytes behind its addresses.
fn unseen(parts: &[&[u8]]) -> Unseen {
    match carried(LinkType::Ethernet, &ethernet(parts)) {
        Carried::Other { why, .. } => why,
        found => panic!("{found:?}"),
    }
}

#[test]
fn what_cannot_carry_ip_is_not_opaque() {
    for not_ip in [
        &[0x08, 0x06, 0, 1][..],                                  // ARP
        &[0x88, 0xcc, 2, 7],                                      // LLDP
        &[0x81, 0, 0, 1, 0x88, 0x08, 0, 1],                       // PAUSE
        &[0, 38, 0x42, 0x42, 3, 0, 0],                            // spanning tree
        &[0, 38, 0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0],             // CDP
        &[0x88, 0x63, 0x11, 9, 0, 0, 0, 4],                       // PPPoE discovery
        &[0x88, 0x64, 0x11, 0, 0, 7, 0, 4, 0xc0, 0x21],           // LCP in a session
        &[0x88, 0x47, 0, 6, 0x41, 64, 0x10, 0, 0, 7, 0, 0, 0, 0], // channel of a pseudowire
    ] {
        assert_eq!(unseen(&[not_ip, &[0; 40]]), Unseen::NotIp, "{not_ip:x?}");
    }
    for opaque in [
        &[0x88, 0xb5, 0, 1][..],                     // local experiments
        &[0x88, 0xe5, 0x0c, 0, 0, 0, 0, 1],          // MACsec, encrypted
        &[0x88, 0x64, 0x11, 0, 0, 7, 0, 4, 0, 0xfd], // compressed PPP
        &[0x88, 0x47, 0, 6, 0x41, 64, 0xf0],
        &[0, 38, 0, 0, 0],
    ] {
        assert_eq!(unseen(&[opaque, &[0; 40]]), Unseen::Opaque, "{opaque:x?}");
    }
    assert_eq!(unseen(&[&[0x81, 0, 0]]), Unseen::Cut);
    let wifi = |control, flags| carried(LinkType::Wifi, &wifi_of(control, flags, &[0; 40]));
    let why = |found| matches!(found, Carried::Other { why, .. } if why == Unseen::NotIp);
    assert!(why(wifi(0x80, 0)) && why(wifi(0xd4, 0)) && why(wifi(0x48, 1)), "beacon, acknowledgement, no data");
    assert_eq!(wifi(0x88, 0x41), Carried::Other { ether_type: 0, why: Unseen::Opaque });
}

#[test]
fn a_frame_that_ends_before_ip_is_cut() {
    let ip = ipv4();
    for (name, link_type, frame) in encapsulated(&ip) {
        for length in 0..frame.len() - ip.len() {
            let (identity, headers) = read(link_type, &frame[..length]);
            // An 802.11 frame without its QoS field, and a label without a payload, have nothing that looks like IP.
            assert!(matches!(identity, FlowIdentity::NotIp { .. }), "{name}, {length} bytes");
            assert!(headers.incomplete || headers.opaque, "{name}, {length} bytes");
        }
    }
}

#[test]
fn stacks_without_end_are_given_up() {
    let tags = [0x81, 0, 0, 1].repeat(1_000);
    assert_eq!(unseen(&[&tags]), Unseen::Opaque);
    let labels = [&[0x88, 0x47][..], &[0; 4_000]].concat();
    assert_eq!(unseen(&[&labels]), Unseen::Opaque);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, ..ProptestConfig::default() })]

    #[test]
    fn changed_and_cut_frames_are_read_without_a_panic(
        which in 0_usize..33,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        kept in any::<prop::sample::Index>(),
    ) {
        let (_, link_type, mut frame) = encapsulated(&ipv4()).swap_remove(which);
        for (at, byte) in changes {
            let at = at.index(frame.len());
            frame[at] = byte;
        }
        frame.truncate(kept.index(frame.len() + 1));
        let (identity, headers) = read(link_type, &frame);
        prop_assert_eq!(headers.key, identity.key());
        prop_assert!(headers.ip_at.is_none_or(|at| usize::from(at) < frame.len()));
        prop_assert!(added_bytes(link_type, &frame) as usize <= frame.len());
    }
}
