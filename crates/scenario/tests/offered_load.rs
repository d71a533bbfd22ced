//! A source sends its specified load, within the statistical error of its draws.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use forebay_scenario::{Scenario, run};
use proptest::prelude::*;

/// A draw that leaves these many standard deviations is a fault.
const DEVIATIONS: f64 = 6.0;
/// Packets of a run, about.
const PACKETS: f64 = 12_000.0;
const LARGEST_BYTES: f64 = 65_535.0;

/// A source, and what it sends in the long run.
#[derive(Debug)]
struct Source {
    /// Its `transport`, in TOML.
    transport: String,
    topology: &'static str,
    /// Packets per second in the long run, to choose the time of a run by.
    packets_per_s: f64,
    expected_bps: f64,
    /// Variance of the sent bits, for each second.
    bits2_per_s: f64,
    /// The deficit or excess of a run at its beginning and end, in bits.
    edge_bits: f64,
}

/// Bits per second that the sources of a run offer together.
fn offered_bps(source: &Source, duration_s: f64, seed: u64) -> f64 {
    let (from_to, topology) = match source.topology {
        "ethernet" => (
            "from = \"a\"\nto = \"b\"\n",
            "[topology.ethernet]\nlink = { rate = \"10 Gbps\", delay = \"1 us\" }\n\
             switches = [{ name = \"S\", nodes = [\"a\", \"b\"] }]\n",
        ),
        "switch" => (
            "",
            "[topology.switch]\nports = 2\ninput = { rate = \"1 Gbps\", delay = \"1 us\" }\n\
             output = { rate = \"1 Gbps\", delay = \"1 us\", queue = \"drop_tail\" }\n",
        ),
        _ => (
            "",
            "[topology.star]\naccess = { rate = \"1 Tbps\", delay = \"1 us\", queue = \"drop_tail\" }\n\
             bottleneck = { rate = \"1 Tbps\", delay = \"1 us\", queue = \"drop_tail\" }\n",
        ),
    };
    let picoseconds = (duration_s * 1e12) as u64;
    let text = format!(
        "duration = \"{picoseconds} ps\"\n{topology}[[flows]]\nname = \"f\"\n{from_to}transport.{}\n",
        source.transport
    );
    let scenario =
        Scenario::load(&text, "offered.toml", &[]).unwrap_or_else(|error| panic!("{}\n{text}", error.render(false)));
    let result = run(&scenario, Some(seed), None, &mut |_| true).unwrap_or_else(|error| panic!("{error}\n{text}"));
    result.flows.floats("offered_bps").iter().sum()
}

#[track_caller]
fn check(source: &Source, seed: u64) {
    let duration_s = PACKETS / source.packets_per_s;
    let offered = offered_bps(source, duration_s, seed);
    let tolerance_bits = DEVIATIONS * (source.bits2_per_s * duration_s).sqrt() + source.edge_bits;
    let off_bits = (offered - source.expected_bps) * duration_s;
    assert!(
        off_bits.abs() <= tolerance_bits + 1e-4 * source.expected_bps * duration_s,
        "{offered:.0} b/s instead of {:.0} +- {:.0}: {source:?}",
        source.expected_bps,
        tolerance_bits / duration_s
    );
}

/// The size of packets: TOML, mean, mean square, and a size that hardly any packet exceeds; in bytes and as they are
/// sent.
type Size = (String, f64, f64, f64);

fn size() -> impl Strategy<Value = Size> {
    let drawn = |text: String, quantile: &dyn Fn(f64) -> f64, most: f64| {
        const POINTS: u32 = 20_000;
        let values = (0..POINTS).map(|point| {
            let value = quantile((f64::from(point) + 0.5) / f64::from(POINTS));
            value.clamp(1.0, LARGEST_BYTES)
        });
        let (sum, squares) = values.fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
        (text, sum / f64::from(POINTS), squares / f64::from(POINTS), most.min(LARGEST_BYTES))
    };
    prop_oneof![
        (40_u32..1500).prop_map(|bytes| (
            format!("\"{bytes} B\""),
            f64::from(bytes),
            f64::from(bytes) * f64::from(bytes),
            f64::from(bytes)
        )),
        (40_u32..700, 0_u32..9000).prop_map(move |(low, more)| {
            let (low, high) = (f64::from(low), f64::from(low + more));
            let quantile = |u: f64| low + u * (high - low);
            drawn(format!("{{ uniform = [\"{low} B\", \"{high} B\"] }}"), &quantile, high)
        }),
        (20_u32..20_000).prop_map(move |mean| {
            let quantile = |u: f64| -f64::from(mean) * libm::log(1.0 - u);
            drawn(format!("{{ exponential = \"{mean} B\" }}"), &quantile, 25.0 * f64::from(mean))
        }),
        (100_u32..5000, 1.2_f64..3.0).prop_map(move |(mean, shape)| {
            let scale = f64::from(mean) * (shape - 1.0) / shape;
            let quantile = |u: f64| scale * libm::pow(1.0 - u, -1.0 / shape);
            drawn(format!("{{ pareto = {{ mean = \"{mean} B\", shape = {shape} }} }}"), &quantile, LARGEST_BYTES)
        }),
    ]
}

