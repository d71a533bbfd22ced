//! ECN thresholds and trimming.

use forebay_qdisc::{EcnThresholdConfig, TrimmingConfig};
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

/// A departure looks at its length and, if the queue is long, at its codepoint; it may draw.
pub const fn ecn_threshold_work(drawn: u64) -> Work {
    Work::new(Call::new(1, 1, 0), Call::new(2, 0, drawn))
}

/// A small queue with a range.
pub fn ecn_threshold() -> EcnThresholdConfig {
    EcnThresholdConfig {
        limit: QueueSize::Packets(20),
        min_threshold: QueueSize::Packets(3),
        max_threshold: QueueSize::Packets(9),
        max_probability: 0.5,
        reference_rate: None,
    }
}

/// Equal thresholds, in bytes.
pub fn ecn_step() -> EcnThresholdConfig {
    EcnThresholdConfig {
        limit: QueueSize::Bytes(20_000),
        min_threshold: QueueSize::Bytes(2000),
        max_threshold: QueueSize::Bytes(2000),
        ..EcnThresholdConfig::default()
    }
}

/// An arrival looks at itself and at the last data packet, of which one may be dropped.
pub const fn trimming_work() -> Work {
    Work::new(Call::new(2, 1, 1), Call::new(1, 0, 0))
}

/// A departure also looks at its codepoint, if the queue is long, and draws if it is not too long.
pub const fn trimming_ecn_work() -> Work {
    Work::new(Call::new(2, 1, 1), Call::new(2, 0, 1))
}

/// Small queues, and marks.
pub fn trimming() -> TrimmingConfig {
    TrimmingConfig {
        limit: QueueSize::Packets(10),
        header: Bytes(200),
        header_limit: Some(QueueSize::Packets(5)),
        headers_per_data: 2,
        ecn: true,
        min_threshold: Some(QueueSize::Packets(2)),
        max_threshold: Some(QueueSize::Packets(7)),
    }
}

/// The same limits in bytes.
pub fn trimming_bytes() -> TrimmingConfig {
    TrimmingConfig { limit: QueueSize::Bytes(20_000), header_limit: None, ..trimming() }
}
