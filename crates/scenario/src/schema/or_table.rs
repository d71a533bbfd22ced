//! Values that are a bare number, or yes or no, or else a table.

use std::fmt;
use std::marker::PhantomData;

use schemars::Schema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Error, MapAccess, Unexpected, Visitor};

/// Reads a `T` from a bare value `B` or from a table `D`.
pub(super) struct OrTable<B, D, T> {
    expecting: &'static str,
    bare: fn(B) -> T,
    table: fn(D) -> T,
    of: PhantomData<(B, D)>,
}

/// A bare value.
pub(super) trait Bare: Sized {
    fn of_boolean(value: bool) -> Option<Self>;
    fn of_number(value: f64) -> Option<Self>;
}

impl Bare for bool {
    fn of_boolean(value: bool) -> Option<Self> {
        Some(value)
    }

    fn of_number(_: f64) -> Option<Self> {
        None
    }
}

impl Bare for f64 {
    fn of_boolean(_: bool) -> Option<Self> {
        None
    }

    fn of_number(value: f64) -> Option<Self> {
        Some(value)
    }
}

impl<B, D, T> OrTable<B, D, T> {
    pub fn new(expecting: &'static str, bare: fn(B) -> T, table: fn(D) -> T) -> Self {
        Self { expecting, bare, table, of: PhantomData }
    }
}

impl<B: Bare, D, T> OrTable<B, D, T> {
    fn number<E: Error>(self, value: f64, unexpected: Unexpected<'_>) -> Result<T, E> {
        let value = B::of_number(value).ok_or_else(|| E::invalid_type(unexpected, &self.expecting))?;
        Ok((self.bare)(value))
    }
}

impl<'de, B: Bare, D: Deserialize<'de>, T> Visitor<'de> for OrTable<B, D, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        let value = B::of_boolean(value).ok_or_else(|| E::invalid_type(Unexpected::Bool(value), &self.expecting))?;
        Ok((self.bare)(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.number(value as f64, Unexpected::Signed(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.number(value as f64, Unexpected::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        self.number(value, Unexpected::Float(value))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<T, A::Error> {
        let read = D::deserialize(MapAccessDeserializer::new(&mut table))?;
        if table.next_key::<String>()?.is_some() {
            return Err(A::Error::custom("two alternatives: give exactly one"));
        }
        Ok((self.table)(read))
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
