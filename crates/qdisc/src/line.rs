//! A line behind a discipline, for whatever drives a discipline without a simulated network: the replay of a capture,
//! the live data plane, the measurement of what a discipline costs.
//!
//! Time is an argument, so the line serves a real clock as well as a recorded one. It holds a packet until its last bit
//! has left. The simulator's port hands it to the next node when the transmission starts, with an arrival time in the
//! future. Both ask for packets through a [`Server`].

use crate::{Cx, Discipline, Packet, Rate, Rng, Served, Server, Sink, Span, Time, Transmitter};

/// The observer of events at a [`Line`], in addition to drops and marks.
pub trait Watcher<P: Packet>: Sink<P> {
    /// The clock goes to `now`: all events until the next call happen then. `queue` has not changed since the last
    /// event.
    fn advance(&mut self, _now: Time, _queue: &dyn Discipline<P>) {}

    /// `packet` arrives; it is given to the queue next.
    fn arriving(&mut self, _packet: &P) {}

    /// The queue has taken or dropped the packet that arrived.
    fn arrived(&mut self, _queue: &dyn Discipline<P>) {}

    /// The last bit of `packet` leaves.
    fn sent(&mut self, _packet: &P) {}
}

/// A line that sends at a rate, one packet at a time, what a discipline gives it.
///
/// At equal times the line comes first, then the queue's own timer, then the arrival: a packet that arrives as another
/// begins to leave finds the room that it leaves. The caller keeps this order by [`Line::run_until`] before each
/// [`Line::arrive`].
pub struct Line<P> {
    server: Server,
    wire: Wire<P>,
}

impl<P: Packet> Line<P> {
    /// An idle line.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { server: Server::default(), wire: Wire { rate, sending: None, transmission: NO_PACKET } }
    }

    /// When there is something to do if no packet arrives before; `None` where only an arrival gives the line work.
    /// [`Time::NEVER`] if that lies beyond the last time that there is.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.server.next()
    }

    /// Whether a packet is in transmission.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.server.is_sending()
    }

    /// Changes the rate, from the next transmission on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.wire.rate = rate;
        self.wire.transmission = NO_PACKET;
    }

    /// A transmission due before `earliest` is due then. A driver that has been late says so in order not to catch up
    /// all that it has missed.
    #[inline]
    pub fn start_no_earlier(&mut self, earliest: Time) {
        self.server.start_no_earlier(earliest);
    }

    /// Sends at once, at `now`, the packet in transmission and all that the queue gives.
    pub fn flush<W: Watcher<P>>(
        &mut self,
        now: Time,
        queue: &mut dyn Discipline<P>,
        rng: &mut dyn Rng,
        watcher: &mut W,
    ) {
        watcher.advance(now, queue);
        let mut dequeue =
            |watcher: &mut W, rng: &mut dyn Rng| queue.dequeue(&mut Cx { now, rng, sink: watcher }).packet();
        while let Some(packet) = self.wire.sending.take().or_else(|| dequeue(watcher, rng)) {
            watcher.sent(&packet);
        }
        self.server.serve(now, queue, &mut Watched { wire: &mut self.wire, rng, watcher });
    }

    /// Does all that is due at `until` or before.
    #[inline]
    pub fn run_until<W: Watcher<P>>(
        &mut self,
        until: Time,
        queue: &mut dyn Discipline<P>,
        rng: &mut dyn Rng,
        watcher: &mut W,
    ) {
        self.server.run_until(until, queue, &mut Watched { wire: &mut self.wire, rng, watcher });
    }

    /// A packet arrives at `now`, when all that was due has been done. An idle line asks the queue for a packet.
    #[inline]
    pub fn arrive<W: Watcher<P>>(
        &mut self,
        packet: P,
        now: Time,
        queue: &mut dyn Discipline<P>,
        rng: &mut dyn Rng,
        watcher: &mut W,
    ) {
        watcher.advance(now, queue);
        watcher.arriving(&packet);
        queue.enqueue(packet, &mut Cx { now, rng: &mut *rng, sink: &mut *watcher });
        watcher.arrived(queue);
        if !self.server.is_sending() {
            self.server.serve(now, queue, &mut Watched { wire: &mut self.wire, rng, watcher });
        }
    }
}

struct Wire<P> {
    rate: Rate,
    sending: Option<P>,
    /// A length in bytes with its transmission time: packets of one length come in rows, and a division is slow.
    transmission: (u32, Span),
}

const NO_PACKET: (u32, Span) = (0, Span::ZERO);

/// A wire and the observer of its events.
struct Watched<'a, P, W> {
    wire: &'a mut Wire<P>,
    rng: &'a mut dyn Rng,
    watcher: &'a mut W,
}

