//! Bytes of each queue of a switch, for policies that distinguish classes.

use alloc::vec::Vec;

use crate::buffer::Frame;
use crate::shared_memory::SharedMemory;

/// Bytes held of each class at each output.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueBytes(Vec<[u64; SharedMemory::CLASSES]>);

impl QueueBytes {
    /// Bytes held in the queue of `frame`.
    pub fn of(&self, frame: Frame) -> u64 {
        self.0.get(frame.output).map_or(0, |classes| classes[frame.class])
    }

    /// A frame joins its queue.
    pub fn add(&mut self, frame: Frame) {
        if frame.output >= self.0.len() {
            self.0.resize(frame.output + 1, [0; SharedMemory::CLASSES]);
        }
        self.0[frame.output][frame.class] += u64::from(frame.len_bytes);
    }

    /// A frame, or a part of it, leaves its queue.
    pub fn remove(&mut self, frame: Frame) {
        self.0[frame.output][frame.class] -= u64::from(frame.len_bytes);
    }

    /// Output, class and bytes of the longest queue; of the first of them if several are equal.
    pub fn longest(&self) -> (usize, usize, u64) {
        let mut longest = (0, 0, 0);
        for (output, classes) in self.0.iter().enumerate() {
            for (class, &bytes) in classes.iter().enumerate() {
                if bytes > longest.2 {
                    longest = (output, class, bytes);
                }
            }
        }
        longest
    }
}
