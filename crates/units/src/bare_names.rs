//! In the schema of a choice whose parameters all have defaults, the bare name will do.

use schemars::{Schema, json_schema};

/// Adds the bare names to the alternatives of `schema`: `"red"` in addition to `{ red = { … } }`.
pub fn allow_bare_names(schema: &mut Schema, names: &[&str]) {
    let bare = json_schema!({
        "type": "string",
        "enum": names,
        "description": "The name alone: with its defaults.",
    });
    if let Some(alternatives) = schema.get_mut("oneOf").and_then(|value| value.as_array_mut()) {
        alternatives.push(bare.to_value());
    }
}
