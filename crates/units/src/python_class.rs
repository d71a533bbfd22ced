//! A class written in Python, which a scenario names in the place of an algorithm.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

/// A class written in Python, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonClass {
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

impl PythonClass {
    /// The schema of the table alone, whose keys the manual lists.
    pub fn table_schema(generator: &mut SchemaGenerator) -> Schema {
        Table::json_schema(generator)
    }

    fn new<E: Error>(class: String, parameters: Map<String, Value>) -> Result<Self, E> {
        let is_path =
            |text: &str| !text.is_empty() && text.chars().all(|it| it.is_alphanumeric() || it == '_' || it == '.');
        match class.split_once(':') {
            Some((module, name)) if is_path(module) && is_path(name) => Ok(Self { class, parameters }),
            _ => Err(Error::custom(format!("`{class}` is not a class: write \"module:Class\""))),
        }
    }
}

impl<'de> serde::Deserialize<'de> for PythonClass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = PythonClass;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"module:Class\", or a table with `class` and `parameters`")
            }

            fn visit_str<E: Error>(self, class: &str) -> Result<PythonClass, E> {
                PythonClass::new(class.to_owned(), Map::new())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PythonClass, A::Error> {
                let Table { class, parameters } = serde::Deserialize::deserialize(MapAccessDeserializer::new(map))?;
                PythonClass::new(class, parameters)
            }
        }
        deserializer.deserialize_any(TextOrTable)
    }
}

impl JsonSchema for PythonClass {
    fn schema_name() -> Cow<'static, str> {
        "PythonClass".into()
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
