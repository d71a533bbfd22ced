//! Reads the list of sentences that may keep a pattern and of files that are not yet done.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::source::Kind;
use super::{EXCEPTIONS, Finding};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    commits: Commits,
    #[serde(default)]
    exception: Vec<Exception>,
    /// Files by the kind of their text.
    #[serde(default)]
    unfinished: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commits {
    base: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    /// A file, or a folder if it ends with a slash; empty for all files.
    path: String,
    pattern: String,
    /// A part of the sentence.
    text: String,
    reason: String,
}

/// The list, and which of its entries were needed.
pub struct Exceptions {
    base: String,
    exceptions: Vec<(Exception, bool)>,
    unfinished: Vec<(Kind, String, bool)>,
}

impl Exceptions {
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        ensure!(!file.commits.reason.is_empty(), "`commits` needs a reason");
        for Exception { path, pattern, text, reason } in &file.exception {
            ensure!(!reason.is_empty(), "the exception for `{text}` in `{path}` needs a reason");
            ensure!(!text.is_empty() && !pattern.is_empty(), "the exception in `{path}` needs a text and a pattern");
        }
        let mut unfinished = Vec::new();
        for (name, paths) in file.unfinished {
            let kind = Kind::ALL.iter().find(|kind| kind.name() == name).with_context(|| {
                let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                format!("`unfinished.{name}` is not one of {}", known.join(", "))
            })?;
            unfinished.extend(paths.into_iter().map(|path| (*kind, path, false)));
        }
        let exceptions = file.exception.into_iter().map(|exception| (exception, false)).collect();
        Ok(Exceptions { base: file.commits.base, exceptions, unfinished })
    }

    /// The last commit whose subject is not checked.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the list allows this finding; files that are not yet done count only with `unfinished`.
    pub(super) fn allow(&mut self, finding: &Finding, unfinished: bool) -> bool {
        let named = self.exceptions.iter_mut().find(|(e, _)| {
            let path = e.path.is_empty()
                || finding.path == e.path
                || (e.path.ends_with('/') && finding.path.starts_with(&e.path));
            path && e.pattern == finding.pattern && finding.sentence.contains(&e.text)
        });
        if let Some((_, used)) = named {
            *used = true;
            return true;
        }
        let file = self.unfinished.iter_mut().find(|(kind, path, _)| *kind == finding.kind && *path == finding.path);
        file.filter(|_| unfinished).map(|(_, _, used)| *used = true).is_some()
    }

    /// A finding for every entry that nothing needed.
    pub fn unused(&self) -> Vec<String> {
        let exceptions = self.exceptions.iter().filter(|(_, used)| !used).map(|(exception, _)| {
            let Exception { path, pattern, text, .. } = exception;
            format!("{EXCEPTIONS}: remove the exception `{pattern}` of `{path}`: no sentence has `{text}`")
        });
        let files = self.unfinished.iter().filter(|(_, _, used)| !used).map(|(kind, path, _)| {
            let name = kind.name();
            format!("{EXCEPTIONS}: remove `{path}` from `unfinished.{name}`: it has no findings left")
        });
        exceptions.chain(files).collect()
    }
}
