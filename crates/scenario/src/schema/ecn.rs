//! The ECN codepoint of datagrams.

use std::borrow::Cow;
use std::fmt;

use forebay_qdisc::Ecn;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserializer;
use serde::de::{Error, Visitor};

/// ECN codepoint of the packets of a group: a truth value, or the name of a codepoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramEcn(pub Ecn);

impl DatagramEcn {
    /// Whether the packets are ECN-capable.
    pub(crate) fn is_capable(self) -> bool {
        self.0.is_capable()
    }
}

impl<'de> serde::Deserialize<'de> for DatagramEcn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Codepoint;
        impl Visitor<'_> for Codepoint {
            type Value = DatagramEcn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, \"ect0\" or \"ect1\"")
            }

            fn visit_bool<E: Error>(self, is_capable: bool) -> Result<DatagramEcn, E> {
                Ok(DatagramEcn(if is_capable { Ecn::Capable0 } else { Ecn::NotCapable }))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<DatagramEcn, E> {
                match text {
                    "ect0" => Ok(DatagramEcn(Ecn::Capable0)),
                    "ect1" => Ok(DatagramEcn(Ecn::Capable1)),
                    _ => Err(E::unknown_variant(text, &["ect0", "ect1"])),
                }
            }
        }
        deserializer.deserialize_any(Codepoint)
    }
}

impl JsonSchema for DatagramEcn {
    fn schema_name() -> Cow<'static, str> {
        "DatagramEcn".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Whether packets are ECN-capable, or their codepoint: \"ect0\" or, for L4S, \"ect1\".",
            "oneOf": [{ "type": "boolean" }, { "enum": ["ect0", "ect1"] }],
        })
    }
}
