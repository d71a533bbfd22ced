//! Quantities that are drawn: `"10 ms"` is always 10 ms, `{ uniform = ["0 s", "1 s"] }` is drawn.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;

use forebay_engine::Distribution;
use forebay_units::{Bytes, Span};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::or_table::{OrTable, schema_with};
use crate::size_cdf::SizeCdf;

/// A time, or how it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SpanDistribution {
    /// Always this.
    Constant(Span),
    /// Uniform between two values.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Normal, between zero and twice the mean.
    Normal {
        /// The mean.
        mean: Span,
        /// The standard deviation, at most the mean.
        deviation: Span,
    },
}

/// A number of bytes, or how it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum SizeDistribution {
    /// Always this.
    Constant(Bytes),
    /// Uniform between two values.
    Uniform(Bytes, Bytes),
    /// Exponential with this mean.
    Exponential(Bytes),
    /// Normal, between zero and twice the mean.
    Normal {
        /// The mean.
        mean: Bytes,
        /// The standard deviation, at most the mean.
        deviation: Bytes,
    },
    /// Pareto with this mean and shape.
    Pareto {
        /// The mean.
        mean: Bytes,
        /// The tail's exponent, above 1.
        shape: f64,
    },
    /// By a cumulative distribution.
    Cdf(SizeCdf),
}

impl Default for SpanDistribution {
    fn default() -> Self {
        Self::Constant(Span::ZERO)
    }
}

impl SpanDistribution {
    /// The distribution of the number of picoseconds.
    #[must_use]
    pub fn picoseconds(&self) -> Distribution {
        let number = |span: Span| span.picoseconds() as f64;
        match *self {
            Self::Constant(span) => Distribution::Constant(number(span)),
            Self::Uniform(low, high) => Distribution::Uniform(number(low), number(high)),
            Self::Exponential(mean) => Distribution::Exponential(number(mean)),
            Self::Normal { mean, deviation } => {
                Distribution::Normal { mean: number(mean), deviation: number(deviation) }
            }
        }
    }

    /// The least that can be drawn.
    #[must_use]
    pub fn minimum(&self) -> Span {
        match *self {
            Self::Constant(span) | Self::Uniform(span, _) => span,
            Self::Exponential(_) | Self::Normal { .. } => Span::ZERO,
        }
    }

    /// The mean of what is drawn.
    #[must_use]
    pub fn mean(&self) -> Span {
        match *self {
            Self::Constant(span) | Self::Exponential(span) | Self::Normal { mean: span, .. } => span,
            Self::Uniform(low, high) => Span::from_picoseconds(low.picoseconds().midpoint(high.picoseconds())),
        }
    }
}

impl SizeDistribution {
    /// The distribution of the number of bytes.
    #[must_use]
    pub fn bytes(&self) -> Distribution {
        match *self {
            Self::Constant(bytes) => Distribution::Constant(bytes.0 as f64),
            Self::Uniform(low, high) => Distribution::Uniform(low.0 as f64, high.0 as f64),
            Self::Exponential(mean) => Distribution::Exponential(mean.0 as f64),
            Self::Normal { mean, deviation } => {
                Distribution::Normal { mean: mean.0 as f64, deviation: deviation.0 as f64 }
            }
            Self::Pareto { mean, shape } => Distribution::Pareto { mean: mean.0 as f64, shape },
            Self::Cdf(ref sizes) => sizes.distribution(),
        }
    }

    /// The mean of what is drawn.
    #[must_use]
    pub fn mean(&self) -> Bytes {
        match *self {
            Self::Constant(bytes)
            | Self::Exponential(bytes)
            | Self::Normal { mean: bytes, .. }
            | Self::Pareto { mean: bytes, .. } => bytes,
            Self::Uniform(low, high) => Bytes(low.0.midpoint(high.0)),
            Self::Cdf(ref sizes) => Bytes(sizes.distribution().mean().round() as u64),
        }
    }

    /// The largest size that can be drawn; `None` without a bound.
    #[must_use]
    pub fn largest(&self) -> Option<Bytes> {
        match *self {
            Self::Constant(bytes) | Self::Uniform(_, bytes) => Some(bytes),
            Self::Normal { mean, .. } => Some(Bytes(mean.0.saturating_mul(2))),
            Self::Exponential(_) | Self::Pareto { .. } => None,
            Self::Cdf(ref sizes) => Some(Bytes(sizes.bounds()[1] as u64)),
        }
    }
}

/// The tables by which a span is drawn.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DrawnSpan {
    /// Uniform between two values: { uniform = ["0 s", "1 s"] }.
    Uniform([Span; 2]),
    /// Exponential with this mean: { exponential = "10 ms" }.
    Exponential(Span),
    /// Normal: { normal = { mean = "33 ms", deviation = "3 ms" } }. A draw that is not between zero and
    /// twice the mean is repeated.
    Normal(NormalSpan),
}

/// The normal distribution of times.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NormalSpan {
    /// The mean.
    mean: Span,
    /// The standard deviation, at most the mean.
    deviation: Span,
}

