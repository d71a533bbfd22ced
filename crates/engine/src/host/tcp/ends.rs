//! The ends of one-way transfers.

use std::mem::offset_of;

use forebay_qdisc::Time;
use forebay_tcp::Sender;

use crate::driver::prefetch::{LINE_BYTES, prefetch_lines};
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{Acknowledger, Transmitter};
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::Packet;

/// The data of a [`TcpSource`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bulk {
    /// Data without end, until this time; [`Time::NEVER`] for never.
    Until(Time),
    /// This many bytes, then close.
    Bytes(u64),
}

/// The sending end of a one-way transfer. Fields that every ACK touches come first ([`TcpSource::HOT_BYTES`]).
#[repr(C)]
pub(crate) struct TcpSource {
    /// The time of the application's next action.
    app_due: Time,
    transmitter: Transmitter,
    bulk: Bulk,
    opened: bool,
}

impl TcpSource {
    /// The bytes from its beginning that an ACK touches.
    pub const HOT_BYTES: usize = offset_of!(Self, transmitter) + offset_of!(Transmitter, sender) + Sender::HOT_BYTES;

    /// A source that opens its connection at `start`; never, if it is to stop before.
    pub fn new(mut transmitter: Transmitter, bulk: Bulk, start: Time) -> Self {
        if let Bulk::Bytes(bytes) = bulk {
            transmitter.expect(bytes);
        }
        let app_due = if matches!(bulk, Bulk::Until(stop) if stop <= start) { Time::NEVER } else { start };
        Self { app_due, transmitter, bulk, opened: false }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.app_due.min(self.transmitter.deadline())
    }

    /// Passes checkpoints and runs timers up to `now`, in order; a checkpoint comes before a timer of the same instant.
    #[cold]
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.deadline();
            self.transmitter.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.app_due <= deadline {
                self.act(deadline, out);
            } else {
                self.transmitter.expire(deadline, out);
            }
        }
    }

    fn act(&mut self, now: Time, out: &mut Outbox<'_>) {
        let opening = !self.opened;
        self.app_due = Time::NEVER;
        if opening {
            self.opened = true;
            self.transmitter.open(now, out);
        }
        match self.bulk {
            Bulk::Until(stop) if opening => {
                self.app_due = stop;
                self.transmitter.drive(now, out, |sender, segments| sender.write_unlimited(now, segments));
            }
            Bulk::Until(_) => self.transmitter.drive(now, out, |sender, segments| sender.close(now, segments)),
            Bulk::Bytes(bytes) => {
                self.transmitter.write(bytes, now, out);
                self.transmitter.drive(now, out, |sender, segments| sender.close(now, segments));
            }
        }
    }
}

impl Endpoint for TcpSource {
    #[inline]
    fn next(&self) -> Time {
        self.deadline()
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        if self.deadline().min(self.transmitter.next_check) <= now {
            self.advance(now, out);
        }
        self.transmitter.receive(packet, out);
    }

    fn prefetch(&self) {
        prefetch_lines(&self.app_due, Self::HOT_BYTES.div_ceil(LINE_BYTES));
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn show(&self, show: &mut Show<'_>) {
        self.transmitter.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.transmitter.finish(end, report);
    }
}

/// The receiving end of a one-way transfer.
#[repr(C)]
pub(crate) struct TcpSink {
    acknowledger: Acknowledger,
}

impl TcpSink {
    pub fn new(acknowledger: Acknowledger) -> Self {
        Self { acknowledger }
    }

    #[cold]
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.acknowledger.deadline();
            self.acknowledger.check(deadline.min(now));
            if deadline > now {
                return;
            }
            self.acknowledger.expire(deadline, out);
        }
    }
}

impl Endpoint for TcpSink {
    #[inline]
    fn next(&self) -> Time {
        self.acknowledger.deadline()
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        if self.acknowledger.deadline().min(self.acknowledger.next_check) <= now {
            self.advance(now, out);
        }
        self.acknowledger.receive(packet, out);
    }

    fn prefetch(&self) {
        prefetch_lines(&self.acknowledger.next_check, size_of::<Self>().div_ceil(LINE_BYTES));
    }

    fn prefetch_further(&self) {
        self.acknowledger.delay.prefetch();
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn show(&self, show: &mut Show<'_>) {
        self.acknowledger.show(show);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.acknowledger.finish(end, report);
    }
}
