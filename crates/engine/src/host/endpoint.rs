//! The end of a flow, or of several.

use forebay_qdisc::Time;

use crate::host::cells::CellSource;
use crate::host::conversation::Conversation;
use crate::host::outbox::Outbox;
use crate::host::tcp::{TcpSink, TcpSource};
use crate::host::udp::{UdpSink, UdpSource};
use crate::observe::report::Report;
use crate::packet::Packet;

/// An endpoint. What it has to do by itself up to a time, it does before it takes a packet of that time.
pub(crate) enum Endpoint {
    TcpSource(Box<TcpSource>),
    TcpSink(Box<TcpSink>),
    Conversation(Box<Conversation>),
    UdpSource(Box<UdpSource>),
    UdpSink(Box<UdpSink>),
    CellSource(Box<CellSource>),
}

impl Endpoint {
    /// When it has something to do by itself; [`Time::NEVER`] if only a packet can wake it.
    #[inline]
    pub fn next(&self) -> Time {
        match self {
            Self::TcpSource(source) => source.next(),
            Self::TcpSink(sink) => sink.next(),
            Self::Conversation(end) => end.next(),
            Self::UdpSource(source) => source.next(),
            Self::UdpSink(_) => Time::NEVER,
            Self::CellSource(source) => source.next(),
        }
    }

    /// A packet arrives, at `packet.time`. Nothing is addressed to a source without ACKs.
    #[inline(always)]
    pub fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        match self {
            Self::TcpSource(source) => source.receive(packet, out),
            Self::TcpSink(sink) => sink.receive(packet, out),
            Self::Conversation(end) => end.receive(packet, out),
            Self::UdpSink(sink) => sink.receive(packet),
            Self::UdpSource(_) | Self::CellSource(_) => out.lanes.release(packet),
        }
    }

    /// Does what it has to do by itself up to `now`.
    pub fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        match self {
            Self::TcpSource(source) => source.expire(now, out),
            Self::TcpSink(sink) => sink.expire(now, out),
            Self::Conversation(end) => end.expire(now, out),
            Self::UdpSource(source) => source.expire(now, out),
            Self::UdpSink(_) => {}
            Self::CellSource(source) => source.expire(now, out),
        }
    }

    /// The run is over: brings the books up to `end` and hands them in.
    pub fn finish(&mut self, end: Time, report: &mut Report) {
        match self {
            Self::TcpSource(source) => source.finish(end, report),
            Self::TcpSink(sink) => sink.finish(end, report),
            Self::Conversation(end_point) => end_point.finish(end, report),
            Self::UdpSource(source) => source.finish(end, report),
            Self::UdpSink(sink) => sink.finish(end, report),
            Self::CellSource(source) => source.finish(end, report),
        }
    }

    /// Asks for the memory that [`Endpoint::receive`] is going to look at.
    #[inline]
    pub fn prefetch(&self) {
        match self {
            Self::TcpSource(source) => source.prefetch(),
            Self::TcpSink(sink) => sink.prefetch(),
            _ => {}
        }
    }

    /// After [`Endpoint::prefetch`]: asks for what pointers there lead to.
    #[inline]
    pub fn prefetch_further(&self) {
        if let Self::TcpSink(sink) = self {
            sink.prefetch_further();
        }
    }
}
