//! Reads the list of sentences that may keep a pattern.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::{EXCEPTIONS, Finding};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    commits: Commits,
    #[serde(default)]
    exception: Vec<Exception>,
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

/// The list, and whether each of its entries was needed.
pub struct Exceptions {
    base: String,
    exceptions: Vec<(Exception, bool)>,
}

impl Exceptions {
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        ensure!(!file.commits.reason.is_empty(), "`commits` needs a reason");
        for Exception { path, pattern, text, reason } in &file.exception {
            ensure!(!reason.is_empty(), "the exception for `{text}` in `{path}` needs a reason");
            ensure!(!text.is_empty() && !pattern.is_empty(), "the exception in `{path}` needs a text and a pattern");
        }
        let exceptions = file.exception.into_iter().map(|exception| (exception, false)).collect();
        Ok(Exceptions { base: file.commits.base, exceptions })
    }

    /// The last commit whose subject is not checked.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether the list allows this finding.
    pub(super) fn allow(&mut self, finding: &Finding) -> bool {
        let named = self.exceptions.iter_mut().find(|(e, _)| {
            let path = e.path.is_empty()
                || finding.path == e.path
                || (e.path.ends_with('/') && finding.path.starts_with(&e.path));
            path && e.pattern == finding.pattern && finding.sentence.contains(&e.text)
        });
        named.map(|(_, used)| *used = true).is_some()
    }

    /// A finding for every entry that nothing needed.
    pub fn unused(&self) -> Vec<String> {
        let unused = self.exceptions.iter().filter(|(_, used)| !used).map(|(exception, _)| {
            let Exception { path, pattern, text, .. } = exception;
            format!("{EXCEPTIONS}: remove the exception `{pattern}` of `{path}`: no sentence has `{text}`")
        });
        unused.collect()
    }
}
