//! BBR version 1 on a path of 10 Mb/s and 40 ms.

mod network;

use forebay_tcp::{BbrConfig, CongestionControl, Span, TcpConfig, Time};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_seconds};

/// The rate of the payload, with headers of 52 B in 1500 B.
const PAYLOAD_MBPS: f64 = 10.0 * 1448.0 / 1500.0;
/// The product of bandwidth and round trip in segments, rounded up.
const PRODUCT: u64 = 34;
const PAYLOAD: u64 = 1448;

/// The path with a buffer of so many packets.
fn path(buffer: usize) -> Path {
    Path { rate: Some(Rate::megabits(10)), limit: buffer, ..Path::delay(Span::from_milliseconds(20)) }
}

fn flow(congestion_control: CongestionControl, path: Path) -> Network {
    let mut network = Network::new(TcpConfig { congestion_control, ..TcpConfig::linux() }, path);
    network.keep_log = false;
    network.unlimited();
    network
}

fn bbr() -> CongestionControl {
    CongestionControl::Bbr(BbrConfig::default())
}

struct Measured {
    goodput_mbps: f64,
    drops: u64,
    mean_queue: f64,
}

/// The measurements of these seconds.
fn measure(network: &mut Network, from: u64, to: u64) -> Measured {
    network.run_until(at_seconds(from));
    let (acked, drops, waited) = (network.sender.acked_bytes(), network.queue_drops, network.waited);
    network.run_until(at_seconds(to));
    let seconds = (to - from) as f64;
    Measured {
        goodput_mbps: (network.sender.acked_bytes() - acked) as f64 * 8e-6 / seconds,
        drops: network.queue_drops - drops,
        mean_queue: (network.waited - waited).seconds() / seconds,
    }
}

#[test]
fn it_fills_the_path_with_a_short_queue_whatever_the_buffer() {
    for buffer in [PRODUCT as usize, 1000] {
        let Measured { goodput_mbps, drops, mean_queue } = measure(&mut flow(bbr(), path(buffer)), 5, 105);
        // The state with the least window takes 2 % of the time.
        assert!((0.97..0.99).contains(&(goodput_mbps / PAYLOAD_MBPS)), "{goodput_mbps} Mb/s");
        assert!(drops == 0 && mean_queue < 10.0, "{drops} drops, {mean_queue} packets");
    }
}

#[test]
fn startup_ends_after_three_rounds_of_a_full_pipe() {
    // Two rounds of 40 ms from ten segments to the product, then three of up to three products: 40, 80 and 120 ms each.
    let mut network = flow(bbr(), path(1000));
    let mut tick = 0;
    while network.sender.slow_start_threshold_bytes().is_none() && tick < 100 {
        tick += 1;
        network.run_until(Time::ZERO + Span::from_milliseconds(10) * tick);
    }
    assert!((30..65).contains(&tick), "{tick}");
    // The threshold is what is in flight at gain 1: the product and three bursts of two segments.
    assert_eq!(network.sender.slow_start_threshold_bytes(), Some((PRODUCT + 6) * PAYLOAD));
    // A round trip later the queue is gone.
    network.run_until(at_seconds(1));
    assert!(network.sender.flight_bytes() < 50 * PAYLOAD);
}

#[test]
fn every_ten_seconds_the_window_is_four_segments_for_a_fifth_of_a_second() {
    let mut network = flow(bbr(), path(1000));
    let mut episodes: Vec<(u64, u64)> = Vec::new();
    for tick in 100..4500 {
        network.run_until(Time::ZERO + Span::from_milliseconds(10) * tick);
        if network.sender.congestion_window_bytes() > 4 * PAYLOAD {
            continue;
        }
        match episodes.last_mut() {
            Some((_, end)) if *end + 1 == tick => *end = tick,
            _ => episodes.push((tick, tick)),
        }
    }
    assert_eq!(episodes.len(), 4, "{episodes:?}");
    assert!(episodes.iter().all(|(start, end)| (20..40).contains(&(end - start))), "{episodes:?}");
    assert!(episodes.windows(2).all(|pair| (1000..1050).contains(&(pair[1].0 - pair[0].1))), "{episodes:?}");
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let lossy = || {
        let mut packets = 0_u64;
        path(1000).with_segment_fate(move |_, _| {
            packets += 1;
            let is_lost = packets.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 < (1 << 32) / 100;
            if is_lost { Fate::Drop } else { Fate::Pass }
        })
    };
    let [model, loss_based] = [bbr(), CongestionControl::NewReno].map(|control| {
        let Measured { goodput_mbps, .. } = measure(&mut flow(control, lossy()), 10, 60);
        goodput_mbps / PAYLOAD_MBPS
    });
    assert!(model > 0.96 && loss_based < 0.4, "{model} and {loss_based}");
}
