//! The time series of watched TCP senders.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::float_cmp_const, reason = "whole segments and gains are exact")]

mod support;

use forebay_engine::{Probes, RunResult};
use forebay_qdisc::{Queue, Span};
use forebay_records::Series;
use forebay_tcp::{BbrConfig, CongestionControl, TcpConfig};
use support::{Star, drop_tail, tcp, udp};

const PAYLOAD: f64 = 1448.0;
/// 10 Mb/s without headers.
const PAYLOAD_BPS: f64 = 10e6 * PAYLOAD / 1500.0;
/// Startup's gain of pacing rate and window (`bbr_high_gain`).
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// The part of the bandwidth at which BBR paces.
const PACING_SHARE: f64 = 0.99;

fn with(congestion_control: CongestionControl) -> TcpConfig {
    TcpConfig { congestion_control, ..TcpConfig::linux() }
}

fn bbr() -> TcpConfig {
    with(CongestionControl::Bbr(BbrConfig::default()))
}

/// Watches the senders of these flows at every millisecond.
fn watched(star: Star, senders: &[u32]) -> RunResult {
    let interval = Some(Span::from_milliseconds(1));
    let mut builder = Star { probes: Probes { interval, ..Probes::default() }, ..star }.builder(drop_tail(100));
    senders.iter().for_each(|&flow| builder.watch_sender(flow));
    builder.build().unwrap().run(&mut |_| true).unwrap()
}

fn find<'a>(run: &'a RunResult, name: &str, quantity: &str) -> Option<&'a Series> {
    run.series.iter().find(|one| (one.kind, &*one.name, &*one.quantity) == ("sender", name, quantity))
}

fn values<'a>(run: &'a RunResult, name: &str, quantity: &str) -> &'a [f64] {
    &find(run, name, quantity).unwrap_or_else(|| panic!("no {quantity} of {name}")).values
}

/// The state at each sample; empty while the connection is not open.
fn states(run: &RunResult, name: &str) -> Vec<&'static str> {
    let series = find(run, name, "state").unwrap();
    series.values.iter().map(|&index| if index.is_nan() { "" } else { series.states[index as usize] }).collect()
}

#[test]
fn bbr_probes_for_the_round_trip_after_ten_seconds_with_four_segments() {
    let run = watched(Star::default().flow("bbr", tcp(bbr()), 0), &[0]);
    let states = states(&run, "bbr");
    assert_eq!(find(&run, "bbr", "state").unwrap().states, ["startup", "drain", "probe_bw", "probe_rtt"]);
    let inside: Vec<usize> = (0..states.len()).filter(|&at| states[at] == "probe_rtt").collect();
    let (first, last) = (inside[0], inside[inside.len() - 1]);
    assert_eq!(last - first + 1, inside.len(), "one probe in twelve seconds");
    // The queue of Startup is gone after less than a second. That is the last time of the shortest round trip.
    assert!((10_000..11_000).contains(&first), "{first} ms");
    // 200 ms from when four segments are in flight, which takes up to a round trip of 40 ms and a queue. Then a round.
    assert!((200..300).contains(&inside.len()), "{} ms", inside.len());
    let (window, in_flight) = (values(&run, "bbr", "congestion_window_bytes"), values(&run, "bbr", "in_flight_bytes"));
    assert!(inside.iter().all(|&at| window[at] == 4.0 * PAYLOAD));
    assert!(in_flight[last - 150..=last].iter().all(|&bytes| bytes <= 4.0 * PAYLOAD));
    // The state ends with the window of before.
    assert!(window[last + 1] > 60.0 * PAYLOAD, "{} B", window[last + 1]);
}

#[test]
fn bbr_paces_at_its_gain_times_the_bandwidth() {
    let run = watched(Star::default().flow("bbr", tcp(bbr()), 0), &[0]);
    let of = |quantity| values(&run, "bbr", quantity);
    let (rate, bandwidth, gain) = (of("pacing_rate_bps"), of("bandwidth_bps"), of("pacing_gain"));
    for (at, state) in states(&run, "bbr").into_iter().enumerate() {
        let modelled = PACING_SHARE * gain[at] * bandwidth[at];
        match state {
            // The rate only rises, from that of the initial window.
            "startup" => assert!(gain[at] == HIGH_GAIN && rate[at] >= modelled - 8.0, "{at}"),
            "probe_bw" => assert!([1.25, 0.75, 1.0].contains(&gain[at]) && (rate[at] - modelled).abs() <= 8.0, "{at}"),
            _ => {}
        }
    }
    // The first rate: ten segments in the round trip of the handshake, which is that of packets of 52 and 40 bytes.
    let first = rate.iter().copied().find(|rate| rate.is_finite() && *rate > 0.0).unwrap();
    assert!(first > 10.0 * PAYLOAD * 8.0 / 0.0405, "{first} b/s");
    let settled = 2_000..10_000;
    assert!(bandwidth[settled.clone()].iter().all(|&bps| support::off(bps, PAYLOAD_BPS) < 0.02));
    // No sample exceeds the path, and the mean is that of the pacing.
    let delivered = &of("delivery_rate_bps")[settled];
    assert!(delivered.iter().all(|&bps| bps < 1.01 * PAYLOAD_BPS));
    let mean = delivered.iter().sum::<f64>() / delivered.len() as f64;
    assert!(support::off(mean, PACING_SHARE * PAYLOAD_BPS) < 0.02, "{mean} b/s");
}

