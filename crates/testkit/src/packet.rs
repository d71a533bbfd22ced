//! A packet with a unique id, and a sink that stores its input.

use forebay_qdisc::{
    Arrival, DropReason, Ecn, FlowInfo, FlowKey, Hosts, MarkReason, Packet, RateLabel, Sink, TcpHeader, Time,
};

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

    fn set_class(&mut self, class: u8) {
        self.class = class;
    }

    fn rate_label(&self) -> Option<RateLabel> {
        look();
        self.rate_label
    }

    fn set_rate_label(&mut self, label: RateLabel) {
        self.rate_label = Some(label);
    }

    /// The packets of every third flow cannot be cut.
    fn trim(&mut self, len_bytes: u32) -> bool {
        let FlowKey(flow) = self.flow;
        let is_cut = !flow.is_multiple_of(3);
        if is_cut {
            self.len_bytes = len_bytes;
        }
        is_cut
    }
}

/// A sink that records, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorder {
    /// Dropped packets, with the reason and whether they had been admitted before.
    pub dropped: Vec<(TestPacket, DropReason, bool)>,
    /// Marked packets, with the reason.
    pub marked: Vec<(TestPacket, MarkReason)>,
    /// Trimmed packets as they are now, with the bytes that were cut off.
    pub trimmed: Vec<(TestPacket, u32)>,
}

impl Sink<TestPacket> for Recorder {
    fn dropped(&mut self, packet: TestPacket, reason: DropReason, queued: bool) {
        self.dropped.push((packet, reason, queued));
    }

    fn marked(&mut self, packet: &TestPacket, reason: MarkReason) {
        self.marked.push((packet.clone(), reason));
    }

    fn trimmed(&mut self, packet: &TestPacket, cut_bytes: u32) {
        self.trimmed.push((packet.clone(), cut_bytes));
    }

    fn flow_info(&self) -> &dyn FlowInfo<TestPacket> {
        &TestHeaders
    }
}

/// Few hosts, so that flows share them. Every second flow has pure ACKs, of which some echo a mark.
#[derive(Clone, Copy, Debug)]
struct TestHeaders;

impl FlowInfo<TestPacket> for TestHeaders {
    fn hosts(&self, packet: &TestPacket) -> Hosts {
        let FlowKey(flow) = packet.flow;
        Hosts { source: flow % 3, destination: flow / 3 % 5 }
    }

    fn tcp_header(&self, packet: &TestPacket) -> Option<TcpHeader> {
        let FlowKey(flow) = packet.flow;
        let echo = if packet.id.is_multiple_of(7) { TcpHeader::ECE } else { 0 };
        let flags = TcpHeader::ACK | echo;
        let header = TcpHeader { flags, number: packet.id as u32, is_pure: true, ..TcpHeader::default() };
        flow.is_multiple_of(2).then_some(header)
    }

    fn framing_bytes(&self, _packet: &TestPacket) -> u32 {
        0
    }

    fn is_arp(&self, _packet: &TestPacket) -> bool {
        false
    }

    /// Every fourth flow has no size. The bytes of the others start again and again.
    fn remaining_bytes(&self, packet: &TestPacket) -> Option<u64> {
        let FlowKey(flow) = packet.flow;
        (!flow.is_multiple_of(4)).then_some(100_000 - packet.id % 100 * 1000)
    }

    fn departure(&self, packet: &TestPacket) -> Option<Time> {
        Some(Time::from_picoseconds(packet.id * 1000))
    }
}
