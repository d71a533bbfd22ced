//! Errors of a capture, or of its replay.

use std::io;

/// Why a capture cannot be read. Offsets count from the start of the file, of a compressed file as decompressed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The system, or the decompressor, gave up.
    #[error("cannot read beyond byte {offset}: {source}; check that the file is complete and readable")]
    Read {
        /// How much had been read.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing is in the file.
    #[error("the file is empty; expected a pcap or pcapng capture")]
    Empty,
    /// The first bytes are of no format that is read.
    #[error(
        "byte 0: {found} is neither pcap nor pcapng nor a record of `forebay live`, plain or in gzip; \
         decompress or convert the file first, for example with `editcap -F pcapng IN OUT`"
    )]
    NotACapture {
        /// The first bytes in hexadecimal.
        found: String,
    },
    /// The file ends within a block.
    #[error(
        "byte {offset} (packets before it: {packets}): the file ends within the block that starts here; \
         capture again"
    )]
    Truncated {
        /// Where the incomplete block begins.
        offset: u64,
        /// Packets before it.
        packets: u64,
    },
    /// The record ends within an entry, for example because its writer was killed.
    #[error(
        "byte {offset} (arrivals before it: {packets}): the record ends within the entry that starts here; \
         record again"
    )]
    RecordTruncated {
        /// Where the incomplete entry begins.
        offset: u64,
        /// Arrivals before it.
        packets: u64,
    },
    /// The bytes make no sense.
    #[error("byte {offset} (packets before it: {packets}): {problem}; the file is damaged, capture or copy it again")]
    Damaged {
        /// Where the block begins.
        offset: u64,
        /// Packets before it.
        packets: u64,
        /// The fault.
        problem: String,
    },
    /// The file is sound, but holds what is not read.
    #[error("byte {offset} (packets before it: {packets}): {problem}; {remedy}")]
    Unsupported {
        /// Where the block begins.
        offset: u64,
        /// Packets before it.
        packets: u64,
        /// The unsupported feature.
        problem: String,
        /// The remedy.
        remedy: &'static str,
    },
}

impl CaptureError {
    /// Whether the file ends before it should, and is sound up to there.
    pub(crate) fn is_early_end(&self) -> bool {
        match self {
            Self::Truncated { .. } | Self::RecordTruncated { .. } => true,
            Self::Read { source, .. } => source.kind() == io::ErrorKind::UnexpectedEof,
            _ => false,
        }
    }
}

fn also_without_ip(packets: u64) -> String {
    if packets == 0 { String::new() } else { format!(" and {packets} without a visible IP header") }
}

/// Why a replay ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture is not in order of time, by more than can be corrected.
    #[error(
        "packet {packet} is earlier than a packet {window} packets before it; \
         sort the capture first, for example with `reordercap IN OUT`"
    )]
    OutOfOrder {
        /// The packet's number in the file, counted from 1.
        packet: u64,
        /// How far packets are moved to bring them into order.
        window: usize,
    },
    /// No packet is left to replay.
    #[error(
        "no packet to replay: the capture holds {packets} packets, {unselected} of them to other destinations{}",
        also_without_ip(*unaddressed)
    )]
    NoPackets {
        /// All packets of the capture.
        packets: u64,
        /// Those that the destination leaves out.
        unselected: u64,
        /// Those that show no destination.
        unaddressed: u64,
    },
    /// A packet is later than simulated time can be.
    #[error(
        "packet {packet} comes {days} days after the first packet, and a replay lasts at most 213 days; \
         cut the capture before it: `editcap -r IN OUT 1-{before}`"
    )]
    TooLate {
        /// The packet's number in the file, counted from 1.
        packet: u64,
        /// The packets before it in the file.
        before: u64,
        /// Its time.
        days: u64,
    },
    /// Simulated time ran out before the queue was empty.
    #[error("sending what is queued would last longer than 213 days; raise the rate")]
    TooLong,
    /// More time series than can be kept.
    #[error("the capture lasts longer than {most} intervals; choose a longer interval, or none")]
    IntervalTooShort {
        /// How many intervals are kept at most.
        most: usize,
    },
    /// A capture of what became of the packets cannot be written.
    #[error("cannot write the capture with the fate of the packets: {0}")]
    Write(#[source] io::Error),
    /// Captures are asked for of what a record has no bytes of.
    #[error(
        "a record of arrivals holds no bytes of packets, so that what passes or is dropped cannot be written as a \
         capture; leave out --capture-out and --drops-out, or replay a capture"
    )]
    NoBytes,
    /// The caller stopped it.
    #[error("stopped before the end of the capture")]
    Stopped,
    /// The counters do not balance.
    #[error("the counters do not balance, which is a fault in Forebay; please report it: {0}")]
    Invariant(String),
}
