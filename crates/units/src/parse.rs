//! The text forms: a number, an optional space, a unit. `"100 Mbps"`, `"550ns"`, `"16 KB"`, `"1024 packets"`.
//!
//! Prefixes are those of the SI (`KB` = 1000 bytes); `KiB`, `MiB`, `GiB` are powers of 1024. A value that is not a
//! whole number of the base unit (picosecond, bit per second, byte, packet) is refused, never rounded.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use crate::{Bytes, QueueSize, Rate, Span};

/// A unit's spellings and its worth in the base unit; the first spelling is the one that is written.
pub(crate) type Unit = (&'static [&'static str], u64);

pub(crate) const SPAN_UNITS: &[Unit] = &[
    (&["s", "sec", "seconds", "second"], 1_000_000_000_000),
    (&["ms"], 1_000_000_000),
    (&["us", "µs", "μs"], 1_000_000),
    (&["ns"], 1_000),
    (&["ps"], 1),
    (&["min"], 60_000_000_000_000),
    (&["h"], 3_600_000_000_000_000),
];

pub(crate) const RATE_UNITS: &[Unit] = &[
    (&["Gbps", "Gb/s", "Gbit/s"], 1_000_000_000),
    (&["Mbps", "Mb/s", "Mbit/s"], 1_000_000),
    (&["kbps", "kb/s", "kbit/s", "Kbps", "Kb/s", "Kbit/s"], 1_000),
    (&["bps", "b/s", "bit/s"], 1),
    (&["Tbps", "Tb/s", "Tbit/s"], 1_000_000_000_000),
];

pub(crate) const SIZE_UNITS: &[Unit] = &[
    (&["GB"], 1_000_000_000),
    (&["MB"], 1_000_000),
    (&["KB", "kB"], 1_000),
    (&["B", "byte", "bytes"], 1),
    (&["KiB"], 1 << 10),
    (&["MiB"], 1 << 20),
    (&["GiB"], 1 << 30),
];

const PACKET_UNITS: &[Unit] = &[(&["packets", "packet", "pkts"], 1)];

/// Why a text is not a quantity; its `Display` is one sentence that says what would be one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ParseError {}

fn error(message: impl fmt::Display) -> ParseError {
    ParseError { message: message.to_string() }
}

/// Reads `text` as a quantity of one of `units`; `what` and `example` word the error.
fn quantity(text: &str, units: &[Unit], what: &str, example: &str) -> Result<u64, ParseError> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    if text.starts_with('-') {
        return Err(error(format_args!("a {what} must not be negative")));
    }
    if number.is_empty() {
        return Err(error(format_args!("expected a {what} such as \"{example}\"")));
    }
    if unit.is_empty() {
        return Err(error(format_args!("a {what} needs a unit, such as \"{example}\"")));
    }
    let Some(&(_, worth)) = units.iter().find(|(names, _)| names.contains(&unit)) else {
        return Err(error(format_args!("\"{unit}\" is not a unit of a {what}; use {}", UnitList(units))));
    };
    scale(number, worth).map_err(|why| error(format_args!("{why} in the {what} \"{text}\"")))
}

/// `number` (digits with at most one point) times `worth`, exactly.
fn scale(number: &str, worth: u64) -> Result<u64, &'static str> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') {
        return Err("more than one decimal point");
    }
    let mut value: u128 = 0;
    let mut divisor: u128 = 1;
    let mut digits = 0;
    for digit in whole.bytes().chain(fraction.bytes()).filter(|b| *b != b'_') {
        value = value.checked_mul(10).and_then(|v| v.checked_add(u128::from(digit - b'0'))).ok_or("too many digits")?;
        digits += 1;
    }
    if digits == 0 {
        return Err("no digits");
    }
    for _ in fraction.bytes().filter(|b| *b != b'_') {
        divisor = divisor.checked_mul(10).ok_or("too many digits")?;
    }
    let scaled = value.checked_mul(u128::from(worth)).ok_or("too large a number")?;
    if !scaled.is_multiple_of(divisor) {
        return Err("a fraction of the smallest unit");
    }
    u64::try_from(scaled / divisor).map_err(|_| "too large a number")
}

