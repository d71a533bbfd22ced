//! A client of the control socket: its lines in, its replies out, neither ever waited for.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use forebay_qdisc::Time;
use serde_json::Value;

/// A longer line is refused.
pub const MOST_LINE_BYTES: usize = 1 << 16;

/// A connection.
pub struct Client {
    /// Never waits.
    pub socket: UnixStream,
    /// When it asked last.
    pub heard_at: Time,
    input: Vec<u8>,
    output: Vec<u8>,
    ended: bool,
}

/// What a client has said.
pub enum Line {
    /// Nothing that is complete.
    None,
    /// A line.
    Is(String),
    /// More than a line may be.
    TooLong,
    /// It has gone, or will say nothing more.
    Ended,
}

impl Client {
    /// A new one.
    pub fn new(socket: UnixStream, now: Time) -> Self {
        Self { socket, heard_at: now, input: Vec::new(), output: Vec::new(), ended: false }
    }

    /// Whether it has taken its reply, before which it is not listened to.
    pub fn may_ask(&self) -> bool {
        self.output.is_empty()
    }

    /// The next line.
    pub fn line(&mut self) -> Line {
        loop {
            if let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
                if end > MOST_LINE_BYTES {
                    return Line::TooLong;
                }
                let line = self.input.drain(..=end).take(end).collect::<Vec<_>>();
                if line.trim_ascii().is_empty() {
                    continue;
                }
                return Line::Is(String::from_utf8_lossy(&line).into_owned());
            }
            if self.input.len() > MOST_LINE_BYTES {
                return Line::TooLong;
            }
            if self.ended {
                if self.input.is_empty() {
                    return Line::Ended;
                }
                // The last line needs no end.
                self.input.push(b'\n');
                continue;
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes) {
                Ok(0) => self.ended = true,
                Ok(count) => self.input.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Line::None,
                Err(_) => return Line::Ended,
            }
        }
    }

    /// Puts a reply behind those that it has not taken yet.
    pub fn reply(&mut self, reply: &Value) {
        self.output.extend_from_slice(reply.to_string().as_bytes());
        self.output.push(b'\n');
    }

    /// Writes what it takes. Returns whether it is still there.
    pub fn flush(&mut self) -> bool {
        while !self.output.is_empty() {
            match self.socket.write(&self.output) {
                Ok(0) => return false,
                Ok(written) => {
                    self.output.drain(..written);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        true
    }
}
