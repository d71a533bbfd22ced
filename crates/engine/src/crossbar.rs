//! The fabric of a switch: packets wait at its inputs, and a scheduler decides phase by phase which of them cross to
//! their outputs. Packets at an output wait in the queue of the output's own link.
//!
//! Phases come at a fixed pace, [`Speedup`] of them in the time that the line takes for one packet. A phase in which
//! nothing waits costs nothing. A packet that arrives at the very time of a phase is too late for it. Between two
//! phases the order of arrivals at different inputs does not matter.

use forebay_qdisc::{Backlog, DropReason, Span, Time};
use forebay_switching::{Matching, Speedup};
use rand_pcg::Pcg64Mcg;

use crate::driver::node::{Channels, Node, NodeId, just_before};
use crate::driver::node_table::NodeTable;
use crate::driver::routes::Way;
use crate::observe::interval::{Checkpoint, Checkpoints};
use crate::observe::phase_recorder::PhaseRecorder;
use crate::observe::queue_counters::QueueRecord;
use crate::observe::report::Report;
use crate::observe::reported::QueueReport;
use crate::observe::so_far::{QueueName, Show};
use crate::packet::Packet;
use crate::spec::{CrossbarSpec, Inputs};

/// Every output may receive: a packet that finds its output's queue full is dropped there, and never held back.
const EVERY_OUTPUT: u64 = u64::MAX;

/// One input's counters, and what waits there.
struct Input {
    name: String,
    record: QueueRecord,
    backlog: Backlog,
}

pub(crate) struct CrossbarParts {
    pub name: String,
    pub spec: CrossbarSpec,
    /// The counters of each input.
    pub record: Vec<QueueRecord>,
    pub table: NodeTable,
    /// Where the queue of each output is.
    pub ways: Vec<Way>,
    pub rng: Pcg64Mcg,
    pub checkpoints: Checkpoints,
    /// Records its phases, if that is asked for.
    pub recorder: Option<Box<PhaseRecorder>>,
}

/// A fabric at work.
pub(crate) struct Crossbar {
    inputs: Vec<Input>,
    waiting: Inputs,
    /// Packets at all inputs.
    total: u64,
    table: NodeTable,
    /// Where the queue of each output is.
    ways: Vec<Way>,
    matching: Matching,
    slot: Span,
    speedup: Speedup,
    /// The number of the phase that comes next, while packets wait.
    phase: u64,
    /// When that is; [`Time::NEVER`] while the fabric is empty.
    due: Time,
    rng: Pcg64Mcg,
    checkpoints: Checkpoints,
    recorder: Option<Box<PhaseRecorder>>,
}

impl Crossbar {
    pub fn new(parts: CrossbarParts) -> Self {
        let CrossbarParts { name, spec, record, table, ways, rng, checkpoints, recorder } = parts;
        let CrossbarSpec { ports, inputs: waiting, slot, speedup } = spec;
        let input =
            |(record, number)| Input { name: format!("{name}/input-{number}"), record, backlog: Backlog::default() };
        Self {
            inputs: record.into_iter().zip(1_u32..).map(input).collect(),
            waiting,
            total: 0,
            table,
            ways,
            matching: Matching::new(ports),
            slot,
            speedup,
            phase: 0,
            due: Time::NEVER,
            rng,
            checkpoints,
            recorder,
        }
    }

    /// Settles that the next phase is the first one after `time`.
    fn wake_after(&mut self, time: Time) {
        self.phase = self.speedup.first_phase_at_or_after(self.slot, time + Span::from_picoseconds(1));
        self.settle();
    }

    /// Settles when the next phase comes: never, while nothing waits.
    fn settle(&mut self) {
        let phase_time = || Time::from_picoseconds(self.speedup.phase_time(self.slot, self.phase));
        self.due = if self.total > 0 { phase_time() } else { Time::NEVER };
    }

    /// A packet has come to its input.
    #[inline]
    fn admit(&mut self, packet: &Packet, channels: &mut Channels) {
        let Self { inputs, waiting, table, total, .. } = self;
        let number = packet.input() as usize;
        let input = &mut inputs[number];
        let output = table.output_of(packet, channels);
        let refused = match waiting {
            Inputs::VirtualOutputQueues(queues, _) => queues.push(number, output, *packet).is_err(),
            Inputs::Fifos(queues) => queues.push(number, output, *packet).is_err(),
        };
        if refused {
            input.record.counters.refuse(packet, DropReason::Overflow);
            return channels.release(packet);
        }
        input.record.counters.prefetch(packet.direction_index());
        input.backlog.packets += 1;
        input.backlog.bytes += u64::from(packet.len_bytes());
        input.record.counters.length(input.backlog.packets, packet.time);
        *total += 1;
        if *total == 1 {
            self.wake_after(packet.time);
        }
    }

