//! Dynamic threshold: an output may hold alpha times the free memory.
//!
//! # What it does
//! All outputs have the same threshold, alpha times the free memory. A frame is admitted if its output then holds no
//! more than that, and the free memory has room for it. The threshold falls as more outputs are busy: with n overloaded
//! outputs each holds alpha / (1 + n alpha) of the memory, and 1 / (1 + n alpha) stays free for the next output. Inputs
//! may have a threshold too, and both may apply to each class of a port.
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
//! Transactions on Networking 6(2), 1998. The threshold of inputs: the simulator of ConWeave, which has 1/16 for inputs
//! and 1 for outputs.
//!
//! # Where we differ
//! Choudhury and Hahne count cells. Here the frame's bytes count before it is admitted. In ConWeave's simulator, and
//! with PAUSE in switches, an input beyond its threshold stops its feeder; here its frames are lost.
//!
//! # Cost
//! No state, or 64 bytes for each output with `by_class`. A product for each threshold and frame, after the memory of
//! all ports has been brought up to date.
//!
//! # Parameters
//! See [`DynamicThresholdConfig`].

use alloc::boxed::Box;

use forebay_units::Time;

use crate::buffer::queue_bytes::QueueBytes;
use crate::buffer::{Arriving, BufferPolicy, Frame, threshold_at, within};
use crate::shared_memory::{Memory, MemoryFull};
use crate::{ParameterError, require};

/// Parameters of the dynamic threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct DynamicThresholdConfig {
    /// The threshold of each output as a multiple of the free memory. Powers of 2 are easy to implement in hardware.
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    pub alpha: f64,
    /// The threshold of each input as a multiple of the free memory. Default: none.
    #[cfg_attr(feature = "config", schemars(extend("exclusiveMinimum" = 0.0)))]
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub input_alpha: Option<f64>,
    /// Whether each class of a port has the thresholds for itself, where the switch distinguishes classes. Default:
    /// they are those of all classes together.
    pub by_class: bool,
}

impl Default for DynamicThresholdConfig {
    fn default() -> Self {
        Self { alpha: 1.0, input_alpha: None, by_class: false }
    }
}

#[derive(Clone, Debug)]
struct DynamicThreshold {
    config: DynamicThresholdConfig,
    /// With `by_class`.
    queues: QueueBytes,
}

pub(crate) fn build(config: &DynamicThresholdConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    for (alpha, field) in [(config.alpha, "alpha"), (config.input_alpha.unwrap_or(1.0), "input_alpha")] {
        require(alpha.is_finite() && alpha > 0.0, field, "be a number above 0")?;
    }
    Ok(Box::new(DynamicThreshold { config: *config, queues: QueueBytes::default() }))
}

impl BufferPolicy for DynamicThreshold {
    fn limits_outputs(&self) -> bool {
        true
    }

    fn threshold(&self, memory: &Memory) -> u64 {
        threshold_at(self.config.alpha, memory)
    }

    fn admit(&mut self, frame: Frame, _arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        let by_class = self.config.by_class;
        let of_output = if by_class { self.queues.of(frame) } else { memory.of_output(frame.output) };
        within(of_output, frame, self.threshold(memory), memory)?;
        if let Some(alpha) = self.config.input_alpha {
            let Frame { input, class, .. } = frame;
            let of_input = if by_class { memory.of_input_class(input, class) } else { memory.of_input(input) };
            within(of_input, frame, threshold_at(alpha, memory), memory).map_err(|_| MemoryFull::Partition)?;
        }
        if by_class {
            self.queues.add(frame);
        }
        Ok(())
    }

