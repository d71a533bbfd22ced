//! Flows across an Ethernet of either topology: frames, where flows begin and end, and what nodes send in all.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::{BTreeMap, BTreeSet};

use forebay_switching::SHORTEST_FRAME;
use forebay_units::Span;

use super::check::{Validity, check_rate, require};
use super::lan::{check_constant, rates};
use crate::applications::Application;
use crate::lan::Lan;
use crate::plan::outline::Outline;
use crate::schema::{FlowGroup, FrameOnOff, Frames, OTHERS, OneOrMany, ScenarioSpec, Transport};

/// The longest length that a packet can have.
const LONGEST_FRAME: u64 = 65_535;
/// How many nodes a message names.
const NODES_LISTED: usize = 12;

/// Checks a group of frames, which goes with no topology but an Ethernet. The names of its nodes are known to be good.
pub(super) fn frames(group: &FlowGroup, frames: &Frames, lan: Option<&Lan<'_>>, at: &Path) -> Validity {
    let path = at.key("transport.frames");
    let outside = || "frames need an Ethernet".to_owned();
    let Some(lan) = lan else {
        return require(
            false,
            || path.clone(),
            outside,
            "expected `topology.ethernet`, or a graph with Ethernet switches",
        );
    };
    for (key, given, label) in [
        ("count", group.count.is_some(), "there is a flow for each name in `from` or `to`"),
        ("access", group.access.is_some(), "each node has a link of its own"),
        ("app", !matches!(group.app, Application::Unlimited), "frames are sent at their `rate`"),
        ("ecn", group.ecn, "a scheme of congestion management that marks frames needs no key"),
    ] {
        require(!given, || at.key(key), || format!("`{key}` is not for frames"), label)?;
    }
    check_rate(frames.rate, &path.key("rate"))?;
    let size = || format!("no frame has {}", frames.size);
    let holds = (SHORTEST_FRAME.0..=LONGEST_FRAME).contains(&frames.size.0);
    require(holds, || path.key("size"), size, "expected 64 B to 65535 B")?;
    let sources = group.from.iter().flat_map(|from| &from.0).filter_map(|node| lan.rate_of(node));
    // Whether there are such nodes is looked at later.
    let Some(link) = sources.min() else { return Ok(()) };
    let faster = || format!("`{}` would send {} over a link of {link}", group.name, frames.rate);
    require(frames.rate <= link, || path.key("rate"), faster, "expected at most the link's rate")?;
    if let Some(on_off) = &frames.on_off {
        self::on_off(on_off, link.transmission_time(frames.size.0), &path.key("on_off"))?;
    }
    set_point(frames, lan, &path.key("set_point"))
}

fn on_off(on_off: &FrameOnOff, slot: Span, path: &Path) -> Validity {
    check_constant(on_off.period, &path.key("period"))?;
    let duty = || format!("`duty` is {}", on_off.duty);
    let holds = on_off.duty > 0.0 && on_off.duty <= 1.0;
    require(holds, || path.key("duty"), duty, "expected more than 0, at most 1")?;
    let message = || format!("on for {}: too short for a frame of {slot}", on_off.on());
    require(on_off.on() >= slot, || path.key("period"), message, "expected a longer period")
}

fn set_point(frames: &Frames, lan: &Lan<'_>, path: &Path) -> Validity {
    let Some(set_point) = frames.set_point else { return Ok(()) };
    let own = lan.congestion_management.and_then(|scheme| scheme.with_flow_set_point(set_point));
    let Some(own) = own else {
        let label = "expected `topology.ethernet.congestion_management.e2cm`";
        return Err(Invalid::new(path.clone(), "`set_point` is for E2CM", label));
    };
    for rate in rates(lan) {
        own.check(rate).map_err(|error| {
            let message = format!("with a `set_point` of {set_point}, `{}` must {}", error.field, error.bound);
            Invalid::new(path.clone(), message, "takes the place of `flow_set_point`")
        })?;
    }
    Ok(())
}

/// Checks where the flows of a group begin and end.
pub(super) fn ends(group: &FlowGroup, lan: &Lan<'_>, at: &Path) -> Validity {
    let missing = |key: &str| {
        Invalid::new(at.clone(), format!("missing key `{key}`"), format!("a flow of an Ethernet needs `{key}`"))
    };
    let from = group.from.as_ref().ok_or_else(|| missing("from"))?;
    let to = group.to.as_ref().ok_or_else(|| missing("to"))?;
    let is_generated = matches!(group.transport, Transport::Frames(_));
    if !is_generated && to.is_others() {
        let message = format!("`to = \"{OTHERS}\"` is for frames");
        return Err(Invalid::new(at.key("to"), message, "expected the name of a node, or a list of nodes"));
    }
    for (key, list) in [("from", from), ("to", to)] {
        if key == "to" && list.is_others() {
            continue;
        }
        for (index, name) in list.0.iter().enumerate() {
            known_node(lan, name, &at.key(key).index(index)).map_err(|invalid| {
                let alone = name == OTHERS && key == "to";
                let help = || "alone, `to = \"others\"` means every other node".to_owned();
                if alone { invalid.with_help(help()) } else { invalid }
            })?;
        }
    }
    if !is_generated {
        let access = || "an Ethernet has no access links of its own".to_owned();
        require(group.access.is_none(), || at.key("access"), access, "each node has a link of its own")?;
        return pairs(group, from, to, at);
    }
    let mut seen = BTreeSet::new();
    let mut place = |list: &OneOrMany, key: &str, index: usize, from: &str, to: &str| {
        let there = || at.key(key).index(index % list.0.len());
        let itself = || format!("`{}` would go from `{from}` to itself", group.name);
        require(from != to, there, itself, "expected another node")?;
        let again = || format!("`{}` would go from `{from}` to `{to}` twice", group.name);
        require(seen.insert((from.to_owned(), to.to_owned())), there, again, "the second one")
    };
    for (index, generator) in lan.generators(group).iter().enumerate() {
        for node in &generator.to {
            let (list, key) = if from.0.len() >= to.0.len() { (from, "from") } else { (to, "to") };
            place(list, key, index, generator.from, node)?;
        }
    }
    Ok(())
}

