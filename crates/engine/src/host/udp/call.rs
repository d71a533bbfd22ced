//! The receiver of a call with a fixed jitter buffer.

use forebay_qdisc::{Span, Time};

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::udp::UdpSink;
use crate::observe::report::Report;
use crate::observe::voice::Playout;
use crate::packet::Packet;

/// The least delay of a call is known at its end only, so the sink stores the delay of each packet: 400 B a second.
pub(crate) struct CallSink {
    sink: UdpSink,
    jitter_buffer: Span,
    delays: Vec<Span>,
}

impl CallSink {
    pub fn new(sink: UdpSink, jitter_buffer: Span) -> Self {
        Self { sink, jitter_buffer, delays: Vec::new() }
    }
}

impl Endpoint for CallSink {
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.sink.receive(packet, out);
        self.delays.push(packet.age());
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.sink.check(end);
        // The last ones are those of the measured interval, which the histogram counts.
        let measured = self.sink.counters.delay.count() as usize;
        let before = self.delays.len() - measured;
        if let Some(playout) = Playout::new(&self.delays[before..], self.jitter_buffer) {
            report.playout(self.sink.context.flow, playout);
        }
        self.sink.finish(end, report);
    }
}
