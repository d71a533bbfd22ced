//! A FIFO queue with a limit, for disciplines that decide when a packet leaves.

use alloc::collections::VecDeque;

use crate::limit::Limit;
use crate::{Backlog, Packet};

/// Packets in the order of arrival, and the limit of what may wait.
#[derive(Clone, Debug)]
pub(crate) struct LimitedFifo<P> {
    limit: Limit,
    packets: VecDeque<P>,
    backlog: Backlog,
}

impl<P: Packet> LimitedFifo<P> {
    /// An empty queue.
    pub fn new(limit: Limit) -> Self {
        Self { limit, packets: VecDeque::new(), backlog: Backlog::default() }
    }

    /// Whether a packet of `len_bytes` fits.
    pub fn fits(&self, len_bytes: u32) -> bool {
        self.limit.fits(self.backlog, len_bytes)
    }

    /// Whether one of `len_bytes` fits in place of the last packet, which has `last_bytes`.
    pub fn fits_in_place_of(&self, last_bytes: u32, len_bytes: u32) -> bool {
        let mut rest = self.backlog;
        rest.remove(last_bytes);
        self.limit.fits(rest, len_bytes)
    }

    /// Appends a packet of `len_bytes`, which must fit.
    pub fn push(&mut self, packet: P, len_bytes: u32) {
        self.backlog.add(len_bytes);
        self.packets.push_back(packet);
    }

    /// Takes the first packet out.
    pub fn pop(&mut self) -> Option<P> {
        let first = self.packets.pop_front()?;
        self.backlog.remove(first.len_bytes());
        Some(first)
    }

    /// The last packet.
    pub fn last(&self) -> Option<&P> {
        self.packets.back()
    }

    /// Takes the last packet out, which has `len_bytes`.
    pub fn pop_last(&mut self, len_bytes: u32) -> Option<P> {
        let last = self.packets.pop_back()?;
        self.backlog.remove(len_bytes);
        Some(last)
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The queued packets and bytes.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The packets, the first one first.
    #[cfg(test)]
    pub fn packets(&self) -> impl Iterator<Item = &P> {
        self.packets.iter()
    }
}
