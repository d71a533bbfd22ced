//! TBF, token bucket filter: lets through a rate, and a burst after an idle time.
//!
//! # What it does
//! TBF holds the packets of a queue back until a bucket has tokens for them. Tokens for `rate` flow into the bucket,
//! which holds `burst` bytes. Over any time t, at most `burst` + `rate` x t leaves. With `peakrate` a second bucket
//! limits the rate within a burst. The queue may be of any kind; by default it is a FIFO queue.
//!
//! # When to use it
//! Use it to shape a link to less than its rate: the rate of a contract, or a rate below that of a modem, so that the
//! queue is here. Classes with a rate each need `htb`.
//!
//! # Example
//! ```toml
//! queue.tbf = { rate = "9 Mbps", burst = "4 KB", queue = "fq_codel" }
//! ```
//!
//! Set `rate` first, and `burst` to at least the longest packet: longer ones are dropped. `limit` or `latency` bounds
//! the FIFO queue, and a `queue` has a limit of its own.
//!
//! # Source
//! Linux, `net/sched/sch_tbf.c`; iproute2's `tc/q_tbf.c` for `latency`.
//!
//! # Where we differ
//! - `rate`, `burst` and `limit` have defaults. If both `limit` and `latency` are given, both hold; `tc` takes one.
//! - Time is in picoseconds, in Linux in nanoseconds with a reciprocal of the rate.
//! - A queue other than the FIFO releases its next packet before the tokens for it are there, as a queue without `peek`
//!   does in Linux. A discipline that acts on delay does not see this wait, and its limit does not count the packet.
//! - Packets are not segmented: one that is longer than `burst` or `mtu` is dropped on arrival.
//!
//! # Cost
//! Less than 200 bytes, and the queue. O(1) a packet, in addition to the work of the queue. No random numbers.
//!
//! # Parameters
//! See [`TbfConfig`].

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Bytes, QueueSize, Rate, Span};

use crate::inner_queues::{FIFO_LIMIT, InnerQueue, InnerQueues, PlacedError};
use crate::limit::{Limit, SHORTEST_PACKET_BYTES};
use crate::memory::inline_bytes;
use crate::peeked::Peeked;
use crate::require;
use crate::token_bucket::TokenBucket;
use crate::{Backlog, Cx, Discipline, DropReason, Packet, ParameterError, Served};

/// Parameters of TBF. `Q` describes the queue.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct TbfConfig<Q> {
    /// Rate. Default: that of the link.
    #[cfg_attr(feature = "config", serde(default))]
    pub rate: Option<Rate>,
    /// Bytes that may leave at once after an idle time. Longer packets are dropped. Default: the bytes of 1 ms at
    /// `rate` (the least that `tc`'s manual advises for a clock of 1000 Hz), at least 3000 B.
    #[cfg_attr(feature = "config", serde(default))]
    pub burst: Option<Bytes>,
    /// Rate that a burst does not exceed, above `rate`. Default: none.
    #[cfg_attr(feature = "config", serde(default))]
    pub peakrate: Option<Rate>,
    /// Bytes that may leave at once beyond `peakrate`, which needs it. Longer packets are dropped. Default: none.
    #[cfg_attr(feature = "config", serde(default))]
    pub mtu: Option<Bytes>,
    /// Limit of the FIFO queue, in packets or bytes, with the packet that waits for tokens and without the one being
    /// sent. Only without `queue`. Default: 1000 packets.
    #[cfg_attr(feature = "config", serde(default))]
    pub limit: Option<QueueSize>,
    /// Longest time for which a packet waits for tokens: the FIFO queue holds the bytes of this time at `rate`, and
    /// `burst`. Only without `queue`. Default: none.
    #[cfg_attr(feature = "config", serde(default))]
    pub latency: Option<Span>,
    /// The queue. Default: a FIFO queue of `limit`.
    pub queue: Option<Box<Q>>,
}

impl<Q> TbfConfig<Q> {
    fn rate(&self, link_rate: Rate) -> Rate {
        self.rate.unwrap_or(link_rate)
    }

    fn burst_bytes(&self, link_rate: Rate) -> u64 {
        let default = || self.rate(link_rate).bytes_in(Span::from_milliseconds(1)).max(3000);
        self.burst.map_or_else(default, |burst| burst.0)
    }

    /// The longest packet that fits into the buckets.
    fn longest_bytes(&self, link_rate: Rate) -> u64 {
        self.burst_bytes(link_rate).min(self.mtu.map_or(u64::MAX, |mtu| mtu.0))
    }

    /// The limit of the FIFO queue; `None` if there is another one.
    fn fifo_limit(&self, link_rate: Rate) -> Result<Option<Limit>, ParameterError> {
        if self.queue.is_some() {
            let bound = "be left out if there is a `queue`, which has a limit of its own";
            require(self.limit.is_none(), "limit", bound)?;
            require(self.latency.is_none(), "latency", bound)?;
            return Ok(None);
        }
        let limit = Limit::new(self.limit.unwrap_or(FIFO_LIMIT), "limit")?;
        let Some(latency) = self.latency else { return Ok(Some(limit)) };
        let bytes = |rate: Rate, bucket: u64| rate.bytes_in(latency).saturating_add(bucket);
        let of_rate = bytes(self.rate(link_rate), self.burst_bytes(link_rate));
        let of_peak = self.peakrate.zip(self.mtu).map_or(u64::MAX, |(rate, mtu)| bytes(rate, mtu.0));
        Ok(Some(limit.and_bytes(of_rate.min(of_peak))))
    }

