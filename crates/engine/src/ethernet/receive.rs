//! The receive side of an adapter: the buffer of frames that the node has not taken yet.
//!
//! The node takes frames in FIFO order at its service rate. The flow's destination sees a frame when it leaves the
//! buffer.

use forebay_qdisc::{Ecn, Rate, Span, Time};
use forebay_switching::SharedMemory;
use forebay_switching::congestion::{Context, Message, Reflector};
use rand_pcg::Pcg64Mcg;

use crate::driver::ring::Ring;
use crate::driver::tournament::Tournament;
use crate::ethernet::control::{ControlRows, control_frame};
use crate::link::service::{ServiceRate, TransmissionTime};
use crate::observe::flow_counters::ReceiveCounters;
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::packet::{FlowId, Packet};
use crate::spec::ServiceStep;

/// A flow that ends here.
pub(crate) struct DestinationFlow {
    pub flow: FlowId,
    pub class: u8,
    pub reflector: Option<Box<dyn Reflector>>,
    /// For the reflector.
    pub rng: Pcg64Mcg,
    /// Whether an endpoint takes the packets and keeps its own counters.
    pub has_endpoint: bool,
    pub counters: ReceiveCounters,
}

struct End {
    has_endpoint: bool,
    flow: FlowId,
    class: u8,
    counters: ReceiveCounters,
    reflector: Option<Box<dyn Reflector>>,
    rng: Pcg64Mcg,
}

/// The buffer of an adapter, and the flows that end there. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct Receive {
    /// Valid unless `leaves_at` is [`Time::NEVER`].
    serving: Packet,
    waiting: Ring<Packet>,
    leaves_at: Time,
    service_time: TransmissionTime,
    capacity_bytes: u64,
    used_bytes: u64,
    /// Control frames in the buffer, which may be answered.
    probes: u32,
    /// Whether endpoints or reflectors may answer data. Otherwise its departures may be processed late.
    answers_data: bool,
    by_class: [u64; SharedMemory::CLASSES],
    service: ServiceRate,
    ends: Vec<End>,
    /// By reflector.
    polls: Tournament,
}

impl Receive {
    pub fn new(
        destinations: Vec<DestinationFlow>,
        answers_data: bool,
        capacity_bytes: u64,
        line: Rate,
        service: Vec<ServiceStep>,
    ) -> Self {
        let mut polls = Tournament::new(destinations.len());
        for (number, destination) in destinations.iter().enumerate() {
            polls.set(number, destination.reflector.as_ref().map_or(Time::NEVER, |reflector| reflector.poll_at()));
        }
        let end = |DestinationFlow { flow, class, reflector, rng, has_endpoint, counters }| End {
            has_endpoint,
            flow,
            class,
            counters,
            reflector,
            rng,
        };
        Self {
            ends: destinations.into_iter().map(end).collect(),
            // A placeholder.
            serving: control_frame(0, 0, 0, 0, Time::ZERO),
            waiting: Ring::default(),
            capacity_bytes,
            used_bytes: 0,
            by_class: [0; SharedMemory::CLASSES],
            service: ServiceRate::new(line, service),
            service_time: TransmissionTime::default(),
            leaves_at: Time::NEVER,
            answers_data,
            probes: 0,
            polls,
        }
    }

    pub fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    pub fn used_by_class(&self, class: usize) -> u64 {
        self.by_class[class]
    }

    #[inline]
    pub fn leaves_at(&self) -> Time {
        self.leaves_at
    }

    /// Whether the next departure must be processed on time, even if no neighbour waits for room.
    #[inline]
    pub fn is_timely(&self) -> bool {
        self.answers_data | (self.probes > 0)
    }

    #[inline]
    pub fn next_poll(&self) -> Time {
        self.polls.earliest()
    }

    /// Returns false if there is no room.
    #[inline(always)]
    pub fn arrive(&mut self, frame: &Packet, is_probe: bool) -> bool {
        let len_bytes = frame.len_bytes();
        if self.used_bytes + u64::from(len_bytes) > self.capacity_bytes {
            return false;
        }
        self.used_bytes += u64::from(len_bytes);
        self.by_class[usize::from(frame.class() & 7)] += u64::from(len_bytes);
        if self.leaves_at == Time::NEVER {
            self.serve(*frame, frame.time);
        } else {
            self.waiting.push(*frame);
        }
        self.probes += u32::from(is_probe);
        true
    }

