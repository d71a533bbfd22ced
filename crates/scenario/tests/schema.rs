//! The JSON Schema and the catalogue: made from the source, complete, and in step with the file that editors read.

use forebay_scenario::{Choice, choices, json_schema};
use serde_json::Value;

#[test]
fn the_file_of_the_schema_is_what_the_source_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/forebay/scenario.schema.json");
    let file = std::fs::read_to_string(path).unwrap_or_default();
    assert!(file == json_schema(), "python/forebay/scenario.schema.json is out of date; run: cargo xtask generate");
}

#[test]
fn every_reference_of_the_schema_has_its_definition() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let mut found = Vec::new();
    references(&schema, &mut found);
    assert!(found.len() > 20);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(schema.pointer(pointer).is_some(), "{reference}");
    }
}

#[test]
fn every_key_of_the_schema_is_explained() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value));
    for (type_name, definition) in definitions.chain([("Scenario", &schema)]) {
        assert!(definition["description"].is_string(), "{type_name} has no description");
        for (key, property) in definition["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{type_name}.{key} has no description");
        }
    }
}

#[test]
fn every_choice_has_its_manual() {
    for choice in choices() {
        let Choice { kind, name, summary, sections, parameters, .. } = &choice;
        assert!(!summary.is_empty() && summary.len() < 200, "{kind} {name}: {summary}");
        // A state machine has a section of its own.
        let headings: Vec<&str> =
            sections.iter().map(|(heading, _)| heading.as_str()).filter(|heading| *heading != "States").collect();
        // A choice with its own source file names its source; the schema describes the rest.
        let expected: &[&str] = if headings.contains(&"Source") {
            &["What it does", "When to use it", "Example", "Source", "Where we differ"]
        } else {
            &["What it does", "Example"]
        };
        assert!(headings.starts_with(expected), "{kind} {name}: {headings:?}");
        let documented = matches!(*kind, "discipline" | "scheduler" | "scheme");
        assert!(headings.contains(&"Source") || !documented, "{kind} {name}");
        assert!(
            choice.state().is_some_and(|state| state.len() < 120) || !documented,
            "{kind} {name}: {:?}",
            choice.state()
        );
        assert!(choice.when_to_use().is_none_or(|line| line.len() < 160 && line.ends_with('.')), "{kind} {name}");
        assert!(
            matches!(*kind, "scheduler" | "path policy" | "buffer policy" | "transport") || !parameters.is_empty(),
            "{kind} {name}"
        );
        for parameter in parameters {
            assert!(!parameter.description.is_empty(), "{kind} {name}: {}", parameter.name);
            assert_ne!(parameter.takes, "value", "{kind} {name}: {}", parameter.name);
        }
    }
}

#[test]
fn an_example_keeps_its_lines() {
    let section = |wanted: &str, heading: &str| {
        let choice = choices().into_iter().find(|choice| choice.name == wanted).unwrap();
        choice.sections.into_iter().find(|(name, _)| name == heading).unwrap().1
    };
    let python = section("python", "Example");
    assert!(python.contains("\n```python short.py\nimport forebay as fb\n\n\nclass ShortQueue"), "{python}");
    assert!(python.contains("\n    def admit(self, queue_packets):\n        return "), "{python}");
    let star = section("star", "Example");
    assert!(star.contains("\n```toml\nduration = \"10 s\"\nwarmup = \"2 s\"\n\n[topology.star]\n"), "{star}");
}

#[test]
fn what_explain_says_of_red() {
    let red = choices().into_iter().find(|choice| choice.name == "red").unwrap();
    let mut text = format!("{}: {}\n", red.name, red.summary);
    for (heading, section) in &red.sections {
        text += &format!("\n{heading}\n{section}\n");
    }
    for parameter in &red.parameters {
        let default = parameter.default.as_deref().unwrap_or("-");
        text +=
            &format!("\n{} ({}, default {default})\n    {}", parameter.name, parameter.takes, parameter.description);
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_choices_and_what_they_take() {
    let mut text = String::new();
    for choice in choices() {
        text += &format!("{} {}: {}\n", choice.kind, choice.name, choice.summary);
        for parameter in &choice.parameters {
            let default = match (&parameter.default, parameter.required) {
                (Some(default), _) => default.as_str(),
                (None, true) => "required",
                (None, false) => "none",
            };
            text += &format!("    {}: {} [{default}]\n", parameter.name, parameter.takes);
        }
    }
    insta::assert_snapshot!(text);
}
