//! Partitions: each input has its share of the memory for itself.
//!
//! # What it does
//! A frame is admitted if the partition of its input has room for it and its output is below its limit. This limit is
//! absent, a fixed number of bytes, or a multiple of the free memory, the same for all outputs. Every partition serves
//! all outputs.
//!
//! # When to use it
//! Use it for lossless Ethernet: the bytes of an input depend on its own feeder only, which PAUSE stops. An overloaded
//! output may fill every partition and so delay the frames of other outputs.
//!
//! # Example
//! ```toml
//! switch = { memory = "300 KB", buffer = "partitions" }
//! ```
//!
//! # Source
//! M. Gusat, C. Minkenberg and R. Luijten, "Extended Ethernet Congestion Management", IEEE 802.1 2007, slide
//! "Simulation Setup": memory partitioned per input, shared among all outputs, without a limit for outputs. The limit
//! by free memory: A. Choudhury and E. Hahne, "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches",
//! IEEE/ACM Transactions on Networking 6(2), 1998.
//!
//! # Where we differ
//! Choudhury and Hahne count cells. Here an output at less than its dynamic limit may pass it by the rest of a frame.
//!
//! # Cost
//! No state. Without a limit no work for a frame, unless its input holds more than ever before.
//!
//! # Parameters
//! See [`PartitionsConfig`].

use alloc::boxed::Box;

use forebay_units::Bytes;

use crate::buffer::{Arriving, BufferPolicy, Frame};
use crate::shared_memory::{Memory, MemoryFull};
use crate::{ParameterError, require};

/// How much of a switch's memory one output may hold: exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "snake_case"))]
pub enum OutputLimit {
    /// This many bytes.
    Static(Bytes),
    /// This many times the memory of the switch that is free (Choudhury and Hahne 1998): their alpha.
    Dynamic(f64),
}

/// Parameters of partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(default, deny_unknown_fields))]
pub struct PartitionsConfig {
    /// Memory of all inputs that one output may occupy. Frames beyond it are lost, with or without PAUSE. Default: no
    /// limit.
    #[cfg_attr(feature = "config", serde(skip_serializing_if = "Option::is_none"))]
    pub output_limit: Option<OutputLimit>,
}

#[derive(Clone, Copy, Debug)]
struct Partitions {
    output_limit: Option<OutputLimit>,
}

pub(crate) fn build(config: &PartitionsConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    match config.output_limit {
        None => {}
        Some(OutputLimit::Static(bytes)) => require(bytes.0 > 0, "output_limit.static", "be more than 0")?,
        Some(OutputLimit::Dynamic(alpha)) => {
            require(alpha.is_finite() && alpha > 0.0, "output_limit.dynamic", "be a number above 0")?;
        }
    }
    Ok(Box::new(Partitions { output_limit: config.output_limit }))
}

impl BufferPolicy for Partitions {
    fn isolates_inputs(&self) -> bool {
        self.output_limit.is_none()
    }

    fn limits_outputs(&self) -> bool {
        self.output_limit.is_some()
    }

    fn threshold(&self, memory: &Memory) -> u64 {
        match self.output_limit {
            None => u64::MAX,
            Some(OutputLimit::Static(bytes)) => bytes.0,
            Some(OutputLimit::Dynamic(alpha)) => libm::ceil(alpha * memory.free() as f64) as u64,
        }
    }

