//! A sender with SACK during loss recovery: the reduction of the window, and the bound that applies.

mod network;

use forebay_tcp::{Bytes, RateReduction, Span, TcpConfig};
use forebay_units::Rate;
use network::{Network, Path, at_ms};

const WINDOW: u32 = 20;
const DELAY: Span = Span::from_milliseconds(50);
/// A segment takes 4 ms, so that a window of 20 takes 80 ms of the round trip of 104 ms.
const RATE: Rate = Rate::megabits(2);

/// When new segments go out between the news of a loss and that of its repair, in milliseconds since the former; 20
/// segments in flight, and the first of all lost.
fn sent_in_recovery(rate_reduction: RateReduction, max_window_segments: u32) -> Vec<u64> {
    let config = TcpConfig {
        sack: true,
        rate_reduction: Some(rate_reduction),
        handshake: false,
        initial_window_segments: WINDOW,
        max_window_segments,
        max_congestion_window_segments: Some(WINDOW),
        segment: Bytes(1000),
        header: Bytes(0),
        limited_transmit: false,
        ..TcpConfig::default()
    };
    let path = Path { rate: Some(RATE), ..Path::delay(DELAY).losing_first_transmissions(&[1]) };
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_ms(400));
    let known = network.retransmissions()[0].at;
    let told = known + Span::from_milliseconds(104);
    let new = network.log.iter().filter(|sent| !sent.segment.retransmission && sent.at > known && sent.at < told);
    new.map(|sent| sent.at.since(known).picoseconds() / 1_000_000_000).collect()
}

#[test]
fn all_rules_send_as_much_but_only_at_once_leaves_a_gap() {
    // An ACK comes each 4 ms. Half of the window is left: at first nothing, or something at each second ACK.
    let at_once = [32, 36, 40, 44, 48, 52, 56, 60, 64];
    let halving = [8, 16, 24, 32, 40, 48, 56, 60, 64];
    let proportional = [4, 12, 20, 28, 36, 40, 48, 60, 64];
    assert_eq!(sent_in_recovery(RateReduction::AtOnce, 1000), at_once);
    assert_eq!(sent_in_recovery(RateReduction::RateHalving, 1000), halving);
    assert_eq!(sent_in_recovery(RateReduction::Proportional, 1000), proportional);
}

#[test]
fn a_bound_of_the_congestion_window_alone_leaves_room_during_recovery() {
    for rule in [RateReduction::AtOnce, RateReduction::RateHalving, RateReduction::Proportional] {
        assert!(sent_in_recovery(rule, WINDOW).is_empty());
        assert_eq!(sent_in_recovery(rule, 1000).len(), 9);
    }
}
