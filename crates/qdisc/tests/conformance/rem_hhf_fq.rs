//! REM, HHF and fq: small configurations, and the most that a call does.

use forebay_qdisc::*;
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

/// HHF: an arrival may cost up to this many packets, or itself.
pub const fn hhf_work(dropped: u64) -> Work {
    let enqueue = Call::new(2 + dropped, dropped, 0);
    Work::new(if dropped > 1 { enqueue.at_most() } else { enqueue }, Call::new(1, 0, 0))
}

/// fq drops only packets that arrive. Marks need one more look.
pub const fn fq_work(marks: bool) -> Work {
    Work::new(Call::new(2, 1, 0), Call::new(if marks { 3 } else { 2 }, 0, 0))
}

/// REM with a short interval and a large gain.
pub fn rem() -> RemConfig {
    RemConfig {
        limit: QueueSize::Packets(20),
        target: QueueSize::Packets(3),
        update_interval: Span::from_microseconds(20),
        gamma: 0.5,
        phi: 1.2,
        ..RemConfig::default()
    }
}

/// HHF in which flows become heavy hitters, and cease to be, after a few packets.
pub fn hhf() -> HhfConfig {
    HhfConfig {
        limit: QueueSize::Packets(20),
        quantum: Bytes(300),
        admit_bytes: Bytes(2000),
        reset_timeout: Span::from_milliseconds(1),
        evict_timeout: Span::from_milliseconds(1),
        ..HhfConfig::default()
    }
}

/// fq with few queues, short ones, and marks.
pub fn fq() -> FqConfig {
    FqConfig {
        limit: QueueSize::Packets(20),
        flow_limit: 9,
        flows: 3,
        quantum: Bytes(300),
        initial_quantum: Bytes(700),
        refill_delay: Span::from_microseconds(100),
        ce_threshold: Some(Span::from_microseconds(20)),
        weights: [1 << 14; 3],
        ..FqConfig::default()
    }
}
