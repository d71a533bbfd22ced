//! Lengths, names and headings that no other tool checks.
//!
//! The text is read line by line, not parsed, because rustfmt and ruff have already laid it out. A function ends at the
//! first closing brace (Rust) or the first line (Python) that is no deeper than its head.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A function is read in one screen.
const MAX_FUNCTION_LINES: usize = 70;
/// A file is one subject.
const MAX_FILE_LINES: usize = 600;
/// The same where files are shorter: the beginning of their paths and the limit.
const FILE_LINES: &[(&str, usize)] = &[("crates/engine/", ENGINE_FILE_LINES)];
/// A part of the engine must be readable in one go.
const ENGINE_FILE_LINES: usize = 450;
/// rustfmt's `max_width`, which it does not hold for comments and strings.
const MAX_WIDTH: usize = 120;

/// Files and functions that may exceed the limits, with the reasons. `item` is a function's name, or empty for the file
/// as a whole.
struct Exception {
    path: &'static str,
    item: &'static str,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] =
    &[Exception { path: "python/forebay/_scenario_types.py", item: "", reason: "generated from the schema" }];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["util", "utils", "common", "manager", "helper", "helpers", "misc"];

/// Signs of unfinished work. Split, so that this file does not find itself.
const UNFINISHED: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
];

/// Roots of absolute paths that exist on one machine only. Split for the same reason.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
    concat!("/tm", "p/"),
];

/// The fixed headings of an algorithm's module documentation, which become its manual page.
const HEADINGS: &[&str] =
    &["# What it does", "# When to use it", "# Example", "# Source", "# Where we differ", "# Cost", "# Parameters"];

/// Algorithms with a manual page each.
struct Algorithms {
    folder: &'static str,
    /// Implementations of these are algorithms.
    seams: &'static [&'static str],
    /// Implementations that are no algorithms.
    others: &'static [&'static str],
}

const ALGORITHMS: &[Algorithms] = &[
    // The adapters that put any law in front of a FIFO, and hold the packets of a custom discipline.
    Algorithms { folder: "crates/qdisc/src/", seams: &["Admission", "Discipline<P>"], others: &["fifo", "custom"] },
    // How the schemes of the QCN family recover is one piece.
    Algorithms {
        folder: "crates/switching/src/congestion/",
        seams: &["CongestionPoint", "ReactionPoint"],
        others: &["rate_increase"],
    },
    Algorithms { folder: "crates/switching/src/", seams: &["Scheduler"], others: &[] },
];

/// The crates that have unsafe code and so lints of their own: those of the workspace forbid it.
const WITH_UNSAFE: &[&str] = &["crates/compiled/Cargo.toml", "crates/live/Cargo.toml"];

/// A crate with unsafe code in one folder only.
const UNSAFE_FOLDER: (&str, &str) = ("crates/live/", "crates/live/src/sys/");

/// Checks every file that git tracks or would track; one line for each finding.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    let mut modules = BTreeSet::new();
    for path in files(root)? {
        // A binary file (a picture, a capture) has nothing to check, and a deleted one is no longer there.
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        findings.extend(check_file(&path, &text));
        modules.extend(algorithm_of(&path, &text));
    }
    for module in modules {
        findings.extend(check_headings(root, &module)?);
    }
    for exception in EXCEPTIONS {
        ensure!(!exception.reason.is_empty(), "the exception for {} needs its reason", exception.path);
    }
    Ok(findings)
}

/// The repository's files, relative to `root`, in order.
pub fn files(root: &Path) -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(root)
        .output()
        .context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    let mut files: Vec<String> = listing.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The findings in one file that need no other file.
