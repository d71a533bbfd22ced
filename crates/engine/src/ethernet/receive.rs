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
use crate::observe::so_far::Show;
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

/// The buffer of an adapter, and the flows that end there. Hot fields first.
#[repr(C, align(64))]
pub(crate) struct Receive {
    /// Valid unless `leaves_at` is [`Time::NEVER`].
    serving: Packet,
    waiting: Ring<Packet>,
    pub leaves_at: Time,
    service_time: TransmissionTime,
    capacity_bytes: u64,
    pub used_bytes: u64,
    /// Control frames in the buffer, which may be answered.
    probes: u32,
    /// Whether endpoints or reflectors may answer data. Otherwise its departures may be processed late.
    pub answers_data: bool,
    pub used_by_class: [u64; SharedMemory::CLASSES],
    service: ServiceRate,
    pub flows: Vec<DestinationFlow>,
    /// By flow, of its reflector.
    pub polls: Tournament,
}

impl Receive {
    pub fn new(
        flows: Vec<DestinationFlow>,
        answers_data: bool,
        capacity_bytes: u64,
        line: Rate,
        service: Vec<ServiceStep>,
    ) -> Self {
        let mut polls = Tournament::new(flows.len());
        for (number, flow) in flows.iter().enumerate() {
            polls.set(number, flow.reflector.as_ref().map_or(Time::NEVER, |reflector| reflector.poll_at()));
        }
        Self {
            flows,
            // A placeholder.
            serving: control_frame(0, 0, 0, 0, Time::ZERO),
            waiting: Ring::default(),
            capacity_bytes,
            used_bytes: 0,
            used_by_class: [0; SharedMemory::CLASSES],
            service: ServiceRate::new(line, service),
            service_time: TransmissionTime::default(),
            leaves_at: Time::NEVER,
            answers_data,
            probes: 0,
            polls,
        }
    }

    /// Whether the next departure must be processed on time, even if no neighbour waits for room.
    #[inline]
    pub fn is_timely(&self) -> bool {
        self.answers_data | (self.probes > 0)
    }

    /// Returns false if there is no room.
    #[inline(always)]
    pub fn arrive(&mut self, frame: &Packet, is_probe: bool) -> bool {
        let len_bytes = frame.len_bytes();
        if self.used_bytes + u64::from(len_bytes) > self.capacity_bytes {
            return false;
        }
        self.used_bytes += u64::from(len_bytes);
        self.used_by_class[usize::from(frame.class() & 7)] += u64::from(len_bytes);
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

    /// Takes the first frame, which leaves at `leaves_at`. The buffer must not be empty.
    #[inline(always)]
    pub fn leave(&mut self) -> Packet {
        let mut frame = self.serving;
        frame.time = self.leaves_at;
        self.used_bytes -= u64::from(frame.len_bytes());
        self.used_by_class[usize::from(frame.class() & 7)] -= u64::from(frame.len_bytes());
        match self.waiting.pop() {
            Some(next) => self.serve(next, frame.time),
            None => self.leaves_at = Time::NEVER,
        }
        frame
    }

    /// Counts a data frame. `number` is the flow's index. Where data may be answered, [`Receive::tell_delivered`] must
    /// follow.
    #[inline(always)]
    pub fn deliver(&mut self, number: usize, frame: &Packet) {
        let counters = &mut self.flows[number].counters;
        counters.received(frame);
        counters.count.payload += u64::from(frame.len_bytes());
    }

    /// Shows the reflector a data frame. Returns its message to the source.
    pub fn tell_delivered(&mut self, number: usize, frame: &Packet) -> Option<Message> {
        let (is_marked, capacity) = (frame.ecn() == Ecn::CongestionExperienced, self.service.current());
        self.ask(number, frame.time, capacity, |reflector, context| reflector.delivered(is_marked, context))
    }

    /// Shows the reflector a control frame that has left the buffer. Returns its answer.
    pub fn reflect(&mut self, number: usize, message: &Message, now: Time) -> Option<Message> {
        self.probes -= 1;
        let (bytes, capacity) = (self.flows[number].counters.count.bytes, self.service.current());
        self.ask(number, now, capacity, |reflector, context| reflector.reflect(message, bytes, context))
    }

    /// Calls the next reflector due by `now`. Returns the flow's index and the message to its source.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Option<Message>)> {
        let number = self.polls.due(now)?;
        let capacity = self.service.at(now);
        Some((number, self.ask(number, now, capacity, |reflector, context| reflector.expire(context))))
    }

