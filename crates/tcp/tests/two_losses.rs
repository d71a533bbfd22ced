//! Losses in two successive windows of data lower the window twice (RFC 5681, section 4.3), by any recovery that sends
//! the second one again before the first is over.

mod network;

use forebay_tcp::{Bytes, CongestionControl, Segment, Span, TcpConfig};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_seconds};

const SEGMENT: u64 = 1000;
const ROUND_TRIP: Span = Span::from_milliseconds(100);

fn config(rack: bool) -> TcpConfig {
    TcpConfig {
        congestion_control: CongestionControl::Reno,
        segment: Bytes(SEGMENT),
        header: Bytes(0),
        initial_window_segments: 40,
        initial_ssthresh_segments: Some(2),
        sack: true,
        rack,
        tail_loss_probe: false,
        timestamps: false,
        min_rto: Span::from_milliseconds(200),
        ..TcpConfig::default()
    }
}

/// A second of transmission. Each entry of `lost` loses its segment once.
fn run(config: TcpConfig, mut lost: Vec<u64>) -> Network {
    let is_lost = move |_: usize, segment: &Segment| {
        let found = lost.iter().position(|&index| segment.seq == 1 + index * SEGMENT && !segment.syn);
        match found {
            Some(place) => {
                lost.remove(place);
                Fate::Drop
            }
            None => Fate::Pass,
        }
    };
    let path = Path { rate: Some(Rate::megabits(100)), ..Path::delay(ROUND_TRIP / 2) }.with_segment_fate(is_lost);
    let mut network = Network::new(config, path);
    network.unlimited();
    network.run_until(at_seconds(1));
    network
}

/// Reductions, and the window in segments after a second.
fn outcome(network: &Network) -> (u64, u64) {
    (network.sender.counters().fast_recoveries, network.sender.congestion_window_bytes() / SEGMENT)
}

/// Segment 20 is found lost when about 63 are sent, which is the recovery point. Segments 45 and 57 are below it.
#[test]
fn a_loss_above_the_recovery_point_that_was_sent_again_lowers_the_window_once_more() {
    for rack in [true, false] {
        // 40 to 20 to 10 segments, and four round trips of growth.
        for lost in [[20, 57, 62], [20, 57, 66], [20, 57, 70], [20, 57, 75], [20, 45, 62], [20, 45, 70], [20, 57, 85]] {
            assert_eq!(outcome(&run(config(rack), lost.to_vec())), (2, 14), "{lost:?}, RACK {rack}");
        }
        // All below the recovery point: one window of data.
        for lost in [[20, 45, 57], [20, 21, 40], [20, 40, 59]] {
            let (reductions, window) = outcome(&run(config(rack), lost.to_vec()));
            assert!(reductions == 1 && window >= 25, "{lost:?}, RACK {rack}: {reductions}, {window}");
        }
    }
}

/// A loss that has arrived before the recovery ends is no reason for another, as in Linux (`lost_out`).
#[test]
fn a_loss_above_the_recovery_point_that_has_arrived_meanwhile_does_not() {
    // Segment 20 is lost three times, so that the recovery takes three round trips; 66 is repaired in one.
    let patient = TcpConfig { min_rto: Span::from_seconds(1), ..config(true) };
    let network = run(patient, vec![20, 20, 20, 66]);
    assert_eq!(network.retransmissions().len(), 4);
    assert_eq!(network.sender.counters().timeouts, 0);
    assert_eq!(outcome(&network).0, 1);
}
