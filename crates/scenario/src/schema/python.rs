//! A discipline of your own, written in Python: decides in the simulator as the built-in ones do.
//!
//! # What it does
//! Hands packets to a Python class: a subclass of `forebay.AdmissionLaw`, which lets a packet in, marks it or drops it
//! on arrival, in front of one FIFO queue; or of `forebay.QueueDiscipline`, which says as well which packet leaves
//! next.
//! Integers cross the border, not objects: the time in picoseconds, a packet's number, flow and length, the queue in
//! packets and bytes. A method names the arguments that it wants, and gets only these. Each queue has an instance of
//! its own, with the dice of its own place in the scenario.
//!
//! A scenario file that names Python code is run only with `--allow-python`, or `allow_python=True`. The module is
//! looked for in the folder of the file, then where Python looks for modules.
//!
//! # Source
//! Your own. `docs/guide/python-disciplines.md` builds RED step by step and checks it against the built-in one: same
//! dice, same drops, same digest.
//!
//! # Where we differ
//! - An exception, a verdict that there is not, or the number of a packet that is not queued ends the run with an error
//!   that names packet, time and flow. What happened up to then is accounted for as ever.
//! - Calls to different queues do not come in the order of time: a port may run ahead of another where the results are
//!   the same. What instances share by other ways than packets has no defined order.
//! - Logarithms, powers and exponentials of Python's `math` are the platform's. Those of `forebay.portable` have the
//!   same bits everywhere.
//!
//! # Cost
//! That of a Python call for each decision, a few hundred nanoseconds, and of whatever the method does. Only one such
//! run at a time makes progress within a process; commands that run many start processes.
//!
//! # Parameters
//! See [`PythonQueue`]. The bare text, `queue.python = "module:Class"`, stands for a class without parameters.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// A class written in Python, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonQueue {
    /// Where the class is: `"module:Class"`.
    pub class: String,
    /// What its constructor is called with, by name.
    pub parameters: Map<String, Value>,
}

/// The table, whose form is what the schema shows.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Where the class is: `"module:Class"`.
    #[schemars(regex(pattern = r"^[\w.]+:[\w.]+$"))]
    class: String,
    /// What its constructor is called with, by name. Default: nothing.
    #[serde(default)]
    parameters: Map<String, Value>,
}

impl PythonQueue {
    fn new<E: Error>(class: String, parameters: Map<String, Value>) -> Result<Self, E> {
        let is_path =
            |text: &str| !text.is_empty() && text.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
        match class.split_once(':') {
            Some((module, name)) if is_path(module) && is_path(name) => Ok(Self { class, parameters }),
            _ => Err(Error::custom(format!("`{class}` is no class: write \"module:Class\""))),
        }
    }
}

impl<'de> serde::Deserialize<'de> for PythonQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = PythonQueue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"module:Class\", or a table with `class` and `parameters`")
            }

            fn visit_str<E: Error>(self, class: &str) -> Result<PythonQueue, E> {
                PythonQueue::new(class.to_owned(), Map::new())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PythonQueue, A::Error> {
                let Table { class, parameters } = serde::Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                PythonQueue::new(class, parameters)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

impl JsonSchema for PythonQueue {
    fn schema_name() -> Cow<'static, str> {
        "PythonQueue".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut table = Table::json_schema(generator);
        table.insert("description".into(), "A class written in Python, with its parameters.".into());
        json_schema!({
            "description": "A class written in Python, alone or with its parameters.",
            "oneOf": [{ "type": "string", "pattern": r"^[\w.]+:[\w.]+$" }, table],
        })
    }
}

/// The schema of the table alone, whose keys the manual lists.
pub(super) struct Parameters;

impl JsonSchema for Parameters {
    fn schema_name() -> Cow<'static, str> {
        Table::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Table::json_schema(generator)
    }
}
