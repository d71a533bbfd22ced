//! A trace in memory.

use std::fmt;

use forebay_engine::TaskEvent;
use serde::de::{Deserialize, Deserializer, Error};

use super::read;
use crate::patterns::tasks::Dependency;

/// A trace whose messages have both ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    pub(super) ranks: u32,
    pub(super) operations: Vec<Operation>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) messages: Vec<TraceMessage>,
}

/// An operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Operation {
    pub rank: u32,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// The place of its message; the bytes and the tag as written.
    Send { message: u32, bytes: u64, tag: u32 },
    /// Likewise.
    Receive { message: u32, bytes: u64, tag: u32 },
    /// In nanoseconds.
    Compute { time_ns: u64, processor: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceMessage {
    pub ends: [u32; 2],
    pub bytes: u64,
}

impl Trace {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is wrong, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        read::trace(text)
    }

    /// The trace as lines, with labels of its own.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("num_ranks {}", self.ranks)];
        let mut by_rank: Vec<Vec<u32>> = vec![Vec::new(); self.ranks as usize];
        for (place, operation) in (0..).zip(&self.operations) {
            by_rank[operation.rank as usize].push(place);
        }
        let mut waiting: Vec<Vec<&Dependency>> = vec![Vec::new(); self.operations.len()];
        self.dependencies.iter().for_each(|it| waiting[it.task as usize].push(it));
        for (rank, places) in by_rank.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            lines.push(format!("rank {rank} {{"));
            lines.extend(places.iter().map(|&place| format!("l{place}: {}", self.operation(place))));
            for Dependency { task, on, event } in places.iter().flat_map(|&place| &waiting[place as usize]) {
                let word = if *event == TaskEvent::End { "requires" } else { "irequires" };
                lines.push(format!("l{task} {word} l{on}"));
            }
            lines.push("}".to_owned());
        }
        lines
    }

    fn operation(&self, place: u32) -> impl fmt::Display {
        let ends = |message: u32| self.messages[message as usize].ends;
        match self.operations[place as usize].kind {
            Kind::Send { message, bytes, tag } => format!("send {bytes}b to {} tag {tag}", ends(message)[1]),
            Kind::Receive { message, bytes, tag } => format!("recv {bytes}b from {} tag {tag}", ends(message)[0]),
            Kind::Compute { time_ns, processor } => format!("calc {time_ns} cpu {processor}"),
        }
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lines = Vec::<String>::deserialize(deserializer)?;
        Self::parse(&lines.join("\n")).map_err(D::Error::custom)
    }
}
