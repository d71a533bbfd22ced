//! Faults of a document: one clear message with its place, the expected value, and the nearest valid name.

use std::fmt;
use std::ops::Range;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use crate::printable::{escaped, substituted};
use crate::tree::{Node, PathStep, Place};

/// Something wrong, with its place if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub message: String,
    pub place: Place,
    pub label: String,
    pub help: Option<String>,
}

impl Problem {
    /// A problem at `place`, which is underlined with `label` below it.
    pub fn at(place: Place, message: String, label: impl Into<String>) -> Self {
        Self { message, place, label: label.into(), help: None }
    }

    /// The same with a remedy.
    pub fn with_help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }
}

/// The refusal of a document: the fault, its place, the expected value, and a suggestion.
///
/// Its `Display` is one line, `file:line:column: message`; [`DocumentError::render`] shows the text with the offending
/// part underlined.
#[derive(Clone, Debug)]
pub struct DocumentError {
    /// The fault.
    pub message: String,
    /// Name of the text: the file's, or `--set` for an override.
    pub file: String,
    /// Line of the offending text, from 1.
    pub line: usize,
    /// Column of the offending text in characters, from 1.
    pub column: usize,
    /// The label under the offending text: mostly the expected value.
    pub label: String,
    /// The remedy, where one is known: the nearest valid name, for example.
    pub help: Option<String>,
    shown: Box<Shown>,
}

/// The text in which something is wrong, and the part that is.
#[derive(Clone, Debug)]
struct Shown {
    span: Range<usize>,
    source: NamedSource<String>,
}

/// The texts of a fault.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The fault.
    pub message: String,
    /// The label under the offending text.
    pub label: String,
    /// The remedy, where one is known.
    pub help: Option<String>,
}

impl DocumentError {
    /// Shows what another reader of a TOML file found wrong at `path`. The last key
    /// itself is underlined if `at_key`, else its value; of what is not there, the nearest thing above it. A text that
    /// is not TOML yields that error instead.
    #[must_use]
    pub fn in_toml(text: &str, file: &str, path: &[PathStep], at_key: bool, words: Words) -> Self {
        let problem = match Node::parse(text) {
            Ok(root) => {
                let place = root.place_at(path, at_key).clone();
                Problem::at(place, words.message, words.label).with_help(words.help)
            }
            Err(problem) => problem,
        };
        Self::new(problem, file, text)
    }

    /// Shows a fault at `span`, in bytes, of a text that is not TOML.
    #[must_use]
    pub fn in_text(text: &str, file: &str, span: Range<usize>, words: Words) -> Self {
        let problem = Problem::at(Place { span, ..Place::default() }, words.message, words.label);
        Self::new(problem.with_help(words.help), file, text)
    }

    /// The problem as it is shown, with the text in which it stands. Whatever either holds, it can be printed.
    pub(crate) fn new(problem: Problem, file: &str, text: &str) -> Self {
        let span = within_one_line(problem.place.span, text);
        let before = &text[..span.start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let file = escaped(file);
        Self {
            message: escaped(&problem.message),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            label: escaped(&problem.label),
            help: problem.help.as_deref().map(escaped),
            shown: Box::new(Shown { span, source: NamedSource::new(&file, substituted(text)) }),
            file,
        }
    }

    /// The offending part of the text, in bytes.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.shown.span.clone()
    }

    /// The message with the offending text underlined, on several lines; with colours for a terminal if `color`.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let mut text = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100).with_links(false);
        if handler.render_report(&mut text, &Bare(self)).is_err() {
            return self.to_string();
        }
        text
    }
}

/// `span` cut to the text, to whole characters, and to its first line: a table may run over many.
fn within_one_line(span: Range<usize>, text: &str) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let line_end = text[start..end].find(['\n', '\r']).map_or(end, |newline| start + newline);
    start..line_end
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for DocumentError {}

/// The message alone, for the rendered form, which shows the place itself.
#[derive(Debug)]
struct Bare<'a>(&'a DocumentError);

impl fmt::Display for Bare<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Bare<'_> {}

impl Diagnostic for Bare<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.0.labels()
    }
}

impl Diagnostic for DocumentError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.shown.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(std::iter::once(LabeledSpan::at(self.shown.span.clone(), self.label.clone()))))
    }
}

/// "did you mean `min_threshold`?", if one of `names` is near to what was written.
#[must_use]
pub fn did_you_mean<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(written, names).map(|name| format!("did you mean `{name}`?"))
}

/// The nearest of `names`, if it is near enough to be what was meant: at most a third of its letters differ, or one
/// begins with the other.
fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A text of more than a few words is no misspelt name, and the distance takes the product of both lengths.
    if written.len() > 64 {
        return None;
    }
    let written_lower = written.to_lowercase();
    let begins_alike = |name: &str| written.len() >= 3 && (name.starts_with(written) || written.starts_with(name));
    let differing = |name: &str| strsim::damerau_levenshtein(&written_lower, &name.to_lowercase());
    names
        .into_iter()
        .filter(|name| !name.is_empty())
        .map(|name| (!begins_alike(name), differing(name), name))
        .filter(|(other, differing, name)| !other || 3 * differing <= name.len().max(written.len()))
        .min_by_key(|(other, differing, _)| (differing.saturating_sub(usize::from(!other)), *other))
        .map(|(_, _, name)| name)
}

/// "`a`, `b`, `c`".
pub(crate) fn list_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Many names, cut to a few with a count of the others.
pub(crate) fn list_some<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 12;
    let names: Vec<_> = names.into_iter().collect();
    // Naming one more takes no more room than counting it.
    if names.len() <= MOST + 1 {
        return list_names(names);
    }
    format!("{} and {} more", list_names(names[..MOST].iter().copied()), names.len() - MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_offered_only_if_it_may_have_been_meant() {
        let names = ["choke", "red", "ared", "drop_tail", "fq_codel", "min_threshold", "tcp"];
        for (written, near) in [
            ("rde", Some("red")),
            ("tcpp", Some("tcp")),
            ("droptail", Some("drop_tail")),
            ("min_treshold", Some("min_threshold")),
            ("fq-codel", Some("fq_codel")),
            ("FQ_CODEL", Some("fq_codel")),
            ("fq_code", Some("fq_codel")),
            ("cake", None),
            ("htb", None),
            ("pfifo", None),
        ] {
            assert_eq!(nearest(written, names), near, "{written}");
        }
    }

    #[test]
    fn a_list_that_is_cut_counts_the_rest() {
        let names: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let some = |count: usize| list_some(names[..count].iter().map(String::as_str));
        assert!(some(13).ends_with("`12`"), "{}", some(13));
        assert!(some(40).ends_with("`11` and 28 more"), "{}", some(40));
    }
}
