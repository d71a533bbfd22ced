//! A switch port with queue disciplines.

use forebay_qdisc::{Span, Time};

use crate::ethernet::class_turns::Classes;
use crate::ethernet::discipline_queues::Lent;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::port::SwitchPort;
use crate::packet::Packet;

impl SwitchPort {
    /// The next frame from the disciplines at `now`, and its start.
    #[inline(never)]
    pub(super) fn next_managed(&mut self, now: Time, forwarding: &[ForwardingEntry]) -> Option<(Packet, Time)> {
        let start = self.next_start(now, false)?;
        let may = self.obeyed.free_classes(now);
        let Self { managed, record, .. } = self;
        let around = Lent { now, rng: &mut record.rng, counters: &mut record.counters, forwarding };
        Some((managed.as_mut()?.dequeue(may, around)?, start))
    }

    pub fn enqueue(&mut self, packet: Packet, class: usize, now: Time, forwarding: &[ForwardingEntry]) {
        let Self { managed, record, .. } = self;
        if let Some(managed) = managed {
            let around = Lent { now, rng: &mut record.rng, counters: &mut record.counters, forwarding };
            managed.enqueue(packet, class, around);
        }
    }

    /// The next dropped packet, if any.
    #[inline]
    pub fn take_dropped(&mut self) -> Option<Packet> {
        self.managed.as_mut()?.dropped.pop()
    }

    #[inline]
    pub fn occupied(&self) -> Classes {
        self.managed.as_ref().map_or(self.queues.occupied(), |managed| managed.occupied())
    }

    /// As `next_turn`.
    pub(super) fn next_managed_turn(&mut self, now: Time) -> Time {
        let Some(managed) = &self.managed else { return Time::NEVER };
        if self.free_at > now {
            return if managed.is_sending() || managed.occupied() != 0 { self.free_at } else { Time::NEVER };
        }
        if managed.occupied() == 0 {
            return Time::NEVER;
        }
        // The port is free, but frames wait: the neighbour has paused it, or the discipline holds them.
        let polled = managed.poll_at(self.obeyed.free_classes(now)).max(now + Span::from_picoseconds(1));
        self.obeyed.next_freedom(now).min(polled)
    }

    /// Records the queue length after calls of the disciplines.
    pub fn note_managed_length(&mut self, now: Time) {
        let waiting = self.waiting(now);
        if waiting > u64::from(self.longest) {
            self.note(waiting, now);
        }
    }
}
