//! The logs of a run that was asked to record events one by one.

use forebay_qdisc::{Rate, Time};

/// The events that a run recorded for its [`Watch`](crate::Watch).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// One for each watched link, in their order.
    pub packets: Vec<PacketLog>,
    /// One for each crossbar.
    pub crossbars: Vec<CrossbarLog>,
    /// One for each link that was stopped in the window, in the order of links.
    pub pauses: Vec<PauseLog>,
}

/// The packets of a queue in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketLog {
    /// The link that the queue feeds.
    pub link: String,
    /// The rate of the link, before any change.
    pub rate: Rate,
    /// The events. Packets that are queued at the begin of the window come first, as enqueued then.
    pub events: Vec<LoggedPacket>,
    /// The flows of the packets. ACKs are a flow of their own, named `NAME (ACKs)`, as control frames of an Ethernet
    /// are, named `NAME (control)`.
    pub flow_names: Vec<String>,
    /// Whether the log was full before the end of its window. It is complete up to its last event.
    pub is_cut: bool,
}

/// One event of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPacket {
    /// When.
    pub time: Time,
    /// The event.
    pub event: PacketEvent,
    /// Its flow, an index into [`PacketLog::flow_names`].
    pub flow: u32,
    /// Its length on the wire.
    pub len_bytes: u32,
    /// Its number, unique in this log; numbers begin at 0, in the order of their first events.
    pub packet: u32,
}

/// An event of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketEvent {
    /// It joins the queue.
    Enqueued,
    /// It does not join the queue.
    DroppedOnArrival,
    /// It is dropped from the queue.
    DroppedLater,
    /// It leaves the queue: its transmission begins.
    Departed,
    /// It is marked with CE, in addition to one of the others, before or after it.
    Marked,
}

/// The phases of a crossbar in the order of time. A phase in which nothing waits is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossbarLog {
    /// The node.
    pub node: String,
    /// How many inputs it has, and how many outputs.
    pub ports: usize,
    /// When each phase is.
    pub times: Vec<Time>,
    /// The output that each input is matched to, or -1: for each phase as many as there are ports.
    pub matchings: Vec<i16>,
    /// The packets that wait before the phase: for each phase and input as many numbers as there are outputs. Larger
    /// numbers are 65535.
    pub lengths: Vec<u16>,
    /// Whether the log was full before the end of its window.
    pub is_cut: bool,
}

/// When PAUSE stopped a link, in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct PauseLog {
    /// The link.
    pub link: String,
    /// The changes. Classes that are stopped at the begin of the window come first, as stopped then.
    pub events: Vec<LoggedPause>,
    /// Whether the log was full before the end of its window.
    pub is_cut: bool,
}

/// A link, or a class on it, is stopped or released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPause {
    /// When.
    pub time: Time,
    /// The class; `None` for all classes together.
    pub class: Option<u8>,
    /// Whether it is stopped from then on.
    pub is_stopped: bool,
}
