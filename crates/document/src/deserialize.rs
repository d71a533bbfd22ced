//! A serde deserializer over the tree of [`crate::tree`]: every error gets the place of the very key or value that
//! it is about, in the words of the file's author rather than in serde's.
//!
//! Alternatives (Rust enums) are tables with one key, `queue.red = { … }`; a bare name, `queue = "red"`, means that key
//! with an empty table.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::document::Kind as FileKind;
use crate::error::{Problem, list_names};
use crate::tree::{Entry, Node, Place, Value};

/// Reads the tree as `T`, in a file of this kind.
pub(crate) fn deserialize<'de, T: serde::Deserialize<'de>>(root: &'de Node, kind: FileKind) -> Result<T, Problem> {
    let field = Field { value: &root.value, place: &root.place, name: "" };
    T::deserialize(field).map_err(|fault| fault.into_problem(kind))
}

/// A value under its name.
#[derive(Clone, Copy)]
struct Field<'de> {
    value: &'de Value,
    place: &'de Place,
    name: &'de str,
}

/// The replacement for the parameters of a bare name.
static NO_PARAMETERS: Value = Value::Table(Vec::new());

/// The fault, before and after its place is known. Behind a pointer: each type has code that passes faults on.
#[derive(Debug)]
struct Fault(Box<Parts>);

#[derive(Debug)]
struct Parts {
    kind: Kind,
    /// The place, and the name of the value or (for keys) of its table; empty for the root.
    at: Option<(Place, String)>,
    /// The expected value, if a single value was refused.
    expected: Option<String>,
}

#[derive(Debug)]
enum Kind {
    Invalid(String),
    WrongType { found: String, expected: String },
    UnknownKey { key: String, keys: &'static [&'static str] },
    UnknownName { name: String, names: &'static [&'static str] },
    Missing(&'static str),
    NotOne { given: Vec<String>, names: &'static [&'static str] },
}

impl Fault {
    fn new(kind: Kind) -> Self {
        Self(Box::new(Parts { kind, at: None, expected: None }))
    }

    /// Gives the expected form, unless a value further in has given its own.
    fn expecting(mut self, expected: Option<String>) -> Self {
        self.0.expected = self.0.expected.or(expected);
        self
    }

    /// Gives the place, unless a value further in has given its own.
    fn or_at(mut self, place: &Place, name: &str) -> Self {
        self.0.at.get_or_insert_with(|| (place.clone(), name.to_owned()));
        self
    }

