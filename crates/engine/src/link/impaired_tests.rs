//! Impairments of a link by themselves.

use forebay_qdisc::Ecn;
use forebay_records::random::stream;

use super::*;
use crate::driver::inbox::Arrivals;
use crate::driver::routes::Routes;
use crate::driver::ties::Salts;
use crate::observe::interval::MeasuredInterval;
use crate::packet::PacketFields;
use crate::packet::side_tables::SideTables;
use crate::spec::LossModel;

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(milliseconds)
}

/// Passes a packet each millisecond, whose transmission takes none of it; returns their numbers and times of arrival in
/// milliseconds, in the order of these.
fn arrivals(spec: Impairments, packets: u32) -> (Impaired, Vec<(u32, f64)>) {
    let measured = MeasuredInterval { from: Time::ZERO, to: ms(1_000_000_000) };
    let salts = Salts::new(std::iter::once(1));
    let arrivals = [Arrivals::AnyOrder(salts)];
    let mut channels = Channels::new(Routes::default(), &arrivals, 40, SideTables::default(), measured);
    let mut impaired = Impaired::new(spec, 1000, stream(1, "impairments"));
    for number in 0..packets {
        let time = ms(u64::from(number));
        let fields =
            PacketFields { time, stamp: 0, number, flow: 0, len_bytes: 100, flags: 0, class: 0, ecn: Ecn::NotCapable };
        impaired.pass(Packet::new(fields), (time, time), Way::to(0), &mut channels);
    }
    let arrived = channels.take(0, Time::NEVER);
    let arrived = arrived.iter().map(|packet| (packet.number(), packet.time.seconds() * 1e3)).collect();
    (impaired, arrived)
}

fn uniform_jitter(low_ms: f64, high_ms: f64, correlation: f64) -> Option<Jitter> {
    Some(Jitter { distribution: Distribution::Uniform(low_ms * 1e9, high_ms * 1e9), correlation })
}

#[test]
fn a_packet_overtakes_the_one_before_it_as_often_as_the_closed_form_says() {
    // Both delays are uniform over w: the second one is more than the gap t shorter with (w - t)^2 / (2 w^2).
    for width in [2.0_f64, 5.0, 20.0] {
        let spec = Impairments {
            jitter: uniform_jitter(3.0, 3.0 + width, 0.0),
            order: PacketOrder::ByDelay,
            ..Impairments::default()
        };
        let (_, arrived) = arrivals(spec, 100_000);
        let mut times = vec![0.0; 100_000];
        for (number, time) in arrived {
            times[number as usize] = time;
        }
        let overtaken = times.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64 / 99_999.0;
        let expected = (width - 1.0) * (width - 1.0) / (2.0 * width * width);
        assert!((overtaken / expected - 1.0).abs() < 0.03, "{overtaken} instead of {expected}");
    }
}

#[test]
fn correlated_jitter_varies_less_from_packet_to_packet() {
    let step = |correlation| {
        let spec = Impairments { jitter: uniform_jitter(0.0, 10.0, correlation), ..Impairments::default() };
        let spec = Impairments { order: PacketOrder::ByDelay, ..spec };
        let (_, mut arrived) = arrivals(spec, 10_000);
        arrived.sort_by_key(|&(number, _)| number);
        let delays: Vec<f64> = arrived.iter().map(|&(number, time)| time - f64::from(number)).collect();
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
        delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>() / 9_999.0
    };
    let (independent, correlated) = (step(0.0), step(0.75));
    // The mean distance of two uniform numbers is a third of the width.
    assert!((independent - 10.0 / 3.0).abs() < 0.1, "{independent}");
    assert!(correlated < independent / 3.0, "{correlated}");
}

#[test]
fn early_packets_come_after_the_gap_and_have_no_jitter() {
    let order = PacketOrder::Early { probability: 0.5, correlation: 0.0, gap: 3 };
    let jitter = Some(Jitter { distribution: Distribution::Constant(20.5e9), correlation: 0.0 });
    let (_, mut arrived) = arrivals(Impairments { jitter, order, ..Impairments::default() }, 30_000);
    arrived.sort_by_key(|&(number, _)| number);
    let early: Vec<u32> =
        arrived.iter().filter(|&&(number, time)| time < f64::from(number) + 1.0).map(|&(number, _)| number).collect();
    assert!(early.windows(2).all(|pair| pair[1] - pair[0] >= 3));
    // Two packets that cannot be early, then two on average until one is.
    let share = early.len() as f64 / 30_000.0;
    assert!((share - 0.25).abs() < 0.01, "{share}");
}

#[test]
fn the_limit_counts_what_has_not_arrived() {
    let jitter = Some(Jitter { distribution: Distribution::Constant(10.5e9), correlation: 0.0 });
    let spec = Impairments { limit: Some(4), jitter, ..Impairments::default() };
    let (impaired, arrived) = arrivals(spec, 24);
    let numbers: Vec<u32> = arrived.iter().map(|&(number, _)| number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 11, 12, 13, 14, 22, 23]);
    assert_eq!(impaired.lost.by_reason, [0, 0, 14]);
}

#[test]
fn what_is_lost_is_counted_by_its_reason() {
    let spec = Impairments {
        outages: vec![(ms(10), ms(20)), (ms(50), ms(51))],
        chosen: vec![
            ChosenPackets { flow: 0, acks: false, numbers: vec![1, 3] },
            ChosenPackets { flow: 0, acks: true, numbers: vec![2] },
        ],
        loss: LossModel::Random { probability: 0.5, correlation: 0.0 },
        ..Impairments::default()
    };
    let (impaired, arrived) = arrivals(spec, 1000);
    // A packet at the edge is sent before the outage; one of no length within it is not.
    assert_eq!(impaired.lost.by_reason[LossReason::Outage as usize], 9);
    assert!(arrived.iter().all(|&(number, _)| number != 0 && number != 2 && !(11..20).contains(&number)));
    assert_eq!(impaired.lost.by_reason.iter().sum::<u64>() as usize + arrived.len(), 1000);
    assert_eq!(impaired.lost.all.measured() as usize + arrived.len(), 1000);
}

#[test]
fn a_shorter_delay_overtakes_only_if_asked() {
    let delays = vec![
        crate::spec::DelayStep { from: Time::ZERO, delay: Span::from_milliseconds(10) },
        crate::spec::DelayStep { from: ms(3), delay: Span::ZERO },
    ];
    let times = |order| {
        let (_, arrived) = arrivals(Impairments { delays: delays.clone(), order, ..Impairments::default() }, 15);
        arrived
    };
    let kept: Vec<u32> = times(PacketOrder::Kept).iter().map(|&(_, time)| time.round() as u32).collect();
    assert_eq!(kept, [10, 11, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 13, 14]);
    let first: Vec<u32> = times(PacketOrder::ByDelay).iter().map(|&(number, _)| number).take(3).collect();
    assert_eq!(first, [3, 4, 5]);
}
