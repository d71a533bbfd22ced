//! The conformance suite: the duties of every queue discipline to its caller, under random operations.
//!
//! - Accounting: a packet that arrives is dropped on arrival or queued; a queued one is given out, dropped later or
//!   still queued. None is lost, none comes twice, and the backlog agrees at every step.
//! - Order: packets of one flow leave in the order in which they came; see [`Order`].
//! - Marks: only on ECN-capable packets, told to the sink, and visible on the packet when it leaves.
//! - Trims: told to the sink with the bytes that were cut, which then count no more.
//! - Progress: a link that gets no packet although some are queued gets the time at which to come back, so every queue
//!   can be emptied.
//! - Determinism: the same operations and the same seed give the same decisions.
//! - Work: no call exceeds the discipline's declared bounds: looks at packets, packets dropped, numbers drawn. Traffic
//!   that is hard on buffers reaches the bounds, so that they are no larger than necessary.
//! - Memory: ten million distinct flows leave no more state behind than the first million did.

use std::collections::BTreeMap;

use forebay_qdisc::{Admission, Backlog, Discipline, Ecn, Fifo, FlowKey, RateLabel, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};

use crate::packet::{Recorder, TestPacket};
use crate::work::{Metered, Work, worst_case};

/// A call to a discipline; each takes place this many picoseconds after the one before.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A packet arrives.
    Enqueue {
        /// Picoseconds since the last operation.
        after_ps: u64,
        /// The packet; its `id` is set by its place in the order.
        packet: TestPacket,
    },
    /// The link is free and asks.
    Dequeue {
        /// Picoseconds since the last operation.
        after_ps: u64,
    },
}

/// Packets that must leave in the order in which they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of one flow.
    Flow,
    /// Those of one flow that came with the same ECN codepoint: a discipline has a queue for L4S.
    FlowAndCodepoint,
    /// None: a discipline moves flows to another queue.
    Free,
}

/// Runs the suite on the disciplines that `make` makes; `work` bounds each call, and `name` is in every failure.
///
/// # Panics
/// When the discipline breaks a rule, with the shortest sequence of operations found that shows it.
pub fn conformance(name: &str, work: Work, make: impl Fn() -> Box<dyn Discipline<TestPacket>>) {
    conformance_in_order(name, Order::Flow, work, make);
}

/// Runs the suite on disciplines that keep this order.
///
/// # Panics
/// As [`conformance`].
pub fn conformance_in_order(name: &str, order: Order, work: Work, make: impl Fn() -> Box<dyn Discipline<TestPacket>>) {
    let persistence = Some(Box::new(FileFailurePersistence::Off) as Box<_>);
    let config = Config { cases: 128, failure_persistence: persistence, ..Config::default() };
    let strategy = (prop::collection::vec(operation(), 1..300), any::<u64>());
    let result = TestRunner::new(config).run(&strategy, |(operations, seed)| {
        let first = Run::new(Metered::new(make(), seed, work), order).all(&operations)?;
        let second = Run::new(Metered::new(make(), seed, work), order).all(&operations)?;
        prop_assert_eq!(first, second, "the same seed gave other decisions");
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{name} does not conform: {failure}");
    }
    worst_case(name, work, make);
}

/// Runs the suite on an admission law in front of a FIFO queue.
pub fn conformance_law(name: &str, work: Work, make: impl Fn() -> Box<dyn Admission>) {
    conformance(name, work, || Box::new(Fifo::<TestPacket>::new(make())));
}

/// Checks that the discipline's state is bounded. Each of ten million packets is of another flow, and a quarter more of
/// them arrive than the link sends. At the end the state is at most twice that after the first million (twice, since
/// tables grow by doubling). No call does more than `work`.
///
/// # Panics
/// When the state has grown, or a call has done more.
pub fn bounded_memory(name: &str, work: Work, discipline: Box<dyn Discipline<TestPacket>>) {
    const FLOWS: u64 = 10_000_000;
    const INTERARRIVAL: Span = Span::from_microseconds(80);
    let mut metered = Metered::new(discipline, 1, work);
    let mut now = Time::ZERO;
    let mut after_a_million = 0;
    for id in 0..FLOWS {
        let flow = FlowKey(id.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let packet = TestPacket { id, flow, len_bytes: 1000, ..TestPacket::default() };
        now += INTERARRIVAL;
        let mut recorder = Recorder::default();
        let mut calls = metered.enqueue(packet, now, &mut recorder);
        if id % 5 != 4 {
            calls = calls.and(metered.dequeue(now, &mut recorder).map(drop));
        }
        if let Err(excess) = calls {
            panic!("{name}: {excess}");
        }
        if id == FLOWS / 10 {
            after_a_million = metered.discipline.state_bytes();
        }
    }
    let at_the_end = metered.discipline.state_bytes();
    assert!(
        at_the_end <= 2 * after_a_million,
        "{name}: {after_a_million} bytes of state after a million flows, {at_the_end} after ten million"
    );
}

/// Flows few enough to meet, with the extreme keys, and now and then any at all.
fn flow() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..12, 1 => Just(u64::MAX), 1 => any::<u64>()]
}