#[test]
fn round_trips_are_those_of_the_path_and_its_queue() {
    let run = watched(Star::default().flow("cubic", tcp(TcpConfig::linux()), 0), &[0]);
    let of = |quantity| values(&run, "cubic", quantity);
    let (latest, smoothed, shortest) = (of("rtt_latest_s"), of("rtt_smoothed_s"), of("rtt_min_s"));
    // Four links of 10 ms, and a queue of 100 packets of 1.2 ms.
    for at in 100..latest.len() {
        assert!((0.040..0.041).contains(&shortest[at]) && latest[at] >= shortest[at] && latest[at] < 0.17, "{at}");
        assert!(smoothed[at] > shortest[at] && smoothed[at] < 0.17, "{at}");
    }
    // A controller of losses measures no delivery, and has no gauges.
    assert_eq!(find(&run, "cubic", "delivery_rate_bps").or(find(&run, "cubic", "pacing_gain")), None);
}

#[test]
fn no_more_than_the_window_is_in_flight_except_while_it_comes_down() {
    let run = watched(Star::default().flow("cubic", tcp(TcpConfig::linux()), 0), &[0]);
    let (states, in_flight) = (states(&run, "cubic"), values(&run, "cubic", "in_flight_bytes"));
    let window = values(&run, "cubic", "congestion_window_bytes");
    for at in 0..states.len() {
        match states[at] {
            "slow_start" | "congestion_avoidance" => assert!(in_flight[at] <= window[at], "{at}"),
            state => assert!(["", "recovery"].contains(&state), "{state}"),
        }
    }
    let threshold = values(&run, "cubic", "slow_start_threshold_bytes");
    let first_loss = states.iter().position(|&state| state == "recovery").unwrap();
    assert!(threshold[first_loss].is_finite() && in_flight[first_loss..].iter().any(|bytes| *bytes > 0.0));
}

#[test]
fn a_value_is_absent_before_there_is_one() {
    // Without a handshake, there is no round trip before the first ACK.
    let early = TcpConfig { handshake: false, ..TcpConfig::linux() };
    let run = watched(Star::default().flow("early", tcp(early), 100), &[0]);
    let of = |quantity| values(&run, "early", quantity);
    // Samples are at 1, 2, … ms, before what happens at that time. The first segment takes 42 ms there and back.
    assert_eq!((of("congestion_window_bytes")[120], of("in_flight_bytes")[120]), (10.0 * PAYLOAD, 10.0 * PAYLOAD));
    for quantity in ["rtt_latest_s", "rtt_smoothed_s", "rtt_min_s", "pacing_rate_bps"] {
        let values = of(quantity);
        assert!(values[..140].iter().all(|value| value.is_nan()) && values[145..].iter().all(|it| it.is_finite()));
    }
    // The SYN leaves at 200 ms and is answered after 40 ms. The first data is acknowledged 42 ms later.
    let run = watched(Star::default().flow("late", tcp(bbr()), 200), &[0]);
    let of = |quantity| values(&run, "late", quantity);
    assert!(states(&run, "late")[..239].iter().all(|state| state.is_empty()));
    assert!(of("congestion_window_bytes")[..239].iter().all(|value| value.is_nan()));
    assert_eq!(states(&run, "late")[242], "startup");
    let delivered = of("delivery_rate_bps");
    assert!(delivered[..280].iter().all(|value| value.is_nan()) && delivered[300].is_finite());
}

#[test]
fn only_named_senders_are_watched_and_no_result_changes() {
    let star = || Star::default().flow("one", tcp(bbr()), 0).flow("two", tcp(TcpConfig::linux()), 50);
    let plain = Star { probes: Probes::default(), ..star() }.run(queue());
    let run = watched(star(), &[1]);
    assert!(run.series.iter().all(|series| series.kind == "sender" && series.name == "two"));
    let tables = |run: &RunResult| format!("{:?} {:?} {:?}", run.flows, run.queues, run.links);
    assert_eq!(tables(&run), tables(&plain));
    // Without an interval nothing is recorded.
    let mut builder = star().builder(queue());
    builder.watch_sender(0);
    let unsampled = builder.build().unwrap().run(&mut |_| true).unwrap();
    assert_eq!((unsampled.digest, unsampled.series), (plain.digest, Vec::new()));
}

#[test]
fn a_timeout_is_a_state_of_its_own() {
    // A flood holds the queue full from 2 s to the end: the sender loses whole windows.
    let star = Star::default().flow("tcp", tcp(TcpConfig::linux()), 0).flow("flood", udp(40.0, 0.0), 2_000);
    let states = states(&watched(star, &[0]), "tcp");
    assert!(states.contains(&"timeout"));
    assert!(!states[..2_000].contains(&"timeout"));
}

fn queue() -> Queue<forebay_engine::Packet> {
    drop_tail(100)
}
