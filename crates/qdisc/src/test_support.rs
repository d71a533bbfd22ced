//! Shared parts of this crate's unit tests: offers to a law without a link, and a port of 100 Mb/s with constant-rate
//! sources. The conformance suite, with a packet type and a sink of its own, is in `forebay-testkit`.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::{
    Admission, Arrival, Backlog, Cx, Discipline, DropReason, Ecn, FlowInfo, FlowKey, Hosts, MarkReason, Offer, Packet,
    Rate, Served, Sink, Span, TcpHeader, Ticket, Time, Verdict,
};

pub const LINK: Rate = Rate::megabits(100);

pub fn rng() -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(1)
}

/// A queue that only fills: each packet that is let in stays.
pub struct Offers {
    pub now: Time,
    pub backlog: Backlog,
    pub rng: Pcg64Mcg,
    pub ecn: Ecn,
}

impl Offers {
    pub fn new() -> Self {
        Self { now: Time::ZERO, backlog: Backlog::default(), rng: rng(), ecn: Ecn::NotCapable }
    }

    pub fn offer(&mut self, law: &mut dyn Admission, flow: u64, len_bytes: u32) -> Verdict {
        let arrival = Arrival { flow: FlowKey(flow), len_bytes, ecn: self.ecn, ..Arrival::default() };
        self.offer_arrival(law, &arrival)
    }

    pub fn offer_arrival(&mut self, law: &mut dyn Admission, arrival: &Arrival) -> Verdict {
        let mut offer = Offer { now: self.now, backlog: self.backlog, rng: &mut self.rng };
        let verdict = law.admit(arrival, &mut offer);
        if !matches!(verdict, Verdict::Drop(_)) {
            self.backlog.packets += 1;
            self.backlog.bytes += u64::from(arrival.len_bytes);
        }
        verdict
    }
}

