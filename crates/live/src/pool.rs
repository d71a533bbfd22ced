//! The buffers in which frames wait: a fixed number of them, taken once, so that memory is bounded and known at start.

use std::num::NonZeroU32;

use crate::io::VlanTag;

/// The number of a buffer of a [`Pool`], from 1, so that an optional one takes no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer(NonZeroU32);

impl Buffer {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Buffers of one size.
pub struct Pool {
    bytes: Box<[u8]>,
    buffer_bytes: usize,
    /// The length of the frame in each buffer.
    lengths: Box<[u32]>,
    free: Vec<Buffer>,
}

impl Pool {
    /// This many buffers for frames of up to `buffer_bytes`. The memory is touched now, not when traffic comes.
    #[must_use]
    pub fn new(buffers: u32, buffer_bytes: usize) -> Self {
        // A byte other than zero: zeroed memory is first backed by pages when it is written.
        let bytes = vec![0xff; buffers as usize * buffer_bytes].into_boxed_slice();
        let lengths = vec![0; buffers as usize].into_boxed_slice();
        let free = (1..=buffers).rev().filter_map(NonZeroU32::new).map(Buffer).collect();
        Self { bytes, buffer_bytes, lengths, free }
    }

    /// Buffers in use.
    #[must_use]
    pub fn in_use(&self) -> u32 {
        (self.lengths.len() - self.free.len()) as u32
    }

    /// All buffers.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// The longest frame that fits.
    #[must_use]
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Copies a frame into a free buffer, with `vlan` put back behind its two addresses. `None` if no buffer is free or
    /// the frame is too long or too short for that.
    pub fn put(&mut self, frame: &[u8], vlan: Option<VlanTag>) -> Option<Buffer> {
        const ADDRESSES: usize = 12;
        let len = frame.len() + if vlan.is_some() { VlanTag::BYTES } else { 0 };
        if len > self.buffer_bytes || frame.len() < ADDRESSES {
            return None;
        }
        let buffer = self.free.pop()?;
        self.lengths[buffer.index()] = len as u32;
        let bytes = self.frame_mut(buffer);
        match vlan {
            None => bytes.copy_from_slice(frame),
            Some(tag) => {
                let (addresses, rest) = frame.split_at(ADDRESSES);
                bytes[..ADDRESSES].copy_from_slice(addresses);
                bytes[ADDRESSES..ADDRESSES + VlanTag::BYTES].copy_from_slice(&tag.bytes());
                bytes[ADDRESSES + VlanTag::BYTES..].copy_from_slice(rest);
            }
        }
        Some(buffer)
    }

    /// The frame in a buffer.
    #[must_use]
    pub fn frame(&self, buffer: Buffer) -> &[u8] {
        let begin = buffer.index() * self.buffer_bytes;
        &self.bytes[begin..begin + self.lengths[buffer.index()] as usize]
    }

    /// The frame in a buffer, to be changed.
    pub fn frame_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        let begin = buffer.index() * self.buffer_bytes;
        &mut self.bytes[begin..begin + self.lengths[buffer.index()] as usize]
    }

    /// The frame has left or was dropped.
    pub fn free(&mut self, buffer: Buffer) {
        debug_assert!(!self.free.contains(&buffer), "a buffer is freed twice");
        self.free.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_bounded_and_used_again() {
        let mut pool = Pool::new(2, 64);
        let frame = [7; 60];
        let one = pool.put(&frame, None).unwrap();
        let two = pool.put(&[8; 14], None).unwrap();
        assert_eq!((pool.put(&frame, None), pool.in_use()), (None, 2));
        assert_eq!((pool.frame(one), pool.frame(two)), (&[7; 60][..], &[8; 14][..]));
        pool.free(one);
        assert_eq!(pool.in_use(), 1);
        pool.put(&frame, None).unwrap();
        assert_eq!(pool.frame(two), &[8; 14]);
    }

    #[test]
    fn a_tag_goes_back_behind_the_addresses() {
        let mut pool = Pool::new(1, 64);
        let frame: Vec<u8> = (0..20).collect();
        let buffer = pool.put(&frame, VlanTag::new([0x81, 0, 0x20, 5])).unwrap();
        let mut expected = frame.clone();
        expected.splice(12..12, [0x81, 0, 0x20, 5]);
        assert_eq!(pool.frame(buffer), expected);
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let mut pool = Pool::new(1, 64);
        assert_eq!(pool.put(&[0; 65], None), None);
        assert_eq!(pool.put(&[0; 61], VlanTag::new([1; 4])), None);
        assert_eq!(pool.put(&[0; 11], None), None);
        assert_eq!(pool.in_use(), 0);
    }
}
