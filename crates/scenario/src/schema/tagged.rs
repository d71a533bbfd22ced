//! A table of alternatives in the JSON Schema: schemars derives a `oneOf` of one-key tables, to which the bare names
//! are added here.

use schemars::{Schema, SchemaGenerator};
use serde_json::json;

/// Adds the bare names of those alternatives whose parameters all have defaults.
pub(crate) fn allow_bare(schema: &mut Schema, names: &[&str]) {
    let bare = json!({ "type": "string", "enum": names, "description": "The name alone: with its defaults." });
    if let Some(alternatives) = schema.get_mut("oneOf").and_then(|value| value.as_array_mut()) {
        alternatives.push(bare);
    }
}

/// An algorithm with a source file of its own, as the manual shows it.
pub(crate) struct Algorithm {
    /// Its name in a scenario.
    pub name: &'static str,
    /// The source file, whose opening comment is the manual page.
    pub source: &'static str,
    /// The schema of its parameters.
    pub parameters: fn(&mut SchemaGenerator) -> Schema,
}

/// Name, source file and schema of the parameters, as the tables of the algorithms' crates have them.
pub(crate) type Page = (&'static str, &'static str, fn(&mut SchemaGenerator) -> Schema);

impl From<Page> for Algorithm {
    fn from((name, source, parameters): Page) -> Self {
        Self { name, source, parameters }
    }
}

/// Declares a table of algorithms: a line is the name in a scenario, the configuration, and the file in `switching`.
macro_rules! algorithms {
    ($(#[$docs:meta])* $table:ident; $($name:literal, $config:ty, $file:literal;)*) => {
        $(#[$docs])*
        pub(crate) const $table: &[$crate::schema::Algorithm] = &[
            $($crate::schema::Algorithm {
                name: $name,
                source: include_str!(concat!("../../../switching/src/", $file)),
                parameters: <$config as schemars::JsonSchema>::json_schema,
            },)*
        ];
    };
}
pub(crate) use algorithms;
