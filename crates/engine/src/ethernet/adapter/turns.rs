//! The events of an adapter and their order.

use forebay_qdisc::Time;
use forebay_switching::SharedMemory;

use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::ethernet::adapter::Adapter;
use crate::ethernet::pause::EVERY_CLASS;
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::observe::reported::AdapterReport;
use crate::observe::so_far::Show;

impl Adapter {
    /// Sets the next event. Everything up to `now` must be done.
    pub(super) fn plan(&mut self, now: Time) {
        self.plan_upkeep();
        self.due = self.upkeep_at.min(self.next_transmission(now));
    }

    /// Sets the next event that is not the start of a transmission.
    pub(super) fn plan_upkeep(&mut self) {
        let mut upkeep_at = self.receive.polls.earliest().min(self.transmit.polls.earliest());
        upkeep_at = upkeep_at.min(self.control.obeyed.next_order()).min(self.checkpoints.next());
        upkeep_at = upkeep_at.min(self.attached.as_ref().map_or(Time::NEVER, |attached| attached.next()));
        if self.is_emptied_on_time() {
            upkeep_at = upkeep_at.min(self.receive.leaves_at).min(self.control.orders.poll_at());
        }
        self.upkeep_at = upkeep_at;
    }

    /// Whether departures from the buffer must be processed on time. Otherwise they may be processed late.
    #[inline]
    pub(super) fn is_emptied_on_time(&self) -> bool {
        // A paused switch may continue as soon as there is room.
        self.receive.is_timely() || self.control.orders.poll_at() < Time::NEVER
    }

    #[inline(always)]
    fn next_transmission(&self, now: Time) -> Time {
        let waits = self.probing != 0 || self.transmit.ready.count > 0;
        let next_ready = self.transmit.eligible.earliest().min(self.transmit.generators.time);
        if self.free_at > now {
            let goes_on = waits || self.sending.is_some() || self.control.waits();
            return if goes_on { self.free_at } else { next_ready.max(self.free_at) };
        }
        // The port is free, but frames wait: the switch has paused it.
        let free = self.control.obeyed.free_classes(now);
        if free == EVERY_CLASS {
            return next_ready;
        }
        let freedom = self.control.obeyed.next_freedom(now);
        if free & (self.classes | self.probing) == 0 { freedom } else { next_ready.min(freedom) }
    }

    #[inline(never)]
    pub(super) fn catch_up(&mut self, now: Time, channels: &mut Channels) {
        self.run_until(now, channels);
    }

    /// Processes the events up to `now`.
    #[inline(always)]
    fn run_until(&mut self, now: Time, channels: &mut Channels) {
        while self.due <= now {
            let now = self.due;
            if self.upkeep_at <= now {
                self.keep_up(now, channels);
            }
            self.transmit(now, channels);
            self.due = self.upkeep_at.min(self.next_transmission(now));
        }
    }

    /// Processes the events at `now` that are not the start of a transmission.
    #[cold]
    fn keep_up(&mut self, now: Time, channels: &mut Channels) {
        if self.checkpoints.next() <= now {
            self.check(now, channels);
        }
        if let Some(attached) = &mut self.attached
            && attached.next() <= now
        {
            attached.expire(now, channels);
            self.take_sent(now, channels);
        }
        self.empty_until(now, channels);
        if self.control.obeyed.next_order() <= now {
            self.control.obeyed.obey(now);
        }
        while let Some((number, message)) = self.receive.poll(now) {
            self.tell_source(number, message, now, channels);
        }
        self.end_transmission(now, channels);
        while let Some((number, message)) = self.transmit.poll(now) {
            self.send_probe(number, message, now, channels);
            self.sending = self.transmit.to_be_heard(now);
        }
        if self.control.orders.poll_at() <= now {
            for class in 0..SharedMemory::CLASSES {
                self.watch_buffer(class, now);
            }
        }
        self.plan_upkeep();
    }

    #[cold]
    fn check(&mut self, now: Time, channels: &mut Channels) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            // The state before the events at `at`.
            let before = Time::from_picoseconds(at.picoseconds() - 1);
            self.empty_until(before, channels);
            self.transmit.generate(before);
            self.transmit.check(due, self.checkpoints.interval());
            self.receive.check(due, self.checkpoints.interval());
            if due == Checkpoint::WarmUp {
                self.control.begin_measurement(at);
                self.control.report.memory(self.receive.used_bytes);
            }
        }
    }
}

impl Node for Adapter {
    fn next(&self) -> Time {
        self.due
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        channels.close(me, until);
        while channels.next_arrival(me) < until {
            let packet = channels.receive(me);
            self.receive(&packet, channels);
        }
        self.run_until(just_before(until), channels);
        (self.free_at, self.due)
    }

    fn show(&self, show: &mut Show<'_>) {
        self.transmit.show(show);
        self.receive.show(show);
        if let Some(attached) = &self.attached {
            attached.show(show);
        }
        self.uplink.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        // All events have been processed, so that nothing is sent here.
        let channels = &mut Channels::nowhere(report.measured());
        self.check(end, channels);
        self.empty_until(end, channels);
        self.transmit.generate(end);
        self.transmit.finish(report);
        if let Some(attached) = &mut self.attached {
            attached.finish(end, report);
        }
        self.control_count.held += self.receive.finish(self.rows, report);
        report.link(self.uplink.finish(&report.measured()));
        let number = self.uplink.number();
        report.pauses(number, self.control.obeyed.take_log(report.link_name(number), end));
        report.lost(&self.lost);
        report.control(self.control_count);
        report.adapter(AdapterReport {
            name: std::mem::take(&mut self.name),
            port: self.control.report(end),
            source_drops: self.transmit.source_drops,
            messages_ignored: self.transmit.messages_ignored,
        });
    }
}
