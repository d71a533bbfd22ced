//! Reads captures, as a stream: pcap and pcapng of either byte order and records of arrivals, plain or in gzip.

use std::cell::RefCell;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use forebay_qdisc::{Ecn, FlowKey, TcpHeader};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    Block, InterfaceDescriptionBlock, LegacyPcapReader, OptionCode, PcapBlockOwned, PcapError, PcapNGReader,
};

use crate::dissect::{FlowIdentity, LinkType, added_bytes, read, tcp_header};
use crate::error::CaptureError;
use crate::record::{RECORD_MAGIC, RecordReader};

const PICOSECONDS_PER_SECOND: u128 = 1_000_000_000_000;
/// The size of a read, and the usual size of the buffer.
const BUFFER_BYTES: usize = 1 << 18;
/// No block is longer: a larger length field is damage. (libpcap writes packets of at most 256 KiB.)
const MAX_BLOCK_BYTES: usize = 1 << 24;
/// No packet is longer on the wire, coalesced by the sender's network card or not.
pub(crate) const MAX_PACKET_BYTES: u32 = 1 << 24;

/// A packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedFrame {
    /// When it was captured: picoseconds since the Unix epoch.
    pub time_ps: i128,
    /// Its original length in bytes, whatever was kept of it, without [`CapturedFrame::added_bytes`].
    pub len_bytes: u32,
    /// Bytes in front of it that its receiver added: a radiotap header.
    pub added_bytes: u32,
    /// Its flow.
    pub flow: FlowIdentity,
    /// The flow's key.
    pub key: FlowKey,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class, the DSCP.
    pub class: u8,
    /// Number of the interface by which it was captured, within its section of the file.
    pub interface: u16,
    /// The type of its first header: a number of the registry of link types.
    pub link_type: u16,
    /// Where in its bytes the IP header begins, if there is one.
    pub ip_at: Option<u16>,
    /// Its TCP header, if there is one and it was captured.
    pub tcp: Option<TcpHeader>,
    /// Whether the capture kept too little of it to tell its flow from others
    /// ([`incomplete`](crate::dissect::Headers::incomplete)).
    pub cut: bool,
    /// Whether no IP header is visible although there may be one.
    pub opaque: bool,
}

/// A capture or a [record](crate::RecordWriter), read packet by packet. Memory does not grow with the file.
pub struct CaptureReader<'a> {
    source: Source<'a>,
    packets: u64,
    /// The bytes of the packet read last, if they are kept.
    bytes: Vec<u8>,
    keep_bytes: bool,
    /// Why the file ended before its last packet was complete.
    ended_early: Option<CaptureError>,
}

enum Source<'a> {
    Capture(Blocks<'a>),
    Record(RecordReader<'a>),
}

/// The blocks of a capture.
struct Blocks<'a> {
    blocks: Box<dyn PcapReaderIterator + 'a>,
    read_error: Rc<RefCell<Option<io::Error>>>,
    buffer_bytes: usize,
    format: Format,
    /// Frames of zero bytes so far, which are skipped.
    empty: u64,
}

/// Information in the blocks so far about later ones.
enum Format {
    Pcap(Interface),
    Pcapng { big_endian: bool, interfaces: Vec<Interface> },
}

#[derive(Clone, Copy)]
struct Interface {
    /// As in the registry of link types.
    link_type: u16,
    /// Units of the timestamps per second; `None` where 128 bits do not hold it.
    resolution: Option<u128>,
    /// Added to each timestamp.
    offset_s: i64,
}

/// Where in the file a block is.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    packets: u64,
}

impl Place {
    fn damaged(self, problem: impl Into<String>) -> CaptureError {
        CaptureError::Damaged { offset: self.offset, packets: self.packets, problem: problem.into() }
    }

    fn unsupported(self, problem: impl Into<String>, remedy: &'static str) -> CaptureError {
        CaptureError::Unsupported { offset: self.offset, packets: self.packets, problem: problem.into(), remedy }
    }
}

/// The result of a request for the next block.
enum Step {
    Block(usize, Option<CapturedFrame>),
    Refill,
    Grow,
    End,
}

