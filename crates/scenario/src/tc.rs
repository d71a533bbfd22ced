//! The `tc` commands that give an interface of Linux the queue, rate, delay and loss of a scenario's link.
//!
//! The output is a shell script. A token bucket limits the rate, and the queue is its child, because a discipline sees
//! a queue only below a shaper. Comments name everything in the scenario that Linux does not have, with its reason.

mod classes;
mod dualpi2;
mod netem;
mod qdisc;
mod red;
#[cfg(test)]
mod tests;

use forebay_document::escaped;
use forebay_qdisc::DropTailConfig;
use forebay_units::{QueueSize, Rate, Span};

use self::qdisc::Qdisc;
use crate::Scenario;
use crate::plan::{Plan, PlannedLink};
use crate::schema::{LinkSpec, QueueSpec};

/// Limit of a queue that has none in the scenario.
const UNLIMITED_PACKETS: u64 = 1_000_000;
/// Time for which a burst of the token bucket lasts: the kernel's timers are not more precise than this.
const TIMER_SLACK: Span = Span::from_microseconds(50);
/// Room for the headers of a frame in the bucket, beyond the packet's own bytes.
const HEADER_ROOM_BYTES: u64 = 100;

/// The interface, and the size by which packets are converted to bytes.
#[derive(Clone, Copy, Debug)]
pub struct TcTarget<'a> {
    /// Name of the interface.
    pub device: &'a str,
    /// Size of a packet, where Linux counts bytes and the scenario packets, or the other way round.
    pub packet_bytes: u64,
}

/// The rate of the interface's queue, and the size of a packet.
#[derive(Clone, Copy, Debug)]
struct Port {
    rate: Rate,
    packet_bytes: u64,
}

impl Port {
    /// The bytes that a token bucket may send at once: at least a frame.
    fn burst_bytes(self) -> u64 {
        self.rate.bytes_in(TIMER_SLACK).max(self.packet_bytes + HEADER_ROOM_BYTES)
    }

    fn bytes(self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets.saturating_mul(self.packet_bytes),
            QueueSize::Bytes(bytes) => bytes,
        }
    }

    fn packets(self, size: QueueSize) -> u64 {
        match size {
            QueueSize::Packets(packets) => packets,
            QueueSize::Bytes(bytes) => bytes.div_ceil(self.packet_bytes),
        }
    }
}

/// The links whose queue the scenario describes.
#[must_use]
pub fn described_queues(scenario: &Scenario) -> Vec<String> {
    let plan = Plan::new(scenario.spec(), scenario.spec().seed);
    plan.links.iter().filter(|link| plan.spec(link).queue.is_some()).map(|link| link.name.clone()).collect()
}

/// The script for the link of that name; `None` if the scenario has no such link.
#[must_use]
pub fn tc_commands(scenario: &Scenario, link: &str, target: TcTarget<'_>) -> Option<String> {
    let plan = Plan::new(scenario.spec(), scenario.spec().seed);
    plan.links.iter().find(|candidate| candidate.name == link).map(|link| script(link, plan.spec(link), target))
}

fn script(link: &PlannedLink, spec: &LinkSpec, TcTarget { device, packet_bytes }: TcTarget<'_>) -> String {
    let port = Port { rate: spec.rate, packet_bytes };
    let unlimited = QueueSpec::DropTail(DropTailConfig { limit: QueueSize::Packets(UNLIMITED_PACKETS) });
    let queue = spec.queue.as_deref().unwrap_or(&unlimited);
    let mut lines = vec![
        format!("# {}: {}, {}", escaped(&link.name).replace('\n', " "), spec.rate, queue.name()),
        "# Linux counts the 14 bytes of an Ethernet header in each packet; the scenario does not.".to_owned(),
        format!("# Segmentation offload makes packets of 64 KB: ethtool -K {device} tso off gso off gro off"),
    ];
    if let QueueSpec::Cbq(classes) = queue {
        lines.extend(classes::commands(classes, port, device));
    } else {
        let (rate, burst) = (rate(port.rate), port.burst_bytes());
        let limit = "limit 1600"; // of the FIFO that the queue below replaces
        lines.push(format!("tc qdisc replace dev {device} root handle 1: tbf rate {rate} burst {burst} {limit}"));
        if spec.queue.is_none() {
            lines.push(format!("# The queue has no limit in the scenario; here it holds {UNLIMITED_PACKETS} packets."));
        }
        lines.extend(qdisc::counterpart(queue, port).lines(device, "1:1", "10:"));
    }
    lines.extend(netem::path_lines(link, spec, device));
    lines.push(format!("# To remove it: tc qdisc del dev {device} root"));
    lines.join("\n") + "\n"
}

impl Qdisc {
    /// The notes as comments, then the command.
    fn lines(self, device: &str, parent: &str, handle: &str) -> Vec<String> {
        let notes = self.notes.into_iter().map(|note| format!("# {note}"));
        let command = format!("tc qdisc add dev {device} parent {parent} handle {handle} {}", self.command);
        notes.chain([command]).collect()
    }
}

/// A rate as `tc` reads it, without loss.
fn rate(rate: Rate) -> String {
    match rate.bits_per_second() {
        bits if bits % 1_000_000 == 0 => format!("{}mbit", bits / 1_000_000),
        bits if bits % 1000 == 0 => format!("{}kbit", bits / 1000),
        bits => format!("{bits}bit"),
    }
}

const PICOSECONDS_PER_MICROSECOND: u64 = 1_000_000;

/// A time as most qdiscs read it: in whole microseconds, at least one.
fn time(span: Span) -> String {
    match span.picoseconds().div_ceil(PICOSECONDS_PER_MICROSECOND).max(1) {
        micros if micros % 1_000_000 == 0 => format!("{}s", micros / 1_000_000),
        micros if micros % 1000 == 0 => format!("{}ms", micros / 1000),
        micros => format!("{micros}us"),
    }
}

/// A time as netem reads it: in whole nanoseconds.
fn exact_time(span: Span) -> String {
    if span.picoseconds().is_multiple_of(PICOSECONDS_PER_MICROSECOND) {
        return time(span);
    }
    format!("{}ns", span.picoseconds().div_ceil(1000))
}

/// A number without an exponent, which `tc` may not read, with six significant digits.
fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (5 - libm::floor(libm::log10(value.abs())) as i32).clamp(0, 12) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
