//! The maximum work of one call to a discipline, and its measurement.
//!
//! Counted is what passes through the contract: looks at packets, packets dropped, random numbers drawn. Other work of
//! a call (a heap, a decay, a missed tick) touches no packet and is not measured here. The `Cost` section of each
//! discipline's page states it, and the benchmark measures its mean.

use std::cell::Cell;

use forebay_qdisc::{Cx, Discipline, Ecn, FlowKey, RateLabel, Rng, Served, Span, Time};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Infallible, SeedableRng, TryRng};

use crate::packet::{Recorder, TestPacket};

/// The work of a single call, or its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Looks at packets: each time that one is asked for its flow, length, codepoint, class, port or label, or for all
    /// of these at once.
    pub looks: u64,
    /// Packets dropped, the arriving one included.
    pub dropped: u64,
    /// Random numbers drawn.
    pub drawn: u64,
    /// Whether the bound holds, but [`worst_case`] does not reach each of its numbers.
    pub is_loose: bool,
}

impl Call {
    /// This many `looks`, `dropped` packets and `drawn` numbers.
    #[must_use]
    pub const fn new(looks: u64, dropped: u64, drawn: u64) -> Self {
        Self { looks, dropped, drawn, is_loose: false }
    }

    /// The same bound, which is not known to be reached.
    #[must_use]
    pub const fn at_most(self) -> Self {
        Self { is_loose: true, ..self }
    }

    fn since(self, before: Self) -> Self {
        Self::new(self.looks - before.looks, self.dropped - before.dropped, self.drawn - before.drawn)
    }

    fn is_within(self, bound: Self) -> bool {
        self.looks <= bound.looks && self.dropped <= bound.dropped && self.drawn <= bound.drawn
    }

    fn is_reached_by(self, most: Self) -> bool {
        self.is_loose || self == most
    }

    fn raise(&mut self, other: Self) {
        self.looks = self.looks.max(other.looks);
        self.dropped = self.dropped.max(other.dropped);
        self.drawn = self.drawn.max(other.drawn);
    }
}

/// The most that any one call to a discipline does. A call marks at most one packet, whatever the discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// `Discipline::enqueue`.
    pub enqueue: Call,
    /// `Discipline::dequeue`.
    pub dequeue: Call,
}

impl Work {
    /// Limits each arrival and each request for a packet.
    #[must_use]
    pub const fn new(enqueue: Call, dequeue: Call) -> Self {
        Self { enqueue, dequeue }
    }

    /// A law in front of a FIFO queue: it sees the arriving packet once and draws at most `drawn` numbers for it; it
    /// drops no packet that it has let in. The queue asks a departing packet for its length.
    #[must_use]
    pub const fn law(drawn: u64) -> Self {
        Self::new(Call::new(1, 1, drawn), Call::new(1, 0, 0))
    }
}

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Notes that a packet of this thread is looked at.
pub(crate) fn look() {
    LOOKS.set(LOOKS.get() + 1);
}

/// A generator that counts its draws.
pub(crate) struct CountingRng {
    rng: Pcg64Mcg,
    drawn: u64,
}

impl CountingRng {
    pub fn new(seed: u64) -> Self {
        Self { rng: Pcg64Mcg::seed_from_u64(seed), drawn: 0 }
    }
}

impl TryRng for CountingRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.drawn += 1;
        Ok(self.rng.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.drawn += 1;
        Ok(self.rng.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.drawn += bytes.len().div_ceil(8) as u64;
        self.rng.fill_bytes(bytes);
        Ok(())
    }
}

/// A discipline whose every call is counted and held against a bound.
pub(crate) struct Metered {
    pub discipline: Box<dyn Discipline<TestPacket>>,
    rng: CountingRng,
    bound: Work,
    /// The most that a call has done so far.
    most: Work,
}

impl Metered {
    pub fn new(discipline: Box<dyn Discipline<TestPacket>>, seed: u64, bound: Work) -> Self {
        let most = Work::new(Call::default(), Call::default());
        Self { discipline, rng: CountingRng::new(seed), bound, most }
    }

    /// Hands over a packet; returns the excess work of the call, if any.
    pub fn enqueue(&mut self, packet: TestPacket, now: Time, sink: &mut Recorder) -> Result<(), String> {
        let before = self.tally(sink);
        let marked = sink.marked.len();
        self.discipline.enqueue(packet, &mut Cx { now, rng: &mut self.rng, sink });
        let call = self.tally(sink).since(before);
        self.most.enqueue.raise(call);
        check("an enqueue", call, self.bound.enqueue, sink.marked.len() - marked)
    }

    /// Requests a packet; returns the excess work of the call, if any.
    pub fn dequeue(&mut self, now: Time, sink: &mut Recorder) -> Result<Served<TestPacket>, String> {
        let before = self.tally(sink);
        let marked = sink.marked.len();
        let served = self.discipline.dequeue(&mut Cx { now, rng: &mut self.rng, sink });
        let call = self.tally(sink).since(before);
        self.most.dequeue.raise(call);
        check("a dequeue", call, self.bound.dequeue, sink.marked.len() - marked)?;
        Ok(served)
    }

    fn tally(&self, sink: &Recorder) -> Call {
        Call::new(LOOKS.get(), sink.dropped.len() as u64, self.rng.drawn)
    }
}