impl<P: Packet, W: Watcher<P>> Transmitter<P> for Watched<'_, P, W> {
    #[inline]
    fn advance(&mut self, now: Time, queue: &dyn Discipline<P>) {
        self.watcher.advance(now, queue);
        if let Some(packet) = &self.wire.sending {
            self.watcher.sent(packet);
            self.wire.sending = None;
        }
    }

    #[inline]
    fn ask(&mut self, now: Time, queue: &mut dyn Discipline<P>) -> Served<P> {
        queue.dequeue(&mut Cx { now, rng: &mut *self.rng, sink: &mut *self.watcher })
    }

    #[inline]
    fn transmit(&mut self, packet: P, now: Time) -> Time {
        let len_bytes = packet.len_bytes();
        self.wire.sending = Some(packet);
        let (memo, span) = &mut self.wire.transmission;
        if *memo != len_bytes {
            (*memo, *span) = (len_bytes, self.wire.rate.transmission_time(u64::from(len_bytes)));
        }
        now.saturating_add(*span)
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use forebay_units::QueueSize;

    use super::*;
    use crate::test_support::rng;
    use crate::{
        Backlog, DropReason, DropTail, DropTailConfig, Ecn, Fifo, FlowInfo, FlowKey, FlowKeysOnly, MarkReason,
    };

    /// A packet of a number and a length.
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Numbered(u64, u32);

    impl Packet for Numbered {
        fn flow(&self) -> FlowKey {
            FlowKey(self.0)
        }

        fn len_bytes(&self) -> u32 {
            self.1
        }

        fn ecn(&self) -> Ecn {
            Ecn::NotCapable
        }

        fn class(&self) -> u8 {
            0
        }

        fn input_port(&self) -> u16 {
            0
        }

        fn mark_ce(&mut self) {}

        fn set_class(&mut self, _: u8) {}
    }

    /// Events in microseconds: the number of a packet sent, or dropped if negative.
    #[derive(Default)]
    struct Log {
        now: Time,
        events: Vec<(u64, i64)>,
    }

    impl Log {
        fn note(&mut self, event: i64) {
            self.events.push((self.now.picoseconds() / 1_000_000, event));
        }
    }

    impl Sink<Numbered> for Log {
        fn dropped(&mut self, packet: Numbered, _: DropReason, _: bool) {
            self.note(-(packet.0 as i64));
        }

        fn marked(&mut self, _: &Numbered, _: MarkReason) {}

        fn trimmed(&mut self, _: &Numbered, _: u32) {}

        fn flow_info(&self) -> &dyn FlowInfo<Numbered> {
            &FlowKeysOnly
        }
    }

    impl Watcher<Numbered> for Log {
        fn advance(&mut self, now: Time, _: &dyn Discipline<Numbered>) {
            self.now = now;
        }

        fn sent(&mut self, packet: &Numbered) {
            self.note(packet.0 as i64);
        }
    }

    fn drop_tail(packets: u64) -> Box<dyn Discipline<Numbered>> {
        let config = DropTailConfig { limit: QueueSize::Packets(packets) };
        Box::new(Fifo::new(Box::new(DropTail::new(&config, Rate::megabits(8), 0).unwrap())))
    }

    /// 8 Mb/s: a byte takes a microsecond. Room for one packet in addition to the one in transmission.
    #[test]
    fn an_arrival_finds_the_room_that_a_departure_leaves() {
        let (mut queue, mut log, mut rng) = (drop_tail(1), Log::default(), rng());
        let mut line = Line::new(Rate::megabits(8));
        for (microseconds, packet) in [(0, Numbered(1, 100)), (10, Numbered(2, 50)), (99, Numbered(3, 50))] {
            let now = Time::ZERO.saturating_add(Span::from_microseconds(microseconds));
            line.run_until(now, &mut *queue, &mut rng, &mut log);
            line.arrive(packet, now, &mut *queue, &mut rng, &mut log);
        }
        // 2 begins at 100 µs, when 4 comes.
        let now = Time::ZERO.saturating_add(Span::from_microseconds(100));
        line.run_until(now, &mut *queue, &mut rng, &mut log);
        line.arrive(Numbered(4, 50), now, &mut *queue, &mut rng, &mut log);
        while let Some(at) = line.next() {
            line.run_until(at, &mut *queue, &mut rng, &mut log);
        }
        assert_eq!(log.events, [(99, -3), (100, 1), (150, 2), (200, 4)]);
    }

    #[test]
    fn a_late_driver_catches_up_as_much_as_it_says() {
        let (mut queue, mut log, mut rng) = (drop_tail(9), Log::default(), rng());
        let mut line = Line::new(Rate::megabits(8));
        for number in 1..5 {
            line.arrive(Numbered(number, 100), at(0), &mut *queue, &mut rng, &mut log);
        }
        // Due at 100, 200, 300, 400 µs. At 1000 µs no more than 150 µs are caught up.
        line.start_no_earlier(at(850));
        line.run_until(at(1000), &mut *queue, &mut rng, &mut log);
        assert_eq!((log.events, line.next()), (alloc::vec![(850, 1), (950, 2)], Some(at(1050))));
    }

    #[test]
    fn another_rate_begins_with_the_next_transmission() {
        let (mut queue, mut log, mut rng) = (drop_tail(9), Log::default(), rng());
        let mut line = Line::new(Rate::megabits(8));
        for number in 1..4 {
            line.arrive(Numbered(number, 100), at(0), &mut *queue, &mut rng, &mut log);
        }
        line.set_rate(Rate::megabits(4));
        line.run_until(at(300), &mut *queue, &mut rng, &mut log);
        assert_eq!((log.events, line.is_sending()), (alloc::vec![(100, 1), (300, 2)], true));
    }

    #[test]
    fn a_flush_sends_all_at_once_in_order() {
        let (mut queue, mut log, mut rng) = (drop_tail(9), Log::default(), rng());
        let mut line = Line::new(Rate::megabits(8));
        for number in 1..4 {
            line.arrive(Numbered(number, 100), at(0), &mut *queue, &mut rng, &mut log);
        }
        line.flush(at(10), &mut *queue, &mut rng, &mut log);
        assert_eq!(log.events, [(10, 1), (10, 2), (10, 3)]);
        assert_eq!((line.next(), line.is_sending(), queue.backlog()), (None, false, Backlog::default()));
    }

    #[test]
    fn each_length_takes_its_own_time() {
        let (mut queue, mut log, mut rng) = (drop_tail(5), Log::default(), rng());
        let mut line = Line::new(Rate::megabits(8));
        for (number, len_bytes) in [(1, 1), (2, 0), (3, 100), (4, 100), (5, 1)] {
            line.arrive(Numbered(number, len_bytes), Time::ZERO, &mut *queue, &mut rng, &mut log);
        }
        line.run_until(Time::NEVER, &mut *queue, &mut rng, &mut log);
        assert_eq!(log.events, [(1, 1), (1, 2), (101, 3), (201, 4), (202, 5)]);
    }

    /// Keeps its packet until `ready_at`, and wants to be asked at `poll_at`.
    struct Shaper {
        packet: Option<Numbered>,
        ready_at: Time,
        poll_at: Option<Time>,
    }

    impl Discipline<Numbered> for Shaper {
        fn enqueue(&mut self, packet: Numbered, cx: &mut Cx<'_, Numbered>) {
            match self.packet {
                None => self.packet = Some(packet),
                Some(_) => cx.sink.dropped(packet, DropReason::Overflow, false),
            }
        }

        fn dequeue(&mut self, cx: &mut Cx<'_, Numbered>) -> Served<Numbered> {
            if cx.now < self.ready_at {
                return self.poll_at.map_or(Served::Idle, Served::PollAt);
            }
            self.packet.take().into()
        }

        fn backlog(&self) -> Backlog {
            self.packet
                .map_or_else(Backlog::default, |packet| Backlog { packets: 1, bytes: u64::from(packet.len_bytes()) })
        }

        fn state_bytes(&self) -> u64 {
            0
        }
    }

    fn at(microseconds: u64) -> Time {
        Time::ZERO + Span::from_microseconds(microseconds)
    }

    #[test]
    fn a_shaper_is_asked_when_it_wants() {
        let mut shaper = Shaper { packet: None, ready_at: at(30), poll_at: Some(at(30)) };
        let (mut log, mut rng, mut line) = (Log::default(), rng(), Line::new(Rate::megabits(8)));
        line.arrive(Numbered(1, 100), at(10), &mut shaper, &mut rng, &mut log);
        assert_eq!(line.next(), Some(at(30)));
        line.run_until(at(29), &mut shaper, &mut rng, &mut log);
        assert_eq!(line.next(), Some(at(30)));
        line.run_until(at(30), &mut shaper, &mut rng, &mut log);
        // Its packet is on the line; the time at which it wanted to be asked has passed.
        assert_eq!(line.next(), Some(at(130)));
        line.run_until(at(130), &mut shaper, &mut rng, &mut log);
        assert_eq!((line.next(), log.events), (None, alloc::vec![(130, 1)]));
    }

    #[test]
    fn a_queue_is_not_asked_again_at_once() {
        let mut rng = rng();
        let mut next = |poll_at| {
            let mut shaper = Shaper { packet: None, ready_at: Time::NEVER, poll_at };
            let mut line = Line::new(Rate::megabits(8));
            line.arrive(Numbered(1, 100), at(10), &mut shaper, &mut rng, &mut Log::default());
            line.next()
        };
        let soon = at(10) + Span::from_picoseconds(1);
        for (poll_at, expected) in [(None, None), (Some(at(9)), None), (Some(at(10)), None), (Some(soon), Some(soon))] {
            assert_eq!(next(poll_at), expected, "{poll_at:?}");
        }
    }

    #[test]
    fn a_transmission_without_end_is_due_never() {
        let (mut queue, mut log, mut rng) = (drop_tail(1), Log::default(), rng());
        let mut line = Line::new(Rate::new(1).unwrap());
        line.arrive(Numbered(1, u32::MAX), Time::ZERO, &mut *queue, &mut rng, &mut log);
        assert_eq!(line.next(), Some(Time::NEVER));
    }
}