    /// Does all that happens before `end`: phases, and the arrivals among `packets`, which are in the order of time.
    /// Returns the packets that arrive later.
    fn advance<'a>(&mut self, mut packets: &'a [Packet], end: Time, channels: &mut Channels) -> &'a [Packet] {
        loop {
            match packets.split_first() {
                Some((packet, later)) if packet.time < self.due.min(end) => {
                    self.admit(packet, channels);
                    packets = later;
                }
                _ if self.due < end => self.transfer(self.due, channels),
                _ => return packets,
            }
        }
    }

    /// One phase at `now`: matches inputs to outputs and lets one packet of each pair cross.
    fn transfer(&mut self, now: Time, channels: &mut Channels) {
        let Self { inputs, waiting, matching, rng, total, ways, recorder, .. } = self;
        match waiting {
            Inputs::VirtualOutputQueues(queues, scheduler) => {
                scheduler.schedule(queues.occupancy(), EVERY_OUTPUT, rng, matching);
            }
            Inputs::Fifos(queues) => queues.phase(EVERY_OUTPUT, rng, matching),
        }
        if let Some(recorder) = recorder {
            recorder.phase(now, waiting, matching);
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
            let Input { record, backlog, .. } = &mut inputs[input];
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.len_bytes());
            record.counters.let_in(&packet, now);
            channels.send(ways[output], packet.at(now));
        }
        self.phase += 1;
        self.settle();
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

    fn state_bytes(&self) -> u64 {
        match &self.waiting {
            Inputs::VirtualOutputQueues(queues, _) => queues.state_bytes(),
            Inputs::Fifos(queues) => queues.state_bytes(),
        }
    }

    /// Takes the samples that are due before `end`, among the packets that arrive until then, and returns the packets
    /// that arrive later.
    #[cold]
    fn sample<'a>(&mut self, mut packets: &'a [Packet], end: Time, channels: &mut Channels) -> &'a [Packet] {
        while let Some((at, due)) = self.checkpoints.take(just_before(end)) {
            packets = self.advance(packets, at, channels);
            if due == Checkpoint::WarmUp {
                for Input { record, backlog, .. } in &mut self.inputs {
                    record.counters.begin_measurement(backlog.packets);
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
                let Input { record, backlog, .. } = input;
                if let Some(series) = &mut record.series {
                    series.sample(*backlog, record.counters.dropped_total, &|visit| {
                        if let Some(longest) = longest {
                            visit("longest_voq_packets", f64::from(longest));
                        }
                    });
                }
            }
        }
        packets
    }
}

impl Node for Crossbar {
    fn next(&self) -> Time {
        self.due
    }

    fn run(&mut self, until: Time, me: NodeId, channels: &mut Channels) -> (Time, Time) {
        let packets = channels.take(me, until);
        let mut left = &packets[..];
        if self.checkpoints.next() < until {
            left = self.sample(left, until, channels);
        }
        self.advance(left, until, channels);
        channels.give_back(packets);
        (until, self.next())
    }

    fn show(&self, show: &mut Show<'_>) {
        for input in &self.inputs {
            input.record.show(QueueName::Text(&input.name), show);
        }
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        // Every phase up to the end has been run: nothing crosses here.
        self.sample(&[], end + Span::from_picoseconds(1), &mut Channels::nowhere(report.measured()));
        let state_bytes = self.state_bytes() / self.inputs.len() as u64;
        // Crossed packets are already counted; waiting ones are counted now.
        while let Some((input, packet)) = self.take_any() {
            let counters = &mut self.inputs[input].record.counters;
            counters.arrival(&packet);
            counters.waited(1, u64::from(packet.len_bytes()), packet.time, end);
        }
        for input in &mut self.inputs {
            input.record.state_bytes = state_bytes;
            let backlog = input.backlog;
            report.queue(QueueReport {
                name: &input.name,
                record: &mut input.record,
                backlog,
                holds_packets: true,
                flow_gauges: &|_, _| {},
                port: None,
            });
        }
        if let Some(recorder) = self.recorder.take() {
            report.crossbar(recorder.close());
        }
    }
}

#[cfg(test)]
#[path = "crossbar_tests.rs"]
mod tests;
