//! The way into the network at an adapter: virtual output queues with their rate limiters, and whose turn it is.
//!
//! Each flow has a queue, which is a number of frames: all frames of a flow are equally long. Frames are generated when
//! somebody looks, up to that time. A queue is *ready* if it has a frame and its limiter lets it go. The ready queues
//! are served in turn.

use forebay_qdisc::{Ecn, Rate, Span, Time};
use forebay_switching::RateLimiter;
use forebay_switching::congestion::{Context, Message, ReactionPoint};
use rand_pcg::Pcg64Mcg;

use crate::adapter::SourceFlow;
use crate::deadlines::Deadlines;
use crate::endpoint::SendBook;
use crate::frames::{GeneratorParts, Generators};
use crate::packet::{FlowId, Packet, PacketFields, departure_stamp};
use crate::pause_port::EVERY_CLASS;
use crate::report::Report;
use crate::window::Checkpoint;

/// The virtual output queue of a flow. What every frame touches is one cache line.
#[repr(C, align(64))]
struct Queue {
    /// How many frames wait.
    backlog: u32,
    flow: FlowId,
    /// The rate limiter tag of its frames.
    tag: u32,
    len_bytes: u16,
    class: u8,
    ecn: Ecn,
    /// When the limiter lets the next frame go.
    eligible_at: Time,
    /// What the reaction point allows, in bits per second; `None` without a limiter.
    rate_bps: Option<f64>,
    limiter: RateLimiter,
    reaction: Option<Box<dyn ReactionPoint>>,
    rng: Pcg64Mcg,
    book: SendBook,
}

/// The queues of an adapter.
pub(crate) struct Ingress {
    queues: Vec<Queue>,
    generators: Generators,
    /// Frames that a queue holds at most.
    limit: u32,
    ready: ReadyQueues,
    /// When each queue that has frames and is held back by its limiter may go on.
    eligible: Deadlines,
    /// Where the search for the next queue begins.
    turn: usize,
    /// When each reaction point wants to be called.
    polls: Deadlines,
    /// How many flows may have a rate limiter, and how many have.
    limiters: u32,
    limited: u32,
    line: Rate,
    /// Frames generated for a full queue, and messages that would have made a limiter when there was none left, within
    /// the measured interval.
    pub source_drops: u64,
    pub messages_ignored: u64,
}

impl Ingress {
    pub fn new(
        sources: Vec<SourceFlow>,
        generators: Vec<GeneratorParts>,
        voq_limit: Option<u32>,
        rate_limiters: Option<u32>,
        line: Rate,
    ) -> Self {
        let mut flows_of = vec![Vec::new(); generators.len()];
        for (source, number) in sources.iter().zip(0..) {
            flows_of[source.generator].push((number, source.share));
        }
        let count = sources.len();
        let mut ingress = Self {
            queues: sources.into_iter().map(Queue::new).collect(),
            generators: Generators::new(generators.into_iter().zip(flows_of)),
            limit: voq_limit.unwrap_or(u32::MAX),
            ready: ReadyQueues::new(count),
            eligible: Deadlines::new(count),
            turn: 0,
            polls: Deadlines::new(count),
            limiters: rate_limiters.unwrap_or(u32::MAX),
            limited: 0,
            line,
            source_drops: 0,
            messages_ignored: 0,
        };
        for number in 0..count {
            ingress.follow_reaction(number, Time::ZERO);
        }
        ingress
    }

    /// When the next frame is generated.
    #[inline]
    pub fn next_frame(&self) -> Time {
        self.generators.next_time()
    }

    /// When the next queue that is held back by its limiter may go on.
    #[inline]
    pub fn next_eligible(&self) -> Time {
        self.eligible.earliest()
    }

    /// When the next reaction point wants to be called.
    #[inline]
    pub fn next_poll(&self) -> Time {
        self.polls.earliest()
    }