fn rate_bps() -> impl Strategy<Value = f64> {
    (100_000_u64..1_000_000_000).prop_map(|rate| rate as f64)
}

fn constant() -> impl Strategy<Value = Source> {
    (size(), rate_bps(), 0.0_f64..=1.0, any::<bool>(), any::<bool>()).prop_map(
        |((packet, mean, squares, most), rate, jitter, jitters, random_phase)| {
            let jitter = if jitters { jitter } else { 0.0 };
            let packets_per_s = rate / (8.0 * mean);
            Source {
                transport: format!(
                    "udp = {{ packet = {packet}, constant = {{ rate = \"{rate} bps\", jitter = {jitter}, \
                     random_phase = {random_phase} }} }}"
                ),
                topology: "star",
                packets_per_s,
                expected_bps: rate,
                // A gap is as long as its packet times a factor whose variance is a third of the square of the jitter.
                bits2_per_s: packets_per_s * 64.0 * squares * jitter * jitter / 3.0,
                edge_bits: 16.0 * most,
            }
        },
    )
}

fn poisson() -> impl Strategy<Value = Source> {
    (size(), rate_bps()).prop_map(|((packet, mean, squares, most), rate)| {
        let packets_per_s = rate / (8.0 * mean);
        Source {
            transport: format!("udp = {{ packet = {packet}, poisson = {{ rate = \"{rate} bps\" }} }}"),
            topology: "star",
            packets_per_s,
            expected_bps: rate,
            bits2_per_s: packets_per_s * 64.0 * squares,
            edge_bits: 8.0 * most,
        }
    })
}

fn steps() -> impl Strategy<Value = Source> {
    (size(), rate_bps(), rate_bps(), 0.0_f64..1.0).prop_map(|((packet, mean, _, most), one, other, part)| {
        let packets_per_s = one.min(other) / (8.0 * mean);
        let change_s = PACKETS / packets_per_s * part;
        let picoseconds = (change_s * 1e12) as u64 + 1;
        Source {
            transport: format!(
                "udp = {{ packet = {packet}, steps = [{{ from = \"0 s\", rate = \"{one} bps\" }}, \
                 {{ from = \"{picoseconds} ps\", rate = \"{other} bps\" }}] }}"
            ),
            topology: "star",
            packets_per_s,
            expected_bps: one * part + other * (1.0 - part),
            bits2_per_s: 0.0,
            edge_bits: 16.0 * most,
        }
    })
}

/// Length of a period: TOML, mean and variance in seconds.
fn period(mean_s: f64, kind: u8) -> (String, f64, f64) {
    let ps = |seconds: f64| (seconds * 1e12).round() as u64;
    match kind {
        0 => (format!("\"{} ps\"", ps(mean_s)), mean_s, 0.0),
        1 => {
            let text = format!("{{ uniform = [\"{} ps\", \"{} ps\"] }}", ps(0.5 * mean_s), ps(1.5 * mean_s));
            (text, mean_s, mean_s * mean_s / 12.0)
        }
        _ => (format!("{{ exponential = \"{} ps\" }}", ps(mean_s)), mean_s, mean_s * mean_s),
    }
}

fn on_off() -> impl Strategy<Value = Source> {
    // On periods of a part of a packet to many packets.
    (size(), rate_bps(), -1.5_f64..1.5, 0.0_f64..9.0, 0_u8..3, 0_u8..3).prop_map(
        |((packet, mean, _, most), rate, exponent, silence, on_kind, off_kind)| {
            let on_s = 8.0 * mean / rate * libm::pow(10.0, exponent);
            let ((on, a, var_a), (off, b, var_b)) = (period(on_s, on_kind), period(on_s * silence, off_kind));
            let expected_bps = rate * a / (a + b);
            Source {
                transport: format!(
                    "udp = {{ packet = {packet}, on_off = {{ rate = \"{rate} bps\", on = {on}, off = {off} }} }}"
                ),
                topology: "star",
                packets_per_s: expected_bps / (8.0 * mean),
                expected_bps,
                // Deviation of the on time of an alternating renewal process.
                bits2_per_s: rate * rate * (b * b * var_a + a * a * var_b) / libm::pow(a + b, 3.0),
                // A run begins with a packet and an on period.
                edge_bits: 16.0 * most + 2.0 * rate * a,
            }
        },
    )
}

