//! The way into the network at an adapter: virtual output queues with their rate limiters, and whose turn it is.
//!
//! Each flow has a queue, which is a number of frames: all frames of a flow are equally long. Frames are generated when
//! somebody looks, up to that time. A queue is *ready* if it has a frame and its limiter lets it go. The ready queues
//! are served round-robin.

use forebay_qdisc::Ecn;
use forebay_qdisc::{Rate, Span, Time};
use forebay_switching::RateLimiter;
use forebay_switching::congestion::{Context, Message, ReactionPoint};
use rand_pcg::Pcg64Mcg;

use crate::driver::deadlines::Deadlines;
use crate::ethernet::frames::{GeneratorParts, Generators};
use crate::ethernet::pause::EVERY_CLASS;
use crate::ethernet::ready_queues::ReadyQueues;
use crate::observe::flow_book::SendBook;
use crate::observe::interval::Checkpoint;
use crate::observe::report::Report;
use crate::packet::{FlowId, Packet, PacketFields, departure_stamp};

/// A flow that begins here.
pub(crate) struct SourceFlow {
    pub flow: FlowId,
    pub class: u8,
    /// Length of a frame.
    pub len_bytes: u16,
    /// The codepoint of its frames.
    pub ecn: Ecn,
    /// Which generator makes its frames, and how likely a frame of that one is this flow's, relative to the others'.
    pub generator: usize,
    pub share: f64,
    pub reaction: Option<Box<dyn ReactionPoint>>,
    /// The reaction point's random stream.
    pub rng: Pcg64Mcg,
    pub book: SendBook,
}

/// The virtual output queue of a flow. What comes first, nearly every frame touches.
#[repr(C, align(64))]
struct Queue {
    /// Its frames, but for their times.
    frame: Packet,
    /// How many frames wait.
    backlog: u32,
    /// When the limiter lets the next frame go.
    eligible_at: Time,
    /// How long it lets wait after a frame.
    interval: Span,
    /// How long a frame takes on the line.
    transmission: Span,
    book: SendBook,
    /// From how many bytes in the book on the reaction point has to hear on time what is sent.
    silent_until: u64,
    limiter: RateLimiter,
    /// What the reaction point has heard of, of the bytes in the book.
    heard_bytes: u64,
    /// What the reaction point allows, in bits per second; `None` without a limiter.
    rate_bps: Option<f64>,
    reaction: Option<Box<dyn ReactionPoint>>,
    rng: Pcg64Mcg,
    /// What `frame` is made from.
    fields: PacketFields,
}

/// The queues of an adapter. What comes first, nearly every frame touches.
#[repr(C)]
pub(crate) struct Ingress {
    queues: Vec<Queue>,
    /// The queue of the last frame, behind which the search for the next one begins; and until when that frame is on
    /// the line.
    last: usize,
    sent_at: Time,
    /// Frames that a queue holds at most.
    limit: u32,
    generators: Generators,
    ready: ReadyQueues,
    /// When each queue that has frames and is held back by its limiter may go on.
    eligible: Deadlines,
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
            queues: sources.into_iter().map(|source| Queue::new(source, line)).collect(),
            generators: Generators::new(generators.into_iter().zip(flows_of)),
            limit: voq_limit.unwrap_or(u32::MAX),
            ready: ReadyQueues::new(count),
            eligible: Deadlines::new(count),
            last: count.saturating_sub(1),
            sent_at: Time::ZERO,
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

    /// Generates the frames that come by `now`, when the port is free; and those ahead of their time that can make no
    /// difference, so that no wake-up is needed for them.
    #[inline(always)]
    pub fn generate(&mut self, now: Time) {
        loop {
            let at = self.generators.next_time();
            let number = self.generators.next_flow() as usize;
            if at > now && !self.queues.get(number).is_some_and(|queue| queue.has_room_until(at, self.limit, now)) {
                return;
            }
            self.generate_one(number, now);
        }
    }

