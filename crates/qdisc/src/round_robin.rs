//! A fixed number of packet queues that take turns at the link, packet by packet or by a quantum of bytes.

use alloc::vec;
use alloc::vec::Vec;

use forebay_units::Bytes;

use crate::memory::heap_bytes;
use crate::{Backlog, Packet};

/// No node, no queue: the end of a list.
const NONE: u32 = u32::MAX;

/// A place for a packet. The packets of all queues are in one pool, so that what a queue held once is there for all.
#[derive(Clone, Debug)]
struct Node<P> {
    /// Absent while the node is free.
    packet: Option<P>,
    previous: u32,
    next: u32,
}

/// One of the queues, and its place in the round.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
    backlog: Backlog,
    /// Bytes that it may still send in its turn; it may go below zero by one packet, which the next turn repays.
    allotment: i64,
    previous: u32,
    next: u32,
}

const EMPTY: Queue = Queue {
    first: NONE,
    last: NONE,
    backlog: Backlog { packets: 0, bytes: 0 },
    allotment: 0,
    previous: NONE,
    next: NONE,
};

/// Queues that take turns. A queue that gets its first packet joins the end of the round with a full allotment, and
/// keeps its turn while any of that is left. A queue that runs empty leaves the round and loses its credit or debt.
/// Every change is O(1), and nothing is allocated once the pool has grown to the most packets held at a time.
#[derive(Clone, Debug)]
pub(crate) struct RoundRobin<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    queues: Vec<Queue>,
    backlog: Backlog,
    /// The round: whose turn it is, the last, and how many there are.
    turn: u32,
    end: u32,
    active: u32,
    quantum: i64,
    by_bytes: bool,
}

impl<P: Packet> RoundRobin<P> {
    /// This many empty `queues`, each served one packet a turn, or by a `quantum` of bytes (at least 1 and below 2^63).
    pub fn new(queues: u32, quantum: Option<Bytes>) -> Self {
        Self {
            nodes: Vec::new(),
            free: NONE,
            queues: vec![EMPTY; queues as usize],
            backlog: Backlog::default(),
            turn: NONE,
            end: NONE,
            active: 0,
            quantum: quantum.map_or(1, |quantum| quantum.0 as i64),
            by_bytes: quantum.is_some(),
        }
    }

    /// The packets and bytes of all queues.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// The packets and bytes of `queue`.
    pub fn backlog_of(&self, queue: u32) -> Backlog {
        self.queues[queue as usize].backlog
    }

    /// Number of queues that hold packets.
    pub fn active(&self) -> u32 {
        self.active
    }

    /// Bytes that the queues' own state holds on the heap; the pool of packets does not count.
    pub fn heap_bytes(&self) -> u64 {
        heap_bytes(&self.queues)
    }

    /// Puts a packet at the end of `queue`.
    pub fn push_back(&mut self, queue: u32, packet: P) {
        let node = match self.free {
            NONE => {
                self.nodes.push(Node { packet: Some(packet), previous: NONE, next: NONE });
                (self.nodes.len() - 1) as u32
            }
            node => {
                self.free = self.nodes[node as usize].next;
                self.nodes[node as usize].packet = Some(packet);
                node
            }
        };
        self.attach(queue, node);
    }

    /// The next packet in the order of turns, and its queue.
    pub fn pop(&mut self) -> Option<(u32, P)> {
        let (queue, node) = self.detach_next()?;
        Some((queue, self.free(node)?))
    }

    /// Takes the first packet of `queue` out of turn.
    pub fn take_first(&mut self, queue: u32) -> Option<P> {
        let node = self.queues[queue as usize].first;
        self.take(queue, node)
    }

    /// Takes the last packet of `queue` out of turn.
    pub fn take_last(&mut self, queue: u32) -> Option<P> {
        let node = self.queues[queue as usize].last;
        self.take(queue, node)
    }