fn operation() -> impl Strategy<Value = Operation> {
    let after_ps = prop_oneof![
        4 => Just(0_u64),
        4 => 0_u64..200_000_000,
        1 => Just(1_u64),
        // Hours: past every timer, and far enough for any hold time to end.
        1 => Just(10_000_000_000_000_000_u64),
    ];
    let len_bytes = prop_oneof![4 => Just(1000_u32), 2 => 40_u32..1500, 1 => 1_u32..=65_535];
    let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced]);
    let input_port = prop_oneof![6 => 0_u16..4, 1 => Just(u16::MAX)];
    let rate_label = prop_oneof![1 => Just(0), 3 => 1_u16..1024].prop_map(RateLabel::from_code);
    let packet = (flow(), len_bytes, ecn, input_port, rate_label);
    let packet = packet.prop_map(|(flow, len_bytes, ecn, input_port, rate_label)| TestPacket {
        id: 0,
        flow: FlowKey(flow),
        len_bytes,
        ecn,
        // A flow has one class: a discipline may reorder classes.
        class: (flow % 5) as u8,
        input_port,
        rate_label,
    });
    prop_oneof![
        3 => (after_ps.clone(), packet).prop_map(|(after_ps, packet)| Operation::Enqueue { after_ps, packet }),
        2 => after_ps.prop_map(|after_ps| Operation::Dequeue { after_ps }),
    ]
}

/// A discipline with a model of its expected contents.
struct Run {
    metered: Metered,
    order: Order,
    now: Time,
    /// The codepoints of the packets that arrived, by id.
    arrived: Vec<Ecn>,
    /// The queued packets, by id.
    queued: BTreeMap<u64, TestPacket>,
    backlog: Backlog,
    departed: Vec<(Time, u64)>,
    recorder: Recorder,
    /// The part of the recorder that has been checked.
    checked: (usize, usize, usize),
}

/// The results that equal runs must share.
type Decisions = (Vec<(Time, u64)>, Recorder, Vec<(String, u64)>);

impl Run {
    fn new(metered: Metered, order: Order) -> Self {
        Self {
            metered,
            order,
            now: Time::ZERO,
            arrived: Vec::new(),
            queued: BTreeMap::new(),
            backlog: Backlog::default(),
            departed: Vec::new(),
            recorder: Recorder::default(),
            checked: (0, 0, 0),
        }
    }

    fn all(mut self, operations: &[Operation]) -> Result<Decisions, TestCaseError> {
        let mut gauges = Vec::new();
        for operation in operations {
            match operation {
                Operation::Enqueue { after_ps, packet } => {
                    self.now += Span::from_picoseconds(*after_ps);
                    self.enqueue(packet.clone())?;
                }
                Operation::Dequeue { after_ps } => {
                    self.now += Span::from_picoseconds(*after_ps);
                    self.dequeue()?;
                }
            }
            self.check_backlog()?;
            self.check_gauges(&mut gauges)?;
        }
        self.drain()?;
        Ok((self.departed, self.recorder, gauges))
    }

