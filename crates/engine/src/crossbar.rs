//! The fabric of a switch: packets wait at its inputs, and a scheduler decides phase by phase which of them cross to
//! their outputs. What waits at an output is the queue of the output's own link ([`crate::router::port`]).
//!
//! Phases come at a fixed pace, [`Speedup`] of them in the time that the line takes for one packet. A phase in which
//! nothing waits costs nothing: the fabric asks for no wake-up while it is empty. A packet that arrives at the very
//! time of a phase is too late for it.
//!
//! Between two phases the order of arrivals at different inputs does not matter. So the fabric takes packets early,
//! while their feeders send them, into an inbox for each input, and looks at them when the next phase comes: that
//! spares an event for each packet.

use forebay_qdisc::{Backlog, DropReason, Packet as _, Span, Time};
use forebay_switching::{Matching, Speedup};
use rand_pcg::Pcg64Mcg;

use crate::driver::process::{LazyTimer, Outbox, Process};
use crate::driver::ring::Ring;
use crate::observe::queue_book::Books;
use crate::observe::report::{QueueReport, Report};
use crate::observe::window::{Checkpoint, Checkpoints};
use crate::packet::Packet;
use crate::spec::{FabricSpec, Inputs};

/// Every output may receive: what finds its output's queue full is dropped there, and never held back.
const EVERY_OUTPUT: u64 = u64::MAX;

/// One input's books, and what waits there.
struct Input {
    name: String,
    /// What has been sent here and has not been looked at; in the order of arrival.
    inbox: Ring<Packet>,
    books: Books,
    backlog: Backlog,
}

/// A fabric at work.
pub(crate) struct Crossbar {
    inputs: Vec<Input>,
    waiting: Inputs,
    /// Packets at all inputs.
    total: u64,
    /// The output for each (flow, direction), as in [`Packet::direction_index`].
    outputs: Vec<u8>,
    matching: Matching,
    slot: Span,
    speedup: Speedup,
    /// The number of the phase that comes next, while packets wait.
    phase: u64,
    /// When that is; [`Time::NEVER`] while the fabric is empty.
    due: Time,
    timer: LazyTimer,
    rng: Pcg64Mcg,
    checkpoints: Checkpoints,
}

impl Crossbar {
    /// `books` has one for each input, `outputs` the output for each (flow, direction) that comes here.
    pub fn new(spec: FabricSpec, books: Vec<Books>, outputs: Vec<u8>, rng: Pcg64Mcg, checkpoints: Checkpoints) -> Self {
        let FabricSpec { name, ports, inputs: waiting, slot, speedup } = spec;
        let input = |(books, number)| Input {
            name: format!("{name}/input-{number}"),
            inbox: Ring::default(),
            books,
            backlog: Backlog::default(),
        };
        Self {
            inputs: books.into_iter().zip(1_u32..).map(input).collect(),
            waiting,
            total: 0,
            outputs,
            matching: Matching::new(ports),
            slot,
            speedup,
            phase: 0,
            due: Time::NEVER,
            timer: LazyTimer::default(),
            rng,
            checkpoints,
        }
    }

    /// The first phase after `time`.
    fn phase_after(&self, time: Time) -> u64 {
        self.speedup.first_phase_at_or_after(self.slot, time + Span::from_picoseconds(1))
    }

    /// Settles when the next phase comes: the one of this number if packets wait, else the first after the next
    /// arrival.
    fn settle(&mut self) {
        if self.total == 0 {
            let arrivals = self.inputs.iter().filter_map(|input| input.inbox.front()).map(|packet| packet.time);
            let Some(next) = arrivals.min() else {
                self.due = Time::NEVER;
                return;
            };
            self.phase = self.phase_after(next);
        }
        self.due = Time::from_picoseconds(self.speedup.phase_time(self.slot, self.phase));
    }

    /// Takes what arrives before `end` out of the inboxes.
    fn admit_until(&mut self, end: Time, out: &mut Outbox) {
        let Self { inputs, waiting, outputs, total, .. } = self;
        for (number, input) in inputs.iter_mut().enumerate() {
            while let Some(&packet) = input.inbox.front() {
                if packet.time >= end {
                    break;
                }
                input.inbox.pop();
                input.inbox.prefetch_ahead(2);
                let output = usize::from(outputs[packet.direction_index()]);
                let refused = match waiting {
                    Inputs::VirtualOutputQueues(queues, _) => queues.push(number, output, packet).is_err(),
                    Inputs::Fifos(queues) => queues.push(number, output, packet).is_err(),
                };
                if refused {
                    input.books.book.arrival(&packet);
                    input.books.book.drop(&packet, DropReason::Overflow, packet.time);
                    out.release(&packet);
                } else {
                    input.books.book.prefetch(packet.direction_index());
                    input.backlog.packets += 1;
                    input.backlog.bytes += u64::from(packet.len_bytes());
                    input.books.book.length(input.backlog.packets, packet.time);
                    *total += 1;
                }
            }
        }
    }

