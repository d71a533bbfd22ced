//! Request/response over one TCP connection: the client asks, the server answers, the client thinks.
//!
//! Each end sends on one flow and receives on the other. The handshake is that of the request's half.

use forebay_qdisc::{Span, Time};
use rand_pcg::Pcg64Mcg;

use crate::host::endpoint::Endpoint;
use crate::host::outbox::Outbox;
use crate::host::tcp::{Acknowledger, Transmitter};
use crate::observe::report::Report;
use crate::packet::Packet;
use crate::spec::Distribution;

pub(crate) enum Role {
    Client(Client),
    Server,
}

pub(crate) struct Client {
    /// Time between a response and the next request, in picoseconds.
    pub think: Distribution,
    pub think_rng: Pcg64Mcg,
    /// No request after this time.
    pub stop: Time,
    /// The time of the request that is being answered.
    pub asked: Option<Time>,
}

pub(crate) struct Conversation {
    pub transmitter: Transmitter,
    pub acknowledger: Acknowledger,
    pub role: Role,
    pub request_bytes: u64,
    /// Size of a response in bytes. Client and server draw it from equal streams.
    pub response: Distribution,
    pub response_rng: Pcg64Mcg,
    /// Bytes delivered when the current message of the other side is complete.
    pub expected: u64,
    /// The time of the client's next request.
    pub app_due: Time,
    opened: bool,
}

pub(crate) struct ConversationParts {
    pub transmitter: Transmitter,
    pub acknowledger: Acknowledger,
    pub role: Role,
    pub request_bytes: u64,
    pub response: Distribution,
    pub response_rng: Pcg64Mcg,
    /// The time of the client's first request; [`Time::NEVER`] for the server.
    pub start: Time,
}

impl Conversation {
    pub fn new(parts: ConversationParts) -> Self {
        let ConversationParts { transmitter, acknowledger, role, request_bytes, response, response_rng, start } = parts;
        let expected = if matches!(role, Role::Server) { request_bytes } else { 0 };
        Self {
            transmitter,
            acknowledger,
            role,
            request_bytes,
            response,
            response_rng,
            expected,
            app_due: start,
            opened: false,
        }
    }

    fn deadline(&self) -> Time {
        self.app_due.min(self.transmitter.deadline()).min(self.acknowledger.deadline())
    }

    fn advance(&mut self, now: Time, out: &mut Outbox<'_>) {
        loop {
            let deadline = self.deadline();
            self.transmitter.check(deadline.min(now));
            self.acknowledger.check(deadline.min(now));
            if deadline > now {
                return;
            }
            if self.app_due <= deadline {
                self.ask(deadline, out);
            } else if self.transmitter.deadline() <= deadline {
                self.transmitter.expire(deadline, out);
            } else {
                self.acknowledger.expire(deadline, out);
            }
        }
    }

    fn write(&mut self, bytes: u64, now: Time, out: &mut Outbox<'_>) {
        if !self.opened {
            self.opened = true;
            self.transmitter.open(now, out);
        }
        self.transmitter.write(bytes, now, out);
    }

    fn ask(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.app_due = Time::NEVER;
        let Role::Client(client) = &mut self.role else { return };
        if now >= client.stop {
            return;
        }
        client.asked = Some(now);
        self.expected += self.response.draw_count(&mut self.response_rng);
        self.write(self.request_bytes, now, out);
    }

    /// Answers a whole request, thinks about a whole response.
    fn on_delivery(&mut self, now: Time, out: &mut Outbox<'_>) {
        while self.acknowledger.delivered_bytes() >= self.expected {
            match &mut self.role {
                Role::Server => {
                    self.expected += self.request_bytes;
                    let bytes = self.response.draw_count(&mut self.response_rng);
                    self.write(bytes, now, out);
                }
                Role::Client(client) => {
                    let Some(asked) = client.asked.take() else { return };
                    if let Some(record) = self.acknowledger.record() {
                        record.transfers += 1;
                        record.transfer_time += now.since(asked);
                    }
                    let think: Span = client.think.draw_span(&mut client.think_rng);
                    self.app_due = now.saturating_add(think);
                    return;
                }
            }
        }
    }
}

impl Endpoint for Conversation {
    fn next(&self) -> Time {
        self.deadline()
    }

    fn receive(&mut self, packet: &Packet, out: &mut Outbox<'_>) {
        let now = packet.time;
        self.advance(now, out);
        if packet.is_ack() {
            self.transmitter.receive(packet, out);
        } else {
            self.acknowledger.receive(packet, out);
            self.on_delivery(now, out);
        }
    }

    fn expire(&mut self, now: Time, out: &mut Outbox<'_>) {
        self.advance(now, out);
    }

    fn finish(&mut self, end: Time, report: &mut Report) {
        self.transmitter.finish(end, report);
        self.acknowledger.finish(end, report);
    }
}
