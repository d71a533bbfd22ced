//! Controllers that watch the delay, at a bottleneck of 10 Mb/s with a round trip of 40 ms and room for 300 packets.

mod network;

use forebay_tcp::{CongestionControl, LedbatConfig, Sender, Span, TcpConfig, VegasConfig};
use forebay_units::Rate;
use network::{Network, Path, at_seconds};

/// Goodput in Mb/s and mean wait of a packet in ms from 20 to 80 s, and the drops in all.
fn measure(congestion_control: CongestionControl) -> (f64, f64, u64) {
    let config = TcpConfig { congestion_control, sack: true, ..TcpConfig::default() };
    let mut path = Path::delay(Span::from_milliseconds(20));
    path.rate = Some(Rate::megabits(10));
    path.limit = 300;
    let mut network = Network::new(config, path);
    network.keep_log = false;
    network.unlimited();
    network.run_until(at_seconds(20));
    let (acked, waited) = (network.sender.acked_bytes(), network.waited);
    network.run_until(at_seconds(80));
    let packets = (network.sender.acked_bytes() - acked) as f64 / 1460.0;
    let wait_ms = (network.waited - waited).seconds() * 1000.0 / packets;
    (packets * 1460.0 * 8.0 / 60e6, wait_ms, network.queue_drops)
}

#[test]
fn vegas_keeps_alpha_to_beta_segments_in_the_queue() {
    // A packet takes 1.2 ms: two to four of them wait, and slow start stops in time.
    let (goodput, wait_ms, drops) = measure(CongestionControl::Vegas(VegasConfig::default()));
    assert!(goodput > 0.99 * 10.0 * 1460.0 / 1500.0, "{goodput} Mb/s");
    assert!((1.2..=6.0).contains(&wait_ms), "{wait_ms} ms");
    assert_eq!(drops, 0);
}

#[test]
fn ledbat_keeps_the_queue_below_its_target() {
    let (goodput, wait_ms, drops) = measure(CongestionControl::Ledbat(LedbatConfig::default()));
    assert!(goodput > 0.9 * 10.0 * 1460.0 / 1500.0, "{goodput} Mb/s");
    assert!((50.0..=62.0).contains(&wait_ms), "{wait_ms} ms");
    assert_eq!(drops, 0);
}

#[test]
fn ledbat_begins_with_two_segments() {
    // Draft, 4.1; a smaller window that is configured remains.
    for (initial_window_segments, segments) in [(10, 2), (1, 1)] {
        let congestion_control = CongestionControl::Ledbat(LedbatConfig::default());
        let config = TcpConfig { congestion_control, initial_window_segments, ..TcpConfig::default() };
        assert_eq!(Sender::new(&config).congestion_window_bytes(), segments * 1460);
    }
}