fn check_file(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let (folder, file_name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = file_name.rsplit_once('.').unwrap_or((file_name, ""));
    let source = matches!(extension, "rs" | "py");
    if source && (EMPTY_NAMES.contains(&stem) || folder.split('/').any(|part| EMPTY_NAMES.contains(&part))) {
        findings.push(format!("{path}: the name says nothing about what is inside"));
    }
    if source || matches!(extension, "toml" | "md" | "yml" | "ipynb") || file_name == "Makefile" {
        findings.extend(check_words(path, text));
    }
    // A package with a workspace of its own, such as the fuzz targets, cannot inherit ours.
    let member = file_name == "Cargo.toml" && text.contains("[package]") && !text.contains("[workspace]");
    if member && !text.contains("[lints]\nworkspace = true") && !WITH_UNSAFE.contains(&path) {
        findings.push(format!("{path}: add `[lints] workspace = true`"));
    }
    if source {
        findings.extend(check_lengths(path, text, extension == "rs"));
    }
    if extension == "rs" {
        let (crate_folder, folder_with_unsafe) = UNSAFE_FOLDER;
        if path.starts_with(crate_folder) && !path.starts_with(folder_with_unsafe) && text.contains("unsafe {") {
            findings.push(format!("{path}: unsafe code of this crate belongs into {folder_with_unsafe}"));
        }
        if !text.starts_with("//!") {
            findings.push(format!("{path}:1: say in a `//!` line what this file is"));
        }
        let wide = text.lines().enumerate().filter(|(_, line)| line.chars().count() > MAX_WIDTH);
        findings.extend(wide.map(|(index, _)| format!("{path}:{}: wider than {MAX_WIDTH} columns", index + 1)));
    }
    findings
}

fn check_words(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(word) = UNFINISHED.iter().find(|word| line.contains(**word)) {
            findings.push(format!("{path}:{number}: `{word}`: finish it, or open an issue"));
        }
        if let Some(place) = MACHINE_PATHS.iter().find(|place| has_absolute_path(line, place)) {
            findings.push(format!("{path}:{number}: `{place}` is a path of one machine"));
        }
    }
    findings
}

/// Whether `line` holds an absolute path under `place`; "docs/work/" is a relative one and "//host/work/" a URL's.
fn has_absolute_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}' | ')' | '/' | '*'))
    })
}

fn check_lengths(path: &str, text: &str, rust: bool) -> Vec<String> {
    let excepted = |item: &str| EXCEPTIONS.iter().any(|e| e.path == path && e.item == item);
    let mut findings = Vec::new();
    let lines = text.lines().count();
    let limit = max_file_lines(path, FILE_LINES);
    if lines > limit && !excepted("") {
        findings.push(format!("{path}: {lines} lines, more than {limit}"));
    }
    let functions = if rust { rust_functions(text) } else { python_functions(text) };
    for function in functions {
        if function.lines > MAX_FUNCTION_LINES && !excepted(function.name) && !excepted("") {
            let Function { name, start, lines } = function;
            findings.push(format!("{path}:{start}: `{name}` has {lines} lines, more than {MAX_FUNCTION_LINES}"));
        }
    }
    findings
}

/// The most lines that the file at `path` may have under the table `limits`.
fn max_file_lines(path: &str, limits: &[(&str, usize)]) -> usize {
    limits.iter().find(|(start, _)| path.starts_with(start)).map_or(MAX_FILE_LINES, |(_, limit)| *limit)
}

/// A function's name, the number of its first line and how many lines it has, head included, docstring but for its
/// first line not.
#[derive(Debug, PartialEq)]
struct Function<'a> {
    name: &'a str,
    start: usize,
    lines: usize,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The name that a line of Rust begins to define, if it is the head of a function.
fn rust_function_name(line: &str) -> Option<&str> {
    const QUALIFIERS: &[&str] = &["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe", "extern", "\"C\""];
    let mut rest = line.trim_start();
    while let Some((word, after)) = rest.split_once(' ') {
        if word == "fn" {
            let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
            return Some(&after[..end]);
        }
        if !QUALIFIERS.contains(&word) {
            return None;
        }
        rest = after;
    }
    None
}

fn rust_functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = rust_function_name(line) else { continue };
        let depth = indent(line);
        // The body opens at the first line that ends in an opening brace; a declaration or a one-liner ends before.
        let Some(open) = lines[index..].iter().position(|l| l.ends_with(['{', '}', ';'])) else { continue };
        let open = index + open;
        let end = if lines[open].ends_with('{') {
            lines[open + 1..]
                .iter()
                .position(|l| indent(l) == depth && l.trim_start().starts_with('}'))
                .map_or(lines.len() - 1, |offset| open + 1 + offset)
        } else {
            open
        };
        functions.push(Function { name, start: index + 1, lines: end - index + 1 });
    }
    functions
}

