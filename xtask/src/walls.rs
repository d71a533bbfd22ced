//! The imports between crates, checked over `cargo metadata`; within a crate, large circles of files.
//!
//! There is a wall at two consumers, a heavy dependency, or a proof of purity. The disciplines run in the simulator and
//! on real packets, so they may depend on neither. `no_std` lets the compiler prove that they use no clock and no file.
//! This check keeps `no_std` in place and their dependencies few.

use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package};

use crate::circles;

/// The permitted dependencies of one crate.
struct Wall {
    crate_name: &'static str,
    /// Crates of this workspace that it may import.
    imports: &'static [&'static str],
    /// Whether it is pure: `no_std`, and no other library than [`PURE_LIBRARIES`] and [`PURE_CONFIG_LIBRARIES`].
    pure: bool,
}

const fn wall(crate_name: &'static str, pure: bool, imports: &'static [&'static str]) -> Wall {
    Wall { crate_name, imports, pure }
}

const UNITS: &str = "forebay-units";
const QDISC: &str = "forebay-qdisc";
const TCP: &str = "forebay-tcp";
const RDMA: &str = "forebay-rdma";
const SWITCHING: &str = "forebay-switching";
const RECORDS: &str = "forebay-records";
const ENGINE: &str = "forebay-engine";
const DOCUMENT: &str = "forebay-document";
const SCENARIO: &str = "forebay-scenario";
const REPLAY: &str = "forebay-replay";
const COMPILED: &str = "forebay-compiled";
const TESTKIT: &str = "forebay-testkit";

/// Every crate of the workspace has its row, present or planned.
const WALLS: &[Wall] = &[
    wall(UNITS, true, &[]),
    wall(QDISC, true, &[UNITS]),
    wall(TCP, true, &[UNITS]),
    wall(RDMA, true, &[UNITS]),
    wall(SWITCHING, true, &[UNITS]),
    wall(RECORDS, false, &[UNITS]),
    wall(ENGINE, false, &[UNITS, QDISC, TCP, RDMA, SWITCHING, RECORDS]),
    wall(DOCUMENT, false, &[]),
    wall(SCENARIO, false, &[UNITS, QDISC, TCP, RDMA, SWITCHING, RECORDS, ENGINE, DOCUMENT]),
    wall(REPLAY, false, &[UNITS, QDISC, RECORDS]),
    wall(COMPILED, false, &[]),
    wall("forebay-py", false, &[UNITS, QDISC, TCP, RDMA, SWITCHING, RECORDS, ENGINE, SCENARIO, REPLAY, COMPILED]),
    wall("forebay-wasm", false, &[UNITS, QDISC, RECORDS, ENGINE, SCENARIO, REPLAY]),
    wall("forebay-live", false, &[UNITS, QDISC, RECORDS, REPLAY, DOCUMENT]),
    wall(TESTKIT, false, &[UNITS, QDISC, TCP, RDMA, SWITCHING]),
    wall("forebay-torture", false, &[UNITS, RECORDS, ENGINE, REPLAY, SCENARIO]),
    wall("xtask", false, &[SCENARIO]),
];

/// Dependencies that a pure crate may always use: mathematics and the trait of a random generator.
const PURE_LIBRARIES: &[&str] = &["libm", "rand_core", "rand_pcg"];

/// Dependencies that a pure crate may use behind its feature `config`, and so only as optional ones.
const PURE_CONFIG_LIBRARIES: &[&str] = &["serde", "schemars", "serde_json"];

/// Checks the workspace at `root`; one line for each edge that no wall allows, and for each circle of files that is too
/// large.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed")?;
    let mut findings = violations(&metadata);
    for package in metadata.workspace_packages() {
        findings.extend(circles::check(package)?);
        if row(&package.name).is_some_and(|wall| wall.pure) {
            let library = package.manifest_path.with_file_name("src").join("lib.rs");
            let text = std::fs::read_to_string(&library).with_context(|| format!("cannot read {library}"))?;
            if !text.contains("\n#![no_std]\n") {
                findings.push(format!("{} is pure, but {library} lacks #![no_std]", package.name));
            }
        }
    }
    Ok(findings)
}

fn row(crate_name: &str) -> Option<&'static Wall> {
    WALLS.iter().find(|wall| wall.crate_name == crate_name)
}

/// Every edge of the dependency graph that no wall allows.
fn violations(metadata: &Metadata) -> Vec<String> {
    let mut findings = Vec::new();
    for package in metadata.workspace_packages() {
        let Some(wall) = row(&package.name) else {
            findings.push(format!("{} has no row in xtask/src/walls.rs: say there what it may import", package.name));
            continue;
        };
        findings.extend(package.dependencies.iter().filter_map(|dependency| violation(wall, package, dependency)));
    }
    findings
}

