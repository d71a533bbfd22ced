//! The round-trip time for which CAKE is configured: a time, or the word for a kind of path.

use core::fmt;

use crate::Span;

/// A round-trip time, which may be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CakeRoundTrip(pub Span);

/// The words for round-trip times (iproute2, `q_cake.c`).
#[cfg(feature = "config")]
const WORDS: [(&str, Span); 8] = [
    ("datacentre", Span::from_microseconds(100)),
    ("lan", Span::from_milliseconds(1)),
    ("metro", Span::from_milliseconds(10)),
    ("regional", Span::from_milliseconds(30)),
    ("internet", Span::from_milliseconds(100)),
    ("oceanic", Span::from_milliseconds(300)),
    ("satellite", Span::from_seconds(1)),
    ("interplanetary", Span::from_seconds(3600)),
];

impl fmt::Display for CakeRoundTrip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "config")]
mod text {
    use alloc::borrow::Cow;
    use alloc::string::ToString;
    use core::fmt;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::{Serialize, Serializer};

    use super::{CakeRoundTrip, WORDS};
    use crate::Span;

    struct Text;

    impl Visitor<'_> for Text {
        type Value = CakeRoundTrip;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a time with its unit in quotes, such as \"100 ms\", or one of")?;
            WORDS.iter().try_for_each(|(word, _)| write!(f, " \"{word}\""))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<CakeRoundTrip, E> {
            let word = WORDS.iter().find(|(word, _)| *word == text.trim());
            match word {
                Some((_, span)) => Ok(CakeRoundTrip(*span)),
                None => text.parse::<Span>().map(CakeRoundTrip).map_err(E::custom),
            }
        }
    }

    impl<'de> Deserialize<'de> for CakeRoundTrip {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_str(Text)
        }
    }

    impl Serialize for CakeRoundTrip {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(&self.0.to_string())
        }
    }

    impl JsonSchema for CakeRoundTrip {
        fn inline_schema() -> bool {
            true
        }

        fn schema_name() -> Cow<'static, str> {
            "CakeRoundTrip".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            let mut pattern = alloc::string::String::from(r"^\s*(");
            WORDS.iter().for_each(|(word, _)| pattern = alloc::format!("{pattern}{word}|"));
            json_schema!({
                "type": "string",
                "pattern": pattern + r"[0-9._]+\s*(s|sec|seconds|second|ms|us|µs|μs|ns|ps|min|h))\s*$",
            })
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[derive(serde::Deserialize)]
        struct Table {
            rtt: CakeRoundTrip,
        }

        fn read(text: &str) -> Result<Span, alloc::string::String> {
            let table = toml::from_str::<Table>(&alloc::format!("rtt = {text}"));
            table.map(|table| table.rtt.0).map_err(|error| error.message().to_string())
        }

        #[test]
        fn a_word_or_a_time_is_read() {
            let times =
                ["datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite", "interplanetary"]
                    .map(|word| read(&alloc::format!("'{word}'")).unwrap().picoseconds() / 100_000_000);
            assert_eq!(times, [1, 10, 100, 300, 1000, 3000, 10_000, 36_000_000]);
            assert_eq!(read("'55 ms'"), Ok(Span::from_milliseconds(55)));
            assert!(read("'intenet'").is_err());
            assert!(read("100").unwrap_err().contains("\"lan\""));
        }
    }
}
