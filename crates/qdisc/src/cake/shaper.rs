//! The shaper: virtual clocks that advance by the time that each packet takes at a rate. There is no burst.

use crate::{Rate, Span, Time};

/// `MIN_RATE`: a lower rate is taken for this one, so that a queue is never stuck for long.
const LEAST_BYTES_PER_SECOND: u64 = 64;

/// The time that packets take at a rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meter {
    /// None for no limit.
    rate: Option<Rate>,
    /// A length and its time: packets of one length come in rows, and a division is slow.
    last: (u32, Span),
}

impl Meter {
    /// A meter of this rate; 0 for no limit.
    pub fn new(bytes_per_second: u64) -> Self {
        let bits_per_second = bytes_per_second.max(LEAST_BYTES_PER_SECOND).saturating_mul(8);
        let rate = if bytes_per_second == 0 { None } else { Rate::new(bits_per_second) };
        Self { rate, last: (0, Span::ZERO) }
    }

    pub fn is_limited(&self) -> bool {
        self.rate.is_some()
    }

    /// The time of so many bytes; none without a limit.
    pub fn cost(&mut self, bytes: u32) -> Span {
        if self.last.0 != bytes {
            self.last = (bytes, self.rate.map_or(Span::ZERO, |rate| rate.transmission_time(u64::from(bytes))));
        }
        self.last.1
    }
}

/// The clock of a tin: later than now while the tin is above its rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct TinClock {
    pub meter: Meter,
    /// `time_next_packet` of the tin.
    pub next: Time,
}

impl TinClock {
    /// A packet comes to the empty tin.
    pub fn wake(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// `cake_advance_shaper`: a packet of so many bytes has been sent, or dropped at the end of the link.
    pub fn charge(&mut self, bytes: u32, now: Time) {
        let span = self.meter.cost(bytes);
        let from_now = now.saturating_add(span);
        if self.next < now {
            self.next = self.next.saturating_add(span);
        } else if self.next < from_now {
            self.next = from_now;
        }
    }
}

/// The clocks of all tins together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pub meter: Meter,
    /// `time_next_packet`.
    next: Time,
    /// `failsafe_next_packet`: packets that are only dropped cannot hold back the queue for good.
    failsafe_next: Time,
}

impl Shaper {
    pub fn new(bytes_per_second: u64) -> Self {
        Self { meter: Meter::new(bytes_per_second), next: Time::ZERO, failsafe_next: Time::ZERO }
    }

    /// The rate changes; earlier charges stay.
    pub fn set_rate(&mut self, bytes_per_second: u64) {
        self.meter = Meter::new(bytes_per_second);
    }

    /// When a packet may go, if none may now.
    pub fn closed_until(&self, now: Time) -> Option<Time> {
        (self.next > now && self.failsafe_next > now).then(|| self.next.min(self.failsafe_next))
    }

    /// A packet comes to the empty queue.
    pub fn wake(&mut self, now: Time) {
        if self.next < now {
            (self.next, self.failsafe_next) = (now, now);
        }
    }

    /// `cake_advance_shaper`: a packet of so many bytes has been sent, or `dropped` at the end of the link.
    pub fn charge(&mut self, bytes: u32, dropped: bool) {
        let span = self.meter.cost(bytes);
        self.next = self.next.saturating_add(span);
        if !dropped {
            self.failsafe_next = self.failsafe_next.saturating_add(span).saturating_add(span / 2);
        }
    }
}
