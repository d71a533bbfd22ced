//! A queue that can be replaced under load: queued packets are not lost, and keep their places.

use std::collections::VecDeque;

use forebay_qdisc::{Backlog, Cx, Discipline, FlowKey, Served};

use crate::packet::LivePacket;

type Queue = Box<dyn Discipline<LivePacket>>;

/// A discipline, and those before it that still hold packets.
///
/// After a change, arrivals go to the new discipline, and the line is served from the old ones until they are empty, in
/// the order in which they were replaced. So no packet is dropped by the change, none overtakes another one of an older
/// queue, and the new discipline starts with a queue that it has seen from the first packet.
pub struct HandoverQueue {
    current: Queue,
    draining: VecDeque<Queue>,
}

impl HandoverQueue {
    /// The most replaced disciplines that may still hold packets.
    pub const MOST_DRAINING: usize = 32;

    /// A queue that has not been replaced.
    #[must_use]
    pub fn new(discipline: Queue) -> Self {
        Self { current: discipline, draining: VecDeque::new() }
    }

    /// Puts `discipline` in the place of the current one.
    ///
    /// # Errors
    /// Gives it back if too many of those replaced before still hold packets.
    pub fn replace(&mut self, discipline: Queue) -> Result<(), Queue> {
        if self.draining.len() >= Self::MOST_DRAINING {
            return Err(discipline);
        }
        let replaced = std::mem::replace(&mut self.current, discipline);
        if replaced.backlog() != Backlog::default() {
            self.draining.push_back(replaced);
        }
        Ok(())
    }

    /// The queue to call: the discipline itself, or this while replaced ones still hold packets.
    #[inline]
    pub fn working(&mut self) -> &mut dyn Discipline<LivePacket> {
        if self.draining.is_empty() { &mut *self.current } else { self }
    }

    /// Packets that wait in disciplines which were replaced.
    #[must_use]
    pub fn draining_packets(&self) -> u64 {
        self.draining.iter().map(|queue| queue.backlog().packets).sum()
    }
}

impl Discipline<LivePacket> for HandoverQueue {
    fn enqueue(&mut self, packet: LivePacket, cx: &mut Cx<'_, LivePacket>) {
        self.current.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_, LivePacket>) -> Served<LivePacket> {
        while let Some(first) = self.draining.front_mut() {
            let served = first.dequeue(cx);
            // A shaper may hold packets that are not due: younger ones do not overtake them.
            if !matches!(served, Served::Idle) || first.backlog().packets > 0 {
                return served;
            }
            self.draining.pop_front();
        }
        self.current.dequeue(cx)
    }

    fn backlog(&self) -> Backlog {
        let all = self.draining.iter().chain([&self.current]);
        all.map(|queue| queue.backlog()).fold(Backlog::default(), |sum, one| Backlog {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
        })
    }

    fn state_bytes(&self) -> u64 {
        self.draining.iter().chain([&self.current]).map(|queue| queue.state_bytes()).sum()
    }

    fn gauges(&self, visit: &mut dyn FnMut(&'static str, f64)) {
        self.current.gauges(visit);
    }

    fn flow_gauges(&self, flow: FlowKey, visit: &mut dyn FnMut(&'static str, f64)) {
        self.current.flow_gauges(flow, visit);
    }
}
