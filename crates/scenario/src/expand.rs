//! Writes out what a scenario abbreviates, before anything is checked: groups of flows in both directions become two
//! groups, and hosts with a count become that many, with their links. A value of the wrong type stays as it is, for the
//! schema to refuse.

use std::collections::BTreeMap;

use forebay_document::{Invalid, Node, Path};

use crate::schema::OTHERS;

/// More than any scenario has: a slip of the finger in a count must not take all memory.
const MOST_HOSTS: u32 = 1_000_000;

/// In `from`, `to` and `hosts` of flows: all hosts of a leaf-spine network or a fat-tree.
const HOSTS: &str = "hosts";

/// Replaces every abbreviation of the scenario `root`.
///
/// # Errors
/// An abbreviation that has no meaning where it is.
pub(crate) fn expand(root: &mut Node) -> Result<(), Invalid> {
    let path = Path::default();
    let mut hosts = Counted::default();
    if let Some(graph) = root.at_mut(&["topology", "graph"]) {
        self::graph(graph, &mut hosts, &path.key("topology.graph"))?;
    }
    if let Some(ethernet) = root.at_mut(&["topology", "ethernet"]) {
        self::ethernet(ethernet, &mut hosts, &path.key("topology.ethernet"))?;
    }
    let leaf_spine = root.at_mut(&["topology", "leaf_spine"]).and_then(|it| hosts_of_leaf_spine(it));
    let fat_tree = root.at_mut(&["topology", "fat_tree"]).and_then(|it| hosts_of_fat_tree(it));
    let of_clos = leaf_spine.or(fat_tree).and_then(|count| u32::try_from(count).ok());
    hosts.of_clos = of_clos.filter(|count| *count <= MOST_HOSTS);
    if let Some(home) = root.at_mut(&["topology", "home"]) {
        for key in ["hosts", "servers"] {
            let Some(list) = home.at_mut(&[key]) else { continue };
            for (index, host) in list.elements_mut().enumerate() {
                hosts.add(host, &path.key("topology.home").key(key).index(index))?;
            }
            hosts.multiply(list, "name");
        }
    }
    let has_switch = root.at_mut(&["topology", "switch"]).is_some();
    let Some(flows) = root.at_mut(&["flows"]) else { return Ok(()) };
    for end in ["from", "to", "hosts"] {
        flows.elements_mut().filter_map(|group| group.at_mut(&[end])).for_each(|names| hosts.write_out(names));
    }
    directions(flows, has_switch, &path.key("flows"))
}

/// How many hosts have each name that a count makes several of.
#[derive(Default)]
struct Counted {
    counts: BTreeMap<String, u32>,
    hosts: u32,
    /// The number of hosts of a leaf-spine network or a fat-tree, whose names follow from it.
    of_clos: Option<u32>,
}

impl Counted {
    /// Takes note of a host at `path`, if it has a count.
    fn add(&mut self, host: &Node, path: &Path) -> Result<(), Invalid> {
        let (Some(name), Some(count)) = (host.text("name"), host.integer("count")) else { return Ok(()) };
        let hosts =
            u32::try_from(count).ok().filter(|count| *count > 0).and_then(|count| self.hosts.checked_add(count));
        let Some(hosts) = hosts.filter(|hosts| *hosts <= MOST_HOSTS) else {
            let label = format!("expected at least 1, and at most {MOST_HOSTS} hosts in all");
            return Err(Invalid::new(path.key("count"), format!("`{name}` has a count of {count}"), label));
        };
        let count = hosts - self.hosts;
        self.hosts = hosts;
        match self.counts.insert(name.to_owned(), count) {
            None => Ok(()),
            Some(_) => Err(Invalid::new(path.key("name"), format!("two nodes are named `{name}`"), "the second one")),
        }
    }

    /// Whether `name` is an abbreviation.
    fn is_list(&self, name: &str) -> bool {
        self.counts.contains_key(name) || (name == HOSTS && self.of_clos.is_some())
    }

    /// The names of the hosts for which `name` is an abbreviation.
    fn names(&self, name: &str) -> Option<Vec<String>> {
        let numbered = |name: &str, count| (0..count).map(|index| format!("{name}{index}")).collect();
        match self.counts.get(name) {
            Some(count) => Some(numbered(&format!("{name}-"), *count)),
            None => Some(numbered("host", self.of_clos.filter(|_| name == HOSTS)?)),
        }
    }

    /// Replaces the elements of a list whose `key` is such a name: one for each of its hosts.
    fn multiply(&self, list: &mut Node, key: &str) {
        list.replace_elements(|element| {
            let Some(names) = element.text(key).and_then(|name| self.names(name)) else { return vec![element] };
            let with_name = |name: String| {
                let mut one = element.clone();
                one.remove("count");
                one.set_text(key, name);
                one
            };
            names.into_iter().map(with_name).collect()
        });
    }

