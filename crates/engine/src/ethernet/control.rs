//! Control frames: messages of congestion management, and PAUSE.

use forebay_qdisc::{Ecn, Time};
use forebay_switching::congestion::CONTROL_FRAME_BYTES;

use crate::packet::{FlowId, Packet, PacketFields};
use crate::spec::LinkId;

/// Rows of control frames. A row is a (flow, direction), as in [`crate::Packet::direction_index`]. The rows of the
/// flows come first. The rows of their control frames follow in the same order: forward from source to destination
/// (probes), backward from the destination or a switch to the source. Last comes one row for each link, for PAUSE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlRows {
    pub flows: u32,
}

impl ControlRows {
    /// The flow number of the control frames about `flow`.
    pub fn of_flow(self, flow: FlowId) -> FlowId {
        self.flows + flow
    }

    /// The inverse of `of_flow`.
    pub fn about(self, control: FlowId) -> FlowId {
        control - self.flows
    }

    /// Flow number for PAUSE over `link`, and whether its row is the backward one.
    pub fn of_link(self, link: LinkId) -> (FlowId, bool) {
        let row = 4 * self.flows + link;
        (row >> 1, row & 1 == 1)
    }

    /// The number of rows with this many links.
    pub fn directions(self, links: usize) -> usize {
        4 * self.flows as usize + links
    }

    pub fn is_pause(self, flow: FlowId) -> bool {
        flow >= 2 * self.flows
    }

    /// PAUSE included.
    pub fn is_control(self, flow: FlowId) -> bool {
        flow >= self.flows
    }
}

/// `flow` is one of [`ControlRows`].
pub(crate) fn control_frame(flow: FlowId, class: u8, flags: u8, number: u32, time: Time) -> Packet {
    let len_bytes = CONTROL_FRAME_BYTES as u16;
    Packet::new(PacketFields { time, stamp: 0, number, flow, len_bytes, flags, class, ecn: Ecn::NotCapable })
}

/// PAUSE of IEEE 802.3x, or by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    /// One bit per class. All bits for IEEE 802.3x.
    pub classes: u8,
    /// Pause time in quanta. Zero to continue.
    pub quanta: u16,
}

impl PauseFrame {
    /// The encoding in [`crate::Packet::number`].
    pub fn number(self) -> u32 {
        u32::from(self.classes) << 16 | u32::from(self.quanta)
    }

    pub fn from_number(number: u32) -> Self {
        Self { classes: (number >> 16) as u8, quanta: number as u16 }
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
