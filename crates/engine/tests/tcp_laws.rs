//! Theory of TCP: the buffer that one flow needs, and its rate under random loss.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::Impairments;
use forebay_qdisc::Span;
use forebay_tcp::TcpConfig;
use forebay_testkit::{pftk_bps, square_root_bps};
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
            impairments: Impairments { loss, ..Impairments::default() },
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
