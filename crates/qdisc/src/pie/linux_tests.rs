//! PIE: the rules of Linux's `sch_pie`, each next to the RFC's.

use super::*;
use crate::Ecn;
use crate::pie::controller::{Controller, ControllerState};
use crate::test_support::{LINK, rng};

fn linux() -> PieConfig {
    PieConfig { preset: PiePreset::Linux, ..PieConfig::default() }
}

fn milliseconds(count: u64) -> Span {
    Span::from_milliseconds(count)
}

fn at(count: u64) -> Time {
    Time::ZERO + milliseconds(count)
}

/// A PIE at this probability, after its burst.
fn congested(config: &PieConfig, probability: f64) -> Pie {
    let mut pie = Pie::new(config, LINK, 0).unwrap();
    pie.queue.state =
        ControllerState { probability, delay_before: milliseconds(100), burst_allowance: Span::ZERO, is_quiet: false };
    pie.queue.delay = milliseconds(100);
    pie
}

/// The verdict on a packet of this length that finds this many bytes.
fn verdict(pie: &mut Pie, len_bytes: u32, bytes: u64, rng: &mut rand_pcg::Pcg64Mcg) -> Verdict {
    let arrival = Arrival { len_bytes, ecn: Ecn::Capable0, ..Arrival::default() };
    pie.admit(&arrival, &mut Offer { now: Time::ZERO, backlog: Backlog { packets: 9, bytes }, rng })
}

#[test]
fn the_probability_rises_faster_above_250_ms() {
    let step = |config: &PieConfig, delay: Span| Controller::new(config).step(0.2, delay, delay);
    let long = milliseconds(250);
    let above = long + Span::from_picoseconds(1);
    let base = 0.125 * 0.235;
    for (config, delay, expected) in [
        (PieConfig::default(), above, 0.02),
        (linux(), long, 0.02),
        // In addition to the cap of 2 %.
        (linux(), above, 0.04),
        (PieConfig { cap_adjustment: false, ..linux() }, above, base + 0.02),
    ] {
        assert!((step(&config, delay) - expected).abs() < 1e-9, "{config:?} {delay}");
    }
    assert!((Controller::new(&linux()).step(0.0, above, above) - (base / 2048.0 + 0.02)).abs() < 1e-9);
}

#[test]
fn an_empty_queue_decays_by_a_64th() {
    let state = ControllerState { probability: 0.5, ..ControllerState::quiet(Span::ZERO) };
    let after =
        |config: &PieConfig, is_empty| Controller::new(config).ticks(state, Span::ZERO, is_empty, 1).probability;
    let stepped = 0.5 - 0.125 * 0.015;
    for (config, is_empty, expected) in [
        (PieConfig::default(), true, stepped * 0.98),
        (PieConfig::default(), false, stepped * 0.98),
        (linux(), true, stepped * (63.0 / 64.0)),
        // Packets are queued of which none has left: only the step.
        (linux(), false, stepped),
    ] {
        assert!((after(&config, is_empty) - expected).abs() < 1e-12);
    }
}

#[test]
fn the_law_reports_whether_the_queue_is_empty() {
    // The queue was empty until the arrival, or was not.
    for (packets, expected) in [(0, 0.5 - 0.001_875 - (0.5 - 0.001_875) / 64.0), (3, 0.5 - 0.001_875)] {
        let mut pie = congested(&linux(), 0.5);
        pie.queue.delay = Span::ZERO;
        pie.queue.state.delay_before = Span::ZERO;
        let backlog = Backlog { packets, bytes: 100 * packets };
        pie.admit(&Arrival::default(), &mut Offer { now: at(15), backlog, rng: &mut rng() });
        assert!((pie.probability() - expected).abs() < 1e-12, "{packets}");
    }
    let mut pie = congested(&linux(), 0.5);
    pie.queue.delay = Span::ZERO;
    pie.queue.state.delay_before = Span::ZERO;
    pie.release(Ticket::default(), 100, Backlog::default(), at(15));
    assert!((pie.probability() - (0.5 - 0.001_875)).abs() < 1e-12);
}

