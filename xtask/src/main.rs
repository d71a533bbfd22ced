//! The repository's own checks and generators, run as `cargo xtask COMMAND`.
//!
//! - `walls`: who may import whom, over `cargo metadata`; circles of files within a crate;
//! - `tidy`: lengths, names and headings that no other tool checks; names of files and types in comments;
//! - `prose [PATH...]`: patterns of hard English, and commit subjects; with paths, only in the files there;
//! - `lines`: prints the number of lines of code, without comments, blank lines and tests;
//! - `generate [--check]`: the JSON Schema, the Python types and the reference pages; `--check` only compares;
//! - `bindgen WASM DIR`, with the feature `lab`: the module of `crates/wasm` and its JavaScript, for the lab.
//!
//! Each ends with status 1 and one line for every finding when something is not as it should be.

#[cfg(feature = "lab")]
mod bindgen;
mod circles;
mod generate;
mod guide;
mod lines;
mod prose;
mod references;
mod shipped;
mod tidy;
mod walls;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask walls | tidy | prose [PATH...] | lines | generate [--check] | bindgen WASM DIR";

/// The repository's root: the folder above this package.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Runs the command and returns its findings, one on each line; none means that all is well.
fn findings(arguments: &[&str]) -> Result<Vec<String>> {
    match arguments {
        ["walls"] => walls::check(&root()),
        ["tidy"] => Ok([tidy::check(&root())?, references::check(&root())?].concat()),
        ["prose", paths @ ..] => prose::check(&root(), paths),
        ["lines"] => lines::print(&root()).map(|()| Vec::new()),
        ["generate"] => generate::run(&root(), generate::Mode::Write),
        #[cfg(feature = "lab")]
        ["bindgen", module, folder] => bindgen::run(Path::new(module), Path::new(folder)).map(|()| Vec::new()),
        ["generate", "--check"] => generate::run(&root(), generate::Mode::Check),
        _ => bail!("{USAGE}"),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match findings(&arguments) {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("cargo xtask {}: {} to fix", arguments.join(" "), findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}