/// Lists the first spelling of each unit: "s, ms, us".
struct UnitList<'a>(&'a [Unit]);

impl fmt::Display for UnitList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (names, _)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{}", names[0])?;
        }
        Ok(())
    }
}

/// Writes `value` in the largest of the first units that divides it, so that reading it yields the same value.
pub(crate) fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let base = units.iter().position(|(_, worth)| *worth == 1).map_or(units.len(), |index| index + 1);
    for (names, worth) in &units[..base] {
        // Up to three decimals of a unit read better than the next smaller one: "1.5 s", not "1500 ms".
        let thousandth = (worth / 1_000).max(1);
        if value >= *worth && value.is_multiple_of(thousandth) {
            let (whole, rest) = (value / worth, value % worth / thousandth);
            return if rest == 0 {
                write!(f, "{whole} {}", names[0])
            } else {
                let decimals = alloc::format!("{rest:03}");
                write!(f, "{whole}.{} {}", decimals.trim_end_matches('0'), names[0])
            };
        }
    }
    write!(f, "{value} {}", units[base - 1].0[0])
}

/// Writes a number of bytes as a whole number of up to four digits, of a decimal or binary unit, if there is one, else
/// like [`write_scaled`]. Examples are "64 KB", "1514 B" and "32 MiB", not "1.514 KB" and "33554.432 KB".
pub(crate) fn write_size(f: &mut fmt::Formatter<'_>, bytes: u64) -> fmt::Result {
    let whole = SIZE_UNITS
        .iter()
        .filter(|(_, worth)| bytes.is_multiple_of(*worth) && (bytes > 0 || *worth == 1) && bytes / worth < 10_000);
    // Of equally short ones the first, which is decimal.
    match whole.min_by_key(|(names, worth)| decimal_digits(bytes / worth) + names[0].len()) {
        Some((names, worth)) => write!(f, "{} {}", bytes / worth, names[0]),
        None => write_scaled(f, bytes, SIZE_UNITS),
    }
}

fn decimal_digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |exponent| exponent as usize + 1)
}

impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, SPAN_UNITS, "time", "10 ms").map(Self::from_picoseconds)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse_or_zero(text)?.ok_or_else(|| error("a rate must be more than zero"))
    }
}

impl Rate {
    /// Reads a rate that may be zero, which is `None`.
    ///
    /// # Errors
    /// If it is no rate.
    pub fn parse_or_zero(text: &str) -> Result<Option<Self>, ParseError> {
        quantity(text, RATE_UNITS, "rate", "100 Mbps").map(Self::new)
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        quantity(text, SIZE_UNITS, "size", "1000 B").map(Self)
    }
}

impl FromStr for QueueSize {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.contains("packet") || text.contains("pkt") {
            quantity(text, PACKET_UNITS, "queue size", "100 packets").map(Self::Packets)
        } else {
            quantity(text, SIZE_UNITS, "queue size", "100 packets\" or \"64 KB").map(Self::Bytes)
        }
    }
}

#[cfg(feature = "config")]
mod config {
    use alloc::borrow::Cow;
    use alloc::string::ToString;
    use core::fmt;
    use core::str::FromStr;

    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;

    use crate::{Bytes, QueueSize, Rate, Span};

