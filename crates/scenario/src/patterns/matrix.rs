//! The connections of a file, in the format of htsim's connection matrices.
//!
//! The first lines have the numbers of nodes, connections and triggers: `Nodes 16`, `Connections 2`. A connection has a
//! line, `0->13 id 1 start 40 size 250000`: its ends, from 0, its start in microseconds and its bytes. Lines that begin
//! with `#` are comments. htsim reads whole microseconds; here they may have decimals. Triggers, which start
//! connections when others are done, are in `triggers.rs`.

use std::collections::BTreeSet;

use forebay_document::{Invalid, Node, Path};
use forebay_qdisc::Time;
use forebay_units::{Bytes, Span};
use schemars::JsonSchema;

use super::connection::Connection;
use super::files;
use super::seam::{Message, Setting, TrafficPattern};
use super::tasks::{Action, Tasks};
use super::triggers::{self, Trigger, TriggerKind, Wait};
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{Validity, check_transfer, require};

/// The connections of a file, in the format of htsim's connection matrices (`.cm`). Node n of the file, from 0, is host
/// n of `hosts`, or else of the topology. Starts count from `start` of the group. A connection with a trigger starts
/// when the one that fires it is done, if it begins at one of its ends: a host sees only its own messages.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The file, relative to the scenario. The other keys take its place when the scenario is read.
    #[serde(default)]
    pub file: Option<String>,
    /// Number of nodes.
    #[serde(default)]
    pub nodes: u32,
    /// The connections: "0->13 start 40 size 250000", from node 0 to node 13 at 40 us with 250 000 bytes.
    #[serde(default)]
    pub connections: Vec<Connection>,
    /// Triggers of connections: "trigger id 1 barrier count 2". Those that are not here are fired once.
    #[serde(default)]
    pub triggers: Vec<Trigger>,
}

impl Matrix {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is wrong, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut nodes, mut count, mut trigger_count) = (None, None, None);
        let (mut connections, mut ids, mut lines) = (Vec::new(), BTreeSet::new(), Vec::new());
        let (mut triggers, mut declared) = (Vec::new(), BTreeSet::new());
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            let mut words = line.split_whitespace();
            let (first, second) = (words.next(), words.next());
            let fault = |reason: String| format!("line {number} is {line:?}: {reason}");
            let header = || {
                let value = second.and_then(|value| value.parse::<u32>().ok());
                value.ok_or_else(|| fault("expected a whole number".to_owned()))
            };
            match first {
                None => {}
                Some(word) if word.starts_with('#') => {}
                Some("Nodes") => nodes = Some(header()?),
                Some("Connections") => count = Some((header()?, number)),
                Some("Triggers") => trigger_count = Some((header()?, number)),
                Some("trigger") => {
                    let trigger: Trigger = line.parse().map_err(fault)?;
                    if !declared.insert(trigger.id) {
                        return Err(fault("another trigger has this `id`".to_owned()));
                    }
                    triggers.push(trigger);
                }
                Some(_) => {
                    let connection: Connection = line.parse().map_err(fault)?;
                    let nodes = nodes.ok_or_else(|| fault("expected `Nodes` first, with their number".to_owned()))?;
                    if let Some(node) = connection.ends.into_iter().find(|node| *node >= nodes) {
                        return Err(fault(format!(
                            "there is no node {node}: they are numbered from 0 to {}",
                            nodes - 1
                        )));
                    }
                    if connection.id.is_some_and(|id| !ids.insert(id)) {
                        return Err(fault("another connection has this `id`".to_owned()));
                    }
                    connections.push(connection);
                    lines.push((number, line));
                }
            }
        }
        let nodes = nodes.ok_or("`Nodes` is missing: a line with their number")?;
        let (count, number) = count.ok_or("`Connections` is missing: a line with their number")?;
        if count as usize != connections.len() {
            return Err(format!("line {number} has {count} connections, and {} follow", connections.len()));
        }
        if let Some((count, number)) = trigger_count
            && count as usize != triggers.len()
        {
            return Err(format!("line {number} has {count} triggers, and {} follow", triggers.len()));
        }
        let faulty =
            |(place, fault): (usize, String)| format!("line {} is {:?}: {fault}", lines[place].0, lines[place].1);
        for (place, connection) in connections.iter().enumerate() {
            let used = [connection.trigger, connection.send_done, connection.recv_done].into_iter().flatten();
            if let Some(unknown) = used.into_iter().find(|trigger| !declared.contains(trigger)) {
                let fault = format!("there is no trigger {unknown}: expected a line `trigger id {unknown} oneshot`");
                return Err(faulty((place, fault)));
            }
        }
        triggers::waits(&connections, &triggers).map_err(faulty)?;
        Ok(Self { file: None, nodes, connections, triggers })
    }

    /// Which connections wait for which. Validation has checked it.
    fn waits(&self) -> Vec<Wait> {
        triggers::waits(&self.connections, &self.triggers).unwrap_or_default()
    }
}

