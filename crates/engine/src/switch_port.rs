//! One port of an Ethernet switch: what waits to leave by it, what it sends, and what stops it or its neighbour.

use forebay_qdisc::{Backlog, Packet as _, Rate, Span, Time};
use forebay_switching::congestion::{CongestionPoint, Context};

use crate::deadlock::BufferWait;
use crate::ethernet::{ServiceRate, TransmissionTime};
use crate::network::LinkId;
use crate::output_queues::OutputQueues;
use crate::packet::Packet;
use crate::pause_port::{EVERY_CLASS, PauseObeyed, PauseOrders};
use crate::port::Books;
use crate::report::PortReport;
use crate::ring::Ring;

/// The frame that a port is sending, whose memory is free at the end.
#[derive(Clone, Copy)]
pub(crate) struct Sending {
    pub input: u8,
    pub class: u8,
    pub len_bytes: u32,
}

/// How long a frame of this length, begun before `until`, takes: on the link, and with the reduced rate of the port.
#[derive(Default)]
struct Pace {
    len_bytes: u32,
    until: Time,
    line: Span,
    service: Span,
}

/// A port at work.
pub(crate) struct SwitchPort {
    /// The link on which it sends.
    pub out: LinkId,
    /// The link by which it receives.
    pub incoming: LinkId,
    line: Rate,
    line_time: TransmissionTime,
    pub service: ServiceRate,
    pace: Pace,
    pub sending: Option<Sending>,
    /// When the transmission of that frame ends: with a reduced service rate later than the link is free.
    pub served_at: Time,
    /// Until when the link is busy.
    pub link_free_at: Time,
    pub last_sent: Time,
    pub orders: PauseOrders,
    pub obeyed: PauseObeyed,
    /// Messages to sources that leave by this port.
    pub messages: Ring<Packet>,
    pub queues: OutputQueues,
    pub point: Option<Box<dyn CongestionPoint>>,
    /// How many of the next frames the congestion point need not see.
    pub unseen: u64,
    pub books: Books,
    /// Bytes of the queue times picoseconds since the last sample, and up to when.
    length_integral: (u128, Time),
    pub report: PortReport,
    /// How long the port had been stopped when the warm-up ended.
    paused_before: Span,
}

/// What a port is made of.
pub(crate) struct SwitchPortParts {
    pub out: LinkId,
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
    pub fn new(parts: SwitchPortParts) -> Self {
        Self {
            out: parts.out,
            incoming: parts.incoming,
            line: parts.line,
            line_time: TransmissionTime::default(),
            service: parts.service,
            pace: Pace::default(),
            sending: None,
            served_at: Time::ZERO,
            link_free_at: Time::ZERO,
            last_sent: Time::ZERO,
            orders: parts.orders,
            obeyed: parts.obeyed,
            messages: Ring::default(),
            queues: parts.queues,
            unseen: if parts.point.is_some() { 0 } else { u64::MAX },
            point: parts.point,
            books: parts.books,
            length_integral: (0, Time::ZERO),
            report: parts.report,
            paused_before: Span::ZERO,
        }
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

    /// When the port has something to do next, after it has done at `now` what there was.
    #[inline]
    pub fn next_turn(&self, now: Time) -> Time {
        if self.sending.is_some() {
            return if self.control_waits() { self.link_free_at.min(self.served_at) } else { self.served_at };
        }
        if self.queues.occupied() == 0 && !self.control_waits() {
            return Time::NEVER;
        }
        // Free, but what waits has not gone: the neighbour holds it up, and says so, or says nothing for too long.
        if self.link_free_at > now { self.link_free_at } else { self.obeyed.next_freedom(now) }
    }

    /// Whether the next turn may send something.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.queues.occupied() != 0 || self.control_waits()
    }

    /// A control frame of so many bytes is begun at `now`.
    pub fn begin_control(&mut self, len_bytes: u32, now: Time) {
        self.link_free_at = now + self.line_time.of(len_bytes, self.line);
        self.last_sent = now;
    }

    /// A frame that takes memory is begun at `now`.
    #[inline]
    pub fn begin(&mut self, frame: Sending, now: Time) {
        if frame.len_bytes != self.pace.len_bytes || now >= self.pace.until {
            self.find_pace(frame.len_bytes, now);
        }
        self.link_free_at = now + self.pace.line;
        self.served_at = now + self.pace.service;
        self.sending = Some(frame);
        self.last_sent = now;
    }

    #[cold]
    fn find_pace(&mut self, len_bytes: u32, now: Time) {
        let rate = self.service.at(now);
        let time = |rate: Rate| rate.transmission_time(u64::from(len_bytes));
        self.pace = Pace { len_bytes, until: self.service.changes_at(), line: time(self.line), service: time(rate) };
    }

    /// Whether a frame that comes at `now` may be sent at once: it is ahead of all that waits, for nothing does.
    #[inline]
    pub fn lets_through(&self, now: Time) -> bool {
        self.sending.is_none() && self.link_free_at <= now && !self.has_more() && self.obeyed.is_free(now)
    }

    /// The queue had `bytes` until `now`.
    #[inline]
    pub fn integrate_length(&mut self, bytes: u64, now: Time) {
        let (integral, from) = &mut self.length_integral;
        *integral += u128::from(bytes) * u128::from(now.since(*from).picoseconds());
        *from = now;
    }

    /// The warm-up is over.
    pub fn begin_measurement(&mut self, now: Time) {
        self.paused_before = self.obeyed.stopped(now);
        self.report.begin_measurement();
    }

    /// What the port has to say of the measured interval, at its end; the switch held as much as `most_bytes` of what
    /// came by it.
    pub fn report(&mut self, most_bytes: u64, end: Time) -> PortReport {
        self.report.memory(most_bytes);
        self.report.paused = self.obeyed.stopped(end).saturating_sub(self.paused_before);
        std::mem::take(&mut self.report)
    }

    /// A sample of the queue, which has `bytes`, for the time series.
    pub fn sample(&mut self, bytes: u64, now: Time, interval: Span) {
        self.integrate_length(bytes, now);
        let mean = std::mem::take(&mut self.length_integral.0) as f64 / interval.picoseconds() as f64;
        let Self { books, queues, point, .. } = self;
        let Some(series) = &mut books.series else { return };
        let backlog = Backlog { packets: queues.len(), bytes };
        series.sample(backlog, books.book.dropped_total, &|visit| {
            visit("length_mean_bytes", mean);
            if let Some(point) = point.as_deref() {
                point.gauges(visit);
            }
        });
    }

    /// Whether frames wait that may not be sent at `now`, and none that may.
    fn is_blocked(&self, now: Time) -> bool {
        let waiting = self.queues.occupied();
        let free = self.obeyed.free_classes(now);
        waiting != 0 && self.sending.is_none() && (free == 0 || (free != EVERY_CLASS && waiting & free == 0))
    }

    /// Whether it has stopped the link by which it receives, and may itself not send; its input holds `excess_bytes`
    /// more than would let that link go on, and `held` for the outputs.
    pub fn buffer_wait(&self, excess_bytes: u64, held: Vec<(LinkId, u64)>, end: Time) -> BufferWait {
        BufferWait {
            incoming: self.incoming,
            stops_incoming: self.orders.has_stopped(),
            excess_bytes,
            held,
            out: self.out,
            blocked: self.is_blocked(end),
            last_sent: self.last_sent,
        }
    }

    /// The input port by which a frame came.
    #[inline]
    pub fn input_of(packet: &Packet) -> usize {
        usize::from(packet.input_port())
    }
}
