//! The data of a generator in addition to the schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Read from `guidance.toml`, which says what each table is.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guidance {
    only_with: BTreeMap<String, Vec<String>>,
    mostly: BTreeSet<String>,
    exactly_one: BTreeMap<String, Vec<String>>,
    items: BTreeMap<String, [usize; 2]>,
    names: BTreeMap<String, String>,
    references: BTreeMap<String, String>,
    start: BTreeMap<String, Value>,
    samples: BTreeMap<String, Vec<Value>>,
    extremes: BTreeMap<String, Vec<Value>>,
}

impl Guidance {
    pub fn read() -> Self {
        toml::from_str(include_str!("guidance.toml")).expect("the guidance is well-formed")
    }

    /// Whether the place goes with the topology; with any, as long as there is none.
    pub fn allows(&self, place: &str, topology: &str) -> bool {
        topology.is_empty() || self.only_with.get(place).is_none_or(|with| with.iter().any(|one| one == topology))
    }

    pub fn is_mostly_there(&self, place: &str) -> bool {
        self.mostly.contains(place)
    }

    pub fn one_of(&self, type_name: &str) -> Option<&[String]> {
        self.exactly_one.get(type_name).map(Vec::as_slice)
    }

    pub fn items(&self, place: &str) -> Option<[usize; 2]> {
        self.items.get(place).copied()
    }

    /// The kind of name that is given at the place.
    pub fn gives(&self, place: &str) -> Option<&str> {
        self.names.get(place).map(String::as_str)
    }

    /// The kind of name that the place refers to.
    pub fn refers_to(&self, place: &str) -> Option<&str> {
        self.references.get(place).map(String::as_str)
    }

    /// The replacement for a default if the schema has none.
    pub fn start(&self, place: &str) -> &Value {
        self.start.get(place).unwrap_or(&Value::Null)
    }

    pub fn samples(&self, place: &str) -> Option<&[Value]> {
        self.samples.get(place).map(Vec::as_slice)
    }

    /// The extreme values of a type of quantities.
    pub fn extremes(&self, type_name: &str) -> Option<&[Value]> {
        self.extremes.get(type_name).map(Vec::as_slice)
    }

    /// Every place that is named here, to be held against the schema.
    #[cfg(test)]
    pub fn places(&self) -> impl Iterator<Item = &str> {
        let of_tables = self.only_with.keys().chain(self.samples.keys()).chain(self.start.keys());
        let of_names = [self.names.keys(), self.references.keys()].into_iter().flatten();
        of_tables.chain(of_names).chain(self.mostly.iter()).chain(self.items.keys()).map(String::as_str)
    }
}
