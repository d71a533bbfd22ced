//! BBR version 3 through a drop-tail bottleneck, end to end. The scenarios are among those that draft-ietf-ccwg-bbr
//! prescribes.

mod network;

use forebay_tcp::{Bbr3Config, Bbr3Rules, CongestionControl, Span, TcpConfig};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_seconds};

const RULES: [Bbr3Rules; 2] = [Bbr3Rules::Linux, Bbr3Rules::Draft];

fn config(rules: Bbr3Rules) -> TcpConfig {
    let bbr3 = Bbr3Config { rules, ..Bbr3Config::default() };
    TcpConfig { congestion_control: CongestionControl::Bbr3(bbr3), ..TcpConfig::linux() }
}

/// A path of this rate, round trip in milliseconds, and queue in packets.
fn path(rate: Rate, round_trip_ms: u64, limit: usize) -> Path {
    Path { rate: Some(rate), limit, ..Path::delay(Span::from_milliseconds(round_trip_ms) / 2) }
}

/// An unlimited transfer, ready to run.
fn start(rules: Bbr3Rules, path: Path) -> Network {
    let mut network = Network::new(config(rules), path);
    network.keep_log = false;
    network.sender.introduce(|| 7, String::new);
    network.unlimited();
    network
}

struct Measured {
    /// The share of the link's rate that payload takes.
    utilization: f64,
    drops: u64,
    /// The mean queue, in seconds of the link.
    queue: f64,
}

/// The measurements between these times in seconds.
fn measure(network: &mut Network, from: u64, to: u64) -> Measured {
    network.run_until(at_seconds(from));
    let (acked, drops, waited) = (network.sender.acked_bytes(), network.queue_drops, network.waited);
    network.run_until(at_seconds(to));
    let bytes = (network.sender.acked_bytes() - acked) as f64;
    let rate = network.path.rate.expect("a bottleneck").bytes_per_second();
    let packets = bytes / f64::from(network.config.payload_bytes());
    Measured {
        utilization: bytes / rate / (to - from) as f64,
        drops: network.queue_drops - drops,
        queue: (network.waited - waited).seconds() / packets,
    }
}

#[test]
fn a_flow_fills_the_link_with_a_short_queue() {
    for rules in RULES {
        for limit in [17, 34, 340] {
            let mut network = start(rules, path(Rate::megabits(10), 40, limit));
            let measured = measure(&mut network, 5, 60);
            let Measured { utilization, drops, queue } = measured;
            println!("{rules:?}, {limit} packets: {utilization:.3}, {drops} drops, {queue:.4} s");
            assert!(utilization > 0.9, "{rules:?} {limit}: {utilization}");
            assert!(queue < 0.012, "{rules:?} {limit}: {queue}");
            assert!(drops < 200, "{rules:?} {limit}: {drops}");
            assert_eq!(network.sender.counters().timeouts, 0);
        }
    }
}

#[test]
fn random_loss_of_one_percent_leaves_the_rate() {
    for rules in RULES {
        let mut path = path(Rate::megabits(50), 100, 1000);
        let mut state = 1_u64;
        path.segment_fate = Box::new(move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 32 < (1_u64 << 32) / 100 { Fate::Drop } else { Fate::Pass }
        });
        let measured = measure(&mut start(rules, path), 5, 60);
        println!("{rules:?}: {:.3}, {:.4} s", measured.utilization, measured.queue);
        assert!(measured.utilization > 0.7, "{rules:?}: {}", measured.utilization);
    }
}

#[test]
fn a_tenfold_rate_is_found() {
    for rules in RULES {
        let mut network = start(rules, path(Rate::megabits(5), 40, 200));
        network.run_until(at_seconds(20));
        network.path.rate = Some(Rate::megabits(50));
        let measured = measure(&mut network, 30, 40);
        println!("{rules:?}: {:.3}", measured.utilization);
        assert!(measured.utilization > 0.88, "{rules:?}: {}", measured.utilization);
    }
}

#[test]
fn a_lower_rate_drains_its_queue() {
    for rules in RULES {
        let mut network = start(rules, path(Rate::megabits(50), 40, 200));
        network.run_until(at_seconds(20));
        network.path.rate = Some(Rate::megabits(5));
        let measured = measure(&mut network, 40, 60);
        println!("{rules:?}: {:.3}, {:.4} s", measured.utilization, measured.queue);
        assert!(measured.utilization > 0.88 && measured.queue < 0.03, "{rules:?}: {}", measured.queue);
    }
}

#[test]
fn less_than_a_segment_in_flight_takes_the_least_window() {
    for rules in RULES {
        let rate = Rate::new(100_000).expect("a rate above 0");
        let mut network = start(rules, path(rate, 20, 100));
        let measured = measure(&mut network, 20, 80);
        println!("{rules:?}: {:.3}, {:.4} s", measured.utilization, measured.queue);
        assert!(measured.utilization > 0.85, "{rules:?}: {}", measured.utilization);
        let window = network.sender.congestion_window_bytes() / u64::from(network.config.payload_bytes());
        // Even ProbeRTT keeps four segments in flight. They take 480 ms, which then is the shortest round trip.
        assert!((4..=11).contains(&window), "{rules:?}: {window}");
    }
}