    /// Assigns every packet to a queue again, in the order in which they would have been sent. For each packet and the
    /// queues assigned so far, `place` returns a queue, or none if the packet goes to `refused`. Packets of an old
    /// queue that come to the same new queue keep their order.
    pub fn rearrange(&mut self, place: impl Fn(&Self, &P) -> Option<u32>, mut refused: impl FnMut(P)) {
        let (mut chain, mut last) = (NONE, NONE);
        while let Some((_, node)) = self.detach_next() {
            match last {
                NONE => chain = node,
                last => self.nodes[last as usize].next = node,
            }
            last = node;
        }
        while chain != NONE {
            let node = chain;
            chain = self.nodes[node as usize].next;
            let packet = self.nodes[node as usize].packet.as_ref();
            match packet.and_then(|packet| place(self, packet)) {
                Some(queue) => self.attach(queue, node),
                None => self.free(node).into_iter().for_each(&mut refused),
            }
        }
    }

    /// Ends the turns of queues that have used up their allotment, and takes the first packet of the one whose turn it
    /// then is.
    fn detach_next(&mut self) -> Option<(u32, u32)> {
        while self.turn != NONE {
            let turn = self.turn;
            let queue = &self.queues[turn as usize];
            if queue.allotment > 0 {
                let node = queue.first;
                let used = if self.by_bytes { i64::from(self.len_bytes(node)) } else { 1 };
                self.queues[turn as usize].allotment -= used;
                self.detach(turn, node);
                return Some((turn, node));
            }
            self.queues[turn as usize].allotment += self.quantum;
            self.leave_round(turn);
            self.join_round(turn);
        }
        None
    }

    fn take(&mut self, queue: u32, node: u32) -> Option<P> {
        if node == NONE {
            return None;
        }
        self.detach(queue, node);
        self.free(node)
    }

    fn len_bytes(&self, node: u32) -> u32 {
        self.nodes[node as usize].packet.as_ref().map_or(0, P::len_bytes)
    }

    fn attach(&mut self, queue: u32, node: u32) {
        let len_bytes = u64::from(self.len_bytes(node));
        let state = &mut self.queues[queue as usize];
        let last = core::mem::replace(&mut state.last, node);
        state.backlog.packets += 1;
        state.backlog.bytes += len_bytes;
        self.backlog.packets += 1;
        self.backlog.bytes += len_bytes;
        self.nodes[node as usize].previous = last;
        self.nodes[node as usize].next = NONE;
        if last == NONE {
            state.first = node;
            state.allotment = self.quantum;
            self.active += 1;
            self.join_round(queue);
        } else {
            self.nodes[last as usize].next = node;
        }
    }

    /// Takes `node` out of `queue`; it belongs to no list then, and still holds its packet.
    fn detach(&mut self, queue: u32, node: u32) {
        let len_bytes = u64::from(self.len_bytes(node));
        let Node { previous, next, .. } = self.nodes[node as usize];
        let state = &mut self.queues[queue as usize];
        state.backlog.packets -= 1;
        state.backlog.bytes -= len_bytes;
        self.backlog.packets -= 1;
        self.backlog.bytes -= len_bytes;
        match previous {
            NONE => state.first = next,
            previous => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => state.last = previous,
            next => self.nodes[next as usize].previous = previous,
        }
        self.nodes[node as usize].next = NONE;
        if previous == NONE && next == NONE {
            self.active -= 1;
            self.leave_round(queue);
        }
    }

    /// Gives a node back to the pool; its packet.
    fn free(&mut self, node: u32) -> Option<P> {
        self.nodes[node as usize].next = core::mem::replace(&mut self.free, node);
        self.nodes[node as usize].packet.take()
    }

    fn join_round(&mut self, queue: u32) {
        let end = core::mem::replace(&mut self.end, queue);
        self.queues[queue as usize].previous = end;
        self.queues[queue as usize].next = NONE;
        match end {
            NONE => self.turn = queue,
            end => self.queues[end as usize].next = queue,
        }
    }

