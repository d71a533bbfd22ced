//! Asking the processor for memory before it is needed.

use std::slice;

use prefetch_index::prefetch_index;

/// Bytes of a line of the processor's caches.
const LINE_BYTES: usize = 64;

/// Asks for the line in which `value` begins.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_index(slice::from_ref(value), 0);
}

/// Asks for so many lines, from the one in which `first` begins.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(first: &T, lines: usize) {
    for line in 0..lines {
        prefetch_index(slice::from_ref(first), line * (LINE_BYTES / size_of::<T>()));
    }
}
