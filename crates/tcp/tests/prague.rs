//! Both forms of Prague on a path of 40 Mb/s with a queue that marks from 1 ms on.

mod network;

use forebay_tcp::{CongestionControl, PragueConfig, PragueForm, Span, TcpConfig};
use forebay_units::Rate;
use network::{Network, Path, at_seconds};

/// The rate of the payload, with headers of 52 B in 1500 B.
const PAYLOAD_MBPS: f64 = 40.0 * 1448.0 / 1500.0;
/// Packets that take 1 ms, and the one in transmission.
const STEP: usize = 4;

/// The share of the rate that is used and the mean queue in packets, from second 20 to 60.
fn measure(form: PragueForm, round_trip_ms: u64) -> (f64, f64) {
    let config = PragueConfig { form, ..PragueConfig::default() };
    let tcp = TcpConfig { ecn: true, congestion_control: CongestionControl::Prague(config), ..TcpConfig::linux() };
    let delay = Span::from_microseconds(500 * round_trip_ms);
    let path = Path { rate: Some(Rate::megabits(40)), limit: 2000, mark_from: STEP, ..Path::delay(delay) };
    let mut network = Network::new(tcp, path);
    network.keep_log = false;
    network.unlimited();
    network.run_until(at_seconds(20));
    let (acked, waited, drops) = (network.sender.acked_bytes(), network.waited, network.queue_drops);
    network.run_until(at_seconds(60));
    assert_eq!(network.queue_drops, drops);
    let goodput = (network.sender.acked_bytes() - acked) as f64 * 8e-6 / 40.0;
    (goodput / PAYLOAD_MBPS, (network.waited - waited).seconds() / 40.0)
}

#[test]
fn both_forms_fill_the_path_with_a_short_queue() {
    // At 80 ms the first burst is marked: the reduced window is in force at once, so that it counts as used.
    for form in [PragueForm::Window, PragueForm::Rate] {
        for round_trip_ms in [1, 5, 20, 80] {
            let (share, queue) = measure(form, round_trip_ms);
            // Fast growth of the form with a rate overshoots where the round trip is long.
            let least = if form == PragueForm::Rate && round_trip_ms == 80 { 0.85 } else { 0.98 };
            assert!(share >= least && queue < 4.0, "{form:?}, {round_trip_ms} ms: {share}, {queue} packets");
        }
    }
}
