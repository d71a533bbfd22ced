//! Memory shared with the kernel.
#![allow(unsafe_code, reason = "mmap, and memory that the kernel writes")]

use std::ffi::c_void;
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use prefetch_index::prefetch_index;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

const LINE_BYTES: usize = 64;
const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// A range of memory that the kernel reads and writes as well; unmapped when dropped.
///
/// The owner of each part at a time is an agreement outside of this type. The words of the agreement are read and
/// written atomically. Our parts are read and written through `unsafe` functions.
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory belongs to the process, not to a thread; all access goes through the functions below.
unsafe impl Send for Mapping {}
// SAFETY: by a shared reference words are accessed atomically only; the rest is behind `unsafe` functions whose callers
// promise to be alone.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` of what `fd` offers at `offset`.
    pub(super) fn of(fd: BorrowedFd<'_>, bytes: usize, offset: u64) -> io::Result<Self> {
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: no address is requested, so no mapping is replaced.
        Self::at(unsafe { mmap(std::ptr::null_mut(), bytes, ACCESS, flags, fd, offset) }?, bytes)
    }

    /// Maps `bytes` of new memory, zero, at a page's start.
    pub(super) fn anonymous(bytes: usize) -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        // SAFETY: no address is requested, so no mapping is replaced.
        Self::at(unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ACCESS, flags) }?, bytes)
    }

    fn at(start: *mut c_void, bytes: usize) -> io::Result<Self> {
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap returned address 0"))?;
        Ok(Self { start, bytes })
    }

    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    /// Returns the address of the `bytes` bytes at `at`.
    ///
    /// # Panics
    /// They are not inside: offsets come from the layout that the kernel accepted and are checked before.
    fn place(&self, at: usize, bytes: usize) -> *mut u8 {
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "outside the memory shared with the kernel"
        );
        // SAFETY: `at` is inside the mapping, as just checked.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// The word at `at`, by which both sides agree.
    pub(super) fn word(&self, at: usize) -> &AtomicU32 {
        let place = self.place(at, size_of::<u32>()).cast::<u32>();
        assert!(place.is_aligned(), "a word shared with the kernel lies across its boundary");
        // SAFETY: in the mapping and aligned; the kernel reads and writes it by single accesses, and we make only
        // atomic references to it.
        unsafe { AtomicU32::from_ptr(place) }
    }

    /// Prefetches `bytes` bytes at `at`; bytes outside are left out.
    #[inline]
    pub(super) fn prefetch(&self, at: usize, bytes: usize) {
        let end = at.saturating_add(bytes).min(self.bytes & !(size_of::<u32>() - 1));
        for line in (at & !(LINE_BYTES - 1)..end).step_by(LINE_BYTES) {
            prefetch_index(std::slice::from_ref(self.word(line)), 0);
        }
    }

    /// The bytes at `at`.
    ///
    /// # Safety
    /// Neither the kernel nor anybody else writes them while the slice lives.
    pub(super) unsafe fn slice(&self, at: usize, bytes: usize) -> &[u8] {
        let place = self.place(at, bytes);
        // SAFETY: in the mapping, initialised by the kernel, and by the caller's promise not written.
        unsafe { std::slice::from_raw_parts(place, bytes) }
    }

    /// Copies `from` to `at`.
    ///
    /// # Safety
    /// Neither the kernel nor anybody else reads or writes there at the same time.
    pub(super) unsafe fn write(&self, at: usize, from: &[u8]) {
        let place = self.place(at, from.len());
        // SAFETY: in the mapping, alone there by the caller's promise, and no slice outside a mapping overlaps it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), place, from.len()) };
    }

    /// The value of type `T` at `at`.
    ///
    /// # Safety
    /// Neither the kernel nor anybody else writes there at the same time, and every pattern of bits is a `T`.
    pub(super) unsafe fn read<T: Copy>(&self, at: usize) -> T {
        let place = self.place(at, size_of::<T>()).cast::<T>();
        // SAFETY: in the mapping, not written meanwhile and a `T` by the caller's promise; alignment is not assumed.
        unsafe { place.read_unaligned() }
    }

    /// Puts `value` at `at`.
    ///
    /// # Safety
    /// As [`Mapping::write`].
    pub(super) unsafe fn put<T: Copy>(&self, at: usize, value: T) {
        let place = self.place(at, size_of::<T>()).cast::<T>();
        // SAFETY: in the mapping and alone there by the caller's promise; alignment is not assumed.
        unsafe { place.write_unaligned(value) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; every reference into it borrowed from `self`. It cannot fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Reads the word before what it announces.
pub(super) fn acquire(word: &AtomicU32) -> u32 {
    word.load(Ordering::Acquire)
}

/// Writes the word after what it announces.
pub(super) fn release(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mapping = Mapping::anonymous(4096).unwrap();
        release(mapping.word(8), 7);
        assert_eq!(acquire(mapping.word(8)), 7);
        // SAFETY: this memory is not shared.
        unsafe { mapping.write(100, b"abc") };
        // SAFETY: as above.
        assert_eq!(unsafe { mapping.slice(99, 5) }, b"\0abc\0");
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn nothing_outside_is_reached() {
        Mapping::anonymous(4096).unwrap().word(4094);
    }

    #[test]
    fn any_range_may_be_prefetched() {
        let mapping = Mapping::anonymous(4096).unwrap();
        for (at, bytes) in [(0, 0), (63, 2), (4095, 1), (4000, 1 << 40), (1 << 40, 64), (usize::MAX, usize::MAX)] {
            mapping.prefetch(at, bytes);
        }
    }
}
