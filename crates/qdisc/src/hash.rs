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
