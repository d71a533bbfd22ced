//! Checks the subjects of commits: an imperative verb first, one line of at most 72 characters.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

const MAX_CHARACTERS: usize = 72;

/// Verbs in the imperative, one on each line.
const VERBS: &str = include_str!("verbs.txt");

/// Checks the subjects after the last tag and after the commit `base`.
pub fn check(root: &Path, base: &str) -> Result<Vec<String>> {
    if git(root, &["cat-file", "-e", &format!("{base}^{{commit}}")]).is_err() {
        eprintln!("skipped: the check of commit subjects needs the history back to {base}; run: git fetch --unshallow");
        return Ok(Vec::new());
    }
    let excluded = format!("^{base}");
    let tag = git(root, &["describe", "--tags", "--abbrev=0"]).ok().map(|tag| format!("^{}", tag.trim()));
    let mut arguments = vec!["log", "--no-merges", "--format=%h %s", "HEAD", excluded.as_str()];
    arguments.extend(tag.as_deref());
    let log = git(root, &arguments)?;
    let findings = log.lines().filter_map(|line| {
        let (hash, subject) = line.split_once(' ')?;
        fault(subject).map(|fault| format!("commit {hash}: {fault}\n    {subject}"))
    });
    Ok(findings.collect())
}

fn git(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output().context("cannot run git")?;
    ensure!(output.status.success(), "git {} failed: {}", arguments[0], String::from_utf8_lossy(&output.stderr).trim());
    String::from_utf8(output.stdout).context("a commit subject is not UTF-8")
}

/// The first fault of a subject.
fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    let first = subject.split([' ', ',']).next().unwrap_or_default();
    if length > MAX_CHARACTERS {
        Some(format!("subject of {length} characters: shorten it to {MAX_CHARACTERS}"))
    } else if subject.starts_with("Read again") {
        Some("name the change, not the work on it".to_owned())
    } else if !VERBS.lines().any(|verb| verb == first) {
        Some(format!(
            "`{first}` is not a verb in the imperative: start with one such as `Add`, or \
             list it in xtask/src/prose/verbs.txt"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_names_the_change_in_the_imperative() {
        for good in ["Order simultaneous arrivals by hash", "Read the preset, then override it", "Fix #12"] {
            assert_eq!(fault(good), None, "{good}");
        }
        for bad in [
            "What ended a run is told before its cleanup",
            "Read again: four comments in plainer words",
            "SIGTERM hands over to the bridge",
            "Added a test",
            "add a test",
            "tidy: a long line",
            "wip",
            "",
        ] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_subject_has_at_most_72_characters() {
        assert_eq!(fault(&format!("Add {}", "x".repeat(68))), None);
        assert!(fault(&format!("Add {}", "x".repeat(69))).is_some());
    }
}