    /// Calls the reflector of a flow. Returns its message to the source.
    fn ask(
        &mut self,
        number: usize,
        now: Time,
        capacity: Rate,
        ask: impl FnOnce(&mut dyn Reflector, &mut Context<'_>) -> Option<Message>,
    ) -> Option<Message> {
        let DestinationFlow { reflector, rng, .. } = &mut self.flows[number];
        let reflector = reflector.as_mut()?;
        let message = ask(&mut **reflector, &mut Context { now, capacity, rng });
        self.polls.set(number, reflector.poll_at());
        message
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        for flow in &mut self.flows {
            flow.counters.check(checkpoint, interval);
        }
    }

    pub fn show(&self, show: &mut Show<'_>) {
        for flow in self.flows.iter().filter(|flow| !flow.has_endpoint) {
            flow.counters.record.show(flow.flow, show);
        }
    }

    /// Returns the number of control frames in the buffer.
    pub fn finish(&mut self, rows: ControlRows, report: &mut Report) -> u64 {
        for flow in self.flows.iter_mut().filter(|flow| !flow.has_endpoint) {
            report.receiver(flow.flow, std::mem::take(&mut flow.counters));
        }
        let serving = (self.leaves_at < Time::NEVER).then_some(self.serving);
        let held = serving.into_iter().chain(std::iter::from_fn(|| self.waiting.pop()));
        let (control, data): (Vec<_>, Vec<_>) = held.partition(|frame| rows.is_control(frame.flow_id()));
        report.holds(data.len() as u64);
        control.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Span;

    use super::*;

    fn at(nanoseconds: u64) -> Time {
        Time::ZERO + Span::from_nanoseconds(nanoseconds)
    }

    /// A frame of 64 B.
    fn frame(class: u8, nanoseconds: u64) -> Packet {
        control_frame(0, class, 0, 0, at(nanoseconds))
    }

    /// A buffer of two frames that a node empties at a byte a nanosecond, or ten times as slowly from 1 us on.
    fn buffer() -> Receive {
        let slower = ServiceStep { from: at(1000), rate: Rate::new(800_000_000) };
        Receive::new(Vec::new(), false, 130, Rate::megabits(8000), vec![slower])
    }

    #[test]
    fn frames_leave_in_order_at_the_rate_of_their_time() {
        let mut buffer = buffer();
        assert!(buffer.arrive(&frame(0, 0), false) && buffer.arrive(&frame(3, 10), false));
        assert_eq!((buffer.used_bytes, buffer.used_by_class[0], buffer.used_by_class[3]), (128, 64, 64));
        assert_eq!([buffer.leave(), buffer.leave()].map(|frame| frame.time), [at(64), at(128)]);
        assert_eq!((buffer.used_bytes, buffer.leaves_at), (0, Time::NEVER));
        assert!(buffer.arrive(&frame(0, 980), false));
        assert_eq!(buffer.leave().time, at(1000 + 440), "20 B at the higher rate");
    }

    #[test]
    fn a_frame_without_room_is_refused_and_probes_make_departures_timely() {
        let mut buffer = buffer();
        assert!(buffer.arrive(&frame(0, 0), true) && buffer.arrive(&frame(0, 0), false) && buffer.is_timely());
        assert!(!buffer.arrive(&frame(0, 0), false));
        assert_eq!(buffer.used_bytes, 128);
    }
}
