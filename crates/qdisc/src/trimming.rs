//! Trimming: cuts the payload of packets that do not fit, and sends their headers first.
//!
//! # What it does
//! Data waits in a queue of `limit`. If a packet does not fit, a fair coin chooses it or the last packet of the queue.
//! The chosen packet is cut to `header` bytes and joins a queue for headers. Packets that came with at most `header`
//! bytes, such as ACKs, wait there too. Headers go first, but at most `headers_per_data` in a row while data waits. The
//! receiver of a header can ask for its packet again at once. With `ecn`, data that leaves a long queue behind is
//! marked.
//!
//! # When to use it
//! Use it for networks whose transports can repair trimmed packets, such as NDP and Ultra Ethernet. Other packets
//! cannot be cut, TCP's among them: if one is chosen, it is dropped. For TCP use `drop_tail` or `ecn_threshold`.
//!
//! # Example
//! ```toml
//! queue.trimming = { limit = "8 packets" }
//! ```
//!
//! The example has NDP's queue. Ultra Ethernet's reference simulator takes a bandwidth-delay product as `limit`,
//! `ecn = true` and `headers_per_data = 100000`.
//!
//! # Source
//! M. Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance", SIGCOMM
//! 2017 (NDP), and htsim's composite queue, as of 2025 in the reference simulator of the Ultra Ethernet Consortium.
//!
//! # Where we differ
//! - `limit` does not count the packet being sent; htsim counts it until its last bit has left. Its queue of 8 packets
//!   is `limit = "7 packets"` here.
//! - htsim decides about the mark when the last bit has left, here the queue counts when the first bit leaves.
//! - A packet counts as a header by its length, in htsim by its kind.
//! - The last packet of the queue is chosen only if the arriving one then fits. In htsim all packets have one length.
//! - A packet whose header does not fit is dropped whole. NDP's option to return the header to its sender is left out.
//! - Packets of captures, live traffic and transports other than NDP and Ultra Ethernet cannot be cut.
//!
//! # Cost
//! Less than 200 bytes, regardless of the number of flows. O(1) a packet: an arrival draws a random number if data does
//! not fit, a departure if the queue is between the thresholds of `ecn`.
//!
//! # Parameters
//! See [`TrimmingConfig`]. `headers` is the number of headers that wait.

use forebay_units::{Bytes, QueueSize, Rate};

use crate::departure_marking::DepartureMarking;
use crate::limit::{Limit, SHORTEST_PACKET_BYTES};
use crate::limited_fifo::LimitedFifo;
use crate::memory::inline_bytes;
use crate::{Backlog, Cx, Discipline, DropReason, Packet, ParameterError, Served, require, uniform};

/// Bytes of a packet where `limit` counts packets and the memory of headers depends on it: NDP's packets.
const PACKET_BYTES: u64 = 9000;

parameters! {
    /// Parameters of trimming.
    pub struct TrimmingConfig {
        queue limit = QueueSize::Packets(8), "8 packets (NDP)";
        /// Length to which packets are cut. Shorter ones, and those of this length, wait with the headers. From 40 B
        /// to 65535 B. Default: 64 B (NDP, htsim).
        pub header: Bytes = Bytes(64);
        /// Limit of the queue for headers, in packets or bytes. Default: twice the memory of `limit`, which is 9000 B
        /// for each packet if it counts packets (htsim).
        #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
        pub header_limit: Option<QueueSize> = None;
        /// Headers that go for each data packet while both wait, at least 1. Default: 10 (NDP); Ultra Ethernet's
        /// reference simulator has 100000.
        pub headers_per_data: u32 = 10;
        /// Whether ECN-capable data is marked that leaves a long queue behind. Default: no.
        pub ecn: bool = false;
        /// Length of the queue for data, in packets or bytes, that a packet may leave behind without a mark. From here
        /// the probability of a mark rises to 1. Default: 20 % of `limit` (Ultra Ethernet).
        #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
        pub min_threshold: Option<QueueSize> = None;
        /// Length from which on every packet is marked, in the unit of `min_threshold`. Default: 80 % of `limit` (Ultra
        /// Ethernet).
        #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
        pub max_threshold: Option<QueueSize> = None;
    }
}

impl TrimmingConfig {
    /// The limits of the two queues, that of headers last.
    #[must_use]
    pub fn limits(&self) -> [QueueSize; 2] {
        let twice = |bytes: u64| QueueSize::Bytes(bytes.saturating_mul(2));
        let headers = self.header_limit.unwrap_or(match self.limit {
            QueueSize::Packets(packets) => twice(packets.saturating_mul(PACKET_BYTES)),
            QueueSize::Bytes(bytes) => twice(bytes),
        });
        [self.limit, headers]
    }