    fn release(&mut self, frame: Frame, _sent: Option<Time>, _memory: &Memory) {
        if self.config.by_class {
            self.queues.remove(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use forebay_units::Bytes;

    use super::*;
    use crate::buffer::BufferPolicyConfig;
    use crate::shared_memory::{SharedMemory, SharedMemoryConfig};

    fn memory(alpha: f64, ports: usize, share: u64) -> SharedMemory {
        let policy = BufferPolicyConfig::DynamicThreshold(DynamicThresholdConfig { alpha, ..Default::default() });
        SharedMemory::new(ports, SharedMemoryConfig { share: Bytes(share), policy }).unwrap()
    }

    #[test]
    fn overloaded_outputs_share_and_leave_a_part_free() {
        for (alpha, busy) in [(0.5, 1), (1.0, 1), (1.0, 3), (2.0, 2), (8.0, 4), (0.125, 4)] {
            let mut memory = memory(alpha, 4, 100_000);
            let mut refused = 0;
            while refused < busy {
                // All by one input: no partition is a bound.
                let admitted =
                    (0..busy).map(|output| memory.admit_alone(Frame { input: 0, class: 0, output, len_bytes: 1 }));
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
        assert_eq!(half.admit_alone(frame(0, 1501)), Err(MemoryFull::Output));
        assert_eq!(half.admit_alone(frame(0, 1500)), Ok(()), "half of 3000");
        assert_eq!(half.admit_alone(frame(1, 751)), Err(MemoryFull::Output), "half of the other 1500");
        let mut large = memory(8.0, 2, 1500);
        assert_eq!(large.admit_alone(frame(0, 2000)), Ok(()));
        assert_eq!(large.admit_alone(frame(1, 1001)), Err(MemoryFull::All));
    }

    fn memory_of(config: DynamicThresholdConfig) -> SharedMemory {
        let policy = BufferPolicyConfig::DynamicThreshold(config);
        SharedMemory::new(4, SharedMemoryConfig { share: Bytes(100_000), policy }).unwrap()
    }

    #[test]
    fn overloaded_classes_share_as_outputs_do() {
        for (alpha, busy) in [(1.0, 3), (0.5, 8), (0.125, 1)] {
            let mut memory =
                memory_of(DynamicThresholdConfig { alpha, by_class: true, ..DynamicThresholdConfig::default() });
            let frame = |class: usize| Frame { input: class % 4, class, output: class / 2, len_bytes: 1 };
            while (0..busy).filter(|&class| memory.admit_alone(frame(class)).is_ok()).count() > 0 {}
            let part = 400_000.0 / (1.0 + alpha * busy as f64);
            for class in 0..busy {
                let held = memory.of_input_class(class % 4, class) as f64;
                assert!((held - alpha * part).abs() <= 1.0 + alpha, "{alpha} {busy}: {held} for {}", alpha * part);
            }
            // The queue of a frame that leaves has room again, those of other classes have no more.
            memory.release(frame(0), None);
            assert_eq!(memory.admit_alone(frame(0)), Ok(()));
        }
    }

    /// ConWeave's thresholds: n busy inputs hold alpha B / (1 + n alpha) each.
    #[test]
    fn overloaded_inputs_share_as_outputs_do() {
        let (alpha, inputs) = (1.0 / 16.0, 3);
        let mut memory =
            memory_of(DynamicThresholdConfig { input_alpha: Some(alpha), ..DynamicThresholdConfig::default() });
        let frame = |input| Frame { input, class: 0, output: input, len_bytes: 1 };
        while (0..inputs).filter(|&input| memory.admit_alone(frame(input)).is_ok()).count() > 0 {}
        let expected = alpha * 400_000.0 / (1.0 + alpha * inputs as f64);
        for input in 0..inputs {
            let held = memory.of_input(input) as f64;
            assert!((held - expected).abs() <= 1.0 + alpha, "{held} for {expected}");
            assert_eq!(memory.admit_alone(frame(input)), Err(MemoryFull::Partition));
        }
        assert_eq!(memory.admit_alone(Frame { input: 3, ..frame(0) }), Ok(()), "the output has room");
    }

    #[test]
    fn an_alpha_that_cannot_work_is_refused() {
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let field = |config| build(&config).err().map(|error| error.field);
            assert_eq!(field(DynamicThresholdConfig { alpha, ..Default::default() }), Some("alpha"));
            let input_alpha = Some(alpha);
            assert_eq!(field(DynamicThresholdConfig { input_alpha, ..Default::default() }), Some("input_alpha"));
        }
    }
}
