//! The logs of a run that was asked to record events one by one.

use forebay_qdisc::{Rate, Time};

/// What a run recorded for its [`Watch`](crate::Watch).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// One for each watched link, in their order.
    pub packets: Vec<PacketLog>,
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

/// What happens to a packet.
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
