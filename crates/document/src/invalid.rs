//! A value that is refused after it was read.

use crate::error::Problem;
use crate::tree::{Node, Path};

/// A value that is refused, by its path: from that, its place is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    path: Path,
    message: String,
    label: String,
    help: Option<String>,
}

impl Invalid {
    /// `message` is the fault, `label` the label under the value with the expected one.
    #[must_use]
    pub fn new(path: Path, message: impl Into<String>, label: impl Into<String>) -> Self {
        Self { path, message: message.into(), label: label.into(), help: None }
    }

    /// The same with a remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    /// The problem with its place in the tree.
    pub(crate) fn placed_in(self, root: &Node) -> Problem {
        Problem::at(root.place_of(&self.path).clone(), self.message, self.label).with_help(self.help)
    }
}
