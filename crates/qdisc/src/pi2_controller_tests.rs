//! The controller of PI2: gains, steps, ticks that are made up for, and the choice of packets.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::test_support::rng;

/// The base probability in Linux's units.
const UNITS: f64 = 4_294_967_296.0;

fn linux() -> Pi2Config {
    Pi2Config::default()
}

fn rfc() -> Pi2Config {
    Pi2Config { preset: Pi2Preset::Rfc, ..linux() }
}

fn milliseconds(count: u64) -> Span {
    Span::from_milliseconds(count)
}

fn controller(config: &Pi2Config) -> Pi2Controller {
    Pi2Controller::new(config).unwrap()
}

/// The probabilities after ticks with these delays, in milliseconds.
fn course(config: &Pi2Config, delays: &[u64]) -> Vec<f64> {
    let mut controller = controller(config);
    delays
        .iter()
        .map(|delay| {
            controller.tick(milliseconds(*delay));
            controller.probability()
        })
        .collect()
}

fn linux_gains(config: &Pi2Config) -> (u64, u64) {
    match controller(config).gains {
        Gains::Linux { alpha, beta } => (alpha, beta),
        Gains::Rfc { .. } => panic!("not Linux's"),
    }
}

/// A gain as `tc` shows it (`dualpi2_unscale_alpha_beta`).
fn shown(gain: u64) -> f64 {
    (((gain * NANOSECONDS_PER_SECOND) << 2) / 0xffff_ffff) as f64 / GAINS_PER_HZ
}

#[test]
fn gains_are_those_of_linux() {
    assert_eq!(linux_gains(&linux()), (44, 879));
    assert_eq!([shown(44), shown(879)], [0.15625, 3.195_312_5]);
    // `tc ... alpha 0.16 beta 3.2` rounds down before the kernel does.
    assert_eq!(linux_gains(&Pi2Config { alpha: Some(0.16), beta: Some(3.2), ..linux() }), (42, 879));
    assert_eq!(linux_gains(&Pi2Config { alpha: Some(1.0 / 256.0), ..linux() }).0, 1);
    // 25/256 in single precision, a little less in double precision.
    assert_eq!(linux_gains(&Pi2Config { alpha: Some(0.097_656_249_999), ..linux() }).0, linux_gain(25));
}

#[test]
fn gains_follow_from_round_trip_times_as_in_tc() {
    let with = |typical: Option<u64>, max: Option<u64>| Pi2Config {
        typical_rtt: typical.map(Span::from_microseconds),
        max_rtt: max.map(Span::from_microseconds),
        ..linux()
    };
    // tc-testing: 20 and 200 ms.
    let given = with(Some(20_000), Some(200_000));
    assert_eq!(linux_gains(&given), (linux_gain(12), linux_gain(384)));
    assert_eq!(linux_gains(&given), (12, 412));
    assert_eq!([shown(12), shown(412)], [11.0 / 256.0, 383.0 / 256.0]);
    let times = |config: &Pi2Config| {
        let Design { target, update_interval, .. } = config.design().unwrap();
        (target, update_interval)
    };
    assert_eq!(times(&given), (milliseconds(20), milliseconds(20)));
    // With 0.3 of double precision it would be 3839.
    assert_eq!(linux_gains(&with(None, Some(20_000))).1, linux_gain(3840));
    // A sixth or six times the other; the period is at most a third, in whole microseconds.
    assert_eq!(times(&with(None, Some(100_001))), (Span::from_microseconds(16_666), Span::from_microseconds(16_666)));
    let from_typical = with(Some(1000), None).design().unwrap();
    let both = with(Some(1000), Some(6000)).design().unwrap();
    assert_eq!([from_typical.alpha_hz, from_typical.beta_hz], [both.alpha_hz, both.beta_hz]);
    assert_eq!(times(&with(Some(50_000), Some(100_000))), (milliseconds(50), Span::from_microseconds(33_333)));
    assert_eq!(times(&with(Some(1), Some(2))).1, Span::from_microseconds(1));
    // Given values take precedence.
    let given = Pi2Config { target: Some(milliseconds(5)), beta: Some(1.0), ..given };
    assert_eq!(times(&given), (milliseconds(5), milliseconds(20)));
    assert_eq!(linux_gains(&given), (12, linux_gain(256)));
}

