//! Recovery with forward acknowledgement: lost retransmissions are found, and the first overshoot is that of ns-2.

mod network;

use forebay_tcp::{CongestionControl, Segment, Span, TcpConfig};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_ms, at_seconds};

const SEGMENT: u64 = 1000;

/// The behaviour of ns-2's TCP/Linux, with a window of `window` segments from the beginning.
fn plain(window: u32) -> TcpConfig {
    TcpConfig {
        initial_window_segments: window,
        initial_ssthresh_segments: Some(2),
        timer_granularity: Span::from_milliseconds(10),
        ..TcpConfig::ns2_linux(1000)
    }
}

/// The number of the first byte of the segment `index`, from 0.
fn start(index: u64) -> u64 {
    1 + index * SEGMENT
}

/// Loses the segment `index` the first `times` times that it is sent.
fn losing(index: u64, times: usize) -> Path {
    let mut sent = 0;
    Path { rate: Some(Rate::megabits(10)), ..Path::delay(Span::from_milliseconds(20)) }.with_segment_fate(
        move |_, segment: &Segment| {
            let is_hit = segment.seq == start(index) && sent < times;
            sent += usize::from(is_hit);
            if is_hit { Fate::Drop } else { Fate::Pass }
        },
    )
}

fn run(config: TcpConfig, path: Path) -> Network {
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_seconds(2));
    network
}

#[test]
fn a_segment_is_lost_when_the_fourth_above_it_has_arrived() {
    let network = run(plain(20), losing(3, 1));
    let again: Vec<_> = network.retransmissions();
    assert_eq!(again.iter().map(|sent| sent.segment.seq).collect::<Vec<_>>(), [start(3)]);
    // The bottleneck takes 0.8 ms for a segment, seven of them up to segment 7, and 32 us for an ACK.
    assert_eq!(again[0].at, at_ms(40) + Span::from_microseconds(5_632));
    // RFC 6675 acts on the third.
    let rfc = run(TcpConfig { fack: false, ..plain(20) }, losing(3, 1));
    assert_eq!(rfc.retransmissions()[0].at, at_ms(40) + Span::from_microseconds(4_832));
}

#[test]
fn a_retransmission_lost_three_times_needs_no_timeout() {
    let network = run(plain(20), losing(3, 4));
    assert_eq!(network.sender.counters().timeouts, 0);
    let again: Vec<u64> = network.retransmissions().iter().map(|sent| sent.segment.seq).collect();
    assert_eq!(again, [start(3); 4]);
    // One reduction, because it is one recovery.
    assert_eq!(network.sender.counters().fast_recoveries, 1);
    let rfc = run(TcpConfig { fack: false, duplicate_acks_restart_timer: false, ..plain(20) }, losing(3, 4));
    assert!(rfc.sender.counters().timeouts >= 3);
}

#[test]
fn while_duplicates_come_the_timer_starts_anew() {
    // The first retransmission is lost; RFC 6675 does not find out, and continues with new data, each ACK a duplicate.
    let timeouts = |duplicate_acks_restart_timer| {
        let config = TcpConfig { fack: false, duplicate_acks_restart_timer, ..plain(20) };
        run(config, losing(3, 2)).sender.counters().timeouts
    };
    assert_eq!((timeouts(false), timeouts(true)), (1, 0));
}

#[test]
fn a_timeout_forgets_nothing_and_resends_what_is_missing() {
    // Of a window of 20 only segment 2 arrives, which makes room for one more.
    let path = Path::delay(Span::from_milliseconds(20)).with_segment_fate(|_, segment: &Segment| {
        let index = (segment.seq - 1) / SEGMENT;
        if !segment.retransmission && index <= 20 && index != 2 { Fate::Drop } else { Fate::Pass }
    });
    let config = TcpConfig { initial_rto: Span::from_milliseconds(300), ..plain(20) };
    let network = run(config, path);
    let again: Vec<u64> = network.retransmissions().iter().map(|sent| (sent.segment.seq - 1) / SEGMENT).collect();
    assert_eq!(network.sender.counters().timeouts, 1);
    let expected: Vec<u64> = (0..=20).filter(|&index| index != 2).collect();
    assert_eq!(again, expected);
}

/// Packets that the first 10 s drop: slow start up to the first loss, and its recovery.
fn first_overshoot(control: CongestionControl, buffer: usize) -> u64 {
    let config = TcpConfig { congestion_control: control, ..TcpConfig::ns2_linux(1000) };
    let mut path = Path::delay(Span::from_milliseconds(20));
    path.rate = Some(Rate::megabits(10));
    path.limit = buffer;
    let mut network = Network::new(config, path);
    network.keep_log = false;
    network.unlimited();
    network.run_until(at_seconds(10));
    assert_eq!(network.sender.counters().timeouts, 0);
    network.queue_drops
}

/// The threshold that BIC and CUBIC leave is beyond the capacity of path and buffer, so retransmissions are lost
/// repeatedly. In ns-2 2.35 it loses 4106 and 4070 packets in the first 10 s, whereas RFC 6675 falls silent and loses
/// 422 and
/// 385. How many exactly depends on single packets: without the access link that ns-2's flow had, which makes 3895 and
/// 3851 of it (`make validate`), about half.
#[test]
fn the_first_overshoot_drops_thousands_as_in_ns2() {
    for control in [CongestionControl::LinuxBic, CongestionControl::Linux26Cubic] {
        let drops = first_overshoot(control.clone(), 100);
        assert!((2000..5000).contains(&drops), "{control:?}: {drops}");
    }
}
