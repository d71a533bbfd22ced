//! Patterns of traffic, in which the hosts of a topology send to each other: the table of all. Their seam is in
//! `seam.rs`.

pub(crate) mod all_to_all;
pub(crate) mod collective;
pub(crate) mod connection;
mod files;
mod from_text;
pub(crate) mod goal;
pub(crate) mod incast;
pub(crate) mod matrix;
pub(crate) mod open_loop;
pub(crate) mod permutation;
pub(crate) mod seam;
pub(crate) mod tasks;
pub(crate) mod triggers;

use schemars::JsonSchema;

pub(crate) use seam::{PatternHost, Setting, TrafficPattern, Whole};

/// Generates the enum from the table of patterns: name in a scenario, variant, parameters.
macro_rules! patterns {
    ($($(#[doc = $doc:literal])* $name:literal $variant:ident($parameters:ty),)*) => {
        /// A pattern of traffic between the hosts of the topology.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
        pub enum Pattern {
            $($(#[doc = $doc])* #[serde(rename = $name)] $variant($parameters),)*
        }

        impl Pattern {
            /// Its name in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Its messages.
            pub(crate) fn traffic(&self) -> &dyn TrafficPattern {
                match self {
                    $(Self::$variant(parameters) => parameters,)*
                }
            }
        }
    };
}

patterns! {
    /// Each host starts flows at random times, to hosts that are drawn, at a given load.
    "open_loop" OpenLoop(open_loop::OpenLoop),
    /// Several hosts send to one at once, or again and again.
    "incast" Incast(incast::Incast),
    /// Each host sends to another one, and each receives from one.
    "permutation" Permutation(permutation::Permutation),
    /// Each host sends to every other one.
    "all_to_all" AllToAll(all_to_all::AllToAll),
    /// The connections of a file, in the format of htsim.
    "matrix" Matrix(matrix::Matrix),
    /// The hosts add up their data, and each gets the sum.
    "all_reduce" AllReduce(collective::AllReduce),
    /// The hosts add up their data, and each gets a part of the sum.
    "reduce_scatter" ReduceScatter(collective::ReduceScatter),
    /// Each host has a part of the data, and gets the others.
    "all_gather" AllGather(collective::AllGather),
    /// The messages and computations of a trace in the GOAL format.
    "goal" Goal(goal::Goal),
}

#[cfg(test)]
#[path = "patterns_tests.rs"]
mod tests;