fn cells() -> impl Strategy<Value = Source> {
    (64_u32..1500, 0.05_f64..=1.0, prop::option::of(1.0_f64..40.0)).prop_map(|(bytes, load, burst)| {
        let slots_per_s = 1e9 / (8.0 * f64::from(bytes));
        let cell_bits = 8.0 * f64::from(bytes);
        let (text, variance_per_slot) = match burst {
            None => (String::new(), load * (1.0 - load)),
            Some(burst) => {
                // Bursts and pauses are geometric.
                let pause = burst * (1.0 - load) / load;
                let (var_burst, var_pause) = (burst * (burst - 1.0), pause * (pause + 1.0));
                let together: f64 = burst + pause;
                let variance = (pause * pause * var_burst + burst * burst * var_pause) / libm::pow(together, 3.0);
                (format!(", burst_cells = {burst}"), variance)
            }
        };
        Source {
            transport: format!("cells = {{ size = \"{bytes} B\", load = {load}{text} }}"),
            topology: "switch",
            packets_per_s: 2.0 * slots_per_s * load,
            expected_bps: 2e9 * load,
            bits2_per_s: 2.0 * cell_bits * cell_bits * slots_per_s * variance_per_slot,
            edge_bits: 4.0 * cell_bits * burst.unwrap_or(1.0),
        }
    })
}

fn frames() -> impl Strategy<Value = Source> {
    let on_off = prop::option::of((2.0_f64..50.0, 0.05_f64..=1.0));
    (64_u32..1519, 0.05_f64..=1.0, any::<bool>(), on_off).prop_map(|(bytes, load, evenly, on_off)| {
        let (slot_s, frame_bits) = (8.0 * f64::from(bytes) / 1e10, 8.0 * f64::from(bytes));
        let arrivals = if evenly { "constant" } else { "bernoulli" };
        let rate = (1e10 * load).round();
        let (text, duty, period_s) = match on_off {
            None => (String::new(), 1.0, 0.0),
            Some((slots, duty)) => {
                let picoseconds = (slots * slot_s / duty * 1e12).round();
                let text = format!(", on_off = {{ period = \"{picoseconds} ps\", duty = {duty} }}");
                (text, duty, picoseconds / 1e12)
            }
        };
        Source {
            transport: format!(
                "frames = {{ size = \"{bytes} B\", rate = \"{rate} bps\", arrivals = \"{arrivals}\"{text} }}"
            ),
            topology: "ethernet",
            packets_per_s: load * duty / slot_s,
            expected_bps: rate * duty,
            bits2_per_s: if evenly { 0.0 } else { frame_bits * frame_bits * duty * load * (1.0 - load) / slot_s },
            edge_bits: 2.0 * frame_bits + rate * period_s,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn every_source_offers_what_it_is_asked_for(
        source in prop_oneof![constant(), poisson(), steps(), on_off(), on_off(), cells(), frames()],
        seed in any::<u64>(),
    ) {
        check(&source, seed);
    }
}

/// A gap that an off period interrupts goes on after it, so no period has a packet more than its time allows.
#[test]
fn on_off_keeps_what_is_left_of_a_gap() {
    for (milliseconds, duration) in [(100, "1000 s"), (25, "1000 s"), (10, "1000 s"), (40, "1000 s")] {
        let text = format!(
            r#"
            duration = "{duration}"
            [topology.star]
            access = {{ rate = "100 Mbps", delay = "1 ms" }}
            bottleneck = {{ rate = "100 Mbps", delay = "1 ms" }}
            [[flows]]
            name = "f"
            transport.udp = {{ packet = "200 B", on_off = {{ rate = "64 kbps", on = "{milliseconds} ms",
                off = "{milliseconds} ms" }} }}
            "#
        );
        let scenario = Scenario::load(&text, "onoff.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
        let result = run(&scenario, Some(1), None, &mut |_| true).unwrap();
        let (sent, offered) = (result.flows.counts("packets_sent")[0], result.flows.floats("offered_bps")[0]);
        assert!((20_000..=20_001).contains(&sent), "{milliseconds} ms: {sent} packets");
        assert!((offered - 32_000.0).abs() < 2.0, "{milliseconds} ms: {offered}");
    }
}

#[test]
fn drawn_on_and_off_periods_share_the_time() {
    let text = r#"
        duration = "200 s"
        [topology.star]
        access = { rate = "100 Mbps", delay = "1 ms" }
        bottleneck = { rate = "100 Mbps", delay = "1 ms", queue = "drop_tail" }
        [[flows]]
        name = "b"
        count = 20
        transport.udp = { packet = "500 B", on_off = { rate = "1 Mbps", on = { exponential = "4 ms" },
            off = { exponential = "8 ms" } } }
        "#;
    let scenario = Scenario::load(text, "exponential.toml", &[]).unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario, Some(1), None, &mut |_| true).unwrap();
    let offered: f64 = result.flows.floats("offered_bps").iter().sum();
    // Six standard deviations of the on time of 20 sources.
    assert!((offered / 20.0 / (1e6 / 3.0) - 1.0).abs() < 0.013, "{offered}");
}
