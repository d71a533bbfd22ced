//! Theory of TCP: the buffer that one flow needs, its rate under random loss, and the queue of DCTCP.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{Impairments, Probes};
use forebay_qdisc::{Queue, Rate, Red, RedConfig, Span};
use forebay_tcp::{CongestionControl, DctcpConfig, RateReduction, TcpConfig};
use forebay_testkit::{dctcp_cycle, pftk_bps, square_root_bps};
use forebay_units::QueueSize;
use support::{Star, drop_tail, off, tcp};

/// Utilisation of a 10 Mb/s link by one flow with a round trip of 40 ms and this buffer. The bandwidth-delay product is
/// 50 packets of 1000 bytes.
fn utilization(buffer_packets: u64) -> f64 {
    let star = Star { warmup: Span::from_seconds(20), end: Span::from_seconds(220), ..Star::default() };
    let result = star.flow("tcp", tcp(TcpConfig::ns2(1000)), 0).run(drop_tail(buffer_packets));
    let links = result.links.texts("name").iter().position(|name| name == "bottleneck").unwrap();
    result.links.floats("utilization")[links]
}

#[test]
fn a_buffer_of_one_bandwidth_delay_product_keeps_the_link_busy() {
    let full = utilization(52);
    assert!(full > 0.999, "{full}");
    // Without a buffer the window saws between a half and the whole of the product: three quarters of the rate.
    let bare = utilization(1);
    assert!((0.70..0.85).contains(&bare), "{bare}");
    let half = utilization(25);
    assert!(bare < half && half < full, "{bare} {half} {full}");
}

#[test]
fn the_rate_under_random_loss_is_that_of_the_square_root_and_of_pftk() {
    for (loss, tolerance) in [(0.001, 0.06), (0.01, 0.12)] {
        let star = Star {
            warmup: Span::from_seconds(10),
            end: Span::from_seconds(1010),
            access_mbps: 1000,
            bottleneck_mbps: 100,
            propagation: Span::from_picoseconds(12_550_000_000),
            impairments: Impairments::random_loss(loss),
            ..Star::default()
        };
        let config = TcpConfig { sack: true, ..TcpConfig::ns2(1000) };
        let result = star.flow("tcp", tcp(config), 0).run(drop_tail(1000));
        let goodput = result.flows.floats("goodput_bps")[0];
        let round_trip_s = 0.0502 + 8.0 * 1040.0 / 100e6;
        let root = square_root_bps(1000.0, round_trip_s, loss, 1.0);
        let pftk = pftk_bps(1000.0, round_trip_s, 0.2, loss, 1.0);
        assert!(goodput < root * (1.0 + tolerance), "{loss}: {goodput} above the square-root law's {root}");
        assert!(off(goodput, pftk) < tolerance * 1.5, "{loss}: {goodput} against PFTK's {pftk}");
    }
}

/// The mean of the peaks of an oscillation less that of its troughs. Steps of up to four are part of neither.
fn amplitude(values: &[f64]) -> f64 {
    let (mut peaks, mut troughs) = (Vec::new(), Vec::new());
    let (mut extreme, mut rises) = (values[0], true);
    for &value in values {
        if (value > extreme) == rises {
            extreme = value;
        } else if (value - extreme).abs() > 4.0 {
            if rises {
                peaks.push(extreme)
            } else {
                troughs.push(extreme)
            }
            (extreme, rises) = (value, !rises);
        }
    }
    let mean = |extremes: &[f64]| extremes.iter().sum::<f64>() / extremes.len() as f64;
    assert!(peaks.len() > 50, "{}", peaks.len());
    mean(&peaks) - mean(&troughs)
}

/// The model assumes flows in step: they start at one time, and hosts take no time. It assumes that each packet is
/// acknowledged, that a window is reduced at once, and a queue that marks by its length at each arrival.
#[test]
fn the_queue_of_dctcp_is_that_of_its_closed_form() {
    let model = dctcp_cycle(1e6 / 12_000.0, 40.0, 2.0);
    for gain_shift in [4, 6] {
        let config = TcpConfig {
            congestion_control: CongestionControl::Dctcp(DctcpConfig { gain_shift, ..DctcpConfig::default() }),
            sack: true,
            ecn: true,
            rate_reduction: Some(RateReduction::AtOnce),
            ..TcpConfig::default()
        };
        // The round trip is 100 us with the transmission of a packet and an ACK on both links.
        let star = Star {
            warmup: Span::from_milliseconds(50),
            end: Span::from_milliseconds(200),
            probes: Probes { interval: Some(Span::from_microseconds(2)), queues: true, ..Probes::default() },
            access_mbps: 100_000,
            bottleneck_mbps: 10_000,
            propagation: Span::from_nanoseconds(24_660),
            ..Star::default()
        };
        let red = RedConfig {
            min_threshold: QueueSize::Packets(39),
            max_threshold: QueueSize::Packets(40),
            weight: 1.0,
            ecn: true,
            hard_drop: false,
            ..RedConfig::default()
        };
        let red = Queue::Law(Box::new(Red::new(&red, Rate::megabits(10_000), 1).unwrap()));
        let result = star.flow("one", tcp(config.clone()), 0).flow("two", tcp(config), 0).run(red);
        let longest = result.queues.counts("length_max_packets")[0] as f64;
        assert!(off(longest, model.longest_queue) < 0.1, "{longest} against {model:?}");
        let series = result.series.iter().find(|series| series.quantity == "length_packets").unwrap();
        let swing = amplitude(&series.values[series.values.len() / 2..]);
        if gain_shift == 4 {
            let marked = result.queues.counts("packets_marked")[0] as f64;
            let delivered: u64 = result.flows.counts("packets_delivered").iter().sum();
            assert!(off(marked / delivered as f64, model.alpha) < 0.1, "{marked} of {delivered} against {model:?}");
            // At a gain of 1/16, alpha decays between the marks of two cycles. A cut comes where alpha is lowest: it is
            // less than the model's.
            assert!(swing < model.amplitude, "{swing} against {model:?}");
        } else {
            assert!(off(swing, model.amplitude) < 0.1, "{swing} against {model:?}");
        }
    }
}
