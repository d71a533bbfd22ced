//! The length of a queue.

/// How much a queue holds. The packet on the wire is not part of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes of the packets waiting.
    pub bytes: u64,
}
