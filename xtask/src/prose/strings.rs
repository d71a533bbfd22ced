//! Turns string literals into prose.

use super::source::{CODE, Kind, Source};

/// Strings with fewer words are names, keys and labels.
const MIN_WORDS: usize = 3;

/// The content of a string literal as written in the file.
pub struct Piece {
    /// The line at which it starts.
    pub line: usize,
    pub content: String,
    /// Whether a backslash escapes the next character.
    pub escaped: bool,
    /// Whether three quotes enclose it, as they do a docstring.
    pub triple: bool,
}

/// The source of adjacent literals that form one string, if it is a sentence.
pub fn message(pieces: &[Piece], kind: Kind) -> Option<Source> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut joined = false;
    for piece in pieces {
        for (number, line) in unescaped(piece) {
            match lines.last_mut().filter(|_| joined) {
                Some((_, last)) => last.push_str(&line),
                None => lines.push((number, line)),
            }
            joined = false;
        }
        joined = true;
    }
    for (_, line) in &mut lines {
        *line = without_placeholders(line);
    }
    let text: String = lines.iter().flat_map(|(_, line)| [line.as_str(), " "]).collect();
    is_sentence(&text).then_some(Source { kind, lines })
}

/// The lines of a literal after its escapes have taken effect.
fn unescaped(piece: &Piece) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let (mut number, mut start, mut line) = (piece.line, piece.line, String::new());
    let mut characters = piece.content.chars().peekable();
    while let Some(c) = characters.next() {
        number += usize::from(c == '\n');
        let end_of_line = match c {
            '\n' => true,
            '\\' if piece.escaped => match characters.next() {
                Some('n') => true,
                Some('\n') => {
                    number += 1;
                    while characters.next_if(|c| c.is_whitespace()).is_some() {}
                    false
                }
                Some('u') if characters.peek() == Some(&'{') => {
                    for _ in characters.by_ref().take_while(|c| *c != '}') {}
                    false
                }
                Some(escaped) => {
                    line.push(if escaped == 't' { ' ' } else { escaped });
                    false
                }
                None => false,
            },
            _ => {
                line.push(c);
                false
            }
        };
        if end_of_line {
            lines.push((start, std::mem::take(&mut line)));
            start = number;
        }
    }
    lines.push((start, line));
    lines
}

/// Replaces `{name}` by one character, and `{{` by a brace.
fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '{' if depth == 0 && characters.next_if_eq(&'{').is_some() => out.push('{'),
            '{' => {
                if depth == 0 {
                    out.push(CODE);
                }
                depth += 1;
            }
            '}' if depth > 0 => depth -= 1,
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// Whether a string reads like prose: enough words, and hardly any of the characters of code.
fn is_sentence(text: &str) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() > 1 && word.chars().all(|c| c.is_alphabetic() || c == '-' || c == '\'')
    };
    let words = text.split_whitespace().filter(is_word).count();
    let code = text.matches(['=', '{', '}', '<', '>', '|', '$', '\\', '[', '_']).count();
    words >= MIN_WORDS && code * 2 < words
}
