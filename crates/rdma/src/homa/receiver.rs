//! The receiver of a host: all its incoming messages, and their grants.

use alloc::vec::Vec;

use forebay_units::Time;

use super::HomaConfig;
use crate::ranges::Ranges;

/// A message that is coming in.
#[derive(Clone, Debug, Default)]
struct Message {
    sender: u32,
    length: u64,
    received: u64,
    /// The first byte that is missing, and the ranges above.
    expected: u64,
    held: Ranges,
    granted: u64,
    /// Rises from message to message.
    age: u64,
    heard_at: Time,
    is_used: bool,
}

impl Message {
    fn left(&self) -> u64 {
        self.length - self.received
    }

    fn incoming(&self) -> u64 {
        self.granted.saturating_sub(self.received)
    }
}

/// The result of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaDelivery {
    /// Payload that had not arrived before.
    pub new_bytes: u64,
    /// The message is complete: an ACK returns.
    pub is_complete: bool,
}

/// A packet to the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomaOrder {
    /// Bytes of this message up to `offset` may leave at `priority`.
    Grant {
        /// The message.
        message: u32,
        /// The end of the grant.
        offset: u64,
        /// The priority of its packets.
        priority: u8,
    },
    /// These bytes of this message are missing.
    Resend {
        /// The message.
        message: u32,
        /// The first missing byte.
        offset: u64,
        /// The bytes that are missing in a row.
        bytes: u64,
        /// The priority of the packets.
        priority: u8,
    },
}

/// The receiver of a host.
#[derive(Debug, Default)]
pub struct HomaReceiver {
    messages: Vec<Message>,
    free: Vec<u32>,
    /// Messages that need grants, the one with the fewest bytes left first.
    waiting: Vec<u32>,
    /// Bytes granted and not received, over all messages.
    incoming: u64,
    next_age: u64,
    /// Bytes that the oldest message may still get as its share.
    oldest_credit: f64,
    orders: Vec<HomaOrder>,
}

impl HomaReceiver {
    /// A message of which a first packet has come. Returns its number.
    pub fn start(&mut self, sender: u32, length: u64, now: Time, config: &HomaConfig) -> u32 {
        self.next_age += 1;
        let message = Message {
            sender,
            length,
            granted: length.min(config.rtt_bytes.0),
            age: self.next_age,
            heard_at: now,
            is_used: true,
            ..Message::default()
        };
        self.incoming += message.granted;
        let needs_grants = message.granted < length;
        let number = if let Some(number) = self.free.pop() {
            self.messages[number as usize] = message;
            number
        } else {
            self.messages.push(message);
            self.messages.len() as u32 - 1
        };
        if needs_grants {
            self.place(number);
        }
        number
    }

    /// Removes a message; its number may be used again.
    pub fn remove(&mut self, number: u32) {
        let message = &mut self.messages[number as usize];
        if core::mem::take(&mut message.is_used) {
            self.incoming -= message.incoming();
            self.waiting.retain(|&other| other != number);
            self.free.push(number);
        }
    }

    /// Bytes that are granted and have not arrived, over all messages.
    #[must_use]
    pub fn incoming_bytes(&self) -> u64 {
        self.incoming
    }

    /// Puts a message into the order of grants: bytes left, then age.
    fn place(&mut self, number: u32) {
        let key = |number: u32| {
            let message = &self.messages[number as usize];
            (message.left(), message.age)
        };
        let own = key(number);
        let index = self.waiting.partition_point(|&other| key(other) < own);
        self.waiting.insert(index, number);
    }

    /// A data packet has arrived.
    pub fn on_data(&mut self, number: u32, offset: u64, bytes: u32, now: Time) -> HomaDelivery {
        let message = &mut self.messages[number as usize];
        let before = message.incoming();
        let end = offset.saturating_add(u64::from(bytes)).min(message.length);
        let new_bytes = message.held.insert(offset.max(message.expected), end);
        message.received += new_bytes;
        if new_bytes > 0 {
            // Repeated first packets of a waiting sender do not delay the request for what is missing.
            message.heard_at = now;
        }
        message.expected = message.held.end_of(message.expected).unwrap_or(message.expected);
        message.held.remove_below(message.expected);
        // Data that was sent for a lost grant counts as granted.
        message.granted = message.granted.max(end);
        self.incoming = self.incoming + message.incoming() - before;
        let (needs_grants, is_complete) = (message.granted < message.length, message.left() == 0);
        if let Some(index) = self.waiting.iter().position(|&other| other == number) {
            self.waiting.remove(index);
            if needs_grants {
                self.place(number);
            }
        }
        HomaDelivery { new_bytes, is_complete }
    }

