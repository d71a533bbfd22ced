//! The choices to list and explain: disciplines, schedulers, schemes of congestion management, path and buffer
//! policies, transports and topologies, each with its parameters.
//!
//! Nothing is written twice: a discipline's text is the opening comment of its source file, its parameters are those of
//! its configuration.

use forebay_rdma::{HomaConfig, NdpConfig, PfabricConfig, RoceConfig, UecConfig};
use forebay_switching::{buffer, paths};
use forebay_tcp::TcpConfig;
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::schema::{
    Algorithm, Cells, Frames, SCHEDULERS, SCHEMES, ScenarioSpec, Topology, Transport, Udp, disciplines, rdma_variants,
    tcp_variants, topologies,
};

/// Something that a scenario can choose by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// `"discipline"`, `"scheduler"`, `"scheme"`, `"path policy"`, `"buffer policy"`, `"transport"` or `"topology"`.
    pub kind: &'static str,
    /// Its name in a scenario.
    pub name: String,
    /// The table of the guide's list in which it is; only disciplines have one.
    pub group: Option<&'static str>,
    /// One sentence.
    pub summary: String,
    /// Headings and texts, in Markdown: "What it does", "When to use it", "Example".
    pub sections: Vec<(String, String)>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl Choice {
    /// When to use it, in one sentence, if its manual says so.
    #[must_use]
    pub fn when_to_use(&self) -> Option<&str> {
        self.section("When to use it").map(first_sentence)
    }

    /// Its memory, in one sentence, if its manual has one.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.section("Cost").map(first_sentence)
    }

    /// Whether each of its own parameters has a default, so that the bare name is enough.
    #[must_use]
    pub fn has_defaults(&self) -> bool {
        !self.parameters.iter().any(|parameter| parameter.required && !parameter.name.contains(['.', '[']))
    }

    fn section(&self, wanted: &str) -> Option<&str> {
        self.sections.iter().find(|(heading, _)| heading == wanted).map(|(_, text)| text.as_str())
    }
}

fn first_sentence(text: &str) -> &str {
    text.split_inclusive(". ").next().unwrap_or(text).trim()
}

/// A parameter of a [`Choice`].
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its key; below a table `table.key`, below a list of tables `list[].key`.
    pub name: String,
    /// Its values, in words: `"time"`, `"number"`, `"true or false"`.
    pub takes: String,
    /// Its default as TOML; `None` if it must be given or is absent by default.
    pub default: Option<String>,
    /// Whether it must be given.
    pub required: bool,
    /// Its meaning.
    pub description: String,
}

/// The JSON Schema of a scenario file, for editors and for the generated Python types.
#[must_use]
pub fn json_schema() -> String {
    let mut schema = generator().into_root_schema_for::<ScenarioSpec>().to_value();
    unwrap_lines(&mut schema);
    let text = serde_json::to_string_pretty(&schema);
    text.unwrap_or_else(|_| unreachable!("a JSON value without maps of odd keys is always text")) + "\n"
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

/// Comments are broken into lines by the width of a source file, which is nothing to an editor or a terminal.
fn unwrap_lines(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(text)) = map.get_mut("description") {
                *text = unwrapped(text);
            }
            map.values_mut().for_each(unwrap_lines);
        }
        Value::Array(values) => values.iter_mut().for_each(unwrap_lines),
        _ => {}
    }
}

/// Begins and ends a block of code in Markdown.
const FENCE: &str = "```";

/// Joins the lines of each paragraph. List items stay lines of their own, and fenced code stays as it is.
fn unwrapped(text: &str) -> String {
    let mut out = String::new();
    let mut in_fence = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with(FENCE);
        let (verbatim, after_fence) = (fence || in_fence, out.ends_with(FENCE));
        in_fence ^= fence;
        let line = if verbatim { line.trim_end() } else { line.trim() };
        let begins = verbatim || after_fence || line.is_empty() || line.starts_with("- ");
        let joins = !out.is_empty() && !out.ends_with('\n') && !begins;
        if joins {
            out.push(' ');
        } else if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
    }
    out
}