#[test]
fn gains_of_the_rfc() {
    let design = |config: &Pi2Config| {
        let Design { target, update_interval, alpha_hz, beta_hz } = config.design().unwrap();
        (target, update_interval, alpha_hz, beta_hz)
    };
    let (target, update_interval, alpha, beta) = design(&rfc());
    assert_eq!((target, update_interval), (milliseconds(15), milliseconds(15)));
    assert!((alpha - 0.15).abs() < 1e-12 && (beta - 3.0).abs() < 1e-12, "{alpha} {beta}");
    let short = Pi2Config { max_rtt: Some(milliseconds(30)), ..rfc() };
    let (target, update_interval, alpha, beta) = design(&short);
    assert_eq!((target, update_interval), (milliseconds(15), milliseconds(10)));
    assert!((alpha - 1.0 / 0.9).abs() < 1e-12 && (beta - 10.0).abs() < 1e-12, "{alpha} {beta}");
    let typical = Pi2Config { typical_rtt: Some(milliseconds(10)), ..rfc() };
    assert_eq!((design(&typical).0, design(&typical).3), (milliseconds(10), 5.0));
    let target = Pi2Config { target: Some(milliseconds(5)), ..typical };
    assert_eq!((design(&target).0, design(&target).1), (milliseconds(5), milliseconds(5)));
}

#[test]
fn steps_are_those_of_linux() {
    let expected = [0.0, 0.064_756_0, 0.065_556_4, 0.099_935_3, 0.051_968_5, 0.035_179_3];
    let course = course(&linux(), &[0, 20, 20, 30, 15, 10]);
    assert_eq!(course[1] * UNITS, 278_125_000.0);
    for (found, expected) in course.iter().zip(expected) {
        assert!((found - expected).abs() < 5e-8, "{found} instead of {expected}");
    }
    let p = course[1];
    assert!((2.0 * p - 0.129_512).abs() < 5e-7 && (p * p - 4.193e-3).abs() < 5e-7);
}

#[test]
fn steps_are_those_of_the_rfc() {
    let expected = [0.0, 0.060_75, 0.061_5, 0.093_75, 0.048_75, 0.033];
    for (found, expected) in course(&rfc(), &[0, 20, 20, 30, 15, 10]).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }
}

#[test]
fn steps_of_linux_are_rounded_towards_zero() {
    let mut controller = controller(&Pi2Config {
        alpha: Some(1.0 / 256.0),
        beta: Some(1.0 / 256.0),
        target: Some(Span::from_microseconds(1)),
        ..linux()
    });
    let mut step = |delay_ns: u64, before_ns: u64| {
        controller.delay_before = Span::from_nanoseconds(before_ns);
        controller.step(Span::from_picoseconds(delay_ns * 1000 + 999)) * UNITS
    };
    // Both gains are 1: the sum of both differences in nanoseconds, over 64.
    assert_eq!([step(1063, 1063), step(1064, 1064), step(1127, 1127), step(1128, 1128)], [0.0, 1.0, 1.0, 2.0]);
    assert_eq!([step(937, 937), step(936, 936), step(873, 873), step(872, 872)], [0.0, -1.0, -1.0, -2.0]);
    assert_eq!([step(1000, 1064), step(1064, 1000)], [-1.0, 2.0]);
}

#[test]
fn the_base_probability_is_held_at_its_ends() {
    let most = |config: &Pi2Config| {
        let mut controller = controller(config);
        // Linux cuts such a step to 32 bits.
        controller.tick(Span::from_seconds(3));
        controller.probability() * UNITS
    };
    assert_eq!(most(&linux()), UNITS - 1.0);
    assert_eq!(most(&rfc()), UNITS);
    let mut down = controller(&linux());
    down.probability = 0.5;
    down.delay_before = Span::from_seconds(3);
    down.tick(Span::ZERO);
    assert_eq!(down.probability(), 0.0);
    // Without drops on overload the coupled probability stays below 1.
    for (k, expected) in
        [(1.0, 4_294_967_295.0), (2.0, 2_147_483_647.0), (3.0, 1_431_655_765.0), (2.5, 1_717_986_918.0)]
    {
        for config in [linux(), rfc()] {
            let config = Pi2Config { coupling_factor: k, drop_on_overload: false, ..config };
            assert_eq!(most(&config), expected, "k = {k}");
            let mut capped = controller(&config);
            capped.probability = capped.most;
            assert!(!capped.is_overloaded() && capped.coupled() < 1.0);
        }
    }
}

