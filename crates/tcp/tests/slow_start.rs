//! Where slow start ends: HyStart and HyStart++ before the buffer overflows, and not without reason.

mod network;

use forebay_tcp::{CongestionControl, CubicArithmetic, CubicConfig, SlowStart, Span, TcpConfig};
use forebay_units::Rate;
use network::{Network, Path, at_ms, at_seconds};

const CUBIC: CongestionControl = CongestionControl::Cubic(CubicConfig {
    beta: 0.7,
    growth: 0.4,
    fast_convergence: true,
    reno_friendly: true,
    arithmetic: CubicArithmetic::Exact,
});

fn config(slow_start: SlowStart) -> TcpConfig {
    TcpConfig { congestion_control: CUBIC, slow_start: Some(slow_start), sack: true, ..TcpConfig::default() }
}

/// A path that holds 167 segments in flight and 200 in the buffer.
fn clean_path() -> Path {
    let mut path = Path::delay(Span::from_milliseconds(50));
    path.rate = Some(Rate::megabits(20));
    path.limit = 200;
    path
}

fn after_four_seconds(config: TcpConfig, path: Path) -> Network {
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_seconds(4));
    network
}

#[test]
fn hystart_ends_before_the_overflow() {
    for delayed_ack in [false, true] {
        let limit = if delayed_ack { 2 } else { 1 };
        let with = |slow_start| TcpConfig { delayed_ack, byte_counting_limit: limit, ..config(slow_start) };
        let standard = after_four_seconds(with(SlowStart::Standard), clean_path());
        assert!(standard.queue_drops > 150, "{}", standard.queue_drops);
        let network = after_four_seconds(with(SlowStart::HyStart), clean_path());
        assert_eq!(network.queue_drops, 0);
        let threshold = network.sender.slow_start_threshold_bytes().expect("slow start has ended") / 1460;
        assert!((80..367).contains(&threshold), "{threshold}");
        assert!(network.sender.acked_bytes() > standard.sender.acked_bytes());
    }
}

#[test]
fn hystart_plus_plus_overflows_less() {
    // Without pacing the delay shows two rounds late: here the buffer is too small for that, and four times as large
    // is enough to overflow by the growth of conservative slow start only.
    let mut drops = [0, 0];
    for (slow_start, drops) in [SlowStart::Standard, SlowStart::HyStartPlusPlus].into_iter().zip(&mut drops) {
        let mut path = clean_path();
        path.limit = 800;
        *drops = after_four_seconds(config(slow_start), path).queue_drops;
    }
    println!("{drops:?}");
    assert!(drops[1] < drops[0] / 2, "{drops:?}");
}

#[test]
fn goes_on_where_nothing_fills() {
    // Neither delay nor trains: all segments of a window go and come back at one moment.
    for slow_start in [SlowStart::HyStart, SlowStart::HyStartPlusPlus] {
        let path = Path::delay(Span::from_microseconds(500));
        let mut network = Network::new(config(slow_start), path);
        network.unlimited();
        network.run_until(at_ms(100));
        assert_eq!(network.sender.slow_start_threshold_bytes(), None, "{slow_start:?}");
        assert_eq!(network.sender.congestion_window_bytes(), 4096 * 1460);
    }
}

#[test]
fn a_train_of_half_a_round_trip_ends_hystart() {
    // ACKs 1 ms apart on a path of 60 ms: the round that begins with 32 segments ends as the path is full.
    let mut path = Path::delay(Span::from_milliseconds(30));
    path.rate = Some(Rate::megabits(12));
    let config = TcpConfig { initial_window_segments: 2, ..config(SlowStart::HyStart) };
    let network = after_four_seconds(config, path);
    let threshold = network.sender.slow_start_threshold_bytes().expect("the train is long") / 1460;
    assert!((60..=64).contains(&threshold), "{threshold}");
}

#[test]
fn cubic_has_hystart_unless_told_otherwise() {
    let cubic = TcpConfig { congestion_control: CUBIC, ..TcpConfig::default() };
    assert_eq!(cubic.slow_start(), SlowStart::HyStart);
    assert_eq!(TcpConfig { slow_start: Some(SlowStart::Standard), ..cubic }.slow_start(), SlowStart::Standard);
    assert_eq!(TcpConfig::default().slow_start(), SlowStart::Standard);
}
