//! One long flow under independent random loss, against ns-2 2.35 (100 Mb/s, 50.2 ms).

mod network;

use forebay_tcp::{CongestionControl, Span, TcpConfig};
use forebay_units::Rate;
use network::{Fate, Network, Path, at_seconds};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

const SECONDS: u64 = 1000;
const SEEDS: u64 = 4;
const TOLERANCE: f64 = 0.06;

/// Mean goodput over the seeds, in Mb/s.
fn goodput_mbps(config: &TcpConfig, loss_probability: f64) -> f64 {
    let mut sum = 0.0;
    for seed in 0..SEEDS {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let threshold = (loss_probability * u64::MAX as f64) as u64;
        let mut path = Path::delay(Span::from_microseconds(25_050))
            .with_segment_fate(move |_, _| if rng.next_u64() < threshold { Fate::Drop } else { Fate::Pass });
        path.rate = Some(Rate::megabits(100));
        let mut network = Network::new(config.clone(), path);
        network.keep_log = false;
        network.unlimited();
        network.run_until(at_seconds(SECONDS));
        sum += network.sender.acked_bytes() as f64 * 8.0 / (SECONDS as f64 * 1e6);
    }
    sum / SEEDS as f64
}

/// `cases` are loss probabilities with ns-2's goodput in Mb/s.
fn assert_like_ns2(congestion_control: CongestionControl, sack: bool, cases: &[(f64, f64)]) {
    let name = congestion_control.name();
    let config = TcpConfig { congestion_control, sack, ..TcpConfig::ns2(1000) };
    for &(loss_probability, expected) in cases {
        let ratio = goodput_mbps(&config, loss_probability) / expected;
        println!("{name}, SACK {sack}, loss {loss_probability}: {ratio:.3} of ns-2's {expected} Mb/s");
        assert!((ratio - 1.0).abs() <= TOLERANCE, "loss {loss_probability}: {ratio} of ns-2's {expected} Mb/s");
    }
}

#[test]
fn reno_goes_as_fast_as_in_ns2() {
    assert_like_ns2(CongestionControl::Reno, false, &[(0.001, 6.23), (0.03, 0.782), (0.1, 0.278)]);
}

#[test]
fn newreno_goes_as_fast_as_in_ns2() {
    assert_like_ns2(CongestionControl::NewReno, false, &[(0.001, 6.41), (0.03, 0.956), (0.1, 0.362)]);
}

#[test]
fn sack_goes_as_fast_as_in_ns2() {
    assert_like_ns2(CongestionControl::NewReno, true, &[(0.001, 6.41), (0.03, 0.942), (0.1, 0.344)]);
}

#[test]
fn linux_cubic_goes_as_fast_as_in_ns2() {
    assert_like_ns2(CongestionControl::Linux26Cubic, true, &[(0.001, 6.60), (0.03, 1.076)]);
}

#[test]
fn linux_bic_goes_as_fast_as_in_ns2() {
    assert_like_ns2(CongestionControl::LinuxBic, true, &[(0.001, 15.04), (0.03, 1.070)]);
}