#[test]
fn overload_begins_where_the_coupled_probability_reaches_1() {
    let mut controller = controller(&linux());
    for (units, overloaded, coupled) in
        [(2_147_483_647.0, false, 4_294_967_294.0 / UNITS), (2_147_483_648.0, true, 1.0), (4_294_967_295.0, true, 1.0)]
    {
        controller.probability = units / UNITS;
        assert_eq!((controller.is_overloaded(), controller.coupled()), (overloaded, coupled));
    }
}

#[test]
fn ticks_see_the_age_of_the_head() {
    let mut controller = controller(&linux());
    let came_at = Time::ZERO + milliseconds(10);
    controller.catch_up(Time::ZERO + milliseconds(16) - Span::from_picoseconds(1), Some(came_at));
    assert_eq!(controller.delay_before, Span::ZERO);
    // A tick at the time of the call comes first.
    controller.catch_up(Time::ZERO + milliseconds(16), Some(came_at));
    assert_eq!(controller.delay_before, milliseconds(6));
    controller.catch_up(Time::ZERO + milliseconds(50), Some(came_at));
    assert_eq!((controller.delay_before, controller.next_tick), (milliseconds(38), Time::ZERO + milliseconds(64)));
    let found = controller.probability();
    let expected = course(&linux(), &[6, 22, 38])[2];
    assert_eq!(found, expected);
    controller.catch_up(Time::ZERO + milliseconds(70), None);
    assert_eq!(controller.delay_before, Span::ZERO);
}

proptest! {
    #[test]
    fn missed_ticks_are_made_up_for_exactly(
        is_rfc in any::<bool>(),
        drop_on_overload in any::<bool>(),
        target_us in 1_u64..20_000,
        per_target in 1_u64..1000,
        alpha in 0.004_f64..3.0,
        beta in 0.004_f64..9.0,
        // Gaps between changes of the head, and whether there is one then.
        changes in prop::collection::vec((0_u64..400_000, prop::option::of(0_u64..100_000)), 1..8),
    ) {
        let config = Pi2Config {
            preset: if is_rfc { Pi2Preset::Rfc } else { Pi2Preset::Linux },
            target: Some(Span::from_microseconds(target_us)),
            update_interval: Some(Span::from_microseconds((target_us / per_target).max(20))),
            alpha: Some(alpha),
            beta: Some(beta),
            drop_on_overload,
            ..linux()
        };
        let mut lazy = controller(&config);
        let mut eager = controller(&config);
        let mut now = Time::ZERO;
        for (gap_us, waited_us) in changes {
            // The packet at the head came before the last change.
            let before = |waited: u64| Time::from_picoseconds(now.picoseconds().saturating_sub(waited * 1_000_000));
            let head = waited_us.map(before);
            now += Span::from_microseconds(gap_us);
            lazy.catch_up(now, head);
            while eager.next_tick <= now {
                let at = eager.next_tick;
                eager.tick(head.map_or(Span::ZERO, |head| at.since(head)));
                eager.next_tick = at + eager.update_interval;
            }
            prop_assert_eq!(lazy.probability(), eager.probability());
            prop_assert_eq!(lazy.delay_before, eager.delay_before);
            prop_assert_eq!(lazy.next_tick, eager.next_tick);
        }
    }
}

#[test]
fn the_probability_may_fall_again_while_the_delay_is_below_the_target() {
    let gains = Pi2Config { alpha: Some(1.0), beta: Some(1.0), ..linux() };
    let mut lazy = controller(&Pi2Config { update_interval: Some(milliseconds(1)), ..gains });
    lazy.set_probability(lazy.most);
    lazy.next_tick = Time::ZERO + milliseconds(12);
    let mut eager = lazy.clone();
    // A long queue is new at the first tick, and grows slowly then.
    [12, 13, 14].into_iter().for_each(|delay| eager.tick(milliseconds(delay)));
    lazy.catch_up(Time::ZERO + milliseconds(14), Some(Time::ZERO));
    assert!(lazy.probability() < lazy.most);
    assert_eq!(lazy.probability(), eager.probability());
}

#[test]
fn a_long_wait_takes_few_ticks() {
    // 3 * 10^13 ticks each, which no loop would end.
    for head in [None, Some(Time::ZERO)] {
        for config in [linux(), rfc()] {
            let period = Span::from_microseconds(20);
            let config = Pi2Config { update_interval: Some(period), target: Some(milliseconds(1)), ..config };
            let mut controller = controller(&config);
            controller.probability = 0.25;
            controller.catch_up(Time::ZERO + Span::from_seconds(9_000_000), head);
            let expected = if head.is_some() { controller.most } else { 0.0 };
            assert_eq!(controller.probability(), expected);
        }
    }
}

