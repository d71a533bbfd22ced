//! A port of an Ethernet switch.
//!
//! A departure is *committed* when its start time is fixed, on arrival if possible. The link receives the frame when it
//! begins. Until then it can be revoked.

use forebay_qdisc::{Packet as _, Span, Time};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{CongestionPoint, Context, Sampler};

use crate::driver::node::Channels;
use crate::ethernet::control::ControlPort;
use crate::ethernet::departures::{Departure, Departures};
use crate::ethernet::discipline_queues::DisciplineQueues;
use crate::ethernet::forwarding::ForwardingEntry;
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::Stopped;
use crate::link::Link;
use crate::link::service::ServiceRate;
use crate::observe::queue_counters::QueueRecord;
use crate::packet::Packet;
use crate::router::port_telemetry::PortTelemetry;
use crate::spec::LinkId;

mod managed;
mod observed;

/// A port at work. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct SwitchPort {
    /// When the next frame may begin. At a reduced service rate, later than the link is free.
    free_at: Time,
    /// When the first departure ends; [`Time::NEVER`] without one.
    pub first_end: Time,
    /// From then on, an arrival may be committed at once. [`Time::NEVER`] while frames wait.
    open_from: Time,
    /// Duration of a frame of `span_is_of_bytes` that ends by `service_changes_at`.
    service_span: Span,
    service_changes_at: Time,
    span_is_of_bytes: u32,
    /// Maximum of committed departures. One where a later frame may go first.
    depth: u32,
    /// Whether a later frame may go first, or disciplines hold the frames: no frame is committed on arrival.
    pub chooses: bool,
    /// The longest queue so far. Shorter ones are not counted.
    longest: u32,
    /// Which frames the congestion point sees.
    pub sampler: Sampler,
    pub link: Link,
    /// The queue under disciplines. Then `queues` is empty.
    pub managed: Option<Box<DisciplineQueues>>,
    pub departures: Departures,
    /// Whether this port is in the switch's `holding`.
    pub holds_committed: bool,
    pub record: QueueRecord,
    pub queues: OutputQueues,
    pub control: ControlPort,
    incoming: LinkId,
    pub service: ServiceRate,
    /// End of the last control frame.
    control_until: Time,
    /// When the last data frame of each class began.
    last_sent: [Time; SharedMemory::CLASSES],
    pub point: Option<Box<dyn CongestionPoint>>,
    /// Byte picoseconds of the queue since the last sample, and up to when.
    length_integral: (u128, Time),
    /// Pause time before the last sample.
    paused_at_sample: Stopped,
    /// If the network has packets that take telemetry.
    pub telemetry: Option<Box<PortTelemetry>>,
}

pub(crate) struct SwitchPortParts {
    pub control: ControlPort,
    pub link: Link,
    pub incoming: LinkId,
    pub service: ServiceRate,
    pub queues: OutputQueues,
    pub managed: Option<Box<DisciplineQueues>>,
    /// With the sampler of the scheme.
    pub point: Option<(Box<dyn CongestionPoint>, Sampler)>,
    pub record: QueueRecord,
    pub has_telemetry: bool,
}

impl SwitchPort {
    pub fn new(parts: SwitchPortParts) -> Self {
        let (point, sampler) = parts.point.unzip();
        // The queue behind a frame is known when the frame begins.
        let chooses = !parts.queues.is_fifo() || parts.managed.is_some() || parts.has_telemetry;
        Self {
            free_at: Time::ZERO,
            first_end: Time::NEVER,
            open_from: Time::ZERO,
            service_span: Span::ZERO,
            service_changes_at: Time::ZERO,
            span_is_of_bytes: 0,
            depth: if chooses { 1 } else { Departures::MOST as u32 },
            chooses,
            longest: 0,
            departures: Departures::new(),
            holds_committed: false,
            link: parts.link,
            record: parts.record,
            queues: parts.queues,
            managed: parts.managed,
            control: parts.control,
            incoming: parts.incoming,
            service: parts.service,
            control_until: Time::ZERO,
            last_sent: [Time::ZERO; SharedMemory::CLASSES],
            point,
            sampler: sampler.unwrap_or_else(Sampler::none),
            length_integral: (0, Time::ZERO),
            paused_at_sample: Stopped::default(),
            telemetry: parts.has_telemetry.then(Box::default),
        }
    }

    #[cfg(feature = "oracle")]
    pub fn commit_nothing_ahead(&mut self) {
        self.depth = 1;
    }

    /// Counts a data frame. Returns whether the congestion point is to see it.
    #[inline]
    pub fn sample_frame(&mut self, len_bytes: u32) -> bool {
        self.sampler.sample(len_bytes, &mut self.record.rng)
    }