impl<'a> CaptureReader<'a> {
    /// Opens a capture; its format is known by its first bytes.
    ///
    /// # Errors
    /// The reader's, and those of a file that is no capture.
    pub fn new<R: Read + 'a>(reader: R) -> Result<Self, CaptureError> {
        let (head, reader) = peek(reader)?;
        if head.starts_with(&[0x1f, 0x8b]) {
            let (head, reader) = peek(MultiGzDecoder::new(BufReader::new(reader)))?;
            Self::plain(&head, reader)
        } else {
            Self::plain(&head, reader)
        }
    }

    fn plain<R: Read + 'a>(head: &[u8], reader: R) -> Result<Self, CaptureError> {
        let source = if head == RECORD_MAGIC {
            Source::Record(RecordReader::new(reader)?)
        } else {
            Source::Capture(Blocks::new(head, reader)?)
        };
        Ok(Self { source, packets: 0, bytes: Vec::new(), keep_bytes: false, ended_early: None })
    }

    /// Keeps the bytes of each packet from now on, until the next is read: see [`CaptureReader::bytes`].
    pub fn keep_bytes(&mut self) {
        self.keep_bytes = true;
    }

    /// The bytes that the capture has of the packet read last, for the caller to look at, change or take away; empty
    /// unless [`CaptureReader::keep_bytes`] was called.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How many packets have been read.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The number of the packet read last, counted from 1 over all packets of the file.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.packets + self.empty()
    }

    /// Frames of zero bytes so far. They are skipped: there is nothing to send.
    #[must_use]
    pub fn empty(&self) -> u64 {
        match &self.source {
            Source::Capture(blocks) => blocks.empty,
            Source::Record(_) => 0,
        }
    }

    /// Why the file ended within a packet, once its last complete packet has been read.
    #[must_use]
    pub fn ended_early(&self) -> Option<&CaptureError> {
        self.ended_early.as_ref()
    }

    /// How many packets had arrived, up to the one read last, that a record leaves out: its writer was too slow.
    #[must_use]
    pub fn missed(&self) -> u64 {
        match &self.source {
            Source::Capture(_) => 0,
            Source::Record(record) => record.missed(),
        }
    }

    /// Whether it is a record of arrivals, which has no bytes of packets.
    #[must_use]
    pub fn is_record(&self) -> bool {
        matches!(self.source, Source::Record(_))
    }

    /// The next packet; `None` at the end of the file. If the file ends within a packet that is not its first, as it
    /// does when the tool that wrote it was killed, its end is there: see [`CaptureReader::ended_early`].
    ///
    /// # Errors
    /// The fault of the file at this place. There is no going on after an error.
    pub fn next_frame(&mut self) -> Result<Option<CapturedFrame>, CaptureError> {
        if self.ended_early.is_some() {
            return Ok(None);
        }
        let read = match &mut self.source {
            Source::Capture(blocks) => blocks.next_frame(self.packets, self.keep_bytes.then_some(&mut self.bytes)),
            Source::Record(record) => record.next_frame(),
        };
        let frame = match read {
            Err(error) if self.packets > 0 && error.is_early_end() => {
                self.ended_early = Some(error);
                None
            }
            read => read?,
        };
        self.packets += u64::from(frame.is_some());
        Ok(frame)
    }
}

