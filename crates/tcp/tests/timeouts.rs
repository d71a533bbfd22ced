//! The response to lost SYNs and to timeouts, by the RFCs and as Linux.

mod network;

use forebay_tcp::{Segment, Span, TcpConfig, Time};
use network::{Fate, Network, Path, at_ms, at_seconds};

const DELAY: Span = Span::from_milliseconds(50);

/// A connection of which the first `lost` SYNs are lost, when the handshake is through, and the time then.
fn after_lost_syns(config: TcpConfig, lost: usize) -> Network {
    let path = Path::delay(DELAY).with_segment_fate(move |n, _| if n < lost { Fate::Drop } else { Fate::Pass });
    let mut network = Network::new(config, path);
    network.unlimited();
    // SYNs go out at 0, 1 and 3 s.
    network.run_until(at_ms([100, 1100, 3100][lost]));
    network
}

/// RFC 5681, 3.1, and RFC 6298, 5.7; Linux's `tcp_init_transfer` and `tcp_init_metrics`. The echo of the SYN that
/// arrived gives a sample of 100 ms. The timeout adds four deviations of 50 ms.
#[test]
fn one_lost_syn_costs_linux_a_second_and_the_rfcs_their_initial_window() {
    let linux = TcpConfig::linux();
    let untimed = TcpConfig { timestamps: false, ..TcpConfig::linux() };
    let by_rfc = TcpConfig::rfc();
    for (config, lost, segments, timeout_ms) in [
        (&linux, 0, 10, 300),
        (&linux, 1, 10, 300),
        (&linux, 2, 1, 300),
        (&untimed, 0, 10, 300),
        (&untimed, 1, 10, 3000),
        (&by_rfc, 0, 10, 1000),
        (&by_rfc, 1, 1, 3000),
    ] {
        let network = after_lost_syns(config.clone(), lost);
        let payload = u64::from(config.payload_bytes());
        assert_eq!(network.sender.congestion_window_bytes() / payload, segments, "{lost}, {config:?}");
        let timeout = network.sender.round_trip().timeout();
        assert_eq!(timeout, Span::from_milliseconds(timeout_ms), "{lost}, {config:?}");
    }
}

/// The retransmission is lost, and nothing else arrives. Only in Linux the threshold is still that of the recovery.
#[test]
fn a_timeout_in_a_recovery_reduces_the_threshold_again_except_in_linux() {
    for (config, again) in [(TcpConfig::linux(), false), (TcpConfig::rfc(), true)] {
        let config = TcpConfig { handshake: false, delayed_ack: false, tail_loss_probe: false, ..config };
        let payload = u64::from(config.payload_bytes());
        // The first segment is lost until the timeout, and so is all that is sent after the first flight.
        let is_lost = move |n: usize, segment: &Segment| {
            let is_lost = segment.seq == 0 || segment.seq == 1 && n < 40 || segment.seq > 20 * payload;
            if is_lost && segment.sent < at_seconds(1) { Fate::Drop } else { Fate::Pass }
        };
        let initial = TcpConfig { initial_window_segments: 20, ..config };
        let mut network = Network::new(initial, Path::delay(DELAY).with_segment_fate(is_lost));
        network.unlimited();
        network.run_until(at_ms(150));
        let in_recovery = network.sender.slow_start_threshold_bytes().unwrap();
        assert_eq!(network.sender.counters().fast_recoveries, 1);
        while network.sender.counters().timeouts == 0 {
            network.run_until(network.now + Span::from_milliseconds(1));
            assert!(network.now < Time::ZERO + Span::from_seconds(5));
        }
        assert_eq!(network.sender.slow_start_threshold_bytes().unwrap() < in_recovery, again);
    }
}
