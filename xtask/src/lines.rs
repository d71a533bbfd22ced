//! The lines of code that ship: without comments, blank lines and tests.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

use crate::circles::modules;
use crate::{shipped, tidy};

/// Packages of the workspace that only tests and checks use, in addition to those in `tests/`.
const FOR_TESTS: &[&str] = &["forebay-testkit", "xtask"];

/// Prints a table of the lines by crate and of each folder with Python.
pub fn print(root: &Path) -> Result<()> {
    let rust = rust(root)?;
    let python = python(root)?;
    let mut output = std::io::stdout().lock();
    for (title, rows) in [("Rust", rust), ("Python", python)] {
        for (name, lines) in &rows {
            writeln!(output, "{name:20} {lines:>7}")?;
        }
        writeln!(output, "{:20} {:>7}\n", format!("{title}, total"), rows.values().sum::<usize>())?;
    }
    Ok(())
}

/// The lines of each crate that is not for tests, in the files that its root declares.
fn rust(root: &Path) -> Result<BTreeMap<String, usize>> {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec()?;
    let mut rows = BTreeMap::new();
    let packages = metadata.workspace_packages();
    let for_tests = |name: &str, manifest: &Path| FOR_TESTS.contains(&name) || manifest.starts_with(root.join("tests"));
    for package in packages.iter().filter(|package| !for_tests(&package.name, package.manifest_path.as_std_path())) {
        let mut lines = 0;
        for (folder, modules) in modules(package)? {
            for path in &modules.files {
                let text = std::fs::read_to_string(folder.join(path)).with_context(|| format!("cannot read {path}"))?;
                lines += shipped::code_lines(&shipped::parse(path, &text)?);
            }
        }
        rows.insert(package.name.to_string(), lines);
    }
    Ok(rows)
}

/// The lines of each folder at the root, without tests and generated files.
fn python(root: &Path) -> Result<BTreeMap<String, usize>> {
    let mut rows = BTreeMap::new();
    for path in tidy::files(root)?.iter().filter(|path| path.ends_with(".py") && !path.contains("tests/")) {
        let Ok(text) = std::fs::read_to_string(root.join(path)) else { continue };
        if !text.starts_with("# Generated") {
            let folder = path.split('/').next().unwrap_or_default();
            *rows.entry(folder.to_owned()).or_default() += python_lines(&text);
        }
    }
    Ok(rows)
}

/// A triple-quoted string at the beginning of a line counts as documentation.
fn python_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let inside_string = tidy::python_string_lines(&lines);
    let mut documentation = false;
    let code = lines.iter().zip(inside_string).filter(|(line, inside)| {
        if !inside {
            documentation = line.trim_start_matches('r').starts_with("\"\"\"");
        }
        !documentation && !line.is_empty() && (*inside || !line.starts_with('#'))
    });
    code.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_and_comments_are_no_code() {
        let text = "\"\"\"A module.\"\"\"\n\n# Why.\nX = \"\"\"\n# a\n\n\"\"\"\n\n\n\
                    def f():\n    r\"\"\"Returns one.\n\n    Twice.\n    \"\"\"\n    return 1  # one\n";
        assert_eq!(python_lines(text), 5);
    }

    #[test]
    fn crates_for_tests_are_left_out() {
        let rows = rust(&crate::root()).unwrap();
        assert!(rows["forebay-units"] > 100);
        assert!(!rows.contains_key("xtask") && !rows.contains_key("forebay-torture"));
    }
}
