//! The parameters of a qdisc: words and their values, one after the other.

use std::ops::Range;

use forebay_qdisc::Rate;
use forebay_units::{Bytes, QueueSize, Span};

use super::text::{Fault, Word};
use super::units;

/// Something that a command has and a scenario has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub span: Range<usize>,
    pub text: String,
}

/// The words behind the name of a qdisc.
#[derive(Debug)]
pub(super) struct Parameters<'w, 'n> {
    pub kind: &'w Word,
    words: std::iter::Peekable<std::slice::Iter<'w, Word>>,
    pub notes: &'n mut Vec<Note>,
}

impl<'w, 'n> Parameters<'w, 'n> {
    pub fn new(kind: &'w Word, words: &'w [Word], notes: &'n mut Vec<Note>) -> Self {
        Self { kind, words: words.iter().peekable(), notes }
    }

    pub fn next(&mut self) -> Option<&'w Word> {
        self.words.next()
    }

    /// Notes that the scenario has nothing like this word.
    pub fn note(&mut self, word: &Word, text: &str) {
        let name = if word == self.kind { word.text.clone() } else { format!("{} {}", self.kind.text, word.text) };
        self.notes.push(Note { span: word.span.clone(), text: format!("{name}: {text}") });
    }

    /// The same of a word with a value.
    pub fn note_value(&mut self, word: &Word, text: &str) -> Result<(), Fault> {
        self.value(word)?;
        self.note(word, text);
        Ok(())
    }

    pub fn unknown(&self, word: &Word) -> Fault {
        let Self { kind, .. } = self;
        let fault = word.fault(format!("`{}` is not a parameter of {}", word.text, kind.text), "not known here");
        if word.text.starts_with('$') {
            fault.with_help("variables of a shell are not replaced: write their values")
        } else {
            fault.with_help(format!("`tc qdisc add dev lo root {} help` lists its parameters", kind.text))
        }
    }

    fn value(&mut self, key: &Word) -> Result<&'w Word, Fault> {
        self.words.next().ok_or_else(|| key.fault(format!("the value of `{}` is missing", key.text), "needs a value"))
    }

    /// The value of a parameter.
    pub fn read<T>(&mut self, key: &Word, expected: &str, read: impl Fn(&str) -> Option<T>) -> Result<T, Fault> {
        let word = self.value(key)?;
        read(&word.text).ok_or_else(|| {
            let fault =
                word.fault(format!("`{}` is no value of `{}`", word.text, key.text), format!("expected {expected}"));
            if word.text.starts_with('$') {
                fault.with_help("variables of a shell are not replaced: write their values")
            } else {
                fault
            }
        })
    }

    /// The next word, if it is a value of that kind.
    pub fn optional<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let value = self.words.peek().and_then(|word| read(&word.text))?;
        self.words.next();
        Some(value)
    }

    /// The next words, as far as they are numbers: at most `most`.
    pub fn list(&mut self, most: usize) -> Vec<u64> {
        std::iter::from_fn(|| self.optional(units::integer)).take(most).collect()
    }

    /// Skips the next word if it is this one.
    pub fn skip(&mut self, text: &str) -> bool {
        self.words.next_if(|word| word.is(text)).is_some()
    }

    pub fn rate(&mut self, key: &Word) -> Result<Rate, Fault> {
        if let Some(word) = self.words.next_if(|word| word.text.ends_with('%')) {
            return Err(word
                .fault(format!("`{}` is a part of the interface's rate, which is not known", word.text), "a percentage")
                .with_help("write the rate, such as 20mbit"));
        }
        self.read(key, "a rate such as 20mbit, at least 1 bit/s", units::rate)
    }

    pub fn size(&mut self, key: &Word) -> Result<Bytes, Fault> {
        self.read(key, "a size such as 1600 or 32kb", units::size_and_cell).map(Bytes)
    }

    pub fn time(&mut self, key: &Word) -> Result<Span, Fault> {
        self.read(key, "a time such as 5ms", units::time)
    }

    pub fn packets(&mut self, key: &Word) -> Result<QueueSize, Fault> {
        self.read(key, "a number of packets", units::packets).map(QueueSize::Packets)
    }

    pub fn number(&mut self, key: &Word) -> Result<f64, Fault> {
        self.read(key, "a number", units::number)
    }

    pub fn percent(&mut self, key: &Word) -> Result<f64, Fault> {
        self.read(key, "a percentage up to 100%", units::percent)
    }

    /// A whole number of 32 bits.
    pub fn integer(&mut self, key: &Word) -> Result<u32, Fault> {
        self.read(key, "a whole number", |text| units::integer(text).and_then(|value| u32::try_from(value).ok()))
    }
}
