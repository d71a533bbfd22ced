//! The topology `ethernet`: who is joined to what, and rates that change.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::{BTreeMap, BTreeSet};

use petgraph::unionfind::UnionFind;

use super::buffers::check_constant;
use super::check::{Validity, check_name, check_rate, require};
use super::links;
use crate::schema::{Ethernet, EthernetNode, OTHERS, Service, ServiceAt};

/// More than any scenario has; there is a path for each pair of switches.
pub(super) const MOST_ETHERNET_NODES: usize = 4096;
/// Ports of a switch: the engine has a byte for the number of one.
pub(super) const MOST_PORTS: usize = 256;

/// Checks the network. It comes before everything that asks for names of flows.
pub(crate) fn validate(ethernet: &Ethernet, path: &Path) -> Validity {
    check_rate(ethernet.link.rate, &path.key("link.rate"))?;
    check_constant(ethernet.link.delay, &path.key("link.delay"))?;
    links::ethernet_impairments(&ethernet.link.impairments, &path.key("link.impairments"))?;
    nodes(ethernet, path)?;
    trunks(ethernet, path)?;
    ports(ethernet, path)?;
    services(ethernet, &path.key("service"))
}

/// Checks the names of switches and nodes, and that each node is joined to one switch.
fn nodes(ethernet: &Ethernet, path: &Path) -> Validity {
    let switches = path.key("switches");
    let count = ethernet.switches.len() + ethernet.nodes().count();
    let many = || format!("{count} switches and nodes");
    require(count <= MOST_ETHERNET_NODES, || switches.clone(), many, "expected at most 4096")?;
    let few = || "an Ethernet without two nodes".to_owned();
    require(ethernet.nodes().count() >= 2, || switches.clone(), few, "expected at least two in all")?;
    // Each name, and the switch that a node of that name is joined to.
    let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (index, switch) in ethernet.switches.iter().enumerate() {
        let at = switches.index(index).key("name");
        check_node_name(&switch.name, &at)?;
        let second = known.insert(&switch.name, None).is_some();
        require(!second, || at, || format!("two switches are named `{}`", switch.name), "the second one")?;
    }
    for (index, switch) in ethernet.switches.iter().enumerate() {
        for (number, EthernetNode { name: node, .. }) in switch.nodes.iter().enumerate() {
            let at = || switches.index(index).key("nodes").index(number);
            check_node_name(node, &at())?;
            let message = match known.insert(node, Some(&switch.name)) {
                None => continue,
                Some(None) => format!("`{node}` is the name of a switch"),
                Some(Some(other)) => format!("the node `{node}` is on two switches, `{other}` and `{}`", switch.name),
            };
            return Err(Invalid::new(at(), message, "the second one")
                .with_help("a node has one adapter with one port; switches are joined by `trunks`".to_owned()));
        }
    }
    Ok(())
}

pub(super) fn check_node_name(name: &str, path: &Path) -> Validity {
    check_name(name, path)?;
    let at = || path.clone();
    require(
        !name.contains("->"),
        at,
        || "a name contains `->`".into(),
        "`->` separates the names in the name of a link",
    )?;
    let message = || format!("`{OTHERS}` is not a name: in `to` it means every other node");
    require(name != OTHERS, at, message, "expected another name")
}

/// Checks the links between switches, and that these join all of them.
fn trunks(ethernet: &Ethernet, path: &Path) -> Validity {
    let numbers: BTreeMap<&str, usize> =
        ethernet.switches.iter().enumerate().map(|(number, switch)| (switch.name.as_str(), number)).collect();
    let mut joined = UnionFind::new(numbers.len());
    let mut seen = BTreeSet::new();
    for (index, ends) in ethernet.trunks.iter().enumerate() {
        let at = path.key("trunks").index(index);
        let number = |end: usize| {
            let name = &ends[end];
            numbers.get(name.as_str()).copied().ok_or_else(|| {
                let label = "expected the name of a switch";
                Invalid::new(at.index(end), format!("there is no switch `{name}`"), label)
                    .with_help(did_you_mean(name, numbers.keys().copied()))
            })
        };
        let (one, other) = (number(0)?, number(1)?);
        let itself = || format!("a trunk connects `{}` to itself", ends[0]);
        require(one != other, || at.index(1), itself, "expected another switch")?;
        let again = || format!("a second trunk between `{}` and `{}`", ends[0], ends[1]);
        let new = seen.insert((one.min(other), one.max(other)));
        require(new, || at.clone(), again, "links are full duplex: one is enough")?;
        joined.union(one, other);
    }
    for (index, switch) in ethernet.switches.iter().enumerate() {
        let first = &ethernet.switches[0].name;
        let message = || format!("no trunks lead from `{first}` to `{}`", switch.name);
        let at = || path.key("switches").index(index).key("name");
        if !joined.equiv(0, index) {
            return Err(Invalid::new(at(), message(), "not connected to the first switch")
                .with_help(format!("give a pair such as [\"{first}\", \"{}\"] in `trunks`", switch.name)));
        }
    }
    Ok(())
}

/// Checks that no switch has more ports than it can number.
fn ports(ethernet: &Ethernet, path: &Path) -> Validity {
    for (index, switch) in ethernet.switches.iter().enumerate() {
        let trunks = ethernet.trunks.iter().flatten().filter(|&name| *name == switch.name).count();
        let count = switch.nodes.len() + trunks;
        let message = || format!("switch `{}` with {count} ports, one for each node and trunk", switch.name);
        require(count <= MOST_PORTS, || path.key("switches").index(index), message, "expected at most 256")?;
    }
    Ok(())
}

fn services(ethernet: &Ethernet, path: &Path) -> Validity {
    for (index, service) in ethernet.service.iter().enumerate() {
        let at = path.index(index);
        if !ethernet.nodes().any(|node| node == service.node) {
            let message = format!("there is no node `{}`", service.node);
            let label = "expected a name from the `nodes` of a switch";
            let help = did_you_mean(&service.node, ethernet.nodes());
            return Err(Invalid::new(at.key("node"), message, label).with_help(help));
        }
        links::service_period(&service.period(), &at)?;
        if let Some(rate) = service.rate.0 {
            let link = ethernet.link.rate;
            let above = || format!("a service of {rate} over a link of {link}");
            require(rate <= link, || at.key("rate"), above, "expected at most the link's rate")?;
        }
        if let Some(earlier) = ethernet.service[..index].iter().find(|earlier| overlap(earlier, service)) {
            let place = match service.at {
                ServiceAt::Switch => format!("the port to node `{}`", service.node),
                ServiceAt::Node => format!("node `{}`", service.node),
            };
            return Err(links::two_rates(&place, &earlier.period(), &service.period(), at));
        }
    }
    Ok(())
}

fn overlap(one: &Service, other: &Service) -> bool {
    one.node == other.node && one.at == other.at && one.period().overlaps(&other.period())
}
