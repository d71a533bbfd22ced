//! Asking the processor for memory before it is needed.
//!
//! With thousands of flows a run is bound by far memory: a packet meets a dozen cache lines that were last touched many
//! thousand packets ago. Code that knows a little ahead which packet comes prefetches these lines and continues with
//! other work. These are hints: they change the speed and nothing else.

use std::slice;

use prefetch_index::prefetch_index;

/// Bytes of a line of the processor's caches.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for the line in which `value` begins.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_index(slice::from_ref(value), 0);
}

/// Asks for this many lines, from the one in which `first`, the first field of a structure, begins.
#[inline(always)]
pub(crate) fn prefetch_lines<T>(first: &T, lines: usize) {
    for line in 0..lines {
        // The index may lie past the slice: it is only made an address, and a prefetch of any address is harmless.
        prefetch_index(slice::from_ref(first), line * (LINE_BYTES / size_of::<T>()));
    }
}
