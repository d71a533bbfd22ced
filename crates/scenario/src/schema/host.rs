//! Properties of hosts: their processing time and their device queue.

use std::borrow::Cow;
use std::fmt;

use forebay_units::{QueueSize, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::SpanDistribution;

/// Processing time of a host: a random delay before a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostJitter(pub SpanDistribution);

impl HostJitter {
    /// No processing time.
    pub const NONE: Self = Self(SpanDistribution::Constant(Span::ZERO));

    /// The variation of a Linux host between two network interfaces: softirqs and timers take 5 to 20 us.
    pub const LINUX: Self = Self(SpanDistribution::Uniform(Span::ZERO, Span::from_microseconds(10)));
}

impl<'de> Deserialize<'de> for HostJitter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = HostJitter;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "\"none\", a time such as \"10 us\", or a distribution such as { uniform = [\"0 us\", \"10 us\"] }",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HostJitter, E> {
                if text == "none" {
                    return Ok(HostJitter::NONE);
                }
                SpanDistribution::deserialize(StrDeserializer::new(text)).map(HostJitter)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostJitter, A::Error> {
                SpanDistribution::deserialize(MapAccessDeserializer::new(map)).map(HostJitter)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for HostJitter {
    fn schema_name() -> Cow<'static, str> {
        "HostJitter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Processing time of a host: \"none\", or a time, or how it is drawn.",
            "anyOf": [{ "const": "none" }, generator.subschema_for::<SpanDistribution>()],
        })
    }
}

/// Limit of a host's device queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostQueue {
    /// No limit.
    Unlimited,
    /// This many packets.
    Packets(u32),
}

impl Default for HostQueue {
    fn default() -> Self {
        // The `txqueuelen` of a Linux device.
        Self::Packets(1000)
    }
}

impl<'de> Deserialize<'de> for HostQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "unlimited" {
            return Ok(Self::Unlimited);
        }
        match text.parse::<QueueSize>() {
            Ok(QueueSize::Packets(packets @ 1..)) => {
                u32::try_from(packets).map(Self::Packets).map_err(D::Error::custom)
            }
            _ => Err(D::Error::custom(format_args!(
                "`{text}` is not a limit of a device queue: expected a number of packets such as \"1000 packets\", or \
                 \"unlimited\""
            ))),
        }
    }
}

impl JsonSchema for HostQueue {
    fn schema_name() -> Cow<'static, str> {
        "HostQueue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Limit of a host's device queue: \"1000 packets\", or \"unlimited\".",
            "type": "string",
        })
    }
}