    pub fn ask_point<T>(
        &mut self,
        now: Time,
        ask: impl FnOnce(&mut dyn CongestionPoint, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let capacity = self.service.at(now);
        let point = self.point.as_mut()?;
        Some(ask(&mut **point, &mut Context { now, capacity, rng: &mut self.record.rng }))
    }

    /// Frames that wait at `now`. Earlier departures must have been released.
    pub fn waiting(&self, now: Time) -> u64 {
        if let Some(managed) = &self.managed {
            return managed.queues.backlog().packets;
        }
        let is_sending = self.departures.front().is_some_and(|first| first.start <= now);
        self.queues.len() + u64::from(self.departures.len()) - u64::from(is_sending)
    }

    /// Records the queue length after a frame has joined, or before `joining` frames do.
    #[inline]
    pub fn note_length(&mut self, joining: u64, now: Time) {
        if self.queues.len() + u64::from(self.departures.len()) + joining > u64::from(self.longest) {
            self.note(self.waiting(now) + joining, now);
        }
    }

    /// The same for a frame that begins at once. It counts as queued.
    #[inline]
    pub fn note_alone(&mut self, now: Time) {
        if self.longest == 0 {
            self.note(1, now);
        }
    }

    #[cold]
    pub fn note(&mut self, waiting: u64, now: Time) {
        self.record.counters.length(waiting, now);
        self.longest = self.record.counters.longest as u32;
    }

    /// When a frame committed at `now` would begin. `None` if too many are committed, or if it may not wait.
    #[inline]
    fn next_start(&self, now: Time, may_wait: bool) -> Option<Time> {
        let start = now.max(self.free_at);
        let is_known = (start == now) | (may_wait & (self.depth > 1) & (start < self.service_changes_at));
        (is_known & (self.departures.len() < self.depth)).then_some(start)
    }

    /// Whether an arrival at `now` can begin at once, even before departures are released.
    #[inline]
    pub fn is_open_and_free(&self, now: Time) -> bool {
        // One branch in place of two that cannot be predicted.
        (now >= self.free_at.max(self.open_from)) & (self.departures.len() < self.depth)
    }

    /// When an arrival at `now` begins, if this can be committed.
    #[inline]
    pub fn start_on_arrival(&self, now: Time, is_probe: bool) -> Option<Time> {
        if now < self.open_from { None } else { self.next_start(now, !is_probe) }
    }

    /// The next queued frame that can be committed at `now`, and its start.
    pub fn next_departure(
        &mut self,
        now: Time,
        forwarding: &[ForwardingEntry],
        is_probe: impl Fn(&Packet) -> bool,
    ) -> Option<(Packet, Time)> {
        if self.control.waits() || self.is_halted(now) {
            return None;
        }
        if self.managed.is_some() {
            return self.next_managed(now, forwarding);
        }
        // A probe receives its message when it begins.
        let waits_for_probe = self.depth > 1 && self.queues.front().is_some_and(is_probe);
        let start = self.next_start(now, !waits_for_probe)?;
        Some((self.queues.pop(self.control.obeyed.free_classes(now))?, start))
    }

    /// Commits at `now` that a frame, queued at `packet.time`, begins at `start`, or later if the service rate is zero
    /// then. `row` is as in [`Departure`].
    /// Returns false if the link does not have it yet.
    #[inline(always)]
    pub fn commit(
        &mut self,
        packet: &Packet,
        start: Time,
        class: usize,
        row: u32,
        now: Time,
        channels: &mut Channels,
    ) -> bool {
        let len_bytes = packet.len_bytes();
        let (mut start, mut end) = (start, start + self.service_span);
        if len_bytes != self.span_is_of_bytes || end > self.service_changes_at {
            (start, end) = self.find_service(len_bytes, start);
        }
        self.free_at = end;
        self.first_end = end.min(self.first_end);
        let departure = Departure {
            arrived: packet.time,
            start,
            end,
            row,
            len_bytes: len_bytes as u16,
            input: Self::input_of(packet) as u8,
            class: class as u8,
        };
        if start <= now && self.departures.are_sent() {
            self.departures.push_sent(departure);
            self.link.pass_on_by_link(&packet.at(start), channels);
            return true;
        }
        if self.departures.are_full() {
            self.send_until(now + Span::from_picoseconds(1), channels);
        }
        self.departures.push(departure, packet);
        false
    }

    /// A frame begins. `queued_bytes` are in the memory of the output, with those of the frame.
    pub fn append_telemetry(&mut self, packet: &Packet, start: Time, queued_bytes: u64, channels: &mut Channels) {
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.queued_bytes = queued_bytes.saturating_sub(u64::from(packet.len_bytes()));
            telemetry.sends(packet, start, self.link.rate(), &mut channels.tables);
        }
    }

