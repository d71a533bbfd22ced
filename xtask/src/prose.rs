//! Finds patterns of hard English in everything that people read: pages, messages, comments and commit subjects.
//!
//! The table of patterns is in `patterns.rs`. `xtask/prose-exceptions.toml` lists the sentences that may keep one. An
//! entry of that file which is no longer needed is a finding, too.

mod exceptions;
mod hash_comments;
mod passages;
mod patterns;
mod rust;
mod source;
mod strings;
mod subjects;

use std::path::Path;

use anyhow::{Context, Result, bail};

use exceptions::Exceptions;
use patterns::{MAX_WORDS, Matcher};
use source::Kind;

const EXCEPTIONS: &str = "xtask/prose-exceptions.toml";

/// A fault of one sentence.
#[derive(Debug)]
struct Finding {
    path: String,
    line: usize,
    kind: Kind,
    pattern: &'static str,
    remedy: String,
    sentence: String,
}

/// Checks the files that git tracks or would track, and the commit subjects. If `paths` are given, it checks only the
/// files below them.
pub fn check(root: &Path, paths: &[&str]) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join(EXCEPTIONS)).with_context(|| format!("cannot read {EXCEPTIONS}"))?;
    let mut exceptions = Exceptions::parse(&text).with_context(|| format!("cannot read {EXCEPTIONS}"))?;
    let matcher = Matcher::new().context("a pattern is not a regular expression")?;
    let files = crate::tidy::files(root)?;
    if let Some(path) = paths.iter().find(|path| !files.iter().any(|file| below(file, path))) {
        bail!("no file of the repository is at `{path}`; name paths from its root");
    }
    let mut report = Vec::new();
    for path in files.iter().filter(|file| paths.is_empty() || paths.iter().any(|path| below(file, path))) {
        // A binary file has no text, and a deleted file is gone.
        let Ok(text) = std::fs::read_to_string(root.join(path)) else { continue };
        for finding in in_file(path, &text, &matcher) {
            if !exceptions.allow(&finding) {
                report.push(finding.to_string());
            }
        }
    }
    if paths.is_empty() {
        report.extend(subjects::check(root, exceptions.base())?);
        report.extend(exceptions.unused());
    }
    Ok(report)
}

/// The lines of the comments and docstrings of a file, with their numbers; on request, those of a page.
pub fn comments(path: &str, text: &str, page: bool) -> Vec<(usize, String)> {
    let wanted = |source: &source::Source| match source.kind {
        Kind::Doc | Kind::Comment | Kind::Docstring => true,
        Kind::Page => page,
        Kind::Message | Kind::Experiment => false,
    };
    passages::sources(path, text).into_iter().filter(wanted).flat_map(|source| source.lines).collect()
}

fn below(file: &str, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn in_file(path: &str, text: &str, matcher: &Matcher) -> Vec<Finding> {
    let mut findings = Vec::new();
    for passage in passages::of_file(path, text) {
        for (start, sentence) in patterns::sentences(&passage) {
            let mut add = |at: usize, pattern, remedy: String| {
                let shown = sentence.replace(source::CODE, "`…`");
                let line = passage.line_at(start + at);
                findings.push(Finding {
                    path: path.into(),
                    line,
                    kind: passage.kind,
                    pattern,
                    remedy,
                    sentence: shown,
                });
            };
            for found in matcher.in_sentence(sentence) {
                add(found.at, found.name, found.remedy.to_owned());
            }
            let words = patterns::words(sentence);
            if words > MAX_WORDS {
                add(0, "long sentence", format!("{words} words: split it after at most {MAX_WORDS}"));
            }
        }
    }
    findings
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Finding { path, line, pattern, remedy, sentence, kind } = self;
        write!(f, "{path}:{line}: {pattern} ({}): {remedy}\n    {sentence}", kind.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_written_plainly() {
        assert_eq!(check(&crate::root(), &[]).unwrap(), Vec::<String>::new());
    }

    fn findings(text: &str) -> Vec<Finding> {
        in_file("docs/a.md", text, &Matcher::new().unwrap())
    }

    #[test]
    fn a_finding_names_the_line_of_the_words() {
        let found = findings("A flow.\n\nIt is the first\none beside `x`\nhere.\n");
        let text = "docs/a.md:4: beside (pages): use \"next to\" for a place, \"compared with\", \
                    \"against\" or \"in addition to\" for the rest\n    It is the first one beside `…` here.";
        assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    }

    #[test]
    fn a_sentence_over_35_words_is_found() {
        assert_eq!(findings(&"word ".repeat(35)).len(), 0);
        assert_eq!(findings(&"word ".repeat(36))[0].pattern, "long sentence");
    }

    const LIST: &str = "[commits]\nbase = 'abc'\nreason = 'old'\n[[exception]]\n\
                        path = 'docs/'\npattern = 'beside'\ntext = 'beside the column'\nreason = 'a place'\n";

    #[test]
    fn an_exception_allows_one_pattern_in_one_sentence() {
        let mut list = Exceptions::parse(LIST).unwrap();
        assert_eq!(list.unused().len(), 1);
        assert!(list.allow(&findings("It is beside the column.")[0]));
        assert!(!list.allow(&findings("It is beside the row.")[0]));
        assert!(!list.allow(&findings("It has to be.")[0]));
        assert_eq!(list.unused(), Vec::<String>::new());
    }

    #[test]
    fn an_exception_without_a_reason_is_refused() {
        assert!(Exceptions::parse(&LIST.replace("a place", "")).is_err());
        assert!(Exceptions::parse(&LIST.replace("pattern", "patterns")).is_err());
    }
}
