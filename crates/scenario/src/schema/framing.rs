//! The bytes that a packet takes on a link.

use std::borrow::Cow;

use forebay_qdisc::framing::{CellFraming, Framing, LinkLayer};
use forebay_units::ParameterError;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};

use super::or_table::{Bare, OrTable, schema_with};

/// The bytes that a packet takes on a link: those of its link layer, changed by what is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFraming(FramingTable);

/// The bytes that a packet takes on a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "LinkFraming")]
struct FramingTable {
    /// The link layer, by CAKE's keyword in `tc`, whose values the other keys replace. Default: none.
    #[serde(default)]
    layer: Option<LinkLayer>,
    /// Number of VLAN tags, each of which adds 4 bytes.
    #[serde(default)]
    #[schemars(range(max = 8))]
    vlan_tags: u32,
    /// Bytes that the link adds to each packet, at most 256. Default: that of `layer`, else 0.
    #[serde(default)]
    #[schemars(range(max = 256))]
    overhead: Option<u32>,
    /// Least length on the link in bytes, overhead included, at most 256. Default: that of `layer`, else 0.
    #[serde(default)]
    #[schemars(range(max = 256))]
    mpu: Option<u32>,
    /// Cells of the link. Default: those of `layer`, else `none`.
    #[serde(default)]
    cells: Option<CellFraming>,
}

impl LinkFraming {
    /// The rule.
    ///
    /// # Errors
    /// The first parameter outside its bound.
    pub(crate) fn rule(&self) -> Result<Framing, ParameterError> {
        let FramingTable { layer, vlan_tags, overhead, mpu, cells } = self.0;
        let overhead = overhead.map(|bytes| i32::try_from(bytes).unwrap_or(i32::MAX));
        Framing::new(layer, vlan_tags, overhead, mpu, cells)
    }
}

impl Bare for LinkLayer {
    fn of_text(text: &str) -> Option<Result<Self, String>> {
        let layer = LinkLayer::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(text));
        Some(layer.map_err(|error| error.to_string()))
    }
}

impl<'de> Deserialize<'de> for LinkFraming {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrTable::new(
            "a link layer such as \"pppoe-ptm\", or a table such as { overhead = 38, mpu = 84 }",
            |layer| Self(FramingTable { layer: Some(layer), ..FramingTable::default() }),
            |table| Ok(Self(table)),
        ))
    }
}

impl JsonSchema for LinkFraming {
    fn schema_name() -> Cow<'static, str> {
        "LinkFraming".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = FramingTable::json_schema(generator);
        let layer = generator.subschema_for::<LinkLayer>();
        schema_with(layer, table, "Bytes that a link takes for a packet: a link layer, or a table.")
    }
}
