//! What the parts of a network hand in when a run ends.

use forebay_qdisc::{Backlog, Span};

use crate::observe::queue_book::Books;
use crate::observe::queue_series::FlowGauges;
use crate::observe::texts::Texts;

/// What a queue hands in.
pub(crate) struct QueueReport<'a> {
    pub name: &'a str,
    pub books: &'a mut Books,
    /// What is queued at the end.
    pub backlog: Backlog,
    /// Whether the queued packets exist only in the queue; those of a law's port are in its lane already.
    pub holds_packets: bool,
    pub flow_gauges: &'a FlowGauges<'a>,
}

/// What is known of the flows beside their books.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowLabels {
    names: Texts,
    /// The name of a group and the kind of its flows; and of each flow, which of these it has.
    groups: Vec<(String, &'static str)>,
    group_of: Vec<u32>,
}

impl FlowLabels {
    /// Adds a flow. Those of a group come one after the other.
    pub fn push(&mut self, name: &str, group: &str, kind: &'static str) {
        self.names.push(name);
        // A conversation is two flows of two groups, in turn.
        let known = self.groups.iter().rev().take(2).position(|(other, of_kind)| other == group && *of_kind == kind);
        let place = known.map_or(self.groups.len(), |back| self.groups.len() - 1 - back);
        if known.is_none() {
            self.groups.push((group.to_owned(), kind));
        }
        self.group_of.push(place as u32);
    }

    pub fn len(&self) -> usize {
        self.group_of.len()
    }

    pub fn name(&self, flow: usize) -> &str {
        &self.names[flow]
    }

    pub fn group(&self, flow: usize) -> &str {
        &self.groups[self.group_of[flow] as usize].0
    }

    /// The names of all flows, and of each its group and its kind.
    pub fn into_columns(self) -> [Texts; 3] {
        let of_flows = || self.group_of.iter().map(|&group| &self.groups[group as usize]);
        let (groups, kinds) = (of_flows().map(|(name, _)| name).collect(), of_flows().map(|(_, kind)| kind).collect());
        [self.names, groups, kinds]
    }
}

/// What a port of an Ethernet switch or adapter hands in; all of the measured interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortReport {
    pub name: String,
    /// How long it was not to send, for PAUSE that came; with PAUSE by class, of all classes together.
    pub paused: Span,
    pub pause_frames_sent: u64,
    /// Control frames sent that began here, without PAUSE.
    pub control_frames_sent: u64,
    /// The most bytes held of what came by it.
    pub memory_max_bytes: u64,
    /// Frames that came by it and found no room.
    pub frames_lost: u64,
    /// Frames generated for which a virtual output queue had no room: they were never sent.
    pub source_drops: u64,
    /// Messages that asked for a rate limiter when there was none left.
    pub messages_ignored: u64,
}

impl PortReport {
    pub fn new(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// The memory for what came by the port holds this many bytes.
    #[inline]
    pub fn memory(&mut self, bytes: u64) {
        self.memory_max_bytes = self.memory_max_bytes.max(bytes);
    }

    /// The warm-up is over: what was counted so far does not count.
    pub fn begin_measurement(&mut self) {
        *self = Self::new(std::mem::take(&mut self.name));
    }
}

/// What a process knows of control frames, PAUSE among them, since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ControlCount {
    /// Sent, or put where they wait to be sent, by who made them.
    pub created: u64,
    /// Come to whom they were for.
    pub consumed: u64,
    /// For lack of room.
    pub lost: u64,
    /// On their way, in a buffer of the process at the end of the run.
    pub held: u64,
}
