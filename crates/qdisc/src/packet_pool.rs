//! Packets of many FIFO queues in one pool, with the times at which they came.

use alloc::vec::Vec;

use crate::{Packet, Time};

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A place for a packet.
#[derive(Clone, Debug)]
struct Node<P> {
    /// Absent while the node is free.
    packet: Option<P>,
    came_at: Time,
    next: u32,
}

/// Places for the packets of all queues, reused last-freed first: nothing is allocated once there are as many as
/// packets were ever held at a time.
#[derive(Clone, Debug)]
pub(crate) struct PacketPool<P> {
    nodes: Vec<Node<P>>,
    free: u32,
}

/// One FIFO queue in the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
    len: u32,
    bytes: u64,
}

impl Chain {
    /// A queue without packets.
    pub const EMPTY: Self = Self { first: NONE, last: NONE, len: 0, bytes: 0 };

    /// Number of packets in it.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Bytes of the packets in it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl<P: Packet> PacketPool<P> {
    /// An empty pool.
    pub fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE }
    }

    /// Appends a packet that came at `now` to `chain`.
    pub fn push(&mut self, chain: &mut Chain, packet: P, now: Time) {
        chain.len += 1;
        chain.bytes += u64::from(packet.len_bytes());
        let node = Node { packet: Some(packet), came_at: now, next: NONE };
        let place = match self.free {
            NONE => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
            free => {
                self.free = core::mem::replace(&mut self.nodes[free as usize], node).next;
                free
            }
        };
        match core::mem::replace(&mut chain.last, place) {
            NONE => chain.first = place,
            last => self.nodes[last as usize].next = place,
        }
    }

    /// Takes the first packet out of `chain`, with the time at which it came.
    pub fn pop(&mut self, chain: &mut Chain) -> Option<(P, Time)> {
        let node = self.nodes.get_mut(chain.first as usize)?;
        let packet = node.packet.take()?;
        let came_at = node.came_at;
        let next = core::mem::replace(&mut node.next, self.free);
        self.free = core::mem::replace(&mut chain.first, next);
        if next == NONE {
            chain.last = NONE;
        }
        chain.len -= 1;
        chain.bytes -= u64::from(packet.len_bytes());
        Some((packet, came_at))
    }
}
