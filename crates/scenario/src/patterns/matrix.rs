//! The connections of a file, in the format of htsim's connection matrices.
//!
//! The first lines have the numbers of nodes, connections and triggers: `Nodes 16`, `Connections 2`. A connection has a
//! line, `0->13 id 1 start 40 size 250000`: its ends, from 0, its start in microseconds and its bytes. Lines that begin
//! with `#` are comments. htsim reads whole microseconds; here they may have decimals.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use forebay_document::{Invalid, Node, Path};
use forebay_qdisc::Time;
use forebay_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::{Message, Setting, TrafficPattern};
use crate::schema::{SizeDistribution, SpanDistribution};
use crate::validate::check::{LONGEST_RUN, Validity, check_transfer, require};

/// The connections of a file, in the format of htsim's connection matrices (`.cm`). Node n of the file, from 0, is host
/// n of `hosts`, or else of the topology. Starts count from `start` of the group. Connections that another one triggers
/// are not supported yet.
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
}

/// A connection of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Connection {
    /// Numbers of the nodes that send and that receive.
    pub ends: [u32; 2],
    /// Its start in microseconds.
    pub start_us: f64,
    /// Payload.
    pub bytes: u64,
    /// Its number in the file, if it has one.
    pub id: Option<u64>,
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ends: [from, to], start_us, bytes, .. } = self;
        write!(f, "{from}->{to} start {start_us} size {bytes}")
    }
}

impl std::str::FromStr for Connection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let ends = words.next().and_then(|ends| ends.split_once("->"));
        let ends = ends.and_then(|(from, to)| Some([from.parse().ok()?, to.parse().ok()?]));
        let ends: [u32; 2] = ends.ok_or("expected a connection, such as `0->13 start 0 size 2000000`")?;
        if ends[0] == ends[1] {
            return Err(format!("node {} would send to itself", ends[0]));
        }
        let (mut start_us, mut bytes, mut id) = (None, None, None);
        while let Some(word) = words.next() {
            let mut number = |what: &str| words.next().ok_or_else(|| format!("`{word}` needs {what}"));
            match word {
                "id" => id = Some(whole(word, number("a number")?)?),
                "size" => bytes = Some(whole(word, number("a number of bytes")?)?),
                "start" => {
                    let text = number("a time in microseconds")?;
                    let time =
                        text.parse().ok().filter(|time: &f64| (0.0..=LONGEST_RUN.seconds() * 1e6).contains(time));
                    start_us = Some(time.ok_or_else(|| format!("`start {text}` is no time in microseconds"))?);
                }
                "trigger" | "send_done_trigger" | "recv_done_trigger" => {
                    return Err("it depends on another connection, and triggers are not supported yet".to_owned());
                }
                "msg" => return Err("messages that share a connection are not supported yet".to_owned()),
                _ => return Err(format!("unknown word `{word}`: expected `id`, `start` or `size`")),
            }
        }
        let start_us = start_us.ok_or("`start` is missing: a time in microseconds")?;
        let bytes = bytes.filter(|bytes| *bytes > 0).ok_or("`size` is missing: at least a byte")?;
        Ok(Self { ends, start_us, bytes, id })
    }
}

fn whole(word: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{word} {text}` is no whole number"))
}

impl Matrix {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first line that is wrong, with the reason.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut nodes, mut count) = (None, None);
        let (mut connections, mut ids) = (Vec::new(), BTreeSet::new());
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
                Some("Triggers") if header()? > 0 => return Err(fault("triggers are not supported yet".to_owned())),
                Some("Triggers") => {}
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
                }
            }
        }
        let nodes = nodes.ok_or("`Nodes` is missing: a line with their number")?;
        let (count, number) = count.ok_or("`Connections` is missing: a line with their number")?;
        if count as usize != connections.len() {
            return Err(format!("line {number} has {count} connections, and {} follow", connections.len()));
        }
        Ok(Self { file: None, nodes, connections })
    }
}

/// Replaces the name of each file of a matrix by its connections, so that a scenario needs no other file from then on.
/// `read` returns the text of the file of that name, or the reason why it cannot be read.
///
/// # Errors
/// A file that cannot be read, or is no matrix.
pub(crate) fn inline(root: &mut Node, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Invalid> {
    let Some(flows) = root.at_mut(&["flows"]) else { return Ok(()) };
    for (index, group) in flows.elements_mut().enumerate() {
        let Some(matrix) = group.at_mut(&["pattern", "matrix"]) else { continue };
        let Some(name) = matrix.text("file").map(str::to_owned) else { continue };
        let path = || Path::default().key("flows").index(index).key("pattern.matrix.file");
        let text = read(&name).map_err(|error| {
            let label = "expected a file, relative to the folder of the scenario";
            Invalid::new(path(), format!("cannot read `{name}`: {error}"), label)
        })?;
        let read = Matrix::parse(&text).map_err(|reason| {
            Invalid::new(path(), format!("`{name}` is no connection matrix: {reason}"), "this file")
        })?;
        let nodes = matrix.with_integer(read.nodes.into());
        let connections = read.connections.iter().map(|connection| matrix.with_text(connection.to_string()));
        *matrix = matrix.table_of([("nodes", nodes), ("connections", matrix.list_of(connections))]);
    }
    Ok(())
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
            require(self.start(setting, connection) < setting.end(), path, message, label)?;
        }
        Ok(())
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
        self.connections.iter().map(message).collect()
    }
}

impl Matrix {
    fn start(&self, setting: &Setting<'_>, connection: &Connection) -> Time {
        setting.begin().saturating_add(Span::from_picoseconds((connection.start_us * 1e6).round() as u64))
    }
}

impl<'de> Deserialize<'de> for Connection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Connection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a connection such as \"0->13 start 0 size 2000000\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Connection, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Connection {
    fn schema_name() -> Cow<'static, str> {
        "Connection".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A connection of a matrix: \"0->13 start 0 size 2000000\".",
            "type": "string",
            "pattern": "^[0-9]+->[0-9]+ ",
        })
    }
}
