//! CONGA by vectors: estimators, labels, and the choice of a leaf.

use forebay_units::{Rate, Span, Time};
use rand_pcg::Pcg64Mcg;

use super::*;

fn us(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

fn gigabits(rate: u64) -> Rate {
    Rate::megabits(1000 * rate)
}

/// A leaf with a host at port 0 and the uplinks 1 to 4 to the spines 0 to 3.
fn leaf(number: u32) -> Conga {
    let CongaConfig { timeout, aging } = CongaConfig::default();
    let known = Known { aging, ports: Vec::new(), reported: Vec::new() };
    let mut leaf = Conga { flowlets: Flowlets::new(timeout), leaf: None, known, received: Vec::new() };
    let uplinks = (0..4).map(|spine| (gigabits(100), Some(spine)));
    let ports = [(gigabits(100), None)].into_iter().chain(uplinks).collect();
    leaf.place_at(LeafSpineNode { leaf: Some(number), leaves: 3, ports });
    leaf
}

fn packet(now: Time, flow: u32, input: u32, leaves: [u32; 2], label: Label) -> PathPacket {
    PathPacket { now, flow, len_bytes: 1000, carried: Some(Carried { input, leaves, label: Some(label.code()) }) }
}

const UPLINKS: EqualPaths<'static> = EqualPaths { set: 0, ports: &[1, 2, 3, 4] };
const TO_HOST: EqualPaths<'static> = EqualPaths { set: 1, ports: &[0] };

fn label_of(packet: &PathPacket) -> Label {
    Label::of(packet.carried.and_then(|carried| carried.label).expect("data has room for a label"))
}

#[test]
fn an_estimate_loses_a_fifth_each_interval_and_a_busy_port_has_the_largest_metric() {
    // 100 Gb/s: 5 Mb in an interval, 25 Mb in the limit.
    let mut estimator = Estimator::new(gigabits(100));
    assert!((estimator.full_bits - 25e6).abs() < 1e-3);
    (0..625).for_each(|_| estimator.add(1000, us(10)));
    assert_eq!((estimator.bits, estimator.metric(us(49))), (5e6, 1));
    // 8 * 4 / 25 = 1.28; 8 * 3.2 / 25 = 1.024; then below 1.
    let metrics = [50, 100, 149, 150].map(|at| estimator.metric(us(at)));
    assert_eq!(metrics, [1, 1, 1, 0]);
    assert!((estimator.bits - 5e6 * 0.512).abs() < 1.0);
    let mut metric = 0;
    for packet in 0..62_500 {
        let now = Time::from_picoseconds(80_000 * packet);
        estimator.add(1000, now);
        metric = estimator.metric(now);
    }
    assert_eq!(metric, 7);
    // Before a decay the estimate of a busy port is that of the limit, to which it has come close after 5 ms.
    assert!((estimator.bits / 25e6 - 1.0).abs() < 0.01, "{}", estimator.bits);
}

#[test]
fn a_label_fits_its_bits() {
    for (congestion, reported, path) in [(7, 0, 0), (0, 7, 0), (0, 0, 15), (5, 2, 9), (7, 7, 15)] {
        let label = Label { congestion, reported, path };
        assert!(label.code() < 1 << PathPacket::LABEL_BITS);
        assert_eq!(Label::of(label.code()), label);
    }
}

#[test]
fn a_leaf_avoids_the_paths_that_the_other_one_reports() {
    let (mut leaf, mut rng) = (leaf(0), Pcg64Mcg::new(3));
    // Leaf 1 reports every path but that over spine 2 as congested.
    for (path, reported) in [(0, 4), (1, 3), (2, 1), (3, 6)] {
        let mut from_leaf_1 = packet(us(10), 8, 3, [1, 0], Label { congestion: 0, path, reported });
        assert_eq!(leaf.choose(&mut from_leaf_1, TO_HOST, &mut rng), 0);
        assert_eq!(label_of(&from_leaf_1), Label::default(), "the host gets no label");
    }
    for flow in 0..50 {
        let mut to_leaf_1 = packet(us(20), flow, 0, [0, 1], Label::default());
        assert_eq!(leaf.choose(&mut to_leaf_1, UPLINKS, &mut rng), 2);
    }
    // Nothing is known about leaf 2, nor about leaf 1 when the reports are old.
    for (to, now) in [(2, us(20)), (1, us(511))] {
        let mut counts = [0; 4];
        for flow in 100..500 {
            let mut sent = packet(now, flow + 1000 * to, 0, [0, to], Label::default());
            counts[leaf.choose(&mut sent, UPLINKS, &mut rng)] += 1;
        }
        assert!(counts.iter().all(|&count| count > 60), "{to}: {counts:?}");
    }
}

#[test]
fn a_leaf_avoids_its_own_busy_uplink_and_keeps_flowlets_together() {
    let (mut leaf, mut rng) = (leaf(0), Pcg64Mcg::new(3));
    let mut of_flow_7 = packet(us(1), 7, 0, [0, 1], Label::default());
    let first = leaf.choose(&mut of_flow_7, UPLINKS, &mut rng);
    // 5 Mb on its uplink: a metric of 1.
    for _ in 0..625 {
        let mut more = packet(us(2), 7, 0, [0, 1], Label::default());
        assert_eq!(leaf.choose(&mut more, UPLINKS, &mut rng), first, "a flowlet does not move");
        of_flow_7 = more;
    }
    assert_eq!(label_of(&of_flow_7).congestion, 1);
    for flow in 100..200 {
        assert_ne!(leaf.choose(&mut packet(us(3), flow, 0, [0, 1], Label::default()), UPLINKS, &mut rng), first);
    }
    assert_ne!(leaf.choose(&mut packet(us(103), 7, 0, [0, 1], Label::default()), UPLINKS, &mut rng), first);
}

#[test]
fn a_leaf_reports_what_packets_carried() {
    let (mut leaf, mut rng) = (leaf(0), Pcg64Mcg::new(3));
    for (input, congestion) in [(1, 5), (4, 2)] {
        leaf.choose(&mut packet(us(1), 8, input, [1, 0], Label { congestion, ..Label::default() }), TO_HOST, &mut rng);
    }
    let mut seen = Vec::new();
    for flow in 0..40 {
        let mut sent = packet(us(2), flow, 0, [0, 1], Label::default());
        leaf.choose(&mut sent, UPLINKS, &mut rng);
        let Label { path, reported, .. } = label_of(&sent);
        seen.push((path, reported));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [(0, 5), (3, 2)]);
    let mut old = packet(us(502), 41, 0, [0, 1], Label::default());
    leaf.choose(&mut old, UPLINKS, &mut rng);
    assert_eq!((label_of(&old).path, label_of(&old).reported), (0, 0));
}

#[test]
fn a_spine_raises_what_packets_carry_and_keeps_the_report() {
    let (mut spine, mut rng) = (leaf(0), Pcg64Mcg::new(3));
    let ports = (0..2).map(|_| (gigabits(100), None)).collect();
    spine.place_at(LeafSpineNode { leaf: None, leaves: 2, ports });
    let to_leaf_1 = EqualPaths { set: 0, ports: &[1] };
    for _ in 0..1250 {
        spine.choose(&mut packet(us(1), 3, 0, [0, 1], Label::default()), to_leaf_1, &mut rng);
    }
    for (came_with, leaves_with) in [(0, 3), (6, 6)] {
        let label = Label { congestion: came_with, path: 9, reported: 4 };
        let mut passing = packet(us(2), 4, 0, [0, 1], label);
        assert_eq!(spine.choose(&mut passing, to_leaf_1, &mut rng), 0);
        assert_eq!(label_of(&passing), Label { congestion: leaves_with, ..label });
    }
    let mut ack = PathPacket { carried: None, ..packet(us(2), 4, 0, [0, 1], Label::default()) };
    ack.carried = Some(Carried { input: 0, leaves: [0, 1], label: None });
    spine.choose(&mut ack, to_leaf_1, &mut rng);
    assert_eq!(ack.carried.and_then(|carried| carried.label), None);
}
