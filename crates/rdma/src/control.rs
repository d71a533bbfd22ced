//! Controllers of queue pairs: the files of `control/`, each an algorithm, and their choice by configuration.

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::ParameterError;

use crate::controller::{NicController, Setup};

pub(crate) mod dcqcn;
pub(crate) mod dcqcn_paper;
pub(crate) mod dctcp;
pub(crate) mod hpcc;
pub(crate) mod nscc;
pub(crate) mod patched_timely;
pub(crate) mod rccc;
pub(crate) mod swift;
pub(crate) mod timely;

/// Declares [`RdmaControl`]. An entry is the description in the schema, then the variant, the name in a scenario, the
/// file with the manual page, and the configuration in its module. There `build` creates the controller.
macro_rules! controllers {
    ($($(#[$description:meta])* $variant:ident, $name:literal, $file:literal, $module:ident::$config:ident;)*) => {
        /// Congestion control of a queue pair of RoCE.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = allow_bare_names))]
        #[non_exhaustive]
        pub enum RdmaControl {
            $(
                $(#[$description])*
                #[cfg_attr(feature = "config", serde(rename = $name))]
                $variant($module::$config),
            )*
        }

        /// Adds the bare names of the alternatives to the JSON Schema.
        #[cfg(feature = "config")]
        fn allow_bare_names(schema: &mut schemars::Schema) {
            forebay_units::allow_bare_names(schema, &[$($name),*]);
        }

        /// Name, source file and schema of the parameters of every controller, for the manual.
        #[cfg(feature = "config")]
        pub const PAGES: &[(&str, &str, fn(&mut schemars::SchemaGenerator) -> schemars::Schema)] = &[
            $(($name, include_str!($file), <$module::$config as schemars::JsonSchema>::json_schema),)*
        ];

        impl RdmaControl {
            /// Every controller with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$variant(Default::default())),*]
            }

            /// Its name in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Whether it may change the path of its flow.
            #[must_use]
            pub fn changes_paths(&self) -> bool {
                matches!(self, Self::Swift(_))
            }

            /// Whether its data packets collect telemetry.
            #[must_use]
            pub fn takes_telemetry(&self) -> bool {
                matches!(self, Self::Hpcc(_))
            }

            /// Checks its parameters.
            ///
            /// # Errors
            /// One about the first parameter outside its bounds.
            pub fn validate(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$variant(config) => config.validate(),)*
                }
            }

            /// The controller of a queue pair with this path.
            #[must_use]
            pub fn build(&self, setup: &Setup) -> Box<dyn NicController> {
                match self {
                    $(Self::$variant(config) => $module::build(config, setup),)*
                }
            }
        }
    };
}

controllers! {
    /// DCQCN as in HPCC's simulator.
    Dcqcn, "dcqcn", "control/dcqcn.rs", dcqcn::DcqcnConfig;
    /// DCQCN as in its paper (Zhu et al. 2015).
    DcqcnPaper, "dcqcn_paper", "control/dcqcn_paper.rs", dcqcn_paper::DcqcnPaperConfig;
    /// DCTCP in hardware: a rate that follows the share of marks.
    Dctcp, "dctcp", "control/dctcp.rs", dctcp::DctcpConfig;
    /// HPCC: the rate follows the utilization that switches report (Li et al. 2019).
    Hpcc, "hpcc", "control/hpcc.rs", hpcc::HpccConfig;
    /// Patched TIMELY: TIMELY with a fixed point (Zhu et al. 2016).
    PatchedTimely, "patched_timely", "control/patched_timely.rs", patched_timely::PatchedTimelyConfig;
    /// Swift: a window that follows a target delay (Kumar et al. 2020).
    Swift, "swift", "control/swift.rs", swift::SwiftConfig;
    /// TIMELY: the rate follows the gradient of the round trip (Mittal et al. 2015).
    Timely, "timely", "control/timely.rs", timely::TimelyConfig;
}

#[cfg(test)]
pub(crate) mod tests;
