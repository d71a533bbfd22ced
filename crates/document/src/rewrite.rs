//! Values of the tree by hand, for what is rewritten before it is read. Each new value has the place of an old one.

use crate::tree::{Entry, Node, Value};

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
