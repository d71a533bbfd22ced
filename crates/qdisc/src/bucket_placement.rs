//! Which bucket of a stochastic fair queue a flow goes to.

use crate::{FlowKey, hash_flow, table_index};

/// How flows are placed in buckets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SfqPlacement {
    /// By a hash under a random key, another one for each queue and seed: flows meet as often as at random.
    #[default]
    Random,
    /// By ns-2's formula over the sum k of a packet's source and destination addresses. Flow n of a scenario, counted
    /// from 0, and its ACKs have k = n + 1, as between host n + 1 and host 0. Consecutive flows get consecutive
    /// buckets, except that a k that is a multiple of 16 shares one with k - 1.
    Ns2,
}

impl SfqPlacement {
    /// The bucket of `flow` among `buckets`; `salt` is the random hash's key.
    pub(crate) fn bucket(self, flow: FlowKey, salt: u64, buckets: u32) -> u32 {
        match self {
            Self::Random => table_index(hash_flow(flow, salt), buckets),
            Self::Ns2 => (ns2_hash(ns2_address_sum(flow)) % u64::from(buckets)) as u32,
        }
    }
}

/// The substitute for the sum of a flow's two addresses. The simulator's key is twice the flow's number, plus one for
/// its ACKs, which have the same sum in ns-2. The sum is at least 1, since two hosts are not both number 0.
const fn ns2_address_sum(flow: FlowKey) -> u64 {
    (flow.0 >> 1) + 1
}

/// `SFQ::hash` of ns-2 2.35 (queue/sfq.cc) for a sum of at least 1; its `~(k >> 4)` is -(k >> 4) - 1.
const fn ns2_hash(k: u64) -> u64 {
    (k + (k >> 8) - (k >> 4) - 1) % ((1 << 20) - 1)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn ns2_buckets(flows: core::ops::Range<u64>, buckets: u32) -> Vec<u32> {
        flows.map(|flow| SfqPlacement::Ns2.bucket(FlowKey(2 * flow), 99, buckets)).collect()
    }

    #[test]
    fn ns2_places_consecutive_flows_in_consecutive_buckets() {
        // Worked by hand from k = flow + 1: k - 1 - floor(k / 16) below 256. k = 15 and 16 meet, as do 31 and 32.
        let first = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        let then = [14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13];
        assert_eq!(ns2_buckets(0..32, 16), [&first[..], &then[..]].concat());
        // From 256 on floor(k / 256) counts as well: 256 + 1 - 16 - 1 = 240.
        assert_eq!(ns2_buckets(254..257, 1024), [239, 240, 241]);
    }

    #[test]
    fn twenty_consecutive_flows_fill_all_of_ns2s_sixteen_buckets() {
        for first in [0, 7, 1010] {
            let mut buckets = ns2_buckets(first..first + 20, 16);
            buckets.sort_unstable();
            buckets.dedup();
            assert_eq!(buckets, (0..16).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn ns2s_hash_wraps_at_its_modulus() {
        let modulus = (1 << 20) - 1;
        let k = (1..).find(|k| k + (k >> 8) - (k >> 4) - 1 == modulus).unwrap();
        assert_eq!((ns2_hash(k), ns2_hash(k + 1)), (0, 1));
        // Any key will do, as those that a capture has.
        assert!(SfqPlacement::Ns2.bucket(FlowKey(u64::MAX), 0, 7) < 7);
    }

    #[test]
    fn ns2_places_a_flows_acks_as_its_data_whatever_the_salt() {
        for flow in 0..5000 {
            let bucket = SfqPlacement::Ns2.bucket(FlowKey(2 * flow), 1, 46);
            assert_eq!(SfqPlacement::Ns2.bucket(FlowKey(2 * flow + 1), 2, 46), bucket);
        }
    }
}