    #[inline]
    fn serve(&mut self, frame: Packet, now: Time) {
        let rate = self.service.at(now);
        self.leaves_at = now + self.service_time.of(frame.len_bytes(), rate);
        if !self.service.holds_until(self.leaves_at) {
            self.leaves_at = self.service.transmission(now, u64::from(frame.len_bytes())).1;
        }
        self.serving = frame;
    }

    /// Takes the first frame, which leaves at [`Receive::leaves_at`]. The buffer must not be empty.
    #[inline(always)]
    pub fn leave(&mut self) -> Packet {
        let mut frame = self.serving;
        frame.time = self.leaves_at;
        self.used_bytes -= u64::from(frame.len_bytes());
        self.by_class[usize::from(frame.class() & 7)] -= u64::from(frame.len_bytes());
        match self.waiting.pop() {
            Some(next) => self.serve(next, frame.time),
            None => self.leaves_at = Time::NEVER,
        }
        frame
    }

    /// Whether data may be answered. Then [`Receive::tell_delivered`] must follow [`Receive::deliver`].
    #[inline]
    pub fn answers_data(&self) -> bool {
        self.answers_data
    }

    /// Counts a data frame. `number` is the flow's index.
    #[inline(always)]
    pub fn deliver(&mut self, number: usize, frame: &Packet) {
        let counters = &mut self.ends[number].counters;
        counters.received(frame);
        counters.count.payload += u64::from(frame.len_bytes());
    }

    /// Shows the reflector a data frame. Returns its message to the source.
    pub fn tell_delivered(&mut self, number: usize, frame: &Packet) -> Option<Message> {
        let End { reflector, rng, .. } = &mut self.ends[number];
        let reflector = reflector.as_mut()?;
        let mut context = Context { now: frame.time, capacity: self.service.current(), rng };
        let message = reflector.delivered(frame.ecn() == Ecn::CongestionExperienced, &mut context);
        self.polls.set(number, reflector.poll_at());
        message
    }

    /// Shows the reflector a control frame that has left the buffer. Returns its answer.
    pub fn reflect(&mut self, number: usize, message: &Message, now: Time) -> Option<Message> {
        self.probes -= 1;
        let End { counters, reflector, rng, .. } = &mut self.ends[number];
        let reflector = reflector.as_mut()?;
        let mut context = Context { now, capacity: self.service.current(), rng };
        let answer = reflector.reflect(message, counters.count.bytes, &mut context);
        self.polls.set(number, reflector.poll_at());
        answer
    }

    /// Calls the next reflector due by `now`. Returns the flow's index and the message to its source.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Option<Message>)> {
        let number = self.polls.due(now)?;
        let End { reflector, rng, .. } = &mut self.ends[number];
        let reflector = reflector.as_mut()?;
        let capacity = self.service.at(now);
        let message = reflector.expire(&mut Context { now, capacity, rng });
        self.polls.set(number, reflector.poll_at());
        Some((number, message))
    }

    /// Flow and class.
    pub fn identity(&self, number: usize) -> (FlowId, u8) {
        (self.ends[number].flow, self.ends[number].class)
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        for end in &mut self.ends {
            end.counters.check(checkpoint, interval);
        }
    }

    /// Returns the number of control frames in the buffer.
    pub fn finish(&mut self, rows: ControlRows, report: &mut Report) -> u64 {
        for end in self.ends.iter_mut().filter(|end| !end.has_endpoint) {
            report.receiver(end.flow, std::mem::take(&mut end.counters));
        }
        let mut control = 0;
        let serving = (self.leaves_at < Time::NEVER).then_some(self.serving);
        for frame in serving.into_iter().chain(std::iter::from_fn(|| self.waiting.pop())) {
            if rows.is_control(frame.flow_id()) {
                control += 1;
            } else {
                report.holds(1);
            }
        }
        control
    }
}
