//! Writes, or checks, the files that are made from the source. These are the JSON Schema of a scenario, the Python
//! types made of it, the reference pages of all choices of a scenario, and the tables of disciplines in the guide.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use forebay_scenario::{Choice, Parameter};
use serde_json::Value;

use crate::guide;

/// Whether the files are written or compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write what has changed.
    Write,
    /// Find what has drifted.
    Check,
}

const SCHEMA: &str = "python/forebay/scenario.schema.json";
const TYPES: &str = "python/forebay/_scenario_types.py";
const REFERENCE: &str = "docs/reference";
const CODE_GENERATOR: &str = ".venv/bin/datamodel-codegen";

/// First line of every generated page; a page without it was written by hand and is left alone.
const GENERATED: &str = "<!-- Generated from the source by `cargo xtask generate`: change it there. -->\n\n";

/// The kinds of choices, the folder of their pages and its title.
const KINDS: &[(&str, &str, &str)] = &[
    ("discipline", "disciplines", "Disciplines"),
    ("scheduler", "schedulers", "Schedulers"),
    ("scheme", "schemes", "Congestion management schemes"),
    ("path policy", "paths", "Path policies"),
    ("buffer policy", "buffers", "Buffer policies"),
    ("transport", "transports", "Transports"),
    ("topology", "topologies", "Topologies"),
];

/// Writes or checks every generated file; when checking, one line for each that has drifted.
pub fn run(root: &Path, mode: Mode) -> Result<Vec<String>> {
    let schema = forebay_scenario::json_schema();
    let choices = forebay_scenario::choices();
    let mut files = pages(&choices);
    files.insert(guide::PAGE.to_owned(), guide_page(root, &choices)?);
    files.insert(TYPES.to_owned(), python_types(root, &schema)?);
    files.insert(SCHEMA.to_owned(), schema);
    let mut findings = Vec::new();
    for (path, text) in &files {
        if std::fs::read_to_string(root.join(path)).is_ok_and(|present| present == *text) {
            continue;
        }
        match mode {
            Mode::Check => findings.push(format!("{path} differs from the source; run: cargo xtask generate")),
            Mode::Write => write(&root.join(path), text)?,
        }
    }
    findings.extend(stale_pages(root, mode, &files)?);
    Ok(findings)
}

fn guide_page(root: &Path, choices: &[Choice]) -> Result<String> {
    let page =
        std::fs::read_to_string(root.join(guide::PAGE)).with_context(|| format!("cannot read {}", guide::PAGE))?;
    guide::filled(&page, choices)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Pages of what is no longer there.
fn stale_pages(root: &Path, mode: Mode, files: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for (_, folder, _) in KINDS {
        let folder = format!("{REFERENCE}/{folder}");
        let Ok(entries) = std::fs::read_dir(root.join(&folder)) else { continue };
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {folder}"))?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            let generated = std::fs::read_to_string(entry.path()).is_ok_and(|text| text.starts_with(GENERATED));
            if files.contains_key(&path) || !generated {
                continue;
            }
            match mode {
                Mode::Check => findings.push(format!("{path} describes what is gone; run: cargo xtask generate")),
                Mode::Write => std::fs::remove_file(entry.path()).with_context(|| format!("cannot remove {path}"))?,
            }
        }
    }
    Ok(findings)
}

/// The reference pages by their paths.
fn pages(choices: &[Choice]) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for (kind, folder, title) in KINDS {
        let of_kind = || choices.iter().filter(|choice| choice.kind == *kind);
        for choice in of_kind() {
            pages.insert(format!("{REFERENCE}/{folder}/{}.md", choice.name), page(choice));
        }
        pages.insert(format!("{REFERENCE}/{folder}/index.md"), index(title, of_kind()));
    }
    pages
}

