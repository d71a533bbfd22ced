//! The envelope of a token bucket, its limits and its queue.

use proptest::prelude::*;

use super::*;
use crate::test_support::{Bench, LINK, Labelled};
use crate::{Codel, CodelConfig, DropTail, DropTailConfig, Fifo, Time};

fn fifo() -> Box<dyn Discipline<Labelled>> {
    let unlimited = DropTailConfig { limit: QueueSize::Packets(u64::MAX) };
    Box::new(Fifo::new(Box::new(DropTail::new(&unlimited, LINK, 0).unwrap())))
}

fn bench(config: &TbfConfig<()>) -> Bench<Tbf<Labelled>> {
    Bench::new(Tbf::new(config, LINK, vec![fifo()]).unwrap())
}

/// 8 Mb/s, a byte a microsecond.
fn slow() -> TbfConfig<()> {
    TbfConfig { rate: Some(Rate::megabits(8)), burst: Some(Bytes(3000)), ..TbfConfig::default() }
}

fn at(microseconds: u64) -> Time {
    Time::ZERO + Span::from_microseconds(microseconds)
}

/// When each of the packets leaves, on a link that is always free, with its length.
fn departures(bench: &mut Bench<Tbf<Labelled>>) -> Vec<(Time, u32)> {
    let mut left = Vec::new();
    loop {
        match bench.serve() {
            Served::Packet(packet) => left.push((bench.now, packet.len_bytes())),
            Served::PollAt(at) => bench.now = at,
            Served::Idle => return left,
        }
    }
}

fn departures_of(config: &TbfConfig<()>, lengths: &[u32]) -> Vec<(Time, u32)> {
    let mut bench = bench(config);
    lengths.iter().for_each(|&length| bench.enqueue(Labelled::new(0, 1, length, 0)));
    departures(&mut bench)
}

#[test]
fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
    let left = departures_of(&slow(), &[1000; 5]);
    assert_eq!(left, [(at(0), 1000), (at(0), 1000), (at(0), 1000), (at(1000), 1000), (at(2000), 1000)]);
    // A shorter packet does not overtake, and waits for its own tokens only.
    let left = departures_of(&slow(), &[3000, 1500, 100]);
    assert_eq!(left, [(at(0), 3000), (at(1500), 1500), (at(1600), 100)]);
}

#[test]
fn a_burst_is_limited_by_the_peak_rate() {
    let peak = TbfConfig { peakrate: Some(Rate::megabits(16)), mtu: Some(Bytes(1000)), ..slow() };
    let left = departures_of(&peak, &[1000; 7]);
    // Two bytes a microsecond until the burst is used up after 5000 B: 3000 B and those of 2 ms.
    let times: Vec<_> = left.iter().map(|&(time, _)| time).collect();
    assert_eq!(times, [0, 500, 1000, 1500, 2000, 3000, 4000].map(at));
}

#[test]
fn a_packet_longer_than_a_bucket_is_dropped_on_arrival() {
    let peak = TbfConfig { peakrate: Some(Rate::megabits(16)), mtu: Some(Bytes(1000)), ..slow() };
    for (config, longest) in [(slow(), 3000), (peak, 1000)] {
        assert_eq!(config.longest_packet(LINK), Some(Bytes(longest)));
        let mut bench = bench(&config);
        for length in [longest as u32, longest as u32 + 1] {
            bench.enqueue(Labelled::new(0, 1, length, 0));
        }
        let refused = Labelled::new(0, 1, longest as u32 + 1, 0);
        assert_eq!(bench.dropped.0, [(refused, DropReason::RateLimit, false)]);
        assert_eq!(departures(&mut bench).len(), 1);
    }
}

#[test]
fn the_limit_counts_the_packet_that_waits_for_tokens() {
    let two = TbfConfig { limit: Some(QueueSize::Packets(2)), ..slow() };
    // 8 Mb/s for 1 ms and the burst, or 16 Mb/s for 1 ms and the mtu.
    let time = TbfConfig { latency: Some(Span::from_milliseconds(1)), ..slow() };
    let peak = TbfConfig { peakrate: Some(Rate::megabits(16)), mtu: Some(Bytes(1500)), ..time.clone() };
    let both = TbfConfig { limit: Some(QueueSize::Packets(3)), ..time.clone() };
    for (config, held) in [(two, 2), (time, 4), (peak, 3), (both, 3)] {
        let mut bench = bench(&config);
        bench.enqueue(Labelled::new(0, 1, 1000, 0));
        assert!(bench.dequeue().is_some());
        for _ in 0..2 {
            // The bucket is empty: the next packet is taken out of the queue, and waits.
            bench.enqueue(Labelled::new(0, 1, 1000, 0));
            bench.dequeue();
        }
        let before = bench.discipline.backlog().packets;
        (0..9).for_each(|_| bench.enqueue(Labelled::new(0, 1, 1000, 0)));
        assert_eq!(bench.discipline.backlog().packets, held);
        assert_eq!(bench.dropped.0.len() as u64, 9 + before - held);
        assert!(bench.dropped.0.iter().all(|(_, reason, _)| *reason == DropReason::Overflow));
    }
}

#[test]
fn without_a_rate_it_is_that_of_the_link() {
    let default = TbfConfig::<()>::default();
    assert_eq!((default.rate(LINK), default.burst_bytes(LINK)), (LINK, 12_500));
    assert_eq!(default.burst_bytes(Rate::megabits(1)), 3000);
    assert_eq!((default.limit(), default.inner_rate(0, LINK)), (Some(QueueSize::Packets(1000)), LINK));
    let slow = TbfConfig { queue: Some(Box::new(())), ..slow() };
    assert_eq!((slow.limit(), slow.inner_rate(0, LINK)), (None, Rate::megabits(8)));
    assert_eq!(slow.inner_rate(0, Rate::megabits(5)), Rate::megabits(5));
}

