//! CAKE's autorate, statistics, parameters and memory.

use super::*;

#[test]
fn autorate_follows_the_rate_of_arrival() {
    let config = CakeConfig { bandwidth: Some(Rate::megabits(1)), autorate_ingress: true, ..config() };
    let mut bench = bench(&config);
    // Pairs of packets at 8 Mb/s: a window ends at each gap that is longer than the mean.
    for number in 0..20_000_u64 {
        bench.now = at(1000 * number - if number % 2 == 1 { 900 } else { 0 });
        bench.enqueue(packet(number as u32, 1));
        bench.drain();
    }
    let estimate = gauge(&bench, "capacity_estimate_bps");
    assert!((estimate / 8e6 - 1.0).abs() < 0.03, "{estimate}");
    // 15/16 of it.
    assert!((gauge(&bench, "tin1_thresh_bps") / estimate - 0.9375).abs() < 1e-3);
    assert_eq!(gauge(&bench, "tin0_thresh_bps"), (gauge(&bench, "tin1_thresh_bps") / 128.0).floor() * 8.0);
    // Up by a quarter of the difference, down by 1/256 of it.
    let mut autorate = Autorate::new(1_000_000);
    assert_eq!(autorate.arrived(5_000_000, Time::ZERO + Span::from_seconds(1)), Some(1_875_000));
    assert_eq!(autorate.peak, 2_000_000);
    assert_eq!(autorate.arrived(1, Time::ZERO + Span::from_seconds(3)), Some(1_867_676));
}

#[test]
fn statistics_of_a_tin_are_those_of_tc() {
    let mut bench = bench(&config());
    bench.enqueue(Labelled::new(0, 1, 1000, 46));
    bench.enqueue(Labelled::new(1, 1, 200, 46));
    bench.now = at(8000);
    let shown = |bench: &Bench<Cake<Labelled>>, names: &[&str]| -> Vec<f64> {
        names.iter().map(|name| gauge(bench, &format!("tin2_{name}"))).collect()
    };
    let counts = ["pkts", "bytes", "backlog_bytes", "max_len_bytes", "quantum_bytes", "sp_flows", "bk_flows"];
    assert_eq!(shown(&bench, &counts), [2.0, 1200.0, 1200.0, 1000.0, 300.0, 1.0, 0.0]);
    // A quarter of the rate, and the delays of its law: a packet of 1514 bytes takes 6.056 ms.
    assert_eq!(shown(&bench, &["thresh_bps", "target_s", "interval_s"]), [2e6, 0.009_084, 0.104_084]);
    bench.dequeue().unwrap();
    let gains = shown(&bench, &["pk_delay_s", "av_delay_s", "sp_delay_s"]);
    assert_close(&gains, &[0.002, 0.008 / 256.0, 0.008 / 256.0], 1e-6);
    assert_eq!(
        shown(&bench, &["backlog_bytes", "way_miss", "way_directs", "way_inds", "way_cols"]),
        [200.0, 1.0, 1.0, 0.0, 0.0]
    );
    let mut names: Vec<String> = Vec::new();
    bench.discipline.gauges(&mut |name, _| names.push(name.into()));
    assert_eq!(names.len(), 7 + 3 * 21);
}

#[test]
fn the_gauges_of_a_flow_are_those_of_its_queue() {
    let shown = |isolation, flow| {
        let mut bench = bench(&CakeConfig { isolation, ..config() });
        bench.enqueue(Labelled::new(0, 3, 700, 46));
        let mut gauges = Vec::new();
        bench.discipline.flow_gauges(FlowKey(flow), &mut |name, value| gauges.push((name, value)));
        gauges
    };
    let of_flow = shown(CakeIsolation::TripleIsolate, 3);
    assert_eq!(of_flow[0], ("length_bytes", 700.0));
    let of_none = shown(CakeIsolation::TripleIsolate, 4);
    assert!(of_none.iter().all(|(_, value)| *value == 0.0));
    assert_eq!(of_none.len(), of_flow.len());
    assert!(shown(CakeIsolation::Hosts, 3).is_empty());
}

#[test]
fn each_parameter_is_checked() {
    let refused = |change: fn(&mut CakeConfig)| {
        let mut config = CakeConfig::default();
        change(&mut config);
        Cake::<Labelled>::new(&config, LINK, 0).err().map(|error| error.field)
    };
    assert_eq!(refused(|_| {}), None);
    assert_eq!(refused(|config| config.bandwidth = Rate::new(512)), None);
    assert_eq!(refused(|config| config.bandwidth = Rate::new(511)), Some("bandwidth"));
    assert_eq!(refused(|config| config.rtt = CakeRoundTrip(Span::from_microseconds(1))), None);
    assert_eq!(refused(|config| config.rtt = CakeRoundTrip(Span::from_nanoseconds(999))), Some("rtt"));
    assert_eq!(refused(|config| config.rtt = CakeRoundTrip(Span::from_seconds(3601))), Some("rtt"));
    assert_eq!(refused(|config| config.overhead = Some(300)), Some("overhead"));
    assert_eq!(refused(|config| config.mpu = Some(300)), Some("mpu"));
    assert_eq!(refused(|config| config.vlan_tags = 9), Some("vlan_tags"));
    assert_eq!(refused(|config| config.limit = Some(QueueSize::Bytes(39))), Some("limit"));
    assert_eq!(refused(|config| config.limit = Some(QueueSize::Packets(0))), Some("limit"));
}

#[test]
fn tables_are_made_for_tins_with_packets_only() {
    let mut bench = bench(&config());
    let before = bench.discipline.state_bytes();
    bench.enqueue(packet(0, 1));
    assert_eq!(bench.discipline.state_bytes(), before);
    bench.enqueue(Labelled::new(1, 1, 1000, 46));
    let added = bench.discipline.state_bytes() - before;
    assert!((100_000..110_000).contains(&added), "{added}");
}
