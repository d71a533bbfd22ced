//! An end of a TCP connection that carries data both ways, with the application there.
//!
//! Each end sends on one flow and receives on the other. The handshake is that of the client's half.

use forebay_qdisc::Time;

use crate::host::application::{Application, Socket};
use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{Acknowledger, Transmitter};
use crate::observe::flow_counters::EndpointContext;
use crate::observe::interval::Checkpoints;
use crate::observe::report::Report;
use crate::packet::{FlowId, Packet};

pub(crate) struct Connection {
    transmitter: Transmitter,
    acknowledger: Acknowledger,
    application: Box<dyn Application>,
    /// When the application starts; [`Time::NEVER`] afterwards, and at the server.
    start: Time,
    opened: bool,
    /// Those that the application passes.
    checkpoints: Checkpoints,
    /// The flow whose row the application's outcome has.
    flow: FlowId,
}

impl Connection {
    pub fn new(
        transmitter: Transmitter,
        acknowledger: Acknowledger,
        application: Box<dyn Application>,
        start: Time,
        context: EndpointContext,
    ) -> Self {
        let EndpointContext { checkpoints, flow, .. } = context;
        Self { transmitter, acknowledger, application, start, opened: false, checkpoints, flow }
    }

    /// When the application acts by itself.
    fn app_due(&self) -> Time {
        self.start.min(self.application.next())
    }

    fn deadline(&self) -> Time {
        self.app_due().min(self.transmitter.deadline()).min(self.acknowledger.deadline())
    }

    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.deadline();
            self.transmitter.check(deadline.min(now));
            self.acknowledger.check(deadline.min(now));
            self.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.start <= deadline {
                self.start = Time::NEVER;
                self.call(deadline, out, |application, socket| application.on_start(socket));
            } else if self.application.next() <= deadline {
                self.call(deadline, out, |application, socket| application.on_timer(socket));
            } else if self.transmitter.deadline() <= deadline {
                self.transmitter.expire(deadline, out);
            } else {
                self.acknowledger.expire(deadline, out);
            }
        }
    }

    fn check(&mut self, now: Time) {
        while let Some((at, due)) = self.checkpoints.take(now) {
            self.application.check(at, due);
        }
    }

    fn call(&mut self, now: Time, out: &mut Outbox<'_>, of: impl FnOnce(&mut dyn Application, &mut Socket<'_, '_>)) {
        let Self { transmitter, acknowledger, application, opened, .. } = self;
        of(&mut **application, &mut Socket { now, transmitter, acknowledger, opened, out });
    }
}

impl Endpoint for Connection {
    fn next(&self) -> Time {
        self.deadline()
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.advance(now, out);
        if packet.is_ack() {
            return self.transmitter.receive(packet, out);
        }
        let before = self.acknowledger.delivered_bytes();
        self.acknowledger.receive(packet, out);
        if self.acknowledger.delivered_bytes() > before {
            self.call(now, out, |application, socket| application.on_delivered(socket));
        }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.transmitter.finish(end, report);
        self.acknowledger.finish(end, report);
        self.check(end);
        if let Some(outcome) = self.application.outcome(end) {
            report.outcome(self.flow, outcome);
        }
    }
}
