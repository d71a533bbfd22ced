//! Which files of a crate import each other in a circle.
//!
//! Files in a circle can only be understood, tested and changed together. Two or three that belong together may be one;
//! more are a sign that something is in the wrong file.

mod modules;
mod source;

use std::path::PathBuf;

use anyhow::{Context, Result};
use cargo_metadata::{Package, Target, TargetKind};
use petgraph::algo::{greedy_feedback_arc_set, tarjan_scc};
use petgraph::graph::DiGraph;

use modules::{Import, Modules};

/// The most files of a crate that may import each other in a circle.
const MAX_FILES: usize = 3;

/// Crates that have larger ones, with the size of their largest. Each is to become `MAX_FILES`, and so to disappear.
const LIMITS: &[(&str, usize)] =
    &[("forebay-scenario", 7), ("forebay-switching", 10), ("forebay-tcp", 7), ("forebay-units", 4)];

/// One line for each circle of a package's files that is too large.
pub fn check(package: &Package) -> Result<Vec<String>> {
    let limit = LIMITS.iter().find(|(name, _)| *name == package.name.as_str()).map_or(MAX_FILES, |(_, limit)| *limit);
    let mut findings = Vec::new();
    for (_, modules) in modules(package)? {
        findings.extend(circles(&modules, limit).into_iter().map(|circle| format!("{}: {circle}", package.name)));
    }
    Ok(findings)
}

/// The modules of each target of a package that ships, with the folder of their files.
pub fn modules(package: &Package) -> Result<Vec<(PathBuf, Modules)>> {
    let shipped = [TargetKind::Lib, TargetKind::CDyLib, TargetKind::Bin];
    let targets = package.targets.iter().filter(|target| target.kind.iter().any(|kind| shipped.contains(kind)));
    let read = |target: &Target| {
        let root = target.src_path.as_std_path();
        let folder = root.parent().with_context(|| format!("{} has no folder", root.display()))?;
        let name = target.src_path.file_name().with_context(|| format!("{} has no name", root.display()))?;
        let modules = Modules::read(name, &|path| std::fs::read_to_string(folder.join(path)).ok())
            .with_context(|| format!("{}: cannot follow its modules", package.name))?;
        Ok((folder.to_path_buf(), modules))
    };
    targets.map(read).collect()
}

/// A description of each circle of more than `limit` files.
fn circles(modules: &Modules, limit: usize) -> Vec<String> {
    let imports = modules.imports();
    let mut graph = DiGraph::<usize, &Import>::new();
    let nodes: Vec<_> = (0..modules.files.len()).map(|file| graph.add_node(file)).collect();
    for import in &imports {
        graph.add_edge(nodes[import.from], nodes[import.to], import);
    }
    let mut found = Vec::new();
    for component in tarjan_scc(&graph).into_iter().filter(|component| component.len() > limit) {
        let inside =
            graph.filter_map(|node, &file| component.contains(&node).then_some(file), |_, &import| Some(import));
        let mut files: Vec<&str> = inside.node_weights().map(|&file| modules.files[file].as_str()).collect();
        files.sort_unstable();
        let mut closing: Vec<String> =
            greedy_feedback_arc_set(&inside).map(|edge| shown(modules, edge.weight())).collect();
        closing.sort_unstable();
        found.push(format!(
            "{} files import each other in a circle, more than {limit}: {}; without these imports there is none: {}",
            files.len(),
            files.join(", "),
            closing.join(", ")
        ));
    }
    found.sort_unstable();
    found
}

fn shown(modules: &Modules, import: &Import) -> String {
    let Import { from, to, line, path } = import;
    format!("{}:{line} -> {} (`{path}`)", modules.files[*from], modules.files[*to])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files, each of which imports an item from each of the given ones.
    fn crate_of(files: &[(&str, &[&str])]) -> Modules {
        let root: String = files.iter().map(|(name, _)| format!("mod {name};\n")).collect();
        let text_of = |path: &str| {
            let name = path.strip_suffix(".rs")?;
            let (_, imports) = files.iter().find(|(file, _)| *file == name).filter(|_| name != "lib")?;
            let calls: String = imports.iter().map(|import| format!("crate::{import}::f();\n")).collect();
            Some(format!("pub fn f() {{ {calls} }}"))
        };
        Modules::read("lib.rs", &|path| if path == "lib.rs" { Some(root.clone()) } else { text_of(path) }).unwrap()
    }

    #[test]
    fn a_circle_names_its_files_and_the_import_that_closes_it() {
        let modules = crate_of(&[("a", &["b"]), ("b", &["c"]), ("c", &["d"]), ("d", &["a"]), ("e", &["a"])]);
        let found = circles(&modules, 3);
        assert_eq!(found.len(), 1);
        let (files, closing) = found[0].split_once("; without these imports there is none: ").unwrap();
        assert_eq!(files, "4 files import each other in a circle, more than 3: a.rs, b.rs, c.rs, d.rs");
        assert_eq!(closing.matches(" -> ").count(), 1, "{closing}");
        assert_eq!(circles(&modules, 4), Vec::<String>::new());
    }

    #[test]
    fn two_circles_are_found_apart() {
        let modules = crate_of(&[("a", &["b"]), ("b", &["a", "c"]), ("c", &["d"]), ("d", &["c"])]);
        assert_eq!(circles(&modules, 1).len(), 2);
        assert_eq!(circles(&modules, 2), Vec::<String>::new());
    }

    #[test]
    fn imports_in_one_direction_are_no_circle() {
        assert_eq!(circles(&crate_of(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]), 1), Vec::<String>::new());
    }
}
