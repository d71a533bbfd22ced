//! AFD rule by rule, its equilibrium, and its timer.

use alloc::boxed::Box;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Ecn;
use crate::test_support::{LINK, Offers, Port, Source, flow_gauge, gauge};

const FORMS: [AfdForm; 2] = [AfdForm::ShadowBuffer, AfdForm::FlowTable];

fn afd(config: &AfdConfig) -> Afd {
    Afd::new(config, LINK, 0).unwrap()
}

/// Bytes sent by each source, by number from 1, after a warm-up; in Mb/s.
fn throughput(law: Afd, sources: Vec<Source>, warm_up: Span, span: Span) -> Vec<f64> {
    let flows = sources.len() as u64;
    let mut port = Port::new(Box::new(law), sources);
    port.run(Time::ZERO + warm_up, |_| {});
    port.sent_bytes.clear();
    port.run(Time::ZERO + warm_up + span, |_| {});
    let bytes = |flow| port.sent_bytes.iter().find(|(sent, _)| *sent == flow).map_or(0, |(_, bytes)| *bytes);
    (1..=flows).map(|flow| bytes(flow) as f64 * 8e-6 / span.seconds()).collect()
}

/// 1, 2, 4 and 8 parts into 10, at ten times the scale: the fair share is 3.5 parts.
#[test]
fn shares_are_max_min_fair() {
    for form in FORMS {
        let config = AfdConfig { form, shadow_size: 5000, sampling_interval: 1.0, ..AfdConfig::default() };
        let rates = [10, 20, 40, 80];
        let source = |(index, rate): (usize, &u64)| Source::new(index as u64 + 1, Rate::megabits(*rate), 1000);
        let sources = rates.iter().enumerate().map(source).collect();
        let sent = throughput(afd(&config), sources, Span::from_seconds(5), Span::from_seconds(20));
        for (sent, fair) in sent.iter().zip([10.0, 20.0, 35.0, 35.0]) {
            assert!((sent / fair - 1.0).abs() < 0.05, "{form:?}: {sent} Mb/s, max-min {fair}");
        }
    }
}

/// Three flows of 70 Mb/s in packets of 1500, 500 and 250 B: in byte mode each gets a third of the link, otherwise as
/// many packets a second as the others.
#[test]
fn byte_mode_is_fair_in_bytes() {
    let shares = |byte_mode| {
        let config = AfdConfig {
            shadow_size: 5000,
            sampling_interval: 1.0,
            byte_mode,
            mean_packet_size: Bytes(500),
            update_interval: Span::from_milliseconds(1),
            ..AfdConfig::default()
        };
        let sources = [1500, 500, 250].iter().enumerate();
        let sources = sources.map(|(index, len)| Source::new(index as u64 + 1, Rate::megabits(70), *len)).collect();
        throughput(afd(&config), sources, Span::from_seconds(5), Span::from_seconds(20))
    };
    let thirds = [1.0, 1.0, 1.0].map(|part| part / 3.0);
    let by_packets = [1500.0, 500.0, 250.0].map(|len| len / 2250.0);
    for (byte_mode, expected) in [(true, thirds), (false, by_packets)] {
        for (sent, expected) in shares(byte_mode).iter().zip(expected) {
            assert!((sent / (100.0 * expected) - 1.0).abs() < 0.05, "byte_mode = {byte_mode}: {sent} Mb/s");
        }
    }
}

#[test]
fn the_queue_settles_at_its_target() {
    let update_interval = Span::from_milliseconds(2);
    let config = AfdConfig { shadow_size: 2000, update_interval, ..AfdConfig::default() };
    let sources = (1..=10).map(|flow| Source::new(flow, Rate::megabits(7 + flow), 1000)).collect();
    let mut port = Port::new(Box::new(afd(&config)), sources);
    port.run(Time::ZERO + Span::from_seconds(5), |_| {});
    let (mut sum, mut arrivals) = (0.0, 0.0);
    port.run(Time::ZERO + Span::from_seconds(15), |port| {
        sum += port.backlog.packets as f64;
        arrivals += 1.0;
    });
    let mean: f64 = sum / arrivals;
    assert!((mean - 50.0).abs() < 5.0, "{mean}");
}

