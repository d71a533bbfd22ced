//! The driver changes the speed of a run and nothing else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use forebay_engine::{Distribution, FlowSpec, NetworkBuilder, NodeSpec, Probes, TcpData, Transport};
use forebay_qdisc::{Drr, DrrConfig, Queue, Rate, Span, Time};
use forebay_tcp::TcpConfig;
use support::traffic;
use support::{Star, drop_tail, plain_link, tcp, udp};

/// TCP of all kinds, UDP and conversations over one connection and over several, more than the bottleneck can take.
fn mixed() -> Star {
    let plain = TcpConfig::ns2(64);
    let sack = TcpConfig { sack: true, delayed_ack: true, ..plain.clone() };
    let conversation = |connections| {
        let data = traffic::questions(200, 20_000, Distribution::Exponential(5e10), connections);
        Transport::Tcp { config: plain.clone(), data }
    };
    let fixed = Transport::Tcp { config: plain.clone(), data: TcpData::Fixed { bytes: 500_000 } };
    Star::default()
        .flow("plain", tcp(plain.clone()), 0)
        .flow("sack", tcp(sack), 100)
        .flow("fixed", fixed, 1_500)
        .flow("web", conversation(1), 200)
        .flow("browser", conversation(3), 250)
        .flow("constant", udp(2.0, 0.0), 300)
        .flow("jittered", udp(1.5, 0.5), 0)
}

fn drr() -> Queue<forebay_engine::Packet> {
    Queue::Discipline(Box::new(Drr::new(&DrrConfig::default(), Rate::megabits(10), 7).unwrap()))
}

#[test]
fn windows_change_no_result() {
    for queue in [|| drop_tail(30), drr] {
        let in_windows = mixed().run(queue());
        let in_order = mixed().network(queue()).run_in_order(&mut |_| true).unwrap();
        assert!(in_order.engine.events > in_windows.engine.events);
        assert_eq!(in_order.digest, in_windows.digest);
    }
}

#[test]
fn watching_changes_no_table() {
    let unwatched = mixed().run(drop_tail(30));
    let interval = Some(Span::from_milliseconds(7));
    let probes = Probes { interval, queues: true, flows: true, links: true };
    let watched = Star { probes, ..mixed() }.run(drop_tail(30));
    // As text, because a NaN is not equal to itself.
    let tables = |run: &forebay_engine::RunResult| format!("{:?} {:?} {:?}", run.flows, run.queues, run.links);
    assert_eq!(tables(&watched), tables(&unwatched));
    assert!(watched.series.iter().all(|series| series.values.len() == 12_000 / 7));
    // The series say the same as the tables: the goodput of the last ten seconds, within one sample at each end.
    let series = watched.series.iter().find(|s| s.name == "plain" && s.quantity == "goodput_bps").unwrap();
    let steady = &series.values[2_000 / 7..];
    let mean = steady.iter().sum::<f64>() / steady.len() as f64;
    assert!(support::off(mean, watched.flows.floats("goodput_bps")[0]) < 0.01);
}

#[test]
fn a_run_repeats_to_the_bit_and_a_seed_changes_it() {
    let first = mixed().run(drop_tail(30));
    assert_eq!(mixed().run(drop_tail(30)).digest, first.digest);
    assert_ne!(Star { seed: 2, ..mixed() }.run(drop_tail(30)).digest, first.digest);
}

#[test]
fn adding_a_flow_shifts_nobody_elses_dice() {
    // With room for all, flows share only random streams: the packets of a jittered source must not depend on the
    // others.
    let alone = Star { bottleneck_mbps: 100, ..Star::default() }.flow("jittered", udp(1.5, 0.5), 0);
    let together = Star { bottleneck_mbps: 100, ..Star::default() }.flow("other", udp(3.0, 0.5), 0).flow(
        "jittered",
        udp(1.5, 0.5),
        0,
    );
    let (alone, together) = (alone.run(drop_tail(1000)), together.run(drop_tail(1000)));
    assert_eq!(alone.flows.counts("packets_sent")[0], together.flows.counts("packets_sent")[1]);
    assert_eq!(alone.flows.floats("delay_max_s").len() + 1, together.flows.floats("delay_max_s").len());
}

#[test]
fn a_run_stops_when_it_is_told_to() {
    let stopped = mixed().network(drop_tail(30)).run(&mut |_| false);
    assert!(matches!(stopped, Err(forebay_engine::RunError::Stopped)));
}

#[test]
fn fixed_transfers_and_conversations_complete() {
    let result = mixed().run(drop_tail(30));
    let names = result.flows.texts("name");
    let row = |name: &str| names.iter().position(|n| n == name).unwrap();
    let finished = result.flows.floats("finished_s")[row("fixed")];
    assert!(finished > 1.5 && finished < 12.0, "{finished}");
    assert!(result.flows.counts("transfers_completed")[row("web")] > 5);
    assert!(result.flows.floats("transfer_time_mean_s")[row("web")] > 0.04);
}

#[test]
fn a_flow_without_a_path_is_an_error() {
    let (start, end) = (Time::ZERO, Time::ZERO + Span::from_milliseconds(1));
    let mut builder = NetworkBuilder::new(1, start, end, Probes::default());
    let ends = ["near", "far"].map(|name| builder.add_node(name, NodeSpec::Host(None)));
    builder.add_link(plain_link("back", (ends[1], ends[0]), Rate::megabits(10), Span::ZERO));
    builder.add_flow(FlowSpec {
        host_jitter: [Distribution::ZERO; 2],
        name: "udp".into(),
        group: "udp".into(),
        transport: udp(1.0, 0.0),
        source: ends[0],
        destination: ends[1],
        start,
        stop: Time::NEVER,
        class: 0,
    });
    let error = builder.build().map(|_| ()).map_err(|error| error.to_string());
    assert!(error.as_ref().is_err_and(|error| error.contains("no path leads from node 0 to 1")), "{error:?}");
}
