//! Overrides from the command line, `--set flows.tcp.count=10`, put into the tree before it is read.

use std::ops::Range;

use crate::document::Kind;
use crate::error::{Problem, did_you_mean, list_some};
use crate::tree::{Entry, Node, Place, Value};

/// Deeper than any file; keeps a path of ten thousand dots from overflowing the stack.
const DEEPEST: usize = 32;

/// The text of an override, as errors show it.
pub(crate) fn text(path: &str, value: &str) -> String {
    format!("{path}={value}")
}

/// Sets the value at `path` to `value`, read as a TOML value if it is one and else as text. Elements of a list are
/// named by their `name` (links of a graph by "from->to") or by their number from 0. `number` is that of the override,
/// from 1.
pub(crate) fn apply(root: &mut Node, kind: Kind, number: usize, path: &str, value: &str) -> Result<(), Problem> {
    let place = |span: Range<usize>| Place { text: number, span };
    let keys = split(path, kind, &place)?;
    let offset = path.len() + 1;
    let shifted = |span: Range<usize>| place(span.start + offset..span.end + offset);
    let node = Node::parse_value(value, &shifted)
        .unwrap_or_else(|| Node { value: Value::Text(value.to_owned()), place: shifted(0..value.len()) });
    set(root, &keys, node)
}

/// Appends `newer` to `overrides`, less those of the old ones that it replaces: they have the same path or a path below
/// it. A list that is changed again and again then grows with the paths, not with the changes.
///
/// An override may depend on one that is removed, if it names an element of a list by a name that was itself set. The
/// caller checks that the file with both lists means the same.
pub fn append_override(overrides: &mut Vec<(String, String)>, newer: (String, String)) {
    let keys = parts(&newer.0);
    overrides.retain(|(path, _)| !parts(path).starts_with(&keys));
    overrides.push(newer);
}

/// The keys of a path, without their places. A path that [`split`] refuses stays one key.
fn parts(path: &str) -> Vec<String> {
    let kind = Kind { name: "", override_example: "", not_offered: &[], foreign: &[], misplaced: &[] };
    let keys = split(path, kind, &|span| Place { text: 0, span });
    keys.map_or_else(|_| vec![path.to_owned()], |keys| keys.into_iter().map(|(key, _)| key).collect())
}

/// A key of the path and its place.
type Key = (String, Place);

/// Splits at dots; a part in double quotes may hold dots itself.
fn split(path: &str, kind: Kind, place: &dyn Fn(Range<usize>) -> Place) -> Result<Vec<Key>, Problem> {
    let mut keys = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    for (position, character) in path.char_indices().chain([(path.len(), '.')]) {
        match character {
            '"' => quoted = !quoted,
            '.' if !quoted || position == path.len() => {
                let span = start..position;
                let part = path[span.clone()].trim();
                let key = part.strip_prefix('"').and_then(|part| part.strip_suffix('"')).unwrap_or(part);
                if key.is_empty() {
                    let message = "an override must be written as key.path=value".to_owned();
                    return Err(Problem::at(place(span), message, "a key is missing here")
                        .with_help(format!("for example {}", kind.override_example)));
                }
                keys.push((key.to_owned(), place(span)));
                start = position + 1;
            }
            _ => {}
        }
    }
    if keys.len() > DEEPEST {
        return Err(Problem::at(place(0..path.len()), format!("no {} is that deep", kind.name), "too many dots"));
    }
    Ok(keys)
}

fn set(node: &mut Node, keys: &[Key], new: Node) -> Result<(), Problem> {
    let Some(((key, place), below)) = keys.split_first() else {
        *node = new;
        return Ok(());
    };
    // `queue = "red"` and then `queue.red.limit=…`: the bare name means a table without parameters.
    if matches!(&node.value, Value::Text(name) if name == key) {
        let parameters = Node { value: Value::Table(Vec::new()), place: node.place.clone() };
        let entry = Entry { key: key.clone(), key_place: node.place.clone(), node: parameters };
        node.value = Value::Table(vec![entry]);
    }
    match &mut node.value {
        Value::Table(entries) => {
            let index = match entries.iter().position(|entry| entry.key == *key) {
                Some(index) => index,
                None => {
                    let node = Node { value: Value::Table(Vec::new()), place: place.clone() };
                    entries.push(Entry { key: key.clone(), key_place: place.clone(), node });
                    entries.len() - 1
                }
            };
            set(&mut entries[index].node, below, new)
        }
        Value::List(nodes) => {
            let index = element(nodes, key, place)?;
            set(&mut nodes[index], below, new)
        }
        Value::Text(text) => {
            let message = format!("nothing can be set below the text \"{text}\"");
            let help = "to replace it, end the path one key earlier".to_owned();
            Err(Problem::at(place.clone(), message, "no such key").with_help(help))
        }
        _ => Err(Problem::at(place.clone(), "nothing can be set below a single value".into(), "no such key")),
    }
}

/// Which element of a list is meant by `key`.
fn element(nodes: &[Node], key: &str, place: &Place) -> Result<usize, Problem> {
    let names: Vec<Option<String>> = nodes.iter().map(name_of).collect();
    if let Some(index) = names.iter().position(|name| name.as_deref() == Some(key)) {
        return Ok(index);
    }
    match key.parse::<usize>() {
        Ok(index) if index < nodes.len() => Ok(index),
        Ok(index) => {
            let message = format!("there is no element {index}: the list has {}", nodes.len());
            Err(Problem::at(place.clone(), message, "counted from 0"))
        }
        Err(_) => {
            let known = || names.iter().flatten().map(String::as_str);
            let label = if names.iter().flatten().next().is_none() {
                "expected a number, from 0".to_owned()
            } else {
                format!("expected {}, or a number from 0", list_some(known()))
            };
            Err(Problem::at(place.clone(), format!("no element is named `{key}`"), label)
                .with_help(did_you_mean(key, known())))
        }
    }
}

pub(crate) fn name_of(node: &Node) -> Option<String> {
    let Value::Table(entries) = &node.value else { return None };
    let text = |key: &str| {
        entries.iter().find(|entry| entry.key == key).and_then(|entry| match &entry.node.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    };
    text("name").or_else(|| Some(format!("{}->{}", text("from")?, text("to")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_replaces_those_of_its_path_and_below() {
        let mut overrides = Vec::new();
        let mut after = |path: &str, value: &str| {
            append_override(&mut overrides, (path.to_owned(), value.to_owned()));
            overrides.iter().map(|(path, value)| format!("{path}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(after("a.queue", "red"), "a.queue=red");
        assert_eq!(after("a.queue.red.limit", "5"), "a.queue=red a.queue.red.limit=5");
        assert_eq!(after("a.queues", "1"), "a.queue=red a.queue.red.limit=5 a.queues=1");
        // The same key, written in other ways.
        assert_eq!(after("a.\"queue\" .red.limit", "6"), "a.queue=red a.queues=1 a.\"queue\" .red.limit=6");
        assert_eq!(after("a.queue", "dbl"), "a.queues=1 a.queue=dbl");
        assert_eq!(after("a", "{}"), "a={}");
        assert_eq!(after("a..b", "1"), "a={} a..b=1");
        assert_eq!(after("a..b", "2"), "a={} a..b=2");
    }
}
