//! The modules of a crate, and which file imports from which.
//!
//! An import leads to the file that defines the name, through all re-exports: a root that only lists the crate's
//! public names joins no files. A module that is imported as a whole counts by the paths that go through it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};

use super::source::{self, Declaration, Use};

/// A crate's modules, from its root file down, without those for tests.
pub struct Modules {
    /// Paths relative to the crate's source folder, with `/`.
    pub files: Vec<String>,
    modules: Vec<Node>,
}

struct Node {
    file: usize,
    parent: usize,
    children: BTreeMap<String, usize>,
    said: source::Module,
}

/// An import of one file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub from: usize,
    pub to: usize,
    pub line: usize,
    pub path: String,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Module(usize),
    /// Something that this file defines.
    Item(usize),
    Outside,
}

/// Longer chains of re-exports are circles of names, which the compiler refuses.
const MAX_STEPS: usize = 64;

impl Modules {
    /// Reads the crate whose root is the file `root`; `text_of` gives the text of a file, if there is one.
    pub fn read(root: &str, text_of: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let mut modules = Self { files: Vec::new(), modules: Vec::new() };
        let text = text_of(root).with_context(|| format!("cannot read {root}"))?;
        modules.add_file(root, "", 0, &text, text_of)?;
        Ok(modules)
    }

    /// Adds the module of a file; those that it declares are in `folder`.
    fn add_file(
        &mut self,
        path: &str,
        folder: &str,
        parent: usize,
        text: &str,
        text_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        self.files.push(path.to_owned());
        let file = crate::shipped::parse(path, text)?;
        self.add(source::read(&file.items), self.files.len() - 1, folder, parent, text_of)
    }

    fn add(
        &mut self,
        mut said: source::Module,
        file: usize,
        folder: &str,
        parent: usize,
        text_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<usize> {
        let index = self.modules.len();
        let declared = std::mem::take(&mut said.modules);
        self.modules.push(Node { file, parent, children: BTreeMap::new(), said });
        for Declaration { name, path, inline } in declared {
            let inner = joined(folder, &name);
            let child = match inline {
                Some(said) => self.add(said, file, &inner, index, text_of)?,
                None => {
                    let path = path.map(|path| joined(folder_of(&self.files[file]), &path));
                    let places =
                        path.map_or_else(|| vec![format!("{inner}.rs"), format!("{inner}/mod.rs")], |p| vec![p]);
                    let found = places.iter().find_map(|place| Some((place, text_of(place)?)));
                    let (place, text) =
                        found.with_context(|| format!("{}: cannot find `mod {name};`", self.files[file]))?;
                    self.add_file(place, &inner, index, &text, text_of)?
                }
            };
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }

    /// Each pair of files of which the first imports from the second, with the first of its imports.
    pub fn imports(&self) -> Vec<Import> {
        let mut found: BTreeMap<(usize, usize), Import> = BTreeMap::new();
        for (index, node) in self.modules.iter().enumerate() {
            let uses = node.said.uses.iter().filter(|u| is_import(node, u));
            let uses = uses.map(|u| (&u.path, u.line, u.name.is_none()));
            for (path, line, glob) in uses.chain(node.said.paths.iter().map(|(path, line)| (path, *line, false))) {
                let to = match self.resolve(index, path, 0) {
                    Target::Item(file) => file,
                    Target::Module(module) if glob => self.modules[module].file,
                    Target::Module(_) | Target::Outside => continue,
                };
                let import = Import { from: node.file, to, line, path: path.join("::") };
                if to != node.file {
                    found.entry((node.file, to)).or_insert(import);
                }
            }
        }
        found.into_values().collect()
    }

    /// The target of a path in `module`.
    fn resolve(&self, module: usize, path: &[String], steps: usize) -> Target {
        let Some((first, rest)) = path.split_first() else { return Target::Module(module) };
        match first.as_str() {
            "crate" => self.walk(0, rest, steps),
            "self" => self.walk(module, rest, steps),
            "super" => {
                let above = rest.iter().take_while(|name| *name == "super").count();
                let start = (0..=above).fold(module, |at, _| self.modules[at].parent);
                self.walk(start, &rest[above..], steps)
            }
            // Unless it begins with a name known here, it leads to another crate or to the prelude.
            _ => self.find(module, path, steps).unwrap_or(Target::Outside),
        }
    }

    /// The target of `path` from `module`: an item that is not found there is assumed to be defined by a macro.
    fn walk(&self, module: usize, path: &[String], steps: usize) -> Target {
        if path.is_empty() {
            return Target::Module(module);
        }
        self.find(module, path, steps).unwrap_or(Target::Item(self.modules[module].file))
    }

    /// The target of `path` if `module` has its first name.
    fn find(&self, module: usize, path: &[String], steps: usize) -> Option<Target> {
        let (name, rest) = path.split_first()?;
        if steps > MAX_STEPS {
            return Some(Target::Outside);
        }
        let node = &self.modules[module];
        let child = node.children.get(name).map(|&child| self.walk(child, rest, steps + 1));
        let item = node.said.items.contains(name).then_some(Target::Item(node.file));
        // A module and an item may have the same name; only the module can have something inside.
        let own = if rest.is_empty() { item.or(child) } else { child.or(item) };
        own.or_else(|| {
            let named = node.said.uses.iter().find(|u| u.name.as_ref() == Some(name))?;
            Some(match self.resolve(module, &named.path, steps + 1) {
                Target::Module(found) => self.walk(found, rest, steps + 1),
                target => target,
            })
        })
        .or_else(|| {
            let globs = node.said.uses.iter().filter(|u| u.name.is_none());
            globs.into_iter().find_map(|glob| match self.resolve(module, &glob.path, steps + 1) {
                Target::Module(found) if found != module => self.find(found, path, steps + 1),
                _ => None,
            })
        })
    }
}

/// Whether a `use` declaration serves the module's own code: a re-export does only if that code names it.
fn is_import(node: &Node, used: &Use) -> bool {
    !used.public || used.name.as_ref().is_some_and(|name| node.said.names.contains(name))
}

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn folder_of(file: &str) -> &str {
    Path::new(file).parent().and_then(Path::to_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Modules {
        let text_of = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned());
        Modules::read("lib.rs", &text_of).unwrap()
    }

    fn imports(files: &[(&str, &str)]) -> Vec<String> {
        let modules = read(files);
        let file = |index: usize| &modules.files[index];
        modules.imports().iter().map(|i| format!("{}:{} {} {}", file(i.from), i.line, file(i.to), i.path)).collect()
    }

    #[test]
    fn a_name_leads_through_re_exports_to_its_file() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\npub use c::*;\nuse std::fmt;\npub use other::O;"),
            ("a.rs", "use crate::{B2, C, O};\nuse crate::fmt::Debug;\npub struct A;"),
            ("b.rs", "pub struct B;\nfn f(a: crate::A) {}"),
            ("c.rs", "pub use crate::b::B as B2;\npub enum C {}"),
        ];
        assert_eq!(imports(&files), ["a.rs:1 b.rs crate::B2", "a.rs:1 c.rs crate::C", "b.rs:2 a.rs crate::A"]);
    }

