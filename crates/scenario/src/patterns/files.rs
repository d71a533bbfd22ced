//! Files of patterns, which a scenario takes in when it is read.

use forebay_document::{Invalid, Node, Path};

/// Replaces the `file` of each pattern of this name by the keys that `parse` makes of its text, so that a scenario
/// needs no other file from then on. `read` returns the text of the file of that name, or the reason why it cannot be
/// read.
///
/// # Errors
/// A file that cannot be read, or is not `what` it should be.
pub(super) fn inline(
    root: &mut Node,
    pattern: &str,
    what: &str,
    read: &dyn Fn(&str) -> Result<String, String>,
    parse: &dyn Fn(&Node, &str) -> Result<Node, String>,
) -> Result<(), Invalid> {
    let Some(flows) = root.at_mut(&["flows"]) else { return Ok(()) };
    for (index, group) in flows.elements_mut().enumerate() {
        let Some(node) = group.at_mut(&["pattern", pattern]) else { continue };
        let Some(name) = node.text("file").map(str::to_owned) else { continue };
        let path = || Path::default().key("flows").index(index).key(&format!("pattern.{pattern}.file"));
        let text = read(&name).map_err(|error| {
            let label = "expected a file, relative to the folder of the scenario";
            Invalid::new(path(), format!("cannot read `{name}`: {error}"), label)
        })?;
        let made = parse(node, &text)
            .map_err(|reason| Invalid::new(path(), format!("`{name}` is no {what}: {reason}"), "this file"))?;
        *node = made;
    }
    Ok(())
}