impl<'a> Blocks<'a> {
    fn new<R: Read + 'a>(head: &[u8], reader: R) -> Result<Self, CaptureError> {
        let read_error = Rc::new(RefCell::new(None));
        let reader = FillingReader { reader, pending: None, error: Rc::clone(&read_error) };
        let place = Place { offset: 0, packets: 0 };
        let failed = |error: PcapError<&[u8]>| match (read_error.take(), error) {
            (Some(source), _) => CaptureError::Read { offset: 0, source },
            (None, PcapError::Incomplete(_) | PcapError::UnexpectedEof) => {
                CaptureError::Truncated { offset: 0, packets: 0 }
            }
            (None, _) => place.damaged("the file header is unreadable"),
        };
        let (blocks, format): (Box<dyn PcapReaderIterator + 'a>, Format) = match head {
            [] => return Err(CaptureError::Empty),
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                let format = Format::Pcapng { big_endian: false, interfaces: Vec::new() };
                (Box::new(PcapNGReader::new(BUFFER_BYTES, reader).map_err(failed)?), format)
            }
            // Microseconds, nanoseconds, and Kuznetzov's variant; then the first two in the other byte order.
            [0xd4, 0xc3, 0xb2, 0xa1]
            | [0x4d, 0x3c, 0xb2, 0xa1]
            | [0x34, 0xcd, 0xb2, 0xa1]
            | [0xa1, 0xb2, 0xc3, 0xd4]
            | [0xa1, 0xb2, 0x3c, 0x4d] => {
                // Replaced by what the header says, which comes as the first block.
                let format = Format::Pcap(Interface { link_type: u16::MAX, resolution: None, offset_s: 0 });
                (Box::new(LegacyPcapReader::new(BUFFER_BYTES, reader).map_err(failed)?), format)
            }
            _ => {
                let found = head.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
                return Err(CaptureError::NotACapture { found });
            }
        };
        Ok(Self { blocks, read_error, buffer_bytes: BUFFER_BYTES, format, empty: 0 })
    }

    /// The next packet, behind `packets` others; its bytes go into `bytes`.
    fn next_frame(
        &mut self,
        packets: u64,
        mut bytes: Option<&mut Vec<u8>>,
    ) -> Result<Option<CapturedFrame>, CaptureError> {
        loop {
            let place = Place { offset: self.blocks.consumed() as u64, packets };
            match self.step(place, bytes.as_deref_mut())? {
                Step::Block(length, frame) => {
                    self.blocks.consume(length);
                    if frame.is_some() {
                        return Ok(frame);
                    }
                }
                Step::Refill => self.refill(place)?,
                Step::Grow => self.grow(place)?,
                Step::End => return Ok(None),
            }
        }
    }

    fn step(&mut self, place: Place, bytes: Option<&mut Vec<u8>>) -> Result<Step, CaptureError> {
        let error = match self.blocks.next() {
            Ok((length, block)) => {
                if let Some(bytes) = bytes {
                    bytes.clear();
                    bytes.extend_from_slice(bytes_of(&block));
                }
                let is_packet =
                    matches!(block, PcapBlockOwned::Legacy(_) | PcapBlockOwned::NG(Block::EnhancedPacket(_)));
                let frame = self.format.take(block, place)?;
                self.empty += u64::from(is_packet && frame.is_none());
                return Ok(Step::Block(length, frame));
            }
            Err(PcapError::Incomplete(_)) => return Ok(Step::Refill),
            Err(PcapError::BufferTooSmall) => return Ok(Step::Grow),
            Err(PcapError::Eof) => return Ok(Step::End),
            Err(error) => error.to_owned_vec(),
        };
        match error {
            PcapError::UnexpectedEof if self.blocks.data().is_empty() => Ok(Step::End),
            PcapError::UnexpectedEof => Err(CaptureError::Truncated { offset: place.offset, packets: place.packets }),
            _ => Err(place.damaged("the block that starts here is malformed")),
        }
    }

    fn refill(&mut self, place: Place) -> Result<(), CaptureError> {
        let before = self.blocks.data().len();
        let failed = self.blocks.refill().is_err();
        if let Some(source) = self.read_error.take() {
            let offset = self.blocks.consumed() as u64 + before as u64;
            return Err(CaptureError::Read { offset, source });
        }
        if failed {
            return Err(place.damaged("the block that starts here is malformed"));
        }
        if self.blocks.data().len() == before && !self.blocks.reader_exhausted() {
            return self.grow(place);
        }
        Ok(())
    }

    fn grow(&mut self, place: Place) -> Result<(), CaptureError> {
        self.buffer_bytes *= 2;
        if self.buffer_bytes > MAX_BLOCK_BYTES || !self.blocks.grow(self.buffer_bytes) {
            return Err(place.damaged("a block claims to be longer than 16 MiB"));
        }
        self.refill(place)
    }
}

/// The packet of a block; nothing for other blocks.
fn bytes_of<'b>(block: &'b PcapBlockOwned<'_>) -> &'b [u8] {
    match block {
        PcapBlockOwned::Legacy(packet) => packet.data,
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => packet.packet_data(),
        _ => &[],
    }
}

impl Format {
    /// Learns from a block that describes others; turns a block that holds a packet into it. A packet of zero bytes is
    /// none.
    fn take(&mut self, block: PcapBlockOwned<'_>, place: Place) -> Result<Option<CapturedFrame>, CaptureError> {
        match (self, block) {
            (Self::Pcap(interface), PcapBlockOwned::LegacyHeader(header)) => {
                let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                // The upper half of the field tells about frame check sequences.
                let link_type = header.network.0 as u16;
                *interface = Interface { link_type, resolution: Some(resolution), offset_s: 0 };
                Ok(None)
            }
            (Self::Pcap(interface), PcapBlockOwned::Legacy(packet)) => {
                let seconds = i128::from(packet.ts_sec);
                let time_ps =
                    seconds * PICOSECONDS_PER_SECOND as i128 + interface.time_ps(packet.ts_usec.into(), place)?;
                interface.frame(time_ps, packet.origlen, packet.data, 0, place)
            }
            (Self::Pcapng { big_endian, interfaces }, PcapBlockOwned::NG(block)) => match block {
                Block::SectionHeader(section) => {
                    *big_endian = section.big_endian();
                    interfaces.clear();
                    Ok(None)
                }
                Block::InterfaceDescription(description) => {
                    interfaces.push(Interface::new(&description, *big_endian));
                    Ok(None)
                }
                Block::EnhancedPacket(packet) => {
                    let Some(interface) = interfaces.get(packet.if_id as usize) else {
                        return Err(place.damaged(format!("the packet's interface {} is not described", packet.if_id)));
                    };
                    let timestamp = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                    let time_ps = interface.time_ps(timestamp, place)?;
                    let number = u16::try_from(packet.if_id).unwrap_or(u16::MAX);
                    interface.frame(time_ps, packet.origlen, packet.packet_data(), number, place)
                }
                Block::SimplePacket(_) => Err(place.unsupported(
                    "a simple packet block has no timestamp",
                    "capture again with a tool that writes timestamps",
                )),
                // The obsolete packet block.
                Block::Unknown(block) if block.block_type == 2 => {
                    Err(place
                        .unsupported("an obsolete packet block", "rewrite the file with `editcap -F pcapng IN OUT`"))
                }
                _ => Ok(None),
            },
            _ => Err(place.damaged("the block that starts here is malformed")),
        }
    }
}

