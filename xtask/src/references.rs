//! Files, folders and types that comments and the pages for contributors name: all of them must exist.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use regex::Regex;

use crate::{prose, tidy};

/// Pages that name files of the repository. Other pages name files of their readers.
const PAGES: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md"];

/// Files of examples: a component that a contributor could add, a file that a user could have.
const INVENTED: &[&str] = &[
    "aimd.rs",
    "drrm.rs",
    "half_life.py",
    "keep_free.rs",
    "last.rs",
    "python_controller.py",
    "ring.rs",
    "short.py",
    "timely.rs",
];

/// Names of types that are in no code here: of papers, RFCs, libraries, other programs and examples.
const FOREIGN: &[&str] = &[
    "AimdConfig",
    "DrrmConfig",
    "HashMap",
    "IsLost",
    "KeepFreeConfig",
    "LastConfig",
    "NextSeg",
    "OnOffApplication",
    "RecoverFS",
    "RttThresh",
    "SetPipe",
    "TimelyConfig",
];

/// Checks all comments, docstrings and [`PAGES`]; one line for each name of nothing.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let files = tidy::files(root)?;
    let read = files.iter().map(|path| (path.as_str(), std::fs::read_to_string(root.join(path))));
    let texts: Vec<(&str, String)> = read.filter_map(|(path, text)| Some((path, text.ok()?))).collect();
    let repository = Repository::new(root, &texts)?;
    Ok(texts.iter().flat_map(|(path, text)| repository.findings(path, text)).collect())
}

struct Repository<'a> {
    root: &'a Path,
    /// All files, and all folders with a slash at their ends.
    paths: BTreeSet<&'a str>,
    /// All names in code that begin with a capital letter.
    types: BTreeSet<&'a str>,
    code: Regex,
    bare_path: Regex,
    type_name: Regex,
}

impl<'a> Repository<'a> {
    fn new(root: &'a Path, texts: &'a [(&str, String)]) -> Result<Self> {
        let mut paths = BTreeSet::new();
        for (path, _) in texts {
            paths.insert(*path);
            paths.extend(path.match_indices('/').map(|(at, _)| &path[..=at]));
        }
        let name = Regex::new(r"\b[A-Z]\w+")?;
        let mut types = BTreeSet::new();
        for (path, text) in texts {
            let mark = if path.ends_with(".rs") { "//" } else { "#" };
            if [".rs", ".py", ".pyi"].iter().any(|ending| path.ends_with(ending)) {
                let code = text.lines().map(|line| line.split(mark).next().unwrap_or_default());
                types.extend(code.flat_map(|line| name.find_iter(line)).map(|found| found.as_str()));
            }
        }
        let code = Regex::new("`([^`]+)`")?;
        let bare_path = Regex::new(r"(?:^|[ (])((?:[\w.-]+/)+[\w-]+\.(?:rs|py|md|toml))\b")?;
        // At least two words in camel case: one word is often no type.
        let type_name = Regex::new(r"^(?:\w+::)*([A-Z][a-z0-9]+[A-Z]\w*)(?:::\w+)*(?:\(\))?$")?;
        Ok(Self { root, paths, types, code, bare_path, type_name })
    }

    fn findings(&self, path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        for (line, text) in prose::comments(path, text, PAGES.contains(&path)) {
            let mut add = |kind: &str, name: &str| findings.push(format!("{path}:{line}: there is no {kind} `{name}`"));
            for found in self.code.captures_iter(&text).map(|found| found.extract::<1>().1[0]) {
                if self.is_path(found) && !self.has_path(path, found) {
                    add("file", found);
                }
                if let Some(name) = self.type_name.captures(found).map(|found| found.extract::<1>().1[0])
                    && !self.types.contains(name)
                    && !FOREIGN.contains(&name)
                {
                    add("type", name);
                }
            }
            let without_code = self.code.replace_all(&text, "");
            for found in self.bare_path.captures_iter(&without_code).map(|found| found.extract::<1>().1[0]) {
                if !self.has_path(path, found) {
                    add("file", found);
                }
            }
        }
        findings
    }

    /// Whether the code in backticks is the path of a source file or of a folder.
    fn is_path(&self, code: &str) -> bool {
        let plain = code.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && code.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        let file = [".rs", ".py"].iter().any(|ending| code.ends_with(ending));
        let from_root = code.find('/').is_some_and(|slash| self.paths.contains(&code[..=slash]));
        plain && !code.starts_with("NAME") && (file || from_root || code.ends_with('/'))
    }

    /// Whether a file or folder of this name is in the same part of the repository as the file at `from`. The name may
    /// also be a path from the root or from the folder of that file.
    fn has_path(&self, from: &str, named: &str) -> bool {
        let part = part_of(from);
        let inside =
            |path: &&str| path.strip_suffix(named).is_some_and(|before| before.is_empty() || before.ends_with('/'));
        let folder = Path::new(from).parent().unwrap_or(Path::new(""));
        INVENTED.iter().any(|invented| named.ends_with(invented))
            || self.paths.contains(named)
            || self.paths.iter().any(|path| path.starts_with(part) && inside(path))
            || [Path::new(""), folder].iter().any(|start| self.root.join(start).join(named).exists())
    }
}

/// The folder of the crate, or else the top folder; empty for a file at the root.
fn part_of(path: &str) -> &str {
    let depth = usize::from(path.starts_with("crates/"));
    path.match_indices('/').nth(depth).map_or("", |(at, _)| &path[..=at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_in_comments_exist() {
        assert_eq!(check(&crate::root()).unwrap(), Vec::<String>::new());
    }

    /// The findings in a comment of the crate `a`, next to the crate `b`.
    fn findings(comment: &str) -> Vec<String> {
        let comment = format!("// {comment}\nstruct FirstType;\n");
        let texts = [("crates/a/src/io/one.rs", comment), ("crates/b/src/two.rs", "// SecondType\n".to_owned())];
        let repository = Repository::new(Path::new(""), &texts).unwrap();
        repository.findings(texts[0].0, &texts[0].1)
    }

    #[test]
    fn a_file_must_be_in_the_same_crate_or_be_named_from_the_root() {
        for named in ["`one.rs`", "`io/one.rs`", "`io/`", "`crates/b/src/two.rs`", "crates/b/src/two.rs.", "two.rs"] {
            assert_eq!(findings(&format!("See {named}")), Vec::<String>::new(), "{named}");
        }
        for named in ["two.rs", "ne.rs", "io/two.rs", "files/", "crates/b/src/one.rs"] {
            let expected = format!("crates/a/src/io/one.rs:1: there is no file `{named}`");
            assert_eq!(findings(&format!("See `{named}`.")), [expected]);
        }
        assert_eq!(findings("See crates/b/src/one.rs.").len(), 1);
    }

    #[test]
    fn a_type_must_be_in_the_code() {
        assert_eq!(findings("A `FirstType`, an `Other`, `io::FirstType::new()`, `IsLost`."), Vec::<String>::new());
        let expected = "crates/a/src/io/one.rs:1: there is no type `SecondType`";
        assert_eq!(findings("A [`SecondType`]."), [expected]);
        assert_eq!(findings("A `io::SecondType::new`."), [expected]);
    }
}
