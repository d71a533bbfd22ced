//! Loads memory before it is needed.
//!
//! With thousands of flows memory limits the speed: a packet meets a dozen cache lines last touched many thousand
//! packets ago. Code that knows an upcoming packet prefetches these lines while it works on others. Prefetching does
//! not affect results.

use std::slice;

use prefetch_index::prefetch_index;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// Prefetches the line in which `value` begins.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_index(slice::from_ref(value), 0);
}

/// Prefetches this many lines, from the one in which a structure's `first` field begins.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(first: &T, lines: usize) {
    for line in 0..lines {
        // The index may lie past the slice: a prefetch of any address is harmless.
        prefetch_index(slice::from_ref(first), line * (LINE_BYTES / size_of::<T>()));
    }
}
