//! Packet spraying.
//!
//! # What it does
//! A node chooses a path for each packet: at random, or the next one of a list. All paths carry the same load, whatever
//! the flows are.
//!
//! # When to use it
//! Use it to see how evenly a fabric can be loaded. Packets of a flow overtake each other, so the transport must accept
//! them out of order: TCP's loss detection needs time for that (RACK), and go-back-N retransmits without a loss.
//! `order = "round_robin"` loads the paths evenly over a few packets, too, so that queues stay shorter.
//!
//! # Example
//! ```toml
//! paths.spray = { order = "round_robin" }
//! ```
//!
//! # Source
//! A. Dixit, P. Prakash, Y. C. Hu, R. R. Kompella, "On the Impact of Packet Spraying in Data Center Networks", INFOCOM
//! 2013, section III: random spraying. The list is that of the Ultra Ethernet Consortium's simulator: a permutation of
//! the ports, which is shuffled after five passes.
//!
//! # Where we differ
//! A random draw is a hash of the flow, the packet's time at the node, and a salt of the node. So it needs no state,
//! and is the same whatever thread runs the node. The simulator has lists at the switches of hosts alone; here each
//! node with a choice has one for each set of equal paths.
//!
//! # Cost
//! Random: no state, and a hash for each packet with a choice. Round robin: a list for each set of equal paths. A
//! router takes each packet with a choice in the order of arrivals, and then gives it to the port.
//!
//! # Parameters
//! See [`SprayConfig`].

use alloc::boxed::Box;
use alloc::sync::Arc;

use forebay_units::Time;

use crate::paths::ecmp::murmur3;
use crate::paths::round_robin::RoundRobin;
use crate::paths::{NodePolicy, PathPolicy};

/// Parameters of spraying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct SprayConfig {
    /// In which order a node uses the paths.
    pub order: SprayOrder,
}

/// The order of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum SprayOrder {
    /// A draw for each packet.
    #[default]
    Random,
    /// One after the other, in an order that is shuffled after five passes.
    RoundRobin,
}

#[derive(Clone, Copy, Debug)]
struct Spray {
    salt: u32,
}

pub(crate) fn build(config: &SprayConfig, salt: u32) -> NodePolicy {
    match config.order {
        SprayOrder::Random => NodePolicy::Stateless(Arc::new(Spray { salt })),
        SprayOrder::RoundRobin => NodePolicy::Stateful(Box::new(RoundRobin::default())),
    }
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
