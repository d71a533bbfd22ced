//! RED-PD's tests.

use alloc::boxed::Box;
use alloc::vec;

use super::*;
use crate::test_support::{LINK, Offers, Port, Source, assert_average_decays_in_an_idle_time, flow_gauge, gauge};
use crate::{Backlog, Ticket};

fn law(config: &RedPdConfig) -> RedPd {
    RedPd::new(config, LINK, 0).unwrap()
}

fn packet(flow: u64) -> Arrival {
    Arrival { flow: FlowKey(flow), len_bytes: 1000, ..Arrival::default() }
}

/// Tells the law of this many packets of a flow, of which RED took some and dropped the others for `reason`.
fn traffic(law: &mut RedPd, flow: u64, taken: u64, dropped: u64, reason: DropReason) {
    for index in 0..taken + dropped {
        let slot = law.flows.find(FlowKey(flow));
        if let Some(slot) = slot {
            law.flows[slot].arrived += 1000;
        }
        let verdict = if index < taken { Verdict::Enqueue(Ticket(0)) } else { Verdict::Drop(reason) };
        law.record(&packet(flow), slot, verdict);
    }
}

/// Ends the present period.
fn end(law: &mut RedPd) {
    law.end_periods(law.period_end);
}

fn monitor(law: &mut RedPd, flow: u64, drop_probability: f64, unresponsive: bool) -> u32 {
    let slot = law.enter(&packet(flow));
    let mut monitor = Monitor::new(drop_probability, 1.0, Time::ZERO, Sample { rate: 1.0, drop_rate: 0.1 });
    monitor.unresponsive = unresponsive;
    law.flows[slot].monitor = Some(monitor);
    slot
}

#[test]
fn the_reference_tcp_has_the_rate_and_the_epoch_of_the_formula() {
    let rtt = Span::from_milliseconds(40);
    for (drop_rate, epoch, rate) in [(0.01, 0.3266, 306.2), (0.02, 0.2309, 216.5), (0.05, 0.1461, 136.9)] {
        assert!((congestion_epoch(rtt, drop_rate) - epoch).abs() < 1e-4, "{drop_rate}");
        assert!((reference_rate(rtt, drop_rate) - rate).abs() < 0.1, "{drop_rate}");
    }
}

#[test]
fn a_period_is_the_lists_share_of_an_epoch_within_its_bounds() {
    let mut law = law(&RedPdConfig::default());
    for (drop_rate, expected) in
        [(0.0, 0.4), (0.001, 0.4), (0.01, 0.6 * 0.326_599), (0.05, 0.6 * 0.146_059), (0.5, 0.08)]
    {
        law.drop_rate = Some(drop_rate);
        assert!((law.next_period().seconds() - expected).abs() < 1e-6, "{drop_rate}: {:?}", law.next_period());
    }
}

#[test]
fn a_flow_is_monitored_once_it_is_in_three_of_five_lists() {
    let mut law = law(&RedPdConfig::default());
    // In and out: three lists of five, though never three in a row.
    for (period, dropped) in [true, false, true, false, true].into_iter().enumerate() {
        assert_eq!(flow_gauge(&law, 1, "monitored"), 0.0, "period {period}");
        let drops = if dropped { 5 } else { 0 };
        traffic(&mut law, 1, 100 - drops, drops, DropReason::Early);
        traffic(&mut law, period as u64 + 100, 95, 5, DropReason::Early);
        end(&mut law);
    }
    assert_eq!(flow_gauge(&law, 1, "monitored"), 1.0);
    assert_eq!(gauge(&law, "monitored_flows"), 1.0);
    // The only regular flow has the mean of the drops, so its share is the drop rate: the lower of 0.05 and its
    // average.
    let average = [0.025, 0.05, 0.025, 0.05].into_iter().fold(0.05, |average, rate| (average + rate) / 2.0);
    assert!((gauge(&law, "drop_rate") - average).abs() < 1e-12);
    assert!((flow_gauge(&law, 1, "drop_probability") - average).abs() < 1e-12);
    assert_eq!(flow_gauge(&law, 1, "lists"), 3.0);
}

#[test]
fn shares_go_by_the_bytes_dropped() {
    let mut law = law(&RedPdConfig::default());
    for _ in 0..3 {
        traffic(&mut law, 1, 90, 3, DropReason::Early);
        traffic(&mut law, 2, 106, 1, DropReason::Early);
        end(&mut law);
    }
    // A drop rate of 0.02, and drops of one and a half and of half the mean.
    assert!((flow_gauge(&law, 1, "drop_probability") - 0.03).abs() < 1e-12);
    assert!((flow_gauge(&law, 2, "drop_probability") - 0.01).abs() < 1e-12);
}

