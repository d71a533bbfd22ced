//! Homa: short messages go unasked at high priority; receivers grant the rest by the bytes left.
//!
//! The first bytes of a message, about a bandwidth-delay product, leave unasked. A receiver orders its messages by the
//! bytes left and grants to the first few of them, one of each sender, a little data ahead. Packets carry a priority,
//! by which switches serve them: unscheduled ones by the length of the message, scheduled ones by the grant. A sender
//! serves the message with the fewest bytes left first, too. The receiver asks again for data that does not come.
//!
//! Source: Montazeri et al., "Homa: A receiver-driven low-latency transport protocol using network priorities", SIGCOMM
//! 2018. Rules and constants are those of the Linux kernel module of its authors (protocol.md, homa_grant.c,
//! homa_timer.c); headers are as long as in the simulator of the paper.
//!
//! # Where we differ
//! - A message has no response. Its receiver acknowledges it as a whole. A sender that hears nothing asks for that
//!   (NEED_ACK in the module), and repeats the unscheduled bytes if the receiver has not seen the message.
//! - `rtt_bytes` follows the network by default. The module has a constant of 10 000 B.
//! - Receivers send no new cut-offs to senders. The scenario sets them.
//! - A receiver asks for each gap of a silent message, as the module does now. Older versions ask for the first one,
//!   and send to each peer one RESEND at a time.
//! - No message is given up.

mod receiver;
mod sender;

use alloc::vec::Vec;

use forebay_units::{Bytes, ParameterError, Rate, Span, require};

pub use receiver::{HomaOutgoing, HomaReceivers};
pub use sender::{HomaOrder, HomaSender};

/// The header of a data packet and the length of a control packet: 20 B IP, 8 B UDP and 30 B of Homa.
pub const HEADER_BYTES: u32 = 58;
/// The most bytes that count as one round trip.
const MOST_BYTES: u64 = 1 << 40;

forebay_units::configuration! {
    /// Parameters of Homa. The defaults are those of its kernel module.
    pub struct HomaConfig {
        /// A full packet on the wire, of which 58 B are headers.
        pub packet: Bytes = Bytes(1_500);
        /// Unscheduled bytes of a message, rounded up to whole packets. Default: the rate of the hosts times the
        /// longest round trip of the network.
        pub rtt_bytes: Option<Bytes> = None;
        /// Priorities of packets, from 1 to 8. The highest one also has control packets. The traffic class of a packet
        /// is its priority plus the `class` of its flow.
        pub priorities: u8 = 8;
        /// Unscheduled packets of messages up to the first length have the highest priority, up to the second one the
        /// next, and so on; longer messages have the one after the last. The priorities below are for scheduled
        /// packets.
        pub cutoffs: Vec<Bytes> = alloc::vec![Bytes(200), Bytes(2_800), Bytes(15_000)];
        /// Messages to which a receiver grants at a time, of different senders.
        pub max_overcommit: u32 = 8;
        /// Bytes that a receiver grants ahead to a message. Default: the bytes that it may expect in all, which are
        /// `max_overcommit` times `rtt_bytes`, divided by the messages to which it grants plus 1.
        pub grant_window: Option<Bytes> = None;
        /// The part of granted and of sent data that goes to the oldest message in place of the shortest.
        pub oldest_share: f64 = 0.05;
        /// Silence after which a receiver asks again for granted data, and a sender for an ACK.
        pub resend_after: Span = Span::from_milliseconds(5);
    }
}

