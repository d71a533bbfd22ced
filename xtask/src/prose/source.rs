//! The text of one comment, string or page before it is cut into passages.

/// Replaces inline code, formulas and placeholders of messages: a name that may be the subject of a sentence.
pub const CODE: char = '\u{FFFC}';

/// The place where a passage was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Markdown, also in notebooks.
    Page,
    /// A `///` or `//!` comment.
    Doc,
    /// A string of a program that has at least three words.
    Message,
    /// A Python docstring outside of the tests.
    Docstring,
    /// A string in an experiment or a scenario.
    Experiment,
    /// A comment in any language, and a docstring of a test.
    Comment,
}

impl Kind {
    /// The name in a finding.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Page => "pages",
            Kind::Doc => "docs",
            Kind::Message => "messages",
            Kind::Docstring => "docstrings",
            Kind::Experiment => "experiments",
            Kind::Comment => "comments",
        }
    }
}

/// Lines of one comment, string or page, still with their markup.
#[derive(Debug, PartialEq)]
pub struct Source {
    pub kind: Kind,
    /// The number of each line in the file, and its text.
    pub lines: Vec<(usize, String)>,
}
