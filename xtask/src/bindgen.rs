//! The JavaScript of `crates/wasm`, by the library of the version that the crate uses: a program of its own would have
//! another lock file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use wasm_bindgen_cli_support::Bindgen;

/// Writes the module and its JavaScript into `folder`, with a list of all names that a scenario may choose.
pub fn run(module: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).web(true)?.typescript(true).remove_name_section(true).remove_producers_section(true);
    bindgen.generate(folder).with_context(|| format!("cannot bind {}", module.display()))?;
    let file = folder.join("choices.json");
    fs::write(&file, choices().to_string()).with_context(|| format!("cannot write {}", file.display()))
}

/// The catalogue of the schema: the module itself leaves its texts out, which are long.
fn choices() -> Value {
    let choices = forebay_scenario::choices().into_iter().map(|choice| {
        let parameters = choice.parameters.iter().map(|parameter| {
            json!({
                "name": parameter.name, "takes": parameter.takes, "required": parameter.required,
                "description": parameter.description, "default": parameter.default,
            })
        });
        json!({
            "kind": choice.kind, "name": choice.name, "group": choice.group, "summary": choice.summary,
            "when_to_use": choice.when_to_use(), "parameters": parameters.collect::<Vec<_>>(),
        })
    });
    choices.collect()
}
