//! A network small enough to reason about: one sender, a bottleneck with a queue, a delay, one receiver, a delay back.
#![allow(dead_code, reason = "each test binary uses its part of this module")]

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use forebay_tcp::{Ack, AckOut, EcnFloor, Receiver, Segment, SegmentOut, Sender, Span, TcpConfig, Time};
use forebay_units::Rate;

/// The fate of a segment on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Mark,
    Drop,
    /// The packet arrives later by [`Path::late`]: after those sent behind it.
    Late,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Segment(Segment, bool),
    Ack(Ack),
}

/// The fate of the n-th of something.
pub type Script<T, Outcome> = Box<dyn FnMut(usize, &T) -> Outcome>;

/// The path: everything but the two ends.
pub struct Path {
    /// The bottleneck; `None` is an infinitely fast one.
    pub rate: Option<Rate>,
    /// Packets that the bottleneck holds, the one in transmission included.
    pub limit: usize,
    /// ECN-capable packets that find this many there are marked.
    pub mark_from: usize,
    /// One-way delay, each way.
    pub delay: Span,
    /// Decides about the n-th segment (from 0) that the sender emits.
    pub segment_fate: Script<Segment, Fate>,
    /// The additional delay of a late segment.
    pub late: Span,
    /// A policer lets one packet pass in this time and drops the others; `None` for none.
    pub policer: Option<Span>,
    /// Whether the n-th ACK is lost.
    pub ack_is_lost: Script<Ack, bool>,
}

impl Path {
    /// A path of nothing but delay.
    pub fn delay(delay: Span) -> Self {
        Self {
            rate: None,
            limit: usize::MAX,
            mark_from: usize::MAX,
            delay,
            late: delay * 3 / 2,
            policer: None,
            segment_fate: Box::new(|_, _| Fate::Pass),
            ack_is_lost: Box::new(|_, _| false),
        }
    }

    pub fn with_segment_fate(mut self, fate: impl FnMut(usize, &Segment) -> Fate + 'static) -> Self {
        self.segment_fate = Box::new(fate);
        self
    }

    /// Loses the segments that start at these sequence numbers, the first time they are sent.
    pub fn losing_first_transmissions(self, starts: &'static [u64]) -> Self {
        self.with_segment_fate(move |_, segment| {
            if !segment.retransmission && !segment.syn && starts.contains(&segment.seq) {
                Fate::Drop
            } else {
                Fate::Pass
            }
        })
    }
}

/// The segments that the sender emitted, and when.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub segment: Segment,
}

pub struct Network {
    pub config: TcpConfig,
    pub path: Path,
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Time,
    pub log: Vec<Sent>,
    pub keep_log: bool,
    pub acks: Vec<(Time, Ack)>,
    pub queue_drops: u64,
    /// Time that packets spent waiting, summed over packets.
    pub waited: Span,
    /// The time since which the sender has nothing left to do.
    finished_at: Option<Time>,
    /// The time at which the policer lets the next packet pass.
    gate: Time,
    segments: usize,
    acks_sent: usize,
    events: BinaryHeap<Reverse<(u64, usize)>>,
    bodies: Vec<Option<Event>>,
    departures: VecDeque<Time>,
}

/// The segments that a call to the sender or receiver emitted.
#[derive(Default)]
pub struct Emitted {
    segments: Vec<Segment>,
    acks: Vec<Ack>,
}

impl SegmentOut for Emitted {
    fn segment(&mut self, segment: Segment) {
        self.segments.push(segment);
    }
}

impl AckOut for Emitted {
    fn ack(&mut self, ack: Ack) {
        self.acks.push(ack);
    }
}

impl Network {
    pub fn new(config: TcpConfig, path: Path) -> Self {
        config.validate().expect("a valid configuration");
        Self {
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            config,
            path,
            now: Time::ZERO,
            log: Vec::new(),
            keep_log: true,
            acks: Vec::new(),
            queue_drops: 0,
            waited: Span::ZERO,
            finished_at: None,
            gate: Time::ZERO,
            segments: 0,
            acks_sent: 0,
            events: BinaryHeap::new(),
            bodies: Vec::new(),
            departures: VecDeque::new(),
        }
    }

    /// Opens, writes `bytes` and closes.
    pub fn transfer(&mut self, bytes: u64) {
        self.drive_sender(|sender, now, out| {
            sender.open(now, out);
            sender.write(bytes, now, out);
            sender.close(now, out);
        });
    }

    /// Opens, and sends without end.
    pub fn unlimited(&mut self) {
        self.drive_sender(|sender, now, out| {
            sender.open(now, out);
            sender.write_unlimited(now, out);
        });
    }

    /// Lets the test call the sender, and carries what it emits.
    pub fn drive_sender(&mut self, call: impl FnOnce(&mut Sender, Time, &mut Emitted)) {
        let mut emitted = Emitted::default();
        call(&mut self.sender, self.now, &mut emitted);
        self.carry(emitted);
    }

