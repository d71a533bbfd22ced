//! QUIC's recovery (RFC 9002), end to end.

mod network;

use forebay_tcp::{
    Bbr3Config, BbrConfig, CongestionControl, CubicConfig, RecoveryKind, Segment, Span, TcpConfig, Time,
};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_ms};

const DELAY: Span = Span::from_milliseconds(50);

fn config() -> TcpConfig {
    TcpConfig {
        recovery: RecoveryKind::Quic,
        sack: true,
        dsack: true,
        timestamps: true,
        handshake: false,
        ..TcpConfig::default()
    }
}

/// The bytes of so many full segments, and the first number of the one after them.
fn segments(count: u64) -> u64 {
    count * u64::from(config().payload_bytes())
}

fn start(index: u64) -> u64 {
    1 + segments(index)
}

/// A sender that has opened with so many segments to send, and does not close.
fn opened(config: TcpConfig, count: u64, fate: impl FnMut(usize, &Segment) -> Fate + 'static) -> Network {
    let mut network = Network::new(config, Path::delay(DELAY).with_segment_fate(fate));
    network.drive_sender(|sender, now, out| {
        sender.open(now, out);
        sender.write(segments(count), now, out);
    });
    network
}

/// Drops the segments for which this holds.
fn losing(mut is_lost: impl FnMut(usize, &Segment) -> bool) -> impl FnMut(usize, &Segment) -> Fate {
    move |n, segment| if is_lost(n, segment) { Fate::Drop } else { Fate::Pass }
}

/// The retransmissions with their times.
fn resent(network: &Network) -> Vec<(u64, Time)> {
    network.retransmissions().iter().map(|sent| (sent.segment.seq, sent.at)).collect()
}

fn microseconds(time: u64) -> Time {
    Time::ZERO + Span::from_microseconds(time)
}

/// Section 6.1.1: three later packets. Section 6.1.2: with fewer, 9/8 of the round trip of 100 ms, by the timer.
#[test]
fn a_loss_is_found_by_three_later_packets_or_by_time() {
    for (behind, found_at) in [(9, at_ms(100)), (3, at_ms(100)), (2, microseconds(112_500)), (1, microseconds(112_500))]
    {
        let mut network = opened(config(), 1 + behind, losing(|n, _| n == 0));
        network.run_until(Time::NEVER);
        assert!(network.sender.is_finished());
        assert_eq!(resent(&network), [(1, found_at)], "{behind}");
        let counters = network.sender.counters();
        assert_eq!((counters.timeouts, counters.probes, counters.fast_recoveries), (0, 0, 1));
    }
}

/// Section 6.2.2: without a sample, 333 + 4 x 166.5 ms, and 25 ms for a delayed ACK. Section 6.2.1: then the double.
/// Section 6.2.4: two segments each time, the oldest ones without new data. Section 7.5: beyond the window, which
/// stays. A delivered probe shows what is lost.
#[test]
fn probes_back_off_and_leave_the_window_alone() {
    let mut network = opened(config(), 3, losing(|_, segment| segment.sent < at_ms(3000)));
    network.run_until(at_ms(3171));
    let probes = [(start(0), at_ms(1024)), (start(1), at_ms(1024)), (start(0), at_ms(3072)), (start(1), at_ms(3072))];
    assert_eq!(resent(&network), probes);
    assert_eq!(network.sender.congestion_window_bytes(), segments(10));
    assert_eq!(network.sender.slow_start_threshold_bytes(), None);
    assert_eq!(network.sender.counters().fast_recoveries, 0);
    network.run_until(Time::NEVER);
    // The third segment's loss follows from the ACK of the sixth packet.
    assert_eq!(resent(&network)[4..], [(start(2), at_ms(3172))]);
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes, counters.fast_recoveries), (0, 4, 1));
    // The samples are those of the probes (section 5.1), not of what they repeat.
    assert_eq!(network.sender.round_trip().smoothed(), Some(Span::from_milliseconds(100)));
    assert_eq!(network.sender.deadline(), Time::NEVER);
}

/// Section 6.2.1: the maximum delay of an ACK is that of the receiver.
#[test]
fn the_probe_timeout_includes_the_delay_of_an_ack() {
    let delayed = TcpConfig { delayed_ack: true, delayed_ack_timeout: Span::from_milliseconds(40), ..config() };
    let mut network = opened(delayed, 1, losing(|n, _| n == 0));
    network.run_until(Time::NEVER);
    assert_eq!(network.log[1].at, at_ms(1039));
}

/// Section 6.2.4: new data where there is some.
#[test]
fn a_probe_prefers_new_data() {
    let mut network = opened(config(), 20, losing(|n, _| n < 10));
    network.run_until(Time::NEVER);
    assert!(network.sender.is_finished());
    let at_1024: Vec<_> = network.log.iter().filter(|sent| sent.at == at_ms(1024)).map(|s| s.segment.seq).collect();
    assert_eq!(at_1024, [start(10), start(11)]);
    let counters = network.sender.counters();
    assert_eq!((counters.timeouts, counters.probes, counters.fast_recoveries), (0, 2, 1));
    assert_eq!(network.retransmissions().len(), 10);
}

