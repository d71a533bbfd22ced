//! The interface of a buffer policy, and its choice by configuration.
//!
//! A switch has one [`Memory`], which counts bytes by input, class and output. A policy decides which frames it takes
//! in. PAUSE stops the feeder of an input that holds too much: by its watermarks, or as the policy decides.

use alloc::boxed::Box;
use alloc::vec::Vec;

use forebay_units::{Rate, Time};

use crate::ParameterError;
use crate::pause::PauseLevel;
use crate::shared_memory::{Memory, MemoryFull};

pub(crate) mod abm;
pub(crate) mod complete_sharing;
pub(crate) mod dynamic_threshold;
pub(crate) mod fab;
pub(crate) mod headroom_pool;
pub(crate) mod longest_queue_drop;
pub(crate) mod partitions;
mod queue_bytes;

/// A frame that arrives at the memory or leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The port by which it came.
    pub input: usize,
    /// Its class.
    pub class: usize,
    /// The port by which it leaves.
    pub output: usize,
    /// Its length.
    pub len_bytes: u32,
}

/// Facts about an arrival, for policies with state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arriving {
    /// The time. It does not decrease.
    pub now: Time,
    /// The flow of the frame: a number that no other flow has.
    pub flow: u64,
    /// The rate of the link by which the frame leaves.
    pub rate: Rate,
}

/// The most bytes that a queue may hold which has alpha times the free memory.
pub(crate) fn threshold_at(alpha: f64, memory: &Memory) -> u64 {
    (alpha * memory.free() as f64) as u64
}

/// Whether `frame` fits into the free memory, and into a queue that holds `held` bytes and may hold `threshold`.
pub(crate) fn within(held: u64, frame: Frame, threshold: u64, memory: &Memory) -> Result<(), MemoryFull> {
    let len_bytes = u64::from(frame.len_bytes);
    if len_bytes > memory.free() {
        return Err(MemoryFull::All);
    }
    if held + len_bytes <= threshold { Ok(()) } else { Err(MemoryFull::Output) }
}

/// Decides which frames a memory takes in.
pub trait BufferPolicy: Send + core::fmt::Debug {
    /// Whether all frames of an input that stays within its [share](Memory::share) are admitted, whatever other ports
    /// hold. Then neither `admit` nor `release` is called for them.
    fn isolates_inputs(&self) -> bool {
        false
    }

    /// Whether frames may be refused while no input exceeds its share. Then watermarks of PAUSE do not prevent losses.
    fn limits_outputs(&self) -> bool;

    /// The most bytes that an output may hold now.
    fn threshold(&self, memory: &Memory) -> u64;

    /// Whether the memory takes a frame in.
    ///
    /// # Errors
    /// If it does not.
    fn admit(&mut self, frame: Frame, _arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        within(memory.of_output(frame.output), frame, self.threshold(memory), memory)
    }

    /// A frame, or a part of it, has left the memory. `sent` is the end of its transmission, or `None` if it was
    /// dropped. For policies with state of their own. Times of one output do not decrease.
    fn release(&mut self, _frame: Frame, _sent: Option<Time>, _memory: &Memory) {}

    /// Sets the rates of the links that feed the inputs, as far as they are known. `by_class`: PAUSE stops single
    /// classes. For policies with state of inputs. The memory is empty.
    fn feed(&mut self, _links: &[Option<Rate>], _by_class: bool, _memory: &Memory) {}

    /// Whether the policy decides when PAUSE stops a feeder: [`BufferPolicy::pause_level`].
    fn decides_pause(&self) -> bool {
        false
    }

    /// Whether the feeder of an input must stop a class, or may continue it.
    fn pause_level(&self, _input: usize, _class: usize) -> PauseLevel {
        PauseLevel::default()
    }

    /// The bytes of a class that an input must release, whatever others do, before its stopped feeder may continue.
    fn excess(&self, _input: usize, _class: usize) -> u64 {
        0
    }

    /// Whether frames in the memory may make room for others: [`BufferPolicy::victim`].
    fn pushes_out(&self) -> bool {
        false
    }

    /// The output and the class of the queue that must lose its last frame, because there is no room for `frame`.
    /// `None` if `frame` is the one to lose.
    fn victim(&self, _frame: Frame) -> Option<(usize, usize)> {
        None
    }
}

