//! The length of a queue.

/// How much a queue holds. The packet on the wire is not part of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes of the packets waiting.
    pub bytes: u64,
}

impl Backlog {
    /// Counts a packet that joins the queue.
    pub(crate) fn add(&mut self, len_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(len_bytes);
    }

    /// Counts a packet that leaves it.
    pub(crate) fn remove(&mut self, len_bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(len_bytes);
    }
}
