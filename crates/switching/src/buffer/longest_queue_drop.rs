//! Longest-queue drop: a full memory pushes the last frame of the longest queue out.
//!
//! # What it does
//! A frame is admitted if the free memory has room for it. If it has none, the last frames of the longest queue are
//! pushed out until the new one fits. If the longest queue, with the new frame, is that of the new frame, this frame is
//! the one that is lost. With n overloaded queues each holds 1 / n of the memory, and no frame is lost while memory is
//! free.
//!
//! # When to use it
//! Use it as the ideal that other policies are compared with: it uses the whole memory and protects short queues. Few
//! switches can take a frame out of a queue again. It does not work with a `queue` discipline, which owns its frames.
//!
//! # Example
//! ```toml
//! switch = { memory = "300 KB", buffer = "longest_queue_drop" }
//! ```
//!
//! # Source
//! S. Wei, E. Coyle and M. Hsiao, "An Optimal Buffer Management Policy for High-Performance Packet Switching", GLOBECOM
//! 1991, and the simulator of ABM's authors.
//!
//! # Where we differ
//! - A queue is that of a class at an output. It counts the frame being sent, which cannot be pushed out. If the
//!   longest queue has no other frame, the new frame is lost.
//! - The simulator pushes a frame out even if the longest queue is that of the new frame, which then joins it. The
//!   lengths are the same.
//!
//! # Cost
//! 64 bytes for each output. A sum for each frame, after the memory of all ports has been brought up to date; a look at
//! each queue for each frame that finds the memory full.
//!
//! # Parameters
//! See [`LongestQueueDropConfig`].

use alloc::boxed::Box;

use forebay_units::Time;

use crate::ParameterError;
use crate::buffer::queue_bytes::QueueBytes;
use crate::buffer::{Arriving, BufferPolicy, Frame};
use crate::shared_memory::{Memory, MemoryFull};

/// Longest-queue drop has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(deny_unknown_fields))]
pub struct LongestQueueDropConfig {}

#[derive(Debug, Default)]
struct LongestQueueDrop {
    queues: QueueBytes,
}

pub(crate) fn build(_config: &LongestQueueDropConfig) -> Result<Box<dyn BufferPolicy>, ParameterError> {
    Ok(Box::<LongestQueueDrop>::default())
}

impl BufferPolicy for LongestQueueDrop {
    fn limits_outputs(&self) -> bool {
        false
    }

    fn threshold(&self, memory: &Memory) -> u64 {
        memory.capacity()
    }

    fn admit(&mut self, frame: Frame, _arriving: Arriving, memory: &Memory) -> Result<(), MemoryFull> {
        if u64::from(frame.len_bytes) > memory.free() {
            return Err(MemoryFull::All);
        }
        self.queues.add(frame);
        Ok(())
    }

    fn release(&mut self, frame: Frame, _sent: Option<Time>, _memory: &Memory) {
        self.queues.remove(frame);
    }

    fn pushes_out(&self) -> bool {
        true
    }

    fn victim(&self, frame: Frame) -> Option<(usize, usize)> {
        let (output, class, longest) = self.queues.longest();
        let own = self.queues.of(frame) + u64::from(frame.len_bytes);
        (own < longest && (output, class) != (frame.output, frame.class)).then_some((output, class))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use forebay_units::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::buffer::BufferPolicyConfig;
    use crate::shared_memory::{SharedMemory, SharedMemoryConfig};

    const PORTS: usize = 4;
    const SHARE: u64 = 9000;

    /// The memory with its queues, as a switch has them.
    struct Switch {
        memory: SharedMemory,
        queues: Vec<Vec<Frame>>,
        lost: Vec<Frame>,
    }

    impl Switch {
        fn new() -> Self {
            let policy = BufferPolicyConfig::LongestQueueDrop(LongestQueueDropConfig {});
            let memory = SharedMemory::new(PORTS, SharedMemoryConfig { share: Bytes(SHARE), policy }).unwrap();
            Self { memory, queues: (0..PORTS).map(|_| Vec::new()).collect(), lost: Vec::new() }
        }

        fn arrive(&mut self, output: usize, len_bytes: u32) {
            let frame = Frame { input: 0, class: 3, output, len_bytes };
            while self.memory.admit_alone(frame).is_err() {
                let Some((victim, 3)) = self.memory.victim(frame) else {
                    self.lost.push(frame);
                    return;
                };
                let last = self.queues[victim].pop().unwrap();
                self.memory.release(last, None);
                self.lost.push(last);
            }
            self.queues[output].push(frame);
        }

        fn held(&self, output: usize) -> u64 {
            self.queues[output].iter().map(|frame| u64::from(frame.len_bytes)).sum()
        }
    }

    #[test]
    fn overloaded_outputs_share_the_whole_memory_equally() {
        for busy in 1..=PORTS {
            let mut switch = Switch::new();
            // The first output takes all; then the others come.
            (0..400).for_each(|_| switch.arrive(0, 100));
            assert_eq!((switch.held(0), switch.lost.len()), (36_000, 40));
            for _ in 0..400 {
                (0..busy).for_each(|output| switch.arrive(output, 100));
            }
            for output in 0..busy {
                assert!(switch.held(output).abs_diff(36_000 / busy as u64) <= 100, "{busy}: {}", switch.held(output));
            }
            assert_eq!(switch.memory.free(), 0);
        }
    }

    #[test]
    fn the_longest_queue_loses_as_many_frames_as_it_takes_and_its_own_frames_first() {
        let mut switch = Switch::new();
        (0..35).for_each(|_| switch.arrive(0, 1000));
        switch.arrive(1, 1000);
        assert_eq!(switch.lost, []);
        switch.arrive(0, 1000);
        assert_eq!((switch.lost.len(), switch.held(0)), (1, 35_000));
        switch.arrive(2, 2500);
        assert_eq!((switch.lost.len(), switch.held(0), switch.held(2)), (4, 32_000, 2500));
        assert_eq!(switch.memory.free(), 500);
    }

    proptest! {
        #[test]
        fn frames_are_lost_only_if_the_memory_is_full_and_only_by_the_longest_queue(
            steps in prop::collection::vec((0..PORTS, 1_u32..=1500, 0..3_usize), 1..400),
        ) {
            let mut switch = Switch::new();
            for (output, len_bytes, leave) in steps {
                for frame in (0..leave).filter_map(|_| switch.queues[output].pop()).collect::<Vec<_>>() {
                    switch.memory.release(frame, Some(Time::ZERO));
                }
                let (free, lost) = (switch.memory.free(), switch.lost.len());
                let longest = (0..PORTS).map(|port| switch.held(port)).max().unwrap();
                let own = switch.held(output) + u64::from(len_bytes);
                switch.arrive(output, len_bytes);
                prop_assert!(switch.lost.len() == lost || u64::from(len_bytes) > free);
                if let Some(last) = switch.lost.get(lost) {
                    let expected = if own >= longest { output } else { last.output };
                    prop_assert_eq!(last.output, expected);
                }
                let held: u64 = (0..PORTS).map(|port| switch.held(port)).sum();
                prop_assert_eq!(switch.memory.total(), held);
            }
        }
    }
}
