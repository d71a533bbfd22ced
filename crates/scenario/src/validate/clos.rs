//! Leaf-spine networks and fat-trees.

use forebay_document::{Invalid, Path, did_you_mean};

use super::check::{Validity, require};
use super::ethernet::{MOST_ETHERNET_NODES, MOST_PORTS};
use super::graph::MOST_NODES;
use super::links;
use crate::plan::clos::Clos;
use crate::schema::{Adapter, ClosSwitch, FatTree, LeafSpine, LinkException, SpanDistribution};

/// More ports than any switch has.
const MOST_ARITY: u32 = 128;

/// Checks the numbers of a leaf-spine network.
pub(crate) fn leaf_spine(spec: &LeafSpine, path: &Path) -> Validity {
    for (key, value) in
        [("leaves", spec.leaves), ("spines", spec.spines), ("hosts", spec.hosts), ("parallel", spec.parallel)]
    {
        require(value > 0, || path.key(key), || format!("`{key}` is zero"), "expected at least 1")?;
    }
    let [leaves, spines] = [spec.leaves, spec.spines].map(u64::from);
    let hosts = leaves.saturating_mul(u64::from(spec.hosts));
    let most = MOST_NODES as u64;
    let many = || format!("{leaves} leaves with {} hosts each, and {spines} spines", spec.hosts);
    let nodes = hosts.saturating_add(leaves).saturating_add(spines);
    require(nodes <= most, || path.key("hosts"), many, "expected at most a million nodes")?;
    let links = leaves.saturating_mul(spines).saturating_mul(u64::from(spec.parallel));
    let many = || format!("{links} links between leaves and spines");
    require(links <= most, || path.key("spines"), many, "expected at most a million")
}

/// Checks the numbers of a fat-tree.
pub(crate) fn fat_tree(spec: &FatTree, path: &Path) -> Validity {
    let k = spec.k;
    let is_even = k >= 2 && k.is_multiple_of(2);
    require(is_even, || path.key("k"), || format!("`k` is {k}"), "expected an even number of ports, at least 2")?;
    require(k <= MOST_ARITY, || path.key("k"), || format!("`k` is {k}"), "expected at most 128")?;
    for (key, value) in
        [("edge_oversubscription", spec.edge_oversubscription), ("core_oversubscription", spec.core_oversubscription)]
    {
        let divides = value > 0 && (k / 2).is_multiple_of(value);
        let label = format!("expected a divisor of {}, which is k/2", k / 2);
        require(divides, || path.key(key), || format!("`{key}` is {value}"), &label)?;
    }
    Ok(())
}

/// Checks a network whose numbers are good.
pub(crate) fn validate(clos: &Clos<'_>, path: &Path) -> Validity {
    exceptions(clos, &path.key("exceptions"))?;
    if matches!(clos.switch, ClosSwitch::Router) {
        for (key, given) in [
            ("adapter", *clos.adapter != Adapter::default()),
            ("congestion_management", clos.congestion_management.is_some()),
        ] {
            let message = || format!("`{key}` is for Ethernet switches");
            require(!given, || path.key(key), message, "expected `switch = \"ethernet_switch\"` with it")?;
        }
        return Ok(());
    }
    let message = || "adapters have no queue".to_owned();
    let label = "expected it with `switch = \"router\"` only";
    require(clos.host_port.is_none(), || path.key("host_port"), message, label)?;
    let nodes = clos.switches.len() + clos.hosts as usize;
    let many = || format!("{nodes} Ethernet switches and hosts with adapters");
    require(nodes <= MOST_ETHERNET_NODES, || path.key("switch"), many, "expected at most 4096")?;
    let mut ports = vec![0; clos.switches.len()];
    for cable in &clos.cables {
        for end in [cable.lower, cable.upper] {
            ports.get_mut(end as usize).into_iter().for_each(|ports| *ports += 1);
        }
    }
    if let Some(switch) = ports.iter().position(|ports| *ports > MOST_PORTS) {
        let message = format!("the switch `{}` has {} ports", clos.switches[switch], ports[switch]);
        return Err(Invalid::new(path.key("switch"), message, "expected at most 256"));
    }
    for (spec, key) in &clos.tiers {
        let at = path.key(key);
        let is_constant = matches!(spec.delay, SpanDistribution::Constant(_));
        let message = || "a random delay of a link of an Ethernet".to_owned();
        require(is_constant, || at.key("delay"), message, "expected one time: headroom follows from it")?;
        links::ethernet_impairments(&spec.impairments, &at.key("impairments"))?;
        links::ethernet_service(spec, &at)?;
    }
    Ok(())
}

fn exceptions(clos: &Clos<'_>, path: &Path) -> Validity {
    if clos.exceptions.is_empty() {
        return Ok(());
    }
    let known = clos.port_names();
    for (index, LinkException { ports, rate, queue, one_way, down }) in clos.exceptions.iter().enumerate() {
        let at = path.index(index);
        let message = || "an exception changes nothing".to_owned();
        let has_effect = rate.is_some() || queue.is_some() || *down;
        require(has_effect, || at.clone(), message, "expected `rate`, `queue`, or `down = true`")?;
        let message = || "a rate of links that are down".to_owned();
        require(rate.is_none() || !down, || at.key("rate"), message, "expected one of `rate` and `down`")?;
        let message = || "a queue of links that are down".to_owned();
        require(queue.is_none() || !down, || at.key("queue"), message, "expected one of `queue` and `down`")?;
        let message = || "hosts have no queue".to_owned();
        let is_of_switch = ports.0.iter().all(|name| !name.starts_with("host"));
        require(
            queue.is_none() || is_of_switch,
            || at.key("queue"),
            message,
            "expected ports of switches; see `host_port`",
        )?;
        let message = || "one direction of a link is down".to_owned();
        require(!(*one_way && *down), || at.key("one_way"), message, "expected both: a link is down as a whole")?;
        if let Some(name) = ports.0.iter().find(|name| !known.contains(name.as_str())) {
            let label = "expected the name of a port, such as `host0.port0`";
            let help = did_you_mean(name, known.iter().map(String::as_str));
            return Err(Invalid::new(at.key("ports"), format!("there is no port `{name}`"), label).with_help(help));
        }
    }
    Ok(())
}
