//! Records of arrivals: the properties of each packet for a queue, and nothing of its bytes. A few bytes an arrival
//! instead of a whole packet, so that a night's traffic of a busy port is a file that can be kept and replayed.
//!
//! # Format
//! Integers of fixed length are little-endian; a *varint* is LEB128: seven bits a byte, the lowest first, and the top
//! bit set in all bytes but the last. A file is a header and entries until its end.
//!
//! Header, 16 bytes:
//!
//! | bytes | contents |
//! |---|---|
//! | 0-3 | magic `46 42 52 41`, "FBRA" |
//! | 4 | version: 1 |
//! | 5-7 | zero |
//! | 8-15 | start: nanoseconds since the Unix epoch |
//!
//! Each entry begins with a tag. With the top bit clear it is an arrival:
//!
//! | bits of the tag | contents |
//! |---|---|
//! | 0-1 | ECN, as in an IP header (RFC 3168): 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE |
//! | 2, `NEW_FLOW` | the flow's first arrival: its identity follows |
//! | 3, `CLASS` | the DSCP follows; without it, it is that of the flow's arrival before (0 for the first) |
//! | 4, `SAME_LENGTH` | as long as the flow's arrival before; without it the length follows |
//! | 5, `SAME_FLOW` | the flow of the arrival before; without it and `NEW_FLOW` the flow's number follows |
//! | 6 | zero |
//!
//! Then, in this order and only where the tag says so:
//!
//! | bytes | contents |
//! |---|---|
//! | varint | nanoseconds since the arrival before, or since the start; always there |
//! | varint | the flow's number: flows are numbered from 0 in the order of their identities in the file |
//! | identity | see below |
//! | 1 | DSCP |
//! | varint | length in bytes, framing included, 1 to 2^24 |
//!
//! An identity begins with its kind: 0 is followed by the EtherType (2 bytes, little-endian). Kind 1 is followed by the
//! IP protocol (1 byte), the sender's address and port, the receiver's address and port. Kind 2 is followed by the IP
//! protocol, the sender's address and the receiver's. An address is its IP version (1 byte, 4 or 6) and its 4 or 16
//! bytes in network order; a port has 2 bytes, little-endian.
//!
//! With the top bit set a tag is one of two: `80`, followed by a varint: so many packets have arrived here that were
//! not recorded. `81`: flows are forgotten, and numbered from 0 again. The writer does so before it would have more
//! than 65 536, so that neither side needs more memory than for these.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr};

use forebay_qdisc::Ecn;

use crate::capture::{CapturedFrame, MAX_PACKET_BYTES};
use crate::dissect::{FlowIdentity, carries_no_ip};
use crate::error::CaptureError;

/// The first bytes of a record.
pub const RECORD_MAGIC: [u8; 4] = *b"FBRA";
const VERSION: u8 = 1;
const HEADER_BYTES: u64 = 16;
/// Flows that are numbered at a time.
const MOST_FLOWS: usize = 1 << 16;

const ECN: u8 = 0b11;
const NEW_FLOW: u8 = 1 << 2;
const CLASS: u8 = 1 << 3;
const SAME_LENGTH: u8 = 1 << 4;
const SAME_FLOW: u8 = 1 << 5;
const ARRIVAL: u8 = ECN | NEW_FLOW | CLASS | SAME_LENGTH | SAME_FLOW;
const MISSED: u8 = 0x80;
const FORGET: u8 = 0x81;

/// A packet as a record has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedArrival {
    /// Nanoseconds since the Unix epoch.
    pub time_ns: u64,
    /// Its flow.
    pub flow: FlowIdentity,
    /// Its length, framing included.
    pub len_bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class, the DSCP.
    pub class: u8,
}

/// Writes a record. Memory is bounded.
pub struct RecordWriter<W: Write> {
    out: W,
    time_ns: u64,
    numbers: BTreeMap<FlowIdentity, u32>,
    flows: Vec<Before>,
    last_flow: Option<u32>,
    entry: Vec<u8>,
}

/// A flow's arrival before.
#[derive(Clone, Copy)]
struct Before {
    len_bytes: u32,
    class: u8,
}

