//! Homa: short messages go unasked, long ones by grants, and the receiver chooses priorities.
//!
//! The first bytes of a message leave at once, with a priority that its length determines. The rest needs grants: a
//! receiver grants to the messages with the fewest bytes left, several at a time, each at a priority of its own. A
//! sender sends the message with the fewest bytes left first, which is the host's choice by [`HomaSender::remaining`].
//!
//! Source: Montazeri et al., "Homa", SIGCOMM 2018; rules and defaults are those of HomaModule (protocol.md,
//! homa_grant.c).
//!
//! # Where we differ
//! - Messages are one-way, and a receiver acknowledges a complete one. In HomaModule a response does so.
//! - A sender repeats its first packet if it has heard nothing for the time after which a receiver asks again: the
//!   receiver may not have heard of the message.
//! - The lengths of the resend time and of the share for the oldest message are ours.

mod receiver;

use forebay_units::{Bytes, ParameterError, Span, Time, require};

use crate::ranges::Ranges;

pub use receiver::{HomaDelivery, HomaOrder, HomaReceiver};

forebay_units::configuration! {
    /// The parameters of Homa.
    pub struct HomaConfig {
        /// Payload of a full packet.
        pub payload: Bytes = Bytes(1_442);
        /// Bytes of a message that leave without a grant.
        pub rtt_bytes: Bytes = Bytes(10_000);
        /// Messages that a receiver grants to at the same time.
        pub max_overcommit: u32 = 8;
        /// A fixed window of grants. Default: the bound of incoming bytes, divided by the active messages and one.
        pub window: Option<Bytes> = None;
        /// Priorities of the network; 0 is the lowest.
        pub priorities: u8 = 8;
        /// The longest messages of the unscheduled priorities, from the highest one; longer messages have the next one.
        pub cutoffs: [u64; 3] = [200, 2_800, 15_000];
        /// The share of grants for the oldest message.
        pub oldest_share: f64 = 0.05;
        /// Time of silence after which a receiver asks again.
        pub resend_time: Span = Span::from_milliseconds(5);
    }
}

impl HomaConfig {
    /// Checks the parameters.
    ///
    /// # Errors
    /// One about the first parameter outside its bounds.
    pub fn validate(&self) -> Result<(), ParameterError> {
        require((1..=65_000).contains(&self.payload.0), "payload", "be from 1 to 65 000 B")?;
        require(self.rtt_bytes.0 >= self.payload.0, "rtt_bytes", "be at least `payload`")?;
        require((1..=1_000).contains(&self.max_overcommit), "max_overcommit", "be from 1 to 1000")?;
        require(self.window.is_none_or(|window| window.0 > 0), "window", "be more than 0")?;
        require((5..=64).contains(&self.priorities), "priorities", "be from 5 to 64")?;
        require(self.cutoffs.is_sorted(), "cutoffs", "rise")?;
        require((0.0..1.0).contains(&self.oldest_share), "oldest_share", "be at least 0 and less than 1")?;
        require(self.resend_time > Span::ZERO, "resend_time", "be more than 0")
    }

    /// The priority of the unscheduled bytes of a message.
    #[must_use]
    pub fn unscheduled_priority(&self, length: u64) -> u8 {
        let below = self.cutoffs.iter().filter(|&&cutoff| cutoff < length).count() as u8;
        self.priorities - 1 - below
    }

    /// The highest priority of grants.
    #[must_use]
    pub fn max_scheduled_priority(&self) -> u8 {
        self.priorities - 2 - self.cutoffs.len() as u8
    }
}

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaPacket {
    /// Its first byte.
    pub offset: u64,
    /// Its payload.
    pub payload_bytes: u32,
    /// The length of its message.
    pub message_bytes: u64,
    /// Its priority in the network; 0 is the lowest.
    pub priority: u8,
    /// It has been sent before.
    pub is_retransmission: bool,
}

/// The answer of a sender to a request for missing bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomaAnswer {
    /// It sends them again.
    Repeats,
    /// It has not come to them: a BUSY packet returns.
    Busy,
}

/// The sender of a message.
#[derive(Clone, Debug)]
pub struct HomaSender {
    length: u64,
    next: u64,
    granted: u64,
    repeats: Ranges,
    repeat_from: u64,
    repeat_bytes: u64,
    priority: u8,
    scheduled_priority: u8,
    is_complete: bool,
    silent_until: Time,
}

