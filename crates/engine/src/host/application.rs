//! Applications at the ends of TCP connections that carry data both ways.

use std::fmt;
use std::sync::Arc;

use forebay_qdisc::Time;
use rand_pcg::Pcg64Mcg;

use crate::host::connection::End;
use crate::host::outbox::Outbox;
use crate::observe::interval::Checkpoint;
use crate::observe::outcomes::Outcome;

/// An application at one end of a connection, or of several between the same hosts.
///
/// It acts when the flow starts, when the other end's bytes arrive, and at times of its own.
pub trait Application: Send {
    /// The flow starts. Called at the client only, which opens each connection with its first bytes.
    fn on_start(&mut self, socket: &mut Socket<'_, '_>);

    /// Bytes of the other end have been delivered, in their order, by the connection of the socket.
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

/// The end of its connections at which an application is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The end that opens the connections: the flow's destination.
    Client,
    /// The flow's source.
    Server,
}

/// A kind of application with its parameters: makes the two applications of each flow.
pub trait ApplicationKind: fmt::Debug + Send + Sync {
    /// The application of one end. `stream` is the flow's random stream of a name; both ends can have equal ones. The
    /// client starts nothing after `stop`.
    fn end(&self, role: Role, stream: &dyn Fn(&str) -> Pcg64Mcg, stop: Time) -> Box<dyn Application>;

    /// The most connections that the client opens, at least 1. Each takes memory even if it is never opened.
    fn connections(&self) -> u32 {
        1
    }

    /// Whether the server withdraws bytes.
    fn withdraws(&self) -> bool {
        false
    }
}

/// A shared [`ApplicationKind`]; equal if it is the same one.
#[derive(Clone, Debug)]
pub struct SharedKind(pub Arc<dyn ApplicationKind>);

impl PartialEq for SharedKind {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// An application's view of its connections: of one at a time.
pub struct Socket<'a, 'b> {
    pub(crate) now: Time,
    pub(crate) ends: &'a mut [End],
    pub(crate) connection: usize,
    pub(crate) out: &'a mut Outbox<'b>,
}

impl Socket<'_, '_> {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of the connection, from 0: at first the one that delivered bytes, or 0 if the application acts by
    /// itself.
    #[must_use]
    pub fn connection(&self) -> usize {
        self.connection
    }

    /// Turns to the connection of this number, which is below [`ApplicationKind::connections`].
    pub fn turn_to(&mut self, connection: usize) {
        self.connection = connection;
    }

    /// Sends bytes to the other end; the first ones open the connection.
    pub fn write(&mut self, bytes: u64) {
        self.ends[self.connection].write(bytes, self.now, self.out);
    }

    /// Takes back the bytes that the server has written and that were never sent, if [`ApplicationKind::withdraws`].
    pub fn withdraw(&mut self) {
        self.ends[self.connection].withdraw();
    }

    /// The bytes of the other end that the connection has delivered so far. Withdrawn ones count as delivered when the
    /// first byte after them is.
    #[must_use]
    pub fn delivered_bytes(&self) -> u64 {
        self.ends[self.connection].delivered_bytes()
    }

    /// Counts a transfer that began at `since` and is complete now, for the results of the flow that this end receives.
    pub fn complete_transfer(&mut self, since: Time) {
        self.ends[self.connection].complete_transfer(since, self.now);
    }
}
