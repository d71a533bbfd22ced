//! The end of a flow, or of several.

use forebay_qdisc::Time;

use crate::host::outbox::Outbox;
use crate::host::tcp::{TcpSink, TcpSource};
use crate::host::udp::UdpSink;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;

/// An endpoint. It does its own work up to a time before it takes a packet of that time.
pub(crate) trait Endpoint: Send {
    /// The time at which it acts without a packet.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// A packet arrives, at `packet.time`; none is addressed to a source without ACKs.
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        out.channels.release(packet);
    }

    /// Does its own work up to `now`.
    fn expire(&mut self, _now: Time, _out: &mut Outbox<'_>) {}

    /// Shows the time series so far.
    fn show(&self, _show: &mut Show<'_>) {}

    /// The run is over: brings the counters up to `end` and reports them.
    fn finish(&mut self, end: Time, report: &mut Report);

    /// Prefetches what [`Endpoint::receive`] touches.
    #[inline]
    fn prefetch(&self) {}

    /// Prefetches what pointers there lead to.
    #[inline]
    fn prefetch_further(&self) {}
}

/// An endpoint of any kind. The kinds to which most packets go are called without a table of functions.
pub(crate) enum AnyEndpoint {
    TcpSource(Box<TcpSource>),
    TcpSink(Box<TcpSink>),
    UdpSink(Box<UdpSink>),
    Other(Box<dyn Endpoint>),
}

/// `$call` with the endpoint in `$any` as `$end`.
macro_rules! with {
    ($any:expr, $end:ident => $call:expr) => {
        match $any {
            AnyEndpoint::TcpSource($end) => $call,
            AnyEndpoint::TcpSink($end) => $call,
            AnyEndpoint::UdpSink($end) => $call,
            AnyEndpoint::Other($end) => $call,
        }
    };
}

impl Endpoint for AnyEndpoint {
    #[inline]
    fn next(&self) -> Time {
        with!(self, end => end.next())
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        with!(self, end => end.receive(packet, out));
    }

    #[inline]
    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        with!(self, end => end.expire(now, out));
    }

    fn show(&self, show: &mut Show<'_>) {
        with!(self, end => end.show(show));
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        with!(self, endpoint => endpoint.finish(end, report));
    }

    #[inline]
    fn prefetch(&self) {
        with!(self, end => end.prefetch());
    }

    #[inline]
    fn prefetch_further(&self) {
        with!(self, end => end.prefetch_further());
    }
}