#[test]
fn only_flows_beyond_their_share_are_dropped() {
    let config = AfdConfig { shadow_size: 10, sampling_interval: 1.0, ..AfdConfig::default() };
    let mut law = afd(&config);
    let mut offers = Offers::new();
    for flow in [1, 1, 1, 1, 1, 1, 1, 1, 2, 2] {
        assert!(matches!(offers.offer(&mut law, flow, 1000), Verdict::Enqueue(_)));
    }
    assert_eq!(flow_gauge(&law, 1, "shadow_count"), 8.0);
    assert_eq!(flow_gauge(&law, 1, "drop_probability"), 0.0);
    law.fair_count = 2.0;
    assert_eq!(flow_gauge(&law, 1, "drop_probability"), 0.75);
    assert_eq!(flow_gauge(&law, 2, "drop_probability"), 0.0);
    assert_eq!(flow_gauge(&law, 3, "drop_probability"), 0.0);
    law.fair_count = 0.0;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FairShare));
    assert_eq!(gauge(&law, "shadow_packets"), 10.0);
    assert_eq!(gauge(&law, "shadow_flows"), 2.0);
}

#[test]
fn a_full_queue_drops_and_marks_need_room() {
    let config = AfdConfig { limit: QueueSize::Packets(2), target: QueueSize::Packets(1), ..AfdConfig::default() };
    let mut law = afd(&AfdConfig { ecn: true, sampling_interval: 1.0, ..config });
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    assert!(matches!(offers.offer(&mut law, 1, 1000), Verdict::Enqueue(_)));
    law.fair_count = 0.0;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Mark(Ticket(0), MarkReason::FairShare));
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::Overflow));
    offers.ecn = Ecn::NotCapable;
    assert_eq!(offers.offer(&mut law, 1, 1000), Verdict::Drop(DropReason::FairShare));
}

#[test]
fn sampling_is_one_in_s_packets_or_mean_packets() {
    let sampled = |byte_mode, len_bytes: u32| {
        let config = AfdConfig { shadow_size: 1 << 20, sampling_interval: 5.0, byte_mode, ..AfdConfig::default() };
        let mut law = afd(&config);
        let mut offers = Offers::new();
        for _ in 0..50_000 {
            offers.offer(&mut law, 1, len_bytes);
        }
        gauge(&law, "shadow_packets") / 50_000.0
    };
    // Standard deviations: at most 0.0022.
    assert!((sampled(false, 100) - 0.2).abs() < 0.01);
    assert!((sampled(true, 100) - 0.02).abs() < 0.003);
    assert!((sampled(true, 1000) - 0.2).abs() < 0.01);
    assert!((sampled(true, 12_000) - 2.4).abs() < 0.01);
}

fn backlog(packets: u64) -> Backlog {
    Backlog { packets, bytes: 1000 * packets }
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(milliseconds)
}

/// By hand: gains 1.7 and 1.8, target 50, updates each 10 ms.
#[test]
fn the_fair_count_follows_the_queue_at_each_update() {
    let config = AfdConfig { update_interval: Span::from_milliseconds(10), ..AfdConfig::default() };
    let mut law = afd(&config);
    law.fair_count = 200.0;
    let fair = |law: &Afd, expected: f64| assert!((law.fair_count - expected).abs() < 1e-9, "{}", law.fair_count);
    law.update(backlog(70), at(9));
    fair(&law, 200.0);
    // q_old = 0, q = 70: 1.7 x -50 - 1.8 x 20.
    law.update(backlog(70), at(10));
    fair(&law, 79.0);
    // Steady 20 above the target: 2 less each time.
    law.update(backlog(70), at(39));
    fair(&law, 75.0);
    // The departure at 40 ms comes after the update, which still sees 61.
    law.release(Ticket(0), 1000, backlog(60), at(40));
    fair(&law, 75.0 + 1.7 * 20.0 - 1.8 * 11.0);
    law.update(backlog(60), at(409));
    fair(&law, 75.0 + 1.7 * 20.0 - 1.8 * 11.0 + 1.7 * 11.0 - 1.8 * 10.0 - 35.0);
}