/// Declares [`BufferPolicyConfig`]. An entry is the description in the schema, then the variant, the name in a
/// scenario, and the configuration in its module, whose file has that name. There `build` creates the policy of a
/// switch.
macro_rules! buffer_policies {
    ($($(#[$description:meta])* $variant:ident, $name:literal, $module:ident::$config:ident;)*) => {
        /// How the memory of a switch is divided: exactly one of these.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
        #[cfg_attr(feature = "config", schemars(transform = bare_names))]
        pub enum BufferPolicyConfig {
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
                include_str!(concat!("buffer/", $name, ".rs")),
                <$module::$config as schemars::JsonSchema>::json_schema,
            )),*
        ];

        impl BufferPolicyConfig {
            /// Every policy with its defaults.
            #[must_use]
            pub fn every() -> Vec<Self> {
                alloc::vec![$(Self::$variant(Default::default())),*]
            }

            /// The policy of a switch.
            ///
            /// # Errors
            /// The first parameter outside its bound.
            pub fn build(&self) -> Result<Box<dyn BufferPolicy>, ParameterError> {
                match self {
                    $(Self::$variant(config) => $module::build(config),)*
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

buffer_policies! {
    /// Each input has its share of the memory for itself; all outputs use it.
    Partitions, "partitions", partitions::PartitionsConfig;
    /// All ports share the whole memory without limits.
    CompleteSharing, "complete_sharing", complete_sharing::CompleteSharingConfig;
    /// Each queue may hold a multiple of the free memory, which follows the number of ports that its class congests and
    /// its drain rate.
    Abm, "abm", abm::AbmConfig;
    /// All ports share the memory, and an output may hold a multiple of the part that is free.
    DynamicThreshold, "dynamic_threshold", dynamic_threshold::DynamicThresholdConfig;
    /// As `dynamic_threshold`, with a larger multiple for the frames of short flows.
    Fab, "fab", fab::FabConfig;
    /// Each input has headroom for itself, and may hold a multiple of the shared memory that is free; PAUSE follows it.
    HeadroomPool, "headroom_pool", headroom_pool::HeadroomPoolConfig;
    /// All ports share the whole memory; if it is full, the longest queue loses its last frame.
    LongestQueueDrop, "longest_queue_drop", longest_queue_drop::LongestQueueDropConfig;
}

impl Default for BufferPolicyConfig {
    fn default() -> Self {
        Self::Partitions(partitions::PartitionsConfig::default())
    }
}

#[cfg(feature = "config")]
fn bare_names(schema: &mut schemars::Schema) {
    forebay_units::allow_bare_names(schema, NAMES);
}

#[cfg(test)]
mod tests {
    use forebay_units::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::shared_memory::{SharedMemory, SharedMemoryConfig};

    const PORTS: usize = 3;

    fn memory(policy: BufferPolicyConfig, share: u64) -> SharedMemory {
        SharedMemory::new(PORTS, SharedMemoryConfig { share: Bytes(share), policy }).unwrap()
    }

    proptest! {
        #[test]
        fn no_policy_exceeds_the_memory_and_what_pause_protects_is_never_lost(
            policy in 0..BufferPolicyConfig::every().len(),
            share in 1000_u64..20_000,
            steps in prop::collection::vec((0..PORTS, 0..PORTS, 1_u32..2000, any::<bool>()), 1..300),
        ) {
            let policy = BufferPolicyConfig::every()[policy];
            let limits_outputs = policy.build().unwrap().limits_outputs();
            let (mut memory, mut held) = (memory(policy, share), Vec::<Frame>::new());
            for (input, output, len_bytes, leaves) in steps {
                if leaves && !held.is_empty() {
                    memory.release(held.swap_remove(input % held.len()), Some(Time::ZERO));
                }
                let frame = Frame { input, class: 0, output, len_bytes };
                let of_input = |port| memory.of_input(port) + if port == input { u64::from(len_bytes) } else { 0 };
                let within = (0..PORTS).all(|port| of_input(port) <= share);
                let admitted = memory.admit_alone(frame).is_ok();
                prop_assert!(admitted || limits_outputs || !within, "{policy:?} refuses {frame:?}");
                held.extend(admitted.then_some(frame));
                prop_assert!(memory.total() <= share * PORTS as u64);
            }
        }
    }

    /// Admits as many frames as the memory has not released yet, at most three.
    #[derive(Debug)]
    struct Three(u32);

    impl BufferPolicy for Three {
        fn limits_outputs(&self) -> bool {
            true
        }

        fn threshold(&self, _memory: &Memory) -> u64 {
            u64::MAX
        }

        fn admit(&mut self, _frame: Frame, _arriving: Arriving, _memory: &Memory) -> Result<(), MemoryFull> {
            self.0 = (self.0 < 3).then_some(self.0 + 1).ok_or(MemoryFull::All)?;
            Ok(())
        }

        fn release(&mut self, _frame: Frame, _sent: Option<Time>, _memory: &Memory) {
            self.0 -= 1;
        }
    }

    #[test]
    fn a_policy_with_state_learns_what_leaves() {
        let mut memory = SharedMemory::with_policy(PORTS, Bytes(10_000), Box::new(Three(0))).unwrap();
        let frame = Frame { input: 0, class: 0, output: 1, len_bytes: 100 };
        assert!((0..3).all(|_| memory.is_close(0, 100) && memory.admit_alone(frame).is_ok()));
        assert_eq!(memory.admit_alone(frame), Err(MemoryFull::All));
        memory.release(frame, None);
        assert_eq!(memory.admit_alone(frame), Ok(()));
    }
}
