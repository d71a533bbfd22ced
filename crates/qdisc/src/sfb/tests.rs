//! SFB's test vectors.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize};

use super::*;
use crate::Ecn;
use crate::test_support::{LINK, Offers, Port, Source, flow_gauge, gauge};

const FLOOD: u64 = 1;

fn seconds(value: u64) -> Time {
    Time::ZERO + Span::from_seconds(value)
}

/// A law whose bins of `flow` are all at 1.
fn with_identified(config: &SfbConfig, flow: u64) -> Sfb {
    let mut law = Sfb::new(config, LINK, 0).unwrap();
    let place = law.bins.locate(FlowKey(flow));
    law.bins.update(&place, |bin| bin.state = 1.0);
    law
}

/// A packet that finds the queue empty and leaves at once.
fn pass(law: &mut Sfb, offers: &mut Offers, flow: u64) {
    offers.backlog = Backlog::default();
    if let Verdict::Enqueue(ticket) | Verdict::Mark(ticket, _) = offers.offer(law, flow, 1000) {
        law.release(ticket, 1000, Backlog::default(), offers.now);
    }
}

/// At how many levels two flows share a bin.
fn shared_levels(law: &Sfb, flow: u64, other: u64) -> usize {
    let (one, two) = (law.bins.locate(FlowKey(flow)), law.bins.locate(FlowKey(other)));
    law.bins.at(&one).zip(law.bins.at(&two)).filter(|(one, two)| core::ptr::eq(*one, *two)).count()
}

#[test]
fn equation_1_gives_the_papers_numbers() {
    for (levels, bins, offenders, percent) in
        [(2, 23, 4, 2.654), (2, 23, 8, 8.955), (1, 46, 4, 8.416), (1, 46, 8, 16.124)]
    {
        let found = 100.0 * misclassification_probability(levels, bins, offenders);
        assert!((found - percent).abs() < 5e-4, "{found}, not {percent}");
    }
    assert_eq!(misclassification_probability(2, 23, 0), 0.0);
    assert_eq!(misclassification_probability(3, 1, 1), 1.0);
}

#[test]
fn one_level_is_best_past_half_the_bins() {
    // Figure 4. With 90 bins, two levels of 45 are as good as one of 90 when e^(-M/90) is the golden ratio's inverse:
    // M = 43.3.
    let better =
        |offenders| misclassification_probability(2, 45, offenders) < misclassification_probability(1, 90, offenders);
    assert!((1..=42).all(better) && !(45..=200).any(better));
}

#[test]
fn equation_1_holds_for_the_real_hashes() {
    let flows = 400;
    for (levels, bins, offenders) in [(2, 23, 4), (2, 23, 8), (1, 46, 4), (1, 46, 8), (8, 16, 8)] {
        let config = SfbConfig { levels, bins, ..SfbConfig::default() };
        let shares: Vec<f64> = (0..1000)
            .map(|salt| {
                let mut law = Sfb::new(&config, LINK, salt).unwrap();
                for offender in 0..offenders {
                    let place = law.bins.locate(FlowKey(1_000_000 + offender));
                    law.bins.update(&place, |bin| bin.state = 1.0);
                }
                (0..flows).map(|flow| flow_gauge(&law, flow, "rate_limited")).sum::<f64>() / flows as f64
            })
            .collect();
        // The flows of one salt share its polluted bins: the salts are the independent samples.
        let n = shares.len() as f64;
        let mean = shares.iter().sum::<f64>() / n;
        let variance = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / (n - 1.0);
        let (expected, error) = (misclassification_probability(levels, bins, offenders), libm::sqrt(variance / n));
        assert!((mean - expected).abs() <= 3.0 * error, "{levels} x {bins}, {offenders}: {mean}, not {expected}");
    }
}

/// A round-trip time of the responsive flows.
const ROUND_TRIP: Span = Span::from_milliseconds(100);

/// Floods, flow 0 and up, against a hundred flows that respond as TCP does. Each adds a packet a round trip to its
/// rate, and halves it after a round trip in which it lost one.
struct Crossing {
    port: Port,
    floods: usize,
    rates: Vec<f64>,
    /// Drops so far of a flood and of a responsive flow.
    lost: [usize; 2],
}

