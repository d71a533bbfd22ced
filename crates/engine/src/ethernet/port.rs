//! One port of an Ethernet switch: what waits to leave by it, what it sends, and what stops it or its neighbour.

use forebay_qdisc::{Packet as _, Rate, Span, Time};
use forebay_switching::congestion::{CongestionPoint, Context};

use crate::driver::node::Lanes;
use crate::driver::ring::Ring;
use crate::ethernet::output_queues::OutputQueues;
use crate::ethernet::pause::{PauseObeyed, PauseOrders};
use crate::ethernet::service::ServiceRate;
use crate::link::Wire;
use crate::observe::handed_in::PortReport;
use crate::observe::queue_book::Books;
use crate::packet::Packet;
use crate::spec::LinkId;

mod observed;

/// What the switch has to know of a frame whose departure is settled, when the frame itself has gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// When it joined the queue.
    pub arrived: Time,
    /// When its transmission begins, and when it is over, so that its memory is free.
    pub start: Time,
    pub end: Time,
    /// Its row in the books; [`Departure::NOT_BOOKED`] for a control frame.
    pub row: u32,
    pub len_bytes: u16,
    pub input: u8,
    pub class: u8,
}

const _: () = assert!(size_of::<Departure>() == 32);

impl Departure {
    const NOT_BOOKED: u32 = u32::MAX;
}

/// A port at work. What comes first, every frame touches.
#[repr(C, align(64))]
pub(crate) struct SwitchPort {
    /// When the next frame may begin: what is settled has gone by then, with a reduced service rate later than the link
    /// is free.
    free_at: Time,
    /// When the first of the departures is over.
    first_end: Time,
    /// From when on the departure of a frame that comes may be settled at once; [`Time::NEVER`] while others wait.
    open_from: Time,
    /// How long a frame of this many bytes takes that begins before the service rate changes.
    service_span: Span,
    service_changes_at: Time,
    span_is_of_bytes: u32,
    /// How many departures may be settled at a time. One, where what comes later may go first: then a frame's is
    /// settled when it begins.
    depth: u32,
    /// How many of the next frames the congestion point need not see.
    pub unseen: u64,
    /// The longest queue so far: less is not worth a look into the books.
    longest: u32,
    /// The frame that is being sent, and those that go right behind it.
    departures: Ring<Departure>,
    /// The last of these, which have not been handed to the link, each with the time when it begins.
    settled: Ring<Packet>,
    /// Whether there are any, as the switch knows it.
    pub holds_settled: bool,
    pub wire: Wire,
    /// When the last frame that has been released began.
    last_data: Time,
    pub books: Books,
    pub queues: OutputQueues,
    pub orders: PauseOrders,
    pub obeyed: PauseObeyed,
    /// Messages to sources that leave by this port.
    pub messages: Ring<Packet>,
    /// The link on which it sends.
    pub out: LinkId,
    /// The link by which it receives.
    pub incoming: LinkId,
    line: Rate,
    pub service: ServiceRate,
    /// When the last control frame began, and until when it is on the link.
    last_control: Time,
    control_until: Time,
    pub point: Option<Box<dyn CongestionPoint>>,
    /// Bytes of the queue times picoseconds since the last sample, and up to when.
    length_integral: (u128, Time),
    pub report: PortReport,
    /// How long the port had been stopped when the warm-up ended.
    paused_before: Span,
}

/// What a port is made of.
pub(crate) struct SwitchPortParts {
    pub out: LinkId,
    pub wire: Wire,
    pub incoming: LinkId,
    pub line: Rate,
    pub service: ServiceRate,
    pub orders: PauseOrders,
    pub obeyed: PauseObeyed,
    pub queues: OutputQueues,
    pub point: Option<Box<dyn CongestionPoint>>,
    pub books: Books,
    pub report: PortReport,
}

impl SwitchPort {
    /// This many departures are settled at a time where frames leave in the order of arrival, so that little has to be
    /// taken back when a control frame goes first.
    const DEPTH: u32 = 16;

    pub fn new(parts: SwitchPortParts) -> Self {
        Self {
            free_at: Time::ZERO,
            first_end: Time::NEVER,
            open_from: Time::ZERO,
            service_span: Span::ZERO,
            service_changes_at: Time::ZERO,
            span_is_of_bytes: 0,
            depth: if parts.queues.is_fifo() { Self::DEPTH } else { 1 },
            unseen: if parts.point.is_some() { 0 } else { u64::MAX },
            longest: 0,
            departures: Ring::default(),
            settled: Ring::default(),
            holds_settled: false,
            wire: parts.wire,
            last_data: Time::ZERO,
            books: parts.books,
            queues: parts.queues,
            orders: parts.orders,
            obeyed: parts.obeyed,
            messages: Ring::default(),
            out: parts.out,
            incoming: parts.incoming,
            line: parts.line,
            service: parts.service,
            last_control: Time::ZERO,
            control_until: Time::ZERO,
            point: parts.point,
            length_integral: (0, Time::ZERO),
            report: parts.report,
            paused_before: Span::ZERO,
        }
    }

