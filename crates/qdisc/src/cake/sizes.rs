//! Sizes that are constants in Linux.

/// Queues of a tin.
pub(super) const QUEUES: usize = 1024;

/// Queues of a set.
pub(super) const WAYS: usize = 8;

/// Maximum packet size of an Ethernet, with its header.
pub(super) const MTU_BYTES: u32 = 1514;