    #[test]
    fn a_re_export_counts_where_its_own_file_uses_it() {
        let files =
            |code: &str| [("lib.rs", format!("mod a;\npub use a::A;\n{code}")), ("a.rs", "pub struct A;".into())];
        let count = |code: &str| {
            let files = files(code);
            imports(&files.each_ref().map(|(name, text)| (*name, text.as_str()))).len()
        };
        assert_eq!((count(""), count("struct B(A);")), (0, 1));
    }

    #[test]
    fn parents_and_children_are_files_of_their_own() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b;\nmod inline { pub mod c; use super::b::B; }\nuse b::B;\npub struct A;"),
            ("a/b.rs", "use super::A;\npub struct B(super::inline::c::C);"),
            ("a/inline/c.rs", "use super::super::*;\npub struct C;"),
        ];
        let expected = [
            "a.rs:3 a/b.rs b::B",
            "a/b.rs:1 a.rs super::A",
            "a/b.rs:2 a/inline/c.rs super::inline::c::C",
            "a/inline/c.rs:1 a.rs super::super",
        ];
        assert_eq!(imports(&files), expected);
    }

    #[test]
    fn a_whole_module_counts_by_the_paths_through_it() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a.rs", "pub use crate::b::B;\npub use crate::c;"),
            ("b.rs", "pub struct B;"),
            ("c.rs", "use crate::a;\npub fn f() { a::B::new(); a::c::f(); Vec::<u8>::new(); std::mem::take(); }"),
        ];
        assert_eq!(imports(&files), ["c.rs:2 b.rs a::B::new"]);
    }

    #[test]
    fn files_for_tests_are_not_read() {
        let files = [("lib.rs", "#[cfg(test)]\nmod a;\n#[path = \"c_file.rs\"]\nmod c;"), ("c_file.rs", "")];
        assert_eq!(read(&files).files, ["lib.rs", "c_file.rs"]);
    }

    #[test]
    fn a_module_without_a_file_is_an_error() {
        let error = Modules::read("lib.rs", &|path| (path == "lib.rs").then(|| "mod a;".to_owned())).err().unwrap();
        assert_eq!(error.to_string(), "lib.rs: cannot find `mod a;`");
    }
}