    /// The checked limit of the FIFO queue, and the second bucket.
    fn checked(&self, link_rate: Rate) -> Result<(Option<Limit>, Option<TokenBucket>), ParameterError> {
        let holds_a_packet = |bytes: u64| bytes >= SHORTEST_PACKET_BYTES;
        require(holds_a_packet(self.burst_bytes(link_rate)), "burst", "hold at least one packet (40 B)")?;
        let peak = match (self.peakrate, self.mtu) {
            (None, mtu) => {
                require(mtu.is_none(), "mtu", "be left out without `peakrate`")?;
                None
            }
            (Some(rate), mtu) => {
                require(rate > self.rate(link_rate), "peakrate", "be more than `rate`")?;
                let mtu = mtu.map_or(0, |mtu| mtu.0);
                require(holds_a_packet(mtu), "mtu", "be given with `peakrate`, and hold at least one packet (40 B)")?;
                Some(TokenBucket::new(rate, mtu))
            }
        };
        Ok((self.fifo_limit(link_rate)?, peak))
    }
}

impl<Q> InnerQueues<Q> for TbfConfig<Q> {
    fn inner_queues(&self) -> Vec<InnerQueue<'_, Q>> {
        // TBF itself limits the FIFO queue, with the packet that waits for tokens.
        let fifo_limit = QueueSize::Packets(u64::MAX);
        vec![InnerQueue { index: 0, keys: "queue".into(), queue: self.queue.as_deref(), fifo_limit }]
    }

    fn inner_rate(&self, _index: usize, link_rate: Rate) -> Rate {
        self.rate(link_rate).min(link_rate)
    }

    fn check(&self, link_rate: Rate) -> Result<(), PlacedError> {
        Ok(self.checked(link_rate).map(drop)?)
    }

    fn limit(&self) -> Option<QueueSize> {
        self.queue.is_none().then(|| self.limit.unwrap_or(FIFO_LIMIT))
    }

    fn longest_packet(&self, link_rate: Rate) -> Option<Bytes> {
        Some(Bytes(self.longest_bytes(link_rate)))
    }
}

/// TBF: token bucket filter.
pub struct Tbf<P> {
    queue: Peeked<P>,
    /// Limit of the FIFO queue; `None` for another one.
    limit: Option<Limit>,
    longest_bytes: u64,
    rate: TokenBucket,
    peak: Option<TokenBucket>,
    /// How often the next packet had no tokens.
    overlimits: u64,
}

impl<P: Packet> Tbf<P> {
    /// A TBF over the one of `queues`, which was built from `queue`, or else is a FIFO queue without a limit.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new<Q>(
        config: &TbfConfig<Q>,
        link_rate: Rate,
        mut queues: Vec<Box<dyn Discipline<P>>>,
    ) -> Result<Self, ParameterError> {
        let (limit, peak) = config.checked(link_rate)?;
        let queue = queues.pop().filter(|_| queues.is_empty());
        let queue = queue.ok_or(ParameterError { field: "queue", bound: "be one queue" })?;
        Ok(Self {
            queue: Peeked::new(queue),
            limit,
            longest_bytes: config.longest_bytes(link_rate),
            rate: TokenBucket::new(config.rate(link_rate), config.burst_bytes(link_rate)),
            peak,
            overlimits: 0,
        })
    }
}

impl<P: Packet> Discipline<P> for Tbf<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if u64::from(len_bytes) > self.longest_bytes {
            return cx.sink.dropped(packet, DropReason::RateLimit, false);
        }
        if self.limit.is_some_and(|limit| !limit.fits(self.queue.backlog(), len_bytes)) {
            return cx.sink.dropped(packet, DropReason::Overflow, false);
        }
        self.queue.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let len_bytes = match self.queue.peek(cx) {
            Ok(len_bytes) => len_bytes,
            Err(held) => return held,
        };
        let of_rate = self.rate.ready_at(len_bytes);
        let ready_at = self.peak.map_or(of_rate, |peak| peak.ready_at(len_bytes).max(of_rate));
        if ready_at > cx.now {
            self.overlimits += 1;
            return Served::PollAt(ready_at);
        }
        self.rate.take(len_bytes, cx.now);
        if let Some(peak) = &mut self.peak {
            peak.take(len_bytes, cx.now);
        }
        self.queue.take()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self) + self.queue.queue().state_bytes()
    }

    fn children(&self, visit: &mut dyn FnMut(&dyn Discipline<P>)) {
        visit(self.queue.queue());
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("overlimits", self.overlimits as f64);
    }
}

#[cfg(test)]
#[path = "tbf_tests.rs"]
mod tests;
