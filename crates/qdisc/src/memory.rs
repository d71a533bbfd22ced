//! The memory of a discipline's state.

use alloc::vec::Vec;

/// Bytes that a vector holds on the heap.
pub(crate) fn heap_bytes<T>(vector: &Vec<T>) -> u64 {
    (vector.capacity() * size_of::<T>()) as u64
}

/// Bytes of the value itself, without what it holds on the heap.
pub(crate) fn inline_bytes<T>(_value: &T) -> u64 {
    size_of::<T>() as u64
}
