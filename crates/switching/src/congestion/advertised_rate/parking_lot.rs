//! A chain of ports in small: greedy sources, FIFO queues without a limit, no propagation. It drives the three parts of
//! a scheme as a simulator would, in steps of a tenth of a microsecond.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use forebay_units::{Rate, Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::RateLimiter;
use crate::congestion::{
    Arrival, CONTROL_FRAME_BYTES, CongestionManagement, CongestionPoint, CongestionPointId, Context, Message,
    ReactionPoint, Reflector, Verdict,
};
use crate::test_support::rng;

const STEP: Span = Span::from_nanoseconds(100);
const DATA_BYTES: u32 = 1500;

/// A frame in a port's queue.
struct Frame {
    flow: usize,
    hop: usize,
    /// Its message; `None` for data.
    message: Option<Message>,
}

impl Frame {
    fn len_bytes(&self) -> u32 {
        if self.message.is_some() { CONTROL_FRAME_BYTES } else { DATA_BYTES }
    }
}

struct Port {
    point: Box<dyn CongestionPoint>,
    capacity: Rate,
    queue: VecDeque<Frame>,
    queue_bytes: u64,
    /// The end of the transmission of the frame at the head.
    head_done: Option<Time>,
}

struct Flow {
    route: Vec<usize>,
    reaction: Box<dyn ReactionPoint>,
    reflector: Option<Box<dyn Reflector>>,
    limiter: RateLimiter,
    /// Its demand without a limiter, in bits per second.
    demand_bps: f64,
    delivered_bytes: u64,
}

/// The chain.
pub struct Network {
    line: Rate,
    ports: Vec<Port>,
    flows: Vec<Flow>,
    now: Time,
    rng: Pcg64Mcg,
}

impl Network {
    /// A greedy flow for each of `routes`, which name the ports that it passes in turn; each has a line of its own.
    pub fn new(scheme: &CongestionManagement, line: Rate, routes: &[&[usize]]) -> Self {
        let ports = routes.iter().flat_map(|route| route.iter()).max().map_or(0, |last| last + 1);
        let port = |id| Port {
            point: scheme.congestion_point(CongestionPointId(id as u32), line),
            capacity: line,
            queue: VecDeque::new(),
            queue_bytes: 0,
            head_done: None,
        };
        let flow = |route: &&[usize]| Flow {
            route: route.to_vec(),
            reaction: scheme.reaction_point(line, Time::ZERO),
            reflector: scheme.reflector(line),
            limiter: RateLimiter::default(),
            demand_bps: line.bits_per_second() as f64,
            delivered_bytes: 0,
        };
        let (ports, flows) = ((0..ports).map(port).collect(), routes.iter().map(flow).collect());
        Self { line, ports, flows, now: Time::ZERO, rng: rng(1) }
    }

    pub fn set_demand(&mut self, flow: usize, demand_bps: f64) {
        self.flows[flow].demand_bps = demand_bps;
    }

    pub fn set_capacity(&mut self, port: usize, capacity: Rate) {
        self.ports[port].capacity = capacity;
    }

    pub fn queue_bytes(&self, port: usize) -> u64 {
        self.ports[port].queue_bytes
    }

