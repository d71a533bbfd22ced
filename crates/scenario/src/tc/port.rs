//! The port whose queue is translated, and quantities as `tc` reads them.

use forebay_units::{QueueSize, Rate, Span};

/// Time for which a burst of the token bucket lasts: the kernel's timers are not more precise than this.
const TIMER_SLACK: Span = Span::from_microseconds(50);
/// Room for the headers of a frame in the bucket, beyond the packet's own bytes.
const HEADER_ROOM_BYTES: u64 = 100;

/// The rate of the interface's queue, and the size of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub rate: Rate,
    pub packet_bytes: u64,
}

impl Port {
    /// The bytes that a token bucket may send at once: at least a frame.
    pub fn burst_bytes(self) -> u64 {
        self.rate.bytes_in(TIMER_SLACK).max(self.packet_bytes + HEADER_ROOM_BYTES)
    }

    pub fn bytes(self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets.saturating_mul(self.packet_bytes),
            QueueSize::Bytes(bytes) => bytes,
        }
    }

    pub fn packets(self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets,
            QueueSize::Bytes(bytes) => bytes.div_ceil(self.packet_bytes),
        }
    }
}

/// A rate as `tc` reads it, without loss.
pub(super) fn rate(rate: Rate) -> String {
    match rate.bits_per_second() {
        bits if bits % 1_000_000 == 0 => format!("{}mbit", bits / 1_000_000),
        bits if bits % 1000 == 0 => format!("{}kbit", bits / 1000),
        bits => format!("{bits}bit"),
    }
}

const PICOSECONDS_PER_MICROSECOND: u64 = 1_000_000;

/// A time as most qdiscs read it: in whole microseconds, at least one.
pub(super) fn time(span: Span) -> String {
    match span.picoseconds().div_ceil(PICOSECONDS_PER_MICROSECOND).max(1) {
        micros if micros % 1_000_000 == 0 => format!("{}s", micros / 1_000_000),
        micros if micros % 1000 == 0 => format!("{}ms", micros / 1000),
        micros => format!("{micros}us"),
    }
}

pub(super) fn is_whole_microseconds(span: Span) -> bool {
    span.picoseconds().is_multiple_of(PICOSECONDS_PER_MICROSECOND)
}

/// A time as taprio reads it: in whole nanoseconds, without a unit.
pub(super) fn nanoseconds(span: Span) -> u64 {
    span.picoseconds().div_ceil(1000)
}

/// A time as netem reads that of a slot: in whole nanoseconds.
pub(super) fn exact_time(span: Span) -> String {
    if is_whole_microseconds(span) {
        return time(span);
    }
    format!("{}ns", nanoseconds(span))
}

/// A number without an exponent, which `tc` may not read, with six significant digits.
pub(super) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (5 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
