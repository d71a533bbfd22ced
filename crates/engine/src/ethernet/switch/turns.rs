//! The events of an Ethernet switch and their order.

use forebay_qdisc::Time;
use forebay_switching::SharedMemory;

use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::ethernet::departures::Departure;
use crate::ethernet::port::SwitchPort;
use crate::ethernet::switch::{EthernetSwitch, release_one};
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::observe::so_far::{QueueName, Show};

impl EthernetSwitch {
    /// A transmission has ended, the link is free, or a pause has ended.
    #[inline]
    fn turn(&mut self, number: usize, now: Time, channels: &mut Channels) {
        while let Some(Departure { input, class, .. }) =
            release_one(&mut self.ports[number], &mut self.memory, number, self.sampled, now)
        {
            // Ports act in the order of their numbers. A later port has not acted at `now` yet.
            let input = usize::from(input);
            let begun = if input > number { just_before(now) } else { now };
            self.watch_memory(input, usize::from(class), now, begun, channels);
        }
        self.look_at(number, now, channels);
    }

    /// Repeats and obeys PAUSE, polls congestion points, and admits frames after the forwarding delay.
    #[cold]
    fn upkeep(&mut self, now: Time, channels: &mut Channels) {
        self.release_all(now);
        for number in 0..self.ports.len() {
            if self.stops_by_policy {
                self.order_after_releases(number, now, channels);
            } else if self.ports[number].control.orders.poll_at() <= now {
                for class in 0..SharedMemory::CLASSES {
                    self.watch_memory(number, class, now, now, channels);
                }
            }
            let port = &mut self.ports[number];
            let queue_bytes = self.memory.of_output(number);
            while port.point.as_ref().is_some_and(|point| point.poll_at() <= now) {
                port.ask_point(now, |point, context| point.expire(queue_bytes, context));
            }
            if port.control.obeyed.next_order() <= now {
                port.control.obeyed.obey(now);
                self.obey(number, now, channels);
            }
        }
        self.look_for_storms(now, channels);
        while let Some(&packet) = self.delayed.front()
            && packet.time <= now
        {
            self.delayed.pop();
            let (output, packet) = self.forward(packet, channels);
            self.admit_carefully(packet, output, now, channels);
        }
        self.plan_upkeep(now);
    }

    pub(super) fn plan_upkeep(&mut self, now: Time) {
        let of_port = |port: &SwitchPort| {
            let point = port.point.as_ref().map_or(Time::NEVER, |point| point.poll_at());
            let orders = if port.control.orders.has_released() { now } else { port.control.orders.poll_at() };
            point.min(orders).min(port.control.obeyed.next_order())
        };
        let delayed = self.delayed.front().map_or(Time::NEVER, |packet| packet.time);
        let look = self.watchdog.as_ref().map_or(Time::NEVER, |watchdog| watchdog.next_look());
        self.upkeep_due = self.ports.iter().map(of_port).fold(delayed.min(look), Time::min);
    }

    /// Notes that a port has a committed frame that its link does not have yet.
    #[inline]
    pub(super) fn keep(&mut self, number: usize) {
        self.next_begin = self.next_begin.min(self.ports[number].departures.next_begin());
        if !std::mem::replace(&mut self.ports[number].holds_committed, true) {
            self.holding.push(number as u8);
        }
    }

    /// Hands frames that begin before `until` to the links.
    fn send_until(&mut self, until: Time, channels: &mut Channels) {
        let Self { ports, holding, next_begin, .. } = self;
        *next_begin = Time::NEVER;
        let mut place = 0;
        while let Some(&number) = holding.get(place) {
            let port = &mut ports[usize::from(number)];
            let next = port.send_until(until, channels);
            *next_begin = next.min(*next_begin);
            if next < Time::NEVER {
                place += 1;
            } else {
                port.holds_committed = false;
                holding.swap_remove(place);
            }
        }
    }

    /// A port looks for a frame after the last arrival at `now`, unless it is busy.
    pub(super) fn choose_later(&mut self, number: usize, now: Time) {
        self.choosing_at = now;
        if !self.choosing.contains(&(number as u8)) {
            self.choosing.push(number as u8);
        }
    }

    /// The ports choose that waited for the last arrival.
    #[inline(never)]
    fn choose(&mut self, channels: &mut Channels) {
        let now = std::mem::replace(&mut self.choosing_at, Time::NEVER);
        self.choosing.sort_unstable();
        for place in 0..self.choosing.len() {
            self.look_at(usize::from(self.choosing[place]), now, channels);
        }
        self.choosing.clear();
    }

    /// Runs ports and upkeep up to `end`, and choices before it.
    #[inline(never)]
    fn run_ports_until(&mut self, end: Time, channels: &mut Channels) {
        loop {
            let next = self.next_action();
            if self.choosing_at < next.min(end) {
                self.choose(channels);
                continue;
            }
            if next > end || next == Time::NEVER {
                return;
            }
            self.check(next);
            if let Some(number) = self.deadlines.due(next) {
                self.turn(number, next, channels);
            } else {
                self.upkeep(next, channels);
            }
        }
    }

    /// The next event of ports and upkeep.
    #[inline]
    fn next_action(&self) -> Time {
        self.deadlines.earliest().min(self.upkeep_due)
    }

    /// Processes the checkpoints up to `now`.
    #[inline]
    pub(super) fn check(&mut self, now: Time) {
        if self.checkpoints.next() <= now {
            self.take_checkpoints(now);
        }
    }

    #[cold]
    fn take_checkpoints(&mut self, now: Time) {
        while let Some((at, checkpoint)) = self.checkpoints.take(now) {
            self.release_all(just_before(at));
            if checkpoint == Checkpoint::WarmUp {
                self.memory.forget_most();
            }
            for (number, port) in self.ports.iter_mut().enumerate() {
                match checkpoint {
                    Checkpoint::WarmUp => port.begin_measurement(at),
                    Checkpoint::Sample => {
                        let (queued, held) = (self.memory.of_output(number), self.memory.of_input(number));
                        port.sample(queued, held, at, self.checkpoints.interval());
                    }
                }
            }
        }
    }
}

impl Node for EthernetSwitch {
    fn next(&self) -> Time {
        self.next_action().min(self.next_begin)
    }

    /// At equal times ports go first, then upkeep, then arrivals, then idle ports that choose.
    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        channels.close(me, until);
        while channels.next_arrival(me) < until {
            let packet = channels.receive(me);
            if self.next_action() <= packet.time || self.choosing_at < packet.time {
                self.run_ports_until(packet.time, channels);
            }
            self.check(packet.time);
            self.arrive(packet, channels);
        }
        while self.next_action().min(self.choosing_at) < until {
            self.run_ports_until(just_before(until), channels);
            if self.choosing_at < until {
                self.choose(channels);
            }
        }
        if self.next_begin < until {
            self.send_until(until, channels);
        }
        (until, self.next())
    }

    #[cfg(feature = "oracle")]
    fn decide_nothing_ahead(&mut self) {
        for port in &mut self.ports {
            port.commit_nothing_ahead();
        }
    }

    fn show(&self, show: &mut Show<'_>) {
        for port in &self.ports {
            port.record.show(QueueName::OfLink(port.link.number()), show);
            port.link.show(show);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.hand_in(end, report);
    }
}
