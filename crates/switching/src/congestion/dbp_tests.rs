//! Tests of DBP: shares over several ports, what a silence does, and bounds of rates and parameters.

use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::congestion::CongestionManagement;
use crate::congestion::advertised_rate::parking_lot::{Network, fair_within};
use crate::test_support::rng;

const LINE: Rate = Rate::megabits(10_000);
const BOTH: [ShareMode; 2] = [ShareMode::Rho, ShareMode::Count];

fn network(share: ShareMode, routes: &[&[usize]]) -> Network {
    let config = DbpConfig { share, ..DbpConfig::default() };
    Network::new(&CongestionManagement::Dbp(config), LINE, routes)
}

fn report(rate_bps: f64) -> Message {
    Message::RateReport { rate_bps }
}

fn context<'a>(now: Time, rng: &'a mut dyn rand_core::Rng) -> Context<'a> {
    Context { now, capacity: LINE, rng }
}

fn milliseconds(ms: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(ms)
}

#[test]
fn reports_begin_with_the_first_frame_and_end_when_the_source_has_rested() {
    let mut rng = rng(1);
    let mut destination = DbpConfig::default().reflector(LINE).unwrap();
    assert_eq!(destination.poll_at(), Time::NEVER);
    // The node takes 3 Gb/s of the 10 Gb/s that come.
    let capacity = Rate::megabits(3000);
    let begin = milliseconds(5);
    let first = destination.delivered(false, &mut Context { now: begin, capacity, rng: &mut rng });
    assert_eq!(first, Some(report(3e9)));
    assert!(destination.poll_at() < begin + Span::from_microseconds(100));
    let again = destination.delivered(false, &mut Context { now: begin, capacity, rng: &mut rng });
    assert_eq!(again, None, "one report an interval, however many frames");
    let mut times = Vec::new();
    while destination.poll_at() < Time::NEVER {
        let now = destination.poll_at();
        if destination.expire(&mut Context { now, capacity, rng: &mut rng }).is_some() {
            times.push(now);
        }
    }
    assert!(times.windows(2).all(|pair| pair[1].since(pair[0]) == Span::from_microseconds(100)));
    assert_eq!(times.len(), 200, "20 ms of reports");
    let now = milliseconds(50);
    assert!(destination.delivered(false, &mut Context { now, capacity, rng: &mut rng }).is_some());
}

#[test]
fn a_source_that_has_rested_for_just_the_expiry_is_reported_to_once_more() {
    let (ms, mut rng) = (Span::from_milliseconds, rng(1));
    let config = DbpConfig { interval: Some(ms(1)), expiry: Some(ms(2)), ..DbpConfig::default() };
    let mut destination = config.reflector(LINE).unwrap();
    destination.delivered(false, &mut context(Time::ZERO, &mut rng));
    let last_data = destination.poll_at();
    assert!(destination.expire(&mut context(last_data, &mut rng)).is_some());
    destination.delivered(false, &mut context(last_data, &mut rng));
    for (after, reports) in [(1, true), (2, true), (3, false)] {
        let now = last_data + ms(after);
        assert_eq!(destination.poll_at(), now);
        assert_eq!(destination.expire(&mut context(now, &mut rng)).is_some(), reports, "{after} ms");
    }
    assert_eq!(destination.poll_at(), Time::NEVER);
}

#[test]
fn a_source_does_as_it_is_told_and_is_free_or_slow_without_reports() {
    let mut rng = rng(1);
    let decaying = DbpConfig { silence: Silence::Decay, ..DbpConfig::default() };
    let mut free = DbpConfig::default().reaction_point(LINE, Time::ZERO);
    let mut slow = decaying.reaction_point(LINE, Time::ZERO);
    assert_eq!((free.rate_bps(), free.poll_at()), (None, Time::NEVER));
    for (told, rate) in [(2.5e9, Some(2.5e9)), (0.0, Some(1e6)), (1e10, None), (4e6, Some(4e6))] {
        free.receive(&report(told), &mut context(milliseconds(1), &mut rng));
        slow.receive(&report(told), &mut context(milliseconds(1), &mut rng));
        assert_eq!(free.rate_bps(), rate);
    }
    let silent_at = milliseconds(1) + Span::from_microseconds(300);
    assert_eq!((free.poll_at(), slow.poll_at()), (silent_at, silent_at));
    free.expire(&mut context(silent_at, &mut rng));
    assert_eq!((free.rate_bps(), free.poll_at()), (None, Time::NEVER));
    let mut rates = Vec::new();
    while slow.poll_at() < Time::NEVER {
        let now = slow.poll_at();
        slow.expire(&mut context(now, &mut rng));
        rates.extend(slow.rate_bps());
    }
    assert_eq!(rates, [2e6, 1e6]);
}

