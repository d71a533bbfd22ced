//! Applications at the ends of a TCP connection that carries data both ways.

use std::fmt;
use std::sync::Arc;

use forebay_qdisc::Time;
use rand_pcg::Pcg64Mcg;

use crate::host::outbox::Outbox;
use crate::host::tcp::{Acknowledger, Transmitter};
use crate::observe::interval::Checkpoint;
use crate::observe::outcomes::Outcome;

/// An application at one end of a connection.
///
/// It acts when the connection's flow starts, when the other end's bytes arrive, and at times of its own.
pub trait Application: Send {
    /// The flow starts. Called at the client only, which opens the connection with its first bytes.
    fn on_start(&mut self, socket: &mut Socket<'_, '_>);

    /// Bytes of the other end have been delivered, in their order.
    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>);

    /// The time that [`Application::next`] gave has come.
    fn on_timer(&mut self, _socket: &mut Socket<'_, '_>) {}

    /// The time of the next call of [`Application::on_timer`]; [`Time::NEVER`] without one.
    fn next(&self) -> Time {
        Time::NEVER
    }

    /// The warm-up ends, or time series are sampled: before what happens at that time.
    fn check(&mut self, _at: Time, _due: Checkpoint) {}

    /// The run is over. Returns the outcome of the application, for a table of its own.
    fn outcome(&mut self, _end: Time) -> Option<Outcome> {
        None
    }
}

/// The end of a connection at which an application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opens the connection: the flow's destination.
    Client,
    /// The flow's source.
    Server,
}

/// A kind of application with its parameters: makes the two applications of each connection.
pub trait ApplicationKind: fmt::Debug + Send + Sync {
    /// The application of an end of one connection. `stream` is the connection's random stream of a name; both ends can
    /// have equal ones. The client starts nothing after `stop`.
    fn end(&self, role: Role, stream: &dyn Fn(&str) -> Pcg64Mcg, stop: Time) -> Box<dyn Application>;
}

/// A shared [`ApplicationKind`]; equal if it is the same one.
#[derive(Clone, Debug)]
pub struct SharedKind(pub Arc<dyn ApplicationKind>);

impl PartialEq for SharedKind {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An application's view of its connection.
pub struct Socket<'a, 'b> {
    pub(crate) now: Time,
    pub(crate) transmitter: &'a mut Transmitter,
    pub(crate) acknowledger: &'a mut Acknowledger,
    pub(crate) opened: &'a mut bool,
    pub(crate) out: &'a mut Outbox<'b>,
}

impl Socket<'_, '_> {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sends bytes to the other end; the first ones open the connection.
    pub fn write(&mut self, bytes: u64) {
        if !std::mem::replace(self.opened, true) {
            self.transmitter.open(self.now, self.out);
        }
        self.transmitter.write(bytes, self.now, self.out);
    }

    /// The bytes of the other end that have been delivered so far.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.acknowledger.delivered_bytes()
    }

    /// Counts a transfer that began at `since` and is complete now, for the results of the flow that this end receives.
    pub fn complete_transfer(&mut self, since: Time) {
        if let Some(record) = self.acknowledger.record() {
            record.transfers += 1;
            record.transfer_time += self.now.since(since);
        }
    }
}
