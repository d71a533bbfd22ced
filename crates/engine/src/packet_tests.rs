//! The parts of a packet do not touch each other.

use forebay_qdisc::Packet as _;

use super::*;

#[test]
fn the_parts_of_a_packet_do_not_touch_each_other() {
    for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced] {
        let mut packet = Packet::new(PacketFields {
            time: Time::ZERO,
            stamp: 9,
            number: u32::MAX - 1,
            flow: (1 << 31) - 2,
            len_bytes: u16::MAX - 3,
            flags: 0x7e,
            class: 0xfd,
            ecn,
        });
        assert!(!packet.is_trimmable() && !packet.trim(64));
        packet =
            packet.trimmable().of_generation(0x3e).arriving(Time::NEVER, 0x7f_fffc).arriving(Time::ZERO, 0x12_3456);
        assert_eq!((packet.number(), packet.flow_id()), (u32::MAX - 1, (1 << 31) - 2));
        assert_eq!((packet.len_bytes(), packet.flags(), packet.class()), (u32::from(u16::MAX) - 3, 0x7e, 0xfd));
        assert_eq!(packet.flow().0, flow_key(packet.flow_id(), packet.is_ack()).0 | 0x3e << 32);
        assert_eq!((packet.input(), packet.ecn(), packet.generation()), (0x12_3456, ecn, 0x3e));
        assert_eq!(forebay_qdisc::Packet::input_port(&packet), u16::MAX);
        forebay_qdisc::Packet::mark_ce(&mut packet);
        assert_eq!((packet.ecn(), packet.class()), (Ecn::CongestionExperienced, 0xfd));
        assert_eq!(packet.generation(), 0x3e);
        forebay_qdisc::Packet::set_class(&mut packet, 0x12);
        assert_eq!((packet.class(), packet.flags(), packet.ecn()), (0x12, 0x7e, Ecn::CongestionExperienced));
        assert_eq!((packet.len_bytes(), packet.input()), (u32::from(u16::MAX) - 3, 0x12_3456));
        assert_eq!(packet.generation(), 0x3e);
        assert!(packet.is_trimmable() && packet.trim(64) && !packet.is_trimmable() && !packet.trim(40));
        assert_eq!((packet.len_bytes(), packet.input(), packet.flags()), (64, 0x12_3456, 0x7e));
        assert_eq!((packet.number(), packet.stamp, packet.generation()), (u32::MAX - 1, 9, 0x3e));
    }
}

fn packet(flags: u8, stamp: u64, time: Time) -> Packet {
    let (len_bytes, ecn) = (1000, Ecn::NotCapable);
    Packet::new(PacketFields { time, stamp, number: 0, flow: 0, len_bytes, flags, class: 0, ecn })
}

#[test]
fn a_rate_label_leaves_the_age_alone_and_the_age_the_label() {
    let delay = Span::from_milliseconds(20);
    let wrap = 1_u64 << 54;
    for sent in [0, 1, wrap - 1, wrap, 21_600_000_000_000_000, 3 * wrap - 5, 1 << 63].map(Time::from_picoseconds) {
        let mut packet = packet(0, departure_stamp(sent), sent + delay);
        assert_eq!((packet.age(), packet.rate_label()), (delay, None));
        for code in [1, 512, 1023, 7] {
            packet.set_rate_label(RateLabel::from_code(code).unwrap());
            packet = packet.arriving(packet.time, 3);
            forebay_qdisc::Packet::mark_ce(&mut packet);
            assert_eq!((packet.age(), packet.rate_label()), (delay, RateLabel::from_code(code)));
        }
    }
    let longest = Span::from_picoseconds(wrap - 1);
    assert_eq!(packet(0, departure_stamp(Time::ZERO), Time::ZERO + longest).age(), longest);
}

#[test]
fn an_ack_carries_slot_and_timestamp() {
    assert_eq!((ack_stamp::of(0, Time::NEVER), ack_stamp::of(77, Time::NEVER)), (0, 77));
    assert_eq!(ack_stamp::echo(77, Time::from_picoseconds(5)), Time::NEVER);
    let wrap_ns = (1_u64 << 38) - 1;
    for sent_ns in [0, 1, 999, wrap_ns - 1, wrap_ns, wrap_ns + 1, 5 * wrap_ns + 12_345] {
        for age_ns in [0, 1, 50_000_000, wrap_ns - 1] {
            let sent = Time::from_picoseconds(sent_ns * 1000 + 678);
            let now = sent + Span::from_picoseconds(age_ns * 1000 + 300);
            for slot in [0, (1 << 26) - 1] {
                let stamp = ack_stamp::of(slot, sent);
                let expected = Time::from_picoseconds(sent_ns * 1000);
                assert_eq!(ack_stamp::echo(stamp, now), expected, "{sent_ns} {age_ns}");
                assert_eq!(ack_stamp::slot(stamp), slot);
            }
        }
    }
}

#[test]
fn the_stamp_of_an_ack_is_never_touched() {
    let mut ack = packet(flags::ACK, 17, Time::ZERO);
    ack.set_rate_label(RateLabel::nearest(1e6));
    assert_eq!((ack.stamp, ack.rate_label()), (17, None));
}

#[test]
fn sequence_numbers_survive_the_wrap() {
    let four_gigabytes = 1_u64 << 32;
    for number in [0, 1, 5_000, four_gigabytes - 1, four_gigabytes, four_gigabytes + 70_000, 3 * four_gigabytes] {
        for reference in [number.saturating_sub(1 << 30), number, number + (1 << 30)] {
            assert_eq!(unwrap_number(number as u32, reference), number);
        }
    }
}
