//! Traces in the text format of GOAL, the language of LogGOPSim and ATLAHS: for each rank its messages and
//! computations, and which wait for which.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 500 cpu 0
//! l2: send 4096b to 1 tag 7
//! l2 requires l1
//! }
//! rank 1 {
//! l1: recv 4096b from 0 tag 7
//! }
//! ```
//!
//! `requires` waits for the end of an operation, `irequires` for its start. Simulators of GOAL have costs of their own
//! for a message, the overhead and the gap of the LogGP model; here the network and the transport take their time. A
//! send ends when the message is acknowledged. The n-th send to a rank with a tag belongs to the n-th receive there
//! from this rank with the tag, in the order of the file.

mod read;
mod trace;

use forebay_document::{Invalid, Node, Path};
use forebay_qdisc::Time;
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;

use super::files;
use super::seam::{Message, Setting, TrafficPattern, Whole};
use super::tasks::{Action, Tasks};
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{Validity, check_transfer, require};
pub use trace::Trace;
use trace::{Kind, Operation, TraceMessage};

/// A trace in the text format of GOAL: messages and computations of ranks, and which wait for which. Rank n, from 0, is
/// host n of `hosts`, or else of the topology. A host does one computation at a time on each of its processors (`cpu`).
/// A send ends when the message is acknowledged, a receive when all of it has arrived. A message of 0 bytes is sent as
/// one byte.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// The file, relative to the scenario. `lines` take its place when the scenario is read.
    #[serde(default)]
    pub file: Option<String>,
    /// The lines of the trace.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub lines: Trace,
}

/// Replaces the name of each file of a trace by its lines; see [`files::inline`].
pub(crate) fn inline(root: &mut Node, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Invalid> {
    files::inline(root, "goal", "trace in the GOAL format", read, &|node, text| {
        let lines = Trace::parse(text)?.lines().into_iter().map(|line| node.with_text(line));
        Ok(node.table_of([("lines", node.list_of(lines))]))
    })
}

impl TrafficPattern for Goal {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        let (ranks, hosts) = (self.lines.ranks, setting.hosts.len());
        let none = || "a trace without operations".to_owned();
        require(!self.lines.operations.is_empty(), || at.key("lines"), none, "expected `file`, or `lines`")?;
        let message = || format!("the trace has {ranks} ranks, and there are {hosts} hosts");
        require(ranks as usize <= hosts, || at.key("lines"), message, "expected at most one for each host")?;
        let none = || "a trace without messages".to_owned();
        require(!self.lines.messages.is_empty(), || at.key("lines"), none, "expected `send` and `recv`")?;
        let is_constant = matches!(setting.start, SpanDistribution::Constant(_));
        let message = || "`start` is drawn, and all ranks of a trace start together".to_owned();
        require(is_constant, || group.key("start"), message, "expected one time")?;
        for message in &self.lines.messages {
            check_transfer(&SizeDistribution::Constant(Bytes(message.bytes)), &at.key("lines"))?;
        }
        setting.needs_no_stop("goal", group)
    }

    fn count(&self, _: &Setting<'_>) -> f64 {
        self.lines.messages.len() as f64
    }

    fn size(&self) -> Option<&SizeDistribution> {
        None
    }

    fn messages(&self, _: &Setting<'_>, _: u64) -> Vec<Message> {
        let message = |&TraceMessage { ends, bytes }: &TraceMessage| Message {
            start: Time::NEVER,
            ends: ends.map(|rank| rank as usize),
            bytes,
        };
        self.lines.messages.iter().map(message).collect()
    }

    fn waits_for_messages(&self) -> bool {
        true
    }

    fn tasks(&self, setting: &Setting<'_>, _: u64) -> Tasks {
        let mut tasks = Tasks { dependencies: self.lines.dependencies.clone(), ..Tasks::default() };
        for &Operation { rank, kind } in &self.lines.operations {
            let action = match kind {
                Kind::Send { message, .. } => Action::Send(message),
                Kind::Receive { message, .. } => Action::Receive(message),
                Kind::Compute { time_ns, processor } => {
                    Action::Compute { time: Span::from_nanoseconds(time_ns), processor }
                }
            };
            tasks.add(rank as usize, action, setting.begin());
        }
        tasks
    }

    fn whole(&self, _: &Setting<'_>) -> Option<Whole> {
        Some(Whole {
            operation: "goal",
            algorithm: "",
            hosts: self.lines.ranks as usize,
            bytes: None,
            repeat: 1,
            bus_factor: f64::NAN,
        })
    }
}

#[cfg(test)]
#[path = "goal_tests.rs"]
mod tests;
