//! What is observed of a port of an Ethernet switch.

use forebay_qdisc::{Backlog, Span, Time};

use crate::ethernet::pause::EVERY_CLASS;
use crate::ethernet::port::SwitchPort;
use crate::observe::deadlock::BufferWait;
use crate::observe::handed_in::PortReport;
use crate::spec::LinkId;

impl SwitchPort {
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
        // The state before whatever happens now.
        let waiting = self.waiting(Time::from_picoseconds(now.picoseconds() - 1));
        self.books.book.begin_measurement(waiting);
        self.longest = waiting as u32;
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
        // The state before whatever happens now.
        let packets = self.waiting(Time::from_picoseconds(now.picoseconds() - 1));
        let Self { books, point, .. } = self;
        let Some(series) = &mut books.series else { return };
        let backlog = Backlog { packets, bytes };
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
        waiting != 0 && self.is_idle() && (free == 0 || (free != EVERY_CLASS && waiting & free == 0))
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
            last_sent: self.last_data.max(self.last_control),
        }
    }
}