/// Replaces the name of each file of a matrix by its connections, so that a scenario needs no other file from then on.
/// `read` returns the text of the file of that name, or the reason why it cannot be read.
///
/// # Errors
/// A file that cannot be read, or is no matrix.
pub(crate) fn inline(root: &mut Node, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Invalid> {
    files::inline(root, "matrix", "connection matrix", read, &|node, text| {
        let Matrix { nodes, connections, triggers, .. } = Matrix::parse(text)?;
        let connections = connections.iter().map(|connection| node.with_text(connection.to_string()));
        // Those that are fired once need no line.
        let triggers = triggers.iter().filter(|trigger| trigger.kind != TriggerKind::OneShot);
        let triggers = triggers.map(|trigger| node.with_text(trigger.to_string()));
        Ok(node.table_of([
            ("nodes", node.with_integer(nodes.into())),
            ("connections", node.list_of(connections)),
            ("triggers", node.list_of(triggers)),
        ]))
    })
}

impl TrafficPattern for Matrix {
    fn check(&self, setting: &Setting<'_>, at: &Path, group: &Path) -> Validity {
        let hosts = setting.hosts.len();
        let nodes = || format!("the matrix has {} nodes, and there are {hosts} hosts", self.nodes);
        require(self.nodes as usize <= hosts, || at.key("nodes"), nodes, "expected at most one for each host")?;
        let none = || "a matrix without connections".to_owned();
        require(!self.connections.is_empty(), || at.key("connections"), none, "expected `file`, or `connections`")?;
        let is_constant = matches!(setting.start, SpanDistribution::Constant(_));
        let message = || "`start` is drawn, and a matrix has the start of each flow".to_owned();
        require(is_constant, || group.key("start"), message, "expected one time, from which the starts count")?;
        setting.needs_no_stop("matrix", group)?;
        for (index, connection) in self.connections.iter().enumerate() {
            let path = || at.key("connections").index(index);
            let node = connection.ends.into_iter().find(|node| *node >= self.nodes);
            let message = || format!("`{connection}` has a node that the matrix has not");
            require(node.is_none(), path, message, &format!("expected nodes from 0, and less than {}", self.nodes))?;
            check_transfer(&SizeDistribution::Constant(Bytes(connection.bytes)), &path())?;
            let message = || format!("`{connection}` starts after the end of the run");
            let label = "expected starts, in microseconds, within `duration`";
            let starts = connection.start_us.is_none() || self.start(setting, connection) < setting.end();
            require(starts, path, message, label)?;
        }
        let faulty = |(place, fault): (usize, String)| {
            let path = at.key("connections").index(place);
            Invalid::new(path, format!("`{}`: {fault}", self.connections[place]), "this connection")
        };
        triggers::waits(&self.connections, &self.triggers).map(|_| ()).map_err(faulty)
    }

    fn waits_for_messages(&self) -> bool {
        self.connections.iter().any(|connection| connection.trigger.is_some())
    }

    fn tasks(&self, setting: &Setting<'_>, _: u64) -> Tasks {
        triggers::tasks(&self.connections, &self.waits(), |connection| self.start(setting, connection))
    }

    fn count(&self, _: &Setting<'_>) -> f64 {
        self.connections.len() as f64
    }

    fn size(&self) -> Option<&SizeDistribution> {
        None
    }

    fn messages(&self, setting: &Setting<'_>, _: u64) -> Vec<Message> {
        let message = |connection: &Connection| Message {
            start: self.start(setting, connection),
            ends: connection.ends.map(|node| node as usize),
            bytes: connection.bytes,
        };
        let mut messages: Vec<Message> = self.connections.iter().map(message).collect();
        for task in self.tasks(setting, 0).all {
            if let Action::Send(message) = task.action {
                messages[message as usize].start = Time::NEVER;
            }
        }
        messages
    }
}

impl Matrix {
    /// The start of a connection; without one of its own, that of the group.
    fn start(&self, setting: &Setting<'_>, connection: &Connection) -> Time {
        let after_ps = (connection.start_us.unwrap_or(0.0) * 1e6).round();
        setting.begin().saturating_add(Span::from_picoseconds(after_ps as u64))
    }
}
