//! Packet spraying.
//!
//! # What it does
//! A node draws a path for each packet. All paths carry the same load, whatever the flows are.
//!
//! # When to use it
//! Use it to see how evenly a fabric can be loaded. Packets of a flow overtake each other, so the transport must accept
//! them out of order: TCP's loss detection needs time for that (RACK), and go-back-N retransmits without a loss.
//!
//! # Example
//! ```toml
//! paths = "spray"
//! ```
//!
//! # Source
//! A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, "On the Impact of Packet Spraying in Data Center Networks", INFOCOM
//! 2013, section III: random spraying.
//!
//! # Where we differ
//! The draw is a hash of the flow, the packet's time at the node, and a salt of the node. So it needs no state, and is
//! the same whatever thread runs the node.
//!
//! # Cost
//! No state. A hash for each packet with a choice.
//!
//! # Parameters
//! See [`SprayConfig`].

use alloc::sync::Arc;

use forebay_units::Time;

use crate::paths::PathPolicy;
use crate::paths::ecmp::murmur3;

/// Spraying has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct SprayConfig {}

#[derive(Clone, Copy, Debug)]
struct Spray {
    salt: u32,
}

pub(crate) fn build(_config: &SprayConfig, salt: u32) -> Option<Arc<dyn PathPolicy>> {
    Some(Arc::new(Spray { salt }))
}

impl PathPolicy for Spray {
    fn choose(&self, entropy: u32, now: Time, paths: usize) -> usize {
        let now = now.picoseconds();
        murmur3(&[entropy, now as u32, (now >> 32) as u32], self.salt) as usize % paths
    }

    fn keeps_paths(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_a_flow_spread_over_all_paths_at_each_node_anew() {
        let (first, second) = (Spray { salt: 320 }, Spray { salt: 321 });
        let (mut counts, mut pairs) = ([0_u32; 4], [0_u32; 4]);
        for packet in 0..40_000_u64 {
            // Back to back: 1500 B at 100 Gb/s.
            let now = Time::from_picoseconds(120_000 * packet);
            counts[first.choose(7, now, 4)] += 1;
            if first.choose(7, now, 4) == 0 {
                pairs[second.choose(7, now, 4)] += 1;
            }
        }
        // Five standard deviations of a multinomial: 87 of 40 000 packets, 43 of 10 000.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 5 * 87), "{counts:?}");
        assert!(pairs.iter().all(|count| count.abs_diff(2500) < 5 * 43), "{pairs:?}");
    }
}
