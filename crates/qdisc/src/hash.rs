//! The flow hash and the uniform draw that all disciplines share.

use crate::FlowKey;

/// A 64-bit hash of a flow key under a salt. Two rounds of the splitmix64 finaliser: every bit of the key and of the
/// salt reaches every bit of the hash, and a new salt separates flows that collided under the old one.
#[must_use]
pub const fn hash_flow(flow: FlowKey, salt: u64) -> u64 {
    mix(mix(flow.0 ^ salt).wrapping_add(salt.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15))
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The entry of a table of this many `entries` to which a hash belongs: the upper half of the hash scaled to the table,
/// so that any number of entries will do.
#[must_use]
pub const fn table_index(hash: u64, entries: u32) -> u32 {
    (((hash >> 32) * entries as u64) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By how much the state of splitmix64 grows with each number.
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

    #[test]
    fn a_round_is_the_finaliser_of_splitmix64() {
        // The generator's first numbers from two seeds, as its authors' program (splitmix64.c) prints them.
        let numbers = |seed: u64| [1_u64, 2, 3].map(|step| mix(seed.wrapping_add(step.wrapping_mul(GAMMA))));
        assert_eq!(numbers(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers(1_234_567), expected);
    }

    #[test]
    fn the_salt_goes_into_both_rounds() {
        // A key equal to the salt makes the first round 0; the argument of the second round is then its addend.
        let hash = |salt: u64| hash_flow(FlowKey(salt), salt);
        assert_eq!(hash(0), mix(GAMMA));
        for salt in [1_u64, 1 << 31, 1 << 32, 1 << 63, u64::MAX, 0x0123_4567_89ab_cdef] {
            let halves_swapped = salt.rotate_right(32);
            assert_eq!(hash(salt), mix(halves_swapped ^ GAMMA), "{salt:x}");
            assert_eq!(hash_flow(FlowKey(0), salt), mix(mix(salt).wrapping_add(halves_swapped ^ GAMMA)), "{salt:x}");
        }
    }

    #[test]
    fn the_upper_half_of_a_hash_is_scaled_to_the_table() {
        for entries in [1, 3, 46, 4096, u32::MAX] {
            assert_eq!(table_index(u64::from(u32::MAX), entries), 0);
            assert_eq!(table_index(u64::MAX, entries), entries - 1);
            assert_eq!(table_index(1 << 63, entries), entries / 2);
        }
    }
}
