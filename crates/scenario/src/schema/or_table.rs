//! Values that are bare, such as a number, a text, or yes or no, or else a table.

use std::fmt::{self, Display};
use std::marker::PhantomData;

use forebay_units::{Bytes, Span};
use schemars::Schema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Error, MapAccess, Unexpected, Visitor};

/// Reads a `T` from a bare value `B` or from a table `D`.
pub(super) struct OrTable<B, D, T> {
    expecting: &'static str,
    bare: fn(B) -> T,
    table: fn(D) -> Result<T, String>,
    of: PhantomData<(B, D)>,
}

/// A bare value. `None` for what it cannot be read from.
pub(super) trait Bare: Sized {
    fn of_boolean(_: bool) -> Option<Self> {
        None
    }

    fn of_number(_: f64) -> Option<Self> {
        None
    }

    fn of_text(_: &str) -> Option<Result<Self, String>> {
        None
    }
}

impl Bare for bool {
    fn of_boolean(value: bool) -> Option<Self> {
        Some(value)
    }
}

impl Bare for f64 {
    fn of_number(value: f64) -> Option<Self> {
        Some(value)
    }
}

impl Bare for String {
    fn of_text(text: &str) -> Option<Result<Self, String>> {
        Some(Ok(text.to_owned()))
    }
}

impl Bare for Span {
    fn of_text(text: &str) -> Option<Result<Self, String>> {
        Some(parsed(text))
    }
}

impl Bare for Bytes {
    fn of_text(text: &str) -> Option<Result<Self, String>> {
        Some(parsed(text))
    }
}

fn parsed<B: std::str::FromStr<Err: Display>>(text: &str) -> Result<B, String> {
    text.parse().map_err(|error: B::Err| error.to_string())
}

impl<B: Bare, D, T> OrTable<B, D, T> {
    pub fn new(expecting: &'static str, bare: fn(B) -> T, table: fn(D) -> Result<T, String>) -> Self {
        Self { expecting, bare, table, of: PhantomData }
    }

    fn read<E: Error>(self, value: Option<B>, unexpected: Unexpected<'_>) -> Result<T, E> {
        value.map(self.bare).ok_or_else(|| E::invalid_type(unexpected, &self.expecting))
    }
}

impl<'de, B: Bare, D: Deserialize<'de>, T> Visitor<'de> for OrTable<B, D, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        self.read(B::of_boolean(value), Unexpected::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.read(B::of_number(value as f64), Unexpected::Signed(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.read(B::of_number(value as f64), Unexpected::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        self.read(B::of_number(value), Unexpected::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.read(B::of_text(text).transpose().map_err(E::custom)?, Unexpected::Str(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<T, A::Error> {
        let read = D::deserialize(MapAccessDeserializer::new(&mut table))?;
        if table.next_key::<String>()?.is_some() {
            return Err(A::Error::custom("two alternatives: give exactly one"));
        }
        (self.table)(read).map_err(A::Error::custom)
    }
}

/// The schema of such a value.
pub(super) fn schema_with(bare: Schema, mut table: Schema, description: &str) -> Schema {
    match table.get_mut("oneOf").and_then(|value| value.as_array_mut()) {
        Some(alternatives) => alternatives.insert(0, bare.to_value()),
        None => table = schemars::json_schema!({ "oneOf": [bare, table] }),
    }
    table.insert("description".into(), description.into());
    table
}
