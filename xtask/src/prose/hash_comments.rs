//! Finds the comments, docstrings and messages of Python, and the comments and texts of other files that mark a comment
//! with `#`.

use super::source::{Kind, Source};
use super::strings::{Piece, message};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Python,
    /// Strings are texts of an experiment or a scenario.
    Toml,
    /// Only comments.
    Other,
}

/// Keys of an experiment whose strings are the words of a paper or an expression.
const QUOTED_KEYS: &[&str] = &["paper", "quote", "reference"];

/// The comments and the prose in strings of the file.
pub fn sources(text: &str, language: Language, test: bool) -> Vec<Source> {
    let mut scan = Scan { language, test, sources: Vec::new(), pending: Vec::new(), docstring: false };
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    while at < text.len() {
        let rest = &text[at..];
        let before = &text[line_start..at];
        let length = if rest.starts_with('#') {
            let length = rest.find('\n').unwrap_or(rest.len());
            scan.comment(line, before, &rest[..length]);
            length
        } else if let Some((length, piece)) = string(rest, line).filter(|_| language != Language::Other) {
            scan.string(piece, before, &text[at + length..]);
            length
        } else {
            let next = rest.chars().next().unwrap_or('\n');
            if !next.is_whitespace() && !is_prefix(rest) {
                scan.end_string();
            }
            next.len_utf8()
        };
        let passed = &text[at..at + length];
        line += passed.matches('\n').count();
        if let Some(newline) = passed.rfind('\n') {
            line_start = at + newline + 1;
        }
        at += length;
    }
    scan.end_string();
    scan.sources
}

struct Scan {
    language: Language,
    test: bool,
    sources: Vec<Source>,
    /// Adjacent literals, which Python joins.
    pending: Vec<Piece>,
    docstring: bool,
}

impl Scan {
    fn comment(&mut self, line: usize, before: &str, text: &str) {
        // A line of `make help` is read by a user.
        let help = self.language == Language::Other && text.starts_with("## ");
        let kind = if help { Kind::Message } else { Kind::Comment };
        let text = text.trim_start_matches('#');
        let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
        let own_line = before.trim().is_empty();
        let continues =
            |last: &&mut Source| own_line && last.kind == kind && last.lines.last().map(|l| l.0 + 1) == Some(line);
        match self.sources.last_mut().filter(continues) {
            Some(last) => last.lines.push((line, text)),
            None => self.sources.push(Source { kind, lines: vec![(line, text)] }),
        }
    }

    fn string(&mut self, piece: Piece, before: &str, after: &str) {
        if self.language == Language::Toml {
            let key = before.trim_end_matches([' ', '=', '[', '{']).rsplit([' ', ',']).next().unwrap_or_default();
            if !QUOTED_KEYS.contains(&key) && !self.test {
                self.sources.extend(message(&[piece], Kind::Experiment));
            }
            return;
        }
        let own_line = before.trim().trim_start_matches(['r', 'f', 'b']).is_empty();
        let alone = after.trim_start_matches([' ', '\r']).starts_with('\n');
        self.docstring = self.pending.is_empty() && own_line && alone && piece.triple;
        self.pending.push(piece);
        if self.docstring {
            self.end_string();
        }
    }

    fn end_string(&mut self) {
        let pieces = std::mem::take(&mut self.pending);
        if pieces.is_empty() {
            return;
        }
        let kind = match (self.docstring, self.test) {
            (true, false) => Kind::Docstring,
            (true, true) => Kind::Comment,
            (false, false) => Kind::Message,
            (false, true) => return,
        };
        self.docstring = false;
        self.sources.extend(message(&pieces, kind));
    }
}

/// Whether a string follows after letters such as the `f` of a format string.
fn is_prefix(rest: &str) -> bool {
    let after = rest.trim_start_matches(['r', 'f', 'b', 'R', 'F', 'B']);
    rest.len() - after.len() <= 2 && after.starts_with(['"', '\''])
}

/// The string literal at the start of `rest`, and its length in the file.
fn string(rest: &str, line: usize) -> Option<(usize, Piece)> {
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| rest.starts_with(quote))?;
    let inner = &rest[quote.len()..];
    let mut from = 0;
    let length = loop {
        let step = inner[from..].find(['\\', '\n', '"', '\''])?;
        from += step;
        let here = &inner[from..];
        if here.starts_with(quote) {
            break from;
        }
        if here.starts_with('\n') && quote.len() == 1 {
            return None;
        }
        let escaped = here.strip_prefix('\\').and_then(|escaped| escaped.chars().next());
        from += 1 + escaped.map_or(0, char::len_utf8);
    };
    let piece = Piece { line, content: inner[..length].to_owned(), escaped: true, triple: quote.len() == 3 };
    Some((length + 2 * quote.len(), piece))
}