fn index<'a>(title: &str, choices: impl Iterator<Item = &'a Choice>) -> String {
    let (mut rows, mut tree) = (String::new(), String::new());
    for Choice { name, summary, .. } in choices {
        let _ = writeln!(rows, "| [`{name}`]({name}.md) | {} |", cell(summary));
        let _ = writeln!(tree, "{name}");
    }
    format!("{GENERATED}# {title}\n\n| name | |\n|---|---|\n{rows}\n```{{toctree}}\n:hidden:\n\n{tree}```\n")
}

fn page(choice: &Choice) -> String {
    const PARAMETERS: &str = "Parameters";
    let mut page = format!("{GENERATED}# {}\n\n{}\n", choice.name, choice.summary);
    for (heading, text) in choice.sections.iter().filter(|(heading, _)| heading != PARAMETERS) {
        // The summary of a choice without a manual of its own is the beginning of its only section.
        let _ = write!(page, "\n## {heading}\n\n{}\n", text.strip_prefix(&choice.summary).unwrap_or(text).trim());
    }
    let _ = write!(page, "\n## {PARAMETERS}\n\n");
    if let Some((_, text)) = choice.sections.iter().find(|(heading, _)| heading == PARAMETERS) {
        let _ = write!(page, "{text}\n\n");
    }
    if choice.parameters.is_empty() {
        return page.trim_end().to_owned() + "\n";
    }
    page.push_str("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for parameter in &choice.parameters {
        page.push_str(&row(parameter));
    }
    page
}

fn row(parameter: &Parameter) -> String {
    let Parameter { name, takes, default, required, description } = parameter;
    let default = match default {
        Some(value) => format!("`{value}`"),
        None if *required => "required".to_owned(),
        None => "none".to_owned(),
    };
    format!("| `{name}` | {} | {} | {} |\n", cell(takes), cell(&default), cell(description))
}

/// A text as a table's cell: one line, no bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The schema as pydantic models.
fn python_types(root: &Path, schema: &str) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("forebay-generate-{}", std::process::id()));
    let result = run_code_generator(root, schema, &folder);
    // Nothing to be done about a folder that cannot be removed.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn run_code_generator(root: &Path, schema: &str, folder: &Path) -> Result<String> {
    const OPTIONS: &[&str] = &[
        "--input-file-type=jsonschema",
        "--output-model-type=pydantic_v2.BaseModel",
        "--target-python-version=3.11",
        "--use-schema-description",
        "--use-field-description",
        "--use-standard-collections",
        "--use-union-operator",
        "--use-annotated",
        "--use-double-quotes",
        "--enum-field-as-literal=all",
        "--use-type-alias",
        "--use-title-as-name",
        "--strict-nullable",
        "--allow-population-by-field-name",
        "--disable-timestamp",
        "--class-name=Scenario",
    ];
    if !root.join(CODE_GENERATOR).exists() {
        bail!("{CODE_GENERATOR} is not there; run: make build");
    }
    let (input, output) = (folder.join("scenario.schema.json"), folder.join("types.py"));
    write(&input, &with_titles(schema)?)?;
    let run = Command::new(root.join(CODE_GENERATOR))
        .args(OPTIONS)
        .arg(format!("--input={}", input.display()))
        .arg(format!("--output={}", output.display()))
        .arg("--custom-file-header=# Generated from the schema by `cargo xtask generate`: change it there.")
        .current_dir(folder)
        .output()
        .context("cannot run datamodel-codegen")?;
    ensure!(run.status.success(), "datamodel-codegen failed:\n{}", String::from_utf8_lossy(&run.stderr));
    std::fs::read_to_string(&output).context("datamodel-codegen wrote nothing")
}

