//! The lab page: which values have sliders.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Deserializer;

use super::or_table::{OrTable, schema_with};

/// How the lab, Forebay's page in a browser, shows the scenario. Runs do not depend on it.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lab {
    /// Values that have a slider.
    #[serde(default)]
    pub pins: Vec<Pin>,
}

/// A value that has a slider.
#[derive(Clone, Debug, PartialEq)]
pub struct Pin {
    /// The path of the value, as in `--set`.
    pub key: String,
    /// The lower and the upper bound of the slider, as the value is written.
    pub bounds: [Option<String>; 2],
    /// The text next to the slider.
    pub label: Option<String>,
}

const DESCRIPTION: &str = "A value that has a slider: its key, such as \"topology.star.bottleneck.rate\"; in a table \
                           also the bounds of the slider and a label.";

/// As it is written in a table.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinTable {
    /// The value: a path as in `--set`.
    key: String,
    /// The lower bound, with a unit if the value has one.
    #[serde(default)]
    from: Option<Bound>,
    /// The upper bound, with a unit if the value has one.
    #[serde(default)]
    to: Option<Bound>,
    /// The text next to the slider. Default: the key.
    #[serde(default)]
    label: Option<String>,
}

/// A number or a quantity, as text.
struct Bound(String);

impl<'de> serde::Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bound;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, or a text such as \"10 Mbps\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Bound, E> {
                Ok(Bound(text.to_owned()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Bound, E> {
                Ok(Bound(number.to_string()))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Bound, E> {
                Ok(Bound(number.to_string()))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Bound, E> {
                Ok(Bound(number.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Bound {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bound".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

impl<'de> serde::Deserialize<'de> for Pin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bare = |key: String| Self { key, bounds: [None, None], label: None };
        let table = |PinTable { key, from, to, label }: PinTable| {
            Ok(Self { key, bounds: [from, to].map(|bound| bound.map(|Bound(text)| text)), label })
        };
        deserializer.deserialize_any(OrTable::new("the key of a value, or a table with `key`", bare, table))
    }
}

impl JsonSchema for Pin {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Pin".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schema_with(json_schema!({ "type": "string" }), PinTable::json_schema(generator), DESCRIPTION)
    }
}