fn python_functions(text: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let inside_string = python_string_lines(&lines);
    let mut functions = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let head = line.trim_start();
        let head = head.strip_prefix("async ").unwrap_or(head);
        let Some(name) = head.strip_prefix("def ").and_then(|rest| rest.split('(').next()) else { continue };
        if inside_string[index] {
            continue;
        }
        let depth = indent(line);
        let end = (index + 1..lines.len())
            .find(|&i| {
                let outer = !lines[i].trim().is_empty() && indent(lines[i]) <= depth && !inside_string[i];
                outer && !lines[i].trim_start().starts_with(')')
            })
            .unwrap_or(lines.len());
        let blank = lines[..end].iter().rev().take_while(|l| l.trim().is_empty()).count();
        // The documentation of each argument, of errors and an example are not what makes a function long.
        let in_text = inside_string[index..end - blank].iter().filter(|&&inside| inside).count();
        functions.push(Function { name, start: index + 1, lines: end - blank - index - in_text });
    }
    functions
}

/// Returns whether each line begins inside a triple-quoted string.
pub fn python_string_lines(lines: &[&str]) -> Vec<bool> {
    let mut inside = false;
    let begins_inside = |line: &&str| {
        let before = inside;
        inside ^= line.matches("\"\"\"").count() % 2 == 1;
        before
    };
    lines.iter().map(begins_inside).collect()
}

/// The module of the algorithm that a file implements, without its ending, if it implements one.
fn algorithm_of(path: &str, text: &str) -> Option<String> {
    let algorithms = ALGORITHMS.iter().find(|algorithms| path.starts_with(algorithms.folder))?;
    let inside = path.strip_prefix(algorithms.folder)?.strip_suffix(".rs")?;
    let name = inside.split('/').next().unwrap_or(inside);
    let shipped = text.split("#[cfg(test)]").next().unwrap_or(text);
    let implements = shipped.lines().any(|line| {
        line.starts_with("impl") && algorithms.seams.iter().any(|seam| line.contains(&format!(" {seam} for ")))
    });
    (implements && !algorithms.others.contains(&name)).then(|| format!("{}{name}", algorithms.folder))
}

