//! Equal-cost multipath.
//!
//! # What it does
//! A node hashes the flow, together with a salt of its own, and takes the path of that number modulo the number of
//! paths. All packets of a flow take one path and stay in order. Data and ACKs are hashed apart and may take different
//! paths.
//!
//! # When to use it
//! Use it for fabrics and parallel links, as their switches do. A few large flows may meet on one path while another
//! is empty: with F flows on n paths the fullest has about F/n + sqrt(2 F/n ln n).
//!
//! # Example
//! ```toml
//! paths.ecmp = { salt = "common" }
//! ```
//!
//! Set `salt = "common"` to see polarization: all flows that left one switch by its first port leave the next one by
//! the first port, too.
//!
//! # Source
//! RFC 2992, "Analysis of an Equal-Cost Multi-Path Algorithm", 2000, whose modulo-N hash this is. The hash is
//! MurmurHash3 of 32 bits (A. Appleby), as in the simulators of HPCC and ConWeave.
//!
//! # Where we differ
//! A flow is hashed by its name and the seed of the run, not by addresses and ports, which simulated flows do not have.
//!
//! # Cost
//! No state. A hash for each packet with a choice.
//!
//! # Parameters
//! See [`EcmpConfig`].

use alloc::sync::Arc;

use forebay_units::Time;

use crate::paths::{NodePolicy, PathPolicy};

/// Parameters of equal-cost multipath.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct EcmpConfig {
    /// Whether each node has a salt of its own, or all have the same.
    pub salt: EcmpSalt,
}

/// The salt of the hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum EcmpSalt {
    /// Each node has its own, as switches do.
    #[default]
    Node,
    /// All nodes have the same, and make the same choices.
    Common,
}

#[derive(Clone, Copy, Debug)]
struct Ecmp {
    salt: u32,
}

pub(crate) fn build(config: &EcmpConfig, salt: u32) -> NodePolicy {
    let salt = if config.salt == EcmpSalt::Node { salt } else { 0 };
    NodePolicy::Stateless(Arc::new(Ecmp { salt }))
}

impl PathPolicy for Ecmp {
    fn choose(&self, entropy: u32, _now: Time, paths: usize) -> usize {
        murmur3(&[entropy], self.salt) as usize % paths
    }
}

/// MurmurHash3, the 32-bit variant for x86, of whole words.
pub(super) fn murmur3(words: &[u32], seed: u32) -> u32 {
    let mut hash = seed;
    for word in words {
        let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        hash = (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= 4 * words.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3() {
        // Source and destination address, ports; the seed is the number of a switch.
        let words = [0x0b00_0001, 0x0b00_0101, 10_000 + 100 * 65_536];
        assert_eq!(murmur3(&words, 320), 0xeae3_b97c);
        assert_eq!(murmur3(&words, 321), 0xbecc_4f5c);
    }

    #[test]
    fn flows_spread_as_a_multinomial_and_a_second_switch_spreads_them_again() {
        let (first, second) = (Ecmp { salt: 320 }, Ecmp { salt: 321 });
        let (mut counts, mut pairs) = ([0_u32; 4], [0_u32; 4]);
        for flow in 0..40_000_u32 {
            let entropy = flow.wrapping_mul(0x9e37_79b9);
            counts[first.choose(entropy, Time::ZERO, 4)] += 1;
            if first.choose(entropy, Time::ZERO, 4) == 0 {
                pairs[second.choose(entropy, Time::ZERO, 4)] += 1;
            }
        }
        // Five standard deviations: sqrt(F (n - 1)) / n is 87 of 40 000 flows, 43 of 10 000.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 5 * 87), "{counts:?}");
        assert!(pairs.iter().all(|count| count.abs_diff(2500) < 5 * 43), "{pairs:?}");
    }

    #[test]
    fn a_common_salt_polarizes() {
        let config = EcmpConfig { salt: EcmpSalt::Common };
        let [NodePolicy::Stateless(one), NodePolicy::Stateless(other)] = [320, 321].map(|salt| build(&config, salt))
        else {
            panic!("a policy with state")
        };
        assert!((0..1000).all(|flow| one.choose(flow, Time::ZERO, 4) == other.choose(flow, Time::ZERO, 4)));
    }
}