/// The schema with a title for each alternative that is a table of one key, since the code generator would number their
/// classes: `Topology`'s `star` becomes `StarTopology`.
fn with_titles(schema: &str) -> Result<String> {
    let mut schema: Value = serde_json::from_str(schema).context("the schema is no JSON")?;
    let definitions = schema.get_mut("$defs").and_then(Value::as_object_mut).context("the schema has no `$defs`")?;
    for (name, definition) in definitions {
        let family = name.strip_suffix("Spec").unwrap_or(name);
        for alternative in definition.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
            let keys =
                alternative.get("properties").and_then(Value::as_object).map(|keys| keys.keys().collect::<Vec<_>>());
            if let Some([key]) = keys.as_deref() {
                alternative["title"] = format!("{}{family}", pascal_case(key)).into();
            }
        }
    }
    Ok(schema.to_string())
}

/// `drop_tail` as `DropTail`.
fn pascal_case(key: &str) -> String {
    let capitalised =
        |word: &str| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    key.split('_').map(capitalised).collect::<Vec<String>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_get_the_names_of_their_keys() {
        let schema = r#"{"$defs":{"QueueSpec":{"oneOf":[{"properties":{"drop_tail":{}}},{"type":"string"}]}}}"#;
        let titled: Value = serde_json::from_str(&with_titles(schema).unwrap()).unwrap();
        assert_eq!(titled["$defs"]["QueueSpec"]["oneOf"][0]["title"], "DropTailQueue");
        assert_eq!(titled["$defs"]["QueueSpec"]["oneOf"][1], serde_json::json!({ "type": "string" }));
    }

    fn choice() -> Choice {
        Choice {
            kind: "discipline",
            name: "blue".into(),
            group: Some("one_queue"),
            summary: "BLUE: one probability.".into(),
            sections: vec![("What it does".into(), "Marks.".into()), ("Parameters".into(), "Few.".into())],
            parameters: vec![Parameter {
                name: "step".into(),
                takes: "number | text".into(),
                default: Some("0.02".into()),
                required: false,
                description: "How far\nit moves.".into(),
            }],
        }
    }

    #[test]
    fn a_page_has_the_text_and_a_row_for_each_parameter() {
        let expected = "# blue\n\nBLUE: one probability.\n\n## What it does\n\nMarks.\n\n## Parameters\n\nFew.\n\n\
                        | key | takes | default | meaning |\n|---|---|---|---|\n\
                        | `step` | number \\| text | `0.02` | How far it moves. |\n";
        assert_eq!(page(&choice()), format!("{GENERATED}{expected}"));
    }

    #[test]
    fn every_kind_has_an_index_that_names_its_pages() {
        let pages = pages(&[choice()]);
        assert_eq!(
            pages.keys().collect::<Vec<_>>(),
            [
                "docs/reference/buffers/index.md",
                "docs/reference/disciplines/blue.md",
                "docs/reference/disciplines/index.md",
                "docs/reference/paths/index.md",
                "docs/reference/schedulers/index.md",
                "docs/reference/schemes/index.md",
                "docs/reference/topologies/index.md",
                "docs/reference/transports/index.md",
            ]
        );
        assert!(pages["docs/reference/disciplines/index.md"].contains("[`blue`](blue.md)"));
    }

    #[test]
    fn every_choice_of_the_schema_has_a_kind_with_pages() {
        for choice in forebay_scenario::choices() {
            assert!(KINDS.iter().any(|(kind, _, _)| *kind == choice.kind), "{}", choice.kind);
        }
    }

    #[test]
    fn a_page_of_something_gone_is_found_and_removed() {
        let root = std::env::temp_dir().join(format!("forebay-stale-{}", std::process::id()));
        let page = root.join(REFERENCE).join("disciplines/gone.md");
        write(&page, GENERATED).unwrap();
        write(&page.with_file_name("by-hand.md"), "# By hand\n").unwrap();
        let none = BTreeMap::new();
        assert_eq!(stale_pages(&root, Mode::Check, &none).unwrap().len(), 1);
        assert!(stale_pages(&root, Mode::Write, &none).unwrap().is_empty());
        assert!(!page.exists() && page.with_file_name("by-hand.md").exists());
        std::fs::remove_dir_all(&root).unwrap();
    }
}
