//! Values of the tree by hand, for what is rewritten before it is read. Each new value has the place of an old one.

use crate::invalid::Invalid;
use crate::overrides::name_of;
use crate::tree::{Entry, Node, Path, PathStep, Value};

impl Node {
    /// The value below these keys of tables.
    pub fn at_mut(&mut self, keys: &[&str]) -> Option<&mut Self> {
        keys.iter().try_fold(self, |node, key| match &mut node.value {
            Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == *key).map(|entry| &mut entry.node),
            _ => None,
        })
    }

    fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The path, as an override has it, to the value of this tree from which `rewritten` has the one at `path`.
    /// Elements of lists have numbers, or their names if `by_name`.
    #[must_use]
    pub fn path_before(&self, rewritten: &Self, path: &Path, by_name: bool) -> String {
        let (mut old, mut new) = (Some(self), Some(rewritten));
        let mut keys: Vec<String> = Vec::new();
        for step in &path.0 {
            match step {
                PathStep::Key(key) => {
                    keys.push(key.clone());
                    (old, new) = (old.and_then(|node| node.get(key)), new.and_then(|node| node.get(key)));
                }
                PathStep::Index(index) => {
                    let (before, after) = (old.map_or(&[][..], Self::elements), new.map_or(&[][..], Self::elements));
                    new = after.get(*index);
                    // A rewritten element has the place of its origin, and lists only grow.
                    let is_origin = |number: &usize| new.is_some_and(|new| new.place == before[*number].place);
                    let candidates = 0..before.len().min(*index + 1);
                    let number = candidates.rev().find(is_origin).unwrap_or(*index);
                    old = before.get(number);
                    let name = old.and_then(name_of).filter(|_| by_name);
                    keys.push(name.unwrap_or_else(|| number.to_string()));
                }
            }
        }
        keys.join(".")
    }

    /// This text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The text at a key of this table, if there is one.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    /// The integer at a key of this table, if there is one.
    #[must_use]
    pub fn integer(&self, key: &str) -> Option<i128> {
        if let Value::Integer(integer) = self.get(key)?.value { Some(integer) } else { None }
    }

    fn elements(&self) -> &[Self] {
        if let Value::List(nodes) = &self.value { nodes } else { &[] }
    }

    /// The elements of this list; none of anything else.
    pub fn elements_mut(&mut self) -> std::slice::IterMut<'_, Self> {
        match &mut self.value {
            Value::List(nodes) => nodes.iter_mut(),
            _ => [].iter_mut(),
        }
    }

    /// Replaces each element of this list by those that `several` makes of it.
    pub fn replace_elements(&mut self, several: impl FnMut(Self) -> Vec<Self>) {
        if let Value::List(nodes) = &mut self.value {
            *nodes = std::mem::take(nodes).into_iter().flat_map(several).collect();
        }
    }

    /// A list of this value, at its place.
    #[must_use]
    pub fn as_list(&self) -> Self {
        Self { value: Value::List(vec![self.clone()]), place: self.place.clone() }
    }

    /// This text instead, at the same place.
    #[must_use]
    pub fn with_text(&self, text: String) -> Self {
        Self { value: Value::Text(text), place: self.place.clone() }
    }

    /// This integer instead, at the same place.
    #[must_use]
    pub fn with_integer(&self, integer: i128) -> Self {
        Self { value: Value::Integer(integer), place: self.place.clone() }
    }

    /// This number instead, at the same place.
    #[must_use]
    pub fn with_float(&self, float: f64) -> Self {
        Self { value: Value::Float(float), place: self.place.clone() }
    }

    /// A list of these instead, at the same place.
    #[must_use]
    pub fn list_of(&self, elements: impl Iterator<Item = Self>) -> Self {
        Self { value: Value::List(elements.collect()), place: self.place.clone() }
    }

    /// A table of these instead, at the same place.
    #[must_use]
    pub fn table_of<const N: usize>(&self, entries: [(&str, Self); N]) -> Self {
        let entry = |(key, node): (&str, Self)| Entry { key: key.to_owned(), key_place: self.place.clone(), node };
        Self { value: Value::Table(entries.into_iter().map(entry).collect()), place: self.place.clone() }
    }

    /// Calls `visit` with each table of this value and its path, the outer ones first.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn walk(
        &mut self,
        path: &Path,
        visit: &mut impl FnMut(&mut Self, &Path) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        if matches!(self.value, Value::Table(_)) {
            visit(self, path)?;
        }
        match &mut self.value {
            Value::Table(entries) => {
                entries.iter_mut().try_for_each(|entry| entry.node.walk(&path.key(&entry.key), visit))
            }
            Value::List(nodes) => {
                nodes.iter_mut().enumerate().try_for_each(|(index, node)| node.walk(&path.index(index), visit))
            }
            _ => Ok(()),
        }
    }

    /// Sets a key of this table. A key that is new has the place of the value.
    pub fn set(&mut self, key: &str, node: Self) {
        let Value::Table(entries) = &mut self.value else { return };
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.node = node,
            None => entries.push(Entry { key: key.to_owned(), key_place: node.place.clone(), node }),
        }
    }

    /// Sets a key of this table to a text, at the place that its value has.
    pub fn set_text(&mut self, key: &str, text: String) {
        let node = self.get(key).unwrap_or(self).with_text(text);
        self.set(key, node);
    }

    /// Takes a key out of this table.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Value::Table(entries) = &mut self.value else { return None };
        let index = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(index).node)
    }
}
