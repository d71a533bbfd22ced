//! The messages that arrive at a host: grants, and requests for lost data.

use alloc::collections::{BTreeSet, BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

use forebay_units::Time;

use super::{HEADER_BYTES, HomaControl, HomaNetwork, HomaPacket, scheduled_priority};
use crate::arrived::Reassembly;

/// A control packet for the sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomaOutgoing {
    /// The message's number at the host.
    pub message: u32,
    /// The packet.
    pub control: HomaControl,
}

/// A message.
#[derive(Clone, Debug)]
struct Incoming {
    /// Its sender.
    peer: u32,
    bytes: u64,
    /// Payload of a full packet.
    payload_bytes: u64,
    highest_scheduled: u8,
    /// Its packets that have arrived.
    packets: Reassembly,
    received: u64,
    granted: u64,
    /// When something last came, or could not be expected.
    heard_at: Time,
}

impl Incoming {
    fn incoming(&self) -> u64 {
        self.granted.saturating_sub(self.received)
    }

    fn is_complete(&self) -> bool {
        self.received >= self.bytes
    }

    /// The ranges that are missing of the data granted.
    fn missing(&self) -> impl Iterator<Item = HomaControl> {
        let payload_bytes = self.payload_bytes;
        let beyond = self.granted.div_ceil(payload_bytes);
        let mut next = self.packets.expected();
        core::iter::from_fn(move || {
            let first = (next..beyond).find(|&number| !self.packets.has(number))?;
            next = (first..beyond).find(|&number| self.packets.has(number)).unwrap_or(beyond);
            Some(HomaControl::Resend { from: first * payload_bytes, to: (next * payload_bytes).min(self.granted) })
        })
    }
}

/// The messages that arrive at a host. Their numbers are in the order of their first packets. Messages may have other
/// packets and priorities than the host's own constants.
#[derive(Clone, Debug)]
pub struct HomaReceivers {
    network: HomaNetwork,
    messages: Vec<Incoming>,
    /// Those not granted as a whole, by bytes left and age.
    grantable: BTreeSet<(u64, u32)>,
    /// Those to which it grants now.
    active: Vec<u32>,
    /// Bytes granted, or unscheduled, that have not arrived.
    incoming: u64,
    /// Bytes granted since the last grant to the oldest message.
    since_oldest: u64,
    /// Control packets that wait to be sent, and since when.
    waiting: VecDeque<HomaOutgoing>,
    waiting_since: Time,
    /// When to look for silence of a message; entries may be too early.
    checks: BinaryHeap<Reverse<(Time, u32)>>,
}

impl HomaReceivers {
    /// Without messages.
    #[must_use]
    pub fn new(network: HomaNetwork) -> Self {
        Self {
            network,
            messages: Vec::new(),
            grantable: BTreeSet::new(),
            active: Vec::new(),
            incoming: 0,
            since_oldest: 0,
            waiting: VecDeque::new(),
            waiting_since: Time::NEVER,
            checks: BinaryHeap::new(),
        }
    }

    /// Adds a message of `bytes` from the sender `peer`, of which a packet arrives, and returns its number.
    pub fn add(&mut self, bytes: u64, peer: u32, network: &HomaNetwork, now: Time) -> u32 {
        let (number, granted) = (self.messages.len() as u32, network.unscheduled_bytes(bytes));
        self.messages.push(Incoming {
            peer,
            bytes,
            payload_bytes: network.payload_bytes(),
            highest_scheduled: network.highest_scheduled(),
            packets: Reassembly::default(),
            received: 0,
            granted,
            heard_at: now,
        });
        self.incoming += granted;
        if granted < bytes {
            self.grantable.insert((bytes, number));
        }
        self.checks.push(Reverse((now.saturating_add(self.network.config.resend_after), number)));
        number
    }

    /// Payload of a message that has arrived.
    #[must_use]
    pub fn payload_bytes(&self, message: u32) -> u64 {
        self.messages[message as usize].received
    }

    /// Changes a message, and keeps the sums and the order up to date.
    fn change(&mut self, number: u32, change: impl FnOnce(&mut Incoming)) {
        let message = &mut self.messages[number as usize];
        let (was, left) = (message.incoming(), message.bytes.saturating_sub(message.received));
        change(message);
        self.incoming = self.incoming - was + message.incoming();
        let now_left = message.bytes.saturating_sub(message.received);
        let needs_none = message.granted >= message.bytes || message.is_complete();
        let leaves = (needs_none || now_left != left) && self.grantable.remove(&(left, number));
        if leaves && !needs_none {
            self.grantable.insert((now_left, number));
        }
    }

    /// Data has arrived. Returns an ACK for a message that is complete.
    pub fn on_packet(&mut self, number: u32, packet: &HomaPacket, now: Time) -> Option<HomaControl> {
        let index = packet.offset / self.messages[number as usize].payload_bytes;
        let payload_bytes = u64::from(packet.wire_bytes.saturating_sub(HEADER_BYTES));
        self.change(number, |message| {
            message.heard_at = now;
            if !message.packets.has(index) && !message.packets.is_too_far(index) {
                message.packets.insert(index);
                message.received += payload_bytes;
            }
        });
        self.grant(now);
        self.messages[number as usize].is_complete().then_some(HomaControl::Ack)
    }

