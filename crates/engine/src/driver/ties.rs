//! The order of simultaneous arrivals.
//!
//! Arrivals at one instant come in the order of a hash of (feeder, time). So no feeder is favored by its position in
//! the scenario, and none comes first every time.

use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::random::salt;

use crate::spec::LinkId;

/// A salt for each feeder: a hash of the run's seed and of its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Salts(Arc<[u32]>);

impl Salts {
    /// Salts of feeders in the order of their numbers.
    pub fn new(salts: impl Iterator<Item = u32>) -> Self {
        Self(salts.collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn of(&self, feeder: LinkId) -> u32 {
        self.0[feeder as usize]
    }

    /// Whether feeder `one` comes after feeder `other` at `time`. Packets of the same feeder keep their order.
    #[inline]
    pub fn come_after(&self, one: u32, other: u32, time: Time) -> bool {
        one != other && self.rank_after(one, other, time)
    }

    #[inline(never)]
    fn rank_after(&self, one: u32, other: u32, time: Time) -> bool {
        let key = |feeder| (rank(self.of(feeder), time), feeder);
        key(one) > key(other)
    }
}

/// The salt of a link as a feeder.
pub(crate) fn salt_of_link(seed: u64, name: &str) -> u32 {
    salt(seed, &format!("order/link/{name}"))
}

/// The salt of one end of a flow.
pub(crate) fn salt_of_endpoint(seed: u64, flow: &str, is_source: bool) -> u32 {
    salt(seed, &format!("order/flow/{flow}/{}", if is_source { "source" } else { "sink" }))
}

/// The place of a salt among the simultaneous events of `time`: the finalizer of SplitMix64 (Steele et al. 2014).
#[inline]
pub(crate) fn rank(salt: u32, time: Time) -> u64 {
    let mut hash = time.picoseconds() ^ u64::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feeder_comes_first_equally_often() {
        let salts = Salts::new(["a", "b", "c", "d"].into_iter().map(|name| salt_of_link(1, name)));
        let mut first = [0_u32; 4];
        // The instants of frames on a line: far from random.
        for frame in 0..40_000 {
            let time = Time::from_picoseconds(frame * 12_000_000);
            let winner =
                (1..4).fold(0, |first, other| if salts.come_after(first, other, time) { other } else { first });
            first[winner as usize] += 1;
        }
        // Binomial: 10 000 each, with a standard deviation of 87.
        assert!(first.iter().all(|count| count.abs_diff(10_000) < 5 * 87), "{first:?}");
    }

    #[test]
    fn the_order_depends_on_the_names_and_not_on_the_numbers() {
        let one = Salts::new(["a", "b"].into_iter().map(|name| salt_of_link(1, name)));
        let swapped = Salts::new(["b", "a"].into_iter().map(|name| salt_of_link(1, name)));
        for time in (0..1000).map(Time::from_picoseconds) {
            assert_eq!(one.come_after(0, 1, time), swapped.come_after(1, 0, time));
            assert_ne!(one.come_after(0, 1, time), one.come_after(1, 0, time));
        }
    }
}