fn check(what: &str, call: Call, bound: Call, marked: usize) -> Result<(), String> {
    if !call.is_within(bound) {
        return Err(format!("{what} did {call:?}, the bound is {bound:?}"));
    }
    if marked > 1 { Err(format!("{what} marked {marked} packets")) } else { Ok(()) }
}

/// Checks every call against `bound` while a buffer is filled, overrun and emptied in every way that is hard on it. The
/// traffic is one flow or all distinct flows, with the shortest packets and the longest, at once and after hours of
/// silence. A bound that does not say that it is loose is reached: one lower in any number would fail.
///
/// # Panics
/// When a call does more than the bound, or none does as much.
pub fn worst_case(name: &str, bound: Work, make: impl Fn() -> Box<dyn Discipline<TestPacket>>) {
    let mut most = Work::new(Call::default(), Call::default());
    for seed in 0..SEEDS {
        let mut siege = Siege::new(Metered::new(make(), seed, bound), seed);
        for _ in 0..PHASES {
            if let Err(excess) = siege.phase() {
                panic!("{name}: {excess}");
            }
        }
        most.enqueue.raise(siege.metered.most.enqueue);
        most.dequeue.raise(siege.metered.most.dequeue);
    }
    let reached = bound.enqueue.is_reached_by(most.enqueue) && bound.dequeue.is_reached_by(most.dequeue);
    assert!(reached, "{name}: the bound is {bound:?}, and no call did more than {most:?}");
}

const SEEDS: u64 = 6;
const PHASES: u32 = 50;

/// Traffic meant to bring out the longest calls.
struct Siege {
    metered: Metered,
    rng: Pcg64Mcg,
    now: Time,
    packets: u64,
}

impl Siege {
    fn new(metered: Metered, seed: u64) -> Self {
        Self { metered, rng: Pcg64Mcg::seed_from_u64(!seed), now: Time::ZERO, packets: 0 }
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.rng.next_u64() % choices.len() as u64) as usize]
    }

    /// A silence, a burst of arrivals, a silence, a run of departures.
    fn phase(&mut self) -> Result<(), String> {
        self.pause();
        let arrivals = self.pick(&[1, 1, 40, 40, 700, 700, 1500, 12_000]);
        let gap = Span::from_nanoseconds(self.pick(&[0, 0, 1000, 80_000, 1_000_000]));
        let departures_each = self.pick(&[0, 0, 0, 1, 2]);
        let (flows, lengths) = (self.pick(&FLOWS), self.pick(&LENGTHS));
        let ecn = self.pick(&[Ecn::NotCapable, Ecn::Capable0]);
        for _ in 0..arrivals {
            let packet = self.packet(flows, lengths, ecn);
            self.now += gap;
            let mut sink = Recorder::default();
            self.metered.enqueue(packet, self.now, &mut sink)?;
            for _ in 0..departures_each {
                self.metered.dequeue(self.now, &mut sink)?;
            }
        }
        self.pause();
        let gap = Span::from_nanoseconds(self.pick(&[0, 0, 1000, 80_000, 1_000_000]));
        let departures = self.pick(&[0, 1, 20, 2000, 20_000]);
        for _ in 0..departures {
            self.now += gap;
            if self.metered.dequeue(self.now, &mut Recorder::default())?.packet().is_none() {
                break;
            }
        }
        Ok(())
    }

    fn pause(&mut self) {
        let microseconds = self.pick(&[0, 0, 100, 10_000, 10_000_000_000]);
        self.now += Span::from_microseconds(microseconds);
    }

    fn packet(&mut self, flows: Flows, lengths: Lengths, ecn: Ecn) -> TestPacket {
        self.packets += 1;
        let flow = match flows {
            Flows::One => 1,
            Flows::Two => self.packets % 2,
            Flows::Few => self.rng.next_u64() % 12,
            Flows::Distinct => 5 * self.packets + self.packets % 5,
            Flows::DistinctOfOneClass => 5 * self.packets + 1,
        };
        let len_bytes = match lengths {
            Lengths::All(len_bytes) => len_bytes,
            Lengths::Mixed => 40 + (self.rng.next_u64() % 65_496) as u32,
        };
        let class = (flow % 5) as u8;
        // 0 is a packet without a label.
        let code = self.pick(&[0, 1, 400, 700, 1023]);
        let rate_label = RateLabel::from_code(code);
        let flow = FlowKey(flow);
        TestPacket { id: self.packets, flow, len_bytes, ecn, class, input_port: u16::from(class), rate_label }
    }
}

#[derive(Clone, Copy)]
enum Flows {
    One,
    Two,
    Few,
    Distinct,
    DistinctOfOneClass,
}

const FLOWS: [Flows; 5] = [Flows::One, Flows::Two, Flows::Few, Flows::Distinct, Flows::DistinctOfOneClass];

#[derive(Clone, Copy)]
enum Lengths {
    All(u32),
    Mixed,
}

/// Lengths from the shortest packet of a network to the longest of IP; 20 000 bytes fill the small buffers of the
/// tests.
const LENGTHS: [Lengths; 7] = [
    Lengths::All(40),
    Lengths::All(40),
    Lengths::All(1000),
    Lengths::All(1500),
    Lengths::All(20_000),
    Lengths::All(65_535),
    Lengths::Mixed,
];
