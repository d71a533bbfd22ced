//! Commands and lines of output as words with their places.

use std::ops::Range;

/// A word, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    /// Its place in the text, quotes included.
    pub span: Range<usize>,
}

impl Word {
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    /// Whether it begins `whole`: `tc` takes abbreviations of its objects and commands.
    pub fn begins(&self, whole: &str) -> bool {
        !self.text.is_empty() && whole.starts_with(&self.text)
    }

    /// The fault that it is not as expected.
    pub fn fault(&self, message: impl Into<String>, label: impl Into<String>) -> Fault {
        Fault { span: self.span.clone(), message: message.into(), label: label.into(), help: None }
    }
}

/// Something in the text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub span: Range<usize>,
    pub message: String,
    /// The text below the underlined place.
    pub label: String,
    pub help: Option<String>,
}

impl Fault {
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// A command, or a line of output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    pub words: Vec<Word>,
    /// Whether its line begins with a space: output continues so.
    pub is_indented: bool,
}

/// Reads the words as a shell does, without expanding anything. Comments and redirections are left out.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>, Fault> {
    let mut reader = Reader { text, at: 0, statements: Vec::new(), current: Statement::default(), at_line_start: true };
    reader.read()?;
    Ok(reader.statements)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    statements: Vec<Statement>,
    current: Statement,
    at_line_start: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn read(&mut self) -> Result<(), Fault> {
        while let Some(next) = self.peek() {
            match next {
                '\n' => {
                    self.at += 1;
                    self.end();
                    self.at_line_start = true;
                    continue;
                }
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.end();
                }
                '\\' if self.line_continues() => {
                    self.at += self.text[self.at..].find('\n').map_or(1, |newline| newline + 1);
                }
                '#' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                _ if next.is_whitespace() => {
                    self.at += next.len_utf8();
                    self.current.is_indented |= self.at_line_start && self.current.words.is_empty();
                    continue;
                }
                _ => self.word()?,
            }
            self.at_line_start = false;
        }
        self.end();
        Ok(())
    }

    /// Whether a backslash ends the line.
    fn line_continues(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")
    }

    fn word(&mut self) -> Result<(), Fault> {
        let start = self.at;
        let mut text = String::new();
        while let Some(next) = self.peek() {
            match next {
                '\'' | '"' => {
                    let open = self.at;
                    let Some(length) = self.text[open + 1..].find(next) else {
                        let word = Word { text, span: open..open + 1 };
                        return Err(word.fault("a quote is never closed", "it begins here"));
                    };
                    text += &self.text[open + 1..open + 1 + length];
                    self.at = open + length + 2;
                }
                '\\' if self.line_continues() => break,
                ';' | '&' | '|' => break,
                _ if next.is_whitespace() => break,
                _ => {
                    text.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
        self.current.words.push(Word { text, span: start..self.at });
        Ok(())
    }

    fn end(&mut self) {
        let mut statement = std::mem::take(&mut self.current);
        let mut skip_next = false;
        statement.words.retain(|word| {
            let rest = word.text.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_redirection = rest.starts_with(['<', '>']);
            let is_skipped = is_redirection || skip_next;
            skip_next = is_redirection && rest.trim_start_matches(['<', '>']).is_empty();
            !is_skipped
        });
        if !statement.words.is_empty() {
            self.statements.push(statement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Vec<String>> {
        let words = |statement: Statement| statement.words.into_iter().map(|word| word.text).collect();
        statements(text).unwrap().into_iter().map(words).collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "tc a 'b c' \"d\"e # f\ntc g \\\n  h; tc i && tc j 2>/dev/null || true\n\n  k\r\n";
        let expected: [&[&str]; 6] =
            [&["tc", "a", "b c", "de"], &["tc", "g", "h"], &["tc", "i"], &["tc", "j"], &["true"], &["k"]];
        assert_eq!(read(text), expected);
        assert!(statements(text).unwrap().last().unwrap().is_indented);
        assert_eq!(read("a > b c"), [["a", "c"]]);
    }

    #[test]
    fn a_place_is_that_of_the_word_with_its_quotes() {
        let words = &statements("é 'b c'").unwrap()[0].words;
        assert_eq!(words[1].span, 3..8);
        assert_eq!(statements("a 'b").unwrap_err().span, 2..3);
    }
}
