//! A ring of an AF_XDP socket: one side writes entries and moves the producer's index, the other reads them and moves
//! the consumer's.
#![allow(unsafe_code, reason = "memory that the kernel writes")]

use std::io;
use std::os::fd::BorrowedFd;

use rustix::net::xdp::XdpRingOffset;

use super::mapping::{Mapping, acquire, release};

/// How far both sides are. Indices always count up and wrap; an entry's place is its index modulo their number, which
/// is a power of two.
#[derive(Clone, Copy, Debug)]
struct Indices {
    /// Ours, moved only by us.
    own: u32,
    /// The kernel's, as last read.
    kernel: u32,
    entries: u32,
}

impl Indices {
    const fn place(self, ahead: u32) -> usize {
        (self.own.wrapping_add(ahead) & (self.entries - 1)) as usize
    }

    /// Entries that the producer can write.
    const fn room(self) -> u32 {
        self.entries - self.own.wrapping_sub(self.kernel)
    }

    /// Entries that the consumer can read.
    const fn filled(self) -> u32 {
        self.kernel.wrapping_sub(self.own)
    }
}

/// The memory of a ring of `T`, which are structures of numbers.
struct Ring<T> {
    memory: Mapping,
    at: XdpRingOffset,
    indices: Indices,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    /// Maps what the socket `fd` offers at `page_offset`.
    fn map(fd: BorrowedFd<'_>, entries: u32, at: XdpRingOffset, page_offset: u64) -> io::Result<Self> {
        let bytes = at.desc as usize + entries as usize * size_of::<T>();
        let memory = Mapping::of(fd, bytes, page_offset)?;
        let indices = Indices { own: 0, kernel: 0, entries };
        Ok(Self { memory, at, indices, kind: std::marker::PhantomData })
    }

    fn entry(&self, ahead: u32) -> usize {
        self.at.desc as usize + self.indices.place(ahead) * size_of::<T>()
    }
}

/// A ring that we write.
pub(super) struct Producer<T>(Ring<T>);

impl<T: Copy> Producer<T> {
    pub(super) fn map(fd: BorrowedFd<'_>, entries: u32, at: XdpRingOffset, offset: u64) -> io::Result<Self> {
        Ring::map(fd, entries, at, offset).map(Self)
    }

    /// Returns the number of entries that can be written now. It asks the kernel if fewer than `wanted` are known.
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        if self.0.indices.room() < wanted {
            self.refresh();
        }
        self.0.indices.room()
    }

    /// Returns the number of entries that the kernel has not taken yet.
    pub(super) fn waiting(&mut self) -> u32 {
        self.refresh();
        self.0.indices.entries - self.0.indices.room()
    }

    fn refresh(&mut self) {
        self.0.indices.kernel = acquire(self.0.memory.word(self.0.at.consumer as usize));
    }

    /// Writes the entry that is `ahead` of the next one.
    ///
    /// # Panics
    /// There is no room that far ahead, by what [`Producer::room`] said.
    pub(super) fn write(&mut self, ahead: u32, value: T) {
        assert!(ahead < self.0.indices.room(), "the ring is full");
        // SAFETY: the kernel does not read an entry that was not submitted, and has read what was here before.
        unsafe { self.0.memory.put(self.0.entry(ahead), value) };
    }

    /// Hands the next `count` entries, which have been written, to the kernel.
    pub(super) fn submit(&mut self, count: u32) {
        self.0.indices.own = self.0.indices.own.wrapping_add(count);
        release(self.0.memory.word(self.0.at.producer as usize), self.0.indices.own);
    }
}

/// A ring that we read.
pub(super) struct Consumer<T>(Ring<T>);

impl<T: Copy> Consumer<T> {
    pub(super) fn map(fd: BorrowedFd<'_>, entries: u32, at: XdpRingOffset, offset: u64) -> io::Result<Self> {
        Ring::map(fd, entries, at, offset).map(Self)
    }

    /// Returns the number of entries that can be read now.
    pub(super) fn filled(&mut self) -> u32 {
        self.0.indices.kernel = acquire(self.0.memory.word(self.0.at.producer as usize));
        self.0.indices.filled()
    }

    /// The entry that is `ahead` of the next one.
    ///
    /// # Panics
    /// There is none, by what [`Consumer::filled`] said.
    pub(super) fn read(&self, ahead: u32) -> T {
        assert!(ahead < self.0.indices.filled(), "the ring is empty");
        // SAFETY: the kernel does not write an entry that was not given back; `T` consists of numbers.
        unsafe { self.0.memory.read(self.0.entry(ahead)) }
    }

    /// Gives the next `count` entries back.
    pub(super) fn give_back(&mut self, count: u32) {
        self.0.indices.own = self.0.indices.own.wrapping_add(count);
        release(self.0.memory.word(self.0.at.consumer as usize), self.0.indices.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_wrap() {
        let mut indices = Indices { own: u32::MAX - 1, kernel: u32::MAX - 1, entries: 8 };
        assert_eq!((indices.room(), indices.filled()), (8, 0));
        assert_eq!((indices.place(0), indices.place(1), indices.place(2)), (6, 7, 0));
        // As the producer: three written, none taken.
        indices.own = indices.own.wrapping_add(3);
        assert_eq!((indices.own, indices.room()), (1, 5));
        // As the consumer: five came.
        let indices = Indices { own: u32::MAX - 1, kernel: 3, entries: 8 };
        assert_eq!(indices.filled(), 5);
    }

    #[test]
    fn a_full_ring_has_no_room() {
        for start in [0, 5, u32::MAX - 3] {
            let indices = Indices { own: start.wrapping_add(8), kernel: start, entries: 8 };
            assert_eq!(indices.room(), 0);
        }
    }
}
