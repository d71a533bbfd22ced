//! The ports of a set one after the other, in an order that changes now and then.

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::uniform_below;
use rand_core::Rng;

use crate::paths::{EqualPaths, PathPacket, StatefulPolicy};

/// Passes over the list before it is shuffled, as in htsim.
const PASSES: usize = 5;

/// A list for each set of equal paths.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    lists: Vec<List>,
}

/// The places of a set in the order of their use.
#[derive(Debug, Default)]
struct List {
    order: Box<[u32]>,
    next: usize,
    passes_left: usize,
}

impl List {
    fn take(&mut self, paths: usize, rng: &mut dyn Rng) -> usize {
        if self.order.len() != paths {
            self.order = (0..paths as u32).collect();
        }
        if self.next == 0 {
            if self.passes_left == 0 {
                self.passes_left = PASSES;
                shuffle(&mut self.order, rng);
            }
            self.passes_left -= 1;
        }
        let place = self.order[self.next];
        self.next = (self.next + 1) % paths;
        place as usize
    }
}

/// Fisher and Yates's shuffle: each permutation is equally likely.
fn shuffle(order: &mut [u32], rng: &mut dyn Rng) {
    for last in (1..order.len()).rev() {
        order.swap(last, uniform_below(rng, last as u64 + 1) as usize);
    }
}

impl StatefulPolicy for RoundRobin {
    fn choose(&mut self, _packet: &mut PathPacket, paths: EqualPaths<'_>, rng: &mut dyn Rng) -> usize {
        if self.lists.len() <= paths.set {
            self.lists.resize_with(paths.set + 1, List::default);
        }
        self.lists[paths.set].take(paths.ports.len(), rng)
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Time;
    use proptest::prelude::*;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn takes(policy: &mut RoundRobin, set: usize, ports: &[u32], count: usize, rng: &mut Pcg64Mcg) -> Vec<usize> {
        let mut packet = PathPacket { now: Time::ZERO, flow: 3, len_bytes: 1000, carried: None };
        (0..count).map(|_| policy.choose(&mut packet, EqualPaths { set, ports }, rng)).collect()
    }

    proptest! {
        /// Each pass has each path once, five passes have one order, and sets do not disturb each other.
        #[test]
        fn passes_are_even(paths in 2_usize..40, rounds in 1_usize..4, seed in any::<u128>()) {
            let (mut policy, mut rng) = (RoundRobin::default(), Pcg64Mcg::new(seed | 1));
            let ports: Vec<u32> = (0..paths as u32).collect();
            for _ in 0..rounds {
                let five = takes(&mut policy, 0, &ports, PASSES * paths, &mut rng);
                takes(&mut policy, 1, &ports[..2], 1, &mut rng);
                let mut pass = five[..paths].to_vec();
                prop_assert!(five.chunks(paths).all(|other| other == pass), "{:?}", five);
                pass.sort_unstable();
                prop_assert_eq!(pass, (0..paths).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_order_is_shuffled_after_five_passes_and_all_orders_come_equally_often() {
        let (mut policy, mut rng) = (RoundRobin::default(), Pcg64Mcg::new(11));
        let mut counts = [0_u32; 9];
        for _ in 0..6000 {
            let five = takes(&mut policy, 0, &[4, 5, 6], 3 * PASSES, &mut rng);
            counts[3 * five[0] + five[1]] += 1;
        }
        let counts: Vec<u32> = counts.into_iter().filter(|&count| count > 0).collect();
        // Six orders, 1000 each; a standard deviation is 29.
        assert_eq!(counts.len(), 6);
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 5 * 29), "{counts:?}");
    }
}
