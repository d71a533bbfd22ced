//! CUBIC on a path without a bottleneck, against the formulas of RFC 9438.

mod network;

use forebay_tcp::{CongestionControl, CubicConfig, SlowStart, Span, TcpConfig};
use network::{Fate, Network, Path, at_ms, at_seconds};

const ROUND_TRIP_MS: u64 = 100;

/// Mean window, in segments, of a flow that loses each `distance`-th new segment.
fn mean_window(cubic: CubicConfig, distance: u64) -> f64 {
    let config = TcpConfig {
        congestion_control: CongestionControl::Cubic(cubic),
        slow_start: Some(SlowStart::Standard),
        sack: true,
        max_window_segments: 100_000,
        // Near the expected window, so that no time is spent on coming down from the first slow start.
        initial_ssthresh_segments: Some(expected_window(&cubic, distance) as u32),
        ..TcpConfig::default()
    };
    let mut sent = 0;
    let path = Path::delay(Span::from_milliseconds(ROUND_TRIP_MS / 2)).with_segment_fate(move |_, segment| {
        sent += u64::from(!segment.retransmission);
        if !segment.retransmission && sent % distance == 0 { Fate::Drop } else { Fate::Pass }
    });
    let mut network = Network::new(config, path);
    network.keep_log = false;
    network.unlimited();
    network.run_until(at_seconds(100));
    let before = network.sender.acked_bytes();
    network.run_until(at_seconds(600));
    let rounds = 500.0 * 1000.0 / ROUND_TRIP_MS as f64;
    (network.sender.acked_bytes() - before) as f64 / f64::from(network.config.payload_bytes()) / rounds
}

/// RFC 9438, figure 6: the mean window without Reno-friendly region.
fn expected_window(cubic: &CubicConfig, distance: u64) -> f64 {
    let factor = cubic.growth * (3.0 + cubic.beta) / (4.0 * (1.0 - cubic.beta));
    libm::pow(factor, 0.25) * libm::pow(ROUND_TRIP_MS as f64 / 1000.0 * distance as f64, 0.75)
}

#[test]
fn the_window_is_back_after_k() {
    for sack in [false, true] {
        let config = TcpConfig {
            congestion_control: CongestionControl::Cubic(CubicConfig {
                reno_friendly: false,
                ..CubicConfig::default()
            }),
            slow_start: Some(SlowStart::Standard),
            initial_ssthresh_segments: Some(200),
            initial_window_segments: 200,
            sack,
            ..TcpConfig::default()
        };
        // The first segment of all is lost, one round trip is the handshake, one reports the loss, one repairs it.
        let path = Path::delay(Span::from_milliseconds(ROUND_TRIP_MS / 2)).losing_first_transmissions(&[1]);
        let mut network = Network::new(config, path);
        network.unlimited();
        network.run_until(at_ms(3 * ROUND_TRIP_MS - 50));
        let segments = |network: &Network| network.sender.congestion_window_bytes() as f64 / 1460.0;
        network.run_until(at_ms(4 * ROUND_TRIP_MS));
        assert!((140.0..160.0).contains(&segments(&network)), "{}", segments(&network));
        // K = cbrt(60 / 0.4) = 5.31 s: at the turning point the window is flat, 2 s on it is 0.4 * 2^3 above.
        network.run_until(at_ms(3 * ROUND_TRIP_MS + 5313));
        assert!((segments(&network) - 200.0).abs() < 0.5, "{}", segments(&network));
        network.run_until(at_ms(3 * ROUND_TRIP_MS + 7313));
        assert!((segments(&network) - 203.2).abs() < 0.8, "{}", segments(&network));
        assert_eq!(network.sender.counters().timeouts, 0);
    }
}

#[test]
fn the_mean_window_is_about_that_of_the_rfc() {
    // The RFC's table 1 for C = 0.4 and 100 ms. The formula has the loss fall on the turning point; but the window is
    // so flat there that a maximum a tenth larger or smaller keeps itself nearly as well.
    for (beta, distance, in_table) in [(0.7, 10_000, Some(187.0)), (0.7, 100_000, Some(1054.0)), (0.8, 10_000, None)] {
        let config = CubicConfig { beta, reno_friendly: false, fast_convergence: false, ..CubicConfig::default() };
        let expected = expected_window(&config, distance);
        assert!(in_table.is_none_or(|in_table: f64| (expected - in_table).abs() < 0.7), "{expected}");
        let ratio = mean_window(config, distance) / expected;
        println!("a loss every {distance}: {ratio:.3} of {expected:.1} segments");
        assert!((ratio - 1.0).abs() < 0.12, "{ratio}");
    }
}