#[test]
fn a_list_holds_the_flows_with_the_most_dropped_and_no_forced_drops() {
    let mut law = law(&RedPdConfig { list_entries: 2, ..RedPdConfig::default() });
    traffic(&mut law, 1, 10, 1, DropReason::Early);
    traffic(&mut law, 2, 10, 3, DropReason::Early);
    traffic(&mut law, 3, 10, 2, DropReason::Early);
    traffic(&mut law, 4, 10, 9, DropReason::Forced);
    traffic(&mut law, 5, 10, 9, DropReason::Overflow);
    end(&mut law);
    assert_eq!([1, 2, 3, 4, 5].map(|flow| flow_gauge(&law, flow, "lists")), [0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(law.known.len(), 2, "the others are forgotten");
    assert!((gauge(&law, "drop_rate") - 24.0 / 74.0).abs() < 1e-12, "all drops count for the drop rate");
}

#[test]
fn marks_are_samples_too() {
    let mut law = law(&RedPdConfig::default());
    law.record(&packet(1), None, Verdict::Mark(Ticket(0), MarkReason::Early));
    law.record(&packet(2), None, Verdict::Mark(Ticket(0), MarkReason::Forced));
    end(&mut law);
    assert_eq!([1, 2].map(|flow| flow_gauge(&law, flow, "lists")), [1.0, 0.0]);
}

#[test]
fn no_flow_is_held_back_below_the_least_drop_rate() {
    for (taken, monitored) in [(1000, 0.0), (990, 1.0)] {
        let mut law = law(&RedPdConfig::default());
        for _ in 0..3 {
            traffic(&mut law, 1, taken, 1, DropReason::Early);
            end(&mut law);
        }
        assert_eq!(flow_gauge(&law, 1, "monitored"), monitored, "{taken}");
    }
}

#[test]
fn a_probability_is_raised_after_four_periods_and_a_constant_rate_is_found_out() {
    let mut law = law(&RedPdConfig::default());
    let mut changes = vec![];
    for period in 0..40 {
        traffic(&mut law, 1, 950 - 5 * period, 50 + 5 * period, DropReason::Early);
        end(&mut law);
        let probability = flow_gauge(&law, 1, "drop_probability");
        if changes.last().is_none_or(|(_, last)| *last != probability) {
            changes.push((period, probability));
        }
    }
    let raised: Vec<u64> = changes.iter().map(|(period, _)| *period).collect();
    // Drop rates above 0.03 make periods shorter than 0.2 s, and from 0.06 on 0.12 s: four of them, but 0.4 s at least.
    assert_eq!(raised[..2], [0, 2]);
    assert!(raised[2..].windows(2).all(|pair| pair[1] - pair[0] >= 4), "{raised:?}");
    assert_eq!(flow_gauge(&law, 1, "unresponsive"), 1.0);
    assert!(changes.windows(2).all(|pair| pair[1].1 > pair[0].1), "{changes:?}");
}

#[test]
fn an_unlisted_flow_is_let_go_by_and_by() {
    let mut law = law(&RedPdConfig::default());
    monitor(&mut law, 1, 0.2, false);
    let mut seen = vec![0.2];
    while flow_gauge(&law, 1, "monitored") > 0.0 {
        end(&mut law);
        let probability = flow_gauge(&law, 1, "drop_probability");
        if (probability - seen[seen.len() - 1]).abs() > 1e-12 {
            seen.push(probability);
        }
    }
    let expected = [0.2, 0.15, 0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125, 0.0];
    assert!(seen.len() == expected.len() && seen.iter().zip(expected).all(|(p, q)| (p - q).abs() < 1e-12), "{seen:?}");
    // Eight changes, each after three periods of 0.4 s, the first when the first three have gone by.
    assert!(law.period >= 22 && law.period <= 24, "{}", law.period);
    assert_eq!((law.known.len(), law.flows.len()), (0, 0));
}

#[test]
fn a_silence_leads_where_its_periods_would_have_led() {
    for seconds in [1, 3, 10, 60, 10_000] {
        let mut once = law(&RedPdConfig::default());
        monitor(&mut once, 7, 0.3, true);
        monitor(&mut once, 8, 0.9, false);
        for _ in 0..7 {
            traffic(&mut once, 1, 90, 10, DropReason::Early);
            traffic(&mut once, 2, 95, 5, DropReason::Early);
            end(&mut once);
        }
        let mut stepped = once.clone();
        let end = once.period_start + Span::from_seconds(seconds);
        once.end_periods(end);
        while stepped.period_end <= end {
            stepped.end_periods(stepped.period_end);
        }
        let state = |law: &RedPd| {
            let flows = [1, 2, 7, 8].map(|flow| flow_gauge(law, flow, "drop_probability"));
            (law.period, law.period_start, law.period_end, law.drop_rate, law.last_periods, flows)
        };
        assert_eq!(state(&once), state(&stepped), "{seconds} s");
    }
}

#[test]
fn the_filter_makes_gaps_uniform() {
    let mut law = law(&RedPdConfig::default());
    let slot = monitor(&mut law, 1, 0.1, true);
    let mut rng = crate::test_support::rng();
    let backlog = Backlog { packets: 2, bytes: 2000 };
    let (mut drops, mut gap) = (0, 0);
    for _ in 0..100_000 {
        gap += 1;
        if law.filter(slot, &mut Offer { now: Time::ZERO, backlog, rng: &mut rng }) {
            assert!(gap <= 10, "{gap}");
            drops += 1;
            gap = 0;
        }
    }
    // Uniform on 1 .. 10.
    let mean = 100_000.0 / f64::from(drops);
    assert!((mean / 5.5 - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn the_filter_spares_a_responsive_flow_without_congestion() {
    // Probability 1: dropped if the filter may. The average is the queue that the packet before found.
    let drops = |unresponsive, keep_busy, average: u64, waiting| {
        let mut law = law(&RedPdConfig { weight: 1.0, keep_busy, ..RedPdConfig::default() });
        let slot = monitor(&mut law, 1, 0.5, unresponsive);
        law.flows[slot].monitor.as_mut().unwrap().drop_probability = 1.0;
        let mut offers = Offers::new();
        offers.backlog.packets = average;
        offers.offer(&mut law, 2, 1000);
        offers.backlog.packets = waiting;
        offers.offer(&mut law, 1, 1000) == Verdict::Drop(DropReason::FairShare)
    };
    assert_eq!(
        [(5, 2), (4, 2), (5, 1)].map(|(average, waiting)| drops(false, false, average, waiting)),
        [true, false, false]
    );
    assert_eq!([(5, 2), (4, 2), (0, 0)].map(|(average, waiting)| drops(true, false, average, waiting)), [true; 3]);
    assert_eq!([(0, 2), (5, 1)].map(|(average, waiting)| drops(true, true, average, waiting)), [true, false]);
}

#[test]
fn a_flood_is_found_and_loses_most() {
    // 60 Mb/s among 300 flows of 0.2 Mb/s on 100 Mb/s. At the drop rate of a sixth, the reference TCP sends 0.6 Mb/s.
    let config = RedPdConfig { limit: QueueSize::Packets(200), ..RedPdConfig::default() };
    let other = |flow| {
        let source = Source::new(flow, Rate::new(200_000).unwrap(), 1000);
        // Out of step.
        Source { next: source.next + source.gap * flow / 300, ..source }
    };
    let mut sources: Vec<Source> = (1..=300).map(other).collect();
    sources.push(Source::new(0, Rate::megabits(60), 1000));
    let mut port = Port::new(Box::new(law(&config)), sources);
    port.run(Time::ZERO + Span::from_seconds(10), |_| {});
    assert_eq!(flow_gauge(&*port.law, 0, "monitored"), 1.0);
    assert_eq!(flow_gauge(&*port.law, 0, "unresponsive"), 1.0);
    port.dropped.clear();
    port.run(Time::ZERO + Span::from_seconds(30), |_| {});
    let flood = port.dropped.iter().filter(|(flow, _)| *flow == 0).count() as f64;
    let others = port.dropped.len() as f64 - flood;
    // 60 Mb/s are 7500 packets a second, and so are the others together.
    let (flood, others) = (flood / 150_000.0, others / 150_000.0);
    assert!(flood > 0.3 && others < 0.02, "the flood loses {flood}, the others {others}");
}

#[test]
fn a_probability_is_raised_every_four_periods() {
    let config = RedPdConfig { min_change_time: Span::from_picoseconds(1), ..RedPdConfig::default() };
    let mut law = law(&config);
    let (mut changed, mut last) = (vec![], 0.0);
    for period in 0..15 {
        traffic(&mut law, 1, 95, 5, DropReason::Early);
        end(&mut law);
        let probability = flow_gauge(&law, 1, "drop_probability");
        if probability != last {
            changed.push(period);
            last = probability;
        }
    }
    // Monitored at the end of the third, and all periods but the first are of one length.
    assert_eq!(changed, [2, 6, 10, 14]);
}

#[test]
fn a_flow_is_judged_by_its_rate_whatever_the_lengths_of_periods() {
    // Its rate falls as a power of the drop rate; that of a TCP with the power of a half.
    for (power, unresponsive) in [(0.0, 1.0), (0.3, 1.0), (0.6, 0.0)] {
        let config = RedPdConfig { min_period: Some(Span::from_milliseconds(1)), ..RedPdConfig::default() };
        let mut law = law(&config);
        for period in 0..50 {
            let drop_rate = 0.005 * libm::pow(1.06, f64::from(period));
            let seconds = law.period_end.since(law.period_start).seconds();
            let packets = 50_000.0 * seconds * libm::pow(drop_rate / 0.005, -power);
            let dropped = (packets * drop_rate) as u64;
            traffic(&mut law, 1, packets as u64 - dropped, dropped, DropReason::Early);
            end(&mut law);
        }
        assert_eq!(flow_gauge(&law, 1, "unresponsive"), unresponsive, "{power}");
    }
}

#[test]
fn a_forced_drop_makes_no_flow_known() {
    let mut law = law(&RedPdConfig::default());
    traffic(&mut law, 1, 0, 1, DropReason::Forced);
    traffic(&mut law, 2, 0, 1, DropReason::Overflow);
    assert_eq!(law.known.len(), 0);
    traffic(&mut law, 3, 0, 1, DropReason::Early);
    assert_eq!(law.known.len(), 1);
}

#[test]
fn a_packet_at_the_end_of_a_period_belongs_to_the_next() {
    let mut law = law(&RedPdConfig::default());
    let mut offers = Offers { now: law.period_end - Span::from_picoseconds(1), ..Offers::new() };
    offers.offer(&mut law, 1, 1000);
    assert_eq!((law.period, law.arrived), (0, 1000));
    offers.now += Span::from_picoseconds(1);
    offers.offer(&mut law, 1, 500);
    assert_eq!((law.period, law.arrived), (1, 500));
}

#[test]
fn reds_average_decays_in_an_idle_time() {
    let mut law = law(&RedPdConfig { weight: 0.5, ..RedPdConfig::default() });
    assert_average_decays_in_an_idle_time(&mut law);
}

#[test]
fn each_parameter_is_checked() {
    let default = RedPdConfig::default;
    let cases = [
        (RedPdConfig { limit: QueueSize::Packets(0), ..default() }, "limit"),
        (RedPdConfig { target_rtt: Span::ZERO, ..default() }, "target_rtt"),
        (RedPdConfig { lists: 9, ..default() }, "lists"),
        (RedPdConfig { lists_to_monitor: 6, ..default() }, "lists_to_monitor"),
        (RedPdConfig { list_entries: 0, ..default() }, "list_entries"),
        (RedPdConfig { min_period: Some(Span::ZERO), ..default() }, "min_period"),
        (RedPdConfig { max_period: Some(Span::from_milliseconds(79)), ..default() }, "max_period"),
        (RedPdConfig { max_reduction: 0.0, ..default() }, "max_reduction"),
        (RedPdConfig { max_threshold: QueueSize::Packets(5), ..default() }, "max_threshold"),
        (RedPdConfig { weight: 1.5, ..default() }, "weight"),
        (RedPdConfig { max_probability: -0.1, ..default() }, "max_probability"),
        (RedPdConfig { mean_packet_size: Bytes(0), ..default() }, "mean_packet_size"),
    ];
    for (config, field) in cases {
        assert_eq!(RedPd::new(&config, LINK, 0).unwrap_err().field, field);
    }
}

#[test]
fn a_parameter_may_be_at_its_bound() {
    let default = RedPdConfig::default;
    let min_period = Some(Span::from_milliseconds(400));
    for config in [
        RedPdConfig { target_rtt: Span::from_seconds(100), ..default() },
        RedPdConfig { lists: 8, lists_to_monitor: 8, ..default() },
        RedPdConfig { lists: 1, lists_to_monitor: 1, list_entries: 1, ..default() },
        RedPdConfig { max_reduction: 0.01, ..default() },
        RedPdConfig { max_reduction: 1.0, ..default() },
        RedPdConfig { min_period, max_period: min_period, ..default() },
    ] {
        assert!(RedPd::new(&config, LINK, 0).is_ok(), "{config:?}");
    }
}