/// A probe whose original had arrived is no loss: the D-SACK shows it.
#[test]
fn a_lost_ack_is_not_a_loss() {
    let mut network = opened(config(), 2, |_, _| Fate::Pass);
    network.path.ack_is_lost = Box::new(|n, _| n < 2);
    network.run_until(Time::NEVER);
    let counters = network.sender.counters();
    assert_eq!((counters.probes, counters.fast_recoveries), (2, 0));
    assert_eq!(network.sender.slow_start_threshold_bytes(), None);
    // The same without D-SACK: only the transmission that the ACK answers is known to have arrived.
    let mut network = opened(TcpConfig { dsack: false, ..config() }, 2, |_, _| Fate::Pass);
    network.path.ack_is_lost = Box::new(|n, _| n < 2);
    network.run_until(Time::NEVER);
    assert_eq!(network.sender.counters().fast_recoveries, 1);
}

/// Section 7.3.2: one reduction in a recovery period. The loss of what was sent after its start begins another one.
#[test]
fn losses_of_a_period_reduce_the_window_once() {
    for (lost, again, reductions) in [(vec![0], 0, 1), (vec![0, 1, 4, 9], 0, 1), (vec![0], 1, 2), (vec![0], 2, 3)] {
        let mut again = again;
        let is_lost = move |n: usize, segment: &Segment| {
            let is_first_again = segment.retransmission && again > 0;
            again -= usize::from(is_first_again);
            lost.contains(&n) || is_first_again
        };
        let mut network = opened(config(), 60, losing(is_lost));
        network.run_until(Time::NEVER);
        assert!(network.sender.is_finished());
        let counters = network.sender.counters();
        assert_eq!((counters.timeouts, counters.fast_recoveries), (0, reductions));
    }
}

/// Section 7.6: everything is lost over more than three probe timeouts, of 100 ms, a deviation of 1 ms and 25 ms each.
/// The window of 1000 ms is lost and, at 1126, 1378 and 1882 ms, the probes that leave before the end.
#[test]
fn persistent_congestion_leaves_two_segments() {
    let limited = TcpConfig { max_window_segments: 20, ..config() };
    for (dark_until, is_persistent) in [(1200, false), (1600, false), (2000, true), (4000, true)] {
        let is_dark = move |_: usize, segment: &Segment| (at_ms(1000)..at_ms(dark_until)).contains(&segment.sent);
        let path = Path::delay(DELAY).with_segment_fate(losing(is_dark));
        let mut network = Network::new(limited.clone(), path);
        network.unlimited();
        let mut least = u64::MAX;
        for ms in 1000..8000 {
            network.run_until(at_ms(ms));
            least = least.min(network.sender.congestion_window_bytes());
        }
        // The ACK of the second probe comes at the same time, and opens the window by one.
        assert_eq!(least <= segments(3), is_persistent, "{dark_until}: {least}");
        assert_eq!(network.sender.counters().timeouts, 0);
        // Half of what was in flight, 20 segments less those that the first ACK covers.
        assert!(network.sender.slow_start_threshold_bytes() >= Some(segments(9)));
    }
}

/// Controllers that measure delivery run with it.
#[test]
fn bbr_runs_with_it() {
    let bbr = CongestionControl::Bbr(BbrConfig::default());
    let config = TcpConfig { congestion_control: bbr, max_window_segments: 400, ..config() };
    let mut path = Path::delay(DELAY).with_segment_fate(losing(|n, _| n % 50 == 17));
    (path.rate, path.limit) = (Some(Rate::megabits(10)), 100);
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_ms(10_000));
    // 10 Mb/s are 12.5 MB in 10 s.
    let arrived = network.receiver.delivered_bytes();
    assert!(arrived > 10_000_000, "{arrived}");
    assert_eq!(network.sender.counters().timeouts, 0);
}

/// Bounds of picoquic's tests of a QUIC sender at 10 Mb/s: one-way delay and buffer in milliseconds, megabytes, an
/// interval without any arrival, and the time by which the transfer is over.
#[test]
fn transfers_end_as_soon_as_picoquics() {
    let cubic = CongestionControl::Cubic(CubicConfig::default());
    let bbr3 = CongestionControl::Bbr3(Bbr3Config::default());
    for (controller, delay_ms, buffer_ms, megabytes, dark, ends_by) in
        [(cubic, 10, 20, 4, 0..0, 3500), (bbr3.clone(), 10, 20, 4, 0..0, 3500), (bbr3, 15, 30, 10, 5000..7000, 15_000)]
    {
        let config = TcpConfig { congestion_control: controller.clone(), handshake: true, ..config() };
        let is_dark = move |_: usize, segment: &Segment| dark.contains(&(segment.sent.picoseconds() / 1_000_000_000));
        let mut path = Path::delay(Span::from_milliseconds(delay_ms)).with_segment_fate(losing(is_dark));
        // A packet of 1500 B takes 1.2 ms.
        (path.rate, path.limit) = (Some(Rate::megabits(10)), buffer_ms * 10 / 12);
        let mut network = Network::new(config, path);
        network.transfer(megabytes * 1_000_000);
        network.run_until(Time::NEVER);
        assert!(network.sender.is_finished());
        assert!(network.now <= at_ms(ends_by), "{controller:?}: {:?}", network.now);
    }
}
