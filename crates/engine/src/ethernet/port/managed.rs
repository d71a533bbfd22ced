//! A switch port with queue disciplines.

use forebay_qdisc::{Span, Time};

use crate::ethernet::class_turns::Classes;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::port::SwitchPort;
use crate::packet::Packet;

impl SwitchPort {
    /// The next frame from the disciplines at `now`, and its start.
    #[inline(never)]
    pub(super) fn next_managed(&mut self, now: Time, forwarding: &[ForwardingEntry]) -> Option<(Packet, Time)> {
        let start = self.next_start(now, false)?;
        let may = self.control.obeyed.free_classes(now);
        let Self { managed, record, .. } = self;
        Some((managed.as_mut()?.dequeue(may, now, record, forwarding)?, start))
    }

    /// Drops the frames of these classes that the disciplines would send at `now`, if the port is free. Returns their
    /// number.
    pub fn discard_managed(&mut self, classes: Classes, now: Time, forwarding: &[ForwardingEntry]) -> u64 {
        if self.next_start(now, false).is_none() {
            return 0;
        }
        let Self { managed, record, .. } = self;
        managed.as_mut().map_or(0, |managed| managed.discard(classes, now, record, forwarding))
    }

    #[inline]
    pub fn occupied(&self) -> Classes {
        self.managed.as_ref().map_or(self.queues.occupied(), |managed| managed.occupied())
    }

    /// As `next_turn`.
    pub(super) fn next_managed_turn(&mut self, now: Time) -> Time {
        let Some(managed) = &self.managed else { return Time::NEVER };
        if self.free_at > now {
            return if managed.queues.is_sending() || managed.occupied() != 0 { self.free_at } else { Time::NEVER };
        }
        if managed.occupied() == 0 {
            return Time::NEVER;
        }
        // The port is free, but frames wait: the neighbour has paused it, or the discipline holds them.
        let free = self.control.obeyed.free_classes(now);
        let polled = managed.queues.poll_at(|class| free & 1 << class != 0).max(now + Span::from_picoseconds(1));
        self.control.obeyed.next_freedom(now).min(polled)
    }
}
