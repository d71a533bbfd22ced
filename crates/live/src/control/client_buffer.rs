//! A client of the control socket: its lines in, its replies out, neither ever waited for.

use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::os::unix::net::UnixStream;

use forebay_qdisc::Time;
use serde_json::Value;

/// A longer line is refused.
pub const MOST_LINE_BYTES: usize = 1 << 16;

/// A connection.
pub struct Client {
    /// Never waits.
    pub socket: UnixStream,
    /// The time of its last request.
    pub heard_at: Time,
    input: Vec<u8>,
    output: Vec<u8>,
    ended: bool,
}

/// The input of a client.
pub enum Line {
    /// Nothing that is complete.
    None,
    /// A line.
    Is(String),
    /// More than a line may be.
    TooLong,
    /// The client has gone or has closed its side.
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

    /// Whether a whole line, or the end, was read already: waiting for the socket would be in vain.
    pub fn has_line(&self) -> bool {
        self.ended || self.input.len() > MOST_LINE_BYTES || self.input.contains(&b'\n')
    }

    /// The next line. Reads from the socket at most once, so that a client which never stops sending does not keep
    /// the thread from the others.
    pub fn line(&mut self) -> Line {
        self.skip_blank();
        if !self.has_line() {
            match self.read() {
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(_) => return Line::Ended,
                Ok(count) => {
                    self.ended = count == 0;
                    self.skip_blank();
                }
            }
        }
        let end = self.input.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.input.len()) > MOST_LINE_BYTES {
            return Line::TooLong;
        }
        let line: Vec<u8> = match end {
            Some(end) => self.input.drain(..=end).take(end).collect(),
            None if !self.ended => return Line::None,
            None if self.input.is_empty() => return Line::Ended,
            // The last line needs no end.
            None => mem::take(&mut self.input),
        };
        Line::Is(String::from_utf8_lossy(&line).into_owned())
    }

    fn read(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 4096];
        let count = self.socket.read(&mut bytes)?;
        self.input.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    /// Removes the blank lines at the front at once, except one that is too long.
    fn skip_blank(&mut self) {
        let blank = self.input.iter().take(MOST_LINE_BYTES).take_while(|byte| byte.is_ascii_whitespace()).count();
        if let Some(last) = self.input[..blank].iter().rposition(|&byte| byte == b'\n') {
            self.input.drain(..=last);
        }
        if self.ended && self.input.trim_ascii().is_empty() {
            self.input.clear();
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