impl Interface {
    fn new(description: &InterfaceDescriptionBlock<'_>, big_endian: bool) -> Self {
        // pcapng, section 4.2: the top bit of if_tsresol tells powers of two from powers of ten. (pcap-parser 0.17
        // gives no resolution for powers of two, and reads if_tsoffset as little-endian in either byte order.)
        let exponent = u32::from(description.if_tsresol & 0x7f);
        let base = if description.if_tsresol & 0x80 == 0 { 10_u128 } else { 2 };
        let offset_s = description
            .options
            .iter()
            .find(|option| option.code == OptionCode::IfTsoffset)
            .and_then(|option| option.value.first_chunk::<8>())
            .map_or(0, |bytes| if big_endian { i64::from_be_bytes(*bytes) } else { i64::from_le_bytes(*bytes) });
        Self { link_type: description.linktype.0 as u16, resolution: base.checked_pow(exponent), offset_s }
    }

    fn time_ps(&self, timestamp: u64, place: Place) -> Result<i128, CaptureError> {
        let Some(resolution) = self.resolution else {
            return Err(place.damaged("the resolution of the timestamps is out of bounds"));
        };
        // Below 2^64 * 10^12 < 2^104.
        let since_offset = u128::from(timestamp) * PICOSECONDS_PER_SECOND / resolution;
        Ok(since_offset as i128 + i128::from(self.offset_s) * PICOSECONDS_PER_SECOND as i128)
    }

    fn frame(
        &self,
        time_ps: i128,
        original_bytes: u32,
        data: &[u8],
        interface: u16,
        place: Place,
    ) -> Result<Option<CapturedFrame>, CaptureError> {
        let Some(link_type) = LinkType::from_number(self.link_type) else {
            return Err(place.unsupported(
                format!("link type {} is not supported", self.link_type),
                "Ethernet, Wi-Fi, PPP, Linux cooked, raw IP and loopback are supported: capture on another interface",
            ));
        };
        // Some tools leave the original length out.
        let original_bytes = original_bytes.max(data.len() as u32);
        if original_bytes > MAX_PACKET_BYTES {
            return Err(place.damaged(format!("a packet of {original_bytes} bytes")));
        }
        let added_bytes = added_bytes(link_type, data);
        let len_bytes = original_bytes - added_bytes;
        if len_bytes == 0 {
            return Ok(None);
        }
        let (flow, headers) = read(link_type, data);
        let cut = headers.incomplete && data.len() < original_bytes as usize;
        // A header that is there and makes no sense hides what it carries.
        let unreadable = headers.incomplete && !cut && flow.destination().is_none();
        Ok(Some(CapturedFrame {
            time_ps,
            len_bytes,
            added_bytes,
            flow,
            key: headers.key,
            ecn: headers.ecn(),
            class: headers.class(),
            interface,
            link_type: self.link_type,
            ip_at: headers.ip_at,
            tcp: headers.ip_at.and_then(|at| tcp_header(data, at)),
            cut,
            opaque: headers.opaque || unreadable,
        }))
    }
}

/// A reader whose first bytes have been read and put back.
type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// The first four bytes (fewer if there are no more), and the reader with them put back.
fn peek<R: Read>(mut reader: R) -> Result<(Vec<u8>, Peeked<R>), CaptureError> {
    let mut head = Vec::with_capacity(4);
    match reader.by_ref().take(4).read_to_end(&mut head) {
        Ok(_) => Ok((head.clone(), Cursor::new(head).chain(reader))),
        Err(source) => Err(CaptureError::Read { offset: head.len() as u64, source }),
    }
}

/// Reads until the buffer is full, as pcap-parser expects of its first read. Data read before an error is handed over
/// first; the error itself goes to `error`, because pcap-parser drops it.
struct FillingReader<R> {
    reader: R,
    pending: Option<io::Error>,
    error: Rc<RefCell<Option<io::Error>>>,
}

impl<R> FillingReader<R> {
    fn fail(&mut self, error: io::Error) -> io::Error {
        let kind = error.kind();
        *self.error.borrow_mut() = Some(error);
        kind.into()
    }
}

impl<R: Read> Read for FillingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.pending.take() {
            return Err(self.fail(error));
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == 0 => return Err(self.fail(error)),
                Err(error) => {
                    self.pending = Some(error);
                    break;
                }
            }
        }
        Ok(filled)
    }
}