/// The example of something that has no source file of its own.
macro_rules! example {
    ($name:literal) => {
        include_str!(concat!("schema/examples/", $name, ".toml"))
    };
}

/// Everything that can be listed: disciplines, schedulers, schemes, path and buffer policies, transports, topologies.
#[must_use]
pub fn choices() -> Vec<Choice> {
    let documented = |kind: &'static str, algorithms: &[Algorithm]| -> Vec<Choice> {
        algorithms.iter().map(|algorithm| algorithm_choice(kind, algorithm, None)).collect()
    };
    let mut choices: Vec<Choice> =
        disciplines().map(|(discipline, group)| algorithm_choice("discipline", &discipline, Some(group))).collect();
    choices.extend(documented("scheduler", SCHEDULERS));
    choices.extend(documented("scheme", SCHEMES));
    for (kind, pages) in [("path policy", paths::PAGES), ("buffer policy", buffer::PAGES)] {
        choices.extend(pages.iter().map(|&page| algorithm_choice(kind, &page.into(), None)));
    }
    choices.extend([
        described::<Transport, TcpConfig>("transport", "tcp", example!("tcp")),
        described::<Transport, UecConfig>("transport", "uec", example!("uec")),
        described::<Transport, NdpConfig>("transport", "ndp", example!("ndp")),
        described::<Transport, HomaConfig>("transport", "homa", example!("homa")),
        described::<Transport, PfabricConfig>("transport", "pfabric", example!("pfabric")),
        described::<Transport, RoceConfig>("transport", "roce", example!("roce")),
        described::<Transport, Udp>("transport", "udp", example!("udp")),
        described::<Transport, Cells>("transport", "cells", example!("cells")),
        described::<Transport, Frames>("transport", "frames", example!("frames")),
    ]);
    choices.extend(tcp_variants().map(|variant| algorithm_choice("transport", &variant, None)));
    choices.extend(rdma_variants().map(|(prefix, variant)| {
        let choice = algorithm_choice("transport", &variant, None);
        // TCP and Ethernets have algorithms with some of these names.
        Choice { name: format!("{prefix}_{}", choice.name), ..choice }
    }));
    macro_rules! described_topologies {
        ($($(#[$_doc:meta])+ $_variant:ident($table:ident) = $name:literal;)+) => {
            [$(described::<Topology, crate::schema::$table>(
                "topology", $name, &example_in(include_str!(concat!("plan/", $name, ".rs")))
            )),+]
        };
    }
    choices.extend(topologies!(described_topologies));
    choices
}

/// Heading of the section with an example.
const EXAMPLE: &str = "Example";

/// Where the example of a choice of this kind belongs in a scenario.
fn place(kind: &str) -> &'static str {
    match kind {
        "discipline" => "In the table of a link, such as `[topology.star.bottleneck]`:",
        "scheduler" => "In the table of a switch, `[topology.switch]`:",
        "scheme" => "In the table of an Ethernet, `[topology.ethernet]`:",
        "path policy" => "In the table of a graph, `[topology.graph]`, or of an Ethernet, `[topology.ethernet]`:",
        "buffer policy" => "In the table of an Ethernet, `[topology.ethernet]`:",
        "transport" => "In the table of a group of flows, `[[flows]]`:",
        _ => "A scenario:",
    }
}

/// An algorithm with a source file of its own.
fn algorithm_choice(kind: &'static str, algorithm: &Algorithm, group: Option<&'static str>) -> Choice {
    let (summary, mut sections) = manual(algorithm.source);
    for (_, text) in sections.iter_mut().filter(|(heading, _)| heading == EXAMPLE) {
        *text = format!("{}\n\n{text}", place(kind));
    }
    let parameters = parameters(algorithm.parameters);
    Choice { kind, name: algorithm.name.to_owned(), group, summary, sections, parameters }
}

