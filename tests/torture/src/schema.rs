//! The JSON Schema of scenarios, and the walk of a scenario along it.
//!
//! A campaign must reach every **place**: a key of a type, `RedConfig.limit`, or one of several alternatives,
//! `QueueSpec:red`. A **pointer** (RFC 6901) is the position of a value in one scenario: `/flows/0/name`.

use std::collections::{BTreeMap, BTreeSet};

use forebay_scenario::json_schema;
use serde_json::Value;

/// The schema of scenarios.
pub struct Schema(Value);

/// One way to write a value.
#[derive(Clone, Copy)]
pub enum Form<'s> {
    /// Just this.
    Constant(&'s Value),
    /// Whatever this schema allows.
    Schema(&'s Value),
}

/// A value's place and its schema, which stands where the key does, so that it has the key's default.
#[derive(Clone)]
pub struct Spot<'s> {
    pub place: String,
    pub schema: &'s Value,
}

impl Schema {
    pub fn of_scenarios() -> Self {
        Self(serde_json::from_str(&json_schema()).expect("the schema is JSON"))
    }

    /// The schema of the whole file, and its place.
    pub fn root(&self) -> Spot<'_> {
        Spot { place: "Scenario".into(), schema: &self.0 }
    }

    /// The target of a schema's reference, perhaps over others, with the name of its type; itself if it is none.
    pub fn resolve<'s>(&'s self, mut schema: &'s Value) -> (Option<&'s str>, &'s Value) {
        let mut last = None;
        while let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            (last, schema) = (Some(name), self.definition(name));
        }
        (last, schema)
    }

    pub fn definition(&self, name: &str) -> &Value {
        &self.0["$defs"][name]
    }

    /// Everything that can be reached from the root.
    pub fn places(&self) -> BTreeSet<String> {
        let mut places = BTreeSet::new();
        let mut waiting = vec![self.root()];
        while let Some(Spot { place, schema }) = waiting.pop() {
            let (name, schema) = self.resolve(schema);
            let owner = name.unwrap_or(&place);
            let forms = forms(schema);
            for (label, form) in &forms {
                let place = if forms.len() > 1 { format!("{owner}:{label}") } else { place.clone() };
                let new = forms.len() == 1 || places.insert(place.clone());
                if let (true, Form::Schema(schema)) = (new, form) {
                    waiting.push(Spot { place, schema });
                }
            }
            for (key, schema) in properties(schema) {
                let place = below(owner, key);
                if places.insert(place.clone()) || owner.contains(':') {
                    waiting.push(Spot { place, schema });
                }
            }
            if schema["items"].is_object() {
                waiting.push(Spot { place: format!("{place}[]"), schema: &schema["items"] });
            }
        }
        places
    }

    /// All values of a scenario, by their pointers; and the places that it reaches.
    pub fn walk(&self, scenario: &Value) -> (BTreeMap<String, Spot<'_>>, BTreeSet<String>) {
        let mut walk = Walk { schema: self, spots: BTreeMap::new(), reached: BTreeSet::new() };
        walk.visit(self.root(), scenario, "");
        (walk.spots, walk.reached)
    }

    /// Whether `value` may match that schema, by a superficial check.
    pub fn fits(&self, schema: &Value, value: &Value) -> bool {
        let (_, schema) = self.resolve(schema);
        let forms = forms(schema);
        if !forms.is_empty() {
            return forms.iter().any(|(_, form)| match form {
                Form::Constant(constant) => *constant == value,
                Form::Schema(schema) => self.fits(schema, value),
            });
        }
        match value {
            Value::Object(map) => {
                let required = schema["required"].as_array().into_iter().flatten();
                is_type(schema, "object")
                    && required.filter_map(Value::as_str).all(|key| map.contains_key(key))
                    && map.keys().all(|key| schema["properties"][key].is_object())
            }
            Value::String(text) => is_type(schema, "string") && matches_pattern(schema, text),
            Value::Array(_) => is_type(schema, "array"),
            Value::Bool(_) => is_type(schema, "boolean"),
            Value::Number(number) => is_type(schema, "number") || (number.is_i64() && is_type(schema, "integer")),
            Value::Null => false,
        }
    }
}

