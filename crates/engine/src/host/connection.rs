//! The ends of the TCP connections that carry data both ways between two hosts, with the application there. Most
//! applications have one connection.
//!
//! Each end sends on one flow and receives on the other. The handshake is that of the client's half.

use std::sync::Arc;

use forebay_qdisc::Time;

use crate::host::application::{Application, Socket};
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{Acknowledger, Transmitter};
use crate::host::withdrawals::Withdrawals;
use crate::observe::flow_counters::EndpointContext;
use crate::observe::interval::Checkpoints;
use crate::observe::report::Report;
use crate::observe::so_far::Show;
use crate::packet::{FlowId, Packet};

/// An end of one connection.
pub(crate) struct End {
    transmitter: Transmitter,
    acknowledger: Acknowledger,
    opened: bool,
    withdrawals: Option<Arc<Withdrawals>>,
    /// Bytes that the other end withdrew before the last one that was delivered.
    skipped_bytes: u64,
}

impl End {
    /// The server can withdraw bytes if both ends have `withdrawals`.
    pub fn new(transmitter: Transmitter, acknowledger: Acknowledger, withdrawals: Option<Arc<Withdrawals>>) -> Self {
        Self { transmitter, acknowledger, opened: false, withdrawals, skipped_bytes: 0 }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.transmitter.deadline().min(self.acknowledger.deadline())
    }

    /// When it acts by itself or passes a checkpoint.
    #[inline]
    fn due(&self) -> Time {
        self.deadline().min(self.transmitter.next_check).min(self.acknowledger.next_check)
    }

    fn check(&mut self, now: Time) {
        self.transmitter.check(now);
        self.acknowledger.check(now);
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        if self.transmitter.deadline() <= now {
            self.transmitter.expire(now, out);
        } else {
            self.acknowledger.expire(now, out);
        }
    }

    /// The first bytes open the connection.
    pub fn write(&mut self, bytes: u64, now: Time, out: &mut Outbox<'_>) {
        if !std::mem::replace(&mut self.opened, true) {
            self.transmitter.open(now, out);
        }
        self.transmitter.write(bytes, now, out);
    }

    pub fn withdraw(&mut self) {
        if let Some(withdrawals) = &self.withdrawals {
            withdrawals.add(self.transmitter.withdraw());
        }
    }

    pub fn delivered_bytes(&self) -> u64 {
        self.acknowledger.delivered_bytes() + self.skipped_bytes
    }

    /// Takes a segment of the other end.
    fn take_data(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        self.acknowledger.receive(packet, out);
        if let Some(withdrawals) = &self.withdrawals {
            self.skipped_bytes += withdrawals.take_before(self.acknowledger.delivered_bytes());
        }
    }

    pub fn complete_transfer(&mut self, since: Time, now: Time) {
        if let Some(record) = self.acknowledger.record() {
            record.transfers += 1;
            record.transfer_time += now.since(since);
        }
    }
}

/// The ends of all connections of an application at one host.
///
/// Of `n` connections, the responses are the `n` flows from the first one on, and the requests the `n` flows after
/// them.
pub(crate) struct Connections {
    ends: Box<[End]>,
    application: Box<dyn Application>,
    /// When the application starts; [`Time::NEVER`] afterwards, and at the server.
    start: Time,
    /// Those that the application passes.
    checkpoints: Checkpoints,
    /// The first flow, whose row the application's outcome has.
    flow: FlowId,
}

impl Connections {
    /// `ends` has at least one.
    pub fn new(ends: Box<[End]>, application: Box<dyn Application>, start: Time, context: EndpointContext) -> Self {
        let EndpointContext { checkpoints, flow, .. } = context;
        Self { ends, application, start, checkpoints, flow }
    }

    /// When the application acts by itself.
    fn app_due(&self) -> Time {
        self.start.min(self.application.next())
    }

    fn deadline(&self) -> Time {
        self.ends.iter().fold(self.app_due(), |deadline, end| deadline.min(end.deadline()))
    }

    /// The number of the connection that a flow belongs to.
    fn of_flow(&self, flow: FlowId) -> usize {
        let number = (flow - self.flow) as usize;
        if number < self.ends.len() { number } else { number - self.ends.len() }
    }

    /// Passes checkpoints and does what is due up to `now`.
    #[cold]
    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.deadline();
            self.ends.iter_mut().for_each(|end| end.check(deadline.min(now)));
            self.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.start <= deadline {
                self.start = Time::NEVER;
                self.call(0, deadline, out, |application, socket| application.on_start(socket));
            } else if self.application.next() <= deadline {
                self.call(0, deadline, out, |application, socket| application.on_timer(socket));
            } else if let Some(end) = self.ends.iter_mut().find(|end| end.deadline() <= deadline) {
                end.expire(deadline, out);
            }
        }
    }

    fn check(&mut self, now: Time) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.application.check(at, due);
        }
    }

    /// Calls the application with the socket of this connection.
    fn call(
        &mut self,
        connection: usize,
        now: Time,
        out: &mut Outbox<'_>,
        of: impl FnOnce(&mut dyn Application, &mut Socket<'_, '_>),
    ) {
        let Self { ends, application, .. } = self;
        of(&mut **application, &mut Socket { now, ends, connection, out });
    }
}

impl Endpoint for Connections {
    fn next(&self) -> Time {
        self.deadline()
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        let own_due = self.app_due().min(self.checkpoints.next());
        if self.ends.iter().fold(own_due, |due, end| due.min(end.due())) <= now {
            self.advance(now, out);
        }
        let connection = self.of_flow(packet.flow_id());
        let end = &mut self.ends[connection];
        if packet.is_ack() {
            return end.transmitter.receive(packet, out);
        }
        let before = end.delivered_bytes();
        end.take_data(packet, out);
        if end.delivered_bytes() > before {
            self.call(connection, now, out, |application, socket| application.on_delivered(socket));
        }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn show(&self, show: &mut Show<'_>) {
        // The series of several are sums, which are made at the end.
        if let [only] = &*self.ends {
            only.transmitter.show(show);
            only.acknowledger.show(show);
        }
    }

    fn finish(&mut self, end_of_run: Time, report: &mut Report) {
        if let [first, others @ ..] = &mut *self.ends {
            let (mut sent, mut received) =
                (first.transmitter.counters(end_of_run), first.acknowledger.counters(end_of_run));
            for end in others {
                sent.add(&end.transmitter.counters(end_of_run));
                received.add(&end.acknowledger.counters(end_of_run));
            }
            report.sender(first.transmitter.flow(), sent);
            report.receiver(first.acknowledger.flow(), received);
        }
        self.check(end_of_run);
        if let Some(outcome) = self.application.outcome(end_of_run) {
            report.outcome(self.flow, outcome);
        }
    }
}
