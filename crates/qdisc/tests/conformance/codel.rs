//! CoDel, FQ-CoDel and COBALT: small configurations, and the most that a call does.

use forebay_qdisc::*;
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

const SMALL: QueueSize = QueueSize::Packets(20);

/// CoDel may drop all packets but the last in a call.
pub const fn codel_work(packets: u64, looks_each: u64) -> Work {
    let dequeue = Call::new(looks_each * packets, packets - 1, 0);
    Work::new(Call::new(2, 1, 0), if looks_each > 1 { dequeue.at_most() } else { dequeue })
}

/// COBALT as well; BLUE draws for each.
pub const fn cobalt_work(packets: u64) -> Work {
    Work::new(Call::new(2, 1, 0), Call::new(2 * packets, packets - 1, packets).at_most())
}

/// FQ-CoDel: an arrival may cost this many packets, one batch or, for its bytes, several; CoDel may drop all packets of
/// a queue but the last.
pub const fn fq_codel_work(evicted: u64, packets: u64) -> Work {
    let enqueue = Call::new(4 + 3 * evicted, evicted, 0);
    Work::new(
        if evicted > 64 { enqueue.at_most() } else { enqueue },
        Call::new(3 * packets + 1, packets - 1, 0).at_most(),
    )
}

pub fn codel() -> CodelConfig {
    CodelConfig {
        limit: SMALL,
        target: Span::from_microseconds(20),
        interval: Span::from_microseconds(100),
        max_packet_size: Bytes(40),
        ..CodelConfig::default()
    }
}

pub fn fq_codel() -> FqCodelConfig {
    FqCodelConfig {
        limit: SMALL,
        flows: 3,
        quantum: Bytes(300),
        drop_batch: 3,
        target: Span::from_microseconds(20),
        interval: Span::from_microseconds(100),
        ..FqCodelConfig::default()
    }
}

pub fn cobalt() -> CobaltConfig {
    CobaltConfig {
        limit: SMALL,
        target: Span::from_microseconds(20),
        interval: Span::from_microseconds(100),
        max_packet_size: Bytes(40),
        increment: 0.3,
        blue_threshold: Some(Span::from_microseconds(300)),
        ..CobaltConfig::default()
    }
}
