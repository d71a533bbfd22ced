//! A second discipline that sees the same packets and says what it would have done.

use forebay_qdisc::{Discipline, DropReason, FlowInfo, Line, MarkReason, Rate, Sink, Time, Watcher};
use forebay_replay::PacketFacts;
use rand_pcg::Pcg64Mcg;

use crate::counters::Counters;
use crate::packet::LivePacket;

/// A port without frames: packets pass the discipline and a line of the same rate, and only the counters remain.
pub struct Shadow {
    line: Line<LivePacket>,
    queue: Box<dyn Discipline<LivePacket>>,
    rng: Pcg64Mcg,
    told: Told,
}

/// The events of the line.
#[derive(Default)]
struct Told {
    now: Time,
    counters: Counters,
    /// Facts about the packet that arrives.
    facts: PacketFacts,
}

impl Shadow {
    /// An empty queue in front of a line of `rate`.
    #[must_use]
    pub fn new(queue: Box<dyn Discipline<LivePacket>>, rate: Rate, rng: Pcg64Mcg) -> Self {
        Self { line: Line::new(rate), queue, rng, told: Told::default() }
    }

    /// Does all that is due; the line starts again no earlier than `earliest`.
    pub fn run_until(&mut self, now: Time, earliest: Time) {
        self.line.start_no_earlier(earliest);
        self.line.run_until(now, &mut *self.queue, &mut self.rng, &mut self.told);
    }

    /// A packet with these `facts` arrives.
    pub fn arrive(&mut self, packet: LivePacket, facts: PacketFacts, now: Time) {
        self.told.facts = facts;
        self.told.counters.received.add(packet.len_bytes);
        self.line.arrive(LivePacket { buffer: None, ..packet }, now, &mut *self.queue, &mut self.rng, &mut self.told);
    }

    /// The discipline.
    #[must_use]
    pub fn queue(&self) -> &dyn Discipline<LivePacket> {
        &*self.queue
    }

    /// Its would-be actions.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.told.counters
    }
}

impl Sink<LivePacket> for Told {
    fn dropped(&mut self, packet: LivePacket, reason: DropReason, queued: bool) {
        self.counters.drop(reason, packet.len_bytes, queued);
    }

    fn marked(&mut self, _: &LivePacket, reason: MarkReason) {
        self.counters.marked[reason as usize] += 1;
    }

    /// Live packets cannot be cut.
    fn trimmed(&mut self, _packet: &LivePacket, _cut_bytes: u32) {}

    fn flow_info(&self) -> &dyn FlowInfo<LivePacket> {
        &self.facts
    }
}

impl Watcher<LivePacket> for Told {
    fn advance(&mut self, now: Time, _: &dyn Discipline<LivePacket>) {
        self.now = now;
    }

    fn sent(&mut self, packet: &LivePacket) {
        self.counters.sent.add(packet.len_bytes);
        self.counters.sojourn.record(self.now.since(packet.arrived));
    }
}
