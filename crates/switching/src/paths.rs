//! The interface of a path policy, and its choice by configuration.
//!
//! A packet at a node with several next hops on paths of the same least metric takes one of them. A policy here keeps
//! no state: flow and time decide.

use alloc::sync::Arc;
use alloc::vec::Vec;

mod ecmp;
mod single;
mod spray;

pub use ecmp::{EcmpConfig, EcmpSalt};
pub use single::SingleConfig;
pub use spray::SprayConfig;

use forebay_units::Time;

/// Chooses among equal paths at one node.
pub trait PathPolicy: Send + Sync + core::fmt::Debug {
    /// The next hop, below `paths`, which is 2 or more, of a packet that comes to the node at `now`. `entropy` is a
    /// hash of the flow and its direction.
    fn choose(&self, entropy: u32, now: Time, paths: usize) -> usize;

    /// Whether all packets of a flow take the same path at all times.
    fn keeps_paths(&self) -> bool {
        true
    }
}

/// Declares [`PathPolicyConfig`]. An entry is the description in the schema, then the variant, the name in a scenario,
/// and the configuration in its module. There `build` creates the policy of a node from the node's salt; `None` takes
/// the first path always.
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

            /// The policy at a node with this salt; `None` if it takes the first path always.
            #[must_use]
            pub fn build(&self, salt: u32) -> Option<Arc<dyn PathPolicy>> {
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
    /// A path for each packet, drawn at random.
    Spray, "spray", spray::SprayConfig;
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
        for policy in PathPolicyConfig::every().iter().filter_map(|config| config.build(7)) {
            for (entropy, paths) in (0..1000_u32).zip((2..9).cycle()) {
                let entropy = entropy.wrapping_mul(0x9e37_79b9);
                assert!(policy.choose(entropy, Time::ZERO, paths) < paths);
                assert_eq!(policy.choose(entropy, Time::ZERO, paths), policy.choose(entropy, Time::ZERO, paths));
            }
        }
    }
}
