//! Observations of a switch port.

use std::collections::BTreeMap;

use forebay_qdisc::{Backlog, Span, Time};

use crate::ethernet::class_turns::Classes;
use crate::ethernet::port::SwitchPort;
use crate::observe::deadlock::{PortWait, Stops};
use crate::observe::digest::{MEMORY_BYTES, PAUSED_SHARE};
use crate::observe::packet_recorder::Traits;
use crate::packet::Packet;

impl SwitchPort {
    /// The queue held `bytes` until `now`.
    #[inline]
    pub fn integrate_length(&mut self, bytes: u64, now: Time) {
        let (integral, from) = &mut self.length_integral;
        *integral += u128::from(bytes) * u128::from(now.since(*from).picoseconds());
        *from = now;
    }

    pub fn begin_measurement(&mut self, now: Time) {
        self.control.begin_measurement(now);
        // The state before the events at `now`.
        let waiting = self.waiting(Time::from_picoseconds(now.picoseconds() - 1));
        self.record.counters.begin_measurement(waiting);
        self.longest = waiting as u32;
    }

    /// Adds a sample to the time series. The queue holds `bytes`, the memory of the port's input `held_bytes`.
    pub fn sample(&mut self, bytes: u64, held_bytes: u64, now: Time, interval: Span) {
        self.integrate_length(bytes, now);
        let mean = std::mem::take(&mut self.length_integral.0) as f64 / interval.picoseconds() as f64;
        // The state before the events at `now`.
        let packets = self.waiting(Time::from_picoseconds(now.picoseconds() - 1));
        let stopped = self.control.obeyed.stopped(now);
        let stopped_before = std::mem::replace(&mut self.paused_at_sample, stopped);
        let paused_share = stopped.longest_since(stopped_before).seconds() / interval.seconds();
        let Self { record, point, managed, .. } = self;
        record.state_bytes = record.state_bytes.max(managed.as_ref().map_or(0, |managed| managed.queues.state_bytes()));
        let discipline = managed.as_ref().and_then(|managed| managed.only());
        if let Some(discipline) = discipline {
            for watched in &mut record.watched {
                let key = watched.key();
                watched.series.sample(&|visit| discipline.flow_gauges(key, visit));
            }
        }
        let Some(series) = &mut record.series else { return };
        let backlog = Backlog { packets, bytes };
        series.sample(backlog, record.counters.dropped_total, &|visit| {
            visit("length_mean_bytes", mean);
            visit(PAUSED_SHARE, paused_share);
            visit(MEMORY_BYTES, held_bytes as f64);
            if let Some(point) = point.as_deref() {
                point.gauges(visit);
            }
            if let Some(discipline) = discipline {
                discipline.gauges(visit);
            }
        });
    }

    /// Records the passage of a frame that has no row in the counters, or has not left. Disciplines record theirs.
    #[cold]
    pub fn record_passage(&self, packet: &Packet, departed: Option<Time>) {
        if let Some(recorder) = self.record.recorder.as_ref().filter(|_| self.managed.is_none()) {
            recorder.lock().pass(Traits::of(packet), packet.time, departed);
        }
    }

    /// Records the mark of a frame that arrives.
    #[cold]
    pub fn record_mark(&self, packet: &Packet, now: Time) {
        let Some(recorder) = &self.record.recorder else { return };
        match &self.managed {
            Some(_) => recorder.lock().mark_next(Traits::of(packet), now),
            None => recorder.lock().mark_passing(Traits::of(packet), now),
        }
    }

    /// The classes of which a frame has begun, or was on its way, within the time before `now`.
    pub fn classes_sent(&self, now: Time, within: Span) -> Classes {
        let since = Time::from_picoseconds(now.picoseconds().saturating_sub(within.picoseconds()));
        let sending = self.departures.front().map_or(0, |sending| 1 << sending.class);
        let classes = self.last_sent.iter().enumerate().filter(|(_, last)| **last > since);
        classes.fold(sending, |sent, (class, _)| sent | 1 << class)
    }

    /// The state for deadlock detection, but for what the buffer holds.
    pub fn wait(&self, stops: Stops, end: Time) -> PortWait {
        let sending = self.departures.front().map_or(0, |sending| 1 << sending.class);
        let blocked = self.occupied() & !self.control.obeyed.free_classes(end) & !sending;
        let (incoming, out) = (self.incoming, self.link.number());
        PortWait { incoming, stops, held: BTreeMap::new(), out, blocked, last_sent: self.last_sent }
    }
}
