//! Complete sharing: all ports use one memory without limits.
//!
//! # What it does
//! A frame is admitted if the free memory has room for it.
//!
//! # When to use it
//! Use it as the bound that other policies are compared with: no frame is lost while any memory is free. One overloaded
//! output can take the whole memory, and then frames for idle outputs are lost.
//!
//! # Example
//! ```toml
//! switch = { memory = "300 KB", buffer = "complete_sharing" }
//! ```
//!
//! # Source
//! F. Kamoun and L. Kleinrock, "Analysis of Shared Finite Storage in a Computer Network Node Environment Under General
//! Traffic Conditions", IEEE Transactions on Communications 28(7), 1980.
//!
//! # Where we differ
//! Nowhere.
//!
//! # Cost
//! No state. A comparison for each frame, after the memory of all ports has been brought up to date.
//!
//! # Parameters
//! See [`CompleteSharingConfig`].

use alloc::boxed::Box;

use crate::ParameterError;
use crate::buffer::BufferPolicy;
use crate::shared_memory::Memory;

/// Complete sharing has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct CompleteSharingConfig {}

#[derive(Clone, Copy, Debug)]
struct CompleteSharing;

pub(crate) fn build(_config: &CompleteSharingConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    Ok(Box::new(CompleteSharing))
}

impl BufferPolicy for CompleteSharing {
    fn limits_outputs(&self) -> bool {
        false
    }

    fn threshold(&self, memory: &Memory) -> u64 {
        memory.capacity()
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Bytes;

    use super::*;
    use crate::buffer::{BufferPolicyConfig, Frame};
    use crate::shared_memory::{MemoryFull, SharedMemory, SharedMemoryConfig};

    #[test]
    fn one_output_takes_all_the_memory_to_the_last_byte() {
        let policy = BufferPolicyConfig::CompleteSharing(CompleteSharingConfig {});
        let mut memory = SharedMemory::new(4, SharedMemoryConfig { share: Bytes(750), policy }).unwrap();
        let frame = Frame { input: 0, class: 0, output: 1, len_bytes: 1500 };
        assert!((0..2).all(|_| memory.admit_alone(frame).is_ok()));
        let other = Frame { input: 2, output: 3, len_bytes: 1, ..frame };
        assert_eq!(memory.admit_alone(other), Err(MemoryFull::All));
        memory.release(frame, None);
        assert_eq!(memory.admit_alone(Frame { len_bytes: 1500, ..other }), Ok(()));
    }
}