#[test]
fn the_burst_allowance_counts_departures() {
    let mut pie = Pie::new(&linux(), LINK, 0).unwrap();
    pie.queue.state.probability = 0.5;
    pie.queue.delay = milliseconds(20);
    pie.queue.state.delay_before = milliseconds(20);
    let busy = Backlog { packets: 9, bytes: 9000 };
    let allowance = |pie: &mut Pie, time: u64| {
        pie.came_at.push_back(at(time - 20));
        pie.release(Ticket::default(), 1000, busy, at(time));
        pie.queue.state.burst_allowance
    };
    // The first departure starts the count; ticks do not count.
    assert_eq!([100, 140, 140, 260].map(|time| allowance(&mut pie, time)), [150, 110, 110, 0].map(milliseconds));
    // A quiet queue starts again, and the time until its next departure does not count.
    pie.queue.state.probability = 0.0;
    pie.queue.delay = Span::ZERO;
    pie.queue.accumulated = 0.5;
    pie.admit(&Arrival::default(), &mut Offer { now: at(400), backlog: Backlog::default(), rng: &mut rng() });
    assert_eq!(pie.queue.accumulated, 0.0);
    assert_eq!([450, 460].map(|time| allowance(&mut pie, time)), [150, 140].map(milliseconds));
}

#[test]
fn the_present_delay_spares_packets() {
    let drops = |config: &PieConfig, delay: u64, delay_before: u64| {
        let mut rng = rng();
        let config = PieConfig { derandomize: Some(false), ..config.clone() };
        let count = |_| {
            let mut pie = congested(&config, 0.19);
            pie.queue.delay = milliseconds(delay);
            pie.queue.state.delay_before = milliseconds(delay_before);
            matches!(verdict(&mut pie, 1000, 90_000, &mut rng), Verdict::Drop(_))
        };
        (0..100).any(count)
    };
    assert_eq!([drops(&linux(), 7, 100), drops(&linux(), 8, 0)], [false, true]);
    assert_eq!([drops(&PieConfig::default(), 0, 8), drops(&PieConfig::default(), 100, 7)], [true, false]);
}

#[test]
fn two_packets_are_enough_for_a_drop() {
    let drops = |config: &PieConfig, bytes: u64| {
        let mut pie = congested(config, 1.0);
        pie.queue.accumulated = 9.0;
        matches!(verdict(&mut pie, 1000, bytes, &mut rng()), Verdict::Drop(_))
    };
    assert_eq!([2999, 3000, 3001].map(|bytes| drops(&linux(), bytes)), [false, true, true]);
    let rfc = PieConfig { derandomize: Some(true), ..PieConfig::default() };
    assert_eq!([2999, 3000, 3001].map(|bytes| drops(&rfc, bytes)), [false, false, true]);
}

#[test]
fn byte_mode_does_not_raise_the_probability_of_long_packets() {
    let grown = |preset, len_bytes| {
        let config = PieConfig { preset, byte_mode: true, derandomize: Some(true), ..PieConfig::default() };
        let mut pie = congested(&config, 0.25);
        verdict(&mut pie, len_bytes, 90_000, &mut rng());
        pie.queue.accumulated
    };
    assert_eq!([750, 1500, 3000].map(|len_bytes| grown(PiePreset::Linux, len_bytes)), [0.125, 0.25, 0.25]);
    assert_eq!([750, 1500, 3000].map(|len_bytes| grown(PiePreset::Rfc, len_bytes)), [0.125, 0.25, 0.5]);
}

#[test]
fn drops_are_spread_out_and_certain_marks_leave_the_sum() {
    // Below 0.85 no number is drawn, by default.
    let mut pie = congested(&linux(), 0.8);
    let mut rng = rng();
    assert!(matches!(verdict(&mut pie, 1000, 90_000, &mut rng), Verdict::Enqueue(_)));
    assert_eq!(pie.queue.accumulated, 0.8);
    let sum_after = |config: &PieConfig, probability: f64, rng: &mut rand_pcg::Pcg64Mcg| {
        let mut pie = congested(config, probability);
        pie.queue.accumulated = 8.5;
        let verdict = verdict(&mut pie, 1000, 90_000, rng);
        (matches!(verdict, Verdict::Mark(..)), pie.queue.accumulated)
    };
    let marking = PieConfig { ecn: true, derandomize: Some(true), ..PieConfig::default() };
    assert_eq!(sum_after(&PieConfig { preset: PiePreset::Linux, ..marking.clone() }, 0.0625, &mut rng), (true, 8.5625));
    assert_eq!(sum_after(&marking, 0.0625, &mut rng), (true, 0.0));
    assert_eq!(sum_after(&PieConfig { preset: PiePreset::Linux, ..marking }, 0.5, &mut rng), (false, 0.0));
    // A mark that was drawn restarts it.
    let config = PieConfig { ecn: true, mark_threshold: 1.0, ..linux() };
    let mut pie = congested(&config, 1.0);
    assert!(matches!(verdict(&mut pie, 1000, 90_000, &mut rng), Verdict::Mark(..)));
    assert_eq!(pie.queue.accumulated, 0.0);
}
