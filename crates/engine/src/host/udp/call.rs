//! The receiver of a call with a fixed jitter buffer.

use forebay_qdisc::{Span, Time};

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::udp::UdpSink;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::observe::voice::Playout;
use crate::packet::Packet;

/// The least delay of a call is known at its end only, so the sink stores the delay of each packet: 800 B a second.
pub(crate) struct CallSink {
    sink: UdpSink,
    jitter_buffer: Span,
    /// By packet that arrived: when it was sent, which no other one was, and its delay.
    packets: Vec<(Time, Span)>,
}

impl CallSink {
    pub fn new(sink: UdpSink, jitter_buffer: Span) -> Self {
        Self { sink, jitter_buffer, packets: Vec::new() }
    }
}

impl Endpoint for CallSink {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.sink.receive(packet, out);
        self.packets.push((packet.time - packet.age(), packet.age()));
    }

    fn show(&self, show: &mut Show<'_>) {
        self.sink.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.sink.check(end);
        // The last ones are those of the measured interval, which the histogram counts.
        let measured = self.sink.counters.delay.count() as usize;
        let before = self.packets.len() - measured;
        report.playout(self.sink.context.flow, Playout::new(&self.packets[before..], self.jitter_buffer));
        self.sink.finish(end, report);
    }
}
