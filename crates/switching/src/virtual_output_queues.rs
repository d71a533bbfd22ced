//! The input side of a switch with a queue for each pair of an input and an output.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Occupancy;

/// Virtual output queues: at each input one FIFO for each output, so that no packet waits behind one for another
/// output. Each queue has the same limit, and an arrival to a full one is handed back (drop-tail).
#[derive(Clone, Debug)]
pub struct VirtualOutputQueues<P> {
    /// The queue of a pair, at `input * ports + output`.
    queues: Vec<VecDeque<P>>,
    occupancy: Occupancy,
    limit: u32,
}

impl<P> VirtualOutputQueues<P> {
    /// Empty queues for this many `ports`, each of which holds at most `limit` packets.
    ///
    /// # Panics
    /// Unless `ports` is between 1 and [`crate::MAX_PORTS`].
    #[must_use]
    pub fn new(ports: usize, limit: Option<u32>) -> Self {
        let occupancy = Occupancy::new(ports);
        let queues = (0..ports * ports).map(|_| VecDeque::new()).collect();
        Self { queues, occupancy, limit: limit.unwrap_or(u32::MAX) }
    }

    /// A packet comes to `input` for `output`.
    ///
    /// # Errors
    /// The packet itself, when its queue is full.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn push(&mut self, input: usize, output: usize, packet: P) -> Result<(), P> {
        if self.occupancy.length(input, output) >= self.limit {
            return Err(packet);
        }
        self.occupancy.increment(input, output);
        self.queues[input * self.occupancy.ports() + output].push_back(packet);
        Ok(())
    }

    /// The packet that waits longest at `input` for `output` leaves.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn pop(&mut self, input: usize, output: usize) -> Option<P> {
        let packet = self.queues[input * self.occupancy.ports() + output].pop_front()?;
        self.occupancy.decrement(input, output);
        Some(packet)
    }

    /// Which queues hold packets, and how many.
    #[must_use]
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// Packets in all queues together.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.occupancy.packets()
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.occupancy.is_empty()
    }

    /// Bytes of memory that the queues and their counters take now, room for packets included.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        let packets: usize = self.queues.iter().map(|queue| queue.capacity() * size_of::<P>()).sum();
        let queues = self.queues.capacity() * size_of::<VecDeque<P>>();
        (size_of::<Self>() + queues + packets) as u64 + self.occupancy.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_queue_has_its_own_limit() {
        let mut queues = VirtualOutputQueues::new(2, Some(3));
        let pushed: Vec<_> = (0..5).map(|label| queues.push(0, 1, label)).collect();
        assert_eq!(pushed, [Ok(()), Ok(()), Ok(()), Err(3), Err(4)]);
        assert_eq!(queues.push(0, 0, 9), Ok(()));
        assert_eq!(queues.push(1, 1, 9), Ok(()));
        assert_eq!((queues.len(), queues.occupancy().length(0, 1)), (5, 3));
        assert_eq!(queues.pop(0, 1), Some(0));
        assert_eq!(queues.push(0, 1, 5), Ok(()));
    }

    #[test]
    fn packets_of_a_pair_stay_in_order() {
        let mut queues = VirtualOutputQueues::new(3, None);
        for label in 0..6 {
            queues.push(2, label % 2, label).unwrap();
        }
        let popped: Vec<_> = [1, 1, 0, 1, 0, 0, 0].into_iter().map(|output| queues.pop(2, output)).collect();
        assert_eq!(popped, [Some(1), Some(3), Some(0), Some(5), Some(2), Some(4), None]);
        assert!(queues.is_empty() && queues.occupancy().is_empty());
    }

    #[test]
    fn memory_follows_the_packets() {
        let mut queues = VirtualOutputQueues::new(4, None);
        let empty = queues.state_bytes();
        (0..100_u64).for_each(|label| queues.push(1, 2, label).unwrap());
        assert!(queues.state_bytes() >= empty + 800);
    }
}
