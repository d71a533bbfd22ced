//! A packet with a unique id, and a sink that stores its input.

use forebay_qdisc::{Arrival, DropReason, Ecn, FlowKey, MarkReason, Packet, RateLabel, Sink};

use crate::work::look;

/// A packet for tests. Every look at it through [`Packet`] counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestPacket {
    /// Unlike that of any other packet of the test, and larger than that of every earlier one.
    pub id: u64,
    /// Its flow.
    pub flow: FlowKey,
    /// Its length.
    pub len_bytes: u32,
    /// Its ECN codepoint.
    pub ecn: Ecn,
    /// Its traffic class.
    pub class: u8,
    /// Its input port.
    pub input_port: u16,
    /// The rate that a router has written on it.
    pub rate_label: Option<RateLabel>,
}

impl Packet for TestPacket {
    fn flow(&self) -> FlowKey {
        look();
        self.flow
    }

    fn len_bytes(&self) -> u32 {
        look();
        self.len_bytes
    }

    fn ecn(&self) -> Ecn {
        look();
        self.ecn
    }

    fn class(&self) -> u8 {
        look();
        self.class
    }

    fn input_port(&self) -> u16 {
        look();
        self.input_port
    }

    fn arrival(&self) -> Arrival {
        look();
        let Self { flow, len_bytes, ecn, class, input_port, .. } = *self;
        Arrival { flow, len_bytes, ecn, class, input_port }
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::CongestionExperienced;
    }

    fn rate_label(&self) -> Option<RateLabel> {
        look();
        self.rate_label
    }

    fn set_rate_label(&mut self, label: RateLabel) {
        self.rate_label = Some(label);
    }
}

/// A sink that records, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorder {
    /// Dropped packets, with the reason and whether they had been admitted before.
    pub dropped: Vec<(TestPacket, DropReason, bool)>,
    /// Marked packets, with the reason.
    pub marked: Vec<(TestPacket, MarkReason)>,
}

impl Sink<TestPacket> for Recorder {
    fn dropped(&mut self, packet: TestPacket, reason: DropReason, queued: bool) {
        self.dropped.push((packet, reason, queued));
    }

    fn marked(&mut self, packet: &TestPacket, reason: MarkReason) {
        self.marked.push((packet.clone(), reason));
    }
}
