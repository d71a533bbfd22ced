//! The interface of a crossbar scheduler, and its choice by configuration.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rand_core::Rng;

use crate::{MAX_PORTS, Matching, Occupancy, ParameterError, require};

/// A crossbar scheduler.
pub trait Scheduler: Send {
    /// One scheduling phase: replaces `matching`. Only pairs are joined whose virtual output queue holds a packet and
    /// whose output is in `outputs`, the set of those that may receive (all ones without backpressure).
    ///
    /// `occupancy` and `matching` have the number of ports that the scheduler was built for. `rng` is the scheduler's
    /// own random stream.
    fn schedule(&mut self, occupancy: &Occupancy, outputs: u64, rng: &mut dyn Rng, matching: &mut Matching);
}

/// Declares [`SchedulerConfig`]. An entry is the description in the schema, then the variant, the name in a scenario,
/// and the configuration in its module. There `build` creates the scheduler for a number of ports.
macro_rules! schedulers {
    ($($(#[$description:meta])* $variant:ident, $name:literal, $module:ident::$config:ident;)*) => {
        /// The scheduler of a crossbar: exactly one of these.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = bare_names))]
        pub enum SchedulerConfig {
            $(
                $(#[$description])*
                #[cfg_attr(feature = "config", serde(rename = $name))]
                $variant(crate::$module::$config),
            )*
        }

        #[cfg(feature = "config")]
        const NAMES: &[&str] = &[$($name),*];

        impl SchedulerConfig {
            /// Every scheduler with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$variant(Default::default())),*]
            }

            /// The scheduler for a crossbar of `ports` inputs and `ports` outputs.
            ///
            /// # Errors
            /// The first parameter outside its bound; `ports` is one of them.
            pub fn build(&self, ports: usize) -> Result<Box<dyn Scheduler>, ParameterError> {
                require((1..=MAX_PORTS).contains(&ports), "ports", "be between 1 and 64")?;
                match self {
                    $(Self::$variant(config) => crate::$module::build(config, ports),)*
                }
            }

            /// The scheduler's name, as in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }
        }
    };
}

schedulers! {
    /// Maximum weight matching, where the weight of a pair is its queue: the highest throughput at the highest cost.
    Mwm, "mwm", mwm::MwmConfig;
    /// iSLIP: round-robin grants and accepts, with pointers that desynchronise.
    Islip, "islip", islip::IslipConfig;
    /// Parallel iterative matching: random grants and accepts.
    Pim, "pim", pim::PimConfig;
    /// Longest queue first: greedy, or iLQF with a fixed number of iterations.
    Ilqf, "ilqf", longest_queue_first::IlqfConfig;
    /// A matching with as many pairs as possible.
    MaximumSize, "maximum_size", maximum_size::MaximumSizeConfig;
    /// A wave along the diagonals of the crossbar.
    Wavefront, "wavefront", wavefront::WavefrontConfig;
}

#[cfg(feature = "config")]
fn bare_names(schema: &mut schemars::Schema) {
    forebay_units::allow_bare_names(schema, NAMES);
}

/// The number of iterations of an iterative scheduler: `configured`, or enough that a matching is maximal nearly
/// always, which takes about log2 of the ports (Anderson et al. 1993), and one more.
pub(crate) fn iterations(configured: Option<u32>, ports: usize) -> Result<u32, ParameterError> {
    let holds = configured.is_none_or(|count| (1..=MAX_PORTS as u32).contains(&count));
    require(holds, "iterations", "be between 1 and 64")?;
    Ok(configured.unwrap_or(ports.next_power_of_two().trailing_zeros() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{IlqfConfig, IslipConfig, PimConfig};

    #[test]
    fn errors_name_the_field_and_its_bound() {
        let error = |config: SchedulerConfig, ports| config.build(ports).err().map(|error| alloc::format!("{error}"));
        for config in SchedulerConfig::every() {
            assert_eq!(error(config.clone(), 65).as_deref(), Some("`ports` must be between 1 and 64"));
            assert_eq!(error(config.clone(), 0).as_deref(), Some("`ports` must be between 1 and 64"));
            assert_eq!(error(config, 64), None);
        }
        for config in [
            SchedulerConfig::Islip(IslipConfig { iterations: Some(0) }),
            SchedulerConfig::Pim(PimConfig { iterations: Some(65) }),
            SchedulerConfig::Ilqf(IlqfConfig { iterations: Some(0) }),
        ] {
            assert_eq!(error(config, 8).as_deref(), Some("`iterations` must be between 1 and 64"));
        }
    }

    #[test]
    fn iterations_follow_the_ports_by_default() {
        assert_eq!([1, 2, 4, 8, 9, 32].map(|ports| iterations(None, ports)), [1, 2, 3, 4, 5, 6].map(Ok));
        assert_eq!(iterations(Some(1), 32), Ok(1));
    }
}
