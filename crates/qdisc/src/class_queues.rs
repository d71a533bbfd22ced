//! Queues that share a link, one for each class: which of them may send, and when.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::peeked::Peeked;
use crate::{Backlog, Cx, Discipline, Packet, Served, Time};

/// The queues of classes that share a link, each under a discipline of any kind. The owner chooses among the classes
/// that may send.
pub struct ClassQueues<P> {
    queues: Vec<ClassQueue<P>>,
    backlog: Backlog,
    /// The class that sent last, until its discipline has been asked at the end of the transmission.
    sending: Option<usize>,
}

struct ClassQueue<P> {
    queue: Peeked<P>,
    backlog: Backlog,
    /// Its discipline is not asked before this time. [`Time::NEVER`]: not before a packet arrives.
    ask_at: Time,
}

impl<P: Packet> ClassQueues<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(disciplines: Vec<Box<dyn Discipline<P>>>) -> Self {
        let queue = |discipline| {
            let queue = Peeked::new(discipline);
            ClassQueue { queue, backlog: Backlog::default(), ask_at: Time::NEVER }
        };
        Self { queues: disciplines.into_iter().map(queue).collect(), backlog: Backlog::default(), sending: None }
    }

    /// Number of classes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Whether there are no classes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether packets of `class` are queued.
    #[inline]
    #[must_use]
    pub fn holds(&self, class: usize) -> bool {
        self.queues[class].backlog.packets > 0
    }

    /// How many classes have packets queued.
    #[must_use]
    pub fn backlogged(&self) -> usize {
        self.queues.iter().filter(|queue| queue.backlog.packets > 0).count()
    }

    /// Whether `class` may have a packet to send at `now`.
    #[inline]
    #[must_use]
    pub fn may_send(&self, class: usize, now: Time) -> bool {
        self.queues[class].ask_at <= now
    }

    /// When the queue of `class` is asked for its next packet: [`Time::NEVER`] if not before a packet arrives.
    #[inline]
    #[must_use]
    pub fn ask_at(&self, class: usize) -> Time {
        self.queues[class].ask_at
    }

    /// Whether a class must be asked when the transmission ends.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.sending.is_some()
    }

    /// When to ask again, if none of the classes that `counts` may send. [`Time::NEVER`]: after an arrival.
    pub fn poll_at(&self, counts: impl Fn(usize) -> bool) -> Time {
        let classes = self.queues.iter().enumerate().filter(|(class, _)| counts(*class));
        classes.map(|(_, queue)| queue.ask_at).min().unwrap_or(Time::NEVER)
    }

    /// The disciplines, in the order of the classes.
    pub fn disciplines(&self) -> impl Iterator<Item = &dyn Discipline<P>> {
        self.queues.iter().map(|class| class.queue.queue())
    }

    /// The queued packets and bytes.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Memory of the disciplines' own state.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        let own = self.queues.len() * size_of::<ClassQueue<P>>();
        own as u64 + self.disciplines().map(|discipline| discipline.state_bytes()).sum::<u64>()
    }

    /// A packet of `class` arrives.
    pub fn enqueue(&mut self, class: usize, packet: P, cx: &mut Cx<'_, P>) {
        self.queues[class].queue.enqueue(packet, cx);
        self.changed(class, Time::ZERO);
    }

    /// The length of the next packet of `class`, which the class holds until it sends it. `None` if it has none to send
    /// now.
    pub(crate) fn peek(&mut self, class: usize, cx: &mut Cx<'_, P>) -> Option<u32> {
        let peeked = self.queues[class].queue.peek(cx);
        self.changed(class, peeked.as_ref().map_or_else(|held| held.ask_at(cx.now), |_| Time::ZERO));
        peeked.ok()
    }

    /// The link is free: the next packet, with its class. `pick` chooses among the classes that may send; it is called
    /// again after each one that has nothing to send.
    pub fn dequeue(&mut self, cx: &mut Cx<'_, P>, mut pick: impl FnMut(&Self) -> Option<usize>) -> Option<(usize, P)> {
        self.finish_transmission(cx);
        while let Some(class) = pick(self) {
            let served = self.queues[class].queue.dequeue(cx);
            self.changed(class, served.ask_at(cx.now));
            if let Some(packet) = served.packet() {
                self.sending = Some(class);
                return Some((class, packet));
            }
        }
        None
    }

    /// The next packet of the first class that has one to send now.
    pub(crate) fn serve_in_order(&mut self, cx: &mut Cx<'_, P>) -> Served<P> {
        let now = cx.now;
        let first = |queues: &Self| (0..queues.len()).find(|&class| queues.may_send(class, now));
        self.dequeue(cx, first).map_or_else(|| self.held(), |(_, packet)| Served::Packet(packet))
    }

    /// The answer if no class has a packet to send now.
    pub(crate) fn held(&self) -> Served<P> {
        match self.poll_at(|_| true) {
            Time::NEVER => Served::Idle,
            at => Served::PollAt(at),
        }
    }

    /// Asks the queue that sent last, if it has nothing more to send: it must notice that its idle time begins.
    fn finish_transmission(&mut self, cx: &mut Cx<'_, P>) {
        let Some(class) = self.sending.take().filter(|&class| !self.holds(class)) else { return };
        let none = self.queues[class].queue.dequeue(cx).packet();
        debug_assert!(none.is_none(), "a queue without a backlog gave a packet");
    }

    /// The queue of `class` has changed, and is asked at `ask_at` if it holds packets.
    fn changed(&mut self, class: usize, ask_at: Time) {
        let queue = &mut self.queues[class];
        let before = core::mem::replace(&mut queue.backlog, queue.queue.backlog());
        self.backlog.packets = self.backlog.packets + queue.backlog.packets - before.packets;
        self.backlog.bytes = self.backlog.bytes + queue.backlog.bytes - before.bytes;
        queue.ask_at = if queue.backlog.packets > 0 { ask_at } else { Time::NEVER };
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::Span;
    use crate::test_support::{Dropped, Labelled, rng};

    /// Holds its packets until `opens_at`, and counts how often it is asked.
    struct Gate {
        packets: Vec<Labelled>,
        opens_at: Time,
        asked: Arc<AtomicU32>,
    }

    impl Discipline<Labelled> for Gate {
        fn enqueue(&mut self, packet: Labelled, _: &mut Cx<'_, Labelled>) {
            self.packets.push(packet);
        }

        fn dequeue(&mut self, cx: &mut Cx<'_, Labelled>) -> Served<Labelled> {
            self.asked.fetch_add(1, Relaxed);
            if self.packets.is_empty() {
                Served::Idle
            } else if cx.now < self.opens_at {
                Served::PollAt(self.opens_at)
            } else {
                self.packets.pop().into()
            }
        }

        fn backlog(&self) -> Backlog {
            let bytes = self.packets.iter().map(|packet| u64::from(packet.len_bytes())).sum();
            Backlog { packets: self.packets.len() as u64, bytes }
        }

        fn state_bytes(&self) -> u64 {
            0
        }
    }

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_packet_that_was_looked_at_stays_in_its_class() {
        let asked = Arc::new(AtomicU32::new(0));
        let gate = |opens_at| -> Box<dyn Discipline<Labelled>> {
            Box::new(Gate { packets: vec![], opens_at, asked: Arc::clone(&asked) })
        };
        let mut queues = ClassQueues::new(vec![gate(at(0)), gate(at(9))]);
        let (mut rng, mut sink) = (rng(), Dropped::default());
        let mut cx = Cx { now: at(1), rng: &mut rng, sink: &mut sink };
        queues.enqueue(0, Labelled::new(1, 1, 100, 0), &mut cx);
        queues.enqueue(1, Labelled::new(2, 1, 200, 1), &mut cx);
        assert_eq!([0, 0, 1].map(|class| queues.peek(class, &mut cx)), [Some(100), Some(100), None]);
        assert_eq!((queues.may_send(0, at(1)), queues.ask_at(1), asked.load(Relaxed)), (true, at(9), 2));
        assert_eq!((queues.holds(0), queues.backlog()), (true, Backlog { packets: 2, bytes: 300 }));
        let sent = queues.dequeue(&mut cx, |_| Some(0)).map(|(class, packet)| (class, packet.label));
        assert_eq!((sent, asked.load(Relaxed), queues.holds(0)), (Some((0, 1)), 2, false));
        // At the end of the transmission the empty queue is asked.
        assert_eq!(queues.dequeue(&mut cx, |_| None), None);
        assert_eq!(asked.load(Relaxed), 3);
    }

    #[test]
    fn a_class_that_refused_is_asked_at_its_time_or_after_an_arrival() {
        let asked = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
        let gate = |class: usize, opens_at| -> Box<dyn Discipline<Labelled>> {
            Box::new(Gate { packets: vec![], opens_at, asked: Arc::clone(&asked[class]) })
        };
        let mut queues = ClassQueues::new(vec![gate(0, at(20)), gate(1, at(10))]);
        let (mut rng, mut sink) = (rng(), Dropped::default());
        let mut arrive = |queues: &mut ClassQueues<Labelled>, class: usize, now| {
            let packet = Labelled::new(class as u32, 1, 100, class as u8);
            queues.enqueue(class, packet, &mut Cx { now, rng: &mut rng, sink: &mut sink });
        };
        (0..2).for_each(|class| arrive(&mut queues, class, at(0)));
        assert_eq!(queues.backlog(), Backlog { packets: 2, bytes: 200 });

        let mut steps = Vec::new();
        for (microseconds, arrives) in
            [(1, false), (2, false), (3, true), (10, false), (11, false), (20, false), (21, false)]
        {
            let now = at(microseconds);
            if arrives {
                arrive(&mut queues, 0, now);
            }
            let (mut rng, mut sink) = (crate::test_support::rng(), Dropped::default());
            let first = |queues: &ClassQueues<Labelled>| (0..2).find(|&class| queues.may_send(class, now));
            let sent = queues.dequeue(&mut Cx { now, rng: &mut rng, sink: &mut sink }, first).map(|(class, _)| class);
            let polls = [queues.poll_at(|_| true), queues.poll_at(|class| class == 0)];
            steps.push((sent, polls, [0, 1].map(|class| asked[class].load(Relaxed))));
        }
        let none = Time::NEVER;
        let expected = [
            (None, [at(10), at(20)], [1, 1]),
            (None, [at(10), at(20)], [1, 1]),
            (None, [at(10), at(20)], [2, 1]),
            (Some(1), [at(20), at(20)], [2, 2]),
            // Class 1 is empty: it is asked at the end of its transmission, to notice its idle time.
            (None, [at(20), at(20)], [2, 3]),
            (Some(0), [at(20), at(20)], [3, 3]),
            (Some(0), [none, none], [4, 3]),
        ];
        assert_eq!(steps, expected);
        assert_eq!(queues.backlog(), Backlog::default());
    }
}