    fn into_problem(self, kind: FileKind) -> Problem {
        let Parts { kind: fault, at, expected } = *self.0;
        let (place, name) = at.unwrap_or_default();
        let name = if name.is_empty() { format!("the {}", kind.name) } else { format!("`{name}`") };
        let offered = |names: &[&'static str]| -> Vec<&'static str> {
            names.iter().copied().filter(|name| !kind.not_offered.contains(name)).collect()
        };
        match fault {
            Kind::Invalid(why) => {
                let label = expected.map_or_else(|| "not valid".into(), |expected| format!("expected {expected}"));
                Problem::at(place, format!("{name}: {why}"), label)
            }
            Kind::WrongType { found, expected } => {
                let is_list = found == "a table" && expected == "a list";
                let help = is_list.then(|| {
                    let key = name.trim_matches('`');
                    format!("several tables of one name are a list: begin each with `[[{key}]]`")
                });
                Problem::at(place, format!("{name} must be {expected}"), format!("found {found}")).with_help(help)
            }
            Kind::UnknownKey { key, keys } => {
                let all = format!("keys of {name}: {}", list_names(keys.iter().copied()));
                let help = match kind.remedy_for_key(&key, keys) {
                    Some(remedy) => format!("{remedy}\n{all}"),
                    None => all,
                };
                Problem::at(place, format!("unknown key `{key}`"), format!("{name} has no such key")).with_help(help)
            }
            Kind::UnknownName { name: written, names } => {
                let names = offered(names);
                let one_of = if names.len() > 1 { "one of " } else { "" };
                let label = format!("expected {one_of}{}", list_names(names.iter().copied()));
                let message = format!("unknown name `{written}` for {name}");
                Problem::at(place, message, label).with_help(kind.remedy(&written, names))
            }
            Kind::Missing(key) => Problem::at(place, format!("missing key `{key}`"), format!("{name} needs `{key}`")),
            Kind::NotOne { given, names } => {
                let one_of = list_names(offered(names));
                if given.is_empty() {
                    return Problem::at(place, format!("{name} is empty"), format!("expected one of {one_of}"));
                }
                let given = list_names(given.iter().map(String::as_str));
                Problem::at(place, format!("{name} must be exactly one of {one_of}"), format!("found {given}"))
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0.kind)
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Kind::Invalid(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(Kind::WrongType { found: found_in_words(found), expected: expected_in_words(&expected.to_string()) })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let found = if length == 1 { "1 element".to_owned() } else { format!("{length} elements") };
        Self::new(Kind::WrongType { found, expected: expected_in_words(&expected.to_string()) })
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownName { name: variant.to_owned(), names: expected })
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(Kind::UnknownKey { key: field.to_owned(), keys: expected })
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Kind::Missing(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(Kind::Invalid(format!("`{field}` is given twice")))
    }
}

fn found_in_words(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(value) => format!("the number {value}"),
        Unexpected::Signed(value) => format!("the number {value}"),
        Unexpected::Float(value) => format!("the number {value}"),
        Unexpected::Str(text) => format!("the text \"{text}\""),
        Unexpected::Seq => "a list".into(),
        Unexpected::Map | Unexpected::StructVariant => "a table".into(),
        other => other.to_string(),
    }
}

/// serde's words for what it expects, in those of the manual.
fn expected_in_words(expected: &str) -> String {
    let whole = |low: i128, high: i128| format!("a whole number from {low} to {high}");
    match expected {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        "u64" | "usize" => "a whole number, not negative".into(),
        "i32" => whole(i32::MIN.into(), i32::MAX.into()),
        "i64" => "a whole number".into(),
        "f32" | "f64" => "a number".into(),
        "a boolean" => "`true` or `false`".into(),
        "a string" => "text in quotes".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ if expected.starts_with("enum ") || expected.contains("variant") => "a name, or a table with one key".into(),
        _ => match expected.strip_prefix("an array of length ") {
            Some(length) => format!("a list of {length}"),
            None => expected.to_owned(),
        },
    }
}

fn longer_than(taken: usize, length: usize) -> Fault {
    Fault::invalid_length(length, &format!("an array of length {taken}").as_str())
}

impl<'de> Field<'de> {
    fn below(entry: &'de Entry) -> Self {
        Self { value: &entry.node.value, place: &entry.node.place, name: &entry.key }
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Integer(integer) => match (u64::try_from(*integer), i64::try_from(*integer)) {
                (Ok(unsigned), _) => visitor.visit_u64(unsigned),
                (_, Ok(signed)) => visitor.visit_i64(signed),
                _ => Err(Fault::custom("this number is too large")),
            },
            Value::Float(float) => visitor.visit_f64(*float),
            Value::Boolean(boolean) => visitor.visit_bool(*boolean),
            Value::Date(_) => Err(Fault::invalid_type(Unexpected::Other("a date"), &visitor)),
            Value::List(nodes) => self.visit_list(nodes, visitor),
            Value::Table(entries) => self.visit_table(entries, visitor),
        }
    }

    fn visit_list<V: Visitor<'de>>(self, nodes: &'de [Node], visitor: V) -> Result<V::Value, Fault> {
        let mut list = List { nodes: nodes.iter(), name: self.name };
        let value = visitor.visit_seq(&mut list)?;
        match list.nodes.len() {
            0 => Ok(value),
            left => Err(longer_than(nodes.len() - left, nodes.len())),
        }
    }

    fn visit_table<V: Visitor<'de>>(self, entries: &'de [Entry], visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_map(Table { entries: entries.iter(), pending: None, name: self.name })
    }

    /// The form in which a single value is expected.
    fn expected(self, expected: &dyn Expected) -> Option<String> {
        // That of a table is a Rust type, which helps no reader.
        let is_single = !matches!(self.value, Value::List(_) | Value::Table(_));
        is_single.then(|| expected_in_words(&expected.to_string()))
    }

    /// The fault that the value is of another kind.
    fn refused(self, expected: &dyn Expected) -> Fault {
        let found = match self.value {
            Value::Text(text) => Unexpected::Str(text),
            Value::Integer(integer) => match i64::try_from(*integer) {
                Ok(signed) => Unexpected::Signed(signed),
                Err(_) => Unexpected::Other("a large number"),
            },
            Value::Float(float) => Unexpected::Float(*float),
            Value::Boolean(boolean) => Unexpected::Bool(*boolean),
            Value::Date(_) => Unexpected::Other("a date"),
            Value::List(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        };
        Fault::invalid_type(found, expected).or_at(self.place, self.name)
    }
}

