//! A command with its parameters.

use forebay_units::QueueSize;

use super::port::Port;

/// A qdisc with its parameters, and notes on what it does not have.
#[derive(Debug)]
pub(super) struct Qdisc {
    pub command: String,
    pub notes: Vec<String>,
}

impl Qdisc {
    pub fn new(kind: &str) -> Self {
        Self { command: kind.to_owned(), notes: Vec::new() }
    }

    pub fn with(mut self, parameter: &str, value: impl std::fmt::Display) -> Self {
        self.command += &format!(" {parameter} {value}");
        self
    }

    pub fn flag(mut self, flag: &str, given: bool) -> Self {
        if given {
            self.command += &format!(" {flag}");
        }
        self
    }

    pub fn note(self, text: impl Into<String>) -> Self {
        self.note_if(true, text)
    }

    pub fn note_if(mut self, applies: bool, text: impl Into<String>) -> Self {
        if applies {
            self.notes.push(text.into());
        }
        self
    }

    /// A limit of a queue that Linux counts in packets.
    pub fn packet_limit(self, limit: QueueSize, port: Port) -> Self {
        let packets = port.packets(limit);
        let text = format!("limit = \"{limit}\": Linux counts packets, here of {} B.", port.packet_bytes);
        self.with("limit", packets).note_if(matches!(limit, QueueSize::Bytes(_)), text)
    }
}