    /// Whether a queue has a frame that its limiter lets go.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.ready.count > 0
    }

    /// Generates the frames that come by `now`.
    #[inline]
    pub fn generate(&mut self, now: Time) {
        while let Some(number) = self.generators.take(now) {
            let number = number as usize;
            let queue = &mut self.queues[number];
            if queue.backlog >= self.limit {
                self.source_drops += 1;
                continue;
            }
            queue.backlog += 1;
            if queue.backlog > 1 {
                continue;
            }
            if queue.eligible_at <= now {
                self.ready.set(number, true);
            } else {
                self.eligible.set(number, queue.eligible_at);
            }
        }
    }

    /// Puts a queue where it belongs, after its limiter changed or its time came.
    fn place(&mut self, number: usize, now: Time) {
        let Queue { backlog, eligible_at, .. } = self.queues[number];
        let ready = backlog > 0 && eligible_at <= now;
        self.ready.set(number, ready);
        self.eligible.set(number, if backlog > 0 && !ready { eligible_at } else { Time::NEVER });
    }

    /// Takes the next frame, of one of the classes that may send, to be sent from `now` on; gives it with the number of
    /// its queue.
    #[inline]
    pub fn take(&mut self, may: u8, now: Time) -> Option<(usize, Packet)> {
        while let Some(number) = self.eligible.due(now) {
            self.place(number, now);
        }
        let number = if may == EVERY_CLASS {
            self.ready.next(self.turn, |_| true)
        } else {
            self.ready.next(self.turn, |number| may & 1 << self.queues[number].class != 0)
        }?;
        self.turn = number + 1;
        let queue = &mut self.queues[number];
        queue.backlog -= 1;
        let frame = queue.frame(now);
        if queue.backlog == 0 {
            self.ready.set(number, false);
        } else if queue.rate_bps.is_some() {
            self.place(number, now);
        }
        Some((number, frame))
    }

    /// Whether somebody wants to know when frames of this queue have been sent.
    #[inline]
    pub fn has_reaction(&self, number: usize) -> bool {
        self.queues[number].reaction.is_some()
    }

    /// Whether this queue has a rate limiter.
    #[inline]
    pub fn is_limited(&self, number: usize) -> bool {
        self.queues[number].rate_bps.is_some()
    }

    /// The frame that was taken from this queue has been sent, to its last bit: gives what goes right behind it.
    #[inline]
    pub fn sent(&mut self, number: usize, now: Time) -> Option<Message> {
        let Queue { reaction, rng, len_bytes, .. } = &mut self.queues[number];
        let mut context = Context { now, capacity: self.line, rng };
        let message = reaction.as_mut()?.sent(u32::from(*len_bytes), &mut context);
        self.follow_reaction(number, now);
        message
    }

    /// A message about the flow of this queue has come.
    pub fn receive(&mut self, number: usize, message: &Message, now: Time) {
        let Queue { reaction, rng, rate_bps, .. } = &mut self.queues[number];
        if rate_bps.is_none() && self.limited >= self.limiters && may_limit(message) {
            self.messages_ignored += 1;
            return;
        }
        if let Some(reaction) = reaction {
            reaction.receive(message, &mut Context { now, capacity: self.line, rng });
            self.follow_reaction(number, now);
        }
    }

    /// Calls the next reaction point that wants to be called by `now`, if there is one; gives the number of its queue
    /// and what is to be sent.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Option<Message>)> {
        let number = self.polls.due(now)?;
        let Queue { reaction, rng, .. } = &mut self.queues[number];
        let mut context = Context { now, capacity: self.line, rng };
        let message = reaction.as_mut().and_then(|reaction| reaction.expire(&mut context));
        self.follow_reaction(number, now);
        Some((number, message))
    }

    /// The reaction point of this queue has been called: takes over what it says now.
    #[inline]
    fn follow_reaction(&mut self, number: usize, now: Time) {
        let queue = &mut self.queues[number];
        let Some(reaction) = &queue.reaction else { return };
        self.polls.set(number, reaction.poll_at());
        let rate_bps = reaction.rate_bps();
        if rate_bps.is_none() && queue.rate_bps.is_none() {
            return;
        }
        queue.tag = reaction.associated().map_or(0, |point| point.0 + 1);
        if rate_bps == queue.rate_bps {
            return;
        }
        self.limited = self.limited + u32::from(rate_bps.is_some()) - u32::from(queue.rate_bps.is_some());
        queue.rate_bps = rate_bps;
        queue.eligible_at = rate_bps.map_or(Time::ZERO, |rate| queue.limiter.eligible_at(rate));
        self.place(number, now);
    }

    /// Flow and class of a queue.
    pub fn identity(&self, number: usize) -> (FlowId, u8) {
        (self.queues[number].flow, self.queues[number].class)
    }

    /// Every class that a queue has, one bit each.
    pub fn classes(&self) -> u8 {
        self.queues.iter().fold(0, |classes, queue| classes | 1 << queue.class)
    }

    pub fn check(&mut self, checkpoint: Checkpoint, interval: Span) {
        for queue in &mut self.queues {
            queue.book.check(checkpoint, interval);
            if checkpoint == Checkpoint::Sample
                && let Some(series) = &mut queue.book.record.rate_limit_series
            {
                series.push(queue.rate_bps.unwrap_or(self.line.bits_per_second() as f64));
            }
        }
        if checkpoint == Checkpoint::WarmUp {
            (self.source_drops, self.messages_ignored) = (0, 0);
        }
    }

    pub fn finish(&mut self, report: &mut Report) {
        for queue in &mut self.queues {
            report.sender(queue.flow, std::mem::take(&mut queue.book));
        }
    }
}