    /// The sender is busy with other messages.
    pub fn on_busy(&mut self, number: u32, now: Time) {
        self.messages[number as usize].heard_at = now;
    }

    /// The grants that are due after packets have arrived. The memory is reused.
    pub fn grants(&mut self, config: &HomaConfig) -> &[HomaOrder] {
        self.orders.clear();
        let max_incoming = u64::from(config.max_overcommit) * config.rtt_bytes.0;
        let active = self.active(config);
        let window = match config.window {
            Some(window) => window.0,
            None => max_incoming / (active as u64 + 1),
        };
        let highest = config.max_scheduled_priority();
        // With fewer messages than levels, the lowest levels are used: a new message then finds a higher one free.
        let shift = usize::from(highest + 1).saturating_sub(active);
        // The active messages are at the front, in order.
        for index in 0..active {
            let number = self.waiting[index];
            let priority = usize::from(highest).saturating_sub(index).saturating_sub(shift) as u8;
            let message = &self.messages[number as usize];
            self.grant(number, message.received + window, max_incoming, priority);
        }
        self.grant_to_oldest(max_incoming, config);
        let messages = &self.messages;
        self.waiting.retain(|&number| messages[number as usize].granted < messages[number as usize].length);
        // The front was rearranged.
        let key = |number: &u32| (messages[*number as usize].left(), messages[*number as usize].age);
        self.waiting.sort_unstable_by_key(key);
        &self.orders
    }

    /// Moves the messages that may get grants to the front, at most one of each sender, and returns their number.
    fn active(&mut self, config: &HomaConfig) -> usize {
        let mut active = 0;
        for index in 0..self.waiting.len() {
            if active == config.max_overcommit as usize {
                break;
            }
            let sender = self.messages[self.waiting[index] as usize].sender;
            let is_new = self.waiting[..active].iter().all(|&other| self.messages[other as usize].sender != sender);
            if is_new {
                self.waiting[active..=index].rotate_right(1);
                active += 1;
            }
        }
        active
    }

    fn grant(&mut self, number: u32, wanted: u64, max_incoming: u64, priority: u8) {
        let message = &mut self.messages[number as usize];
        let space = max_incoming.saturating_sub(self.incoming);
        let before = message.incoming();
        let offset = wanted.min(message.length).min(message.granted.saturating_add(space));
        if offset > message.granted {
            self.oldest_credit += (offset - message.granted) as f64;
            message.granted = offset;
            self.incoming = self.incoming + message.incoming() - before;
            self.orders.push(HomaOrder::Grant { message: number, offset, priority });
        }
    }

    /// A share of the grants goes to the oldest message, `rtt_bytes` at a time.
    fn grant_to_oldest(&mut self, max_incoming: u64, config: &HomaConfig) {
        let step = config.rtt_bytes.0;
        if self.oldest_credit * config.oldest_share < step as f64 {
            return;
        }
        let oldest = self.waiting.iter().copied().min_by_key(|&number| self.messages[number as usize].age);
        if let Some(number) = oldest {
            let wanted = self.messages[number as usize].granted + step;
            self.grant(number, wanted, max_incoming.saturating_add(step), config.max_scheduled_priority());
            self.oldest_credit = 0.0;
        }
    }

    /// Requests for the bytes of messages that have been silent for too long. To be called once in a resend time or
    /// more often. The memory is reused.
    pub fn resends(&mut self, now: Time, config: &HomaConfig) -> &[HomaOrder] {
        self.orders.clear();
        for (number, message) in self.messages.iter_mut().enumerate() {
            let is_silent = now.since(message.heard_at) >= config.resend_time;
            if !message.is_used || message.incoming() == 0 || !is_silent {
                continue;
            }
            message.heard_at = now;
            let offset = message.expected;
            let end = message.held.start_after(offset).unwrap_or(message.granted).min(message.granted);
            self.orders.push(HomaOrder::Resend {
                message: number as u32,
                offset,
                bytes: end.saturating_sub(offset),
                priority: config.priorities - 1,
            });
        }
        &self.orders
    }
}