    /// Generates the next frame, which is for this queue.
    #[inline(always)]
    fn generate_one(&mut self, number: usize, now: Time) {
        self.generators.step();
        let queue = &mut self.queues[number];
        if queue.backlog >= self.limit {
            self.source_drops += 1;
            return;
        }
        queue.backlog += 1;
        if queue.backlog > 1 {
            return;
        }
        if queue.eligible_at <= now {
            self.ready.insert(number);
        } else {
            self.eligible.set(number, queue.eligible_at);
        }
    }

    /// Puts a queue where it belongs, after its limiter changed or its time came.
    fn place(&mut self, number: usize, now: Time) {
        let Queue { backlog, eligible_at, .. } = self.queues[number];
        let ready = backlog > 0 && eligible_at <= now;
        if ready {
            self.ready.insert(number);
        } else {
            self.ready.remove(number);
        }
        self.eligible.set(number, if backlog > 0 && !ready { eligible_at } else { Time::NEVER });
    }

    /// The queue whose turn it is at `now`, of those whose class may send.
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

    /// The limiters let go what has waited until `now`.
    #[inline(never)]
    fn let_go(&mut self, now: Time) {
        while let Some(number) = self.eligible.due(now) {
            self.eligible.set(number, Time::NEVER);
            self.ready.insert(number);
        }
    }

    /// Takes the first frame of a queue whose turn it is, to be sent from `now` on; returns it with the time when it
    /// has been sent.
    #[inline(always)]
    pub fn take(&mut self, number: usize, now: Time) -> (Packet, Time) {
        self.last = number;
        let queue = &mut self.queues[number];
        queue.backlog -= 1;
        self.sent_at = now + queue.transmission;
        let taken = (queue.send(now), self.sent_at);
        let is_limited = queue.interval > Span::ZERO;
        if queue.backlog == 0 || is_limited {
            self.ready.remove(number);
        }
        if queue.backlog > 0 && is_limited {
            self.hold(number);
        }
        taken
    }

    /// The limiter of a queue holds back the next frame.
    #[inline(never)]
    fn hold(&mut self, number: usize) {
        self.eligible.set(number, self.queues[number].eligible_at);
    }

    /// The queue whose frame is on the line at `now`, if its reaction point has to hear on time that it was sent.
    #[inline]
    pub fn to_be_heard(&self, now: Time) -> Option<usize> {
        let hears = |queue: &Queue| self.sent_at > now && queue.book.count.bytes > queue.silent_until;
        self.queues.get(self.last).is_some_and(hears).then_some(self.last)
    }

    /// The reaction point of this queue has to hear what was sent by `now`: returns what goes right behind it.
    pub fn sent(&mut self, number: usize, now: Time) -> Option<Message> {
        let message = self.tell_sent(number, now);
        self.follow_reaction(number, now);
        message
    }

    /// Tells the reaction point of a queue what was sent since it heard of it last.
    fn tell_sent(&mut self, number: usize, now: Time) -> Option<Message> {
        let queue = &mut self.queues[number];
        let on_line = number == self.last && self.sent_at > now;
        let sent_bytes = queue.book.count.bytes - if on_line { u64::from(queue.frame.len_bytes()) } else { 0 };
        let unheard_bytes = sent_bytes - std::mem::replace(&mut queue.heard_bytes, sent_bytes);
        let reaction = queue.reaction.as_mut().filter(|_| unheard_bytes > 0)?;
        reaction.sent(unheard_bytes, &mut Context { now, capacity: self.line, rng: &mut queue.rng })
    }