impl HomaSender {
    /// A message of `length` bytes.
    #[must_use]
    pub fn new(length: u64, config: &HomaConfig) -> Self {
        Self {
            length,
            next: 0,
            granted: length.min(config.rtt_bytes.0),
            repeats: Ranges::default(),
            repeat_from: 0,
            repeat_bytes: 0,
            priority: config.unscheduled_priority(length),
            scheduled_priority: 0,
            is_complete: length == 0,
            silent_until: Time::NEVER,
        }
    }

    /// Bytes that are left to send: a host serves the message with the fewest first.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.length - self.next + self.repeat_bytes
    }

    /// Whether the receiver has acknowledged the message.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether a packet may leave.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.is_complete && (self.repeat_bytes > 0 || self.next < self.granted)
    }

    /// The packet that leaves at `now`, if one may.
    pub fn next_packet(&mut self, now: Time, config: &HomaConfig) -> Option<HomaPacket> {
        if !self.is_ready() {
            return None;
        }
        self.silent_until = now.saturating_add(config.resend_time);
        if self.repeat_bytes > 0 {
            return self.repeat(config);
        }
        let is_unscheduled = self.next < config.rtt_bytes.0;
        // A packet does not cross the end of the unscheduled bytes, which may have another priority.
        let end = (self.next + config.payload.0).min(self.granted);
        let end = if is_unscheduled { end.min(config.rtt_bytes.0) } else { end };
        let packet = HomaPacket {
            offset: self.next,
            payload_bytes: (end - self.next) as u32,
            message_bytes: self.length,
            priority: if is_unscheduled { self.priority } else { self.scheduled_priority },
            is_retransmission: false,
        };
        self.next = end;
        Some(packet)
    }

    fn repeat(&mut self, config: &HomaConfig) -> Option<HomaPacket> {
        let start = match self.repeats.end_of(self.repeat_from) {
            Some(_) => self.repeat_from,
            None => self.repeats.start_after(self.repeat_from)?,
        };
        let end = self.repeats.end_of(start)?.min(start + config.payload.0);
        self.repeats.remove_below(end);
        self.repeat_from = end;
        self.repeat_bytes -= end - start;
        Some(HomaPacket {
            offset: start,
            payload_bytes: (end - start) as u32,
            message_bytes: self.length,
            priority: self.scheduled_priority.max(if start < config.rtt_bytes.0 { self.priority } else { 0 }),
            is_retransmission: true,
        })
    }

    /// A grant has arrived: bytes up to `offset` may leave, at `priority`.
    pub fn on_grant(&mut self, offset: u64, priority: u8, now: Time, config: &HomaConfig) {
        self.silent_until = now.saturating_add(config.resend_time);
        if offset > self.granted {
            self.granted = offset.min(self.length);
            self.scheduled_priority = priority;
        }
    }

    /// The receiver asks for `bytes` from `offset` on, which it has granted.
    pub fn on_resend(&mut self, offset: u64, bytes: u64, priority: u8, now: Time, config: &HomaConfig) -> HomaAnswer {
        let end = offset.saturating_add(bytes).min(self.length);
        self.on_grant(end, priority, now, config);
        let sent = end.min(self.next);
        if offset >= sent {
            return HomaAnswer::Busy;
        }
        self.repeat_bytes += self.repeats.insert(offset, sent);
        // Ranges are repeated from the lowest one on.
        self.repeat_from = self.repeat_from.min(offset);
        HomaAnswer::Repeats
    }

    /// The receiver has the whole message.
    pub fn on_complete(&mut self) {
        self.is_complete = true;
        self.silent_until = Time::NEVER;
    }

    /// The end of the time in which the receiver must be heard of.
    #[must_use]
    pub fn timer(&self) -> Time {
        // A late grant may have come after the end.
        if self.is_complete { Time::NEVER } else { self.silent_until }
    }

    /// [`HomaSender::timer`] has expired: the first packet leaves again.
    pub fn on_timer(&mut self, now: Time, config: &HomaConfig) {
        if self.silent_until <= now && !self.is_complete {
            self.silent_until = now.saturating_add(config.resend_time);
            self.repeat_bytes += self.repeats.insert(0, self.next.min(config.payload.0));
            self.repeat_from = 0;
        }
    }
}

#[cfg(test)]
mod tests;