    /// Replaces such a name, or those in a list of names.
    fn write_out(&self, names: &mut Node) {
        if names.as_text().is_some_and(|name| self.is_list(name)) {
            *names = names.as_list();
        }
        names.replace_elements(|element| match element.as_text().and_then(|name| self.names(name)) {
            Some(names) => names.into_iter().map(|name| element.with_text(name)).collect(),
            None => vec![element],
        });
    }
}

/// The number of hosts; `None` without good values, which the schema refuses.
fn hosts_of_leaf_spine(table: &Node) -> Option<i128> {
    table.integer("leaves")?.checked_mul(table.integer("hosts")?)
}

fn hosts_of_fat_tree(table: &Node) -> Option<i128> {
    Some(table.integer("k")?.checked_pow(3)? / 4)
}

fn graph(graph: &mut Node, hosts: &mut Counted, path: &Path) -> Result<(), Invalid> {
    for (index, node) in graph.at_mut(&["nodes"]).into_iter().flat_map(Node::elements_mut).enumerate() {
        let at = path.key("nodes").index(index);
        if node.integer("count").is_some() && node.at_mut(&["kind"]).is_some_and(|kind| kind.as_text() != Some("host"))
        {
            let label = "expected it with hosts only: name each router and switch";
            return Err(Invalid::new(at.key("count"), "a node that forwards has a count", label));
        }
        hosts.add(node, &at)?;
    }
    for (index, link) in graph.at_mut(&["links"]).into_iter().flat_map(Node::elements_mut).enumerate() {
        let is_counted = |end: &str| link.text(end).is_some_and(|name| hosts.counts.contains_key(name));
        if is_counted("from") && is_counted("to") {
            let at = path.key("links").index(index).key("to");
            return Err(Invalid::new(at, "both ends of a link have a count", "expected a single node at one end"));
        }
    }
    if let Some(nodes) = graph.at_mut(&["nodes"]) {
        hosts.multiply(nodes, "name");
    }
    if let Some(links) = graph.at_mut(&["links"]) {
        hosts.multiply(links, "from");
        hosts.multiply(links, "to");
    }
    Ok(())
}

fn ethernet(ethernet: &mut Node, hosts: &mut Counted, path: &Path) -> Result<(), Invalid> {
    for (number, switch) in ethernet.at_mut(&["switches"]).into_iter().flat_map(Node::elements_mut).enumerate() {
        let Some(nodes) = switch.at_mut(&["nodes"]) else { continue };
        for (index, node) in nodes.elements_mut().enumerate() {
            hosts.add(node, &path.key("switches").index(number).key("nodes").index(index))?;
        }
        nodes.replace_elements(|node| {
            let names = node.text("name").filter(|_| node.integer("count").is_some());
            match names.and_then(|name| hosts.names(name)) {
                Some(names) => names.into_iter().map(|name| node.with_text(name)).collect(),
                None => vec![node],
            }
        });
    }
    if let Some(services) = ethernet.at_mut(&["service"]) {
        hosts.multiply(services, "node");
    }
    Ok(())
}

/// Makes two groups of each that sends in both directions, and turns round those that say where they begin and end.
fn directions(flows: &mut Node, has_switch: bool, path: &Path) -> Result<(), Invalid> {
    for (index, group) in flows.elements_mut().enumerate() {
        let Some("backward" | "both") = group.text("direction") else { continue };
        let refused =
            |message: &str, label: &str| Err(Invalid::new(path.index(index).key("direction"), message, label));
        if has_switch {
            return refused("flows of a switch have one direction", "expected none: flows lead from inputs to outputs");
        }
        if group.at_mut(&["pattern"]).is_some() {
            return refused("`pattern` has no direction", "expected none: hosts send and receive by the pattern");
        }
        if group.text("to") == Some(OTHERS) {
            return refused("`to = \"others\"` has no way back", "expected none: every node is among the others");
        }
    }
    flows.replace_elements(|group| match group.text("direction") {
        Some("backward") => vec![turned(group)],
        Some("both") => {
            let (mut forward, mut back) = (group.clone(), group);
            forward.set_text("direction", "forward".into());
            back.set_text("direction", "backward".into());
            if let Some(name) = back.text("name").map(str::to_owned) {
                back.set_text("name", format!("{name}-back"));
                // The way back of a group that has the hosts of another has these hosts, too.
                if back.text("hosts_of").is_none() {
                    back.set_text("hosts_of", name);
                }
                back.remove("access");
            }
            vec![forward, turned(back)]
        }
        _ => vec![group],
    });
    Ok(())
}

/// A backward group. With `from` and `to`, it becomes a forward group from its destinations.
fn turned(mut group: Node) -> Node {
    if let (Some(from), Some(to)) = (group.remove("from"), group.remove("to")) {
        group.set("from", to);
        group.set("to", from);
        // Hosts have names there.
        group.remove("hosts_of");
        group.set_text("direction", "forward".into());
    }
    group
}
