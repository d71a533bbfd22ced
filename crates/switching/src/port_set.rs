//! Sets of ports, as the bits of a word: port `p` is bit `p`.

use rand_core::Rng;

/// All of `ports` ports, 1 to 64.
pub(crate) const fn all(ports: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - ports)
}

/// The set of one port.
pub(crate) const fn only(port: usize) -> u64 {
    1 << port
}

/// Whether `port` is in `set`.
pub(crate) const fn contains(set: u64, port: usize) -> bool {
    set >> port & 1 == 1
}

/// The first member at or after `start`, going round: the choice of a round-robin arbiter whose pointer is `start`.
pub(crate) const fn first_from(set: u64, start: usize) -> Option<usize> {
    if set == 0 {
        return None;
    }
    // Turning by the word's length and not by the number of ports is right as well: the bits between are not set.
    let distance = set.rotate_right(start as u32).trailing_zeros() as usize;
    Some((start + distance) % u64::BITS as usize)
}

/// The members in rising order.
pub(crate) fn members(set: u64) -> impl Iterator<Item = usize> {
    members_from(set, 0)
}

/// The members in round-robin order, from the first at or after `start`.
pub(crate) fn members_from(set: u64, start: usize) -> impl Iterator<Item = usize> {
    let mut rest = set.rotate_right(start as u32);
    core::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let distance = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some((start + distance) % u64::BITS as usize)
    })
}

/// A member drawn with equal probabilities. A set of one costs no draw.
pub(crate) fn draw_member(set: u64, rng: &mut dyn Rng) -> Option<usize> {
    match set.count_ones() as usize {
        0 | 1 => first_from(set, 0),
        size => members(set).nth(below(size, rng)),
    }
}

/// A whole number below `bound`, drawn with equal probabilities (to one part in 2^58).
pub(crate) fn below(bound: usize, rng: &mut dyn Rng) -> usize {
    ((u128::from(rng.next_u64()) * bound as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::test_support::rng;

    #[test]
    fn round_robin_takes_the_first_at_or_after_the_pointer() {
        let set = only(1) | only(4) | only(63);
        let choices: Vec<_> = [0, 1, 2, 4, 5, 63].into_iter().map(|start| first_from(set, start)).collect();
        assert_eq!(choices, [1, 1, 4, 4, 63, 63].map(Some));
        assert_eq!((first_from(only(2), 3), first_from(0, 3)), (Some(2), None));
    }

    #[test]
    fn members_go_round_from_the_start() {
        let set = only(0) | only(3) | only(5);
        assert_eq!(members(set).collect::<Vec<_>>(), [0, 3, 5]);
        assert_eq!(members_from(set, 3).collect::<Vec<_>>(), [3, 5, 0]);
        assert_eq!(members_from(set, 6).collect::<Vec<_>>(), [0, 3, 5]);
    }

    #[test]
    fn all_ports_of_any_number() {
        assert_eq!((all(1), all(5), all(64)), (1, 0b11111, u64::MAX));
    }

    #[test]
    fn members_are_drawn_alike() {
        let (mut rng, set) = (rng(1), only(1) | only(7) | only(40));
        let mut counts = [0_u32; 64];
        for _ in 0..30_000 {
            counts[draw_member(set, &mut rng).unwrap()] += 1;
        }
        // Binomial with p = 1/3: one standard deviation is 82.
        for port in [1, 7, 40] {
            assert!(counts[port].abs_diff(10_000) < 350, "{port}: {}", counts[port]);
        }
        assert_eq!(draw_member(0, &mut rng), None);
    }
}
