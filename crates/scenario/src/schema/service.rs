//! How fast a link sends: periods of another rate or delay, traces, and outages.

use std::borrow::Cow;
use std::fmt;

use forebay_units::{Bytes, Rate, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error, Visitor};

/// A period in which a link has another rate or delay.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServicePeriod {
    /// The rate. It may be "0 bps": a packet whose transmission has begun is sent when the rate is back. Default: that
    /// of the link.
    #[serde(default)]
    pub rate: Option<RateOrZero>,
    /// The propagation delay. Default: that of the link.
    #[serde(default)]
    pub delay: Option<Span>,
    /// Start.
    #[serde(default)]
    pub from: Span,
    /// End. Default: the end of the run.
    #[serde(default)]
    pub to: Option<Span>,
}

/// A rate that may be zero: `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateOrZero(pub Option<Rate>);

/// The rate of a link over time. It repeats when it has ended.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateTrace {
    /// A file, relative to the folder of the scenario: mahimahi's format, or CSV with columns `duration_ms` and
    /// `bandwidth_kbps`.
    File(String),
    /// When the link may send, as mahimahi's traces have it.
    Opportunities(Opportunities),
    /// Rates, one after the other.
    Steps(Vec<TraceStep>),
}

/// Times at which a link may send. A packet leaves when its last byte has had a share. The rest of an opportunity is
/// lost if no packet waits, and so is one at the time of an arrival.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opportunities {
    /// The times in milliseconds, not decreasing, the last one above 0; they repeat with this period.
    pub times_ms: Vec<u32>,
    /// Bytes of an opportunity. Default: 1504 B, as in mahimahi.
    #[serde(default = "mahimahi_bytes")]
    pub bytes: Bytes,
}

/// A rate and how long it lasts.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceStep {
    /// How long it lasts.
    pub duration: Span,
    /// The rate. It may be "0 bps".
    pub rate: RateOrZero,
}

/// A time in which a link is down. Packets whose transmission falls into it are lost.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Start.
    #[serde(default)]
    pub from: Span,
    /// End. Default: the end of the run.
    #[serde(default)]
    pub to: Option<Span>,
}

/// The bytes that an opportunity of mahimahi carries.
pub(crate) const MAHIMAHI_BYTES: u64 = 1504;

fn mahimahi_bytes() -> Bytes {
    Bytes(MAHIMAHI_BYTES)
}

impl<'de> serde::Deserialize<'de> for RateOrZero {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateText;
        impl Visitor<'_> for RateText {
            type Value = RateOrZero;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate with its unit in quotes, such as \"100 Mbps\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<RateOrZero, E> {
                Rate::parse_or_zero(text).map(RateOrZero).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(RateText)
    }
}

impl JsonSchema for RateOrZero {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RateOrZero".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Rate>()
    }
}

impl ServicePeriod {
    /// Its rate, if it has one above zero.
    #[must_use]
    pub fn highest_rate(&self) -> Option<Rate> {
        self.rate.and_then(|rate| rate.0)
    }

    /// When it ends.
    #[must_use]
    pub fn until(&self) -> Span {
        self.to.unwrap_or(Span::MAX)
    }

    /// Whether two periods have a time in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.from < other.until() && other.from < self.until()
    }
}

impl Outage {
    /// When it ends.
    #[must_use]
    pub fn until(&self) -> Span {
        self.to.unwrap_or(Span::MAX)
    }
}
