//! The sender of a message, and the choice among messages.

use alloc::collections::VecDeque;

use forebay_units::Time;

use super::{HEADER_BYTES, HomaControl, HomaNetwork, HomaPacket};

/// The sender of a message.
#[derive(Clone, Debug)]
pub struct HomaSender {
    bytes: u64,
    /// The number of the message at its host: younger ones have higher numbers.
    number: u64,
    /// The next byte that has not been sent.
    next: u64,
    granted: u64,
    unscheduled: u64,
    scheduled_priority: u8,
    /// The ranges to repeat.
    resend: VecDeque<(u64, u64)>,
    /// When a RESEND asked for data that waits here; the answer is due.
    busy_since: Option<Time>,
    /// When it last sent or heard anything.
    active_at: Time,
    is_acknowledged: bool,
    retransmitted_packets: u32,
    timeouts: u32,
}

impl HomaSender {
    /// A message of `bytes`, with its number at its host.
    fn new(bytes: u64, number: u64, network: &HomaNetwork) -> Self {
        let unscheduled = network.unscheduled_bytes(bytes);
        Self {
            bytes,
            number,
            next: 0,
            granted: unscheduled,
            unscheduled,
            scheduled_priority: 0,
            resend: VecDeque::new(),
            busy_since: None,
            active_at: Time::ZERO,
            is_acknowledged: false,
            retransmitted_packets: 0,
            timeouts: 0,
        }
    }

    /// Whether the receiver has acknowledged the message.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_acknowledged
    }

    /// Whether a packet may leave.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        !self.resend.is_empty() || self.next < self.granted
    }

    /// Bytes not sent yet, by which a host chooses among its messages; a retransmission comes first.
    fn unsent_bytes(&self) -> u64 {
        if self.resend.is_empty() { self.bytes - self.next } else { 0 }
    }

    /// Times at which it asked for an ACK.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Packets that were sent again.
    #[must_use]
    pub fn retransmitted_packets(&self) -> u32 {
        self.retransmitted_packets
    }

    /// The packet that leaves at `now`, if one may. A packet is sent as a whole if its first byte is granted.
    pub fn next_packet(&mut self, now: Time, network: &HomaNetwork) -> Option<HomaPacket> {
        let (offset, priority, is_retransmission) = if let Some((from, to)) = self.resend.pop_front() {
            let next = from + network.payload_bytes();
            if next < to {
                self.resend.push_front((next, to));
            }
            self.retransmitted_packets += 1;
            (from, network.highest_priority(), true)
        } else if self.next < self.granted {
            let offset = self.next;
            self.next = (offset + network.payload_bytes()).min(self.bytes);
            let is_scheduled = offset >= self.unscheduled;
            let unscheduled = || network.unscheduled_priority(self.bytes);
            (offset, if is_scheduled { self.scheduled_priority } else { unscheduled() }, false)
        } else {
            return None;
        };
        self.active_at = now;
        let payload_bytes = (self.bytes - offset).min(network.payload_bytes());
        Some(HomaPacket { offset, wire_bytes: payload_bytes as u32 + HEADER_BYTES, priority, is_retransmission })
    }

    /// A control packet has arrived.
    pub fn on_control(&mut self, control: &HomaControl, now: Time) {
        self.active_at = now;
        match *control {
            HomaControl::Grant { granted, priority } => {
                self.granted = self.granted.max(granted.min(self.bytes));
                self.scheduled_priority = priority;
            }
            HomaControl::Resend { from, to } => {
                // The grant of these bytes may be lost.
                self.granted = self.granted.max(to.min(self.bytes));
                let range = (from, to.min(self.next));
                if from >= self.next {
                    self.busy_since = Some(now);
                } else if !self.resend.contains(&range) {
                    self.resend.push_back(range);
                }
            }
            HomaControl::Ack => self.is_acknowledged = true,
            HomaControl::Busy | HomaControl::NeedAck => {}
        }
    }

    /// The next expiry of the timer.
    #[must_use]
    pub fn timer(&self, network: &HomaNetwork) -> Time {
        match self.busy_since {
            Some(since) => since,
            // While it has something to send, the other end cannot be the one to act.
            None if self.is_ready() => Time::NEVER,
            None => self.active_at.saturating_add(network.config.resend_after),
        }
    }

    /// [`HomaSender::timer`] has expired. Returns a control packet for the receiver, if one is due.
    pub fn on_timer(&mut self, now: Time, network: &HomaNetwork) -> Option<HomaControl> {
        if self.busy_since.take().is_some() {
            return Some(HomaControl::Busy);
        }
        if now < self.timer(network) {
            return None;
        }
        self.active_at = now;
        self.timeouts += 1;
        Some(HomaControl::NeedAck)
    }
}

/// The order in which a host serves its messages.
#[derive(Clone, Debug, Default)]
pub struct HomaOrder {
    /// Messages that have begun here.
    begun: u64,
    /// The part of the packets that is for the oldest message.
    oldest_share: f64,
    /// The part of a packet that is due to the oldest message.
    due_to_oldest: f64,
}

impl HomaOrder {
    /// A message of `bytes` begins. Returns its sender.
    pub fn begin(&mut self, bytes: u64, network: &HomaNetwork) -> HomaSender {
        self.begun += 1;
        self.oldest_share = network.config.oldest_share;
        HomaSender::new(bytes, self.begun, network)
    }

    /// The index of the message that sends next: the one with the fewest bytes left, and now and then the oldest.
    pub fn choose<'a>(&mut self, ready: impl Iterator<Item = Option<&'a HomaSender>>) -> usize {
        self.due_to_oldest += self.oldest_share;
        let is_for_oldest = self.due_to_oldest >= 1.0;
        if is_for_oldest {
            self.due_to_oldest -= 1.0;
        }
        let key = |(_, sender): &(usize, Option<&HomaSender>)| {
            sender.map(|sender| (if is_for_oldest { 0 } else { sender.unsent_bytes() }, sender.number))
        };
        ready.enumerate().min_by_key(key).map_or(0, |(index, _)| index)
    }
}
