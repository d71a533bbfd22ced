//! Explicit congestion notification (RFC 3168), end to end.

mod network;

use forebay_tcp::{Bytes, CongestionControl, EcnFeedback, EcnFloor, Segment, Span, TcpConfig, Time};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_ms, at_seconds};

const DELAY: Span = Span::from_milliseconds(50);

fn config() -> TcpConfig {
    TcpConfig { ecn: true, ..TcpConfig::default() }
}

fn run(config: TcpConfig, fate: impl FnMut(usize, &Segment) -> Fate + 'static, end: Time) -> Network {
    let mut network = Network::new(config, Path::delay(DELAY).with_segment_fate(fate));
    network.unlimited();
    network.run_until(end);
    network
}

#[test]
fn is_agreed_on_in_the_handshake() {
    let network = run(config(), |_, _| Fate::Pass, at_seconds(1));
    let syn = network.log[0].segment;
    assert!(syn.syn && syn.ecn_setup && !syn.ect);
    assert!(network.acks[0].1.syn && network.acks[0].1.ece);
    assert!(network.log[1..].iter().all(|sent| sent.segment.ect));
    // A mark that never was is not echoed.
    assert!(network.acks[1..].iter().all(|(_, ack)| !ack.ece));
}

#[test]
fn one_mark_halves_the_window_once() {
    let network = run(config(), |n, _| if n == 15 { Fate::Mark } else { Fate::Pass }, at_ms(450));
    assert_eq!(network.sender.counters().ecn_reductions, 1);
    assert_eq!(network.sender.counters().segments_retransmitted, 0);
    // The receiver echoes until the one CWR arrives, on new data.
    let reductions_told: Vec<_> = network.log.iter().filter(|sent| sent.segment.cwr).collect();
    assert_eq!(reductions_told.len(), 1);
    let echoes: Vec<Time> = network.acks.iter().skip(1).filter(|(_, ack)| ack.ece).map(|&(at, _)| at).collect();
    assert!(echoes.len() > 1);
    assert!(*echoes.last().unwrap() <= reductions_told[0].at + DELAY);
}

#[test]
fn marks_on_everything_reduce_once_each_round_trip() {
    let initial = TcpConfig { initial_window_segments: 64, ..config() };
    let network = run(initial, |_, segment| if segment.ect { Fate::Mark } else { Fate::Pass }, at_ms(1050));
    // The first echo comes after two round trips; from then on one reduction for each.
    assert_eq!(network.sender.counters().ecn_reductions, 9);
    assert_eq!(network.sender.congestion_window_bytes(), 2 * 1460);
}

#[test]
fn marks_on_everything_leave_one_segment_where_that_is_the_floor() {
    let initial = TcpConfig { initial_window_segments: 64, ecn_floor: EcnFloor::OneSegment, ..config() };
    let network = run(initial, |_, segment| if segment.ect { Fate::Mark } else { Fate::Pass }, at_ms(1050));
    assert_eq!(network.sender.congestion_window_bytes(), 1460);
    // One segment each round trip.
    let last: Vec<Time> = network.log.iter().rev().take(3).map(|sent| sent.at).collect();
    assert_eq!(last[0].since(last[1]), DELAY + DELAY);
}

/// RFC 3168, 6.1.2: at one segment, a marked one makes the sender wait for its timer; that is no loss.
#[test]
fn marks_at_one_segment_leave_one_segment_each_timeout() {
    let config = TcpConfig { min_rto: Span::from_seconds(1), ecn_floor: EcnFloor::Timer, ..config() };
    let always = |_: usize, segment: &Segment| if segment.ect { Fate::Mark } else { Fate::Pass };
    let network = run(config, always, at_seconds(20));
    let last: Vec<Time> = network.log.iter().rev().take(4).map(|sent| sent.at).collect();
    for pair in last.windows(2) {
        // The echo arrives after a round trip and restarts the timer.
        assert_eq!(pair[0].since(pair[1]), DELAY + DELAY + Span::from_seconds(1));
    }
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.segments_retransmitted), (0, 0));
    // Once the marks stop, the window opens again.
    let network = run(
        TcpConfig { min_rto: Span::from_seconds(1), ecn_floor: EcnFloor::Timer, ..self::config() },
        |n, segment| if segment.ect && n < 30 { Fate::Mark } else { Fate::Pass },
        at_seconds(40),
    );
    assert!(network.sender.congestion_window_bytes() > 20 * 1460);
}

