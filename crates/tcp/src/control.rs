//! Congestion controllers: the files of `control/`, each an algorithm, and their choice by configuration.

use alloc::boxed::Box;
use alloc::vec::Vec;

#[cfg(feature = "config")]
use crate::control::custom::CustomControl;
use crate::control::setup::Setup;
use crate::{Controller, Needs, ParameterError};

pub(crate) mod bbr;
pub(crate) mod bbr3;
pub(crate) mod bic;
pub(crate) mod cubic;
#[cfg(feature = "config")]
pub(crate) mod custom;
pub(crate) mod dctcp;
pub(crate) mod hystart;
pub(crate) mod hystart_plus_plus;
pub(crate) mod law;
pub(crate) mod ledbat;
pub(crate) mod linux_2_6_cubic;
pub(crate) mod linux_bic;
pub(crate) mod linux_cubic;
pub(crate) mod loss_based;
pub(crate) mod prague;
pub(crate) mod reno;
pub(crate) mod setup;
pub(crate) mod slow_start;
pub(crate) mod vegas;
pub(crate) mod westwood;

/// Declares [`CongestionControl`]. An entry is the description in the schema, then the variant, the name in a scenario,
/// the file with the manual page, and the module or, with parameters, the configuration in its module. There `build`
/// creates the controller.
macro_rules! controllers {
    (
        bare {
            $($(#[$bare_description:meta])* $bare:ident, $bare_name:literal, $bare_file:literal, $bare_module:ident;)*
        }
        with_parameters {
            $($(#[$description:meta])* $variant:ident, $name:literal, $file:literal, $module:ident::$config:ident;)*
        }
    ) => {
        /// Congestion control of a sender. All but "reno" recover like NewReno; with SACK, all including "reno" recover
        /// by RFC 6675.
        #[derive(Clone, Debug, PartialEq)]
        #[cfg_attr(feature = "config", derive(serde::Deserialize, serde::Serialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = allow_bare_names))]
        #[non_exhaustive]
        pub enum CongestionControl {
            $(
                $(#[$bare_description])*
                #[cfg_attr(feature = "config", serde(rename = $bare_name))]
                $bare,
            )*
            $(
                $(#[$description])*
                #[cfg_attr(feature = "config", serde(rename = $name))]
                $variant($module::$config),
            )*
            /// A class written in Python, with its parameters.
            #[cfg(feature = "config")]
            #[serde(rename = "python")]
            Custom(CustomControl),
        }

        /// Adds the bare names of the alternatives with parameters to the JSON Schema.
        #[cfg(feature = "config")]
        fn allow_bare_names(schema: &mut schemars::Schema) {
            forebay_units::allow_bare_names(schema, &[$($name),*]);
        }

        /// Name, source file and schema of the parameters of every controller, for the manual.
        #[cfg(feature = "config")]
        pub const PAGES: &[(&str, &str, fn(&mut schemars::SchemaGenerator) -> schemars::Schema)] = &[
            $(($bare_name, include_str!($bare_file), <() as schemars::JsonSchema>::json_schema),)*
            $(($name, include_str!($file), <$module::$config as schemars::JsonSchema>::json_schema),)*
            ("python_controller", include_str!("control/custom.rs"), forebay_units::PythonClass::table_schema),
        ];

        impl CongestionControl {
            /// Every built-in controller with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$bare,)* $(Self::$variant(Default::default())),*]
            }

            /// Its name in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$bare => $bare_name,)*
                    $(Self::$variant(_) => $name,)*
                    #[cfg(feature = "config")]
                    Self::Custom(_) => "python",
                }
            }

            /// Whether it measures the delivery of each segment, which only the recoveries by time do.
            pub(crate) fn needs_timed_recovery(&self) -> bool {
                let controller = self.build(&Setup::default());
                let needs = controller.needs();
                needs.delivery || needs.owns_recovery || controller.pacing().is_some()
            }

            /// The measurements and tasks of its controller.
            pub(crate) fn needs(&self) -> Needs {
                self.build(&Setup::default()).needs()
            }

            /// Whether it is a custom controller whose class has not been found yet.
            pub(crate) fn is_unknown(&self) -> bool {
                #[cfg(feature = "config")]
                if let Self::Custom(custom) = self {
                    return custom.is_unknown();
                }
                false
            }

            /// Checks its parameters.
            pub(crate) fn validate(&self) -> Result<(), ParameterError> {
                match self {
                    $(Self::$bare => Ok(()),)*
                    $(Self::$variant(config) => config.validate(),)*
                    #[cfg(feature = "config")]
                    Self::Custom(_) => Ok(()),
                }
            }

            /// The controller of a sender with this configuration.
            pub(crate) fn build(&self, setup: &Setup) -> Box<dyn Controller> {
                match self {
                    $(Self::$bare => $bare_module::build(setup),)*
                    $(Self::$variant(config) => $module::build(config, setup),)*
                    #[cfg(feature = "config")]
                    Self::Custom(custom) => custom.build(setup),
                }
            }
        }
    };
}

controllers! {
    bare {
        /// RFC 5681: fast recovery ends with the first ACK of new data.
        Reno, "reno", "control/reno.rs", reno;
        /// RFC 6582: fast recovery ends when everything in flight at its start is acknowledged.
        NewReno, "newreno", "newreno.rs", reno;
        /// BIC in Linux's arithmetic, as in ns-2 2.35.
        LinuxBic, "linux_bic", "control/linux_bic.rs", linux_bic;
        /// CUBIC of 2007 in Linux's arithmetic, as in ns-2 2.35.
        Linux26Cubic, "linux_2_6_cubic", "control/linux_2_6_cubic.rs", linux_2_6_cubic;
        /// Westwood+: a loss leaves the measured rate times the shortest round trip (Grieco & Mascolo 2004).
        Westwood, "westwood", "control/westwood.rs", westwood;
    }
    with_parameters {
        /// BBR version 1: the window and the pacing rate follow a model of the path (Linux).
        Bbr, "bbr", "control/bbr.rs", bbr::BbrConfig;
        /// BIC: binary search for the window at which the last loss came (Xu, Harfoush & Rhee 2004).
        Bic, "bic", "control/bic.rs", bic::BicConfig;
        /// CUBIC: the window is a cubic function of the time since the last reduction (RFC 9438).
        Cubic, "cubic", "control/cubic.rs", cubic::CubicConfig;
        /// DCTCP: reduces the window by the share of marked segments (RFC 8257).
        Dctcp, "dctcp", "control/dctcp.rs", dctcp::DctcpConfig;
        /// TCP Prague: scalable congestion control for L4S (RFC 9331).
        Prague, "prague", "control/prague.rs", prague::PragueConfig;
        /// Vegas: keeps a few segments in queues, by the delay (Brakmo & Peterson 1995).
        Vegas, "vegas", "control/vegas.rs", vegas::VegasConfig;
        /// LEDBAT++: a background transfer that gives way to others (draft-irtf-iccrg-ledbat-plus-plus).
        Ledbat, "ledbat", "control/ledbat.rs", ledbat::LedbatConfig;
        /// BBR version 3: rate and window follow from a model of the path (google/bbr, draft-ietf-ccwg-bbr).
        Bbr3, "bbr3", "control/bbr3.rs", bbr3::Bbr3Config;
    }
}

#[cfg(test)]
mod owning_tests;
#[cfg(test)]
mod tests;
