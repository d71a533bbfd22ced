//! The send side of an adapter: virtual output queues with rate limiters, served round-robin.
//!
//! Frames are generated lazily. A queue is *ready* if it has a frame that its limiter lets go.

use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::congestion::{Context, Message};

use crate::driver::tournament::Tournament;
use crate::ethernet::frames::{GeneratorParts, Generators};
use crate::ethernet::pause::EVERY_CLASS;
use crate::ethernet::ready_queues::ReadyQueues;
use crate::ethernet::voq::{SourceFlow, Supply, VirtualQueue};
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;

/// The queues of an adapter. Hot fields first.
#[repr(C)]
pub(crate) struct Transmit {
    pub queues: Vec<VirtualQueue>,
    /// The queue served last, and when its frame has been sent.
    last: usize,
    sent_at: Time,
    /// Frames per queue.
    limit: u32,
    pub generators: Generators,
    pub ready: ReadyQueues,
    /// By queue: when its limiter lets the next frame go.
    pub eligible: Tournament,
    /// By queue, of the reaction point.
    pub polls: Tournament,
    /// Limit and number of flows with a rate limiter.
    limiters: u32,
    limited: u32,
    line: Rate,
    /// In the measured interval: frames lost at a full queue, and messages ignored without a free limiter.
    pub source_drops: u64,
    pub messages_ignored: u64,
}

impl Transmit {
    pub fn new(
        sources: Vec<SourceFlow>,
        generators: Vec<GeneratorParts>,
        voq_limit: Option<u32>,
        rate_limiters: Option<u32>,
        line: Rate,
    ) -> Self {
        let mut flows_of = vec![Vec::new(); generators.len()];
        for (source, number) in sources.iter().zip(0..) {
            if let Supply::Generator { generator, share, .. } = source.supply {
                flows_of[generator].push((number, share));
            }
        }
        let count = sources.len();
        let mut transmit = Self {
            queues: sources.into_iter().map(|source| VirtualQueue::new(source, line)).collect(),
            generators: Generators::new(generators.into_iter().zip(flows_of)),
            limit: voq_limit.unwrap_or(u32::MAX),
            ready: ReadyQueues::new(count),
            eligible: Tournament::new(count),
            last: count.saturating_sub(1),
            sent_at: Time::ZERO,
            polls: Tournament::new(count),
            limiters: rate_limiters.unwrap_or(u32::MAX),
            limited: 0,
            line,
            source_drops: 0,
            messages_ignored: 0,
        };
        for number in 0..count {
            transmit.follow_reaction(number, Time::ZERO);
        }
        transmit
    }

    /// Generates the frames due by `now`. Generates later ones early where no result changes, which saves wake-ups.
    #[inline(always)]
    pub fn generate(&mut self, now: Time) {
        loop {
            let (at, number) = (self.generators.time, self.generators.flow as usize);
            if at > now && !self.queues.get(number).is_some_and(|queue| queue.has_room_until(at, self.limit, now)) {
                return;
            }
            self.generators.step();
            self.join(number, now);
        }
    }

    /// A frame joins its queue. Returns false if the queue is full.
    #[inline(always)]
    fn join(&mut self, number: usize, now: Time) -> bool {
        let queue = &mut self.queues[number];
        if queue.backlog >= self.limit {
            self.source_drops += 1;
            return false;
        }
        queue.backlog += 1;
        if queue.backlog > 1 {
            return true;
        }
        if queue.eligible_at <= now {
            self.ready.insert(number);
        } else {
            self.hold(number);
        }
        true
    }

    /// Returns false if the queue is full.
    pub fn push(&mut self, number: usize, packet: Packet, now: Time) -> bool {
        let joins = self.join(number, now);
        if joins {
            self.queues[number].packets.push(packet);
        }
        joins
    }

    /// Updates `ready` and `eligible` after a change of the limiter.
    fn place(&mut self, number: usize, now: Time) {
        let VirtualQueue { backlog, eligible_at, .. } = self.queues[number];
        let ready = backlog > 0 && eligible_at <= now;
        if ready {
            self.ready.insert(number);
        } else {
            self.ready.remove(number);
        }
        self.eligible.set(number, if backlog > 0 && !ready { eligible_at } else { Time::NEVER });
    }

