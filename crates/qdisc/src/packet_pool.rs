//! Packets of many FIFO queues in one pool, with the times at which they came.

use alloc::vec::Vec;

use crate::{Packet, Time};

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A place for a packet, with a note of the owner.
#[derive(Clone, Debug)]
struct Node<P, N> {
    /// Absent while the node is free.
    packet: Option<P>,
    came_at: Time,
    next: u32,
    note: N,
}

/// Places for the packets of all queues, reused last-freed first: nothing is allocated once there are as many as
/// packets were ever held at a time.
#[derive(Clone, Debug)]
pub(crate) struct PacketPool<P, N = ()> {
    nodes: Vec<Node<P, N>>,
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
    /// Appends a packet that came at `now` to `chain`.
    pub fn push(&mut self, chain: &mut Chain, packet: P, now: Time) {
        self.push_noted(chain, packet, now, ());
    }

    /// Takes the first packet out of `chain`, with the time at which it came.
    pub fn pop(&mut self, chain: &mut Chain) -> Option<(P, Time)> {
        let (packet, came_at, ()) = self.take_after(chain, None)?;
        Some((packet, came_at))
    }
}

impl<P: Packet, N: Copy> PacketPool<P, N> {
    /// An empty pool.
    pub fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE }
    }

    /// Appends a packet that came at `now` to `chain`, with a `note`. Returns its place, which it keeps.
    pub fn push_noted(&mut self, chain: &mut Chain, packet: P, now: Time, note: N) -> usize {
        chain.len += 1;
        chain.bytes += u64::from(packet.len_bytes());
        let node = Node { packet: Some(packet), came_at: now, next: NONE, note };
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
        place as usize
    }

    /// The places of the packets of `chain`, from the first to the last.
    pub fn places(&self, chain: &Chain) -> impl Iterator<Item = usize> {
        let existing = |place: u32| Some(place as usize).filter(|_| place != NONE);
        core::iter::successors(existing(chain.first), move |&place| existing(self.nodes[place].next))
    }

    /// Takes the packet behind the one at `before` out of `chain`, or the first one, with the time at which it came and
    /// its note.
    pub fn take_after(&mut self, chain: &mut Chain, before: Option<usize>) -> Option<(P, Time, N)> {
        let place = before.map_or(chain.first, |before| self.nodes[before].next);
        let node = self.nodes.get_mut(place as usize)?;
        let packet = node.packet.take()?;
        let (came_at, note) = (node.came_at, node.note);
        let next = core::mem::replace(&mut node.next, self.free);
        self.free = place;
        match before {
            None => chain.first = next,
            Some(before) => self.nodes[before].next = next,
        }
        if next == NONE {
            chain.last = before.map_or(NONE, |before| before as u32);
        }
        chain.len -= 1;
        chain.bytes -= u64::from(packet.len_bytes());
        Some((packet, came_at, note))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::Labelled;

    type Pool = PacketPool<Labelled, u32>;

    fn labels(pool: &Pool, chain: &Chain) -> Vec<u32> {
        pool.places(chain).filter_map(|place| pool.nodes[place].packet.map(|packet| packet.label)).collect()
    }

    #[test]
    fn packets_leave_from_any_place_and_the_others_stay_in_order() {
        let (mut pool, mut chain, mut other) = (Pool::new(), Chain::EMPTY, Chain::EMPTY);
        for label in 0..5 {
            let packet = Labelled::new(label, 1, 100 + label, 0);
            pool.push_noted(&mut chain, packet, Time::ZERO, 10 * label);
            pool.push_noted(&mut other, packet, Time::ZERO, 0);
        }
        let places: Vec<usize> = pool.places(&chain).collect();
        let mut take = |chain: &mut Chain, before: Option<usize>| {
            pool.take_after(chain, before).map(|(packet, _, note)| (packet.label, note))
        };
        assert_eq!(take(&mut chain, Some(places[1])), Some((2, 20)));
        assert_eq!(take(&mut chain, None), Some((0, 0)));
        // The last: the next one that comes is behind 3.
        assert_eq!(take(&mut chain, Some(places[3])), Some((4, 40)));
        assert_eq!(take(&mut chain, Some(places[3])), None);
        pool.push_noted(&mut chain, Labelled::new(9, 1, 100, 0), Time::ZERO, 90);
        assert_eq!((labels(&pool, &chain), chain.len(), chain.bytes()), (alloc::vec![1, 3, 9], 3, 101 + 103 + 100));
        assert_eq!(labels(&pool, &other), [0, 1, 2, 3, 4]);
        // Places are used again.
        assert_eq!(pool.nodes.len(), 10);
    }
}