/// The text of a module's `//!` documentation.
fn module_doc(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Checks the file of a module: `NAME.rs`, or `NAME/mod.rs`.
fn check_headings(root: &Path, module: &str) -> Result<Vec<String>> {
    let single = format!("{module}.rs");
    let path = if root.join(&single).exists() { single } else { format!("{module}/mod.rs") };
    let text = std::fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
    Ok(missing_headings(&module_doc(&text))
        .into_iter()
        .map(|heading| format!("{path}: the module documentation lacks `{heading}`"))
        .collect())
}

/// The fixed headings that a module's documentation lacks.
fn missing_headings(doc: &str) -> Vec<&'static str> {
    let has = |heading: &str| doc.lines().any(|line| line.trim_end() == heading);
    HEADINGS.iter().copied().filter(|heading| !has(heading)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(check(&crate::root()).unwrap(), Vec::<String>::new());
    }

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_longer_than_a_screen_is_caught() {
        assert_eq!(check_lengths("a.rs", &function_of(70), true), Vec::<String>::new());
        let findings = check_lengths("a.rs", &function_of(71), true);
        assert_eq!(findings, ["a.rs:1: `long` has 71 lines, more than 70"]);
    }

    #[test]
    fn a_long_file_is_caught() {
        assert_eq!(check_lengths("a.py", &"x = 1\n".repeat(601), false), ["a.py: 601 lines, more than 600"]);
    }

    #[test]
    fn a_crate_may_have_a_limit_of_its_own() {
        let limits = [("crates/engine/", 450)];
        assert_eq!(max_file_lines("crates/engine/src/spec/link.rs", &limits), 450);
        assert_eq!(max_file_lines("crates/engine-room/src/lib.rs", &limits), MAX_FILE_LINES);
    }

    #[test]
    fn rust_functions_end_at_their_own_brace() {
        let text = "impl A {\n    pub const fn one() -> u8 { 1 }\n    fn declared(\n        x: u8,\n    );\n    \
                    async fn two<T>(\n        x: T,\n    ) -> T {\n        if y {\n        }\n        x\n    }\n}\n";
        let found: Vec<_> = rust_functions(text).into_iter().map(|f| (f.name, f.start, f.lines)).collect();
        assert_eq!(found, [("one", 2, 1), ("declared", 3, 3), ("two", 6, 7)]);
    }

    #[test]
    fn python_functions_end_where_the_indent_does() {
        let text = "def one(\n    x: int,\n) -> int:\n    \"\"\"Text\nat the margin.\n    \"\"\"\n    return x\n\n\n\
                    class A:\n    async def two(self):\n        pass\n";
        let found: Vec<_> = python_functions(text).into_iter().map(|f| (f.name, f.start, f.lines)).collect();
        assert_eq!(found, [("one", 1, 5), ("two", 11, 2)]);
    }

    #[test]
    fn an_empty_name_is_caught() {
        assert_eq!(check_file("crates/engine/src/utils.rs", "//! Doc.\n").len(), 1);
        assert_eq!(check_file("python/forebay/common/a.py", "").len(), 1);
        assert_eq!(check_file("crates/engine/src/packet.rs", "//! Doc.\n").len(), 0);
    }

    #[test]
    fn unfinished_work_is_caught() {
        for word in UNFINISHED {
            assert_eq!(check_file("a.rs", &format!("//! Doc.\n// {word}\n")).len(), 1, "{word}");
        }
    }

    #[test]
    fn a_path_of_one_machine_is_caught() {
        let place = MACHINE_PATHS[2];
        assert_eq!(check_words("a.md", &format!("see {place}someone/notes")).len(), 1);
        assert_eq!(check_words("a.md", &format!("see docs{place}page.md")).len(), 0);
    }

    #[test]
    fn a_file_without_documentation_and_a_wide_line_are_caught() {
        assert_eq!(check_file("a.rs", "fn a() {}\n").len(), 1);
        assert_eq!(check_file("a.rs", &format!("//! {}\n", "x".repeat(117))).len(), 1);
    }

    #[test]
    fn unsafe_code_outside_of_its_folder_is_caught() {
        let text = "//! A call.\nfn a() { unsafe { b() } }\n";
        assert_eq!(check_file("crates/live/src/io.rs", text).len(), 1);
        assert_eq!(check_file("crates/live/src/sys/socket.rs", text).len(), 0);
    }

    #[test]
    fn a_crate_without_the_lints_is_caught() {
        assert_eq!(check_file("crates/a/Cargo.toml", "[package]\nname = \"a\"\n").len(), 1);
        assert_eq!(check_file("crates/a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n").len(), 0);
        assert_eq!(check_file(WITH_UNSAFE[0], "[package]\n[lints.rust]\nunsafe_code = \"deny\"\n").len(), 0);
    }

    #[test]
    fn an_algorithm_needs_its_headings() {
        let law = "//! Doc.\nimpl Admission for Red {\n";
        assert_eq!(algorithm_of("crates/qdisc/src/red.rs", law).as_deref(), Some("crates/qdisc/src/red"));
        assert_eq!(algorithm_of("crates/qdisc/src/dbl/law.rs", law).as_deref(), Some("crates/qdisc/src/dbl"));
        assert_eq!(algorithm_of("crates/qdisc/src/fifo.rs", law), None);
        assert_eq!(algorithm_of("crates/qdisc/src/hash.rs", "#[cfg(test)]\nimpl Admission for Probe {"), None);
        let discipline = "impl<P: Packet> Discipline<P> for Drr<P> {";
        assert_eq!(algorithm_of("crates/qdisc/src/drr.rs", discipline).as_deref(), Some("crates/qdisc/src/drr"));
        let scheduler = "impl<const N: usize> Scheduler for MaximumWeight<N> {";
        assert_eq!(algorithm_of("crates/switching/src/mwm.rs", scheduler).as_deref(), Some("crates/switching/src/mwm"));
        assert_eq!(algorithm_of("crates/switching/src/matching.rs", "impl fmt::Debug for Matching {"), None);
        assert_eq!(algorithm_of("crates/engine/src/crossbar.rs", scheduler), None);
        let scheme = "impl CongestionPoint for QcnCongestionPoint {";
        let path = "crates/switching/src/congestion/qcn";
        assert_eq!(algorithm_of(&format!("{path}.rs"), scheme).as_deref(), Some(path));
        assert_eq!(algorithm_of("crates/switching/src/congestion/rate_increase.rs", scheme), None);
        let without_two = "# What it does\ntext\n# When to use it\n# Source\n# Where we differ\n# Parameters";
        assert_eq!(missing_headings(without_two), ["# Example", "# Cost"]);
    }
}