#[test]
fn a_port_that_counts_divides_what_the_constrained_leave() {
    let mut rng = rng(1);
    let config = DbpConfig { share: ShareMode::Count, ..DbpConfig::default() };
    let mut port = config.congestion_point(CongestionPointId(0), LINE);
    let mut interval = |rates: &[f64], index: u64| {
        let now = Time::ZERO + Span::from_microseconds(100) * (index + 1);
        assert_eq!(port.poll_at(), now);
        let mut lowered = Vec::new();
        for &rate_bps in rates {
            let mut message = report(rate_bps);
            port.backward(&mut message, &mut Context { now, capacity: LINE, rng: &mut rng });
            if let Message::RateReport { rate_bps } = message {
                lowered.push(rate_bps);
            }
        }
        port.expire(75_000, &mut Context { now, capacity: LINE, rng: &mut rng });
        lowered
    };
    // At first all may have all; then 4 Gb/s are held back elsewhere, and two flows share the rest.
    assert_eq!(interval(&[1e10, 1e10, 4e9], 0), [1e10, 1e10, 4e9]);
    assert_eq!(interval(&[1e10, 1e10, 4e9], 1), [3e9, 3e9, 3e9]);
    // 4 Gb/s were more than the share: all three were alike, and each has a third. Two flows take 1 Gb/s each now.
    assert_eq!(interval(&[1e9, 1e9, 1e10], 2), [1e9, 1e9, 1e10 / 3.0]);
    // The third had what they leave. Without it, the next flow may have that, and no less than they have.
    assert_eq!(interval(&[1e9, 1e9, 1e10], 3), [1e9, 1e9, 8e9]);
    assert_eq!(interval(&[1e9, 1e9], 4), [1e9, 1e9]);
    assert_eq!(interval(&[1e10], 5), [9e9]);
}

#[test]
fn flows_through_one_port_share_it_and_its_queue_settles() {
    for share in BOTH {
        let mut network = network(share, &[&[0], &[0], &[0], &[0]]);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[2.5e9; 4], 0.02), "{share:?}: {rates:?}");
        assert!((65_000..85_000).contains(&network.queue_bytes(0)), "{share:?}: {}", network.queue_bytes(0));
    }
}

#[test]
fn a_parking_lot_is_shared_by_the_rule_of_max_min() {
    for share in BOTH {
        let mut network = network(share, &[&[0, 1], &[0, 1], &[0, 1], &[0, 1], &[0], &[1]]);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[2e9; 6], 0.02), "{share:?}: {rates:?}");
    }
}

#[test]
fn counting_is_exact_where_the_shares_of_two_ports_differ() {
    let mut network = network(ShareMode::Count, &[&[0, 1], &[0, 1], &[0, 1], &[0], &[1], &[1]]);
    network.run(Span::from_milliseconds(20));
    let rates = network.measure(Span::from_milliseconds(5));
    assert!(fair_within(&rates, &[2e9, 2e9, 2e9, 4e9, 2e9, 2e9], 0.01), "{rates:?}");
}

#[test]
fn only_the_load_tells_what_a_flow_cannot_use() {
    for (share, fair) in [(ShareMode::Rho, 4.75e9), (ShareMode::Count, 3.6e9)] {
        let mut network = network(share, &[&[0], &[0], &[0]]);
        network.set_demand(0, 5e8);
        network.run(Span::from_milliseconds(20));
        let rates = network.measure(Span::from_milliseconds(5));
        assert!(fair_within(&rates, &[5e8, fair, fair], 0.03), "{share:?}: {rates:?}");
    }
}