impl<'de> Deserializer<'de> for Field<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let expected = self.expected(&visitor);
        self.visit(visitor).map_err(|fault| fault.expecting(expected).or_at(self.place, self.name))
    }

    // Each of these calls one method of the visitor, so that a program has the code of the others for few types.

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Value::Table(entries) = self.value else { return Err(self.refused(&visitor)) };
        self.visit_table(entries, visitor).map_err(|fault| fault.or_at(self.place, self.name))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Value::List(nodes) = self.value else { return Err(self.refused(&visitor)) };
        self.visit_list(nodes, visitor).map_err(|fault| fault.or_at(self.place, self.name))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let alternative = match self.value {
            Value::Text(name) => Ok(Alternative {
                name,
                name_place: self.place,
                of: self.name,
                value: &NO_PARAMETERS,
                place: self.place,
            }),
            Value::Table(entries) => match &entries[..] {
                [entry] => Ok(Alternative {
                    name: &entry.key,
                    name_place: &entry.key_place,
                    of: self.name,
                    value: &entry.node.value,
                    place: &entry.node.place,
                }),
                _ => {
                    let given: Vec<_> = entries.iter().map(|entry| entry.key.clone()).collect();
                    // A key that is no alternative at all is the likelier mistake.
                    match entries.iter().find(|entry| !names.contains(&entry.key.as_str())) {
                        Some(entry) => {
                            Err(Fault::unknown_variant(&entry.key, names).or_at(&entry.key_place, self.name))
                        }
                        None => {
                            let place = entries.last().map_or(self.place, |entry| &entry.key_place);
                            Err(Fault::new(Kind::NotOne { given, names }).or_at(place, self.name))
                        }
                    }
                }
            },
            _ => return self.deserialize_any(visitor),
        };
        visitor.visit_enum(alternative?).map_err(|fault| fault.or_at(self.place, self.name))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple_struct identifier ignored_any
    }
}

struct List<'de> {
    nodes: std::slice::Iter<'de, Node>,
    name: &'de str,
}

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.nodes.next() else { return Ok(None) };
        let field = Field { value: &node.value, place: &node.place, name: self.name };
        seed.deserialize(field).map(Some).map_err(|fault| fault.or_at(&node.place, self.name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len())
    }
}

struct Table<'de> {
    entries: std::slice::Iter<'de, Entry>,
    pending: Option<&'de Entry>,
    name: &'de str,
}

impl<'de> MapAccess<'de> for Table<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.entries.next() else { return Ok(None) };
        self.pending = Some(entry);
        let key = IntoDeserializer::<Fault>::into_deserializer(entry.key.as_str());
        seed.deserialize(key).map(Some).map_err(|fault| fault.or_at(&entry.key_place, self.name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let Some(entry) = self.pending.take() else {
            return Err(Fault::custom("a value was asked for before its key"));
        };
        // An error without a place by now (from a conversion) is about this value.
        seed.deserialize(Field::below(entry)).map_err(|fault| fault.or_at(&entry.node.place, &entry.key))
    }
}

/// One alternative, chosen by its name.
struct Alternative<'de> {
    name: &'de str,
    name_place: &'de Place,
    of: &'de str,
    value: &'de Value,
    place: &'de Place,
}

impl<'de> EnumAccess<'de> for Alternative<'de> {
    type Error = Fault;
    type Variant = Field<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Field<'de>), Fault> {
        let name = IntoDeserializer::<Fault>::into_deserializer(self.name);
        let chosen = seed.deserialize(name).map_err(|fault| fault.or_at(self.name_place, self.of))?;
        Ok((chosen, Field { value: self.value, place: self.place, name: self.name }))
    }
}

impl<'de> VariantAccess<'de> for Field<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.value {
            Value::Table(entries) if entries.is_empty() => Ok(()),
            _ => {
                let expected = format!("the bare name \"{}\": it has no parameters", self.name);
                Err(Fault::new(Kind::WrongType { found: "more".into(), expected }).or_at(self.place, self.name))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        // A conversion may refuse a value, and its error has no place.
        seed.deserialize(self).map_err(|fault| fault.or_at(self.place, self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_any(visitor)
    }
}