/// The alternative `name` of `Of`, with the parameters `T`; its text is the longer one of the alternative's and the
/// type's comment.
fn described<Of: JsonSchema, T: JsonSchema>(kind: &'static str, name: &str, example: &str) -> Choice {
    let alternatives = Of::json_schema(&mut generator()).to_value();
    let alternative =
        alternatives["oneOf"].as_array().into_iter().flatten().find(|one| one["properties"][name].is_object());
    let own = description(T::json_schema(&mut generator()).as_value());
    let description = alternative.map(description).filter(|text| text.len() > own.len()).unwrap_or(own);
    let summary = first_sentence(&description).to_owned();
    let example = format!("{}\n\n{FENCE}toml\n{}\n{FENCE}", place(kind), example.trim_end());
    let sections = vec![("What it does".to_owned(), description), (EXAMPLE.to_owned(), example)];
    Choice { kind, name: name.to_owned(), group: None, summary, sections, parameters: parameters(T::json_schema) }
}

/// Summary and sections of a source file's opening comment. The section on parameters only refers to the type: its
/// contents are in [`Choice::parameters`].
fn manual(source: &str) -> (String, Vec<(String, String)>) {
    let comment = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim_end);
    let mut summary = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut in_fence = false;
    for line in comment {
        let line = line.strip_prefix(' ').unwrap_or(line);
        in_fence ^= line.starts_with(FENCE);
        // In code, this is a comment.
        let heading = line.strip_prefix("# ").filter(|_| !in_fence);
        match (heading, sections.last_mut()) {
            (Some(heading), _) => sections.push((heading.to_owned(), String::new())),
            (None, Some((_, text))) => push_line(text, line),
            (None, None) => push_line(&mut summary, line),
        }
    }
    let sections = sections
        .into_iter()
        .map(|(heading, text)| (heading, unwrapped(text.trim())))
        .map(|(heading, text)| {
            let reference = text.starts_with("See [`");
            let text = if reference { text.split_once(". ").map_or("", |(_, rest)| rest).to_owned() } else { text };
            (heading, text.replace("[`", "`").replace("`]", "`").replace("`crate::", "`"))
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    (unwrapped(summary.trim()), sections)
}

/// The lines of the example in a source file's opening comment.
fn example_in(source: &str) -> String {
    let (_, sections) = manual(source);
    let example = sections.into_iter().find(|(heading, _)| heading == EXAMPLE).map_or_else(String::new, |it| it.1);
    example.lines().filter(|line| !line.starts_with(FENCE)).fold(String::new(), |text, line| text + line + "\n")
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn parameters(schema: fn(&mut SchemaGenerator) -> Schema) -> Vec<Parameter> {
    let mut generator = generator();
    let schema = schema(&mut generator);
    let mut tables = Tables { definitions: generator.definitions(), explained: Vec::new(), parameters: Vec::new() };
    tables.explain(schema.as_value(), "");
    tables.parameters
}

/// Collects the parameters of a table and of the tables in it, each type of table once.
struct Tables<'a> {
    definitions: &'a Map<String, Value>,
    explained: Vec<&'a str>,
    parameters: Vec<Parameter>,
}

impl<'a> Tables<'a> {
    fn explain(&mut self, table: &Value, prefix: &str) {
        let required = table.get("required").and_then(Value::as_array);
        let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
        for (key, property) in table.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let name = format!("{prefix}{key}");
            self.parameters.push(Parameter {
                name: name.clone(),
                takes: takes(property, self.definitions),
                default: property.get("default").and_then(|value| self.default_text(value, property)),
                required: required.contains(&key.as_str()),
                description: description(property),
            });
            for (below, inner) in tables_in(property, self.definitions) {
                let Some((inner, schema)) = self.definitions.get_key_value(inner) else { continue };
                if !self.explained.contains(&inner.as_str()) {
                    self.explained.push(inner);
                    self.explain(schema, &format!("{name}{below}."));
                }
            }
        }
    }
}

