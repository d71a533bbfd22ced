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

/// Packets with the times at which they came.
#[derive(Clone, Debug)]
pub(crate) struct TimedFifo<P> {
    packets: VecDeque<(P, Time)>,
    backlog: Backlog,
}

impl<P: Packet> TimedFifo<P> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { packets: VecDeque::new(), backlog: Backlog::default() }
    }

    /// Appends a packet that came at `now`.
    pub fn push(&mut self, packet: P, now: Time) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len_bytes());
        self.packets.push_back((packet, now));
    }

    /// The queued packets and bytes.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl<P: Packet> TimedQueue<P> for TimedFifo<P> {
    fn pop(&mut self) -> Option<(P, Time)> {
        let (packet, came_at) = self.packets.pop_front()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len_bytes());
        Some((packet, came_at))
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
}