    fn leave_round(&mut self, queue: u32) {
        let Queue { previous, next, .. } = self.queues[queue as usize];
        match previous {
            NONE => self.turn = next,
            previous => self.queues[previous as usize].next = next,
        }
        match next {
            NONE => self.end = previous,
            next => self.queues[next as usize].previous = previous,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::test_support::Labelled;

    fn packet(label: u32, len_bytes: u32) -> Labelled {
        Labelled::new(label, 0, len_bytes, 0)
    }

    fn drain(queues: &mut RoundRobin<Labelled>) -> Vec<u32> {
        core::iter::from_fn(|| queues.pop().map(|(_, packet)| packet.label)).collect()
    }

    #[test]
    fn one_packet_a_turn() {
        let mut queues = RoundRobin::new(3, None);
        for (label, queue) in [(1, 2), (2, 2), (3, 2), (4, 0), (5, 1), (6, 1)] {
            queues.push_back(queue, packet(label, 100 * label));
        }
        assert_eq!(queues.backlog(), Backlog { packets: 6, bytes: 2100 });
        assert_eq!(drain(&mut queues), [1, 4, 5, 2, 6, 3]);
        assert_eq!((queues.backlog(), queues.active()), (Backlog::default(), 0));
    }

    #[test]
    fn a_turn_lasts_until_the_quantum_is_used_up() {
        let mut queues = RoundRobin::new(2, Some(Bytes(1000)));
        for label in 0..6 {
            queues.push_back(0, packet(label, 600));
            queues.push_back(1, packet(10 + label, 1500));
        }
        // Queue 0 may send 1000 B, then 800, 600 and, having used just that, 1000; queue 1 1000, 500, then none at 0.
        assert_eq!(drain(&mut queues)[..8], [0, 1, 10, 2, 3, 11, 4, 5]);
    }

    #[test]
    fn a_quantum_below_a_packet_takes_more_rounds() {
        let mut queues = RoundRobin::new(2, Some(Bytes(100)));
        for (label, queue, len_bytes) in [(1, 0, 1000), (2, 0, 100), (3, 1, 150), (4, 1, 150), (5, 1, 150)] {
            queues.push_back(queue, packet(label, len_bytes));
        }
        assert_eq!(drain(&mut queues), [1, 3, 4, 5, 2]);
    }

    #[test]
    fn rearranging_keeps_the_order_of_departure_and_gives_back_what_is_refused() {
        let mut queues = RoundRobin::new(4, None);
        for label in 0..9 {
            queues.push_back(label % 3, packet(label, 100));
        }
        let mut refused = Vec::new();
        let room = |queues: &RoundRobin<Labelled>| queues.backlog_of(3).packets < 5;
        queues.rearrange(|queues, _| room(queues).then_some(3), |packet| refused.push(packet.label));
        assert_eq!(drain(&mut queues), [0, 1, 2, 3, 4]);
        assert_eq!(refused, [5, 6, 7, 8]);
    }

    proptest! {
        /// Against a model: a FIFO for each queue, and each queue's packets come in order.
        #[test]
        fn every_queue_is_a_fifo(
            operations in prop::collection::vec((0_u8..6, 0_u32..4, 1_u32..2000), 0..300),
            quantum in prop::option::of(1_u64..3000),
        ) {
            let mut queues = RoundRobin::new(4, quantum.map(Bytes));
            let mut model: [VecDeque<u32>; 4] = Default::default();
            for (label, (operation, queue, len_bytes)) in operations.into_iter().enumerate() {
                let label = label as u32;
                let fifo = &mut model[queue as usize];
                match operation {
                    0..=2 => {
                        queues.push_back(queue, packet(label, len_bytes));
                        fifo.push_back(label);
                    }
                    3 => prop_assert_eq!(queues.take_first(queue).map(|packet| packet.label), fifo.pop_front()),
                    4 => prop_assert_eq!(queues.take_last(queue).map(|packet| packet.label), fifo.pop_back()),
                    _ => match queues.pop() {
                        Some((queue, packet)) => {
                            prop_assert_eq!(Some(packet.label), model[queue as usize].pop_front());
                        }
                        None => prop_assert!(model.iter().all(VecDeque::is_empty)),
                    },
                }
                let held: Vec<u64> = (0..4).map(|queue| queues.backlog_of(queue).packets).collect();
                let expected: Vec<u64> = model.iter().map(|fifo| fifo.len() as u64).collect();
                prop_assert_eq!(queues.active() as usize, held.iter().filter(|packets| **packets > 0).count());
                prop_assert_eq!(queues.backlog().packets, held.iter().sum::<u64>());
                prop_assert_eq!(held, expected);
            }
            prop_assert_eq!(drain(&mut queues).len(), model.iter().map(VecDeque::len).sum::<usize>());
            prop_assert_eq!(queues.backlog(), Backlog::default());
        }
    }
}
