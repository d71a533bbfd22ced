//! Sizes: of packets and files in bytes, of queues in bytes or packets.

use core::fmt;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::parse::write_size(f, self.0)
    }
}

/// The size of a queue, or a threshold on it: counted in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueueSize {
    /// This many packets, whatever their length.
    Packets(u64),
    /// This many bytes.
    Bytes(u64),
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Packets(packets) => write!(f, "{packets} packets"),
            Self::Bytes(bytes) => Bytes(bytes).fmt(f),
        }
    }
}