    /// The next queue in round-robin order, of the classes in `may`.
    #[inline(always)]
    pub fn next_queue(&mut self, may: u8, now: Time) -> Option<usize> {
        if self.eligible.earliest() <= now {
            self.let_go(now);
        }
        if may == EVERY_CLASS { self.ready.next(self.last + 1, |_| true) } else { self.next_of_classes(may) }
    }

    #[cold]
    fn next_of_classes(&self, may: u8) -> Option<usize> {
        self.ready.next(self.last + 1, |number| may & 1 << self.queues[number].fields.class != 0)
    }

    #[inline(never)]
    fn let_go(&mut self, now: Time) {
        while let Some(number) = self.eligible.due(now) {
            self.eligible.set(number, Time::NEVER);
            self.ready.insert(number);
        }
    }

    /// Begins to send the first frame of a queue. Also returns when it has been sent, and whether the reaction point
    /// must be notified on time.
    #[inline(always)]
    pub fn take(&mut self, number: usize, now: Time) -> (Packet, Time, bool) {
        self.last = number;
        let queue = &mut self.queues[number];
        let frame = queue.send(now, self.line);
        self.sent_at = now + queue.transmission;
        let is_heard = queue.is_heard() && queue.transmission > Span::ZERO;
        let is_limited = queue.interval > Span::ZERO;
        if queue.backlog == 0 || is_limited {
            self.ready.remove(number);
        }
        if queue.backlog > 0 && is_limited {
            self.hold(number);
        }
        (frame, self.sent_at, is_heard)
    }

    #[inline(never)]
    fn hold(&mut self, number: usize) {
        self.eligible.set(number, self.queues[number].eligible_at);
    }

    /// The queue whose frame is on the line, if its reaction point must be notified on time.
    #[inline]
    pub fn to_be_heard(&self, now: Time) -> Option<usize> {
        let hears = |queue: &VirtualQueue| self.sent_at > now && queue.is_heard();
        self.queues.get(self.last).is_some_and(hears).then_some(self.last)
    }

    /// Tells the reaction point what was sent by `now`. Returns the control frame that follows directly.
    pub fn sent(&mut self, number: usize, now: Time) -> Option<Message> {
        let message = self.tell_sent(number, now);
        self.follow_reaction(number, now);
        message
    }

    /// The same without `follow_reaction`. The frame on the line does not count yet.
    fn tell_sent(&mut self, number: usize, now: Time) -> Option<Message> {
        let queue = &mut self.queues[number];
        let on_line = number == self.last && self.sent_at > now;
        let sent_bytes = queue.counters.count.bytes - if on_line { u64::from(queue.frame.len_bytes()) } else { 0 };
        let unheard_bytes = sent_bytes - std::mem::replace(&mut queue.heard_bytes, sent_bytes);
        let reaction = queue.reaction.as_mut().filter(|_| unheard_bytes > 0)?;
        reaction.sent(unheard_bytes, &mut Context { now, capacity: self.line, rng: &mut queue.rng })
    }

    pub fn receive(&mut self, number: usize, message: &Message, now: Time) {
        self.tell_sent(number, now);
        let VirtualQueue { reaction, rng, rate_bps, .. } = &mut self.queues[number];
        if rate_bps.is_none() && self.limited >= self.limiters && may_limit(message) {
            self.messages_ignored += 1;
            return;
        }
        if let Some(reaction) = reaction {
            reaction.receive(message, &mut Context { now, capacity: self.line, rng });
            self.follow_reaction(number, now);
        }
    }