    fn enqueue(&mut self, mut packet: TestPacket) -> Result<(), TestCaseError> {
        packet.id = self.arrived.len() as u64;
        self.arrived.push(packet.ecn);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len_bytes);
        self.queued.insert(packet.id, packet.clone());
        let id = packet.id;
        self.metered.enqueue(packet, self.now, &mut self.recorder).map_err(TestCaseError::fail)?;
        self.check_marks()?;
        self.check_trims()?;
        self.check_drops(Some(id))
    }

    /// Asks for a packet. Returns `None` if one came, else when to ask again.
    fn dequeue(&mut self) -> Result<Option<Time>, TestCaseError> {
        let served = self.metered.dequeue(self.now, &mut self.recorder).map_err(TestCaseError::fail)?;
        self.check_marks()?;
        self.check_trims()?;
        self.check_drops(None)?;
        let ask_at = served.ask_at(self.now);
        let Some(packet) = served.packet() else {
            prop_assert_eq!(
                self.queued.is_empty(),
                ask_at == Time::NEVER,
                "nothing to send with {} packets queued, and to ask again at {:?}",
                self.queued.len(),
                ask_at
            );
            return Ok(Some(ask_at));
        };
        // A router may write a flow's rate on a packet or clear its class; nothing else changes but for marks.
        let mut expected = TestPacket { rate_label: packet.rate_label, ..self.leave(packet.id)? };
        if packet.class == 0 {
            expected.class = 0;
        }
        prop_assert_eq!(&packet, &expected, "a packet came out changed");
        let is_before = |other: &&TestPacket| {
            other.flow == packet.flow && other.id < packet.id && self.share_order(other.id, packet.id)
        };
        let overtaken = self.queued.values().find(is_before);
        prop_assert!(overtaken.is_none(), "packet {} overtook {:?} of its flow", packet.id, overtaken);
        self.departed.push((self.now, packet.id));
        Ok(None)
    }

    /// Whether two packets of a flow, by their ids, must keep their order.
    fn share_order(&self, first: u64, second: u64) -> bool {
        match self.order {
            Order::Flow => true,
            Order::FlowAndCodepoint => self.arrived[first as usize] == self.arrived[second as usize],
            Order::Free => false,
        }
    }

    /// Takes a packet out of the model.
    fn leave(&mut self, id: u64) -> Result<TestPacket, TestCaseError> {
        let Some(packet) = self.queued.remove(&id) else {
            return Err(TestCaseError::fail(format!("packet {id} came out, but was not queued")));
        };
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len_bytes);
        Ok(packet)
    }

    /// Checks the drops since the last check; `arriving` is the packet that has just come, if one has.
    fn check_drops(&mut self, arriving: Option<u64>) -> Result<(), TestCaseError> {
        let dropped = self.recorder.dropped[self.checked.0..].to_vec();
        self.checked.0 += dropped.len();
        for (packet, reason, queued) in dropped {
            prop_assert_eq!(
                !queued,
                arriving == Some(packet.id),
                "packet {} dropped ({:?}) as if it had {} queued",
                packet.id,
                reason,
                if queued { "been" } else { "not been" }
            );
            self.leave(packet.id)?;
        }
        Ok(())
    }

    fn check_marks(&mut self) -> Result<(), TestCaseError> {
        for (packet, _) in &self.recorder.marked[self.checked.1..] {
            prop_assert_eq!(packet.ecn, Ecn::CongestionExperienced, "packet {} marked without CE", packet.id);
            let Some(queued) = self.queued.get_mut(&packet.id) else {
                return Err(TestCaseError::fail(format!("packet {} marked, but was not queued", packet.id)));
            };
            prop_assert!(queued.ecn.is_capable(), "packet {} marked, but is not ECN-capable", packet.id);
            queued.ecn = Ecn::CongestionExperienced;
        }
        self.checked.1 = self.recorder.marked.len();
        Ok(())
    }

    fn check_trims(&mut self) -> Result<(), TestCaseError> {
        for (packet, cut_bytes) in &self.recorder.trimmed[self.checked.2..] {
            let Some(queued) = self.queued.get_mut(&packet.id) else {
                return Err(TestCaseError::fail(format!("packet {} trimmed, but was not queued", packet.id)));
            };
            prop_assert_eq!(queued.len_bytes, packet.len_bytes + cut_bytes, "packet {} trimmed", packet.id);
            prop_assert!(*cut_bytes > 0, "packet {} trimmed by nothing", packet.id);
            queued.len_bytes = packet.len_bytes;
            self.backlog.bytes -= u64::from(*cut_bytes);
        }
        self.checked.2 = self.recorder.trimmed.len();
        Ok(())
    }

    fn check_backlog(&self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.metered.discipline.backlog(), self.backlog);
        Ok(())
    }

    /// Gauges have distinct names, and values that are alike in runs alike.
    fn check_gauges(&self, seen: &mut Vec<(String, u64)>) -> Result<(), TestCaseError> {
        let mut gauges: Vec<(String, u64)> = Vec::new();
        self.metered.discipline.gauges(&mut |name, value| gauges.push((name.into(), value.to_bits())));
        let mut names: Vec<&String> = gauges.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), gauges.len(), "two gauges of one name");
        for flow in [0, 7, u64::MAX] {
            self.metered
                .discipline
                .flow_gauges(FlowKey(flow), &mut |name, value| gauges.push((name.into(), value.to_bits())));
        }
        *seen = gauges;
        Ok(())
    }

    /// Empties the queue as a link would, waiting as requested.
    fn drain(&mut self) -> Result<(), TestCaseError> {
        let mut waits = 0;
        while !self.queued.is_empty() {
            let Some(ask_at) = self.dequeue()? else {
                self.check_backlog()?;
                continue;
            };
            waits += 1;
            prop_assert!(waits < 10_000, "{} packets stay queued forever", self.queued.len());
            self.now = ask_at;
        }
        prop_assert!(self.dequeue()?.is_some());
        self.check_backlog()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use forebay_qdisc::{Cx, DropTail, DropTailConfig, MarkReason, Packet, Rate, Served};
    use forebay_units::QueueSize;

    use super::*;
    use crate::work::Call;

    /// A FIFO queue with a fault.
    #[derive(Default)]
    struct Faulty {
        packets: VecDeque<TestPacket>,
        fault: Option<Fault>,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum Fault {
        Loses,
        Overtakes,
        MarksWhatIsNotCapable,
        MarksInSilence,
        TrimsInSilence,
        Stalls,
        Miscounts,
        UsesOtherRng,
    }

    /// Random numbers that are not the caller's.
    static OTHER_DICE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

    impl Discipline<TestPacket> for Faulty {
        fn enqueue(&mut self, mut packet: TestPacket, cx: &mut Cx<'_, TestPacket>) {
            let third = packet.id % 3 == 2;
            match self.fault {
                Some(Fault::Loses) if third => return,
                Some(Fault::Overtakes) if third => return self.packets.push_front(packet),
                Some(Fault::MarksWhatIsNotCapable) => {
                    packet.mark_ce();
                    cx.sink.marked(&packet, MarkReason::Early);
                }
                Some(Fault::MarksInSilence) => packet.mark_ce(),
                Some(Fault::TrimsInSilence) => drop(packet.trim(packet.len_bytes / 2)),
                Some(Fault::UsesOtherRng) => {
                    let draw = OTHER_DICE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if draw.is_multiple_of(7) {
                        return cx.sink.dropped(packet, forebay_qdisc::DropReason::Early, false);
                    }
                }
                _ => {}
            }
            self.packets.push_back(packet);
        }

        fn dequeue(&mut self, cx: &mut Cx<'_, TestPacket>) -> Served<TestPacket> {
            let stalls = self.fault == Some(Fault::Stalls) && cx.now.picoseconds() % 2 == 1;
            if stalls { Served::Idle } else { self.packets.pop_front().into() }
        }

        fn state_bytes(&self) -> u64 {
            0
        }

        fn backlog(&self) -> Backlog {
            let off = u64::from(self.fault == Some(Fault::Miscounts) && self.packets.len() == 3);
            let bytes: u64 = self.packets.iter().map(|packet| u64::from(packet.len_bytes)).sum();
            Backlog { packets: self.packets.len() as u64, bytes: bytes + off }
        }
    }

    /// A FIFO queue without bound looks at nothing; with a fault it may drop the arriving packet.
    const FREE: Work = Work::new(Call::new(0, 1, 0).at_most(), Call::new(0, 0, 0));

    #[test]
    fn a_plain_fifo_conforms() {
        conformance("fifo", FREE, || Box::new(Faulty::default()));
    }

    #[test]
    fn a_bound_that_is_too_low_or_too_high_is_found() {
        let drop_tail = || -> Box<dyn Discipline<TestPacket>> {
            let config = DropTailConfig { limit: QueueSize::Packets(20) };
            Box::new(Fifo::<TestPacket, DropTail>::new(Box::new(DropTail::new(&config, Rate::megabits(1), 0).unwrap())))
        };
        let (enqueue, dequeue) = (Call::new(1, 1, 0), Call::new(1, 0, 0));
        worst_case("drop_tail", Work::new(enqueue, dequeue), drop_tail);
        worst_case("drop_tail", Work::new(Call::new(9, 9, 9).at_most(), dequeue), drop_tail);
        for (work, words) in [
            (Work::new(Call::new(0, 1, 0), dequeue), "an enqueue did"),
            (Work::new(Call::new(1, 0, 0), dequeue), "an enqueue did"),
            (Work::new(enqueue, Call::new(0, 0, 0)), "a dequeue did"),
            (Work::new(Call::new(1, 1, 1), dequeue), "no call did more"),
            (Work::new(enqueue, Call::new(2, 0, 0)), "no call did more"),
        ] {
            let run = || worst_case("drop_tail", work, drop_tail);
            let message = *std::panic::catch_unwind(run).unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn each_fault_is_found() {
        for (fault, words) in [
            (Fault::Loses, ""),
            (Fault::Overtakes, "overtook"),
            (Fault::MarksWhatIsNotCapable, "not ECN-capable"),
            (Fault::MarksInSilence, "changed"),
            (Fault::TrimsInSilence, "left == right"),
            (Fault::Stalls, "nothing to send"),
            (Fault::Miscounts, ""),
            (Fault::UsesOtherRng, "other decisions"),
        ] {
            let run = || conformance("faulty", FREE, || Box::new(Faulty { fault: Some(fault), ..Faulty::default() }));
            let message = *std::panic::catch_unwind(run).unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains(words), "{message}");
        }
    }
}