    pub fn run(&mut self, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.now += STEP;
            (0..self.ports.len()).for_each(|port| self.step_port(port));
            (0..self.flows.len()).for_each(|flow| self.step_flow(flow));
        }
    }

    /// The rate that each flow delivers in the next `span`, in bits per second.
    pub fn measure(&mut self, span: Span) -> Vec<f64> {
        self.flows.iter_mut().for_each(|flow| flow.delivered_bytes = 0);
        self.run(span);
        self.flows.iter().map(|flow| 8.0 * flow.delivered_bytes as f64 / span.seconds()).collect()
    }

    fn step_port(&mut self, index: usize) {
        let (now, port) = (self.now, &mut self.ports[index]);
        if port.point.poll_at() <= now {
            port.point.expire(port.queue_bytes, &mut Context { now, capacity: port.capacity, rng: &mut self.rng });
        }
        while let Some(done) = self.ports[index].head_done
            && done <= now
        {
            let port = &mut self.ports[index];
            let Some(mut frame) = port.queue.pop_front() else { return };
            port.queue_bytes -= u64::from(frame.len_bytes());
            if let Some(message) = &mut frame.message {
                let mut context = Context { now, capacity: port.capacity, rng: &mut self.rng };
                port.point.forward(message, &mut context);
            }
            let next = port.queue.front().map(|next| port.capacity.transmission_time(u64::from(next.len_bytes())));
            port.head_done = next.map(|time| done + time);
            self.pass_on(Frame { hop: frame.hop + 1, ..frame });
        }
    }

    /// Brings a frame to its next port, or to its destination.
    fn pass_on(&mut self, frame: Frame) {
        let (now, flow) = (self.now, frame.flow);
        let Some(&port) = self.flows[flow].route.get(frame.hop) else { return self.deliver(&frame) };
        let port = &mut self.ports[port];
        let len_bytes = frame.len_bytes();
        port.queue_bytes += u64::from(len_bytes);
        let time = port.capacity.transmission_time(u64::from(len_bytes));
        port.head_done = port.head_done.or(Some(now + time));
        let is_data = frame.message.is_none();
        port.queue.push_back(frame);
        if is_data {
            let limited_by = self.flows[flow].reaction.associated();
            let arrival = Arrival { len_bytes, queue_bytes: port.queue_bytes, limited_by };
            let mut context = Context { now, capacity: port.capacity, rng: &mut self.rng };
            if let Verdict::Tell(message) = port.point.arrived(arrival, &mut context) {
                self.tell(flow, message);
            }
        }
    }

    fn deliver(&mut self, frame: &Frame) {
        let mut context = Context { now: self.now, capacity: self.line, rng: &mut self.rng };
        let flow = &mut self.flows[frame.flow];
        let Some(reflector) = &mut flow.reflector else { return };
        let answer = if let Some(message) = &frame.message {
            reflector.reflect(message, flow.delivered_bytes, &mut context)
        } else {
            flow.delivered_bytes += u64::from(DATA_BYTES);
            reflector.delivered(false, &mut context)
        };
        self.report(frame.flow, answer);
    }

    /// Sends a destination's message back through all ports.
    fn report(&mut self, flow: usize, message: Option<Message>) {
        let Some(mut message) = message else { return };
        for &port in self.flows[flow].route.iter().rev() {
            let port = &mut self.ports[port];
            let mut context = Context { now: self.now, capacity: port.capacity, rng: &mut self.rng };
            port.point.backward(&mut message, &mut context);
        }
        self.tell(flow, message);
    }

    fn tell(&mut self, flow: usize, message: Message) {
        let mut context = Context { now: self.now, capacity: self.line, rng: &mut self.rng };
        self.flows[flow].reaction.receive(&message, &mut context);
    }

    fn step_flow(&mut self, index: usize) {
        let (now, line) = (self.now, self.line);
        let flow = &mut self.flows[index];
        let mut context = Context { now, capacity: line, rng: &mut self.rng };
        let report = match &mut flow.reflector {
            Some(reflector) if reflector.poll_at() <= now => reflector.expire(&mut context),
            _ => None,
        };
        let mut messages = vec![];
        if flow.reaction.poll_at() <= now {
            messages.push(flow.reaction.expire(&mut context));
        }
        let rate_bps = flow.reaction.rate_bps().unwrap_or(f64::INFINITY).min(flow.demand_bps);
        let sends = flow.limiter.eligible_at(rate_bps) <= now;
        if sends {
            flow.limiter.sent(DATA_BYTES, now);
            messages.push(flow.reaction.sent(u64::from(DATA_BYTES), &mut context));
        }
        self.report(index, report);
        if sends {
            self.pass_on(Frame { flow: index, hop: 0, message: None });
        }
        for message in messages.into_iter().flatten() {
            self.pass_on(Frame { flow: index, hop: 0, message: Some(message) });
        }
    }
}

/// Whether each rate is within that part of what is fair.
pub fn fair_within(rates_bps: &[f64], fair_bps: &[f64], tolerance: f64) -> bool {
    rates_bps.iter().zip(fair_bps).all(|(rate, fair)| (rate - fair).abs() <= tolerance * fair)
}
