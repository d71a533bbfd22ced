//! The bytes of a netlink message: a header, a fixed part, attributes that nest.

/// Bytes of the header.
const HEADER: usize = 16;
const NESTED: u16 = 1 << 15;

/// A message, or a nest of attributes in it, that is being written.
#[derive(Debug)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// One of this kind that begins with `fixed`.
    pub fn new(kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend(fixed);
        Self { bytes }
    }

    /// One about the interface of this number; 0 for all of them, or a new one.
    pub fn link(kind: u16, flags: u16, interface: u32) -> Self {
        Self::link_flags(kind, flags, interface, 0)
    }

    /// One about an interface that turns on these of its flags.
    pub fn link_flags(kind: u16, flags: u16, interface: u32, turn_on: u32) -> Self {
        let mut fixed = [0; 16];
        fixed[4..8].copy_from_slice(&interface.to_ne_bytes());
        fixed[8..12].copy_from_slice(&turn_on.to_ne_bytes());
        fixed[12..16].copy_from_slice(&turn_on.to_ne_bytes());
        Self::new(kind, flags, &fixed)
    }

    /// Appends an attribute.
    pub fn bytes(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Appends a byte.
    pub fn u8(&mut self, kind: u16, value: u8) {
        self.bytes(kind, &[value]);
    }

    /// Appends a number of two bytes.
    pub fn u16(&mut self, kind: u16, value: u16) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a number of four bytes.
    pub fn u32(&mut self, kind: u16, value: u32) {
        self.bytes(kind, &value.to_ne_bytes());
    }

    /// Appends a string, with the zero byte at its end.
    pub fn string(&mut self, kind: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.bytes(kind, &bytes);
    }

    /// Appends what `fill` writes as one attribute.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self { bytes: Vec::new() };
        fill(&mut inner);
        self.bytes(kind | NESTED, &inner.bytes);
    }

    /// The whole message, as the kernel takes it.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// The attributes in some bytes, as pairs of kind and value; it ends where they make no sense.
#[derive(Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Those in `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (length, kind) = (usize::from(u16_at(self.rest, 0)?), u16_at(self.rest, 2)?);
        let value = self.rest.get(4..length)?;
        self.rest = self.rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & 0x3fff, value))
    }
}

/// The number of four bytes at `offset`.
pub fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..offset + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The number of two bytes at `offset`.
pub fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..offset + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut message = Message::link(16, 5, 3);
        message.string(3, "lan0");
        message.nest(18, |nest| {
            nest.u8(1, 7);
            nest.u16(2, 8);
            nest.u32(3, 9);
        });
        let bytes = message.finish(42);
        assert_eq!((u32_at(&bytes, 0), u32_at(&bytes, 8)), (u32::try_from(bytes.len()).ok(), Some(42)));
        assert_eq!((u16_at(&bytes, 4), u16_at(&bytes, 6)), (Some(16), Some(5)));
        let attributes: Vec<_> = Attributes::new(&bytes[32..]).collect();
        assert_eq!(attributes[0], (3, &b"lan0\0"[..]));
        let nested: Vec<_> = Attributes::new(attributes[1].1).collect();
        assert_eq!(nested.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((nested[0].1, u16_at(nested[1].1, 0), u32_at(nested[2].1, 0)), (&[7][..], Some(8), Some(9)));
    }

    #[test]
    fn attributes_end_where_they_make_no_sense() {
        assert_eq!(Attributes::new(&[3, 0, 1, 0]).count(), 0);
        assert_eq!(Attributes::new(&[200, 0, 1, 0, 5]).count(), 0);
        assert_eq!(Attributes::new(&[4, 0, 1, 0, 5]).count(), 1);
    }
}
