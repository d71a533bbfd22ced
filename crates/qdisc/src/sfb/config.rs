//! Parameters of Stochastic Fair BLUE.

use forebay_units::{Bytes, QueueSize, Rate, Span};

use super::bins::MAX_LEVELS;
use crate::ParameterError;
use crate::limit::check_probability;
use crate::require;

/// The packets by which a buffer in bytes is counted where bins are sized: the paper's.
const PAPER_PACKET_BYTES: u64 = 1000;

parameters! {
    /// Parameters of Stochastic Fair BLUE.
    pub struct SfbConfig {
        /// Limit of the queue, in packets or bytes, not counting the packet being sent. Default: 200 packets, the
        /// paper's 200 KB (section III-B).
        pub limit: QueueSize = QueueSize::Packets(200);
        /// `L`: number of levels of bins, each with its own hash function; at most 16. Default: 2 (paper, section
        /// III-B).
        pub levels: u32 = 2;
        /// `N`: number of bins in a level. Default: 23 (paper, section III-B).
        pub bins: u32 = 23;
        /// Number of packets above which a bin is over its size. Default: 1.5 times `limit` divided by `bins`, where a
        /// limit in bytes counts in packets of 1000 B: 13 packets with the other defaults (paper, section III-B).
        pub bin_size: Option<u32> = None;
        /// Number of packets above which a bin takes no more, subject to `drop_rule`; at least `bin_size`. Default:
        /// `bin_size` (paper); Linux has 25 for a bin size of 20.
        pub bin_limit: Option<u32> = None;
        /// Increase of a bin's probability at an arrival while it is over its size. Default: 0.0025 (BLUE; the paper
        /// does not say).
        pub increment: f64 = 0.0025;
        /// Decrease of a bin's probability at an arrival while it is empty. Default: 0.00025 (BLUE; the paper does not
        /// say).
        pub decrement: f64 = 0.00025;
        /// Which of its bins must exceed `bin_limit` for a packet to be dropped. Default: all.
        pub drop_rule: SfbDropRule = SfbDropRule::All;
        /// Rate to which a flow is held that was identified as non-responsive. Default: 160 kb/s (paper, section
        /// III-B).
        pub rate_limit: Rate = DEFAULT_RATE_LIMIT;
        /// Whether that rate is for each identified flow or for all together. Default: each.
        pub rate_limit_scope: SfbRateLimitScope = SfbRateLimitScope::PerBin;
        /// Depth of the rate limiter's token buckets. Default: 3000 B, two packets of 1500 B.
        pub burst: Bytes = Bytes(3000);
        /// Holds identified flows to an estimate of their fair share instead of `rate_limit` (paper, section V).
        /// Default: none.
        pub fair_limit: Option<SfbFairLimit> = None;
        /// Time for which the limiter must not have had a packet of a bin at probability 1 before an arrival that finds
        /// the bin empty lowers its probability. Default: 100 ms.
        pub parole_time: Span = Span::from_milliseconds(100);
        /// Moving hash: time after which the bins are reset and their hash functions change (paper, section III-D).
        /// Default: never; the paper's experiments with a moving hash use 2 s.
        pub rehash_interval: Option<Span> = None;
        /// Whether the moving hash is double-buffered: the next bins are warmed up by the packets of identified flows,
        /// so that these stay identified across the change (paper, section III-D). Default: yes.
        pub double_buffer: bool = true;
        /// Whether ECN-capable packets are marked where they would be dropped at random. Default: yes (paper, section
        /// II).
        pub ecn: bool = true;
    }
}

/// Which bins of a packet must be over their size for a drop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SfbDropRule {
    /// Those of every level, so that one good bin protects a flow, as the paper's text has it, and Linux.
    #[default]
    All,
    /// That of any level: the paper's figure 1, read literally.
    Any,
}

/// The owner of a token bucket in the rate limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SfbRateLimitScope {
    /// Each bin: an identified flow passes while one of its bins has tokens left. Table II of the paper fits this.
    #[default]
    PerBin,
    /// All identified flows together have one.
    Aggregate,
    /// All identified flows together have one, kept as in Linux: it counts packets, of 1500 B each in `rate_limit` and
    /// `burst`. It is refilled only when it is empty, and an arrival that finds no whole token discards the time since
    /// the last attempt. Packets that come faster than the limit therefore get nothing after the first burst.
    Linux,
}

parameters! {
    /// How the fair share is estimated to which identified flows are held.
    pub struct SfbFairLimit {
        /// Time over which flows are counted: long enough for every flow to send a packet. Default: 2 s.
        pub interval: Span = Span::from_seconds(2);
        /// Bits of the bitmap in which flows are counted; enough for about seven times as many flows. Default: 4096.
        pub flow_bits: u32 = 4096;
    }
}

/// The paper's 0.16 Mb/s.
pub(crate) const DEFAULT_RATE_LIMIT: Rate = match Rate::new(160_000) {
    Some(rate) => rate,
    None => panic!("a rate must not be zero"),
};

impl SfbConfig {
    /// Checks every field but `limit`; returns the size of a bin and its limit in packets.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn check(&self) -> Result<(u32, u32), ParameterError> {
        let bin_size = check_bins(self.limit, self.levels, self.bins, self.bin_size)?;
        let bin_limit = self.bin_limit.unwrap_or(bin_size);
        require(bin_limit >= bin_size, "bin_limit", "be at least `bin_size`, or no probability ever rises")?;
        check_probability(self.increment, "increment")?;
        require(self.increment > 0.0, "increment", "be more than 0")?;
        check_probability(self.decrement, "decrement")?;
        require(self.burst.0 > 0, "burst", "be at least 1 B")?;
        check_rehash_interval(self.rehash_interval)?;
        if let Some(fair) = &self.fair_limit {
            let millisecond = Span::from_milliseconds(1);
            require(fair.interval >= millisecond, "fair_limit.interval", "be at least 1 ms")?;
            let bits = 64..=1 << 24;
            require(bits.contains(&fair.flow_bits), "fair_limit.flow_bits", "be between 64 and 16777216")?;
        }
        Ok((bin_size, bin_limit))
    }
}

/// Checks the layout of the bins; returns the size of a bin in packets.
pub(crate) fn check_bins(limit: QueueSize, levels: u32, bins: u32, size: Option<u32>) -> Result<u32, ParameterError> {
    require((1..=MAX_LEVELS as u32).contains(&levels), "levels", "be between 1 and 16")?;
    require((1..=65_536).contains(&bins), "bins", "be between 1 and 65536")?;
    let packets = match limit {
        QueueSize::Packets(packets) => packets,
        QueueSize::Bytes(bytes) => bytes / PAPER_PACKET_BYTES,
    };
    let overbooked = packets.saturating_mul(3) / (2 * u64::from(bins));
    let size = size.unwrap_or(u32::try_from(overbooked).unwrap_or(u32::MAX).max(1));
    require(size > 0, "bin_size", "be at least 1 packet")?;
    Ok(size)
}

/// At a change of hash every queued packet is counted again; the bound keeps that rare compared with packets.
pub(crate) fn check_rehash_interval(interval: Option<Span>) -> Result<(), ParameterError> {
    let holds = interval.is_none_or(|interval| interval >= Span::from_milliseconds(1));
    require(holds, "rehash_interval", "be at least 1 ms")
}