proptest! {
    #[test]
    fn a_rate_stays_between_the_minimum_and_the_line(
        // A report, or silence, after this many microseconds.
        told in prop::collection::vec((prop::option::of(-1e9..1e12), 0_u64..1000), 1..20), decays in any::<bool>()
    ) {
        let mut rng = rng(1);
        let silence = if decays { Silence::Decay } else { Silence::Release };
        let mut source = DbpConfig { silence, ..DbpConfig::default() }.reaction_point(LINE, Time::ZERO);
        let mut now = Time::ZERO;
        for (report_bps, wait) in told {
            now += Span::from_microseconds(wait);
            while source.poll_at() <= now {
                let at = source.poll_at();
                source.expire(&mut context(at, &mut rng));
            }
            if let Some(report_bps) = report_bps {
                source.receive(&report(report_bps), &mut context(now, &mut rng));
            }
            prop_assert!(source.rate_bps().is_none_or(|rate_bps| (1e6..1e10).contains(&rate_bps)));
        }
    }
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let field = |config: DbpConfig| config.check(LINE).err().map(|error| error.field);
    let config = DbpConfig::default;
    assert_eq!(field(config()), None);
    assert_eq!(field(DbpConfig { interval: Some(Span::ZERO), ..config() }), Some("interval"));
    let twelve = Some(Span::from_milliseconds(12));
    assert_eq!(field(DbpConfig { expiry: twelve, ..config() }), Some("expiry"));
    let thirty = DbpConfig { interval: Some(Span::from_milliseconds(30)), ..config() };
    assert_eq!(field(thirty.clone()), None);
    assert_eq!(field(DbpConfig { expiry: Some(Span::from_milliseconds(20)), ..thirty }), Some("expiry"));
    for megabits in [2, 53, 100_000] {
        assert_eq!(config().check(Rate::megabits(megabits)), Ok(()));
    }
    assert_eq!(field(DbpConfig { minimum_rate: Rate::megabits(20_000), ..config() }), Some("minimum_rate"));
    assert_eq!(field(DbpConfig { set_point: Bytes(0), ..config() }), Some("set_point"));
    assert_eq!(field(DbpConfig { increase_limit: 1.0, ..config() }), Some("increase_limit"));
    assert_eq!(field(DbpConfig { increase_limit: f64::INFINITY, ..config() }), Some("increase_limit"));
}

#[test]
fn the_bounds_of_times_and_rates_are_these() {
    let field = |config: DbpConfig| config.check(LINE).err().map(|error| error.field);
    let config = DbpConfig::default;
    let (least, ms) = (Span::from_picoseconds(1), Span::from_milliseconds);
    // 1500 B take 12 ms at 1 Mb/s, and as long as the default expiry at 600 kb/s.
    assert_eq!(field(DbpConfig { expiry: Some(ms(12) + least), ..config() }), None);
    for (bits_per_second, expected) in [(600_000, Some("expiry")), (600_001, None)] {
        let minimum_rate = Rate::new(bits_per_second).unwrap();
        assert_eq!(field(DbpConfig { minimum_rate, ..config() }), expected, "{bits_per_second} b/s");
    }
    // A source is active for an interval at least.
    let thirty = DbpConfig { interval: Some(ms(30)), ..config() };
    assert_eq!(field(DbpConfig { expiry: Some(ms(30)), ..thirty.clone() }), None);
    let below = Span::from_picoseconds(ms(30).picoseconds() - 1);
    assert_eq!(field(DbpConfig { expiry: Some(below), ..thirty }), Some("expiry"));
    // 15 KB at 10 Gb/s.
    let twelve = Span::from_microseconds(12);
    assert_eq!(field(DbpConfig { interval: Some(twelve), ..config() }), None);
    let below = Span::from_picoseconds(twelve.picoseconds() - 1);
    assert_eq!(field(DbpConfig { interval: Some(below), ..config() }), Some("interval"));
    let above = Rate::new(LINE.bits_per_second() + 1).unwrap();
    assert_eq!(field(DbpConfig { minimum_rate: LINE, ..config() }), None);
    assert_eq!(field(DbpConfig { minimum_rate: above, ..config() }), Some("minimum_rate"));
    assert_eq!(field(DbpConfig { set_point: Bytes(1), ..config() }), None);
    assert_eq!(field(DbpConfig { increase_limit: 1.0 + f64::EPSILON, ..config() }), None);
}

#[test]
fn a_source_is_active_for_20_ms_or_for_three_longer_intervals() {
    let ms = Span::from_milliseconds;
    for (interval, expiry) in [(None, 20), (Some(6), 20), (Some(7), 21), (Some(30), 90)] {
        assert_eq!(DbpConfig { interval: interval.map(ms), ..DbpConfig::default() }.expiry(LINE), ms(expiry));
    }
    let given = DbpConfig { interval: Some(ms(30)), expiry: Some(ms(31)), ..DbpConfig::default() };
    assert_eq!(given.expiry(LINE), ms(31));
}

#[cfg(feature = "config")]
#[test]
fn it_is_read_from_a_scenario() {
    let config: DbpConfig = toml::from_str("share = 'count'\nsilence = 'decay'\nexpiry = '50 ms'").unwrap();
    assert_eq!((config.share, config.silence), (ShareMode::Count, Silence::Decay));
    assert!(toml::from_str::<DbpConfig>("share = 'sum'").is_err());
}
