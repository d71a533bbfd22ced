//! Control frames: messages of congestion management, and PAUSE.

use forebay_qdisc::{Ecn, Time};
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, Message};

use crate::driver::node::Channels;
use crate::driver::ring::Ring;
use crate::ethernet::class_turns::Classes;
use crate::ethernet::pause::{PauseRx, PauseTx, Stopped};
use crate::observe::reported::{PortReport, WatchdogReport};
use crate::packet::{FlowId, Packet, PacketFields, flags};
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

    /// PAUSE over `link`.
    pub fn pause(self, link: LinkId, order: PauseFrame, now: Time) -> Packet {
        let row = 4 * self.flows + link;
        control_frame(row >> 1, 0, if row & 1 == 1 { flags::ACK } else { 0 }, order.number(), now)
    }

    /// A message of congestion management about `flow`.
    pub fn message(
        self,
        flow: FlowId,
        class: u8,
        flags: u8,
        message: Message,
        now: Time,
        channels: &mut Channels,
    ) -> Packet {
        control_frame(self.of_flow(flow), class, flags, channels.tables.messages.put(message), now)
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

/// The control side of a port: PAUSE in both directions, and messages to sources.
#[repr(C)]
pub(crate) struct ControlPort {
    pub orders: PauseTx,
    pub obeyed: PauseRx,
    /// To sources.
    pub messages: Ring<Packet>,
    pub report: PortReport,
    /// Classes in a storm of PAUSE.
    pub storms: Classes,
    /// Classes whose frames are dropped for that.
    pub dropped: Classes,
    /// Pause time before the end of the warm-up.
    paused_before: Stopped,
}

impl ControlPort {
    pub fn new(orders: PauseTx, obeyed: PauseRx) -> Self {
        let (messages, report) = (Ring::default(), PortReport::default());
        Self { orders, obeyed, messages, report, storms: 0, dropped: 0, paused_before: Stopped::default() }
    }

    /// Whether a control frame waits that goes ahead of data.
    #[inline]
    pub fn waits(&self) -> bool {
        self.orders.is_pending() || self.messages.len() > 0
    }

    /// Takes the next PAUSE frame, which goes over `link`.
    pub fn take_order(&mut self, rows: ControlRows, link: LinkId, now: Time) -> Option<Packet> {
        let order = self.orders.take()?;
        self.report.pause_frames_sent += 1;
        Some(rows.pause(link, order, now))
    }

    /// Sets whether a class is in a storm.
    pub fn set_storm(&mut self, class: u8, is_storm: bool, now: Time) {
        let bit = 1 << class;
        if is_storm
            && self.storms & bit == 0
            && let Some(watchdog) = &mut self.report.watchdog
        {
            watchdog.storms += 1;
            watchdog.first.get_or_insert((now, class));
        }
        self.storms = if is_storm { self.storms | bit } else { self.storms & !bit };
    }

    pub fn begin_measurement(&mut self, now: Time) {
        let watchdog = self.report.watchdog.map(|before| WatchdogReport { first: before.first, ..Default::default() });
        self.report = PortReport { watchdog, ..PortReport::default() };
        self.paused_before = self.obeyed.stopped(now);
    }

    /// The report of the measured interval.
    pub fn report(&mut self, end: Time) -> PortReport {
        PortReport { paused: self.obeyed.stopped(end).longest_since(self.paused_before), ..self.report }
    }
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
