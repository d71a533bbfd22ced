//! Lossless Ethernet: what a network of shared-memory switches and adapters is described by, and what its frames carry.
//!
//! | file | what |
//! |---|---|
//! | `rounds.rs`, `sides.rs` | the driver, and which nodes it runs together |
//! | `ethernet_network.rs` | from the description to nodes and links |
//! | `ethernet_links.rs` | the links, and what is on them |
//! | `ethernet_switch.rs` | the switch |
//! | `switch_port.rs`, `output_queues.rs` | a port of it, and what waits there |
//! | `adapter.rs` | the end node |
//! | `ingress.rs` | its way in: virtual output queues, rate limiters, whose turn it is |
//! | `egress.rs` | its way out: the buffer for what the node has not taken yet |
//! | `pause_port.rs` | PAUSE at its port, both ways |
//! | `frames.rs` | when frames are generated, and for whom |
//!
//! Data frames travel as packets of their flow. Control frames (messages of congestion management, PAUSE) have flows of
//! their own, behind those: see [`ControlRows`].

use forebay_qdisc::{Ecn, Rate, Span, Time};
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionManagement, Message};
use forebay_switching::{PauseConfig, SharedMemoryConfig};

use crate::network::LinkId;
use crate::packet::{FlowId, Packet, PacketFields};

/// How a buffer stops its feeder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowControl {
    /// Not at all: what finds no room is lost.
    None,
    /// PAUSE (IEEE 802.3x): the whole link stops.
    Pause(PauseConfig),
    /// Priority flow control (IEEE 802.1Qbb): each class has its own watermarks and stops alone.
    Priority(PauseConfig),
}

/// In which order an output sends what its inputs have for it, within a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// In the order of arrival.
    Fifo,
    /// One frame of each input, round-robin.
    RoundRobin,
}

/// From when on a port sends, or a node takes frames, at which rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceStep {
    /// From when on.
    pub from: Time,
    /// The rate; no more than the link's.
    pub rate: Rate,
}

/// A full-duplex port: a link in each direction.
#[derive(Clone, Debug, PartialEq)]
pub struct EthernetPort {
    /// The link on which the node sends.
    pub out: LinkId,
    /// The link by which it receives.
    pub incoming: LinkId,
    /// Changes of the rate at which it sends, in the order of time. None: the link's rate throughout.
    pub service: Vec<ServiceStep>,
}

/// A switch whose memory is divided among its inputs and shared by its outputs.
pub struct EthernetSwitchSpec {
    /// Its name in results; also that of its random streams.
    pub name: String,
    /// Its ports. The `far_input_port` of a link that leads here is the port's index.
    pub ports: Vec<EthernetPort>,
    /// Its memory.
    pub memory: SharedMemoryConfig,
    /// How it stops its neighbours.
    pub flow_control: FlowControl,
    /// How long after an order to stop a port begins no more frames.
    pub reaction: Span,
    /// The order at an output.
    pub arbiter: Arbiter,
    /// Whether classes are served by strict priority, the highest first; else all are one or, where classes are stopped
    /// singly, take turns.
    pub strict_priority: bool,
    /// From the last bit of a frame to its place in its output's queue.
    pub forwarding_delay: Span,
    /// What manages congestion.
    pub congestion: Option<CongestionManagement>,
}

/// The end node.
pub struct AdapterSpec {
    /// Its name in results; also that of its random streams.
    pub name: String,
    /// Its port. `port.service` is ignored; the node's own pace is `service`.
    pub port: EthernetPort,
    /// Frames that each virtual output queue holds at most; `None` for no limit.
    pub voq_limit: Option<u32>,
    /// How many flows may have a rate limiter at a time; `None` for no limit.
    pub rate_limiters: Option<u32>,
    /// Memory for what has come and the node has not taken yet, in bytes.
    pub egress_bytes: u64,
    /// How it stops the switch.
    pub flow_control: FlowControl,
    /// How long after an order to stop the adapter begins no more frames.
    pub reaction: Span,
    /// At which rate the node takes frames. None: at the rate of its incoming link.
    pub service: Vec<ServiceStep>,
    /// What manages congestion.
    pub congestion: Option<CongestionManagement>,
}

/// When frames are generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameArrivals {
    /// Frames for each slot (the time of a frame on the line) while the generator is on, from 0 to 1.
    pub load: f64,
    /// Whether the frames of a generator come at equal distances, or in each slot with the same probability.
    pub constant: bool,
    /// Alternately on and off.
    pub on_off: Option<OnOff>,
}

/// A generator that is on for the first part of every period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// The period.
    pub period: Span,
    /// How much of it the generator is on.
    pub on: Span,
}

