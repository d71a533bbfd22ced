//! A queue as TOML, without the values that it has by default.

use serde_json::{Map, Value, json};

use forebay_qdisc::config::QueueSpec;

/// A line no longer than this holds a table; a longer table is written key by key.
const WIDTH: usize = 100;

/// The lines of the key `queue`.
pub(super) fn queue(queue: &QueueSpec) -> Vec<String> {
    let Some((name, table)) = described(queue) else { return Vec::new() };
    if table.is_empty() {
        return vec![format!("queue = \"{name}\"")];
    }
    let line = format!("queue.{name} = {}", inline(&Value::Object(table.clone())));
    if line.len() <= WIDTH && !table.values().any(is_list_of_tables) {
        return vec![line];
    }
    let mut lines = Vec::new();
    for (key, value) in &table {
        match value {
            Value::Array(items) if is_list_of_tables(value) => {
                lines.push(format!("queue.{name}.{key} = ["));
                lines.extend(items.iter().map(|item| format!("    {},", inline(item))));
                lines.push("]".to_owned());
            }
            _ => lines.push(format!("queue.{name}.{key} = {}", inline(value))),
        }
    }
    lines
}

/// The name of the discipline, and its parameters that differ from its defaults.
fn described(queue: &QueueSpec) -> Option<(String, Map<String, Value>)> {
    let value = serde_json::to_value(queue).ok()?;
    let (name, parameters) = value.as_object()?.iter().next()?;
    Some((name.clone(), pruned(parameters.as_object()?, &defaults(name))))
}

/// The parameters that a discipline has by default. Some need lists.
fn defaults(name: &str) -> Map<String, Value> {
    let tables = [json!({}), json!({ "classes": [] }), json!({ "classes": [], "schedule": [] })];
    let read = tables.into_iter().find_map(|table| {
        let queue: QueueSpec = serde_json::from_value(json!({ name: table })).ok()?;
        serde_json::to_value(queue).ok()
    });
    let parameters = read.as_ref().and_then(|value| value.get(name)).and_then(Value::as_object);
    parameters.cloned().unwrap_or_default()
}

/// A table without what is missing or as in `defaults`.
fn pruned(table: &Map<String, Value>, defaults: &Map<String, Value>) -> Map<String, Value> {
    let is_given = |(key, value): &(&String, &Value)| !value.is_null() && defaults.get(*key) != Some(*value);
    table.iter().filter(is_given).map(|(key, value)| (key.clone(), entry(key, value))).collect()
}

/// The value of a key: a queue in it is described as one.
fn entry(key: &str, value: &Value) -> Value {
    match value {
        Value::Object(table) if key == "queue" => match table.iter().next() {
            Some((name, Value::Object(parameters))) => {
                let given = pruned(parameters, &defaults(name));
                if given.is_empty() { json!(name) } else { json!({ name: given }) }
            }
            _ => value.clone(),
        },
        Value::Array(items) => Value::Array(items.iter().map(element).collect()),
        _ => value.clone(),
    }
}

/// An element of a list: a class, a band. An empty list of traffic classes is the default.
fn element(item: &Value) -> Value {
    let Value::Object(table) = item else { return item.clone() };
    let empty = Map::from_iter([("classes".to_owned(), json!([]))]);
    Value::Object(pruned(table, &empty))
}

fn is_list_of_tables(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().any(Value::is_object))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(table) if table.is_empty() => "{}".to_owned(),
        Value::Object(table) => {
            let pairs: Vec<_> = table.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::String(text) => toml::Value::from(text.as_str()).to_string(),
        other => other.to_string(),
    }
}
