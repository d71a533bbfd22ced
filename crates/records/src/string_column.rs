//! Many short texts in one allocation.

use std::fmt;
use std::ops::Index;

/// StringColumn in order: the names of millions of links and flows.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StringColumn {
    joined: String,
    ends: Vec<usize>,
}

impl StringColumn {
    /// No texts.
    #[must_use]
    pub const fn new() -> Self {
        Self { joined: String::new(), ends: Vec::new() }
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        self.joined.push_str(text);
        self.ends.push(self.joined.len());
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at this index, if there is one.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.joined[start..end])
    }

    /// All texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|place| &self[place])
    }
}

impl fmt::Debug for StringColumn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter()).finish()
    }
}

impl Index<usize> for StringColumn {
    type Output = str;

    fn index(&self, place: usize) -> &str {
        self.get(place).unwrap_or_else(|| panic!("text {place} of {}", self.len()))
    }
}

impl<T: AsRef<str>> Extend<T> for StringColumn {
    fn extend<I: IntoIterator<Item = T>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.push(text.as_ref()));
    }
}

impl<T: AsRef<str>> FromIterator<T> for StringColumn {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all = Self::new();
        all.extend(texts);
        all
    }
}

impl<T: AsRef<str>, const N: usize> PartialEq<[T; N]> for &StringColumn {
    fn eq(&self, other: &[T; N]) -> bool {
        self.iter().eq(other.iter().map(AsRef::as_ref))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_as_they_went_in() {
        let all = ["tcp-0", "", "ü", "tcp-0"];
        let texts: StringColumn = all.into_iter().collect();
        assert_eq!(&texts, all);
        assert_eq!((texts.len(), &texts[2], texts.get(4)), (4, "ü", None));
        assert_eq!((StringColumn::new().is_empty(), texts.is_empty()), (true, false));
    }
}
