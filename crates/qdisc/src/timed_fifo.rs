//! A FIFO queue that stores the arrival time of each packet, for disciplines that act on delay.

use alloc::collections::VecDeque;

use crate::{Backlog, Packet, Time};

/// A FIFO queue as a law at its head sees it.
pub(crate) trait TimedQueue<P> {
    /// Takes the first packet out, with the time at which it came.
    fn pop(&mut self) -> Option<(P, Time)>;

    /// Bytes of the packets in it.
    fn bytes(&self) -> u64;
}

/// Packets with the times at which they came, and a tag for each if a law needs one.
#[derive(Clone, Debug)]
pub(crate) struct TimedFifo<P, T = ()> {
    packets: VecDeque<(P, Time, T)>,
    backlog: Backlog,
}

impl<P: Packet> TimedFifo<P> {
    /// Appends a packet that came at `now`.
    pub fn push(&mut self, packet: P, now: Time) {
        self.push_tagged(packet, now, ());
    }
}

impl<P: Packet, T> TimedFifo<P, T> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog::default() }
    }

    /// Appends a packet that came at `now`, with its tag.
    pub fn push_tagged(&mut self, packet: P, now: Time, tag: T) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len_bytes());
        self.packets.push_back((packet, now, tag));
    }

    /// Takes the first packet out, with the time at which it came and its tag.
    pub fn pop_tagged(&mut self) -> Option<(P, Time, T)> {
        let first = self.packets.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(first.0.len_bytes());
        Some(first)
    }

    /// When the first packet came.
    pub fn head(&self) -> Option<Time> {
        self.packets.front().map(|(_, came_at, _)| *came_at)
    }

    /// The queued packets and bytes.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl<P: Packet> TimedQueue<P> for TimedFifo<P> {
    fn pop(&mut self) -> Option<(P, Time)> {
        self.pop_tagged().map(|(packet, came_at, ())| (packet, came_at))
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
}