/// A rate that changes at given times.
#[derive(Clone, Debug)]
pub(crate) struct ServiceRate {
    steps: Vec<ServiceStep>,
    /// The step to come.
    next: usize,
    rate: Rate,
}

impl ServiceRate {
    pub fn new(line: Rate, steps: Vec<ServiceStep>) -> Self {
        Self { steps, next: 0, rate: line }
    }

    /// The rate at `now`, which never decreases from call to call.
    #[inline]
    pub fn at(&mut self, now: Time) -> Rate {
        while let Some(step) = self.steps.get(self.next)
            && step.from <= now
        {
            self.rate = step.rate;
            self.next += 1;
        }
        self.rate
    }

    /// When the rate of the last call changes.
    pub fn changes_at(&self) -> Time {
        self.steps.get(self.next).map_or(Time::NEVER, |step| step.from)
    }

    /// The rate of the last call.
    pub fn current(&self) -> Rate {
        self.rate
    }
}

/// How long a frame takes. It knows the last answer: nearly all frames are equally long, and a division costs more than
/// the rest of sending a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TransmissionTime {
    len_bytes: u32,
    bits_per_second: u64,
    span: Span,
}

impl TransmissionTime {
    /// For a frame of this many bytes at this rate.
    #[inline]
    pub fn of(&mut self, len_bytes: u32, rate: Rate) -> Span {
        if len_bytes != self.len_bytes || rate.bits_per_second() != self.bits_per_second {
            let span = rate.transmission_time(u64::from(len_bytes));
            *self = Self { len_bytes, bits_per_second: rate.bits_per_second(), span };
        }
        self.span
    }
}

/// Which (flow, direction)s are those of control frames; a row is one, as in [`crate::Packet::direction_index`]. Behind
/// the flows' rows there come, in the same order, those of their control frames: forward from the source to the
/// destination (probes), backward from the destination, or from any switch on the way, to the source. Behind them there
/// is one row for each link, for PAUSE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlRows {
    pub flows: u32,
}

impl ControlRows {
    /// The flow whose rows the control frames of `flow` have.
    pub fn of_flow(self, flow: FlowId) -> FlowId {
        self.flows + flow
    }

    /// The flow that a control frame with rows of `control` is about.
    pub fn about(self, control: FlowId) -> FlowId {
        control - self.flows
    }

    /// The flow and whether it is the backward row, for PAUSE over `link`.
    pub fn of_link(self, link: LinkId) -> (FlowId, bool) {
        let row = 4 * self.flows + link;
        (row >> 1, row & 1 == 1)
    }

    /// Whether packets of this flow are PAUSE.
    pub fn is_pause(self, flow: FlowId) -> bool {
        flow >= 2 * self.flows
    }

    /// Whether packets of this flow are control frames, PAUSE among them.
    pub fn is_control(self, flow: FlowId) -> bool {
        flow >= self.flows
    }
}

/// A control frame, whose `flow` is one of [`ControlRows`].
pub(crate) fn control_frame(flow: FlowId, class: u8, flags: u8, number: u32, time: Time) -> Packet {
    let len_bytes = CONTROL_FRAME_BYTES as u16;
    Packet::new(PacketFields { time, stamp: 0, number, flow, len_bytes, flags, class, ecn: Ecn::NotCapable })
}

/// The messages of the control frames in flight: a frame holds its slot in [`crate::Packet::number`].
#[derive(Debug, Default)]
pub struct MessageTable {
    slots: Vec<Message>,
    free: Vec<u32>,
}

impl MessageTable {
    /// Keeps a message; returns its slot.
    pub fn put(&mut self, message: Message) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = message;
            return slot;
        }
        self.slots.push(message);
        self.slots.len() as u32 - 1
    }

    /// The message in a slot.
    pub fn get_mut(&mut self, slot: u32) -> &mut Message {
        &mut self.slots[slot as usize]
    }

    /// Takes a message out.
    pub fn take(&mut self, slot: u32) -> Message {
        self.free.push(slot);
        self.slots[slot as usize]
    }
}

/// PAUSE: which classes have to stop, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    /// A bit for each class; all of them for IEEE 802.3x.
    pub classes: u8,
    /// Pause time in quanta; zero to continue.
    pub quanta: u16,
}

impl PauseFrame {
    /// As [`crate::Packet::number`].
    pub fn number(self) -> u32 {
        u32::from(self.classes) << 16 | u32::from(self.quanta)
    }

    /// From [`crate::Packet::number`].
    pub fn from_number(number: u32) -> Self {
        Self { classes: (number >> 16) as u8, quanta: number as u16 }
    }
}
