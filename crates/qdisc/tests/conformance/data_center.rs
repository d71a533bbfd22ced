//! Trimming.

use forebay_qdisc::{TrimmingConfig, TrimmingEcn};
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

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
        ecn: Some(TrimmingEcn { min: QueueSize::Packets(2), max: QueueSize::Packets(7) }),
    }
}
