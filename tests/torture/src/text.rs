//! A scenario as TOML text, with the way back from a place in the text to its value.

use std::fmt::Write;
use std::ops::Range;

use serde_json::Value;

/// The text, and which part of it each value is.
pub struct Text {
    pub text: String,
    /// Bytes of the text and pointer of the value, outer values before inner ones.
    values: Vec<(Range<usize>, String)>,
}

impl Text {
    /// One line for each key of the file.
    pub fn of(scenario: &Value) -> Self {
        let mut it = Self { text: String::new(), values: Vec::new() };
        for (key, value) in scenario.as_object().into_iter().flatten() {
            it.entry(key, value, "");
            it.text.push('\n');
        }
        it
    }

    /// The pointer of the innermost value at a line and column, both from 1.
    pub fn pointer_at(&self, line: usize, column: usize) -> &str {
        let lines = self.text.split_inclusive('\n');
        let before: usize = lines.clone().take(line - 1).map(str::len).sum();
        let within = self.text[before..].char_indices().nth(column - 1).map_or(0, |(offset, _)| offset);
        let at = before + within;
        let around = self.values.iter().filter(|(bytes, _)| bytes.contains(&at));
        around.min_by_key(|(bytes, _)| bytes.len()).map_or("", |(_, pointer)| pointer)
    }

    /// A key with its value: an error at the key means the value.
    fn entry(&mut self, key: &str, value: &Value, pointer: &str) {
        let (start, index, pointer) = (self.text.len(), self.values.len(), format!("{pointer}/{key}"));
        self.values.push((0..0, pointer.clone()));
        self.text += key;
        self.text += " = ";
        self.value(value, &pointer);
        self.values[index].0 = start..self.text.len();
    }

    fn value(&mut self, value: &Value, pointer: &str) {
        let (start, index) = (self.text.len(), self.values.len());
        self.values.push((0..0, pointer.to_owned()));
        match value {
            Value::Object(map) => {
                self.text += "{ ";
                for (number, (key, value)) in map.iter().enumerate() {
                    self.text += if number > 0 { ", " } else { "" };
                    self.entry(key, value, pointer);
                }
                self.text += " }";
            }
            Value::Array(items) => {
                self.text += "[";
                for (number, item) in items.iter().enumerate() {
                    self.text += if number > 0 { ", " } else { "" };
                    self.value(item, &format!("{pointer}/{number}"));
                }
                self.text += "]";
            }
            // The escapes of JSON are TOML's.
            scalar => write!(self.text, "{scalar}").expect("a string takes all that is written"),
        }
        self.values[index].0 = start..self.text.len();
    }
}

/// The place of a value: the pointer of what holds it, and its key or index there.
pub fn split(pointer: &str) -> (&str, &str) {
    pointer.rsplit_once('/').unwrap_or(("", ""))
}

/// Takes a value out of its table or list; whether it was there.
pub fn remove(scenario: &mut Value, pointer: &str) -> bool {
    let (holder, key) = split(pointer);
    match scenario.pointer_mut(holder) {
        Some(Value::Object(map)) => map.shift_remove(key).is_some(),
        Some(Value::Array(items)) => {
            let index = key.parse().ok().filter(|index| *index < items.len());
            index.map(|index: usize| items.remove(index)).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_in_the_text_leads_back_to_its_value() {
        let text = Text::of(&json!({ "a": "\u{fc}", "b": { "list": [1, { "key": "value" }] } }));
        assert_eq!(text.text, "a = \"\u{fc}\"\nb = { list = [1, { key = \"value\" }] }\n");
        let pointer_of = |part: &str| {
            let line = text.text.lines().nth(1).unwrap();
            text.pointer_at(2, line.find(part).unwrap() + 1).to_owned()
        };
        assert_eq!(pointer_of("\"value\""), "/b/list/1/key");
        assert_eq!(pointer_of("key"), "/b/list/1/key");
        assert_eq!(pointer_of("{ key"), "/b/list/1");
        assert_eq!(text.pointer_at(1, 6), "/a");
    }
}