    /// The thresholds for marks. A fifth of the limit and four fifths are rounded up, as in Ultra Ethernet's simulator.
    fn thresholds(&self) -> (QueueSize, QueueSize) {
        let fifths = |size: u64| (size.div_ceil(5), size - size / 5);
        let (min, max) = match self.limit {
            QueueSize::Packets(packets) => {
                let (min, max) = fifths(packets);
                (QueueSize::Packets(min), QueueSize::Packets(max))
            }
            QueueSize::Bytes(bytes) => {
                let (min, max) = fifths(bytes);
                (QueueSize::Bytes(min), QueueSize::Bytes(max))
            }
        };
        (self.min_threshold.unwrap_or(min), self.max_threshold.unwrap_or(max))
    }
}

/// Trimming: a queue for data and one for headers.
#[derive(Clone, Debug)]
pub struct Trimming<P> {
    data: LimitedFifo<P>,
    headers: LimitedFifo<P>,
    header_bytes: u32,
    headers_per_data: u32,
    /// Headers since the last data packet, of those that went while data waited.
    headers_in_a_row: u32,
    marking: Option<DepartureMarking>,
}

impl<P: Packet> Trimming<P> {
    /// An empty queue. The link's rate and `_salt` do not matter.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub fn new(config: &TrimmingConfig, _link_rate: Rate, _salt: u64) -> Result<Self, ParameterError> {
        let [data, headers] = config.limits();
        let data = LimitedFifo::new(Limit::new(data, "limit")?);
        let is_length = (SHORTEST_PACKET_BYTES..=u16::MAX.into()).contains(&config.header.0);
        require(is_length, "header", "be between 40 B and 65535 B")?;
        let has_room = !matches!(headers, QueueSize::Bytes(bytes) if bytes < config.header.0);
        require(has_room, "header_limit", "hold at least one header")?;
        let headers = LimitedFifo::new(Limit::new(headers, "header_limit")?);
        require(config.headers_per_data > 0, "headers_per_data", "be at least 1")?;
        let marking = DepartureMarking::new(config.thresholds(), 1.0, config.limit, "max_threshold")?;
        Ok(Self {
            data,
            headers,
            header_bytes: config.header.0 as u32,
            headers_per_data: config.headers_per_data,
            headers_in_a_row: 0,
            marking: config.ecn.then_some(marking),
        })
    }

    /// Makes room for an arriving data packet of `len_bytes` that does not fit: takes the last one out, if the coin
    /// says so and the arriving one then fits.
    fn take_last(&mut self, len_bytes: u32, cx: &mut Cx<'_, P>) -> Option<(P, u32)> {
        let last_bytes = self.data.last()?.len_bytes();
        if !self.data.fits_in_place_of(last_bytes, len_bytes) || uniform(cx.rng) < 0.5 {
            return None;
        }
        self.data.pop_last(last_bytes).map(|last| (last, last_bytes))
    }

    /// Cuts a packet of `len_bytes` and queues its header, or drops the packet.
    fn trim(&mut self, mut packet: P, len_bytes: u32, queued: bool, cx: &mut Cx<'_, P>) {
        if self.headers.fits(self.header_bytes) && packet.trim(self.header_bytes) {
            cx.sink.trimmed(&packet, len_bytes - self.header_bytes);
            self.headers.push(packet, self.header_bytes);
        } else {
            cx.sink.dropped(packet, DropReason::Overflow, queued);
        }
    }

    /// Whether the turn is that of data, if both queues have packets.
    fn is_turn_of_data(&self) -> bool {
        self.headers.is_empty() || !self.data.is_empty() && self.headers_in_a_row >= self.headers_per_data
    }
}

impl<P: Packet> Discipline<P> for Trimming<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Cx<'_, P>) {
        let len_bytes = packet.len_bytes();
        if len_bytes <= self.header_bytes {
            if self.headers.fits(len_bytes) {
                self.headers.push(packet, len_bytes);
            } else {
                cx.sink.dropped(packet, DropReason::Overflow, false);
            }
        } else if self.data.fits(len_bytes) {
            self.data.push(packet, len_bytes);
        } else if let Some((last, last_bytes)) = self.take_last(len_bytes, cx) {
            self.data.push(packet, len_bytes);
            self.trim(last, last_bytes, true, cx);
        } else {
            self.trim(packet, len_bytes, false, cx);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        if !self.is_turn_of_data() {
            self.headers_in_a_row += u32::from(!self.data.is_empty());
            return self.headers.pop().into();
        }
        let Some(mut packet) = self.data.pop() else { return Served::Idle };
        if !self.headers.is_empty() {
            self.headers_in_a_row = 0;
        }
        if let Some(marking) = &self.marking {
            marking.mark(&mut packet, self.data.backlog(), cx);
        }
        Served::Packet(packet)
    }

    fn backlog(&self) -> Backlog {
        let (data, headers) = (self.data.backlog(), self.headers.backlog());
        Backlog { packets: data.packets + headers.packets, bytes: data.bytes + headers.bytes }
    }

    fn state_bytes(&self) -> u64 {
        inline_bytes(self)
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        visit("headers", self.headers.backlog().packets as f64);
        visit("p_mark", self.marking.map_or(0.0, |marking| marking.probability(self.data.backlog())));
    }
}

#[cfg(test)]
#[path = "trimming_tests.rs"]
mod tests;
