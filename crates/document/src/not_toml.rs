//! Remedies for the errors of the TOML parser that users meet most.

use std::ops::Range;

use crate::error::Problem;
use crate::tree::Place;

/// The problem of a text that is not TOML, with a remedy if its cause is known.
pub(crate) fn not_toml(text: &str, span: Range<usize>, message: &str) -> Problem {
    let place = Place { text: 0, span: span.clone() };
    if message.contains("inline table") {
        return Problem::at(
            place,
            "an inline table cannot be extended".into(),
            "its value is an inline table, `{ … }`",
        )
        .with_help(after_inline_table(text, span.start));
    }
    if message.starts_with("duplicate key") {
        return Problem::at(place, format!("this is not TOML: {message}"), "given twice")
            .with_help(given_twice(text, span));
    }
    match unquoted(text, span) {
        Some(value) => {
            let (message, expected) = with_quotes(&text[value.clone()]);
            Problem::at(Place { text: 0, span: value }, message.into(), format!("expected {expected}"))
        }
        None => Problem::at(place, format!("this is not TOML: {message}"), "here"),
    }
}

/// The bare words around `span`, where a value is expected: `tcp`, `100 Mbps`.
fn unquoted(text: &str, span: Range<usize>) -> Option<Range<usize>> {
    let before = text.get(..span.start)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let start = line_start + before[line_start..].rfind(['=', '[', '{', ','])? + 1;
    let rest = &text[start..];
    let value = &rest[..rest.find([',', ']', '}', '#', '\n', '\r']).unwrap_or(rest.len())];
    let words = value.trim();
    let is_plain = |c: char| c.is_alphanumeric() || " _-./%:+".contains(c) || TYPOGRAPHIC_QUOTES.contains(&c);
    if !words.contains(char::is_alphabetic) || !words.chars().all(is_plain) {
        return None;
    }
    let start = start + (value.len() - value.trim_start().len());
    Some(start..start + words.len())
}

/// Typographic quotes, which word processors and web pages put in place of `"` and `'`.
const TYPOGRAPHIC_QUOTES: [char; 6] = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{201a}'];

/// The message about bare words, and the value in their place.
fn with_quotes(words: &str) -> (&'static str, String) {
    let lower = words.to_ascii_lowercase();
    if matches!(lower.as_str(), "true" | "false") {
        return ("this is not TOML: `true` and `false` have small letters", lower);
    }
    if words.contains(TYPOGRAPHIC_QUOTES) {
        let plain = words.trim_matches(TYPOGRAPHIC_QUOTES);
        return ("this is not TOML: quotes must be straight", format!("\"{plain}\""));
    }
    ("this is not TOML: text must be in quotes", format!("\"{words}\""))
}

/// The key that begins at `start` has an inline table as its value; the rest of its line adds to that table.
fn after_inline_table(text: &str, start: usize) -> String {
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[line_start..].lines().next().unwrap_or_default();
    let written = line.split('=').next().unwrap_or_default().trim().trim_matches(['[', ']']).trim();
    let (table, key) = written.rsplit_once('.').unwrap_or(("", written));
    let within =
        if line.trim_start().starts_with("[[") { format!("{key} = [{{ … }}]") } else { format!("{key} = …") };
    let table = if table.is_empty() { "the table".into() } else { format!("`{table}`") };
    format!("write `{within}` within the braces of {table}, or give each table above it a header of its own: `[…]`")
}

/// A table and a list of tables cannot share a name.
fn given_twice(text: &str, span: Range<usize>) -> Option<String> {
    let key = text.get(span.clone())?;
    let line_start = text[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
    let is_header = text[line_start..].trim_start().starts_with('[');
    is_header.then(|| format!("several tables of one name are a list: begin each with `[[{key}]]`"))
}

#[cfg(test)]
mod tests {
    use crate::tree::Node;

    fn refused(text: &str) -> (String, String, String) {
        let problem = Node::parse(text).map(|_| ()).unwrap_err();
        (problem.message, problem.label, problem.help.unwrap_or_default())
    }

    #[test]
    fn text_without_quotes_is_shown_with_them() {
        for (text, expected) in [
            ("transport = tcp", "tcp"),
            ("queue = fq_codel # the default", "fq_codel"),
            ("a = [drop_tail, red]", "drop_tail"),
            ("a = { rate = 100 Mbps, delay = \"1 ms\" }", "100 Mbps"),
            ("a = 10ms\nb = 1", "10ms"),
            ("a = nanoseconds", "nanoseconds"),
            ("a = inf Mbps", "inf Mbps"),
        ] {
            let (message, label, _) = refused(text);
            assert_eq!(message, "this is not TOML: text must be in quotes", "{text}");
            assert_eq!(label, format!("expected \"{expected}\""), "{text}");
        }
    }

    #[test]
    fn letters_and_quotes_of_other_languages_are_shown_in_those_of_toml() {
        for (text, expected) in [
            ("ecn = True", "true"),
            ("a = { ecn = FALSE }", "false"),
            ("name = \u{201c}tcp\u{201d}", "\"tcp\""),
            ("rate = \u{2018}10 Mbps\u{2019} # of the link", "\"10 Mbps\""),
        ] {
            let (message, label, _) = refused(text);
            assert!(message.contains("small letters") || message.contains("straight"), "{text}: {message}");
            assert_eq!(label, format!("expected {expected}"), "{text}");
        }
    }

    #[test]
    fn other_errors_keep_the_words_of_the_parser() {
        for text in ["a =", "a", "a = 1..8", "a = \"x\ny", "a = 'x' b", "a = [1, 2"] {
            let (message, label, _) = refused(text);
            assert!(message.starts_with("this is not TOML: ") && !message.contains("quotes"), "{text}: {message}");
            assert_eq!(label, "here", "{text}");
        }
    }

    #[test]
    fn an_inline_table_is_complete_and_the_remedy_names_its_key() {
        let (message, _, help) = refused("queue = { cbq = {} }\n[[queue.cbq.classes]]\nshare = 0.5");
        assert_eq!(message, "an inline table cannot be extended");
        assert!(help.starts_with("write `classes = [{ … }]` within the braces of `queue.cbq`"), "{help}");
        let (_, _, help) = refused("queue = { cbq = {} }\nqueue.cbq.limit = 3");
        assert!(help.starts_with("write `limit = …` within the braces of `queue.cbq`"), "{help}");
    }

    #[test]
    fn tables_of_one_name_are_a_list() {
        for text in ["[flows]\n[[flows]]\nx = 1", "[[flows]]\n[flows]\nx = 1", "[flows]\n[flows]"] {
            let (_, label, help) = refused(text);
            assert_eq!(label, "given twice");
            assert_eq!(help, "several tables of one name are a list: begin each with `[[flows]]`", "{text}");
        }
        assert_eq!(refused("a = 1\na = 2").2, "");
    }
}