#[test]
fn gains_grow_with_the_shadow_buffer_unless_told_otherwise() {
    for (scale_gains, by) in [(true, -20.0), (false, -2.0)] {
        let mut law = afd(&AfdConfig { shadow_size: 5000, scale_gains, ..AfdConfig::default() });
        law.last_queue = 70.0;
        law.update(backlog(70), Time::ZERO + law.update_interval);
        assert!((law.fair_count - 5000.0 - by).abs() < 1e-9);
    }
}

#[test]
fn a_fair_count_of_zero_recovers_after_hours_of_silence() {
    let mut law = afd(&AfdConfig { sampling_interval: 1.0, ..AfdConfig::default() });
    let mut offers = Offers::new();
    offers.offer(&mut law, 1, 1000);
    law.fair_count = 0.0;
    offers.backlog = Backlog::default();
    offers.now = Time::ZERO + Span::from_seconds(100 * 3600);
    assert!(matches!(offers.offer(&mut law, 1, 1000), Verdict::Enqueue(_)));
    assert_eq!(gauge(&law, "m_fair"), 500.0);
}

proptest! {
    /// Updates taken together come out as if each had been made at its time.
    #[test]
    fn late_updates_are_those_made_in_time(
        fair in 0.0..500.0_f64,
        last_queue in 0_u64..200,
        queue in 0_u64..200,
        updates in 1_u64..400,
    ) {
        let mut late = afd(&AfdConfig::default());
        late.fair_count = fair;
        late.last_queue = last_queue as f64;
        let mut in_time = late.clone();
        late.update(backlog(queue), Time::ZERO + late.update_interval * updates);
        for update in 1..=updates {
            in_time.update(backlog(queue), Time::ZERO + late.update_interval * update);
        }
        prop_assert!((late.fair_count - in_time.fair_count).abs() < 1e-6);
        prop_assert_eq!(late.last_queue, in_time.last_queue);
        prop_assert_eq!(late.updated_at, in_time.updated_at);
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let bad = |change: fn(&mut AfdConfig), field: &str| {
        let mut config = AfdConfig::default();
        change(&mut config);
        assert_eq!(Afd::new(&config, LINK, 0).unwrap_err().field, field);
    };
    bad(|config| config.limit = QueueSize::Packets(0), "limit");
    bad(|config| config.shadow_size = 0, "shadow_size");
    bad(|config| config.shadow_size = (1 << 24) + 1, "shadow_size");
    bad(|config| config.sampling_interval = 0.9, "sampling_interval");
    bad(|config| config.sampling_interval = f64::INFINITY, "sampling_interval");
    bad(|config| config.alpha = -0.1, "alpha");
    bad(|config| config.alpha = f64::NAN, "alpha");
    bad(|config| config.beta = config.alpha, "beta");
    bad(|config| config.beta = f64::INFINITY, "beta");
    bad(|config| config.update_interval = Span::ZERO, "update_interval");
    bad(|config| config.mean_packet_size = Bytes(39), "mean_packet_size");
    bad(|config| config.target = QueueSize::Packets(0), "target");
    bad(|config| config.target = QueueSize::Packets(1001), "target");
    bad(|config| config.target = QueueSize::Bytes(50_000), "target");
    let bytes = AfdConfig { target: QueueSize::Bytes(50_000), byte_mode: true, ..AfdConfig::default() };
    assert_eq!(afd(&bytes).target, 50.0);
}