/// ns-2 2.35, every packet of one Reno flow marked: it sends at a window of one, waits for the timer, and each further
/// mark doubles it. The send times are those of its trace (45 Mb/s, 30 ms, packets of 1040 bytes, an ACK of 40).
#[test]
fn marks_at_small_windows_slow_down_as_in_ns2() {
    let config = TcpConfig {
        congestion_control: CongestionControl::Reno,
        segment: Bytes(1040),
        header: Bytes(40),
        ecn: true,
        ..TcpConfig::ns2(20)
    };
    let rate = Rate::megabits(45);
    let path = Path { rate: Some(rate), ..Path::delay(Span::from_milliseconds(30)) };
    let mut network = Network::new(config, path.with_segment_fate(|_, _| Fate::Mark));
    network.unlimited();
    network.run_until(at_seconds(30));
    let times: Vec<f64> = network.log.iter().map(|sent| sent.at.seconds()).collect();
    let expected = [0.0, 0.060, 0.060, 0.120, 0.381, 0.841, 1.701, 3.361, 6.621, 13.082, 25.942];
    assert_eq!(times.len(), expected.len(), "{times:?}");
    for (&at, expected) in times.iter().zip(expected) {
        assert!((at - expected).abs() < 1e-3, "{at} for {expected}");
    }
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.segments_retransmitted), (0, 0));
}

/// Once the marks stop, the timeout is what it was and the window opens.
#[test]
fn an_ack_without_echo_ends_the_doubling_as_in_ns2() {
    let config = TcpConfig { ecn: true, ..TcpConfig::ns2(20) };
    let fate = |n: usize, _: &Segment| if n < 5 { Fate::Mark } else { Fate::Pass };
    let network = run(config, fate, at_seconds(8));
    assert_eq!(network.sender.round_trip().timeout(), Span::from_milliseconds(200));
    assert_eq!(network.sender.congestion_window_bytes(), 20_000);
}

#[test]
fn retransmissions_are_ecn_capable_in_ns2_only() {
    for (ecn_retransmissions, sent_capable) in [(false, 0), (true, 1)] {
        let lost = |n: usize, _: &Segment| if n == 9 { Fate::Drop } else { Fate::Pass };
        let network = run(TcpConfig { ecn_retransmissions, ..config() }, lost, at_seconds(1));
        let resent = network.retransmissions();
        assert_eq!(resent.len(), 1);
        assert_eq!(resent.iter().filter(|sent| sent.segment.ect).count(), sent_capable);
    }
}

/// A reduction to whole segments, as ns-2 before 2006 had it.
#[test]
fn a_mark_may_leave_whole_segments_only() {
    for (whole_segment_reduction, window) in [(false, 5.5), (true, 5.0)] {
        let initial = TcpConfig {
            initial_window_segments: 11,
            initial_ssthresh_segments: Some(2),
            segment: Bytes(1040),
            ..config()
        };
        let config = TcpConfig { whole_segment_reduction, ..initial };
        let network = run(config, |n, _| if n == 1 { Fate::Mark } else { Fate::Pass }, at_ms(205));
        assert_eq!(network.sender.congestion_window_bytes(), (window * 1000.0) as u64);
    }
}

#[test]
fn the_echo_survives_lost_acks() {
    let mut network = Network::new(
        config(),
        Path::delay(DELAY).with_segment_fate(|n, _| if n == 5 { Fate::Mark } else { Fate::Pass }),
    );
    // Of the ACKs that follow the mark, the next five are lost.
    network.path.ack_is_lost = Box::new(|n, _| (5..10).contains(&n));
    network.unlimited();
    network.run_until(at_seconds(1));
    assert_eq!(network.sender.counters().ecn_reductions, 1);
}

/// RFC 9768, appendix A.2: nine ACKs are lost, and the next reports ten packets. The counter modulo 8 is where it was,
/// or a turn further; the counter of bytes decides.
#[test]
fn with_accurate_feedback_lost_acks_are_no_marks_where_the_option_counts_bytes() {
    let reductions = |ecn_option, marked: core::ops::Range<usize>| {
        let feedback = TcpConfig { ecn_feedback: Some(EcnFeedback::Accurate), ecn_option, ..config() };
        let initial = TcpConfig { initial_window_segments: 20, initial_ssthresh_segments: Some(20), ..feedback };
        let fate = move |n, _: &Segment| if marked.contains(&n) { Fate::Mark } else { Fate::Pass };
        let mut network = Network::new(initial, Path::delay(DELAY).with_segment_fate(fate));
        network.path.ack_is_lost = Box::new(|n, _| (5..14).contains(&n));
        network.unlimited();
        network.run_until(at_ms(280));
        let acks = &network.acks[1..];
        assert!(acks.len() > 10 && acks.iter().all(|(_, ack)| ack.marked_bytes.is_some() == ecn_option));
        network.sender.counters().ecn_reductions
    };
    assert_eq!([true, false].map(|option| reductions(option, 0..0)), [0, 1]);
    // Eight marks are a whole turn.
    assert_eq!([true, false].map(|option| reductions(option, 6..14)), [1, 1]);
}