    fn admit(&mut self, frame: Frame, _arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        let len_bytes = u64::from(frame.len_bytes);
        if memory.of_input(frame.input) + len_bytes > memory.share() {
            return Err(MemoryFull::Partition);
        }
        let (held, threshold) = (memory.of_output(frame.output), self.threshold(memory));
        let fits = match self.output_limit {
            // Blocked while the queue is at the threshold or above it (Choudhury and Hahne).
            Some(OutputLimit::Dynamic(_)) => held < threshold,
            _ => held + len_bytes <= threshold,
        };
        if fits { Ok(()) } else { Err(MemoryFull::Output) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::BufferPolicyConfig;
    use crate::shared_memory::{SharedMemory, SharedMemoryConfig};

    const PORTS: usize = 4;

    fn memory(ports: usize, share: u64, output_limit: Option<OutputLimit>) -> SharedMemory {
        let policy = BufferPolicyConfig::Partitions(PartitionsConfig { output_limit });
        SharedMemory::new(ports, SharedMemoryConfig { share: Bytes(share), policy }).unwrap()
    }

    fn frame(input: usize, output: usize, len_bytes: u32) -> Frame {
        Frame { input, class: 0, output, len_bytes }
    }

    #[test]
    fn a_full_partition_refuses_and_the_others_do_not() {
        let mut memory = memory(2, 3000, None);
        assert_eq!(memory.admit_alone(frame(0, 1, 1500)), Ok(()));
        assert_eq!(memory.admit_alone(frame(0, 1, 1500)), Ok(()), "to the last byte");
        assert_eq!(memory.admit_alone(frame(0, 0, 1)), Err(MemoryFull::Partition));
        assert_eq!(memory.admit_alone(frame(1, 1, 1500)), Ok(()));
        assert_eq!((memory.of_input(0), memory.of_output(1)), (3000, 4500));
    }

    #[test]
    fn a_static_limit_holds_for_each_output_alone() {
        let mut memory = memory(2, 10_000, Some(OutputLimit::Static(Bytes(3000))));
        for input in [0, 1] {
            assert_eq!(memory.admit_alone(frame(input, 0, 1500)), Ok(()));
        }
        assert_eq!(memory.admit_alone(frame(0, 0, 64)), Err(MemoryFull::Output));
        assert_eq!(memory.admit_alone(frame(0, 1, 64)), Ok(()));
    }

    #[test]
    fn greedy_outputs_each_hold_alpha_of_what_they_leave_free() {
        // Choudhury and Hahne: n greedy queues hold alpha B / (1 + n alpha) each.
        for (alpha, greedy) in [(0.5, 1), (1.0, 1), (1.0, 3), (2.0, 2), (2.0, 4)] {
            let mut memory = memory(PORTS, 100_000, Some(OutputLimit::Dynamic(alpha)));
            // From all inputs, round-robin, so that no partition is the bound; until all have been refused.
            for round in 0..10_000 {
                for output in 0..greedy {
                    let _ = memory.admit_alone(frame((round + output) % PORTS, output, 100));
                }
            }
            let expected = alpha * 400_000.0 / (1.0 + f64::from(greedy as u32) * alpha);
            for output in 0..greedy {
                let held = memory.of_output(output) as f64;
                assert!((held - expected).abs() <= 100.0 * (1.0 + alpha), "{alpha} {greedy}: {held} for {expected}");
            }
        }
    }

    #[test]
    fn an_output_at_its_dynamic_threshold_is_blocked() {
        // "Blocked while the queue is at the threshold or above it" (Choudhury and Hahne): of 4000 B half are free.
        let mut memory = memory(2, 2000, Some(OutputLimit::Dynamic(1.0)));
        for input in [0, 0, 1] {
            assert_eq!(memory.admit_alone(frame(input, 0, 640)), Ok(()));
        }
        assert_eq!((memory.of_output(0), memory.total()), (1920, 1920));
        assert_eq!(memory.admit_alone(frame(1, 0, 80)), Ok(()), "80 B below the threshold");
        assert_eq!(memory.admit_alone(frame(1, 0, 1)), Err(MemoryFull::Output), "at it");
        assert_eq!(memory.admit_alone(frame(1, 1, 1)), Ok(()));
    }

    #[test]
    fn a_limit_that_cannot_work_is_refused_by_name() {
        let field = |limit| build(&PartitionsConfig { output_limit: Some(limit) }).err().map(|error| error.field);
        assert_eq!(field(OutputLimit::Static(Bytes(0))), Some("output_limit.static"));
        for least in [OutputLimit::Static(Bytes(1)), OutputLimit::Dynamic(f64::MIN_POSITIVE)] {
            assert_eq!(field(least), None, "{least:?}");
        }
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(field(OutputLimit::Dynamic(alpha)), Some("output_limit.dynamic"));
        }
    }

    proptest! {
        #[test]
        fn verdicts_follow_from_the_frames_held(
            share in 1000_u64..20_000,
            output_limit in prop_oneof![
                Just(None),
                (1_u64..40_000).prop_map(|bytes| Some(OutputLimit::Static(Bytes(bytes)))),
                (0.01..16.0).prop_map(|alpha| Some(OutputLimit::Dynamic(alpha))),
            ],
            frames in prop::collection::vec((0..PORTS, 0..PORTS, 1_u32..=9000), 1..100),
        ) {
            let mut memory = memory(PORTS, share, output_limit);
            for (input, output, len_bytes) in frames {
                let (of_input, of_output) = (memory.of_input(input), memory.of_output(output));
                let (free, len) = (share * PORTS as u64 - memory.total(), u64::from(len_bytes));
                let fits = match output_limit {
                    None => true,
                    Some(OutputLimit::Static(bytes)) => of_output + len <= bytes.0,
                    Some(OutputLimit::Dynamic(alpha)) => (of_output as f64) < alpha * free as f64,
                };
                let expected = match (of_input + len <= share, fits) {
                    (false, _) => Err(MemoryFull::Partition),
                    (true, false) => Err(MemoryFull::Output),
                    (true, true) => Ok(()),
                };
                prop_assert_eq!(memory.admit_alone(frame(input, output, len_bytes)), expected);
            }
        }
    }
}
