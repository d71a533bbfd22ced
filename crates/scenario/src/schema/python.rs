//! A discipline of your own, written in Python: it runs in the simulator like the built-in ones.
//!
//! # What it does
//! The simulator hands packets to a Python class. A subclass of `forebay.AdmissionLaw` admits, marks or drops a packet
//! on arrival, in front of one FIFO queue. A subclass of `forebay.QueueDiscipline` also decides which packet leaves
//! next. Only integers are passed, no objects: the time in picoseconds, a packet's number, flow and length, the queue
//! in packets and bytes. A method receives only the arguments that it names. Each queue has an instance of its own,
//! with its own stream of random numbers.
//!
//! A scenario file that names Python code runs only with `--allow-python`, or `allow_python=True`. The module is
//! searched for in the folder of the file, then where Python searches for modules.
//!
//! # When to use it
//! Use it to try an algorithm of your own in any scenario, without Rust. Each decision costs a Python call: for long
//! studies compile the law with Numba, or write it in Rust.
//!
//! # Example
//! ```toml
//! queue.python = { class = "short:ShortQueue", parameters = { limit = 50 } }
//! ```
//!
//! The class is in `short.py`, in the folder of the scenario:
//!
//! ```python short.py
//! import forebay as fb
//!
//!
//! class ShortQueue(fb.AdmissionLaw):
//!     def __init__(self, limit=100):
//!         self.limit = limit
//!
//!     def admit(self, queue_packets):
//!         return queue_packets < self.limit
//! ```
//!
//! # Source
//! Your own. `docs/guide/python-disciplines.md` builds RED step by step and checks it against the built-in one: same
//! random numbers, same drops, same digest.
//!
//! # Where we differ
//! - An exception, a verdict that does not exist, or the number of a packet that is not queued ends the run with an
//!   error that names packet, time and flow. Everything up to then is accounted for as usual.
//! - Calls to different queues do not come in the order of time: a port may run ahead of another where the results are
//!   the same. State that instances share by other means than packets has no defined order.
//! - Logarithms, powers and exponentials of Python's `math` are those of the platform. Those of `forebay.portable` have
//!   the same bits everywhere.
//!
//! # Cost
//! The memory of the Python object. Each decision costs a Python call, a few hundred nanoseconds, and the time of the
//! method itself. Within a process only one such run makes progress at a time; commands with many runs start processes.
//!
//! # Parameters
//! See [`PythonQueue`]. The bare text, `queue.python = "module:Class"`, names a class without parameters.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// A class written in Python, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonQueue {
    /// Module and class: `"module:Class"`.
    pub class: String,
    /// Keyword arguments of its constructor.
    pub parameters: Map<String, Value>,
}

/// The table, whose form is what the schema shows.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Module and class: `"module:Class"`.
    #[schemars(regex(pattern = r"^[\w.]+:[\w.]+$"))]
    class: String,
    /// Keyword arguments of its constructor. Default: nothing.
    #[serde(default)]
    parameters: Map<String, Value>,
}

impl PythonQueue {
    fn new<E: Error>(class: String, parameters: Map<String, Value>) -> Result<Self, E> {
        let is_path =
            |text: &str| !text.is_empty() && text.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
        match class.split_once(':') {
            Some((module, name)) if is_path(module) && is_path(name) => Ok(Self { class, parameters }),
            _ => Err(Error::custom(format!("`{class}` is not a class: write \"module:Class\""))),
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
