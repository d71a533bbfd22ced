//! Dynamic threshold: an output may hold alpha times the free memory.
//!
//! # What it does
//! All outputs have the same threshold, alpha times the free memory. A frame is admitted if its output then holds no
//! more than that, and the free memory has room for it. The threshold falls as more outputs are busy: with n overloaded
//! outputs each holds alpha / (1 + n alpha) of the memory, and 1 / (1 + n alpha) stays free for the next output.
//!
//! # When to use it
//! Use it for switches with one memory, most of which divide it this way. A larger alpha uses more of the memory for a
//! few overloaded outputs and leaves less for a burst at another one. With PAUSE, frames beyond the threshold are lost.
//!
//! # Example
//! ```toml
//! switch = { memory = "300 KB", buffer.dynamic_threshold = { alpha = 0.5 } }
//! ```
//!
//! # Source
//! A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches", IEEE/ACM
//! Transactions on Networking 6(2), 1998.
//!
//! # Where we differ
//! Choudhury and Hahne count cells. Here the frame's bytes count before it is admitted.
//!
//! # Cost
//! No state. A product for each frame, after the memory of all ports has been brought up to date.
//!
//! # Parameters
//! See [`DynamicThresholdConfig`].

use alloc::boxed::Box;

use crate::buffer::BufferPolicy;
use crate::shared_memory::Memory;
use crate::{ParameterError, require};

/// Parameters of the dynamic threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DynamicThresholdConfig {
    /// The threshold of each output as a multiple of the free memory. Powers of 2 are easy to implement in hardware.
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub alpha: f64,
}

impl Default for DynamicThresholdConfig {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

#[derive(Clone, Copy, Debug)]
struct DynamicThreshold {
    alpha: f64,
}

pub(crate) fn build(config: &DynamicThresholdConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    let alpha = config.alpha;
    require(alpha.is_finite() && alpha > 0.0, "alpha", "be a number above 0")?;
    Ok(Box::new(DynamicThreshold { alpha }))
}

impl BufferPolicy for DynamicThreshold {
    fn limits_outputs(&self) -> bool {
        true
    }

    fn threshold(&self, memory: &Memory) -> u64 {
        (self.alpha * memory.free() as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Bytes;

    use super::*;
    use crate::buffer::{BufferPolicyConfig, Frame};
    use crate::shared_memory::{MemoryFull, SharedMemory, SharedMemoryConfig};

    fn memory(alpha: f64, ports: usize, share: u64) -> SharedMemory {
        let policy = BufferPolicyConfig::DynamicThreshold(DynamicThresholdConfig { alpha });
        SharedMemory::new(ports, SharedMemoryConfig { share: Bytes(share), policy }).unwrap()
    }

    #[test]
    fn overloaded_outputs_share_and_leave_a_part_free() {
        for (alpha, busy) in [(0.5, 1), (1.0, 1), (1.0, 3), (2.0, 2), (8.0, 4), (0.125, 4)] {
            let mut memory = memory(alpha, 4, 100_000);
            let mut refused = 0;
            while refused < busy {
                // All by one input: no partition is a bound.
                let admitted = (0..busy).map(|output| memory.admit(Frame { input: 0, class: 0, output, len_bytes: 1 }));
                refused = admitted.filter(Result::is_err).count();
            }
            let part = 400_000.0 / (1.0 + alpha * f64::from(busy as u32));
            for output in 0..busy {
                let held = memory.of_output(output) as f64;
                assert!((held - alpha * part).abs() <= 1.0 + alpha, "{alpha} {busy}: {held} for {}", alpha * part);
            }
        }
    }

    #[test]
    fn the_whole_frame_must_be_below_the_threshold_and_in_the_free_memory() {
        let frame = |output, len_bytes| Frame { input: 0, class: 0, output, len_bytes };
        let mut half = memory(0.5, 2, 1500);
        assert_eq!(half.admit(frame(0, 1501)), Err(MemoryFull::Output));
        assert_eq!(half.admit(frame(0, 1500)), Ok(()), "half of 3000");
        assert_eq!(half.admit(frame(1, 751)), Err(MemoryFull::Output), "half of the other 1500");
        let mut large = memory(8.0, 2, 1500);
        assert_eq!(large.admit(frame(0, 2000)), Ok(()));
        assert_eq!(large.admit(frame(1, 1001)), Err(MemoryFull::All));
    }

    #[test]
    fn an_alpha_that_cannot_work_is_refused() {
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(build(&DynamicThresholdConfig { alpha }).err().map(|error| error.field), Some("alpha"));
        }
    }
}
