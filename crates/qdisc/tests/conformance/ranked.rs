//! PIFO, SP-PIFO, AIFO and AFQ: small configurations that forget flows, and the most that a call does.

use forebay_qdisc::*;
use forebay_testkit::{Call, Work};
use forebay_units::{Bytes, QueueSize};

/// PIFO: an arrival may cost up to this many packets, or itself.
pub const fn pifo_work(dropped: u64) -> Work {
    let enqueue = Call::new(3 + 2 * dropped, dropped, 0);
    Work::new(if dropped > 1 { enqueue.at_most() } else { enqueue }, Call::new(1, 0, 0))
}

/// An arrival may cost itself, after this many looks at it.
pub const fn ranked_work(looks: u64) -> Work {
    Work::new(Call::new(looks, 1, 0), Call::new(1, 0, 0))
}

/// PIFO without state for flows: an arrival, and a packet that it costs, has a look at its length. Ranks may need
/// another look at it, and draw numbers.
pub const fn sorted_work(looks: u64, drawn: u64) -> Work {
    Work::new(Call::new(looks, 1, drawn), Call::new(1, 0, 0))
}

pub fn pifo() -> PifoConfig {
    PifoConfig { limit: QueueSize::Packets(20), max_flows: 3, ..PifoConfig::default() }
}

pub fn by_remaining_size(config: PifoConfig) -> PifoConfig {
    PifoConfig { ranks: RankConfig::RemainingSize, count_inversions: true, ..config }
}

pub fn drawn() -> RankConfig {
    RankConfig::Uniform(UniformRanks::default())
}

pub fn sp_pifo() -> SpPifoConfig {
    SpPifoConfig { limit: QueueSize::Packets(20), queues: 3, max_flows: 3, ..SpPifoConfig::default() }
}

pub fn aifo() -> AifoConfig {
    AifoConfig { limit: QueueSize::Packets(20), window: 5, headroom: 0.2, max_flows: 3, ..AifoConfig::default() }
}

pub fn afq() -> AfqConfig {
    AfqConfig { limit: QueueSize::Packets(20), queues: 5, bytes_per_round: Bytes(700), queue_limit: 6, max_flows: 3 }
}
