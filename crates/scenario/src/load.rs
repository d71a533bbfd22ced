//! From text to a validated scenario.

use forebay_document::{Document, Kind, Node, Path, escaped};

use crate::ScenarioError;
use crate::expand::expand;
use crate::numbers::{check_pins, remove_lost_pins};
use crate::patterns::{goal, matrix};
use crate::schema::ScenarioSpec;
use crate::validate::validate;
use crate::{size_cdf, traces};

/// The word for a scenario in messages.
pub(crate) const SCENARIO: Kind = Kind {
    name: "scenario",
    override_example: "flows.tcp.count=10",
    not_offered: &[],
    foreign: &[forebay_qdisc::COUNTERPARTS, forebay_tcp::COUNTERPARTS],
    misplaced: MISPLACED,
};

const OF_THE_QUEUE: &str = "it is a parameter of a discipline: `queue.drop_tail = { limit = \"100 packets\" }`, \
                            `queue.red = { min_threshold = \"10 packets\" }`";
const OF_TCP: &str = "it is a parameter of TCP: `transport.tcp = { congestion_control = \"cubic\" }`";
const OF_A_TOPOLOGY: &str = "it is a key of the topology: `topology.star.bottleneck.queue`";

const OF_A_LINK: &str = "it is a key of a link: `topology.star.bottleneck.impairments`";

/// Keys that a scenario has elsewhere, or under another name.
const MISPLACED: &[(&str, &str)] = &[
    ("limit", OF_THE_QUEUE),
    ("min_threshold", OF_THE_QUEUE),
    ("max_threshold", OF_THE_QUEUE),
    ("target", OF_THE_QUEUE),
    ("congestion_control", OF_TCP),
    ("preset", OF_TCP),
    ("sack", OF_TCP),
    ("access", OF_A_TOPOLOGY),
    ("bottleneck", OF_A_TOPOLOGY),
    ("links", OF_A_TOPOLOGY),
    ("queue", OF_A_TOPOLOGY),
    ("loss", "it is an impairment of a link: `impairments.loss = 0.01`"),
    ("duplication", "it is an impairment of a link: `impairments.duplication = 0.001`"),
    ("jitter", "it is an impairment of a link: `impairments.jitter = { uniform = [\"0 ms\", \"5 ms\"] }`"),
    ("output_limit", "it belongs to a buffer policy: `buffer.partitions.output_limit.static = \"60 KB\"`"),
    ("impairments", OF_A_LINK),
    ("service", OF_A_LINK),
    ("bandwidth", "a link has a `rate`"),
    ("capacity", "a link has a `rate`"),
    ("latency", "a link has a `delay`"),
    ("rtt", "links have a `delay` each: a round trip takes twice the sum along the path, and the wait in queues"),
    (
        "rate",
        "the pattern of a source has a rate: `transport.udp = { packet = \"1 KB\", poisson = { rate = \"5 Mbps\" } }`",
    ),
];

/// A scenario that has passed validation: it can be built and run.
#[derive(Clone, Debug)]
pub struct Scenario {
    name: String,
    spec: ScenarioSpec,
    /// As it was written, with overrides.
    document: Node,
}

impl Scenario {
    /// Reads and validates the TOML `text`. `file_name` is for messages and the default name; `overrides` are pairs of
    /// a key path and a value, `("flows.tcp.count", "10")`, put in before anything is checked.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place in the text or in the override that brought it in.
    pub fn load(text: &str, file_name: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        let folder = std::path::Path::new(file_name);
        let read = |name: &str| std::fs::read_to_string(folder.with_file_name(name)).map_err(|error| error.to_string());
        Self::load_with(text, file_name, overrides, &read)
    }

    /// As [`Scenario::load`], with `read` in place of the folder of the scenario: it returns the text of a file that
    /// the scenario names, or the reason why it cannot be read.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn load_with(
        text: &str,
        file_name: &str,
        overrides: &[(String, String)],
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        let mut document = Document::parse(SCENARIO, file_name, text, overrides)?;
        document.check_texts()?;
        document.rewrite(|root| {
            traces::inline(root, read)?;
            size_cdf::inline(root, read)?;
            matrix::inline(root, read)?;
            goal::inline(root, read)
        })?;
        if !overrides.is_empty() {
            document.rewrite(remove_lost_pins)?;
        }
        let written = document.rewrite(expand)?;
        let spec: ScenarioSpec = document.read()?;
        validate(&spec).and_then(|()| check_pins(&spec, &written)).map_err(|invalid| document.refused(invalid))?;
        let name = spec.name.clone().unwrap_or_else(|| escaped(stem(file_name)));
        Ok(Self { name, spec, document: written })
    }

    /// Its name: as given, or the file's without folder and extension.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its content, with its abbreviations written out.
    #[must_use]
    pub fn spec(&self) -> &ScenarioSpec {
        &self.spec
    }

    /// The scenario as TOML text with its overrides, for storage with the results.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.document.to_toml()
    }

    /// The same with its abbreviations written out: each group has one direction, and each host its own name.
    #[must_use]
    pub fn to_expanded_toml(&self) -> String {
        self.expanded().to_toml()
    }

    /// The text as a tree, with overrides.
    pub(crate) fn document(&self) -> &Node {
        &self.document
    }

    fn expanded(&self) -> Node {
        let mut expanded = self.document.clone();
        // It could be expanded when it was loaded.
        let _ = expand(&mut expanded);
        expanded
    }

    /// The paths that overrides of the scenario have.
    pub(crate) fn written_paths(&self) -> WrittenPaths<'_> {
        WrittenPaths { written: &self.document, expanded: self.expanded() }
    }
}

/// Finds the path in a scenario as it was written.
pub(crate) struct WrittenPaths<'s> {
    written: &'s Node,
    expanded: Node,
}

impl WrittenPaths<'_> {
    /// The path, as an override has it, of a value at `path` in the scenario with its abbreviations written out.
    /// Elements of lists have numbers, or their names if `by_name`.
    pub fn of(&self, path: &Path, by_name: bool) -> String {
        self.written.path_before(&self.expanded, path, by_name)
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