    /// A message about the flow of this queue has come.
    pub fn receive(&mut self, number: usize, message: &Message, now: Time) {
        self.tell_sent(number, now);
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

    /// Calls the next reaction point that wants to be called by `now`, if there is one; returns the number of its queue
    /// and what is to be sent.
    pub fn poll(&mut self, now: Time) -> Option<(usize, Option<Message>)> {
        let number = self.polls.due(now)?;
        self.tell_sent(number, now);
        let Queue { reaction, rng, .. } = &mut self.queues[number];
        let mut context = Context { now, capacity: self.line, rng };
        let message = reaction.as_mut().and_then(|reaction| reaction.expire(&mut context));
        self.follow_reaction(number, now);
        Some((number, message))
    }

    /// The reaction point of this queue has been called: takes over what it says now.
    fn follow_reaction(&mut self, number: usize, now: Time) {
        let queue = &mut self.queues[number];
        let Some(reaction) = &queue.reaction else { return };
        self.polls.set(number, reaction.poll_at());
        queue.silent_until = queue.heard_bytes.saturating_add(reaction.silent_bytes());
        let rate_bps = reaction.rate_bps();
        if rate_bps.is_none() && queue.rate_bps.is_none() {
            return;
        }
        queue.fields.number = reaction.associated().map_or(0, |point| point.0 + 1);
        queue.frame = Packet::new(queue.fields);
        if rate_bps == queue.rate_bps {
            return;
        }
        self.limited = self.limited + u32::from(rate_bps.is_some()) - u32::from(queue.rate_bps.is_some());
        queue.rate_bps = rate_bps;
        queue.eligible_at = rate_bps.map_or(Time::ZERO, |rate| queue.limiter.eligible_at(rate));
        queue.interval = rate_bps.map_or(Span::ZERO, |rate| RateLimiter::interval(queue.frame.len_bytes(), rate));
        self.place(number, now);
    }

    /// Flow and class of a queue.
    pub fn identity(&self, number: usize) -> (FlowId, u8) {
        (self.queues[number].fields.flow, self.queues[number].fields.class)
    }

    /// Every class that a queue has, one bit each.
    pub fn classes(&self) -> u8 {
        self.queues.iter().fold(0, |classes, queue| classes | 1 << queue.fields.class)
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
            report.sender(queue.fields.flow, std::mem::take(&mut queue.book));
        }
    }
}

impl Queue {
    /// For no longer than this many frames take are frames generated ahead of their time.
    const AHEAD: u32 = 16;

    fn new(source: SourceFlow, line: Rate) -> Self {
        let SourceFlow { flow, class, len_bytes, ecn, reaction, rng, mut book, .. } = source;
        let record = &mut book.record;
        record.rate_limit_series = record.sent_series.as_ref().and(reaction.as_ref()).map(|_| Vec::new());
        let fields = PacketFields {
            time: Time::ZERO,
            stamp: 0,
            number: 0,
            flow,
            len_bytes,
            flags: 0,
            // Classes are three bits on the wire (IEEE 802.1Q).
            class: class & 7,
            ecn,
        };
        Self {
            frame: Packet::new(fields),
            backlog: 0,
            heard_bytes: 0,
            silent_until: u64::MAX,
            eligible_at: Time::ZERO,
            interval: Span::ZERO,
            limiter: RateLimiter::default(),
            rate_bps: None,
            transmission: line.transmission_time(u64::from(len_bytes)),
            reaction,
            rng,
            book,
            fields,
        }
    }

    /// Whether a frame that comes at `at` will find others here, even if nothing else is sent from `now` on, and room:
    /// then it may as well join them at once.
    #[inline]
    fn has_room_until(&self, at: Time, limit: u32, now: Time) -> bool {
        let backlog = self.backlog.min(Self::AHEAD);
        backlog > 0 && at < now + self.transmission * u64::from(backlog) && self.backlog < limit
    }

    /// A frame that is begun at `now`.
    #[inline]
    fn send(&mut self, now: Time) -> Packet {
        let mut frame = self.frame;
        (frame.time, frame.stamp) = (now, departure_stamp(now));
        if self.book.count.packets == 0 {
            self.book.record.started = Some(now);
        }
        self.book.sent(&frame, false);
        self.limiter.sent(frame.len_bytes(), now);
        self.eligible_at = now.saturating_add(self.interval);
        frame
    }
}

/// Whether a message may give a limiter to a flow that has none.
fn may_limit(message: &Message) -> bool {
    !matches!(message, Message::Probe { .. } | Message::ProbeReport { .. } | Message::RateDiscovery { .. })
}