    /// A control packet of a sender has arrived. Returns the answer.
    pub fn on_control(&mut self, number: u32, control: HomaControl, now: Time) -> Option<HomaControl> {
        let message = &mut self.messages[number as usize];
        let is_unheard = message.received == 0;
        message.heard_at = now;
        let answer = match control {
            HomaControl::NeedAck if message.is_complete() => Some(HomaControl::Ack),
            // All of its unscheduled packets were lost.
            HomaControl::NeedAck if is_unheard => message.missing().next(),
            HomaControl::NeedAck => Some(HomaControl::Busy),
            _ => None,
        };
        self.grant(now);
        answer
    }

    /// Grants to the messages with the fewest bytes left, as far as the bytes that are on their way allow.
    fn grant(&mut self, now: Time) {
        loop {
            self.activate();
            let active = core::mem::take(&mut self.active);
            let window = self.network.grant_window(active.len());
            let mut is_done = true;
            for (rank, &number) in active.iter().enumerate() {
                let message = &self.messages[number as usize];
                let allowed = self.network.most_incoming().saturating_sub(self.incoming);
                let more = window.saturating_sub(message.incoming()).min(allowed);
                let priority = scheduled_priority(message.highest_scheduled, rank, active.len());
                self.give(number, more, priority, now);
                // One that is granted as a whole makes room for another.
                let message = &self.messages[number as usize];
                is_done &= message.granted < message.bytes;
            }
            self.active = active;
            if is_done {
                break;
            }
        }
        self.grant_to_oldest(now);
    }

    /// Chooses the messages to which to grant: the first ones of different senders.
    fn activate(&mut self) {
        self.active.clear();
        for &(_, number) in &self.grantable {
            let peer = |number: u32| self.messages[number as usize].peer;
            if !self.active.iter().any(|&other| peer(other) == peer(number)) {
                self.active.push(number);
                if self.active.len() == self.network.config.max_overcommit as usize {
                    break;
                }
            }
        }
    }

    /// Grants up to `more` bytes to a message.
    fn give(&mut self, number: u32, more: u64, priority: u8, now: Time) {
        let message = &self.messages[number as usize];
        // Whole packets may have come beyond a grant.
        let from = message.granted.max(message.received);
        let granted = from + more.min(message.bytes.saturating_sub(from));
        if more == 0 || granted <= message.granted {
            return;
        }
        self.since_oldest += granted - message.granted;
        self.change(number, |message| {
            message.granted = granted;
            message.heard_at = now;
        });
        let grant = HomaOutgoing { message: number, control: HomaControl::Grant { granted, priority } };
        let is_grant = |waiting: &HomaOutgoing| matches!(waiting.control, HomaControl::Grant { .. });
        match self.waiting.iter_mut().find(|waiting| waiting.message == number && is_grant(waiting)) {
            Some(waiting) => *waiting = grant,
            None => {
                self.waiting_since = if self.waiting.is_empty() { now } else { self.waiting_since };
                self.waiting.push_back(grant);
            }
        }
    }

    /// Now and then the oldest message that does not have much on its way gets a grant, however long it is.
    fn grant_to_oldest(&mut self, now: Time) {
        let is_due = self.network.bytes_between_oldest().is_some_and(|bytes| self.since_oldest >= bytes.max(1));
        if !is_due || self.grantable.len() < 2 {
            return;
        }
        let has_room = |&number: &u32| self.messages[number as usize].incoming() <= self.network.rtt_bytes;
        let oldest = self.grantable.iter().map(|&(_, number)| number).filter(has_room).min();
        if let Some(number) = oldest {
            let priority = self.messages[number as usize].highest_scheduled;
            self.give(number, self.network.rtt_bytes, priority, now);
            self.since_oldest = 0;
        }
    }

    /// When a control packet is due.
    #[must_use]
    pub fn timer(&self) -> Time {
        let waiting = if self.waiting.is_empty() { Time::NEVER } else { self.waiting_since };
        self.checks.peek().map_or(Time::NEVER, |&Reverse((at, _))| at).min(waiting)
    }

    /// The control packet that leaves at `now`, if one is due: a grant, or a request for data that did not come.
    pub fn on_timer(&mut self, now: Time) -> Option<HomaOutgoing> {
        if let Some(waiting) = self.waiting.pop_front() {
            return Some(waiting);
        }
        let &Reverse((at, number)) = self.checks.peek()?;
        if at > now {
            return None;
        }
        self.checks.pop();
        let silence = self.network.config.resend_after;
        let message = &mut self.messages[number as usize];
        if message.is_complete() {
            return None;
        }
        if message.incoming() == 0 {
            message.heard_at = now;
        }
        let is_silent = message.heard_at.saturating_add(silence) <= now;
        if is_silent {
            message.heard_at = now;
        }
        self.checks.push(Reverse((message.heard_at.saturating_add(silence), number)));
        if !is_silent {
            return None;
        }
        let missing = message.missing();
        self.waiting.extend(missing.map(|control| HomaOutgoing { message: number, control }));
        self.waiting_since = now;
        self.waiting.pop_front()
    }
}
