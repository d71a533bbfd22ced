//! One long flow through a drop-tail bottleneck, against ns-2 2.35 (10 Mb/s, 40 ms, 20 to 320 s).

mod network;

use forebay_tcp::{CongestionControl, Span, TcpConfig};
use forebay_units::Rate;
use network::{Network, Path, at_seconds};

struct Measured {
    goodput_mbps: f64,
    drops: u64,
    mean_queue: f64,
}

fn measure(congestion_control: CongestionControl, sack: bool, buffer: usize) -> Measured {
    let config = TcpConfig { congestion_control, sack, ..TcpConfig::ns2(1000) };
    let mut path = Path::delay(Span::from_milliseconds(20));
    path.rate = Some(Rate::megabits(10));
    path.limit = buffer;
    let mut network = Network::new(config, path);
    network.keep_log = false;
    network.unlimited();
    network.run_until(at_seconds(20));
    let (acked, drops, waited) = (network.sender.acked_bytes(), network.queue_drops, network.waited);
    network.run_until(at_seconds(320));
    Measured {
        goodput_mbps: (network.sender.acked_bytes() - acked) as f64 * 8.0 / 300e6,
        drops: network.queue_drops - drops,
        mean_queue: (network.waited - waited).seconds() / 300.0,
    }
}

fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let ratio = measured / expected;
    println!("{what}: {measured:.3}, ns-2 {expected}, ratio {ratio:.3}");
    assert!((ratio - 1.0).abs() <= tolerance, "{what}: {measured} is not within {tolerance} of ns-2's {expected}");
}

fn assert_like_ns2(name: &str, control: CongestionControl, sack: bool, buffer: usize, expected: (f64, f64, f64)) {
    let measured = measure(control, sack, buffer);
    assert_near(&format!("{name}, {buffer} packets, goodput in Mb/s"), measured.goodput_mbps, expected.0, 0.03);
    assert_near(&format!("{name}, {buffer} packets, drops"), measured.drops as f64, expected.1, 0.15);
    assert_near(&format!("{name}, {buffer} packets, mean queue"), measured.mean_queue, expected.2, 0.08);
}

#[test]
fn reno_fills_a_small_buffer_like_ns2() {
    assert_like_ns2("Reno", CongestionControl::Reno, false, 10, (8.557, 213.0, 2.08));
}

#[test]
fn reno_fills_a_full_buffer_like_ns2() {
    assert_like_ns2("Reno", CongestionControl::Reno, false, 50, (9.997, 94.0, 27.23));
}

#[test]
fn newreno_fills_a_small_buffer_like_ns2() {
    assert_like_ns2("NewReno", CongestionControl::NewReno, false, 10, (8.555, 214.0, 2.09));
}

#[test]
fn newreno_fills_a_full_buffer_like_ns2() {
    assert_like_ns2("NewReno", CongestionControl::NewReno, false, 50, (9.997, 94.0, 27.23));
}

#[test]
fn sack_fills_a_small_buffer_like_ns2() {
    assert_like_ns2("SACK", CongestionControl::NewReno, true, 10, (8.548, 213.0, 2.08));
}

#[test]
fn sack_fills_a_full_buffer_like_ns2() {
    assert_like_ns2("SACK", CongestionControl::NewReno, true, 50, (9.994, 94.0, 27.22));
}

#[test]
fn linux_cubic_fills_a_small_buffer_like_ns2() {
    assert_like_ns2("Linux CUBIC", CongestionControl::Linux26Cubic, true, 10, (9.968, 181.0, 5.07));
}

#[test]
fn linux_cubic_fills_a_full_buffer_like_ns2() {
    assert_like_ns2("Linux CUBIC", CongestionControl::Linux26Cubic, true, 50, (10.0, 122.0, 42.58));
}

#[test]
fn linux_bic_fills_a_small_buffer_like_ns2() {
    assert_like_ns2("Linux BIC", CongestionControl::LinuxBic, true, 10, (9.922, 1322.0, 3.90));
}

#[test]
fn linux_bic_fills_a_full_buffer_like_ns2() {
    assert_like_ns2("Linux BIC", CongestionControl::LinuxBic, true, 50, (10.0, 173.0, 44.58));
}
