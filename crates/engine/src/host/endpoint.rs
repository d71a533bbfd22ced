//! The end of a flow, or of several.

use forebay_qdisc::Time;

use crate::host::outbox::Outbox;
use crate::host::tcp::{TcpSink, TcpSource};
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

/// An endpoint on its way to its host.
pub(crate) enum MadeEndpoint {
    TcpSource(Box<TcpSource>),
    TcpSink(Box<TcpSink>),
    Other(Box<dyn Endpoint>),
}

impl MadeEndpoint {
    pub fn boxed(self) -> Box<dyn Endpoint> {
        match self {
            Self::TcpSource(source) => source,
            Self::TcpSink(sink) => sink,
            Self::Other(other) => other,
        }
    }
}
