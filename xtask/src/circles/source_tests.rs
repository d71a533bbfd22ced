//! Reading of a file of Rust.

use super::*;

fn read(text: &str) -> Module {
    super::read(&crate::shipped::parse("a.rs", text).unwrap().items)
}

fn uses(text: &str) -> Vec<String> {
    let shown = |u: Use| {
        let public = if u.public { "pub " } else { "" };
        format!("{}: {public}{} as {}", u.line, u.path.join("::"), u.name.as_deref().unwrap_or("*"))
    };
    read(text).uses.into_iter().map(shown).collect()
}

fn paths(text: &str) -> Vec<String> {
    read(text).paths.into_iter().map(|(path, line)| format!("{line}: {}", path.join("::"))).collect()
}

#[test]
fn groups_nest_and_go_over_lines() {
    let text = "use crate::a::{\n    self, B, c::{D as E, f::*}, // use crate::not;\n};\npub(crate) use super::G;\n";
    let expected = [
        "2: crate::a as a",
        "2: crate::a::B as B",
        "2: crate::a::c::D as E",
        "2: crate::a::c::f as *",
        "4: pub super::G as G",
    ];
    assert_eq!(uses(text), expected);
}

#[test]
fn a_use_in_a_function_counts_and_captured_lifetimes_do_not() {
    assert_eq!(
        uses("fn f() -> impl Sized + use<> { use super::A; }\npub use b::C;"),
        ["1: super::A as A", "2: pub b::C as C"]
    );
}

#[test]
fn what_is_for_tests_only_is_left_out() {
    for guarded in [
        "mod tests { use super::*; fn f() { crate::a::b(); } }",
        "mod tests;",
        "#[path = \"a_tests.rs\"]\nmod tests;",
        "use crate::{a::B, c::D};",
        "pub(crate) use crate::{a::B, c::D};",
        "fn f<A, B>(a: [A; 2], b: B) -> crate::C { crate::d::e() }",
        "impl crate::a::B for C {}",
    ] {
        for attribute in ["#[cfg(test)]", "#[cfg(all(test, unix))]"] {
            let read = read(&format!("{attribute}\n{guarded}\nuse crate::kept::K;\n"));
            assert_eq!((read.uses.len(), read.paths.len(), read.modules.len()), (1, 0, 0), "{guarded}");
        }
    }
    assert_eq!(paths("struct A { #[cfg(test)] b: crate::c::D, e: crate::f::G }"), ["1: crate::f::G"]);
    assert_eq!(uses("#[cfg(any(test, feature = \"x\"))]\nuse crate::a::B;").len(), 1);
}

#[test]
fn paths_are_found_wherever_they_stand() {
    let text = "fn f<'a>(x: &'a crate::a::A) -> Vec<super::B> {\n    c::<u8>('\"', '\\'', \"crate::no::N\");\n    \
                g!(r#\"crate::\"no::N\"#, $crate::h::I, <J as self::K>::L); /* crate::no /* */ ::N */\n}";
    assert_eq!(paths(text), ["1: crate::a::A", "1: super::B", "3: crate::h::I", "3: self::K"]);
}

#[test]
fn modules_and_items_are_those_at_the_top() {
    let text = "mod a;\n#[path = \"b_file.rs\"]\npub mod b;\npub mod c { struct Inner; mod d; }\nstruct S { x: u8 }\n\
                pub const fn f() { fn inner() {} }\nmacro_rules! m { () => {} }\nenum E {}\n";
    let read = read(text);
    let modules: Vec<_> = read.modules.iter().map(|m| (m.name.as_str(), m.path.as_deref())).collect();
    assert_eq!(modules, [("a", None), ("b", Some("b_file.rs")), ("c", None)]);
    let inline = read.modules[2].inline.as_ref().unwrap();
    assert_eq!((inline.items.len(), inline.modules.len()), (1, 1));
    for item in ["S", "f", "m", "E"] {
        assert!(read.items.contains(item), "{item}");
    }
    assert!(!read.items.contains("inner") && !read.items.contains("Inner"));
}