impl<W: Write> RecordWriter<W> {
    /// Begins a record at `start_ns` since the Unix epoch. `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, start_ns: u64) -> io::Result<Self> {
        let mut header = Vec::with_capacity(HEADER_BYTES as usize);
        header.extend_from_slice(&RECORD_MAGIC);
        header.extend_from_slice(&[VERSION, 0, 0, 0]);
        header.extend_from_slice(&start_ns.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self {
            out,
            time_ns: start_ns,
            numbers: BTreeMap::new(),
            flows: Vec::new(),
            last_flow: None,
            entry: Vec::with_capacity(64),
        })
    }

    /// Writes an arrival. A time before that of the arrival before it is taken for the same.
    ///
    /// # Errors
    /// Those of the output; [`io::ErrorKind::InvalidInput`] for a length out of bounds.
    pub fn arrival(&mut self, arrival: &RecordedArrival) -> io::Result<()> {
        let RecordedArrival { time_ns, flow, len_bytes, ecn, class } = *arrival;
        if len_bytes == 0 || len_bytes > MAX_PACKET_BYTES {
            let message = format!("a packet of {len_bytes} bytes cannot be recorded");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let known = self.numbers.get(&flow).copied();
        if known.is_none() && self.flows.len() == MOST_FLOWS {
            self.out.write_all(&[FORGET])?;
            self.numbers.clear();
            self.flows.clear();
            self.last_flow = None;
        }
        let before = known.map(|number| self.flows[number as usize]);
        let number = known.unwrap_or(self.flows.len() as u32);
        let mut tag = ecn.codepoint();
        let mut say = |flag, said| tag |= if said { flag } else { 0 };
        say(NEW_FLOW, before.is_none());
        say(CLASS, class != before.map_or(0, |before| before.class));
        say(SAME_LENGTH, before.is_some_and(|before| before.len_bytes == len_bytes));
        say(SAME_FLOW, known.is_some() && self.last_flow == known);
        let entry = &mut self.entry;
        entry.clear();
        entry.push(tag);
        put_varint(entry, time_ns.saturating_sub(self.time_ns));
        if tag & (NEW_FLOW | SAME_FLOW) == 0 {
            put_varint(entry, number.into());
        }
        if tag & NEW_FLOW != 0 {
            put_identity(entry, &flow);
        }
        if tag & CLASS != 0 {
            entry.push(class);
        }
        if tag & SAME_LENGTH == 0 {
            put_varint(entry, len_bytes.into());
        }
        self.out.write_all(entry)?;
        self.time_ns = self.time_ns.max(time_ns);
        self.last_flow = Some(number);
        match known {
            Some(number) => self.flows[number as usize] = Before { len_bytes, class },
            None => {
                self.numbers.insert(flow, number);
                self.flows.push(Before { len_bytes, class });
            }
        }
        Ok(())
    }

    /// Tells that packets have arrived which were not recorded.
    ///
    /// # Errors
    /// Those of the output.
    pub fn missed(&mut self, packets: u64) -> io::Result<()> {
        self.entry.clear();
        self.entry.push(MISSED);
        put_varint(&mut self.entry, packets);
        self.out.write_all(&self.entry)
    }

    /// The output.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }
}

fn put_varint(entry: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        entry.push(value as u8 | 0x80);
        value >>= 7;
    }
    entry.push(value as u8);
}

fn put_address(entry: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            entry.push(4);
            entry.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            entry.push(6);
            entry.extend_from_slice(&address.octets());
        }
    }
}

fn put_identity(entry: &mut Vec<u8>, flow: &FlowIdentity) {
    match *flow {
        FlowIdentity::NotIp { ether_type } => {
            entry.push(0);
            entry.extend_from_slice(&ether_type.to_le_bytes());
        }
        FlowIdentity::Ports { protocol, source, destination } => {
            entry.extend_from_slice(&[1, protocol]);
            for end in [source, destination] {
                put_address(entry, end.ip());
                entry.extend_from_slice(&end.port().to_le_bytes());
            }
        }
        FlowIdentity::Addresses { protocol, source, destination } => {
            entry.extend_from_slice(&[2, protocol]);
            put_address(entry, source);
            put_address(entry, destination);
        }
    }
}

/// Reads a record.
pub(crate) struct RecordReader<'a> {
    input: BufReader<Box<dyn Read + 'a>>,
    /// Bytes read.
    offset: u64,
    /// Where the entry begins that is being read.
    entry_at: u64,
    arrivals: u64,
    missed: u64,
    time_ns: u64,
    flows: Vec<(FlowIdentity, Before)>,
    last_flow: Option<usize>,
}