#[test]
fn a_loss_and_a_mark_in_one_window_reduce_once() {
    for (marked, lost) in [(3, 8), (8, 3)] {
        let fate = move |n, segment: &Segment| match n {
            _ if n == marked => Fate::Mark,
            _ if n == lost && !segment.retransmission => Fate::Drop,
            _ => Fate::Pass,
        };
        let initial = TcpConfig { initial_window_segments: 20, ..config() };
        let network = run(initial, fate, at_ms(260));
        assert_eq!(network.sender.counters().fast_recoveries, 1);
        // Two ACKs had opened the window to 22 before.
        assert_eq!(network.sender.slow_start_threshold_bytes().map(|bytes| bytes / 1460), Some(11), "{marked} {lost}");
    }
}

/// RFC 3168, 6.1.2: one reduction for each window of data. The mark reduces for the first 23 segments, and the loss of
/// segment 15, one of them, is recovered without a reduction. The loss of segment 24 is one of the next window.
#[test]
fn a_loss_above_what_a_mark_has_reduced_for_lowers_the_window_once_more() {
    let base = TcpConfig {
        initial_window_segments: 20,
        initial_ssthresh_segments: Some(2),
        handshake: false,
        congestion_control: CongestionControl::Reno,
        ..config()
    };
    let sack = TcpConfig { sack: true, ..base.clone() };
    let newreno = TcpConfig { congestion_control: CongestionControl::NewReno, ..base.clone() };
    let rack = TcpConfig { rack: true, ..sack.clone() };
    for (name, config) in [("Reno", base), ("NewReno", newreno), ("RFC 6675", sack), ("RACK", rack)] {
        for (lost, reductions) in [([15, 15], 1), ([15, 24], 2)] {
            let fate = move |_: usize, segment: &Segment| match segment.seq / 1460 {
                3 => Fate::Mark,
                index if lost.contains(&index) && !segment.retransmission => Fate::Drop,
                _ => Fate::Pass,
            };
            let network = run(config.clone(), fate, at_ms(950));
            let counters = network.sender.counters();
            assert_eq!((counters.ecn_reductions, counters.timeouts), (1, 0), "{name}");
            assert_eq!(counters.fast_recoveries, reductions, "{name}: {lost:?}");
            let threshold = network.sender.slow_start_threshold_bytes().unwrap() / 1460;
            assert_eq!(threshold < 9, reductions == 2, "{name}: {lost:?}: {threshold}");
        }
    }
}

#[test]
fn what_is_sent_again_is_not_ecn_capable_and_carries_no_cwr() {
    let fate = |n, _: &Segment| match n % 17 {
        3 => Fate::Mark,
        9 => Fate::Drop,
        _ => Fate::Pass,
    };
    let network = run(config(), fate, at_seconds(20));
    let resent = network.retransmissions();
    assert!(resent.len() > 10);
    assert!(resent.iter().all(|sent| !sent.segment.ect && !sent.segment.cwr));
    assert!(network.log.iter().any(|sent| sent.segment.cwr));
}

#[test]
fn in_ns2_a_retransmission_ends_the_echo() {
    // A mark leaves a window of one of two, and the segment that follows is lost. The retransmission signals the
    // reduction, so the receiver's echo, which required no further reduction, ends.
    let acks_with_echo = |ecn_retransmissions| {
        let base = TcpConfig { ecn: true, ecn_retransmissions, handshake: false, ..TcpConfig::ns2(2) };
        let fate = |n, _: &Segment| match n {
            10 => Fate::Mark,
            11..=13 => Fate::Drop,
            _ => Fate::Pass,
        };
        let network = run(base, fate, at_seconds(10));
        let resent = network.retransmissions();
        assert!(!resent.is_empty());
        assert_eq!(resent.iter().any(|sent| sent.segment.cwr), ecn_retransmissions);
        network.acks.iter().filter(|(_, ack)| ack.ece).count()
    };
    assert!(acks_with_echo(true) < acks_with_echo(false));
}
