//! The paths of an NDP sender: all in turn, except those with many trimmed packets.

use alloc::vec::Vec;

use rand_core::Rng;

use crate::entropy::Turns;

/// Packets of a path before it can be bad.
const LEAST_PACKETS: u32 = 100;
/// ACKs of a path, and of the average one, before their ratios count.
const LEAST_ACKS: u32 = 10;

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    acks: u32,
    nacks: u32,
    /// Turns that the path loses.
    avoided: u8,
    /// Those of them that are left until it is used once.
    left: u8,
}

/// The paths of a flow. The counters are empty before the first sign.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    turns: Turns,
    counters: Vec<Path>,
    acks: u64,
    nacks: u64,
}

impl Paths {
    pub fn new(paths: u16, rng: &mut dyn Rng) -> Self {
        let paths = paths.clamp(1, 1 << 15).next_power_of_two();
        Self { turns: Turns::new(paths, rng), counters: Vec::new(), acks: 0, nacks: 0 }
    }

    /// A path is bad if its share of NACKs is more than 30 % of its ACKs and 1.25 times the average. Each sign that
    /// finds it bad costs it another turn, each other one gives one back.
    pub fn count(&mut self, path: u16, is_nack: bool) {
        let paths = usize::from(self.turns.mask()) + 1;
        self.counters.resize(paths, Path::default());
        let path = &mut self.counters[usize::from(path & self.turns.mask())];
        if is_nack {
            path.nacks += 1;
            self.nacks += 1;
        } else {
            path.acks += 1;
            self.acks += 1;
        }
        let (mean_acks, mean_nacks) = (self.acks / paths as u64, self.nacks / paths as u64);
        let mean = (mean_nacks * 100).checked_div(mean_acks).unwrap_or(100);
        let ratio = if path.acks > LEAST_ACKS { u64::from(path.nacks) * 100 / u64::from(path.acks) } else { 0 };
        let is_bad = path.acks + path.nacks > LEAST_PACKETS && ratio * 4 > mean * 5 && ratio > 30;
        path.avoided = if is_bad { path.avoided.saturating_add(1) } else { path.avoided.saturating_sub(1) };
    }

    /// The path of the next packet.
    pub fn next(&mut self, rng: &mut dyn Rng) -> u16 {
        // If all are avoided, one is used all the same.
        for _ in 0..self.counters.len() {
            let path = &mut self.counters[usize::from(self.turns.current())];
            if path.left == 0 {
                path.left = path.avoided;
                break;
            }
            path.left -= 1;
            self.turns.advance(rng);
        }
        let path = self.turns.entropy();
        self.turns.advance(rng);
        path
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn a_path_with_many_nacks_gets_fewer_turns_until_it_is_good_again() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut paths = Paths::new(8, &mut rng);
        for round in 0..110 {
            for path in 0..8 {
                let is_nack = path == 3 && round % 2 == 1;
                paths.count(path, is_nack);
            }
        }
        let avoided = paths.counters[3].avoided;
        assert!(avoided > 5 && paths.counters.iter().filter(|path| path.avoided > 0).count() == 1);
        let mut used = |paths: &mut Paths| (0..800).filter(|_| paths.next(&mut rng) & 7 == 3).count();
        let less = used(&mut paths);
        assert!(less > 0 && less < 30, "{less}");
        for _ in 0..1_000 {
            paths.count(3, false);
        }
        assert!(used(&mut paths) > 80);
    }

    #[test]
    fn if_all_paths_are_bad_they_are_used() {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        let mut paths = Paths::new(2, &mut rng);
        paths.counters = alloc::vec![Path { avoided: 200, left: 200, ..Path::default() }; 2];
        paths.next(&mut rng);
        assert_eq!(paths.counters.iter().map(|path| u32::from(path.left)).sum::<u32>(), 398);
    }
}