/// Checks that no flow leads from a node to itself, where the flows of a group take nodes in turn.
fn pairs(group: &FlowGroup, OneOrMany(from): &OneOrMany, OneOrMany(to): &OneOrMany, at: &Path) -> Validity {
    // After the product of the two lengths the pairs repeat.
    for index in 0..(from.len() * to.len()).min(group.flows() as usize) {
        let (source, sink) = (&from[index % from.len()], &to[index % to.len()]);
        let flow = || group.flow_name(index as u32);
        let message = || format!("`{}` would go from `{source}` to itself", flow());
        require(source != sink, || at.key("to").index(index % to.len()), message, "expected another node")?;
    }
    Ok(())
}

/// The load of one generator on its node's link.
struct Offer {
    /// Index of the group.
    group: usize,
    from: Span,
    until: Span,
    /// Part of the link that it takes, on average.
    load: f64,
}

/// Checks that no node is asked to send more than its link carries. That a node is to receive more than that is what
/// congestion management is about.
pub(super) fn load(lan: &Lan<'_>, spec: &ScenarioSpec, path: &Path) -> Validity {
    let mut offers: BTreeMap<&str, Vec<Offer>> = BTreeMap::new();
    for (group, flows) in spec.flows.iter().enumerate() {
        let Transport::Frames(frames) = &flows.transport else { continue };
        for (index, generator) in lan.generators(flows).into_iter().enumerate() {
            let Some(link) = lan.rate_of(generator.from) else { continue };
            let load = frames.load(link) * frames.on_off.map_or(1.0, |on_off| on_off.duty);
            let from = flows.start.minimum() + flows.stagger * index as u64;
            let offer = Offer { group, from, until: flows.stop.unwrap_or(Span::MAX), load };
            offers.entry(generator.from).or_default().push(offer);
        }
    }
    for (node, offers) in &offers {
        // The sum is largest when one of them begins.
        for last in offers {
            let together = offers.iter().filter(|offer| offer.from <= last.from && last.from < offer.until);
            let sum: f64 = together.map(|offer| offer.load).sum();
            let message = || {
                let part = 100.0 * sum;
                let link = lan.rate_of(node).map_or_else(String::new, |rate| format!(" of {rate}"));
                format!("node `{node}` would send {part:.0} % of what its link{link} carries")
            };
            let at = || path.index(last.group).key("transport.frames.rate");
            // Sums of rates that fill the link exactly may be off by rounding.
            require(sum <= 1.0 + 1e-9, at, message, "expected at most the link's rate in all")?;
        }
    }
    Ok(())
}

/// No flow of a group may have the name of another's, nor that of another group.
pub(super) fn unique_names(outline: &Outline<'_>, path: &Path) -> Validity {
    let spec = outline.spec;
    let mut names: BTreeMap<String, &str> = spec.flows.iter().map(|group| (group.name.clone(), &*group.name)).collect();
    for (index, group) in spec.flows.iter().enumerate() {
        for name in outline.flows_of(group) {
            let Some(other) = names.insert(name.clone(), &group.name).filter(|other| *other != group.name) else {
                continue;
            };
            let (message, named) = if name == other {
                let named = spec.flows.iter().position(|group| group.name == other);
                (format!("`{name}` is also the name of a flow of group `{}`", group.name), named)
            } else {
                (format!("both `{other}` and `{}` have a flow `{name}`", group.name), None)
            };
            let at = path.index(named.unwrap_or(index)).key("name");
            return Err(Invalid::new(at, message, "expected another name"));
        }
    }
    Ok(())
}

pub(super) fn known_node(lan: &Lan<'_>, name: &str, path: &Path) -> Validity {
    if lan.nodes.contains(&name) {
        return Ok(());
    }
    let is_graph = lan.switches.iter().any(|switch| switch.node.is_some());
    let label = if is_graph { "expected the name of a host" } else { "expected a name from the `nodes` of a switch" };
    let message = format!("there is no {} `{name}`", if is_graph { "host" } else { "node" });
    let help = did_you_mean(name, lan.nodes.iter().copied()).unwrap_or_else(|| {
        let first: Vec<&str> = lan.nodes.iter().copied().take(NODES_LISTED).collect();
        let more = if lan.nodes.len() > NODES_LISTED { ", …" } else { "" };
        let what = if is_graph { "hosts" } else { "nodes" };
        format!("{what} here: {}{more}", first.join(", "))
    });
    Err(Invalid::new(path.clone(), message, label).with_help(help))
}
