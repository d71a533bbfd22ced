//! Control frames: messages of congestion management, and PAUSE.

use forebay_qdisc::{Ecn, Time};
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, Message};

use crate::packet::{FlowId, Packet, PacketFields};
use crate::spec::LinkId;

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

    /// How many rows there are, with this many links.
    pub fn directions(self, links: usize) -> usize {
        4 * self.flows as usize + links
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
