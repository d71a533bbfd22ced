//! From text to a validated scenario.

use crate::deserialize::deserialize;
use crate::document::Node;
use crate::error::{Problem, ScenarioError};
use crate::overrides;
use crate::printable::escaped;
use crate::schema::ScenarioSpec;
use crate::validate::validate;

/// A scenario that has passed validation: it can be built and run.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    spec: ScenarioSpec,
    document: Node,
}

impl Scenario {
    /// Reads and validates the TOML `text`. `file_name` is for messages and the default name; `overrides` are pairs of
    /// a key path and a value, `("flows.tcp.count", "10")`, put in before anything is checked.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place in the text or in the override that brought it in.
    pub fn load(text: &str, file_name: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::read(text, file_name, overrides).map_err(|problem| {
            match problem.place.text.checked_sub(1).and_then(|index| overrides.get(index)) {
                Some((path, value)) => ScenarioError::new(problem, "--set", &overrides::text(path, value)),
                None => ScenarioError::new(problem, file_name, text),
            }
        })
    }

    fn read(text: &str, file_name: &str, overrides: &[(String, String)]) -> Result<Self, Problem> {
        let mut document = Node::parse(text)?;
        for (index, (path, value)) in overrides.iter().enumerate() {
            overrides::apply(&mut document, index + 1, path, value)?;
        }
        document.check_texts("scenario")?;
        let spec: ScenarioSpec = deserialize(&document)?;
        validate(&spec).map_err(|invalid| invalid.placed_in(&document))?;
        let name = spec.name.clone().unwrap_or_else(|| escaped(stem(file_name)));
        Ok(Self { name, spec, document })
    }

    /// Its name: as given, or the file's without folder and extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    #[must_use]
    pub fn spec(&self) -> &ScenarioSpec {
        &self.spec
    }

    /// The scenario as TOML text with its overrides in it, for the record beside the results.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.document.to_toml()
    }
}

/// A file's name without folder and extension.
fn stem(file_name: &str) -> &str {
    let stem = std::path::Path::new(file_name).file_stem().and_then(|stem| stem.to_str());
    stem.filter(|stem| !stem.is_empty()).unwrap_or("scenario")
}
