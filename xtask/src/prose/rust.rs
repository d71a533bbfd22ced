//! Finds the comments and the messages of a Rust file.

use super::source::{Kind, Source};
use super::strings::{Piece, message};

/// The comments of the file and, before its unit tests, the strings that hold sentences.
pub fn sources(text: &str, test: bool) -> Vec<Source> {
    let shipped = if test { 0 } else { text.find("#[cfg(test)]\nmod ").unwrap_or(text.len()) };
    let mut sources: Vec<Source> = Vec::new();
    for piece in pieces(text) {
        match piece {
            Token::Comment { line, own_line, text } => comment(&mut sources, line, own_line, text),
            Token::Literal { start, piece } if start < shipped => sources.extend(message(&[piece], Kind::Message)),
            Token::Literal { .. } => {}
        }
    }
    sources
}

enum Token<'a> {
    Comment { line: usize, own_line: bool, text: &'a str },
    Literal { start: usize, piece: Piece },
}

/// Adds a line of comment to the source before it, if that is the same comment.
fn comment(sources: &mut Vec<Source>, line: usize, own_line: bool, text: &str) {
    let doc = ["///", "//!"].iter().any(|mark| text.starts_with(mark)) && !text.starts_with("////");
    let kind = if doc { Kind::Doc } else { Kind::Comment };
    let text = if doc { &text[3..] } else { text.trim_start_matches('/') };
    let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
    let continues =
        |last: &&mut Source| own_line && last.kind == kind && last.lines.last().map(|l| l.0 + 1) == Some(line);
    match sources.last_mut().filter(continues) {
        Some(last) => last.lines.push((line, text)),
        None => sources.push(Source { kind, lines: vec![(line, text)] }),
    }
}

/// Scans the text once. Block comments are not used in this repository and are skipped.
fn pieces(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    let mut tokens = Vec::new();
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            let own_line = text[line_start..at].trim().is_empty();
            tokens.push(Token::Comment { line, own_line, text: &rest[..length] });
            length
        } else if let Some((length, piece)) = literal(rest, line, previous_is_word(text, at)) {
            tokens.extend(piece.map(|piece| Token::Literal { start: at, piece }));
            length
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        let passed = &text[at..at + length];
        line += passed.matches('\n').count();
        if let Some(newline) = passed.rfind('\n') {
            line_start = at + newline + 1;
        }
        at += length;
    }
    tokens
}

fn previous_is_word(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
}

/// The literal at the start of `rest`: its length in the file and, for a string, its content.
fn literal(rest: &str, line: usize, in_word: bool) -> Option<(usize, Option<Piece>)> {
    if let Some(character) = rest.strip_prefix('\'') {
        return Some((1 + character_length(character)?, None));
    }
    let raw = rest.strip_prefix('r').filter(|_| !in_word);
    if let Some(hashes) = raw.map(|raw| raw.len() - raw.trim_start_matches('#').len())
        && rest[1 + hashes..].starts_with('"')
    {
        let start = hashes + 2;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = rest[start..].find(&end)?;
        let content = rest[start..start + length].to_owned();
        return Some((start + length + end.len(), Some(Piece { line, content, escaped: false, triple: false })));
    }
    let string = rest.strip_prefix('"')?;
    let mut escape = false;
    let end = string.char_indices().find(|(_, c)| {
        let quote = *c == '"' && !escape;
        escape = *c == '\\' && !escape;
        quote
    });
    let length = end?.0;
    Some((length + 2, Some(Piece { line, content: string[..length].to_owned(), escaped: true, triple: false })))
}

/// The length of a character literal after its first quote; none for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        return text[2..].find('\'').map(|end| end + 3);
    }
    characters.next().filter(|(_, second)| *second == '\'').map(|(end, _)| end + 1)
}
