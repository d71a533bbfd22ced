//! Requests and responses, with pauses: the user sends a request, the server responds, the user thinks.

use forebay_document::Path;
use forebay_engine::{Application, ApplicationKind, Distribution, Role, Socket};
use forebay_qdisc::Time;
use forebay_units::Bytes;
use rand_pcg::Pcg64Mcg;
use schemars::JsonSchema;

use super::BothWays;
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{DAY, Validity, check_span, check_transfer};

/// Repeated over one connection: the user sends a request, the server responds, the user thinks.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Payload bytes of a request.
    pub request: Bytes,
    /// Payload bytes of a response; drawn each time.
    pub response: SizeDistribution,
    /// Time from the end of a response to the next request; drawn each time.
    #[serde(default)]
    pub think: SpanDistribution,
}

impl BothWays for RequestResponse {
    fn check(&self, at: &Path) -> Validity {
        check_transfer(&SizeDistribution::Constant(self.request), &at.key("request"))?;
        check_transfer(&self.response, &at.key("response"))?;
        check_span(&self.think, DAY, &at.key("think"))
    }

    fn message_bytes(&self) -> u64 {
        self.response.mean().0
    }
}

impl ApplicationKind for RequestResponse {
    fn end(&self, role: Role, stream: &dyn Fn(&str) -> Pcg64Mcg, stop: Time) -> Box<dyn Application> {
        let (response, rng) = (self.response.bytes(), stream("response"));
        match role {
            Role::Client => Box::new(Client {
                request_bytes: self.request.0,
                response,
                rng,
                think: self.think.picoseconds(),
                think_rng: stream("think"),
                stop,
                expected: 0,
                asked: None,
                next: Time::NEVER,
            }),
            Role::Server => Box::new(Server { request_bytes: self.request.0, response, rng, expected: self.request.0 }),
        }
    }
}

struct Client {
    request_bytes: u64,
    /// Size of a response in bytes. Client and server draw it from equal streams.
    response: Distribution,
    rng: Pcg64Mcg,
    /// In picoseconds.
    think: Distribution,
    think_rng: Pcg64Mcg,
    /// No request after this time.
    stop: Time,
    /// Bytes delivered when the response is complete.
    expected: u64,
    /// The time of the request that is being answered.
    asked: Option<Time>,
    /// The time of the next request.
    next: Time,
}

impl Application for Client {
    fn on_start(&mut self, socket: &mut Socket<'_, '_>) {
        self.on_timer(socket);
    }

    fn on_timer(&mut self, socket: &mut Socket<'_, '_>) {
        self.next = Time::NEVER;
        if socket.now() < self.stop {
            self.asked = Some(socket.now());
            self.expected += self.response.draw_count(&mut self.rng);
            socket.write(self.request_bytes);
        }
    }

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        if socket.delivered_bytes() >= self.expected
            && let Some(asked) = self.asked.take()
        {
            socket.complete_transfer(asked);
            self.next = socket.now().saturating_add(self.think.draw_span(&mut self.think_rng));
        }
    }

    fn next(&self) -> Time {
        self.next
    }
}

struct Server {
    request_bytes: u64,
    response: Distribution,
    rng: Pcg64Mcg,
    /// Bytes delivered when the request is complete.
    expected: u64,
}

impl Application for Server {
    fn on_start(&mut self, _socket: &mut Socket<'_, '_>) {}

    fn on_delivered(&mut self, socket: &mut Socket<'_, '_>) {
        while socket.delivered_bytes() >= self.expected {
            self.expected += self.request_bytes;
            let bytes = self.response.draw_count(&mut self.rng);
            socket.write(bytes);
        }
    }
}
