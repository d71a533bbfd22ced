//! The imports of a module of Rust: its modules, its `use` declarations, its paths, the names that it defines.
//!
//! Paths count wherever they are, the arguments of macros included. Paths that a macro builds from its arguments
//! (`crate::$module::build`) are not seen.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, Item, ItemMod, ItemUse, Lit, Meta, UseTree, Visibility};

/// The imports of one module, inline modules apart.
#[derive(Debug, Default)]
pub struct Module {
    pub uses: Vec<Use>,
    /// Paths of two names or more outside `use` declarations.
    pub paths: Vec<(Vec<String>, usize)>,
    /// Names of the items that it defines.
    pub items: BTreeSet<String>,
    /// All names outside `use` declarations.
    pub names: BTreeSet<String>,
    pub modules: Vec<Declaration>,
}

/// One name that a `use` declaration brings in.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    /// The whole path, or the path before the star of a glob.
    pub path: Vec<String>,
    /// The name under which it is known here; none for a glob.
    pub name: Option<String>,
    pub public: bool,
    pub line: usize,
}

/// `mod name;` or `mod name { … }`.
#[derive(Debug)]
pub struct Declaration {
    pub name: String,
    /// The file in the attribute `path`.
    pub path: Option<String>,
    pub inline: Option<Module>,
}

/// Reads the items of a module.
pub fn read(items: &[Item]) -> Module {
    let mut module = Module::default();
    for item in items {
        match item {
            Item::Mod(inner) => module.modules.push(declaration(inner)),
            Item::Use(_) => module.visit_item(item),
            _ => {
                module.visit_item(item);
                module.items.extend(defined_name(item).map(|name| name.unraw().to_string()));
                module.add_paths(item.to_token_stream());
            }
        }
    }
    module
}

fn declaration(module: &ItemMod) -> Declaration {
    let path = module.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    });
    let inline = module.content.as_ref().map(|(_, items)| read(items));
    Declaration { name: module.ident.unraw().to_string(), path, inline }
}

fn defined_name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

impl Visit<'_> for Module {
    fn visit_item_use(&mut self, item: &ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        // `use ::a` is a path of another crate, which no module of this one can be: the empty name is found nowhere.
        let prefix = if item.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
        self.add_uses(&prefix, &item.tree, public);
        visit::visit_item_use(self, item);
    }
}

impl Module {
    fn add_uses(&mut self, prefix: &[String], tree: &UseTree, public: bool) {
        let (last, name) = match tree {
            UseTree::Path(path) => {
                let prefix = [prefix, &[path.ident.unraw().to_string()]].concat();
                return self.add_uses(&prefix, &path.tree, public);
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.add_uses(prefix, tree, public)),
            UseTree::Glob(glob) => {
                let line = glob.star_token.span.start().line;
                return self.uses.push(Use { path: prefix.to_vec(), name: None, public, line });
            }
            UseTree::Name(name) => (&name.ident, &name.ident),
            UseTree::Rename(renamed) => (&renamed.ident, &renamed.rename),
        };
        let mut path = prefix.to_vec();
        if last != "self" {
            path.push(last.unraw().to_string());
        }
        let name = if name == "self" { path.last().cloned() } else { Some(name.unraw().to_string()) };
        self.uses.push(Use { path, name, public, line: last.span().start().line });
    }

    /// Adds all paths outside `use` declarations and the names in them.
    fn add_paths(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is = |at: usize, sign: char| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == sign);
        let separator = |at: usize| {
            let joint = matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.spacing() == Spacing::Joint);
            joint && is(at, ':') && is(at + 1, ':')
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let start = at;
            at += 1;
            match token {
                TokenTree::Group(group) => self.add_paths(group.stream()),
                TokenTree::Ident(name) if name == "use" && !is(at, '<') => {
                    at += (at..tokens.len()).take_while(|at| !is(*at, ';')).count();
                }
                // The name of a lifetime.
                TokenTree::Punct(sign) if sign.as_char() == '\'' => at += 1,
                TokenTree::Ident(first) => {
                    let mut path = vec![first.unraw().to_string()];
                    while separator(at)
                        && let Some(TokenTree::Ident(name)) = tokens.get(at + 2)
                    {
                        path.push(name.unraw().to_string());
                        at += 3;
                    }
                    self.names.extend(path.iter().cloned());
                    // A path that begins with a separator goes on from something unknown: `<T as Trait>::Item`.
                    if path.len() > 1 && (start < 2 || !separator(start - 2)) {
                        self.paths.push((path, first.span().start().line));
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