impl Crossing {
    fn new(config: &SfbConfig, floods: usize, flood_rate: Rate) -> Self {
        let sources = (0..floods as u64).map(|flow| Source::new(flow, flood_rate, 1000));
        let rates: Vec<f64> = (0..100).map(|flow| 5e5 + 1e4 * f64::from(flow)).collect();
        let responsive = rates.iter().zip(100..).map(|(rate, flow)| Source::new(flow, LINK.scaled(rate / 1e8), 1000));
        let law = Box::new(Sfb::new(config, LINK, 0).unwrap());
        Self { port: Port::new(law, sources.chain(responsive).collect()), floods, rates, lost: [0; 2] }
    }

    fn run(&mut self, until: Time) {
        let mut now = self.port.now;
        while now < until {
            now += ROUND_TRIP;
            self.port.run(now, |_| {});
            let mut struck = [false; 100];
            for (flow, _) in self.port.dropped.drain(..) {
                match flow.checked_sub(100) {
                    Some(responsive) => {
                        struck[responsive as usize] = true;
                        self.lost[1] += 1;
                    }
                    None => self.lost[0] += 1,
                }
            }
            for (index, rate) in self.rates.iter_mut().enumerate() {
                *rate = if struck[index] { (*rate / 2.0).max(8e4) } else { *rate + 8e4 };
                self.port.sources[self.floods + index].gap = LINK.scaled(*rate / 1e8).transmission_time(1000);
            }
        }
    }

    /// Mean rate at which flows of this range were sent on in this many seconds from now, in b/s.
    fn rate(&mut self, flows: core::ops::Range<u64>, length: u64) -> f64 {
        let bytes = |port: &Port| -> u64 {
            port.sent_bytes.iter().filter(|(flow, _)| flows.contains(flow)).map(|(_, bytes)| bytes).sum()
        };
        let before = bytes(&self.port);
        self.run(self.port.now + Span::from_seconds(length));
        8.0 * (bytes(&self.port) - before) as f64 / length as f64 / (flows.end - flows.start) as f64
    }
}

#[test]
fn a_flood_beside_responsive_flows_is_held_to_the_rate() {
    let mut crossing = Crossing::new(&SfbConfig::default(), 1, Rate::megabits(150));
    crossing.run(seconds(10));
    assert_eq!(flow_gauge(&*crossing.port.law, 0, "rate_limited"), 1.0);
    assert!(gauge(&*crossing.port.law, "polluted_bins_level_0") >= 1.0);
    crossing.lost = [0; 2];
    let rate = crossing.rate(0..1, 10);
    assert!((0.155e6..=0.165e6).contains(&rate), "{rate}");
    // Halving at a window of 12 packets takes a loss in a hundred packets; they send 125000.
    assert!(crossing.lost[1] < 125_000 / 25 && crossing.lost[0] > 187_000, "{:?}", crossing.lost);
    let others = crossing.rate(100..200, 5);
    assert!(others > 0.7e6, "{others}");
    assert!((100..200).all(|flow| flow_gauge(&*crossing.port.law, flow, "rate_limited") == 0.0));
}

#[test]
fn a_bin_over_its_size_rises_and_an_empty_one_falls() {
    let config = SfbConfig { bin_size: Some(13), ..SfbConfig::default() };
    let mut law = Sfb::new(&config, LINK, 0).unwrap();
    let mut offers = Offers::new();
    // Fourteen go in: the fourteenth still finds no more than 13. The next ones find the bins over their size.
    let verdicts: Vec<Verdict> = (0..16).map(|_| offers.offer(&mut law, FLOOD, 1000)).collect();
    assert!(verdicts[..14].iter().all(|verdict| matches!(verdict, Verdict::Enqueue(_))));
    assert_eq!(verdicts[14..], [Verdict::Drop(DropReason::FlowLimit); 2]);
    assert_eq!(flow_gauge(&law, FLOOD, "p_min"), 0.005);
    for verdict in &verdicts[..14] {
        let Verdict::Enqueue(ticket) = verdict else { unreachable!() };
        law.release(*ticket, 1000, Backlog::default(), Time::ZERO);
    }
    offers.offer(&mut law, FLOOD, 1000);
    assert!((flow_gauge(&law, FLOOD, "p_min") - 0.00475).abs() < 1e-12);
    // Now there is a packet in them, and they stay as they are.
    offers.offer(&mut law, FLOOD, 1000);
    assert!((flow_gauge(&law, FLOOD, "p_min") - 0.00475).abs() < 1e-12);
}

