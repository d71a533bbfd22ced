//! The text as a tree in which every key and value has its place, so that any fault found
//! later can be shown there.

use std::ops::Range;

use serde::ser::{Serialize, SerializeMap, Serializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Problem;
use crate::not_toml::not_toml;
use crate::printable::unprintable;

/// The place of something: a text, and a range of bytes in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// 0 is the file, n the n-th override.
    pub text: usize,
    /// Bytes of that text.
    pub span: Range<usize>,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A TOML value. Dates are text: no key takes one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub key_place: Place,
    pub node: Node,
}

/// A step of the way from the root of a TOML text to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// A key of a table.
    Key(String),
    /// An element of a list, from 0.
    Index(usize),
}

/// The way from the root to a value: `topology.star.bottleneck.rate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(pub(crate) Vec<PathStep>);

impl Path {
    /// This path and one key more; a dot in `key` makes it several.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.extend(key.split('.').map(|part| PathStep::Key(part.to_owned())));
        Self(steps)
    }

    /// This path and an element of the list there.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(PathStep::Index(index));
        Self(steps)
    }

    /// This path and one as in an override, `"cbq.classes.1.queue.red.limit"`, in which elements of lists have numbers,
    /// from 0.
    #[must_use]
    pub fn below(&self, keys: &str) -> Self {
        let step = |part: &str| part.parse().map_or_else(|_| PathStep::Key(part.to_owned()), PathStep::Index);
        Self(self.0.iter().cloned().chain(keys.split('.').map(step)).collect())
    }

    /// The last key, for messages; at the root nothing.
    #[must_use]
    pub fn name(&self) -> &str {
        let is_key = |step: &&PathStep| matches!(step, PathStep::Key(_));
        match self.0.iter().rev().find(is_key) {
            Some(PathStep::Key(name)) => name,
            _ => "",
        }
    }
}

impl Node {
    /// Reads the whole text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let root = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            not_toml(text, span, error.message())
        })?;
        // Errors about the root itself (a missing key) point at the start of the file rather than at all of it.
        Self::table(root.into_inner(), Place::default(), &|span| Place { text: 0, span })
    }

    /// Reads one value, as on the right of a `=`; `place` gives the place of a span of `text`.
    pub(crate) fn parse_value(text: &str, place: &dyn Fn(Range<usize>) -> Place) -> Option<Self> {
        DeValue::parse(text).ok().and_then(|value| Self::value(value, place).ok())
    }

    fn value(value: Spanned<DeValue<'_>>, place: &dyn Fn(Range<usize>) -> Place) -> Result<Self, Problem> {
        let at = place(value.span());
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(integer) => Value::Integer(integer),
                Err(_) => return Err(Problem::at(at, "this number has too many digits".into(), "too large")),
            },
            DeValue::Float(float) => match float.as_str().parse() {
                Ok(float) => Value::Float(float),
                Err(_) => return Err(Problem::at(at, "this is not a number".into(), "here")),
            },
            DeValue::Boolean(boolean) => Value::Boolean(boolean),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(list) => {
                Value::List(list.into_iter().map(|element| Self::value(element, place)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => return Self::table(table, at, place),
        };
        Ok(Self { value, place: at })
    }

    fn table(table: DeTable<'_>, at: Place, place: &dyn Fn(Range<usize>) -> Place) -> Result<Self, Problem> {
        let mut entries = table
            .into_iter()
            .map(|(key, value)| {
                let key_place = place(key.span());
                Ok(Entry { key: key.into_inner().into_owned(), key_place, node: Self::value(value, place)? })
            })
            .collect::<Result<Vec<_>, Problem>>()?;
        // In the order of the text, so that of two errors the upper one is shown.
        entries.sort_by_key(|entry| entry.key_place.span.start);
        Ok(Self { value: Value::Table(entries), place: at })
    }

    /// The place of the value at `path`, or else of its nearest existing ancestor: a default has no place.
    pub(crate) fn place_of(&self, path: &Path) -> &Place {
        let mut node = self;
        for step in &path.0 {
            let below = match (&node.value, step) {
                (Value::Table(entries), PathStep::Key(key)) => {
                    entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.node)
                }
                (Value::List(nodes), PathStep::Index(index)) => nodes.get(*index),
                _ => None,
            };
            match below {
                Some(below) => node = below,
                // A single value in place of a list, a bare name in place of a table: it represents the values below.
                None if matches!(node.value, Value::Table(_)) => break,
                None => {}
            }
        }
        &node.place
    }

    /// The place of the value at `path`, or of its key, or else of the nearest thing above it that there is.
    pub(crate) fn place_at(&self, path: &[PathStep], at_key: bool) -> &Place {
        let (mut node, mut place) = (self, &self.place);
        for (index, step) in path.iter().enumerate() {
            let below = match (&node.value, step) {
                (Value::Table(entries), PathStep::Key(key)) => entries
                    .iter()
                    .find(|entry| entry.key == *key)
                    .map(|entry| (&entry.node, if at_key { &entry.key_place } else { &entry.node.place })),
                (Value::List(nodes), PathStep::Index(index)) => nodes.get(*index).map(|node| (node, &node.place)),
                _ => None,
            };
            let Some((next, next_place)) = below else { break };
            let is_last = index + 1 == path.len();
            (node, place) = (next, if is_last { next_place } else { &next.place });
        }
        place
    }

    /// The tree as TOML text, with all overrides.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Checks that every text in the value of `key` can be printed: names are used in tables, messages and file names.
    /// A description may have several lines.
    pub(crate) fn check_texts(&self, key: &str) -> Result<(), Problem> {
        match &self.value {
            Value::Text(text) => {
                let breaks: &[char] = if key == "description" { &['\n', '\r', '\t'] } else { &[] };
                let Some(c) = text.split(breaks).find_map(unprintable) else { return Ok(()) };
                let message = format!("`{key}` has a character that cannot be printed: U+{:04X}", u32::from(c));
                Err(Problem::at(self.place.clone(), message, "expected letters, digits, punctuation and spaces"))
            }
            Value::List(nodes) => nodes.iter().try_for_each(|node| node.check_texts(key)),
            Value::Table(entries) => entries.iter().try_for_each(|entry| entry.node.check_texts(&entry.key)),
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Date(_) => Ok(()),
        }
    }

    fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// Its position in a table: values first, then lists of tables, then tables, as TOML requires.
    fn rank(&self) -> u8 {
        match &self.value {
            Value::List(nodes) if nodes.iter().any(Self::is_table) => 1,
            Value::Table(_) => 2,
            _ => 0,
        }
    }
}

/// The tree without its places. The type of `toml` for values would do, if its integers were not signed: a seed may
/// have all 64 bits.
impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Text(text) | Value::Date(text) => serializer.serialize_str(text),
            Value::Integer(integer) => serializer.serialize_i128(*integer),
            Value::Float(float) => serializer.serialize_f64(*float),
            Value::Boolean(boolean) => serializer.serialize_bool(*boolean),
            Value::List(nodes) => serializer.collect_seq(nodes),
            Value::Table(entries) => {
                let mut sorted: Vec<&Entry> = entries.iter().collect();
                sorted.sort_by_key(|entry| (entry.node.rank(), &entry.key));
                let mut map = serializer.serialize_map(Some(sorted.len()))?;
                for entry in sorted {
                    map.serialize_entry(&entry.key, &entry.node)?;
                }
                map.end()
            }
        }
    }
}