/// The gauge of this name.
pub fn gauge(law: &dyn Admission, name: &str) -> f64 {
    let mut found = f64::NAN;
    law.gauges(&mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

/// RED's average in a law of weight 0.5 falls to nothing in a millisecond without packets.
pub fn assert_average_decays_in_an_idle_time(law: &mut dyn Admission) {
    let mut offers = Offers::new();
    offers.backlog = Backlog { packets: 10, bytes: 5000 };
    offers.offer(law, 1, 500);
    assert_eq!(gauge(law, "avg"), 5.0);
    law.idle(Time::ZERO);
    // A thousandth of a second is 25 packets of 500 B.
    offers.now += Span::from_milliseconds(1);
    offers.backlog = Backlog::default();
    offers.offer(law, 1, 500);
    let average = gauge(law, "avg");
    assert!(average < 1e-6, "{average}");
}

/// The gauge of this name that the law keeps for `flow`.
pub fn flow_gauge(law: &dyn Admission, flow: u64, name: &str) -> f64 {
    let mut found = f64::NAN;
    law.flow_gauges(FlowKey(flow), &mut |gauge, value| {
        if gauge == name {
            found = value;
        }
    });
    found
}

/// A constant-rate source: a packet of `len_bytes` each `gap`, the first at `next`.
pub struct Source {
    pub arrival: Arrival,
    pub gap: Span,
    pub next: Time,
}

impl Source {
    pub fn new(flow: u64, rate: Rate, len_bytes: u32) -> Self {
        let arrival = Arrival { flow: FlowKey(flow), len_bytes, ..Arrival::default() };
        let gap = rate.transmission_time(u64::from(len_bytes));
        // A store-and-forward link hands over the first packet when its last bit has come.
        Self { arrival, gap, next: Time::ZERO + gap }
    }
}

/// A law in front of a FIFO queue and a link of [`LINK`], fed by constant-rate sources.
pub struct Port {
    pub law: Box<dyn Admission>,
    pub sources: Vec<Source>,
    pub now: Time,
    pub dropped: Vec<(u64, DropReason)>,
    pub sent_bytes: Vec<(u64, u64)>,
    waiting: VecDeque<(Arrival, Ticket)>,
    pub backlog: Backlog,
    free_at: Time,
    idle: bool,
    pub rng: Pcg64Mcg,
}

impl Port {
    pub fn new(law: Box<dyn Admission>, sources: Vec<Source>) -> Self {
        Self {
            law,
            sources,
            now: Time::ZERO,
            dropped: Vec::new(),
            sent_bytes: Vec::new(),
            waiting: VecDeque::new(),
            backlog: Backlog::default(),
            free_at: Time::ZERO,
            idle: true,
            rng: rng(),
        }
    }

    /// Runs to `until`, and shows the port after each arrival.
    pub fn run(&mut self, until: Time, mut after: impl FnMut(&Self)) {
        loop {
            let Some(index) = (0..self.sources.len()).min_by_key(|index| self.sources[*index].next) else { return };
            let (at, arrival) = (self.sources[index].next, self.sources[index].arrival);
            if at > until {
                self.transmit_until(until);
                return;
            }
            self.sources[index].next = at + self.sources[index].gap;
            self.transmit_until(at);
            self.now = at;
            self.arrive(&arrival);
            after(self);
        }
    }

    fn arrive(&mut self, arrival: &Arrival) {
        let mut offer = Offer { now: self.now, backlog: self.backlog, rng: &mut self.rng };
        match self.law.admit(arrival, &mut offer) {
            Verdict::Enqueue(ticket) | Verdict::Mark(ticket, _) => {
                self.waiting.push_back((*arrival, ticket));
                self.backlog.packets += 1;
                self.backlog.bytes += u64::from(arrival.len_bytes);
            }
            Verdict::Drop(reason) => self.dropped.push((arrival.flow.0, reason)),
        }
        self.transmit_until(self.now);
    }

    fn transmit_until(&mut self, until: Time) {
        while self.free_at <= until {
            let Some((arrival, ticket)) = self.waiting.pop_front() else {
                if !self.idle {
                    self.idle = true;
                    self.law.idle(self.free_at);
                }
                return;
            };
            let start = if self.idle { self.now } else { self.free_at };
            self.idle = false;
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(arrival.len_bytes);
            self.law.release(ticket, arrival.len_bytes, self.backlog, start);
            self.free_at = start + LINK.transmission_time(u64::from(arrival.len_bytes));
            match self.sent_bytes.iter_mut().find(|(flow, _)| *flow == arrival.flow.0) {
                Some((_, bytes)) => *bytes += u64::from(arrival.len_bytes),
                None => self.sent_bytes.push((arrival.flow.0, u64::from(arrival.len_bytes))),
            }
        }
    }
}

/// A packet of the unit tests of disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Labelled {
    pub label: u32,
    pub arrival: Arrival,
    pub hosts: Hosts,
    pub tcp_header: Option<TcpHeader>,
    pub framing_bytes: u32,
    pub is_arp: bool,
    pub is_trimmable: bool,
}

impl Labelled {
    /// The label of a packet whose sender does not state the size of its flow.
    pub const SIZELESS: u32 = u32::MAX;

    pub fn new(label: u32, flow: u64, len_bytes: u32, class: u8) -> Self {
        let arrival = Arrival { flow: FlowKey(flow), len_bytes, class, ..Arrival::default() };
        Self { label, arrival, ..Self::default() }
    }
}

impl Packet for Labelled {
    fn flow(&self) -> FlowKey {
        self.arrival.flow
    }
    fn len_bytes(&self) -> u32 {
        self.arrival.len_bytes
    }
    fn ecn(&self) -> Ecn {
        self.arrival.ecn
    }
    fn class(&self) -> u8 {
        self.arrival.class
    }
    fn input_port(&self) -> u16 {
        self.arrival.input_port
    }
    fn mark_ce(&mut self) {
        self.arrival.ecn = Ecn::CongestionExperienced;
    }
    fn set_class(&mut self, class: u8) {
        self.arrival.class = class;
    }
    fn trim(&mut self, len_bytes: u32) -> bool {
        if self.is_trimmable {
            self.arrival.len_bytes = len_bytes;
        }
        self.is_trimmable
    }
}

/// Keeps what was dropped, the labels of packets that were marked, and those of packets that were cut with the bytes.
#[derive(Default)]
pub struct Dropped(pub Vec<(Labelled, DropReason, bool)>, pub Vec<(u32, MarkReason)>, pub Vec<(u32, u32)>);

impl Sink<Labelled> for Dropped {
    fn dropped(&mut self, packet: Labelled, reason: DropReason, queued: bool) {
        self.0.push((packet, reason, queued));
    }
    fn marked(&mut self, packet: &Labelled, reason: MarkReason) {
        self.1.push((packet.label, reason));
    }
    fn trimmed(&mut self, packet: &Labelled, cut_bytes: u32) {
        self.2.push((packet.label, cut_bytes));
    }

    fn flow_info(&self) -> &dyn FlowInfo<Labelled> {
        &OnPacket
    }
}

/// Each packet has its facts with it.
pub struct OnPacket;

impl FlowInfo<Labelled> for OnPacket {
    fn hosts(&self, packet: &Labelled) -> Hosts {
        packet.hosts
    }
    fn tcp_header(&self, packet: &Labelled) -> Option<TcpHeader> {
        packet.tcp_header
    }
    fn framing_bytes(&self, packet: &Labelled) -> u32 {
        packet.framing_bytes
    }
    fn is_arp(&self, packet: &Labelled) -> bool {
        packet.is_arp
    }
    fn departure(&self, packet: &Labelled) -> Option<Time> {
        (packet.label != Labelled::SIZELESS).then(|| Time::from_picoseconds(u64::from(packet.label)))
    }
    /// Its label, where its sender states the bytes: [`Labelled::SIZELESS`] is of a flow without a size.
    fn remaining_bytes(&self, packet: &Labelled) -> Option<u64> {
        (packet.label != Labelled::SIZELESS).then_some(u64::from(packet.label))
    }
}

/// A discipline with a clock that the test sets, and its sink.
pub struct Bench<D> {
    pub discipline: D,
    pub now: Time,
    pub dropped: Dropped,
    rng: Pcg64Mcg,
}

impl<D: Discipline<Labelled>> Bench<D> {
    pub fn new(discipline: D) -> Self {
        Self { discipline, now: Time::ZERO, dropped: Dropped::default(), rng: rng() }
    }

    pub fn enqueue(&mut self, packet: Labelled) {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, sink: &mut self.dropped };
        self.discipline.enqueue(packet, &mut cx);
    }

    pub fn serve(&mut self) -> Served<Labelled> {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, sink: &mut self.dropped };
        self.discipline.dequeue(&mut cx)
    }

    pub fn dequeue(&mut self) -> Option<Labelled> {
        self.serve().packet()
    }

    /// The labels in the order of departure until nothing may go.
    pub fn drain(&mut self) -> Vec<u32> {
        core::iter::from_fn(|| self.dequeue().map(|packet| packet.label)).collect()
    }

    /// Queues packets of these lengths for two flows, and serves while both have some. Returns the largest difference
    /// of their service, in bytes.
    pub fn largest_difference(&mut self, lengths: &[(u32, u32)]) -> i64 {
        let mut waiting = [lengths.len(); 2];
        for (first, second) in lengths {
            self.enqueue(Labelled::new(0, 0, *first, 0));
            self.enqueue(Labelled::new(0, 1, *second, 0));
        }
        let (mut served, mut largest) = ([0_i64; 2], 0);
        while waiting.iter().all(|packets| *packets > 0) {
            let Arrival { flow, len_bytes, .. } = self.dequeue().expect("both flows are backlogged").arrival;
            served[flow.0 as usize] += i64::from(len_bytes);
            waiting[flow.0 as usize] -= 1;
            largest = largest.max((served[0] - served[1]).abs());
        }
        largest
    }
}
