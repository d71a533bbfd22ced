//! A single path for all flows.
//!
//! # What it does
//! Every packet takes the first of the equal paths. The others stay empty. Both directions of a link's ends agree on
//! the path: it is the one whose links come first in the scenario.
//!
//! # When to use it
//! Use it where a network has one path between two hosts, or where spreading would hide what one queue does. A run
//! warns about equal paths that stay empty.
//!
//! # Example
//! ```toml
//! paths = "single"
//! ```
//!
//! # Source
//! E. W. Dijkstra, "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.
//!
//! # Where we differ
//! The order of the links in the scenario decides among equal paths.
//!
//! # Cost
//! No state. No work for each packet.
//!
//! # Parameters
//! See [`SingleConfig`].

use crate::paths::NodePolicy;

/// The single path has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct SingleConfig {}

pub(crate) fn build(_config: &SingleConfig, _salt: u32) -> NodePolicy {
    NodePolicy::First
}