    /// One phase at `now`: matches inputs to outputs and lets one packet of each pair cross.
    fn transfer(&mut self, now: Time, out: &mut Outbox) {
        self.admit_until(now, out);
        let Self { inputs, waiting, matching, rng, total, .. } = self;
        match waiting {
            Inputs::VirtualOutputQueues(queues, scheduler) => {
                scheduler.schedule(queues.occupancy(), EVERY_OUTPUT, rng, matching);
            }
            Inputs::Fifos(queues) => queues.phase(EVERY_OUTPUT, rng, matching),
        }
        for (input, output) in matching.pairs() {
            let packet = match waiting {
                Inputs::VirtualOutputQueues(queues, _) => queues.pop(input, output),
                Inputs::Fifos(queues) => queues.pop(input).map(|(_, packet)| packet),
            };
            let Some(packet) = packet else {
                debug_assert!(false, "a scheduler matches what waits");
                continue;
            };
            *total -= 1;
            let Input { books, backlog, .. } = &mut inputs[input];
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.len_bytes());
            books.book.let_in(&packet, now);
            out.send(packet.at(now));
        }
        self.phase += 1;
        self.settle();
    }

    /// Runs the phases that were due by `now`.
    fn catch_up(&mut self, now: Time, out: &mut Outbox) {
        while self.due <= now {
            self.transfer(self.due, out);
        }
    }

    /// Takes a packet out of any queue, with the number of its input.
    fn take_any(&mut self) -> Option<(usize, Packet)> {
        (0..self.inputs.len()).find_map(|input| {
            let packet = match &mut self.waiting {
                Inputs::VirtualOutputQueues(queues, _) => {
                    let requests = queues.occupancy().requests_of_input(input);
                    if requests == 0 { None } else { queues.pop(input, requests.trailing_zeros() as usize) }
                }
                Inputs::Fifos(queues) => queues.pop(input).map(|(_, packet)| packet),
            };
            packet.map(|packet| (input, packet))
        })
    }

    fn rearm(&mut self, out: &mut Outbox) {
        if self.due < Time::NEVER {
            self.timer.ensure(self.due, out);
        }
    }

    fn state_bytes(&self) -> u64 {
        match &self.waiting {
            Inputs::VirtualOutputQueues(queues, _) => queues.state_bytes(),
            Inputs::Fifos(queues) => queues.state_bytes(),
        }
    }

    #[cold]
    fn sample(&mut self, now: Time, out: &mut Outbox) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.catch_up(Time::from_picoseconds(at.picoseconds().saturating_sub(1)), out);
            self.admit_until(at, out);
            if due == Checkpoint::WarmUp {
                for Input { books, backlog, .. } in &mut self.inputs {
                    books.book.begin_measurement(backlog.packets);
                }
                continue;
            }
            for (number, input) in self.inputs.iter_mut().enumerate() {
                let longest = match &self.waiting {
                    Inputs::VirtualOutputQueues(queues, _) => {
                        let occupancy = queues.occupancy();
                        (0..occupancy.ports()).map(|output| occupancy.length(number, output)).max()
                    }
                    Inputs::Fifos(_) => None,
                };
                let Input { books, backlog, .. } = input;
                if let Some(series) = &mut books.series {
                    series.sample(*backlog, books.book.dropped_total, &|visit| {
                        if let Some(longest) = longest {
                            visit("longest_voq_packets", f64::from(longest));
                        }
                    });
                }
            }
        }
    }
}

impl Process for Crossbar {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox) {
        self.inputs[usize::from(packet.input_port())].inbox.push(*packet);
        if self.total == 0 && packet.time < self.due {
            self.settle();
            self.timer.ensure(self.due, out);
        }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        if self.timer.woken(now) {
            if self.checkpoints.next() <= now {
                self.sample(now, out);
            }
            self.catch_up(now, out);
            self.rearm(out);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        // The driver has run every phase up to the end: nothing crosses here.
        let mut out = Outbox::new(report.window());
        self.sample(end, &mut out);
        self.admit_until(end + Span::from_picoseconds(1), &mut out);
        let state_bytes = self.state_bytes() / self.inputs.len() as u64;
        // What has crossed was booked as it did; what waits is booked now.
        while let Some((input, packet)) = self.take_any() {
            let book = &mut self.inputs[input].books.book;
            book.arrival(&packet);
            book.waited(1, u64::from(packet.len_bytes()), packet.time, end);
        }
        for input in &mut self.inputs {
            input.books.state_bytes = state_bytes;
            let backlog = input.backlog;
            report.queue(QueueReport {
                name: &input.name,
                books: &mut input.books,
                backlog,
                holds_packets: true,
                flow_gauges: &|_, _| {},
            });
        }
    }
}
