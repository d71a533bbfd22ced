//! Values of JavaScript.

use js_sys::{Array, Float64Array, Object, Reflect};
use wasm_bindgen::JsValue;

/// An object under construction.
pub(crate) struct Entries(Object);

impl Entries {
    pub fn new() -> Self {
        Self(Object::new())
    }

    pub fn with(self, key: &str, value: impl Into<JsValue>) -> Self {
        // Setting a property of a new object does not fail.
        let _ = Reflect::set(&self.0, &JsValue::from_str(key), &value.into());
        self
    }
}

impl From<Entries> for JsValue {
    fn from(entries: Entries) -> Self {
        entries.0.into()
    }
}

/// A list.
pub(crate) fn list<T: Into<JsValue>>(values: impl IntoIterator<Item = T>) -> JsValue {
    values.into_iter().map(Into::into).collect::<Array>().into()
}

/// A list of texts.
pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> JsValue {
    list(values.into_iter().map(JsValue::from_str))
}

/// Numbers as a typed array.
pub(crate) fn numbers(values: &[f64]) -> JsValue {
    Float64Array::from(values).into()
}

/// Pairs of texts.
pub(crate) fn pairs(values: &Array) -> Vec<(String, String)> {
    let text = |value: JsValue| value.as_string().unwrap_or_default();
    values.iter().map(|pair| Array::from(&pair)).map(|pair| (text(pair.get(0)), text(pair.get(1)))).collect()
}

/// A property of an object; undefined if it has none.
pub(crate) fn property(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(key)).unwrap_or(JsValue::UNDEFINED)
}

/// Positions of a text in UTF-16 units from those in bytes, which JavaScript does not use.
pub(crate) struct Utf16<'t> {
    text: &'t str,
    /// Corresponding positions up to which the text has been read.
    bytes: usize,
    units: usize,
}

impl<'t> Utf16<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, bytes: 0, units: 0 }
    }

    /// The position that corresponds to `byte`, the start of a character. Positions in their order cost one pass.
    pub fn position(&mut self, byte: usize) -> u32 {
        if byte < self.bytes {
            (self.bytes, self.units) = (0, 0);
        }
        self.units += self.text[self.bytes..byte].encode_utf16().count();
        self.bytes = byte;
        self.units as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_utf_16_units() {
        let text = "aé€😀b";
        let mut positions = Utf16::new(text);
        let bytes: Vec<usize> = text.char_indices().map(|(byte, _)| byte).chain([text.len()]).collect();
        let forward: Vec<u32> = bytes.iter().map(|&byte| positions.position(byte)).collect();
        assert_eq!(forward, [0, 1, 2, 3, 5, 6]);
        assert_eq!(positions.position(bytes[2]), 2);
    }
}
