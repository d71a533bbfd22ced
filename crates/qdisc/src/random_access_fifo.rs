//! A FIFO queue from which a packet can be drawn at random and taken out of the middle.
//!
//! A removed packet leaves a hole. A draw that hits a hole is repeated, so every packet stays exactly equally likely.
//! Holes are closed when they outnumber the packets, so that a draw takes at most two tries on average, and closing
//! costs O(1) for each packet taken.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use forebay_units::uniform_below;

use crate::Rng;

/// A FIFO queue with random access. Its first slot always holds a packet, unless it is empty.
#[derive(Clone, Debug)]
pub(crate) struct RandomAccessFifo<P> {
    slots: VecDeque<Option<P>>,
    holes: usize,
}

impl<P> RandomAccessFifo<P> {
    /// An empty queue.
    pub fn new() -> Self {
        Self { slots: VecDeque::new(), holes: 0 }
    }

    /// Whether it holds no packet.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Appends a packet.
    pub fn push_back(&mut self, packet: P) {
        self.slots.push_back(Some(packet));
    }

    /// Takes the first packet.
    pub fn pop_front(&mut self) -> Option<P> {
        let packet = self.slots.pop_front()?;
        self.close_holes();
        packet
    }

    /// A packet drawn at random, each with the same probability, and its position, which holds until one is removed.
    pub fn draw(&self, rng: &mut dyn Rng) -> Option<(usize, &P)> {
        if self.is_empty() {
            return None;
        }
        loop {
            let position = uniform_below(rng, self.slots.len() as u64) as usize;
            if let Some(packet) = &self.slots[position] {
                return Some((position, packet));
            }
        }
    }

    /// Takes out the packets at `positions`, in that order, and empties the list. A position that comes twice counts
    /// once.
    pub fn remove(&mut self, positions: &mut Vec<usize>, mut removed: impl FnMut(P)) {
        for position in positions.drain(..) {
            if let Some(packet) = self.slots.get_mut(position).and_then(Option::take) {
                self.holes += 1;
                removed(packet);
            }
        }
        self.close_holes();
    }

    /// Restores that the first slot is not a hole, and that there are no more holes than packets.
    fn close_holes(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.holes -= 1;
        }
        if 2 * self.holes > self.slots.len() {
            self.slots.retain(Option::is_some);
            self.holes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::test_support::rng;

    proptest! {
        #[test]
        fn agrees_with_a_list(operations in prop::collection::vec((0_u8..5, any::<[u16; 3]>()), 0..300)) {
            let mut queue = RandomAccessFifo::new();
            let mut list: Vec<usize> = Vec::new();
            let mut rng = rng();
            for (label, (operation, picks)) in operations.into_iter().enumerate() {
                match operation {
                    0 | 1 => {
                        queue.push_back(label);
                        list.push(label);
                    }
                    2 => {
                        let first = if list.is_empty() { None } else { Some(list.remove(0)) };
                        prop_assert_eq!(queue.pop_front(), first);
                    }
                    _ => {
                        let span = queue.slots.len();
                        let mut positions: Vec<usize> =
                            picks.iter().filter(|_| span > 0).map(|pick| usize::from(*pick) % span).collect();
                        queue.remove(&mut positions, |label| list.retain(|other| *other != label));
                    }
                }
                let held: Vec<usize> = queue.slots.iter().flatten().copied().collect();
                prop_assert_eq!(&held, &list);
                prop_assert_eq!(queue.holes, queue.slots.len() - list.len());
                prop_assert!(queue.holes <= list.len());
                prop_assert!(queue.slots.front().is_none_or(Option::is_some));
                let drawn = queue.draw(&mut rng).map(|(_, label)| *label);
                prop_assert!(drawn.map_or(list.is_empty(), |label| list.contains(&label)));
            }
        }
    }

    #[test]
    fn a_draw_is_uniform_over_the_packets_whatever_the_holes() {
        // 100 packets, of which 40 leave holes in clusters: 60 remain over 100 slots.
        let mut queue = RandomAccessFifo::new();
        (0..100).for_each(|label| queue.push_back(label));
        queue.remove(&mut (20..50).chain(80..90).collect(), |_| {});
        assert_eq!((queue.slots.len(), queue.holes), (100, 40));
        let (mut counts, mut rng) = (vec![0_u32; 100], rng());
        let draws = 600_000;
        for _ in 0..draws {
            counts[*queue.draw(&mut rng).unwrap().1] += 1;
        }
        let expected = f64::from(draws) / 60.0;
        let live =
            counts.iter().enumerate().filter(|(label, _)| !(20..50).contains(label) && !(80..90).contains(label));
        let chi_squared: f64 = live.map(|(_, count)| libm::pow(f64::from(*count) - expected, 2.0) / expected).sum();
        // 59 degrees of freedom: 98.3 is passed once in a thousand seeds.
        assert!(chi_squared < 98.3, "{chi_squared}");
        assert_eq!(counts.iter().sum::<u32>(), draws);
    }
}