impl<'a> RecordReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// The reader's; a header that is cut off, or of another version.
    pub fn new(reader: impl Read + 'a) -> Result<Self, CaptureError> {
        let mut record = Self {
            input: BufReader::with_capacity(1 << 16, Box::new(reader)),
            offset: 0,
            entry_at: 0,
            arrivals: 0,
            missed: 0,
            time_ns: 0,
            flows: Vec::new(),
            last_flow: None,
        };
        let [_, _, _, _, version, ..] = record.bytes::<8>()?;
        if version != VERSION {
            return Err(CaptureError::Unsupported {
                offset: 4,
                packets: 0,
                problem: format!("a record of version {version}; this Forebay reads version {VERSION}"),
                remedy: "replay it with the Forebay that recorded it, or a later one",
            });
        }
        record.time_ns = u64::from_le_bytes(record.bytes()?);
        Ok(record)
    }

    /// Packets that had arrived, so far, without being recorded.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The next arrival; `None` at the end.
    ///
    /// # Errors
    /// The fault of the file at this place.
    pub fn next_frame(&mut self) -> Result<Option<CapturedFrame>, CaptureError> {
        loop {
            self.entry_at = self.offset;
            if self.ended()? {
                return Ok(None);
            }
            match self.byte()? {
                FORGET => {
                    self.flows.clear();
                    self.last_flow = None;
                }
                MISSED => self.missed = self.missed.saturating_add(self.varint()?),
                tag if tag & !ARRIVAL == 0 => return self.arrival(tag).map(Some),
                tag => return Err(self.damaged(format!("{tag:02x} is the tag of no entry"))),
            }
        }
    }

    fn arrival(&mut self, tag: u8) -> Result<CapturedFrame, CaptureError> {
        let since_ns = self.varint()?;
        let Some(time_ns) = self.time_ns.checked_add(since_ns) else {
            return Err(self.damaged("an arrival after the year 2554"));
        };
        let number = self.flow(tag)?;
        let (flow, before) = self.flows[number];
        let class = if tag & CLASS != 0 { self.byte()? } else { before.class };
        let len_bytes = if tag & SAME_LENGTH != 0 { before.len_bytes.into() } else { self.varint()? };
        let len_bytes = match u32::try_from(len_bytes) {
            Ok(len_bytes @ 1..=MAX_PACKET_BYTES) => len_bytes,
            _ => return Err(self.damaged(format!("a packet of {len_bytes} bytes"))),
        };
        let ecn = Ecn::of_traffic_class(tag & ECN);
        self.flows[number].1 = Before { len_bytes, class };
        (self.time_ns, self.last_flow) = (time_ns, Some(number));
        self.arrivals += 1;
        let time_ps = i128::from(time_ns) * 1_000;
        let opaque = matches!(flow, FlowIdentity::NotIp { ether_type } if !carries_no_ip(ether_type));
        Ok(CapturedFrame {
            time_ps,
            len_bytes,
            added_bytes: 0,
            flow,
            key: flow.key(),
            ecn,
            class,
            interface: 0,
            link_type: 0,
            ip_at: None,
            tcp: None,
            cut: false,
            opaque,
        })
    }

    /// The number of the arrival's flow, which is known from here on.
    fn flow(&mut self, tag: u8) -> Result<usize, CaptureError> {
        match (tag & NEW_FLOW != 0, tag & SAME_FLOW != 0) {
            (true, true) => Err(self.damaged("a flow that is new and the same as before")),
            (true, false) if self.flows.len() == MOST_FLOWS => {
                Err(self.damaged(format!("more than {MOST_FLOWS} flows at a time")))
            }
            (true, false) => {
                let identity = self.identity()?;
                self.flows.push((identity, Before { len_bytes: 0, class: 0 }));
                Ok(self.flows.len() - 1)
            }
            (false, true) => self.last_flow.ok_or_else(|| self.damaged("there is no arrival before this one")),
            (false, false) => {
                let number = self.varint()?;
                usize::try_from(number)
                    .ok()
                    .filter(|&number| number < self.flows.len())
                    .ok_or_else(|| self.damaged(format!("flow {number} is not described")))
            }
        }
    }

    fn identity(&mut self) -> Result<FlowIdentity, CaptureError> {
        match self.byte()? {
            0 => Ok(FlowIdentity::NotIp { ether_type: u16::from_le_bytes(self.bytes()?) }),
            1 => Ok(FlowIdentity::Ports { protocol: self.byte()?, source: self.end()?, destination: self.end()? }),
            2 => {
                let protocol = self.byte()?;
                Ok(FlowIdentity::Addresses { protocol, source: self.address()?, destination: self.address()? })
            }
            kind => Err(self.damaged(format!("a flow of kind {kind}"))),
        }
    }

    fn end(&mut self) -> Result<SocketAddr, CaptureError> {
        Ok(SocketAddr::new(self.address()?, u16::from_le_bytes(self.bytes()?)))
    }

    fn address(&mut self) -> Result<IpAddr, CaptureError> {
        match self.byte()? {
            4 => Ok(self.bytes::<4>()?.into()),
            6 => Ok(self.bytes::<16>()?.into()),
            version => Err(self.damaged(format!("an address of IP version {version}"))),
        }
    }

    fn damaged(&self, problem: impl Into<String>) -> CaptureError {
        CaptureError::Damaged { offset: self.entry_at, packets: self.arrivals, problem: problem.into() }
    }

    fn failed(&self, source: io::Error) -> CaptureError {
        CaptureError::Read { offset: self.offset, source }
    }

    /// Whether no byte is left.
    fn ended(&mut self) -> Result<bool, CaptureError> {
        loop {
            match self.input.fill_buf() {
                Ok(buffer) => return Ok(buffer.is_empty()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], CaptureError> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => {
                self.offset += N as u64;
                Ok(bytes)
            }
            // A file in gzip that is cut off says the same; how much of the entry there is is not known then either.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(CaptureError::RecordTruncated { offset: self.entry_at, packets: self.arrivals })
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    fn byte(&mut self) -> Result<u8, CaptureError> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn varint(&mut self) -> Result<u64, CaptureError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number of more than 64 bits"))
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