#[test]
fn it_counts_how_often_a_packet_waits() {
    let mut bench = bench(&slow());
    (0..4).for_each(|_| bench.enqueue(Labelled::new(0, 1, 1000, 0)));
    assert_eq!(bench.drain().len(), 3);
    bench.serve();
    let mut gauges = Vec::new();
    bench.discipline.gauges(&mut |name, value| gauges.push((name, value)));
    assert_eq!(gauges, [("overlimits", 2.0)]);
}

#[test]
fn a_queue_of_any_kind_fits_in() {
    let codel: Box<dyn Discipline<Labelled>> =
        Box::new(Codel::new(&CodelConfig { max_packet_size: Bytes(1), ..CodelConfig::default() }, LINK, 0).unwrap());
    let mut bench =
        Bench::new(Tbf::new(&TbfConfig { queue: Some(Box::new(())), ..slow() }, LINK, vec![codel]).unwrap());
    (0..600).for_each(|label| bench.enqueue(Labelled::new(label, 1, 1000, 0)));
    let left = departures(&mut bench);
    // The queue has been longer than CoDel's target for half a second.
    assert!(!bench.dropped.0.is_empty() && left.len() + bench.dropped.0.len() == 600);
    let mut children = 0;
    bench.discipline.children(&mut |_| children += 1);
    assert_eq!(children, 1);
}

#[test]
fn each_parameter_is_checked() {
    let refused = |config: &TbfConfig<()>| {
        let placed = config.check(LINK).err().map(|placed| placed.error.field);
        assert_eq!(Tbf::new(config, LINK, vec![fifo()]).err().map(|error| error.field), placed);
        placed
    };
    let peak = |rate, mtu| TbfConfig { peakrate: Some(Rate::megabits(rate)), mtu, ..slow() };
    assert_eq!(refused(&TbfConfig::default()), None);
    assert_eq!(
        [39, 40].map(|burst| refused(&TbfConfig { burst: Some(Bytes(burst)), ..slow() })),
        [Some("burst"), None]
    );
    assert_eq!(refused(&TbfConfig { mtu: Some(Bytes(1500)), ..slow() }), Some("mtu"));
    assert_eq!([8, 9].map(|rate| refused(&peak(rate, Some(Bytes(1500))))), [Some("peakrate"), None]);
    assert_eq!(
        [None, Some(Bytes(39)), Some(Bytes(40))].map(|mtu| refused(&peak(9, mtu))),
        [Some("mtu"), Some("mtu"), None]
    );
    assert_eq!(refused(&TbfConfig { limit: Some(QueueSize::Packets(0)), ..slow() }), Some("limit"));
    let inner = TbfConfig { queue: Some(Box::new(())), ..slow() };
    assert_eq!(refused(&inner), None);
    assert_eq!(refused(&TbfConfig { limit: Some(QueueSize::Packets(9)), ..inner.clone() }), Some("limit"));
    assert_eq!(refused(&TbfConfig { latency: Some(Span::from_seconds(1)), ..inner }), Some("latency"));
    for queues in [vec![], vec![fifo(), fifo()]] {
        assert_eq!(Tbf::<Labelled>::new(&slow(), LINK, queues).err().map(|error| error.field), Some("queue"));
    }
}

proptest! {
    /// The law of a token bucket, up to half a picosecond of rounding for each packet.
    #[test]
    fn no_window_carries_more_than_the_burst_and_the_rate(
        kilobits in 8_u64..1_000_000,
        burst in 1500_u64..20_000,
        peak in prop::option::of((2_u64..30, 1500_u64..5000)),
        arrivals in prop::collection::vec((0_u64..3_000_000_000, 1_u32..=1500), 1..60),
    ) {
        let rate = Rate::new(1000 * kilobits).unwrap();
        let peakrate = peak.map(|(times, _)| Rate::new(1000 * kilobits * times / 2 + 1).unwrap());
        let mtu = peak.map(|(_, mtu)| Bytes(mtu));
        let config = TbfConfig { rate: Some(rate), burst: Some(Bytes(burst)), peakrate, mtu, ..TbfConfig::default() };
        let mut bench = bench(&config);
        let mut left = Vec::new();
        for &(gap_ps, length) in &arrivals {
            let arrives = bench.now + Span::from_picoseconds(gap_ps);
            // Packets that may leave before do so.
            loop {
                match bench.serve() {
                    Served::Packet(packet) => left.push((bench.now, packet.len_bytes())),
                    Served::PollAt(at) if at <= arrives => bench.now = at,
                    _ => break,
                }
            }
            bench.now = arrives;
            bench.enqueue(Labelled::new(0, 1, length, 0));
        }
        left.extend(departures(&mut bench));
        prop_assert_eq!(left.len(), arrivals.len());
        let picobits = |bytes: u64| u128::from(bytes) * 8_000_000_000_000;
        for (rate, bucket) in [Some((rate, burst)), peakrate.zip(mtu.map(|mtu| mtu.0))].into_iter().flatten() {
            for (first, &(from, _)) in left.iter().enumerate() {
                let mut bytes = 0;
                for (last, &(to, length)) in left.iter().enumerate().skip(first) {
                    bytes += u64::from(length);
                    let (span, packets) = (u128::from(to.since(from).picoseconds()), (last - first + 2) as u128);
                    let most = 2 * picobits(bucket) + u128::from(rate.bits_per_second()) * (2 * span + packets);
                    prop_assert!(2 * picobits(bytes) <= most, "{bytes} bytes from {from:?} to {to:?}");
                }
            }
        }
    }
}