    /// A visitor that takes a string and nothing else, so that `delay = 10` is refused with a hint on units.
    struct Text<T>(&'static str, core::marker::PhantomData<T>);

    impl<T: FromStr<Err = crate::ParseError>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    macro_rules! text_form {
        ($type:ident, $expecting:literal, $pattern:literal, $description:literal) => {
            impl<'de> serde::Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_str(Text::<$type>($expecting, core::marker::PhantomData))
                }
            }

            impl serde::Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(&self.to_string())
                }
            }

            impl schemars::JsonSchema for $type {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($type).into()
                }

                fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    schemars::json_schema!({
                        "type": "string",
                        "pattern": $pattern,
                        "description": $description,
                    })
                }
            }
        };
    }

    text_form!(
        Span,
        "a time with its unit in quotes, such as \"10 ms\"",
        r"^\s*[0-9._]+\s*(s|sec|seconds|second|ms|us|µs|μs|ns|ps|min|h)\s*$",
        "A time with its unit: \"10 ms\"."
    );
    text_form!(
        Rate,
        "a rate with its unit in quotes, such as \"100 Mbps\"",
        r"^\s*[0-9._]+\s*([TGMkK]?(bps|b/s|bit/s))\s*$",
        "A rate with its unit: \"100 Mbps\"."
    );
    text_form!(
        Bytes,
        "a size with its unit in quotes, such as \"1000 B\"",
        r"^\s*[0-9._]+\s*([kKMG]?B|[KMG]iB|byte|bytes)\s*$",
        "A size with its unit: \"1000 B\"; KB is 1000 bytes, KiB 1024."
    );
    text_form!(
        QueueSize,
        "a queue size with its unit in quotes, such as \"100 packets\" or \"64 KB\"",
        r"^\s*[0-9._]+\s*(packets?|pkts|[kKMG]?B|[KMG]iB|byte|bytes)\s*$",
        "A number of packets or bytes: \"100 packets\", \"64 KB\"."
    );
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_forms_of_the_guide() {
        assert_eq!("550 ns".parse(), Ok(Span::from_nanoseconds(550)));
        assert_eq!("1.5s".parse(), Ok(Span::from_milliseconds(1500)));
        assert_eq!("100 Mbps".parse::<Rate>().map(Rate::bits_per_second), Ok(100_000_000));
        assert_eq!("2.5 Gb/s".parse::<Rate>().map(Rate::bits_per_second), Ok(2_500_000_000));
        assert_eq!("16 KB".parse(), Ok(Bytes(16_000)));
        assert_eq!("16 KiB".parse(), Ok(Bytes(16_384)));
        assert_eq!("1024 packets".parse(), Ok(QueueSize::Packets(1024)));
        assert_eq!("64 KB".parse(), Ok(QueueSize::Bytes(64_000)));
    }

    #[test]
    fn a_size_is_a_whole_number_where_that_is_short() {
        let written = [64_000, 1_500_000, 254_564, 33_554_432, 65_536, 1_024, 1_514, 1_000, 7, 0];
        let expected = ["64 KB", "1500 KB", "254.564 KB", "32 MiB", "64 KiB", "1 KiB", "1514 B", "1 KB", "7 B", "0 B"];
        assert_eq!(written.map(|bytes| Bytes(bytes).to_string()), expected);
    }

    #[test]
    fn refuses_with_a_remedy() {
        let messages = [
            "10".parse::<Span>().unwrap_err().to_string(),
            "-10 ms".parse::<Span>().unwrap_err().to_string(),
            "10 meters".parse::<Span>().unwrap_err().to_string(),
            "0 Mbps".parse::<Rate>().unwrap_err().to_string(),
            "0.5 ps".parse::<Span>().unwrap_err().to_string(),
            "1.2.3 s".parse::<Span>().unwrap_err().to_string(),
            "99999999999999999999 s".parse::<Span>().unwrap_err().to_string(),
            "fast".parse::<Rate>().unwrap_err().to_string(),
        ];
        assert_eq!(
            messages,
            [
                "a time needs a unit, such as \"10 ms\"",
                "a time must not be negative",
                "\"meters\" is not a unit of a time; use s, ms, us, ns, ps, min, h",
                "a rate must be more than zero",
                "a fraction of the smallest unit in the time \"0.5 ps\"",
                "more than one decimal point in the time \"1.2.3 s\"",
                "too large a number in the time \"99999999999999999999 s\"",
                "expected a rate such as \"100 Mbps\"",
            ]
        );
    }

    #[test]
    fn a_frame_of_64_bytes_at_100_gigabit_is_exact() {
        let rate = Rate::megabits(100_000);
        assert_eq!(rate.transmission_time(64), Span::from_picoseconds(5_120));
        assert_eq!(rate.bytes_in(Span::from_picoseconds(5_120)), 64);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in 1_u64..) {
            prop_assert_eq!(Span::from_picoseconds(value).to_string().parse(), Ok(Span::from_picoseconds(value)));
            prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            prop_assert_eq!(QueueSize::Packets(value).to_string().parse(), Ok(QueueSize::Packets(value)));
            let rate = Rate::new(value).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Rate>();
            let _ = text.parse::<QueueSize>();
        }
    }
}