#[test]
fn one_good_bin_protects_under_the_rule_of_all() {
    for (drop_rule, dropped) in [(SfbDropRule::All, false), (SfbDropRule::Any, true)] {
        let config = SfbConfig { drop_rule, ..SfbConfig::default() };
        let mut law = Sfb::new(&config, LINK, 0).unwrap();
        let neighbour = (2..).find(|flow| shared_levels(&law, FLOOD, *flow) == 1).unwrap();
        let mut offers = Offers::new();
        for _ in 0..14 {
            offers.offer(&mut law, FLOOD, 1000);
        }
        let verdict = offers.offer(&mut law, neighbour, 1000);
        assert_eq!(verdict == Verdict::Drop(DropReason::FlowLimit), dropped, "{drop_rule:?}: {verdict:?}");
    }
}

#[test]
fn a_full_queue_raises_the_bins_of_what_it_loses() {
    let mut law = Sfb::new(&SfbConfig::default(), LINK, 0).unwrap();
    let mut offers = Offers::new();
    offers.backlog = Backlog { packets: 200, bytes: 200_000 };
    assert_eq!(offers.offer(&mut law, FLOOD, 1000), Verdict::Drop(DropReason::Overflow));
    assert_eq!(flow_gauge(&law, FLOOD, "p_min"), 0.0025);
}

#[test]
fn packets_are_marked_with_the_least_probability_of_their_bins() {
    for (ecn, marks) in [(Ecn::Capable0, true), (Ecn::NotCapable, false)] {
        let config = SfbConfig { decrement: 0.0, ..SfbConfig::default() };
        let mut law = Sfb::new(&config, LINK, 0).unwrap();
        let place = law.bins.locate(FlowKey(FLOOD));
        let mut level = 0.0;
        law.bins.update(&place, |bin| {
            level += 1.0;
            bin.state = 0.25 * level;
        });
        let mut offers = Offers { ecn, ..Offers::new() };
        let mut struck = 0;
        for _ in 0..10_000 {
            offers.backlog = Backlog::default();
            match offers.offer(&mut law, FLOOD, 1000) {
                Verdict::Enqueue(ticket) => law.release(ticket, 1000, Backlog::default(), Time::ZERO),
                Verdict::Mark(ticket, MarkReason::Early) if marks => {
                    law.release(ticket, 1000, Backlog::default(), Time::ZERO);
                    struck += 1;
                }
                verdict => {
                    assert!(!marks && verdict == Verdict::Drop(DropReason::Early), "{verdict:?}");
                    struck += 1;
                }
            }
        }
        assert!((2370..=2630).contains(&struck), "{struck}");
    }
}

#[test]
fn identified_flows_are_limited_and_not_marked() {
    let mut law = with_identified(&SfbConfig::default(), FLOOD);
    let mut offers = Offers { ecn: Ecn::Capable0, ..Offers::new() };
    let verdicts: Vec<Verdict> = (0..6).map(|_| offers.offer(&mut law, FLOOD, 1000)).collect();
    assert!(verdicts[..4].iter().all(|verdict| matches!(verdict, Verdict::Enqueue(_))));
    assert_eq!(verdicts[4..], [Verdict::Drop(DropReason::RateLimit); 2]);
}

#[test]
fn the_limiter_holds_a_flood_for_good_and_frees_a_reformed_flow() {
    let mut law = with_identified(&SfbConfig::default(), FLOOD);
    let mut offers = Offers::new();
    // The queue is empty at each arrival; the limiter passes a packet each 50 ms.
    let mut send = |law: &mut Sfb, millisecond: u64| {
        offers.now = Time::ZERO + Span::from_milliseconds(millisecond);
        pass(law, &mut offers, FLOOD);
    };
    for millisecond in 0..10_000 {
        send(&mut law, millisecond);
        assert_eq!(flow_gauge(&law, FLOOD, "rate_limited"), 1.0);
    }
    // Below the limit, but never absent from the limiter for the parole time.
    (0..10).for_each(|n| send(&mut law, 10_000 + 99 * n));
    assert_eq!(flow_gauge(&law, FLOOD, "rate_limited"), 1.0);
    (1..10).for_each(|n| send(&mut law, 11_000 + 100 * n));
    assert!((flow_gauge(&law, FLOOD, "p_min") - (1.0 - 9.0 * 0.00025)).abs() < 1e-9);
}