impl Queue {
    fn new(source: SourceFlow) -> Self {
        let SourceFlow { flow, class, len_bytes, ecn, reaction, rng, mut book, .. } = source;
        let record = &mut book.record;
        record.rate_limit_series = record.sent_series.as_ref().and(reaction.as_ref()).map(|_| Vec::new());
        Self {
            flow,
            tag: 0,
            backlog: 0,
            len_bytes,
            // Classes are three bits on the wire (IEEE 802.1Q).
            class: class & 7,
            ecn,
            limiter: RateLimiter::default(),
            rate_bps: None,
            eligible_at: Time::ZERO,
            reaction,
            rng,
            book,
        }
    }

    /// A frame that is begun at `now`.
    #[inline]
    fn frame(&mut self, now: Time) -> Packet {
        let frame = Packet::new(PacketFields {
            time: now,
            stamp: departure_stamp(now),
            number: self.tag,
            flow: self.flow,
            len_bytes: self.len_bytes,
            flags: 0,
            class: self.class,
            ecn: self.ecn,
        });
        if self.book.count.packets == 0 {
            self.book.record.started = Some(now);
        }
        self.book.sent(&frame, false);
        self.limiter.sent(u32::from(self.len_bytes), now);
        if let Some(rate) = self.rate_bps {
            self.eligible_at = self.limiter.eligible_at(rate);
        }
        frame
    }
}

/// Whether a message may give a limiter to a flow that has none.
fn may_limit(message: &Message) -> bool {
    !matches!(message, Message::Probe { .. } | Message::ProbeReport { .. } | Message::RateDiscovery { .. })
}

/// The queues that are ready, one bit each.
#[derive(Debug)]
struct ReadyQueues {
    words: Vec<u64>,
    count: u32,
}

impl ReadyQueues {
    const BITS: usize = u64::BITS as usize;

    fn new(queues: usize) -> Self {
        Self { words: vec![0; queues.div_ceil(Self::BITS).max(1)], count: 0 }
    }

    #[inline]
    fn set(&mut self, number: usize, ready: bool) {
        let (word, bit) = (&mut self.words[number / Self::BITS], 1 << (number % Self::BITS));
        if (*word & bit != 0) != ready {
            *word ^= bit;
            self.count = if ready { self.count + 1 } else { self.count - 1 };
        }
    }

    /// The first ready queue from `from` on, and then from the first one on, that is accepted.
    #[inline]
    fn next(&self, from: usize, accepts: impl Fn(usize) -> bool) -> Option<usize> {
        if self.count == 0 {
            return None;
        }
        // One word is what all but the largest nodes have.
        if let [word] = self.words[..] {
            let ahead = if from < Self::BITS { word >> from << from } else { 0 };
            let either = [ahead, word & !ahead].into_iter();
            return either.flat_map(members).find(|&number| accepts(number));
        }
        let words = self.words.len();
        // What lies before `from` in its word comes last: that word is looked at twice.
        let (first, before) = (from / Self::BITS % words, (1 << (from % Self::BITS)) - 1);
        for step in 0..=words {
            let index = (first + step) % words;
            let mut word = self.words[index];
            if step == 0 {
                word &= !before;
            } else if step == words {
                word &= before;
            }
            let number = members(word).map(|bit| index * Self::BITS + bit).find(|&number| accepts(number));
            if number.is_some() {
                return number;
            }
        }
        None
    }
}

/// The bits that are set, from the lowest.
#[inline]
fn members(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = word.checked_sub(1).map(|_| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_queues_are_found_in_turn() {
        for members in [&[3, 63, 64, 70, 129][..], &[0, 5, 63], &[7]] {
            let count = members[members.len() - 1] + 1;
            let mut ready = ReadyQueues::new(count);
            for &number in members {
                ready.set(number, true);
                ready.set(number, true);
            }
            assert_eq!(ready.count as usize, members.len());
            for from in 0..=count {
                let expected = members.iter().find(|&&number| number >= from).or(members.first());
                assert_eq!(ready.next(from, |_| true), expected.copied(), "from {from}");
            }
            let last = members[members.len() - 1];
            assert_eq!(ready.next(1, |number| number == last), Some(last));
            assert_eq!(ready.next(0, |number| number == 1), None);
            for &number in members {
                ready.set(number, false);
            }
            assert_eq!((ready.count, ready.next(0, |_| true)), (0, None));
        }
    }
}