    /// Settles no departure before the frame begins.
    #[cfg(feature = "oracle")]
    pub fn settle_nothing_ahead(&mut self) {
        self.depth = 1;
    }

    /// Asks the congestion point, if there is one.
    pub fn ask_point<T>(
        &mut self,
        now: Time,
        ask: impl FnOnce(&mut dyn CongestionPoint, &mut Context<'_>) -> T,
    ) -> Option<T> {
        let capacity = self.service.at(now);
        let point = self.point.as_mut()?;
        Some(ask(&mut **point, &mut Context { now, capacity, rng: &mut self.books.rng }))
    }

    /// Whether a control frame waits that goes ahead of data.
    #[inline]
    pub fn control_waits(&self) -> bool {
        self.orders.is_pending() || self.messages.len() > 0
    }

    /// How many frames wait at `now`, what has ended by then having been released.
    fn waiting(&self, now: Time) -> u64 {
        let is_sending = self.departures.front().is_some_and(|first| first.start <= now);
        self.queues.len() + self.departures.len() as u64 - u64::from(is_sending)
    }

    /// A frame has joined the queue, or `joining` ones are about to: takes the queue's length into the books.
    #[inline]
    pub fn note_length(&mut self, joining: u64, now: Time) {
        if self.queues.len() + self.departures.len() as u64 + joining > u64::from(self.longest) {
            self.note(self.waiting(now) + joining, now);
        }
    }

    /// The same for a frame that begins at once: even that has been in the queue.
    #[inline]
    pub fn note_alone(&mut self, now: Time) {
        if self.longest == 0 {
            self.note(1, now);
        }
    }

    #[cold]
    fn note(&mut self, waiting: u64, now: Time) {
        self.books.book.length(waiting, now);
        self.longest = self.books.book.longest as u32;
    }

    /// When the next frame would begin if its departure were settled at `now`; `None` if that may not be: too much is
    /// settled, or `may_wait` is false and it would have to.
    #[inline]
    fn next_start(&self, now: Time, may_wait: bool) -> Option<Time> {
        let start = now.max(self.free_at);
        let is_known = start == now || (may_wait && self.depth > 1 && start < self.service_changes_at);
        (is_known && self.departures.len() < self.depth as usize).then_some(start)
    }

    /// Whether a frame that comes at `now` can begin at once, whatever has not been released yet.
    #[inline]
    pub fn is_open_and_free(&self, now: Time) -> bool {
        now >= self.free_at.max(self.open_from) && self.departures.len() < self.depth as usize
    }

    /// When a frame begins that comes at `now`, if that can be settled at once: nothing waits that could go before it.
    #[inline]
    pub fn start_on_arrival(&self, now: Time, is_probe: bool) -> Option<Time> {
        if now < self.open_from { None } else { self.next_start(now, !is_probe) }
    }

    /// A frame goes without having been in the queue.
    #[inline]
    pub fn let_through(&mut self, class: usize, input: usize) {
        if self.depth == 1 {
            self.queues.let_through(class, input);
        }
    }

    /// The next frame of the queue whose departure can be settled at `now`, and when it begins.
    pub fn next_departure(&mut self, now: Time, is_probe: impl Fn(&Packet) -> bool) -> Option<(Packet, Time)> {
        if self.control_waits() {
            return None;
        }
        // What a probe is told when it begins is not known before.
        let waits_for_probe = self.depth > 1 && self.queues.front().is_some_and(is_probe);
        let start = self.next_start(now, !waits_for_probe)?;
        Some((self.queues.pop(self.obeyed.free_classes(now))?, start))
    }

    /// Settles at `now` that a frame, which joined the queue at `packet.time`, begins at `start`; its row in the books,
    /// if it has one, is `row`. Returns false if the link does not have it yet.
    #[inline(always)]
    pub fn settle(
        &mut self,
        packet: &Packet,
        start: Time,
        class: usize,
        row: Option<u32>,
        now: Time,
        lanes: &mut Lanes,
    ) -> bool {
        let len_bytes = packet.len_bytes();
        if len_bytes != self.span_is_of_bytes || start >= self.service_changes_at {
            self.find_service_span(len_bytes, start);
        }
        let end = start + self.service_span;
        self.free_at = end;
        self.first_end = end.min(self.first_end);
        self.departures.push(Departure {
            arrived: packet.time,
            start,
            end,
            row: row.unwrap_or(Departure::NOT_BOOKED),
            len_bytes: len_bytes as u16,
            input: Self::input_of(packet) as u8,
            class: class as u8,
        });
        if start <= now && self.settled.len() == 0 {
            self.send(packet.at(start), lanes);
            return true;
        }
        self.settled.push(packet.at(start));
        false
    }

    /// Hands to the link what begins before `until`; returns when the first of the others begins.
    #[inline]
    pub fn send_until(&mut self, until: Time, lanes: &mut Lanes) -> Time {
        while let Some(&packet) = self.settled.front() {
            if packet.time >= until {
                return packet.time;
            }
            self.settled.pop();
            self.send(packet, lanes);
        }
        Time::NEVER
    }

    /// Hands a frame to the link that begins at `packet.time`.
    #[inline(always)]
    fn send(&mut self, packet: Packet, lanes: &mut Lanes) {
        if let Some(sent) = self.wire.pass(packet, &lanes.measured, &lanes.sacks) {
            lanes.send_over(self.out, sent);
        }
    }

    #[cold]
    fn find_service_span(&mut self, len_bytes: u32, start: Time) {
        self.service_span = self.service.at(start).transmission_time(u64::from(len_bytes));
        (self.span_is_of_bytes, self.service_changes_at) = (len_bytes, self.service.changes_at());
    }

    /// Takes what is settled and has not begun by `now` back into the queue.
    #[cold]
    pub fn take_back(&mut self, now: Time) {
        while let Some(&last) = self.departures.back()
            && last.start > now
            && let Some(packet) = self.settled.pop_back()
        {
            self.departures.pop_back();
            self.queues.put_back(packet.arriving(last.arrived, u16::from(last.input)));
        }
        let settled_until = self.departures.back().map_or(Time::ZERO, |last| last.end);
        self.free_at = settled_until.max(self.control_until);
        self.first_end = self.departures.front().map_or(Time::NEVER, |first| first.end);
    }

    /// When the first of the departures is over; [`Time::NEVER`] without one.
    #[inline]
    pub fn first_end(&self) -> Time {
        self.first_end
    }

    /// The first of the departures is over: it is booked.
    #[inline(always)]
    pub fn release(&mut self) -> Option<Departure> {
        let first = self.departures.pop()?;
        self.first_end = self.departures.of_front(|next| next.end, Time::NEVER);
        self.book(&first);
        Some(first)
    }

    #[inline(always)]
    fn book(&mut self, departure: &Departure) {
        self.last_data = departure.start;
        let Departure { row, len_bytes, arrived, start, .. } = *departure;
        if row != Departure::NOT_BOOKED {
            self.books.book.let_in_at(row as usize, u32::from(len_bytes), arrived, start);
        } else {
            self.book_control(len_bytes, arrived, start);
        }
    }

    /// A control frame that queued with the data was part of the queue, of which length and memory tell.
    #[cold]
    fn book_control(&mut self, len_bytes: u16, arrived: Time, start: Time) {
        self.books.book.waited(1, u64::from(len_bytes), arrived, start);
    }

    /// Books what is being sent when the run ends.
    pub fn book_rest(&mut self) {
        if let Some(&sending) = self.departures.front() {
            self.book(&sending);
        }
    }

    /// Until when the link is busy, nothing that has not begun being settled.
    fn link_free_at(&self) -> Time {
        let line_end = |last: &Departure| last.start + self.line.transmission_time(u64::from(last.len_bytes));
        self.departures.back().map_or(Time::ZERO, line_end).max(self.control_until)
    }

    /// Whether the link is free for a control frame, nothing that has not begun being settled.
    pub fn is_link_free(&self, now: Time) -> bool {
        self.link_free_at() <= now
    }

    /// A control frame is begun at `now`, nothing that has not begun being settled.
    pub fn send_control(&mut self, frame: Packet, now: Time, lanes: &mut Lanes) {
        self.last_control = now;
        self.control_until = now + self.line.transmission_time(u64::from(frame.len_bytes()));
        self.free_at = self.control_until.max(self.free_at);
        self.send_until(Time::NEVER, lanes);
        self.send(frame.at(now), lanes);
    }

    /// After everything due at `now` was sent: returns when there is something to do next for what waits.
    #[inline]
    pub fn next_turn(&mut self, now: Time) -> Time {
        self.open_from = Time::NEVER;
        if self.control_waits() {
            return self.link_free_at();
        }
        if self.queues.occupied() == 0 {
            self.open_from = self.obeyed.free_from();
            return Time::NEVER;
        }
        // Free, but what waits has not gone: the neighbour holds it up, and says so, or says nothing for too long.
        if self.free_at > now { self.free_at } else { self.obeyed.next_freedom(now) }
    }

    /// Whether no departure is settled.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.departures.len() == 0
    }

    /// The input port by which a frame came.
    #[inline]
    pub fn input_of(packet: &Packet) -> usize {
        usize::from(packet.input_port())
    }
}