    /// Calls the next reaction point due by `now`. Returns its queue and its message.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Option<Message>)> {
        let number = self.polls.due(now)?;
        self.tell_sent(number, now);
        let VirtualQueue { reaction, rng, .. } = &mut self.queues[number];
        let mut context = Context { now, capacity: self.line, rng };
        let message = reaction.as_mut().and_then(|reaction| reaction.expire(&mut context));
        self.follow_reaction(number, now);
        Some((number, message))
    }

    /// Takes over rate, tag and poll time after a call of the reaction point.
    fn follow_reaction(&mut self, number: usize, now: Time) {
        let queue = &mut self.queues[number];
        let Some(reaction) = &queue.reaction else { return };
        self.polls.set(number, reaction.poll_at());
        queue.counter_expires = queue.heard_bytes.saturating_add(reaction.byte_counter());
        let rate_bps = reaction.rate_bps();
        if rate_bps.is_none() && queue.rate_bps.is_none() {
            return;
        }
        let tag = reaction.associated().map_or(0, |point| point.0 + 1);
        queue.tag(tag);
        if rate_bps == queue.rate_bps {
            return;
        }
        self.limited = self.limited + u32::from(rate_bps.is_some()) - u32::from(queue.rate_bps.is_some());
        queue.limit(rate_bps);
        self.place(number, now);
    }

    /// One bit each.
    pub fn classes(&self) -> u8 {
        self.queues.iter().fold(0, |classes, queue| classes | 1 << queue.fields.class)
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        for queue in &mut self.queues {
            queue.counters.check(checkpoint, interval);
            if checkpoint == Checkpoint::Sample
                && let Some(series) =
                    queue.counters.record.series.as_mut().and_then(|series| series.rate_limit.as_mut())
            {
                series.push(queue.rate_bps.unwrap_or(self.line.bits_per_second() as f64));
            }
        }
        if checkpoint == Checkpoint::WarmUp {
            (self.source_drops, self.messages_ignored) = (0, 0);
        }
    }

    pub fn show(&self, show: &mut Show<'_>) {
        for VirtualQueue { fields, counters, .. } in &self.queues {
            counters.record.show(fields.flow, show);
        }
    }

    pub fn finish(&mut self, report: &mut Report) {
        for VirtualQueue { fields, counters, has_packets, backlog, .. } in &mut self.queues {
            if *has_packets {
                // The endpoint has counters of its own.
                report.holds(u64::from(*backlog));
                report.sender_series(fields.flow, &counters.record);
            } else {
                report.sender(fields.flow, std::mem::take(counters));
            }
        }
    }
}

/// Whether a message may give a limiter to a flow that has none.
fn may_limit(message: &Message) -> bool {
    !matches!(message, Message::Probe { .. } | Message::ProbeReport { .. } | Message::RateDiscovery { .. })
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::Ecn;
    use forebay_records::random::stream;

    use super::*;
    use crate::observe::flow_counters::SendCounters;
    use crate::packet::PacketFields;

    /// Queues of endpoints, one for each class in `classes`.
    fn transmit(classes: &[u8], limit: Option<u32>) -> Transmit {
        let source = |(&class, flow): (&u8, u32)| {
            let (rng, counters) = (stream(1, "reaction"), SendCounters::new(false));
            SourceFlow { flow, class, is_ack: false, supply: Supply::Endpoint, reaction: None, rng, counters }
        };
        let sources = classes.iter().zip(0..).map(source).collect();
        Transmit::new(sources, Vec::new(), limit, None, Rate::megabits(10_000))
    }

    fn packet(flow: u32, len_bytes: u16) -> Packet {
        let (time, ecn) = (Time::ZERO, Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp: 0, number: 0, flow, len_bytes, flags: 0, class: 0, ecn })
    }

    #[test]
    fn queues_take_turns_and_those_of_a_stopped_class_wait() {
        let mut transmit = transmit(&[0, 5, 0], None);
        assert_eq!(transmit.classes(), 0b10_0001);
        for number in [0, 0, 1, 1, 2] {
            assert!(transmit.push(number, packet(number as u32, 1500), Time::ZERO));
        }
        let next = |transmit: &mut Transmit, may: u8| {
            let number = transmit.next_queue(may, Time::ZERO)?;
            assert_eq!(transmit.take(number, Time::ZERO).0.flow_id(), number as u32);
            Some(number)
        };
        let order = [EVERY_CLASS, 1, 1 << 5, EVERY_CLASS, EVERY_CLASS, EVERY_CLASS].map(|may| next(&mut transmit, may));
        assert_eq!(order, [Some(0), Some(2), Some(1), Some(0), Some(1), None]);
    }

    #[test]
    fn a_full_queue_refuses_and_each_frame_takes_its_own_time() {
        let mut transmit = transmit(&[0], Some(2));
        let accepted = [1500, 64, 64].map(|len_bytes| transmit.push(0, packet(0, len_bytes), Time::ZERO));
        assert_eq!((accepted, transmit.source_drops), ([true, true, false], 1));
        let sent = [0, 1200].map(|at| Time::ZERO + Span::from_nanoseconds(at)).map(|now| transmit.take(0, now).1);
        assert_eq!(sent.map(Time::picoseconds), [1_200_000, 1_251_200]);
    }
}