/// The fault of one edge, if any.
fn violation(wall: &Wall, package: &Package, dependency: &Dependency) -> Option<String> {
    let edge = format!("{} -> {}", package.name, dependency.name);
    let development = dependency.kind == DependencyKind::Development;
    if row(&dependency.name).is_some() {
        // Tests may also use the test kit; shipped code may not.
        let allowed = wall.imports.contains(&dependency.name.as_str())
            || (development && dependency.name == TESTKIT)
            || dependency.name == *package.name;
        return (!allowed).then(|| format!("{edge}: may only import {}", list(wall.imports)));
    }
    if development || !wall.pure || PURE_LIBRARIES.contains(&dependency.name.as_str()) {
        return None;
    }
    if !PURE_CONFIG_LIBRARIES.contains(&dependency.name.as_str()) {
        return Some(format!("{edge}: a pure crate uses no other library than {}", list(PURE_LIBRARIES)));
    }
    (!dependency.optional).then(|| format!("{edge}: only as an optional dependency, behind the feature `config`"))
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no crate of the workspace".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn package(name: &str, dependencies: &[Value]) -> Value {
        json!({
            "name": name, "version": "0.1.0", "id": name, "manifest_path": format!("/repository/{name}/Cargo.toml"),
            "dependencies": dependencies, "targets": [], "features": {}, "edition": "2024",
        })
    }

    fn dependency(name: &str, kind: Option<&str>, optional: bool) -> Value {
        json!({
            "name": name, "req": "*", "kind": kind, "optional": optional, "uses_default_features": true,
            "features": [], "target": null, "rename": null, "registry": null, "path": null, "source": null,
        })
    }

    fn check_one(name: &str, dependencies: &[Value]) -> Vec<String> {
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [package(name, dependencies)], "workspace_members": [name], "resolve": null,
            "workspace_root": "/repository", "target_directory": "/repository/target", "version": 1,
        }))
        .unwrap();
        violations(&metadata)
    }

    #[test]
    fn the_workspace_keeps_its_walls() {
        assert_eq!(check(&crate::root()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn an_import_against_the_flow_is_caught() {
        let findings = check_one("forebay-qdisc", &[dependency("forebay-engine", None, false)]);
        assert_eq!(findings, ["forebay-qdisc -> forebay-engine: may only import forebay-units"]);
    }

    #[test]
    fn neither_replay_nor_live_links_the_simulator() {
        for name in [REPLAY, "forebay-live"] {
            let mut linked = vec![name];
            while let Some(import) =
                linked.iter().flat_map(|name| row(name).unwrap().imports).find(|import| !linked.contains(import))
            {
                linked.push(import);
            }
            assert!(!linked.contains(&ENGINE) && !linked.contains(&TCP), "{linked:?}");
        }
    }

    #[test]
    fn the_pure_crates_never_see_each_other() {
        assert_eq!(check_one("forebay-tcp", &[dependency("forebay-qdisc", None, false)]).len(), 1);
        assert_eq!(check_one("forebay-units", &[dependency("forebay-tcp", Some("build"), false)]).len(), 1);
    }

    #[test]
    fn a_heavy_library_in_a_pure_crate_is_caught() {
        let findings = check_one("forebay-tcp", &[dependency("rand", None, false)]);
        assert_eq!(
            findings,
            ["forebay-tcp -> rand: a pure crate uses no other library than libm, rand_core, rand_pcg"]
        );
    }

    #[test]
    fn serde_in_a_pure_crate_is_optional_or_caught() {
        assert_eq!(check_one("forebay-units", &[dependency("serde", None, true)]), Vec::<String>::new());
        assert_eq!(check_one("forebay-units", &[dependency("serde", None, false)]).len(), 1);
    }

    #[test]
    fn the_test_kit_is_for_tests() {
        assert!(check_one("forebay-engine", &[dependency("forebay-testkit", Some("dev"), false)]).is_empty());
        assert_eq!(check_one("forebay-engine", &[dependency("forebay-testkit", None, false)]).len(), 1);
    }

    #[test]
    fn tests_may_use_any_library() {
        assert!(check_one("forebay-qdisc", &[dependency("proptest", Some("dev"), false)]).is_empty());
    }

    #[test]
    fn nobody_imports_the_edges() {
        for edge in ["forebay-py", "forebay-live", "forebay-torture", "xtask"] {
            assert_eq!(check_one("forebay-scenario", &[dependency(edge, None, false)]).len(), 1, "{edge}");
        }
    }

    #[test]
    fn a_crate_without_a_row_is_caught() {
        assert_eq!(check_one("forebay-novel", &[]).len(), 1);
    }
}