#[test]
fn a_double_buffered_hash_keeps_offenders_identified_and_frees_the_rest() {
    let interval = Span::from_seconds(2);
    for (double_buffer, after) in [(true, 1.0), (false, 0.0)] {
        let config = SfbConfig { rehash_interval: Some(interval), double_buffer, ..SfbConfig::default() };
        let mut law = with_identified(&config, FLOOD);
        let victim = (2..).find(|flow| shared_levels(&law, FLOOD, *flow) == 2).unwrap();
        assert_eq!(flow_gauge(&law, victim, "rate_limited"), 1.0);
        let mut offers = Offers::new();
        for arrival in 0..667 {
            offers.now = Time::ZERO + Span::from_milliseconds(3 * arrival);
            pass(&mut law, &mut offers, FLOOD);
            pass(&mut law, &mut offers, 1000 + arrival);
        }
        // It arrives until the change. Only the flood has warmed up bins: one at each level.
        assert_eq!(gauge(&law, "warm_bins"), 2.0 * after);
        offers.now = Time::ZERO + interval;
        pass(&mut law, &mut offers, FLOOD);
        assert_eq!(flow_gauge(&law, FLOOD, "rate_limited"), after);
        assert_eq!(flow_gauge(&law, victim, "rate_limited"), 0.0);
        assert_eq!(gauge(&law, "polluted_bins"), 2.0 * after);
        assert_eq!(gauge(&law, "warm_bins"), 0.0);
    }
}

#[test]
fn offenders_are_held_to_about_the_fair_share() {
    for scope in [SfbRateLimitScope::PerBin, SfbRateLimitScope::Aggregate] {
        for offenders in [1, 4] {
            let config = SfbConfig {
                fair_limit: Some(SfbFairLimit::default()),
                rate_limit_scope: scope,
                ..SfbConfig::default()
            };
            let mut crossing = Crossing::new(&config, offenders, Rate::megabits(50));
            crossing.run(seconds(10));
            let rate = crossing.rate(0..offenders as u64, 10);
            let flows = (100 + offenders) as f64;
            let ratio = rate / (100e6 / flows);
            assert!((0.5..=2.0).contains(&ratio), "{scope:?}, {offenders} offenders: {ratio}");
            let law = &*crossing.port.law;
            assert!((gauge(law, "flows") / flows - 1.0).abs() < 0.05);
            let found = gauge(law, "offenders");
            assert!((found / offenders as f64 - 1.0).abs() < 0.5, "{scope:?}, {found} for {offenders} offenders");
        }
    }
}

#[test]
fn a_bins_probability_rises_from_its_size_and_packets_are_dropped_from_its_limit() {
    // Linux's: from 20 packets in all of a flow's bins their probability rises, from 25 its packets are dropped.
    let config = SfbConfig {
        levels: 8,
        bins: 16,
        bin_size: Some(19),
        bin_limit: Some(24),
        increment: 1e-9,
        ..SfbConfig::default()
    };
    let mut law = Sfb::new(&config, LINK, 0).unwrap();
    let mut offers = Offers::new();
    for queued in 0..30_u32 {
        offers.backlog = Backlog { packets: u64::from(queued), bytes: 1000 * u64::from(queued) };
        let verdict = offers.offer(&mut law, FLOOD, 1000);
        assert_eq!(verdict == Verdict::Drop(DropReason::FlowLimit), queued >= 25, "{queued}: {verdict:?}");
        let raised = flow_gauge(&law, FLOOD, "p_min") / 1e-9;
        assert!((raised - f64::from(queued.saturating_sub(19))).abs() < 1e-6, "{queued}: {raised}");
    }
    assert_eq!(flow_gauge(&law, FLOOD, "least_bin_packets"), 25.0);
}

#[test]
fn the_state_does_not_grow_with_the_flows() {
    let mut law = Sfb::new(&SfbConfig::default(), LINK, 0).unwrap();
    let mut offers = Offers::new();
    pass(&mut law, &mut offers, 0);
    let few = law.state_bytes();
    assert!((2 * 23 * 32..4096).contains(&few), "{few}");
    (1..100_000).for_each(|flow| pass(&mut law, &mut offers, flow));
    assert_eq!(law.state_bytes(), few);
}

