//! REM, HHF and fq: small configurations, and the most that a call does.

use forebay_qdisc::*;
use forebay_units::QueueSize;

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