    /// Hands frames that begin before `until` to the link. Returns the next start.
    #[inline(always)]
    pub fn send_until(&mut self, until: Time, channels: &mut Channels) -> Time {
        while let Some(packet) = self.departures.send_next(until) {
            self.link.pass_on_by_link(&packet, channels);
        }
        self.departures.next_begin()
    }

    /// Begin and end of a transmission that may begin at `start`.
    #[cold]
    fn find_service(&mut self, len_bytes: u32, start: Time) -> (Time, Time) {
        let (begin, end) = self.service.transmission(start, u64::from(len_bytes));
        self.service_changes_at = self.service.changes_after(begin);
        // A frame that ends by then may be followed by others that take as long.
        let is_steady = end <= self.service_changes_at;
        (self.service_span, self.span_is_of_bytes) =
            if is_steady { (end.since(begin), len_bytes) } else { (Span::ZERO, 0) };
        (begin, end)
    }

    /// Returns committed frames that begin after `now` to the queue.
    #[cold]
    pub fn revoke(&mut self, now: Time) {
        while let Some(packet) = self.departures.revoke(now) {
            self.queues.put_back(packet);
        }
        let committed_until = self.departures.back().map_or(Time::ZERO, |last| last.end);
        self.free_at = committed_until.max(self.control_until);
        self.first_end = self.departures.first_end();
        // A frame may have waited for the end of a rate of zero, which is yet to come.
        self.span_is_of_bytes = 0;
    }

    #[inline(always)]
    pub fn release(&mut self) -> Option<Departure> {
        let first = self.departures.pop()?;
        self.first_end = self.departures.first_end();
        self.count(&first);
        Some(first)
    }

    #[inline(always)]
    fn count(&mut self, departure: &Departure) {
        let Departure { row, len_bytes, arrived, start, class, .. } = *departure;
        self.last_sent[usize::from(class) % SharedMemory::CLASSES] = start;
        if row < Departure::COUNTED {
            self.record.counters.let_in_at(row as usize, u32::from(len_bytes), arrived, start);
        } else if row == Departure::NOT_COUNTED {
            self.count_probe(len_bytes, arrived, start);
        }
    }

    /// A probe counts for the mean queue length, but has no row.
    #[cold]
    fn count_probe(&mut self, len_bytes: u16, arrived: Time, start: Time) {
        self.record.counters.waited(1, u64::from(len_bytes), arrived, start);
    }

    /// Counts the frame being sent at the end of the run.
    pub fn count_rest(&mut self) {
        if let Some(&sending) = self.departures.front() {
            self.count(&sending);
        }
    }

    /// When a control frame may begin. All committed frames must have begun.
    pub fn link_free_at(&self) -> Time {
        let line_end = |last: &Departure| last.start + self.link.rate().transmission_time(u64::from(last.len_bytes));
        self.departures.back().map_or(Time::ZERO, line_end).max(self.control_until)
    }

    /// All committed frames must have begun.
    pub fn send_control(&mut self, frame: Packet, now: Time, channels: &mut Channels) {
        self.control_until = now + self.link.rate().transmission_time(u64::from(frame.len_bytes()));
        self.free_at = self.control_until.max(self.free_at);
        self.send_until(Time::NEVER, channels);
        self.link.pass_on_by_link(&frame.at(now), channels);
    }

    /// Whether a port that chooses among its frames has a service rate of zero. It chooses when the rate changes.
    #[inline]
    fn is_halted(&mut self, now: Time) -> bool {
        self.chooses && {
            self.service.at(now);
            !self.service.holds_until(now)
        }
    }

    /// The next event for the waiting frames. Everything due at `now` must have been sent.
    #[inline]
    pub fn next_turn(&mut self, now: Time) -> Time {
        self.open_from = Time::NEVER;
        if self.control.waits() {
            return self.link_free_at();
        }
        if self.free_at <= now && self.is_halted(now) {
            return self.service.changes_after(now);
        }
        if self.managed.is_some() {
            return self.next_managed_turn(now);
        }
        if self.queues.occupied() == 0 {
            // Frames that will be dropped must not be committed.
            if self.control.dropped == 0 {
                self.open_from = self.control.obeyed.free_from();
            }
            return Time::NEVER;
        }
        // A free port has been paused by the neighbour, until a PAUSE frame or a timeout.
        if self.free_at > now { self.free_at } else { self.control.obeyed.next_freedom(now) }
    }

    #[inline]
    pub fn input_of(packet: &Packet) -> usize {
        usize::from(packet.input_port())
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