/// The normal distribution of sizes.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NormalSize {
    /// The mean.
    mean: Bytes,
    /// The standard deviation, at most the mean.
    deviation: Bytes,
}

/// The tables by which a size is drawn.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DrawnSize {
    /// Uniform between two values: { uniform = ["1 KB", "9 KB"] }.
    Uniform([Bytes; 2]),
    /// Exponential with this mean: { exponential = "10 KB" }.
    Exponential(Bytes),
    /// Normal: { normal = { mean = "404 B", deviation = "120 B" } }. A draw that is not between zero and
    /// twice the mean is repeated.
    Normal(NormalSize),
    /// Pareto, typical of file sizes: { pareto = { mean = "10 KB", shape = 1.2 } }.
    Pareto(Pareto),
    /// By a cumulative distribution: { cdf = "websearch" }, one of those that come with Forebay, or a file,
    /// { cdf = "sizes.csv" }.
    Cdf(SizeCdf),
}

/// The Pareto distribution.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pareto {
    /// The mean.
    mean: Bytes,
    /// The tail's exponent, above 1: the smaller, the heavier the tail. With 2 or less the variance is infinite.
    shape: f64,
}

fn ordered<T: PartialOrd>([low, high]: [T; 2]) -> Result<(T, T), String> {
    if low > high {
        return Err("the lower bound comes first: it is above the upper one here".into());
    }
    Ok((low, high))
}

fn bounded<T: PartialOrd + Display>(mean: &T, deviation: &T) -> Result<(), String> {
    if deviation > mean {
        return Err(format!("a `deviation` of {deviation} is more than the mean, {mean}: expected at most the mean"));
    }
    Ok(())
}

impl DrawnSpan {
    fn checked(self) -> Result<SpanDistribution, String> {
        Ok(match self {
            Self::Uniform(bounds) => {
                let (low, high) = ordered(bounds)?;
                SpanDistribution::Uniform(low, high)
            }
            Self::Exponential(mean) => SpanDistribution::Exponential(mean),
            Self::Normal(NormalSpan { mean, deviation }) => {
                bounded(&mean, &deviation)?;
                SpanDistribution::Normal { mean, deviation }
            }
        })
    }
}

impl DrawnSize {
    fn checked(self) -> Result<SizeDistribution, String> {
        Ok(match self {
            Self::Uniform(bounds) => {
                let (low, high) = ordered(bounds)?;
                SizeDistribution::Uniform(low, high)
            }
            Self::Exponential(mean) => SizeDistribution::Exponential(mean),
            Self::Normal(NormalSize { mean, deviation }) => {
                bounded(&mean, &deviation)?;
                SizeDistribution::Normal { mean, deviation }
            }
            Self::Pareto(Pareto { shape, .. }) if !(shape > 1.0 && shape.is_finite()) => {
                return Err(format!("a Pareto `shape` must be above 1 to have a mean; it is {shape}"));
            }
            Self::Pareto(Pareto { mean, shape }) => SizeDistribution::Pareto { mean, shape },
            Self::Cdf(sizes) => SizeDistribution::Cdf(sizes),
        })
    }
}

macro_rules! text_or_table {
    ($type:ident, $quantity:ident, $drawn:ident, $expecting:literal, $description:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(OrTable::new($expecting, $type::Constant, $drawn::checked))
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let drawn = $drawn::json_schema(generator);
                schema_with(generator.subschema_for::<$quantity>(), drawn, $description)
            }
        }
    };
}

text_or_table!(
    SpanDistribution,
    Span,
    DrawnSpan,
    "a time such as \"10 ms\", or a distribution such as { uniform = [\"0 s\", \"1 s\"] }",
    "A time, or how it is drawn: \"10 ms\", { uniform = [\"0 s\", \"1 s\"] }, { exponential = \"10 ms\" }, \
     { normal = { mean = \"10 ms\", deviation = \"1 ms\" } }."
);
text_or_table!(
    SizeDistribution,
    Bytes,
    DrawnSize,
    "a size such as \"1 MB\", or a distribution such as { exponential = \"10 KB\" }",
    "A size, or how it is drawn: \"1 MB\", { uniform = [\"1 KB\", \"9 KB\"] }, { exponential = \"10 KB\" }, \
     { normal = { mean = \"404 B\", deviation = \"120 B\" } }, { pareto = { mean = \"10 KB\", shape = 1.2 } }, \
     { cdf = \"websearch\" }."
);

impl Serialize for SpanDistribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(span) => span.serialize(serializer),
            Self::Uniform(low, high) => one_key(serializer, "uniform", &[low, high]),
            Self::Exponential(mean) => one_key(serializer, "exponential", mean),
            Self::Normal { mean, deviation } => {
                one_key(serializer, "normal", &BTreeMap::from([("mean", mean), ("deviation", deviation)]))
            }
        }
    }
}

fn one_key<S: Serializer, T: Serialize>(serializer: S, key: &str, value: &T) -> Result<S::Ok, S::Error> {
    let mut table = serializer.serialize_map(Some(1))?;
    table.serialize_entry(key, value)?;
    table.end()
}