#[test]
fn packets_are_chosen_with_their_probability() {
    let mut rng = rng();
    let share = |draw: Pi2Draw, probability: f64, squared: bool, rng: &mut dyn Rng| {
        let mut choice = Choice::new(draw);
        let chosen = (0..100_000).filter(|_| match squared {
            true => choice.falls_squared(probability, rng),
            false => choice.falls(probability, rng),
        });
        chosen.count() as f64 / 1e5
    };
    for draw in [Pi2Draw::Random, Pi2Draw::Recur] {
        for probability in [0.1, 0.5, 0.9] {
            let (single, squared) =
                (share(draw, probability, false, &mut rng), share(draw, probability, true, &mut rng));
            assert!((single - probability).abs() < 0.006, "{draw:?} {probability}: {single}");
            assert!((squared - probability * probability).abs() < 0.006, "{draw:?} {probability}: {squared}");
        }
        assert_eq!(share(draw, 0.0, false, &mut rng), 0.0);
        // The sum reaches 1 with the first and exceeds it with the second packet.
        let all = share(draw, 1.0, false, &mut rng);
        assert_eq!(all, if draw == Pi2Draw::Random { 1.0 } else { 0.99999 });
    }
}

#[test]
fn recurring_choices_have_regular_gaps() {
    let mut rng = rng();
    let mut choice = Choice::new(Pi2Draw::Recur);
    let chosen: Vec<u32> = (1..=20).filter(|_| choice.falls(0.25, &mut rng)).collect();
    // More than 1, not at least 1: the first comes a packet later.
    assert_eq!(chosen, vec![5, 9, 13, 17]);
    assert_eq!(choice.sum, 1.0);
    let mut choice = Choice::new(Pi2Draw::Recur);
    let chosen: Vec<u32> = (1..=20).filter(|_| choice.falls_squared(0.5, &mut rng)).collect();
    assert_eq!(chosen, vec![5, 9, 13, 17]);
}

#[test]
fn bounds_are_checked() {
    let us = Span::from_microseconds;
    for (config, field) in [
        (Pi2Config { target: Some(Span::ZERO), ..linux() }, "target"),
        (Pi2Config { update_interval: Some(Span::from_nanoseconds(999)), ..linux() }, "update_interval"),
        (Pi2Config { update_interval: Some(us(14)), ..linux() }, "update_interval"),
        (Pi2Config { alpha: Some(0.0039), ..linux() }, "alpha"),
        (Pi2Config { alpha: Some(f64::NAN), ..rfc() }, "alpha"),
        (Pi2Config { beta: Some(8_388_608.0), ..rfc() }, "beta"),
        (Pi2Config { typical_rtt: Some(us(11)), max_rtt: Some(us(10)), ..linux() }, "typical_rtt"),
        (Pi2Config { typical_rtt: Some(Span::ZERO), ..linux() }, "typical_rtt"),
        (Pi2Config { max_rtt: Some(Span::from_nanoseconds(999)), ..rfc() }, "max_rtt"),
        // The gains are rounded down to nothing.
        (Pi2Config { max_rtt: Some(Span::from_seconds(5)), ..linux() }, "max_rtt"),
        (Pi2Config { typical_rtt: Some(Span::from_seconds(5)), ..linux() }, "typical_rtt"),
        (Pi2Config { max_rtt: Some(Span::from_seconds(400_000)), ..rfc() }, "max_rtt"),
        (Pi2Config { update_interval: Some(Span::from_seconds(1_000_000)), ..rfc() }, "update_interval"),
        (Pi2Config { coupling_factor: 0.99, ..linux() }, "coupling_factor"),
        (Pi2Config { coupling_factor: 256.0, ..linux() }, "coupling_factor"),
    ] {
        assert_eq!(Pi2Controller::new(&config).map(|_| ()).unwrap_err().field, field, "{config:?}");
    }
    for config in [
        Pi2Config { update_interval: Some(us(15)), ..linux() },
        Pi2Config { alpha: Some(1.0 / 256.0), beta: Some(8_388_607.0), ..linux() },
        Pi2Config { coupling_factor: 255.0, alpha: Some(1e-6), ..rfc() },
        Pi2Config { max_rtt: Some(Span::from_seconds(4)), ..linux() },
        Pi2Config { typical_rtt: Some(us(10)), max_rtt: Some(us(10)), ..linux() },
    ] {
        assert!(Pi2Controller::new(&config).is_ok(), "{config:?}");
    }
}
