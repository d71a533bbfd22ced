//! The connection of a scraper: one request in, one response out, never waited for.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use forebay_qdisc::{Span, Time};

use super::request::{MetricsRequest, parse_head};

/// The time limit of a request and its response.
const PATIENCE: Span = Span::from_seconds(2);

/// A connection.
pub struct Connection {
    /// Does not block.
    pub socket: TcpStream,
    /// The time at which it is closed in any state.
    pub until: Time,
    received: Vec<u8>,
    /// The response, and how much of it was written.
    response: Option<(Vec<u8>, usize)>,
}

impl Connection {
    /// A new one, whose request has not come yet.
    pub fn new(socket: TcpStream, now: Time) -> Self {
        Self { socket, until: now.saturating_add(PATIENCE), received: Vec::new(), response: None }
    }

    /// Whether its request has not come yet.
    pub const fn is_asking(&self) -> bool {
        self.response.is_none()
    }

    /// Reads and writes what is possible now. Returns whether the connection stays open.
    pub fn advance(&mut self, now: Time, respond: &mut dyn FnMut(MetricsRequest) -> String) -> bool {
        if self.response.is_none() {
            match self.read() {
                Ok(None) => return now < self.until,
                Ok(Some(request)) => {
                    self.response = Some((respond(request).into_bytes(), 0));
                    self.until = now.saturating_add(PATIENCE);
                }
                Err(()) => return false,
            }
        }
        self.write() && now < self.until
    }

    /// Reads once: a flood is read in the turns of this connection, not in those of the others.
    fn read(&mut self) -> Result<Option<MetricsRequest>, ()> {
        let mut bytes = [0; 2048];
        match self.socket.read(&mut bytes) {
            Ok(0) => Err(()),
            Ok(count) => {
                self.received.extend_from_slice(&bytes[..count]);
                Ok(parse_head(&self.received))
            }
            Err(error) if is_later(error.kind()) => Ok(None),
            Err(_) => Err(()),
        }
    }

    /// Writes what the other side takes. Returns whether some of it is left.
    fn write(&mut self) -> bool {
        let Some((response, written)) = &mut self.response else { return true };
        while *written < response.len() {
            match self.socket.write(&response[*written..]) {
                Ok(0) => return false,
                Ok(count) => *written += count,
                Err(error) => return is_later(error.kind()),
            }
        }
        false
    }
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
