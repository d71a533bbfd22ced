//! PIE, FQ-PIE, PI2 and DualPI2: small configurations, and the most that a call does.

use forebay_qdisc::*;
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

/// FQ-PIE drops only packets that arrive.
pub const fn fq_pie_work() -> Work {
    Work::new(Call::new(2, 1, 1), Call::new(2, 0, 0))
}

/// PI2: an arrival may draw this many numbers. Overload may drop all packets, with two numbers for each.
pub const fn pi2_work(drawn: u64, packets: u64) -> Work {
    let (looks, dequeue) =
        if drawn == 0 { (2, Call::new(2 * packets, packets, 2 * packets)) } else { (3, Call::new(1, 0, 0)) };
    Work::new(Call::new(looks, 1, drawn), dequeue.at_most())
}

/// DualPI2, likewise.
pub const fn dualpi2_work(drawn: u64, packets: u64) -> Work {
    Work::new(Call::new(2, 1, drawn), Call::new(3 * packets, packets, 2 * packets).at_most())
}

/// PIE with a short target.
pub fn pie() -> PieConfig {
    PieConfig {
        limit: QueueSize::Packets(20),
        target: Span::from_microseconds(20),
        update_interval: Span::from_microseconds(20),
        alpha: 1000.0,
        beta: 1000.0,
        max_burst: Span::from_microseconds(100),
        ..PieConfig::default()
    }
}

/// FQ-PIE with a short target and few queues.
pub fn fq_pie() -> FqPieConfig {
    let PieConfig { limit, target, update_interval, alpha, beta, max_burst, .. } = pie();
    FqPieConfig {
        limit,
        flows: 3,
        quantum: Bytes(300),
        target,
        update_interval,
        alpha,
        beta,
        max_burst,
        mean_packet_size: Bytes(100),
        ..FqPieConfig::default()
    }
}

/// PI2 with a short target.
pub fn pi2() -> Pi2Config {
    Pi2Config {
        limit: QueueSize::Packets(20),
        target: Some(Span::from_microseconds(20)),
        update_interval: Some(Span::from_microseconds(20)),
        alpha: Some(1000.0),
        beta: Some(1000.0),
        min_backlog: Some(Bytes(100)),
        ..Pi2Config::default()
    }
}

/// DualPI2 with a short target.
pub fn dualpi2() -> DualPi2Config {
    DualPi2Config {
        limit: QueueSize::Packets(20),
        target: Some(Span::from_microseconds(20)),
        update_interval: Some(Span::from_microseconds(20)),
        alpha: Some(1000.0),
        beta: Some(1000.0),
        min_backlog: Some(Bytes(100)),
        l4s_classes: vec![1],
        ..DualPi2Config::default()
    }
}
