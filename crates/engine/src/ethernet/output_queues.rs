//! The queue of one output of an Ethernet switch, by class and, for round-robin, by input.

use crate::driver::ring::Ring;
use crate::ethernet::class_turns::{ClassTurns, Classes};
use crate::packet::Packet;
use crate::spec::Arbiter;

#[derive(Debug)]
pub(crate) struct OutputQueues {
    /// Indexed by class, then by input. One per class under FIFO.
    queues: Vec<Ring<Packet>>,
    /// Queues per class.
    inputs: usize,
    /// Where the round-robin search for an input begins, by class.
    next_input: Vec<usize>,
    turns: ClassTurns,
    /// The classes with frames.
    occupied: Classes,
    len: u64,
}

impl OutputQueues {
    pub fn new(arbiter: Arbiter, ports: usize, classes: usize, strict_priority: bool) -> Self {
        let inputs = match arbiter {
            Arbiter::Fifo => 1,
            Arbiter::RoundRobin => ports,
        };
        Self {
            queues: (0..inputs * classes).map(|_| Ring::default()).collect(),
            inputs,
            next_input: vec![0; classes],
            turns: ClassTurns::new(strict_priority),
            occupied: 0,
            len: 0,
        }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    pub fn occupied(&self) -> Classes {
        self.occupied
    }

    #[inline]
    pub fn push(&mut self, class: usize, input: usize, packet: Packet) {
        let input = if self.inputs == 1 { 0 } else { input };
        self.queues[class * self.inputs + input].push(packet);
        self.occupied |= 1 << class;
        self.len += 1;
    }

    /// Whether there is a single FIFO, so that later arrivals cannot go first.
    pub fn is_fifo(&self) -> bool {
        self.queues.len() == 1
    }

    /// The next frame of a FIFO.
    pub fn front(&self) -> Option<&Packet> {
        self.queues[0].front()
    }

    /// Puts a frame at the front of a FIFO.
    pub fn put_back(&mut self, packet: Packet) {
        self.queues[0].push_front(packet);
        self.occupied = 1;
        self.len += 1;
    }

    /// Takes the last frame of a class.
    pub fn pop_last(&mut self, class: usize) -> Option<Packet> {
        let first = class * self.inputs;
        let queues = &mut self.queues[first..first + self.inputs];
        let latest = queues.iter_mut().max_by_key(|queue| queue.back().map(|packet| packet.time))?;
        let packet = latest.pop_back()?;
        if queues.iter().all(|queue| queue.front().is_none()) {
            self.occupied &= !(1 << class);
        }
        self.len -= 1;
        Some(packet)
    }

    /// Takes the next frame of the classes in `may`.
    #[inline]
    pub fn pop(&mut self, may: Classes) -> Option<Packet> {
        if let [queue] = &mut self.queues[..]
            && may & 1 != 0
        {
            let packet = queue.pop()?;
            self.len -= 1;
            self.occupied = u8::from(queue.len() > 0);
            return Some(packet);
        }
        self.pop_in_turn(may)
    }

    fn pop_in_turn(&mut self, may: Classes) -> Option<Packet> {
        let candidates = self.occupied & may;
        if candidates == 0 {
            return None;
        }
        let class = self.turns.pick(candidates);
        self.turns.goes(class);
        let first = class * self.inputs;
        let queues = &mut self.queues[first..first + self.inputs];
        let input = if queues.len() == 1 {
            0
        } else {
            let from = self.next_input[class];
            let input = (from..from + queues.len()).map(|input| input % queues.len());
            let input = input.into_iter().find(|&input| queues[input].front().is_some())?;
            self.next_input[class] = (input + 1) % queues.len();
            input
        };
        let packet = queues[input].pop()?;
        if queues.iter().all(|queue| queue.front().is_none()) {
            self.occupied &= !(1 << class);
        }
        self.len -= 1;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use forebay_qdisc::{Ecn, Time};

    use super::*;
    use crate::packet::PacketFields;

    fn frame(number: u32) -> Packet {
        let (time, ecn) = (Time::ZERO, Ecn::NotCapable);
        Packet::new(PacketFields { time, stamp: 0, number, flow: 0, len_bytes: 1500, flags: 0, class: 0, ecn })
    }

    /// Pushes frames as (class, input). Returns their indices in the order of departure.
    fn order(mut queues: OutputQueues, frames: &[(usize, usize)], may: Classes) -> Vec<u32> {
        for (&(class, input), number) in frames.iter().zip(0..) {
            queues.push(class, input, frame(number));
        }
        let order: Vec<u32> = std::iter::from_fn(|| queues.pop(may)).map(|frame| frame.number()).collect();
        assert_eq!(queues.len(), (frames.len() - order.len()) as u64);
        order
    }

    #[test]
    fn fifo_keeps_the_order_of_arrival_and_round_robin_takes_inputs_in_turn() {
        let frames = [(0, 2), (0, 2), (0, 2), (0, 0), (0, 1), (0, 0)];
        assert_eq!(order(OutputQueues::new(Arbiter::Fifo, 3, 1, false), &frames, 0xff), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order(OutputQueues::new(Arbiter::RoundRobin, 3, 1, false), &frames, 0xff), [3, 4, 0, 5, 1, 2]);
    }

    #[test]
    fn the_highest_class_goes_first_where_priority_is_strict_else_classes_take_turns() {
        let frames = [(0, 0), (7, 0), (7, 0), (3, 0), (0, 0)];
        assert_eq!(order(OutputQueues::new(Arbiter::Fifo, 1, 8, true), &frames, 0xff), [1, 2, 3, 0, 4]);
        assert_eq!(order(OutputQueues::new(Arbiter::Fifo, 1, 8, false), &frames, 0xff), [0, 3, 1, 4, 2]);
    }

    #[test]
    fn the_last_frame_of_a_class_is_the_latest_of_all_inputs() {
        let mut queues = OutputQueues::new(Arbiter::RoundRobin, 3, 8, true);
        for (number, (class, input)) in (0..).zip([(3, 2), (3, 0), (7, 1), (3, 2), (3, 1)]) {
            queues.push(class, input, frame(number).at(Time::from_picoseconds(u64::from(number))));
        }
        let mut last = |class| queues.pop_last(class).map(|frame| frame.number());
        assert_eq!([3, 3, 3, 5, 7].map(&mut last), [Some(4), Some(3), Some(1), None, Some(2)]);
        assert_eq!((queues.len(), queues.occupied()), (1, 1 << 3));
    }

    #[test]
    fn a_class_that_may_not_go_stays() {
        let frames = [(0, 0), (7, 0), (3, 0)];
        assert_eq!(order(OutputQueues::new(Arbiter::Fifo, 1, 8, true), &frames, 0b1000_0001), [1, 0]);
        assert!(order(OutputQueues::new(Arbiter::Fifo, 1, 8, true), &frames, 0).is_empty());
    }
}
