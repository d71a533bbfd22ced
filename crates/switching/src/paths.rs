//! The interface of a path policy, and its choice by configuration.
//!
//! A packet at a node with several next hops on paths of the same least metric takes one of them. A [`PathPolicy`]
//! keeps no state: flow and time decide, so that anyone may ask, at any time. A [`StatefulPolicy`] is asked by its node
//! alone, once for each packet, in the order of arrivals.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

mod conga;
mod ecmp;
mod flowlet;
mod flows;
mod round_robin;
mod single;
mod spray;

pub use conga::CongaConfig;
pub use ecmp::{EcmpConfig, EcmpSalt};
pub use flowlet::FlowletConfig;
pub use single::SingleConfig;
pub use spray::{SprayConfig, SprayOrder};

use forebay_units::{Rate, Time};
use rand_core::Rng;

/// Chooses among equal paths at one node, without state.
pub trait PathPolicy: Send + Sync + core::fmt::Debug {
    /// The next hop, below `paths`, which is 2 or more, of a packet that comes to the node at `now`. `entropy` is a
    /// hash of the flow and its direction.
    fn choose(&self, entropy: u32, now: Time, paths: usize) -> usize;

    /// Whether all packets of a flow take the same path at all times.
    fn keeps_paths(&self) -> bool {
        true
    }
}

/// A packet that comes to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPacket {
    /// When it comes.
    pub now: Time,
    /// Its flow and direction.
    pub flow: u32,
    /// Length on the wire in bytes.
    pub len_bytes: u32,
    /// The port by which it comes, and what it carries, if the policy [sees all](StatefulPolicy::sees_all) packets.
    pub carried: Option<Carried>,
}

/// The data of a packet that a policy reads at several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The port by which the packet comes.
    pub input: u32,
    /// The leaves of its source and its destination.
    pub leaves: [u32; 2],
    /// A number that nodes before this one wrote; 0 at its source. `None` if it has no room.
    pub label: Option<u16>,
}

/// A node of a leaf-spine network, for policies that see all packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSpineNode {
    /// The number of this leaf; `None` for a spine.
    pub leaf: Option<u32>,
    /// How many leaves there are.
    pub leaves: u32,
    /// The rate of each port, and the number of the spine to which it leads, if it leads to one.
    pub ports: Vec<(Rate, Option<u32>)>,
}

impl PathPacket {
    /// The bits of a label.
    pub const LABEL_BITS: u32 = 10;
}

/// The next hops of a packet: two or more, or one if the policy [sees all](StatefulPolicy::sees_all) packets.
#[derive(Clone, Copy, Debug)]
pub struct EqualPaths<'a> {
    /// The number of this set of ports at the node.
    pub set: usize,
    /// The ports of the node, in rising order.
    pub ports: &'a [u32],
}

/// Chooses among equal paths at one node, by the packets that came there before.
pub trait StatefulPolicy: Send + core::fmt::Debug {
    /// The place of the next hop in `paths.ports`. It may change the label that the packet carries. `rng` is the node's
    /// own random stream.
    fn choose(&mut self, packet: &mut PathPacket, paths: EqualPaths<'_>, rng: &mut dyn Rng) -> usize;

    /// Whether it is asked about packets with a single next hop, too, at all switches of a leaf-spine network.
    fn sees_all(&self) -> bool {
        false
    }

    /// Called before the first packet if it sees all packets.
    fn place_at(&mut self, _node: LeafSpineNode) {}
}

/// The policy of one node.
#[derive(Debug)]
pub enum NodePolicy {
    /// The first path always.
    First,
    /// A policy without state.
    Stateless(Arc<dyn PathPolicy>),
    /// A policy with state, which the node must own.
    Stateful(Box<dyn StatefulPolicy>),
}

/// Declares [`PathPolicyConfig`]. An entry is the description in the schema, then the variant, the name in a scenario,
/// and the configuration in its module. There `build` creates the policy of a node from the node's salt.
macro_rules! path_policies {
    ($($(#[$description:meta])* $variant:ident, $name:literal, $module:ident::$config:ident;)*) => {
        /// Which of several equal paths a packet takes: exactly one of these.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = bare_names))]
        pub enum PathPolicyConfig {
            $(
                $(#[$description])*
                #[cfg_attr(feature = "config", serde(rename = $name))]
                $variant($module::$config),
            )*
        }

        #[cfg(feature = "config")]
        const NAMES: &[&str] = &[$($name),*];

        /// Name, source file and schema of the parameters of every policy, for the manual.
        #[cfg(feature = "config")]
        pub const PAGES: &[(&str, &str, fn(&mut schemars::SchemaGenerator) -> schemars::Schema)] = &[
            $((
                $name,
                include_str!(concat!("paths/", $name, ".rs")),
                <$module::$config as schemars::JsonSchema>::json_schema,
            )),*
        ];

        impl PathPolicyConfig {
            /// Every policy with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$variant(Default::default())),*]
            }

            /// The policy at a node with this salt.
            #[must_use]
            pub fn build(&self, salt: u32) -> NodePolicy {
                match self {
                    $(Self::$variant(config) => $module::build(config, salt),)*
                }
            }

            /// The policy's name, as in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }
        }
    };
}

path_policies! {
    /// One path for all flows: the one whose links come first.
    Single, "single", single::SingleConfig;
    /// Equal-cost multipath: a hash spreads flows over the paths.
    Ecmp, "ecmp", ecmp::EcmpConfig;
    /// A path for each packet.
    Spray, "spray", spray::SprayConfig;
    /// A path for each burst of a flow, drawn at random (LetFlow).
    Flowlet, "flowlet", flowlet::FlowletConfig;
    /// A path for each burst of a flow, by the congestion of paths (CONGA). Leaf-spine networks only.
    Conga, "conga", conga::CongaConfig;
}

impl Default for PathPolicyConfig {
    fn default() -> Self {
        Self::Single(single::SingleConfig {})
    }
}

#[cfg(feature = "config")]
fn bare_names(schema: &mut schemars::Schema) {
    forebay_units::allow_bare_names(schema, NAMES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_chooses_one_of_the_paths() {
        for config in PathPolicyConfig::every() {
            let NodePolicy::Stateless(policy) = config.build(7) else { continue };
            for (entropy, paths) in (0..1000_u32).zip((2..9).cycle()) {
                let entropy = entropy.wrapping_mul(0x9e37_79b9);
                assert!(policy.choose(entropy, Time::ZERO, paths) < paths);
                assert_eq!(policy.choose(entropy, Time::ZERO, paths), policy.choose(entropy, Time::ZERO, paths));
            }
        }
    }
}