    /// Runs until nothing is left to happen, or until `end`.
    pub fn run_until(&mut self, end: Time) {
        while let Some(at) = self.next_time().filter(|&at| at <= end) {
            self.now = at;
            self.step();
        }
        if end < Time::NEVER {
            self.now = end;
        }
    }

    /// Runs until this many bytes of data are acknowledged.
    pub fn run_until_acked(&mut self, bytes: u64) {
        while self.sender.acked_bytes() < bytes {
            self.now = self.next_time().expect("the transfer goes on");
            self.step();
        }
    }

    fn next_time(&self) -> Option<Time> {
        let event = self.events.peek().map_or(Time::NEVER, |Reverse((at, _))| Time::from_picoseconds(*at));
        let next = event.min(self.sender.deadline()).min(self.receiver.deadline());
        (next < Time::NEVER).then_some(next)
    }

    fn step(&mut self) {
        let mut emitted = Emitted::default();
        let now = self.now;
        if let Some(&Reverse((at, index))) = self.events.peek()
            && at == now.picoseconds()
        {
            self.events.pop();
            match self.bodies[index].take().expect("each event happens once") {
                Event::Segment(segment, ce) => self.receiver.on_segment(&segment, ce, now, &mut emitted),
                Event::Ack(ack) => self.sender.on_ack(&ack, now, &mut emitted),
            }
        } else if self.receiver.deadline() == now {
            self.receiver.on_timer(now, &mut emitted);
            assert!(self.receiver.deadline() > now);
        } else {
            self.sender.on_timer(now, &mut emitted);
            assert!(self.sender.deadline() > now);
        }
        self.carry(emitted);
        self.check();
    }

    fn check(&mut self) {
        let segment = u64::from(self.config.payload_bytes());
        let most = u64::from(self.config.max_window_segments) * segment;
        // A FIN needs no room in the window.
        assert!(self.sender.flight_bytes() <= most + 1, "{} > {most}", self.sender.flight_bytes());
        let least = if self.config.ecn_floor == EcnFloor::Ns2 { 0 } else { segment };
        assert!(self.sender.congestion_window_bytes() >= least);
        self.finished_at = self.sender.is_finished().then(|| self.finished_at.unwrap_or(self.now));
        assert_eq!(self.sender.finished_at(), self.finished_at);
    }

    fn carry(&mut self, emitted: Emitted) {
        for segment in emitted.segments {
            if self.keep_log {
                self.log.push(Sent { at: self.now, segment });
            }
            let fate = (self.path.segment_fate)(self.segments, &segment);
            self.segments += 1;
            if fate == Fate::Drop || !self.passes_policer() {
                continue;
            }
            if let Some(mut arrival) = self.cross_bottleneck(self.config.wire_bytes(&segment)) {
                if fate == Fate::Late {
                    arrival += self.path.late;
                }
                let is_marked = segment.ect && self.departures.len() > self.path.mark_from;
                self.schedule(arrival, Event::Segment(segment, is_marked || fate == Fate::Mark));
            }
        }
        for ack in emitted.acks {
            if self.keep_log {
                self.acks.push((self.now, ack));
            }
            let lost = (self.path.ack_is_lost)(self.acks_sent, &ack);
            self.acks_sent += 1;
            if !lost {
                let transmission = self.path.rate.map_or(Span::ZERO, |rate| rate.transmission_time(40));
                self.schedule(self.now + transmission + self.path.delay, Event::Ack(ack));
            }
        }
    }

    fn passes_policer(&mut self) -> bool {
        let Some(interval) = self.path.policer else { return true };
        let passes = self.now >= self.gate;
        if passes {
            self.gate = self.now + interval;
        }
        passes
    }

    /// The time at which the packet reaches the receiver; `None` if the queue is full.
    fn cross_bottleneck(&mut self, bytes: u32) -> Option<Time> {
        let Some(rate) = self.path.rate else { return Some(self.now + self.path.delay) };
        while self.departures.front().is_some_and(|&at| at <= self.now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.path.limit {
            self.queue_drops += 1;
            return None;
        }
        let start = self.departures.back().map_or(self.now, |&at| at.max(self.now));
        self.waited += start.since(self.now);
        let departure = start + rate.transmission_time(u64::from(bytes));
        self.departures.push_back(departure);
        Some(departure + self.path.delay)
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.events.push(Reverse((at.picoseconds(), self.bodies.len())));
        self.bodies.push(Some(event));
    }

    /// Data segments (with payload) that were sent again.
    pub fn retransmissions(&self) -> Vec<Sent> {
        self.log.iter().copied().filter(|sent| sent.segment.retransmission && sent.segment.payload_bytes > 0).collect()
    }
}

/// The time `ms` milliseconds after the start.
pub fn at_ms(ms: u64) -> Time {
    Time::ZERO + Span::from_milliseconds(ms)
}

/// The time `seconds` seconds after the start.
pub fn at_seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_seconds(seconds)
}