#[test]
fn the_size_of_a_bin_follows_from_the_limit() {
    for (limit, bins, size) in [
        (QueueSize::Packets(200), 23, 13),
        (QueueSize::Bytes(200_000), 23, 13),
        (QueueSize::Packets(200), 46, 6),
        (QueueSize::Packets(1), 23, 1),
    ] {
        assert_eq!(SfbConfig { limit, bins, ..SfbConfig::default() }.check(), Ok((size, size)));
    }
}

#[test]
fn the_size_of_a_bin_is_at_most_what_32_bits_hold() {
    for packets in [u64::MAX, 1 << 33] {
        let config = SfbConfig { limit: QueueSize::Packets(packets), bins: 1, ..SfbConfig::default() };
        assert_eq!(config.check(), Ok((u32::MAX, u32::MAX)));
    }
}

#[test]
fn parameters_may_be_at_their_bounds() {
    let config = SfbConfig::default;
    let fair = |fair| SfbConfig { fair_limit: Some(fair), ..config() };
    let cases = vec![
        SfbConfig { levels: 1, ..config() },
        SfbConfig { levels: 16, ..config() },
        SfbConfig { bins: 1, ..config() },
        SfbConfig { bins: 65_536, ..config() },
        SfbConfig { bin_size: Some(1), bin_limit: Some(1), ..config() },
        SfbConfig { bin_limit: Some(13), ..config() },
        SfbConfig { increment: f64::MIN_POSITIVE, ..config() },
        SfbConfig { increment: 1.0, ..config() },
        SfbConfig { decrement: 0.0, ..config() },
        SfbConfig { decrement: 1.0, ..config() },
        SfbConfig { burst: Bytes(1), ..config() },
        SfbConfig { rehash_interval: Some(Span::from_milliseconds(1)), ..config() },
        fair(SfbFairLimit { interval: Span::from_milliseconds(1), ..SfbFairLimit::default() }),
        fair(SfbFairLimit { flow_bits: 64, ..SfbFairLimit::default() }),
        fair(SfbFairLimit { flow_bits: 1 << 24, ..SfbFairLimit::default() }),
    ];
    for config in cases {
        assert_eq!(config.check().err().map(|error| error.field), None, "{config:?}");
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let config = SfbConfig::default;
    let fair = |fair| SfbConfig { fair_limit: Some(fair), ..config() };
    let cases = vec![
        (SfbConfig { limit: QueueSize::Packets(0), ..config() }, "limit"),
        (SfbConfig { levels: 0, ..config() }, "levels"),
        (SfbConfig { levels: 17, ..config() }, "levels"),
        (SfbConfig { bins: 0, ..config() }, "bins"),
        (SfbConfig { bins: 65_537, ..config() }, "bins"),
        (SfbConfig { bin_size: Some(0), ..config() }, "bin_size"),
        (SfbConfig { bin_limit: Some(12), ..config() }, "bin_limit"),
        (SfbConfig { increment: 0.0, ..config() }, "increment"),
        (SfbConfig { increment: f64::NAN, ..config() }, "increment"),
        (SfbConfig { increment: 1.0 + f64::EPSILON, ..config() }, "increment"),
        (SfbConfig { decrement: -0.1, ..config() }, "decrement"),
        (SfbConfig { decrement: 1.0 + f64::EPSILON, ..config() }, "decrement"),
        (SfbConfig { burst: Bytes(0), ..config() }, "burst"),
        (SfbConfig { rehash_interval: Some(Span::from_microseconds(999)), ..config() }, "rehash_interval"),
        (fair(SfbFairLimit { interval: Span::ZERO, ..SfbFairLimit::default() }), "fair_limit.interval"),
        (
            fair(SfbFairLimit { interval: Span::from_picoseconds(999_999_999), ..SfbFairLimit::default() }),
            "fair_limit.interval",
        ),
        (fair(SfbFairLimit { flow_bits: (1 << 24) + 1, ..SfbFairLimit::default() }), "fair_limit.flow_bits"),
        (fair(SfbFairLimit { flow_bits: 63, ..SfbFairLimit::default() }), "fair_limit.flow_bits"),
    ];
    for (config, field) in cases {
        assert_eq!(Sfb::new(&config, LINK, 0).unwrap_err().field, field);
    }
}
