//! The numbers of a document with their places, for programs that change one of them.

use std::ops::Range;

use crate::overrides::name_of;
use crate::tree::{Node, Value};

/// A number, or a text of a number with a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its path, as in an override. An element of a list has its name, or else its number.
    pub path: String,
    /// Its place in the text, in bytes, with the quotes of a text; `None` if an override has it.
    pub span: Option<Range<usize>>,
    /// The number, in the unit of the text.
    pub value: f64,
    /// The unit; empty for a bare number.
    pub unit: String,
}

impl Node {
    /// All numbers, in the order of keys. A text is one of them if `is_quantity` of it.
    #[must_use]
    pub fn numbers(&self, is_quantity: &dyn Fn(&str) -> bool) -> Vec<Number> {
        let mut found = Vec::new();
        self.add_numbers(String::new(), is_quantity, &mut found);
        found
    }

    fn add_numbers(&self, path: String, is_quantity: &dyn Fn(&str) -> bool, found: &mut Vec<Number>) {
        let mut add = |value: f64, unit: &str| {
            let span = (self.place.text == 0).then(|| self.place.span.clone());
            found.push(Number { path: path.clone(), span, value, unit: unit.to_owned() });
        };
        match &self.value {
            Value::Integer(integer) => add(*integer as f64, ""),
            Value::Float(float) => add(*float, ""),
            Value::Text(text) if is_quantity(text) => {
                if let Some((value, unit)) = quantity(text) {
                    add(value, unit);
                }
            }
            Value::Text(_) | Value::Boolean(_) | Value::Date(_) => {}
            Value::List(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    let step = element(nodes, index);
                    node.add_numbers(below(&path, &step), is_quantity, found);
                }
            }
            Value::Table(entries) => {
                for entry in entries {
                    entry.node.add_numbers(below(&path, &entry.key), is_quantity, found);
                }
            }
        }
    }
}

/// An element by its name, if no other has it, or else by its number.
fn element(nodes: &[Node], index: usize) -> String {
    let name = name_of(&nodes[index]).filter(|name| !name.is_empty() && !name.contains('"'));
    let is_alone = |name: &String| nodes.iter().filter(|node| name_of(node).as_ref() == Some(name)).count() == 1;
    name.filter(is_alone).unwrap_or_else(|| index.to_string())
}

fn below(path: &str, step: &str) -> String {
    let quoted = if step.contains('.') { format!("\"{step}\"") } else { step.to_owned() };
    if path.is_empty() { quoted } else { format!("{path}.{quoted}") }
}

/// The number and the unit of a text such as `10 Mbps`.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))?;
    let value = text[..split].replace('_', "").parse().ok()?;
    Some((value, text[split..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<(String, String, f64, String)> {
        let numbers = Node::parse(text).unwrap().numbers(&|text| text.ends_with("bps"));
        let shown = |number: Number| (number.path, text[number.span.unwrap()].to_owned(), number.value, number.unit);
        numbers.into_iter().map(shown).collect()
    }

    fn number(path: &str, text: &str, value: f64, unit: &str) -> (String, String, f64, String) {
        (path.to_owned(), text.to_owned(), value, unit.to_owned())
    }

    #[test]
    fn numbers_and_quantities_have_paths_and_places() {
        let text = "seed = 3\nname = \"10 Mb\"\n[link]\nrate = '1_000.5 Mbps'\nqueue.red.p = 0.1\n";
        assert_eq!(
            numbers(text),
            [
                number("seed", "3", 3.0, ""),
                number("link.rate", "'1_000.5 Mbps'", 1000.5, "Mbps"),
                number("link.queue.red.p", "0.1", 0.1, ""),
            ]
        );
    }

    #[test]
    fn elements_of_lists_have_their_names_if_these_are_different() {
        let text = "flows = [{ name = \"a.b\", n = 1 }, { name = \"c\", n = 2 },\n\
                    { name = \"c\", n = 3 }, { n = [4] }]\n\
                    links = [{ from = \"x\", to = \"y\", n = 5 }]\n";
        assert_eq!(
            numbers(text),
            [
                number("flows.\"a.b\".n", "1", 1.0, ""),
                number("flows.1.n", "2", 2.0, ""),
                number("flows.2.n", "3", 3.0, ""),
                number("flows.3.n.0", "4", 4.0, ""),
                number("links.x->y.n", "5", 5.0, ""),
            ]
        );
    }
}
