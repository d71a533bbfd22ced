//! The input side of a switch with one queue at each input: the reference that shows head-of-line blocking.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use rand_core::Rng;

use crate::port_set::{all, draw_member, members, only};
use crate::{MAX_PORTS, Matching};

/// A FIFO at each input. Only the packet at its head can cross. While that one waits for its output, those behind it
/// wait as well, though theirs may be idle. Under full uniform load, a large switch has 2 - sqrt(2) = 58.6 % of its
/// throughput (M. Karol, M. Hluchyj and S. Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch",
/// IEEE Transactions on Communications 35(12), 1987).
#[derive(Clone, Debug)]
pub struct InputFifos<P> {
    queues: Vec<VecDeque<(u8, P)>>,
    /// The inputs whose head is for an output, by output.
    heads_for: Vec<u64>,
    packets: u64,
    limit: usize,
}

impl<P> InputFifos<P> {
    /// Empty queues for this many `ports`, each of which holds at most `limit` packets.
    ///
    /// # Panics
    /// Unless `ports` is between 1 and [`MAX_PORTS`].
    #[must_use]
    pub fn new(ports: usize, limit: Option<u32>) -> Self {
        assert!((1..=MAX_PORTS).contains(&ports), "a switch has 1 to {MAX_PORTS} ports, not {ports}");
        let queues = (0..ports).map(|_| VecDeque::new()).collect();
        Self { queues, heads_for: vec![0; ports], packets: 0, limit: limit.map_or(usize::MAX, |limit| limit as usize) }
    }

    /// A packet comes to `input` for `output`.
    ///
    /// # Errors
    /// The packet itself, when the input's queue is full.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn push(&mut self, input: usize, output: usize, packet: P) -> Result<(), P> {
        assert!(output < self.ports(), "there is no output {output}");
        let queue = &mut self.queues[input];
        if queue.len() >= self.limit {
            return Err(packet);
        }
        if queue.is_empty() {
            self.heads_for[output] |= only(input);
        }
        queue.push_back((output as u8, packet));
        self.packets += 1;
        Ok(())
    }

    /// The head of `input` leaves for its output, which is given with it.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn pop(&mut self, input: usize) -> Option<(usize, P)> {
        let (output, packet) = self.queues[input].pop_front()?;
        let output = usize::from(output);
        self.packets -= 1;
        self.heads_for[output] &= !only(input);
        if let Some((next, _)) = self.queues[input].front() {
            self.heads_for[usize::from(*next)] |= only(input);
        }
        Some((output, packet))
    }

    /// One scheduling phase: each output of `outputs`, the set of those that may receive, is joined to one of the
    /// inputs whose head is for it, drawn at random.
    pub fn phase(&self, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching) {
        matching.clear();
        for output in members(outputs & all(self.ports())) {
            if let Some(input) = draw_member(self.heads_for[output], rng) {
                matching.connect(input, output);
            }
        }
    }

    /// The number of ports on each side of the switch.
    #[must_use]
    pub fn ports(&self) -> usize {
        self.queues.len()
    }

    /// Packets at `input`.
    #[must_use]
    pub fn length(&self, input: usize) -> usize {
        self.queues[input].len()
    }

    /// The outputs of the packets at `input`, from the head on.
    pub fn outputs(&self, input: usize) -> impl Iterator<Item = usize> {
        self.queues[input].iter().map(|(output, _)| usize::from(*output))
    }

    /// Packets in all queues together.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.packets
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Bytes of memory that the queues and their counters take now, room for packets included.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        let packets: usize = self.queues.iter().map(|queue| queue.capacity() * size_of::<(u8, P)>()).sum();
        let queues = self.queues.capacity() * size_of::<VecDeque<(u8, P)>>();
        (size_of::<Self>() + queues + packets + self.heads_for.capacity() * size_of::<u64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::rng;

    #[test]
    fn the_head_blocks_what_is_behind_it() {
        let mut fifos = InputFifos::new(2, Some(2));
        assert_eq!([fifos.push(0, 0, 'a'), fifos.push(0, 1, 'b'), fifos.push(0, 1, 'c')], [Ok(()), Ok(()), Err('c')]);
        assert_eq!(fifos.push(1, 0, 'd'), Ok(()));
        let (mut rng, mut matching) = (rng(1), Matching::new(2));
        // Output 1 stays idle in either case, although `b` waits for it.
        fifos.phase(u64::MAX, &mut rng, &mut matching);
        assert_eq!((matching.len(), matching.input_of(1)), (1, None));
        assert_eq!((fifos.pop(0), fifos.len()), (Some((0, 'a')), 2));
        fifos.phase(u64::MAX, &mut rng, &mut matching);
        assert_eq!(matching.pairs().collect::<Vec<_>>(), [(0, 1), (1, 0)]);
        fifos.phase(0b10, &mut rng, &mut matching);
        assert_eq!(matching.pairs().collect::<Vec<_>>(), [(0, 1)]);
        assert_eq!([fifos.pop(0), fifos.pop(1), fifos.pop(1)], [Some((1, 'b')), Some((0, 'd')), None]);
        assert!(fifos.is_empty());
    }

    #[test]
    fn the_winner_is_drawn() {
        let mut fifos = InputFifos::new(4, None);
        (0..4).for_each(|input| fifos.push(input, 2, ()).unwrap());
        let (mut rng, mut matching, mut wins) = (rng(1), Matching::new(4), [0_u32; 4]);
        for _ in 0..40_000 {
            fifos.phase(u64::MAX, &mut rng, &mut matching);
            wins[matching.input_of(2).unwrap()] += 1;
        }
        // Binomial with p = 1/4: one standard deviation is 87.
        assert!(wins.iter().all(|count| count.abs_diff(10_000) < 350), "{wins:?}");
    }
    #[test]
    fn lengths_count_what_waits() {
        let mut fifos = InputFifos::new(2, None);
        assert_eq!((fifos.length(0), fifos.is_empty()), (0, true));
        for packet in 0..3 {
            fifos.push(1, 0, packet).unwrap();
        }
        assert_eq!((fifos.length(0), fifos.length(1), fifos.len(), fifos.is_empty()), (0, 3, 3, false));
        fifos.push(1, 1, 3).unwrap();
        assert_eq!(fifos.outputs(1).collect::<Vec<_>>(), [0, 0, 0, 1]);
    }
}
