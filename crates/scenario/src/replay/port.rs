//! One port: a queue, and a line that sends at a rate.

use forebay_qdisc::{Cx, Discipline, Rate, Rng, Time};

use super::arrivals::{Arrivals, CapturedPacket};
use super::books::Books;
use super::error::ReplayError;

/// A port in the middle of a replay.
pub struct Port<'q> {
    rate: Rate,
    queue: &'q mut dyn Discipline<CapturedPacket>,
    rng: &'q mut dyn Rng,
    /// What is on the line, and when its last bit leaves.
    sending: Option<(CapturedPacket, Time)>,
    /// When to ask the queue again although the line is idle.
    poll_at: Option<Time>,
    /// What became of the packets.
    pub books: Books,
}

impl<'q> Port<'q> {
    /// An idle port.
    pub fn new(rate: Rate, queue: &'q mut dyn Discipline<CapturedPacket>, rng: &'q mut dyn Rng) -> Self {
        Self { rate, queue, rng, sending: None, poll_at: None, books: Books::default() }
    }

    /// Sends all arrivals through. At equal times the line comes first, then the queue's own timer, then the arrival: a
    /// packet that arrives as another begins to leave finds the room that it leaves.
    ///
    /// # Errors
    /// What is wrong with the capture; books that do not balance.
    pub fn run(&mut self, arrivals: &mut Arrivals<'_>) -> Result<(), ReplayError> {
        let mut next = arrivals.next_packet()?;
        loop {
            let arrival_at = next.map_or(Time::NEVER, |packet| packet.time);
            let port_at = self.sending.map(|(_, end)| end).or(self.poll_at);
            if let Some(at) = port_at
                && at <= arrival_at
            {
                if at == Time::NEVER {
                    return Err(ReplayError::TooLong);
                }
                self.books.now = at;
                if let Some((packet, _)) = self.sending.take() {
                    self.books.deliver(&packet);
                }
                self.send_next()?;
            } else if let Some(packet) = next {
                self.arrive(packet)?;
                next = arrivals.next_packet()?;
            } else {
                return self.books.check(self.queue.backlog()).map_err(ReplayError::Invariant);
            }
        }
    }

    fn arrive(&mut self, packet: CapturedPacket) -> Result<(), ReplayError> {
        self.books.now = packet.time;
        self.books.arrive(&packet);
        self.queue.enqueue(packet, &mut Cx { now: packet.time, rng: &mut *self.rng, sink: &mut self.books });
        self.books.observe(&packet, &*self.queue);
        if self.sending.is_none() { self.send_next() } else { Ok(()) }
    }

    /// The line is free: takes the next packet, or the time to ask again.
    fn send_next(&mut self) -> Result<(), ReplayError> {
        let now = self.books.now;
        match self.queue.dequeue(&mut Cx { now, rng: &mut *self.rng, sink: &mut self.books }) {
            Some(packet) => {
                let end = now.saturating_add(self.rate.transmission_time(u64::from(packet.len_bytes)));
                self.sending = Some((packet, end));
                self.poll_at = None;
            }
            None => {
                self.poll_at = self.queue.poll_at();
                if self.poll_at.is_some_and(|at| at <= now) {
                    return Err(ReplayError::Invariant(format!("the queue withholds a packet that is due at {now}")));
                }
            }
        }
        Ok(())
    }
}