struct Walk<'s> {
    schema: &'s Schema,
    spots: BTreeMap<String, Spot<'s>>,
    reached: BTreeSet<String>,
}

impl<'s> Walk<'s> {
    fn visit(&mut self, spot: Spot<'s>, value: &Value, pointer: &str) {
        // For the value of an alternative the outermost schema is kept, from which the value can be drawn again.
        self.spots.entry(pointer.to_owned()).or_insert_with(|| spot.clone());
        let Spot { place, schema } = spot;
        let (name, schema) = self.schema.resolve(schema);
        let owner = name.unwrap_or(&place);
        let forms = forms(schema);
        for (label, form) in &forms {
            let fits = match form {
                Form::Constant(constant) => *constant == value,
                Form::Schema(schema) => self.schema.fits(schema, value),
            };
            if !fits {
                continue;
            }
            let place = if forms.len() > 1 { format!("{owner}:{label}") } else { place.clone() };
            if forms.len() > 1 {
                self.reached.insert(place.clone());
            }
            if let Form::Schema(schema) = form {
                self.visit(Spot { place, schema }, value, pointer);
            }
            return;
        }
        if let Value::Object(map) = value {
            for (key, value) in map {
                let place = below(owner, key);
                self.reached.insert(place.clone());
                self.visit(Spot { place, schema: &schema["properties"][key] }, value, &format!("{pointer}/{key}"));
            }
        }
        if let Value::Array(items) = value {
            for (index, value) in items.iter().enumerate() {
                let spot = Spot { place: format!("{place}[]"), schema: &schema["items"] };
                self.visit(spot, value, &format!("{pointer}/{index}"));
            }
        }
    }
}

/// The alternatives of a schema with their labels, without the null that a file cannot write; none if it has none.
pub fn forms(schema: &Value) -> Vec<(String, Form<'_>)> {
    if let Some(constant) = schema.get("const") {
        return vec![(label(schema), Form::Constant(constant))];
    }
    if let Some(constants) = schema["enum"].as_array() {
        return constants.iter().map(|constant| (constant.to_string(), Form::Constant(constant))).collect();
    }
    let alternatives = schema["oneOf"].as_array().or(schema["anyOf"].as_array()).into_iter().flatten();
    let written = alternatives.filter(|one| one["type"] != "null");
    written
        .flat_map(|one| {
            let constants = if one["oneOf"].is_array() { Vec::new() } else { forms(one) };
            if constants.is_empty() { vec![(label(one), Form::Schema(one))] } else { constants }
        })
        .collect()
}

/// The name of an alternative: its constant, its one key, its type.
fn label(schema: &Value) -> String {
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(path) = schema["$ref"].as_str() {
        return path.trim_start_matches("#/$defs/").to_owned();
    }
    let key = schema["required"].get(0).and_then(Value::as_str);
    key.or(schema["type"].as_str()).unwrap_or_default().to_owned()
}

/// The place of a key of a type; the one key of an alternative has that of the alternative.
fn below(owner: &str, key: &str) -> String {
    if owner.contains(':') { owner.to_owned() } else { format!("{owner}.{key}") }
}

pub fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"].as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

pub fn is_required(schema: &Value, key: &str) -> bool {
    schema["required"].as_array().is_some_and(|keys| keys.iter().any(|required| required == key))
}

pub fn is_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(types) => types.iter().any(|one| one == name),
        one => one == name,
    }
}

/// Whether the end of a text, mostly its unit, may be one of its pattern's.
fn matches_pattern(schema: &Value, text: &str) -> bool {
    schema["pattern"]
        .as_str()
        .is_none_or(|pattern| text.ends_with(|last: char| last.is_ascii_digit() || pattern.contains(last)))
}