impl Tables<'_> {
    /// A default as TOML. That of a table whose keys are listed with theirs is the empty one.
    fn default_text(&self, value: &Value, property: &Value) -> Option<String> {
        let is_table = || tables_in(property, self.definitions).iter().any(|(below, _)| below.is_empty());
        match value {
            Value::Null => None,
            Value::Object(_) if is_table() => Some("{}".to_owned()),
            value => Some(toml_text(value)),
        }
    }
}

/// The types of the tables that a property holds, and what joins their keys to its own: `[]` for the elements of a
/// list.
fn tables_in<'a>(property: &'a Value, definitions: &'a Map<String, Value>) -> Vec<(String, &'a str)> {
    if let Some(name) = property.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next()) {
        let schema = definitions.get(name).filter(|_| NAMED.iter().all(|(named, _)| *named != name));
        return match schema {
            Some(schema) if schema.get("properties").is_some() => vec![(String::new(), name)],
            Some(schema) => tables_in(schema, definitions),
            None => Vec::new(),
        };
    }
    let below = |key: &str, inner: &'a Value| -> Vec<(String, &'a str)> {
        tables_in(inner, definitions).into_iter().map(|(rest, name)| (format!("{key}{rest}"), name)).collect()
    };
    let alternatives = ["anyOf", "oneOf"].into_iter().filter_map(|key| property.get(key)?.as_array()).flatten();
    let chosen = property.get("properties").and_then(Value::as_object).into_iter().flatten();
    alternatives
        .flat_map(|alternative| tables_in(alternative, definitions))
        .chain(property.get("items").into_iter().flat_map(|items| below("[]", items)))
        .chain(chosen.flat_map(|(key, inner)| below(&format!(".{key}"), inner)))
        .collect()
}

fn description(schema: &Value) -> String {
    unwrapped(schema.get("description").and_then(Value::as_str).unwrap_or_default())
}

fn toml_text(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}

/// The values of a schema, in words.
fn takes(schema: &Value, definitions: &Map<String, Value>) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return named(name, definitions);
    }
    let alternatives = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    if let Some(alternatives) = alternatives {
        let mut words: Vec<String> = alternatives
            .iter()
            .filter(|alternative| alternative.get("type") != Some(&"null".into()))
            .map(|alternative| takes(alternative, definitions))
            .collect();
        words.dedup();
        return words.join(" or ");
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    let single = |kind: &str| match kind {
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".into(),
        "string" => "text".into(),
        "array" => match schema.get("items") {
            Some(items) => format!("list of {}", takes(items, definitions)),
            None => "list".into(),
        },
        "object" => "table".into(),
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(kind)) => single(kind),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            kinds.map(single).collect::<Vec<_>>().join(" or ")
        }
        _ => "value".into(),
    }
}

/// Types that have a word of their own, and are explained elsewhere.
const NAMED: &[(&str, &str)] = &[
    ("Span", "time"),
    ("Rate", "rate"),
    ("Bytes", "size"),
    ("QueueSize", "packets or size"),
    ("Reaction", "time or quanta"),
    ("SpanDistribution", "time or distribution"),
    ("SizeDistribution", "size or distribution"),
    ("QueueSpec", "queue"),
    ("CongestionManagement", "scheme"),
];

/// The values of a named type.
fn named(name: &str, definitions: &Map<String, Value>) -> String {
    match NAMED.iter().find(|(named, _)| *named == name) {
        Some((_, words)) => (*words).to_owned(),
        None if name == "LinkSpec" => "link".into(),
        None => definitions.get(name).map_or_else(|| "table".into(), |schema| takes(schema, definitions)),
    }
}
