//! The part of a Rust file that ships: its syntax without the code for tests.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, ExprMatch, ExprStruct, FieldsNamed, File, Item, ItemEnum, ItemImpl, ItemMod, ItemTrait};

/// Parses a file and removes all that is marked `#[cfg(test)]` or `#[test]`.
pub fn parse(path: &str, text: &str) -> Result<File> {
    let mut file = syn::parse_file(text).with_context(|| format!("{path} is not Rust"))?;
    Shipped.visit_file_mut(&mut file);
    Ok(file)
}

struct Shipped;

impl VisitMut for Shipped {
    fn visit_file_mut(&mut self, file: &mut File) {
        file.items.retain(Item::ships);
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_mod_mut(&mut self, module: &mut ItemMod) {
        if let Some((_, items)) = &mut module.content {
            items.retain(Item::ships);
        }
        visit_mut::visit_item_mod_mut(self, module);
    }

    fn visit_item_impl_mut(&mut self, item: &mut ItemImpl) {
        item.items.retain(Attributed::ships);
        visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_item_trait_mut(&mut self, item: &mut ItemTrait) {
        item.items.retain(Attributed::ships);
        visit_mut::visit_item_trait_mut(self, item);
    }

    fn visit_item_enum_mut(&mut self, item: &mut ItemEnum) {
        retain(&mut item.variants);
        visit_mut::visit_item_enum_mut(self, item);
    }

    fn visit_fields_named_mut(&mut self, fields: &mut FieldsNamed) {
        retain(&mut fields.named);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        block.stmts.retain(Attributed::ships);
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_expr_match_mut(&mut self, expression: &mut ExprMatch) {
        expression.arms.retain(Attributed::ships);
        visit_mut::visit_expr_match_mut(self, expression);
    }

    fn visit_expr_struct_mut(&mut self, expression: &mut ExprStruct) {
        retain(&mut expression.fields);
        visit_mut::visit_expr_struct_mut(self, expression);
    }
}

fn retain<T: Attributed, P: Default>(list: &mut Punctuated<T, P>) {
    *list = std::mem::take(list).into_iter().filter(Attributed::ships).collect();
}

trait Attributed: quote::ToTokens {
    /// Whether no attribute in front of it limits it to tests.
    fn ships(&self) -> bool {
        let mut tokens = self.to_token_stream().into_iter();
        while let (Some(TokenTree::Punct(_)), Some(TokenTree::Group(attribute))) = (tokens.next(), tokens.next()) {
            let attribute = attribute.stream().to_string().replace(' ', "");
            if ["test", "cfg(test)"].contains(&attribute.as_str()) || attribute.starts_with("cfg(all(test,") {
                return false;
            }
        }
        true
    }
}

impl<T: quote::ToTokens> Attributed for T {}

/// The number of lines that have code. A string over several lines counts with all of them.
pub fn code_lines(file: &File) -> usize {
    let mut lines = BTreeSet::new();
    add_lines(quote::ToTokens::to_token_stream(file), &mut lines);
    lines.len()
}

fn add_lines(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                tokens.next_if(|next| matches!(next, TokenTree::Punct(sign) if sign.as_char() == '!'));
                tokens.next_if(|next| matches!(next, TokenTree::Group(group) if is_documentation(group)));
            }
            TokenTree::Group(group) => {
                lines.insert(group.span_open().start().line);
                lines.insert(group.span_close().end().line);
                add_lines(group.stream(), lines);
            }
            other => lines.extend(other.span().start().line..=other.span().end().line),
        }
    }
}

/// Whether an attribute is `doc`, to which the compiler turns a `///` comment.
fn is_documentation(attribute: &Group) -> bool {
    let first = attribute.stream().into_iter().next();
    attribute.delimiter() == Delimiter::Bracket && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> usize {
        code_lines(&parse("a.rs", text).unwrap())
    }

    #[test]
    fn comments_and_blank_lines_are_no_code() {
        let text = "//! A file.\n\n/// A function.\n#[inline]\nfn f() { // twice\n    /* a\n    b */\n    g();\n}\n";
        assert_eq!(lines(text), 4);
        assert_eq!(lines("m! {\n    /// A field.\n    field,\n}\n"), 3);
    }

    #[test]
    fn a_line_of_a_string_is_code() {
        assert_eq!(lines("const A: &str = \"one\n\ntwo\";\n"), 3);
    }

    #[test]
    fn code_for_tests_does_not_ship() {
        for guarded in [
            "fn f() {}",
            "mod a { #[cfg(test)] fn f() {} }",
            "impl A { #[test] fn f() {} }",
            "trait A { #[cfg(test)] fn f(); }",
            "struct A { #[cfg(test)] f: u8 }",
            "enum A { #[cfg(test)] f }",
            "fn a() { #[cfg(test)] f(); }",
            "fn a() { match b { #[cfg(test)] f => c } }",
            "fn a() { A { #[cfg(test)] f: 1 } }",
        ] {
            let has_f = |text: &str| {
                let file = parse("a.rs", text).unwrap();
                quote::ToTokens::to_token_stream(&file).to_string().split(' ').any(|word| word == "f")
            };
            assert!(!has_f(&format!("#[cfg(all(test, unix))]\n{guarded}")), "{guarded}");
            assert_eq!(has_f(guarded), guarded == "fn f() {}", "{guarded}");
        }
    }
}