impl HomaConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let has_size = (u64::from(HEADER_BYTES) + 1..=65_535).contains(&self.packet.0);
        require(has_size, "packet", "be from 59 to 65 535 B")?;
        let is_amount = |bytes: Bytes| (1..=MOST_BYTES).contains(&bytes.0);
        require(self.rtt_bytes.is_none_or(is_amount), "rtt_bytes", "be from 1 B to 1 TiB")?;
        require((1..=8).contains(&self.priorities), "priorities", "be from 1 to 8")?;
        let unscheduled = self.cutoffs.len() + 1;
        // One priority is for all packets.
        let fits = unscheduled < usize::from(self.priorities) || (unscheduled == 1 && self.priorities == 1);
        require(fits, "cutoffs", "be so few that a priority is left for scheduled packets: at most `priorities` - 2")?;
        let ascends = self.cutoffs.windows(2).all(|pair| pair[0] < pair[1]);
        require(ascends, "cutoffs", "ascend")?;
        require((1..=1_000).contains(&self.max_overcommit), "max_overcommit", "be from 1 to 1000")?;
        require(self.grant_window.is_none_or(is_amount), "grant_window", "be from 1 B to 1 TiB")?;
        require((0.0..=0.5).contains(&self.oldest_share), "oldest_share", "be from 0 to 0.5")?;
        require(self.resend_after > Span::ZERO, "resend_after", "be more than 0")
    }

    /// The constants of a network with this rate of its hosts. `round_trip` is its longest one.
    #[must_use]
    pub fn network(&self, line_rate: Rate, round_trip: Span) -> HomaNetwork {
        let rtt_bytes = self.rtt_bytes.map_or_else(|| line_rate.bytes_in(round_trip), |bytes| bytes.0);
        HomaNetwork { config: self.clone(), line_rate, rtt_bytes: rtt_bytes.clamp(1, MOST_BYTES) }
    }
}

/// The constants of a network, which its flows share.
#[derive(Clone, Debug, PartialEq)]
pub struct HomaNetwork {
    /// The parameters.
    pub config: HomaConfig,
    /// The rate of the hosts.
    pub line_rate: Rate,
    /// Unscheduled bytes of a message, before they are rounded up.
    pub rtt_bytes: u64,
}

impl HomaNetwork {
    /// Payload of a full packet.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.config.packet.0 - u64::from(HEADER_BYTES)
    }

    /// Bytes that a message of this length sends unasked.
    #[must_use]
    pub fn unscheduled_bytes(&self, length: u64) -> u64 {
        self.rtt_bytes.next_multiple_of(self.payload_bytes()).min(length)
    }

    /// The highest priority, that of control packets and of retransmissions.
    #[must_use]
    pub fn highest_priority(&self) -> u8 {
        self.config.priorities - 1
    }

    /// The priority of unscheduled packets of a message of this length.
    #[must_use]
    pub fn unscheduled_priority(&self, length: u64) -> u8 {
        let passed = self.config.cutoffs.iter().take_while(|cutoff| length > cutoff.0).count();
        self.highest_priority() - passed as u8
    }

    /// The highest priority of scheduled packets.
    fn highest_scheduled(&self) -> u8 {
        self.config.priorities.saturating_sub(self.config.cutoffs.len() as u8 + 2)
    }

    /// Bytes that a receiver may expect in all.
    fn most_incoming(&self) -> u64 {
        self.rtt_bytes * u64::from(self.config.max_overcommit)
    }

    /// Bytes that a receiver grants ahead to each of `active` messages.
    fn grant_window(&self, active: usize) -> u64 {
        self.config.grant_window.map_or_else(|| self.most_incoming() / (active as u64 + 1), |bytes| bytes.0)
    }

    /// Bytes that others get before the oldest message gets a grant of [`HomaNetwork::rtt_bytes`].
    fn bytes_between_oldest(&self) -> Option<u64> {
        let share = self.config.oldest_share;
        (share > 0.0).then(|| (self.rtt_bytes as f64 * (1.0 - share) / share) as u64)
    }
}

/// The priority of grants to the message of this rank, from 0, among the `active` ones to which a receiver grants. If
/// they are fewer than the priorities, they have the lowest ones. A new, shorter message then finds a higher one free.
fn scheduled_priority(highest: u8, rank: usize, active: usize) -> u8 {
    let unused = (usize::from(highest) + 1).saturating_sub(active);
    usize::from(highest).saturating_sub(rank + unused) as u8
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaPacket {
    /// Its first byte.
    pub offset: u64,
    /// The packet on the wire.
    pub wire_bytes: u32,
    /// Its priority; the highest number is the highest.
    pub priority: u8,
    /// It has been sent before.
    pub is_retransmission: bool,
}

/// A control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomaControl {
    /// The sender may send up to this byte, at this priority.
    Grant {
        /// The byte after the last one that it may send.
        granted: u64,
        /// The priority of scheduled packets from now on.
        priority: u8,
    },
    /// The sender must repeat a range.
    Resend {
        /// Its first byte.
        from: u64,
        /// The byte after its last one.
        to: u64,
    },
    /// The other end is alive, and sends nothing now.
    Busy,
    /// A request for an ACK.
    NeedAck,
    /// The receiver has all.
    Ack,
}

#[cfg(test)]
mod tests;
