//! From text to a validated scenario.

use forebay_document::{Document, Kind, Node, escaped};

use crate::ScenarioError;
use crate::schema::ScenarioSpec;
use crate::validate::validate;

/// The word for a scenario in messages.
pub(crate) const SCENARIO: Kind = Kind {
    name: "scenario",
    override_example: "flows.tcp.count=10",
    not_offered: &[],
    foreign: forebay_qdisc::COUNTERPARTS,
};

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
        let document = Document::parse(SCENARIO, file_name, text, overrides)?;
        document.check_texts()?;
        let spec: ScenarioSpec = document.read()?;
        validate(&spec).map_err(|invalid| document.refused(invalid))?;
        let name = spec.name.clone().unwrap_or_else(|| escaped(stem(file_name)));
        Ok(Self { name, spec, document: document.into_root() })
    }

    /// Its name: as given, or the file's without folder and extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    #[must_use]
    pub fn spec(&self) -> &ScenarioSpec {
        &self.spec
    }

    /// The scenario as TOML text with its overrides, for storage with the results.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.document.to_toml()
    }
}

/// The remedy for a name that a scenario cannot have: that of a queue discipline of another system, or else the nearest
/// of `names`.
#[must_use]
pub fn remedy_for_name<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    SCENARIO.remedy(written, names)
}

/// A file's name without folder and extension.
fn stem(file_name: &str) -> &str {
    let stem = std::path::Path::new(file_name).file_stem().and_then(|stem| stem.to_str());
    stem.filter(|stem| !stem.is_empty()).unwrap_or("scenario")
}
