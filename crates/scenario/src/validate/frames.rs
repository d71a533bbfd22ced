//! Frames across an Ethernet: where they begin and end, and the load of each adapter.

use forebay_document::{Invalid, Path};

use std::collections::{BTreeMap, BTreeSet};

use forebay_switching::SHORTEST_FRAME;
use forebay_units::Span;

use super::buffers::check_constant;
use super::check::{Validity, check_rate, require};
use super::congestion::rates;
use super::flows::reachable;
use super::reach::Reach;
use crate::applications::Application;
use crate::plan::EthernetPlan;
use crate::plan::outline::Outline;
use crate::schema::{FlowGroup, FrameOnOff, Frames, Transport};

/// The longest length that a packet can have.
const LONGEST_FRAME: u64 = 65_535;

/// Checks a group of frames, which goes with no topology but an Ethernet. The names of its nodes are known to be good.
pub(super) fn frames(group: &FlowGroup, frames: &Frames, outline: &Outline<'_>, at: &Path) -> Validity {
    let path = at.key("transport.frames");
    let outside = || "frames need an Ethernet".to_owned();
    let Some(ethernet) = &outline.ethernet else {
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
        ("ecn", group.ecn.is_capable(), "a scheme of congestion management that marks frames needs no key"),
    ] {
        require(!given, || at.key(key), || format!("`{key}` is not for frames"), label)?;
    }
    check_rate(frames.rate, &path.key("rate"))?;
    let size = || format!("no frame has {}", frames.size);
    let holds = (SHORTEST_FRAME.0..=LONGEST_FRAME).contains(&frames.size.0);
    require(holds, || path.key("size"), size, "expected 64 B to 65535 B")?;
    let sources = group.from.iter().flat_map(|from| &from.0).filter_map(|node| outline.adapter(node));
    // Whether there are such nodes is looked at later.
    let Some(link) = sources.map(|adapter| adapter.line_rate).min() else { return Ok(()) };
    let faster = || format!("`{}` would send {} over a link of {link}", group.name, frames.rate);
    require(frames.rate <= link, || path.key("rate"), faster, "expected at most the link's rate")?;
    if let Some(on_off) = &frames.on_off {
        self::on_off(on_off, link.transmission_time(frames.size.0), &path.key("on_off"))?;
    }
    set_point(frames, outline, ethernet, &path.key("set_point"))
}

fn on_off(on_off: &FrameOnOff, slot: Span, path: &Path) -> Validity {
    check_constant(on_off.period, &path.key("period"))?;
    let duty = || format!("`duty` is {}", on_off.duty);
    let holds = on_off.duty > 0.0 && on_off.duty <= 1.0;
    require(holds, || path.key("duty"), duty, "expected more than 0, at most 1")?;
    let message = || format!("on for {}: too short for a frame of {slot}", on_off.on());
    require(on_off.on() >= slot, || path.key("period"), message, "expected a longer period")
}

fn set_point(frames: &Frames, outline: &Outline<'_>, ethernet: &EthernetPlan<'_>, path: &Path) -> Validity {
    let Some(set_point) = frames.set_point else { return Ok(()) };
    let own = ethernet.congestion_management.and_then(|scheme| scheme.with_flow_set_point(set_point));
    let Some(own) = own else {
        let label = "expected `topology.ethernet.congestion_management.e2cm`";
        return Err(Invalid::new(path.clone(), "`set_point` is for E2CM", label));
    };
    for rate in rates(outline) {
        own.check(rate).map_err(|error| {
            let message = format!("with a `set_point` of {set_point}, `{}` must {}", error.field, error.bound);
            Invalid::new(path.clone(), message, "takes the place of `flow_set_point`")
        })?;
    }
    Ok(())
}

/// Checks where the flows of a group begin and end. Its names are those of hosts.
pub(super) fn ends(group: &FlowGroup, outline: &Outline<'_>, reach: &Reach<'_>, at: &Path) -> Validity {
    let (Some(from), Some(to)) = (&group.from, &group.to) else { return Ok(()) };
    for (key, list) in [("from", from), ("to", to)] {
        for (index, host) in list.0.iter().enumerate().filter(|_| key == "from" || !list.is_others()) {
            let message = || format!("`{host}` has no adapter, which frames need");
            let label = "expected a host that is connected to an Ethernet switch";
            require(outline.adapter(host).is_some(), || at.key(key).index(index), message, label)?;
        }
    }
    let mut seen = BTreeSet::new();
    for (index, generator) in outline.generators(group).into_iter().enumerate() {
        let place = |key: &str, names: usize| at.key(key).index(index % names);
        for sink in generator.to {
            let from_is_longer = from.0.len() >= to.0.len();
            let there = || if from_is_longer { place("from", from.0.len()) } else { place("to", to.0.len()) };
            let itself = || format!("`{}` would go from `{}` to itself", group.name, generator.from);
            require(generator.from != sink, there, itself, "expected another host")?;
            let again = || format!("`{}` would go from `{}` to `{sink}` twice", group.name, generator.from);
            let is_new = seen.insert((generator.from, sink));
            require(is_new, there, again, "the second one")?;
            reachable(reach, generator.from, sink, there)?;
        }
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
pub(super) fn load(outline: &Outline<'_>, path: &Path) -> Validity {
    let rate_of = |host: &str| outline.adapter(host).map(|adapter| adapter.line_rate);
    let mut offers: BTreeMap<&str, Vec<Offer>> = BTreeMap::new();
    for (group, flows) in outline.spec.flows.iter().enumerate() {
        let Transport::Frames(frames) = &flows.transport else { continue };
        for (index, generator) in outline.generators(flows).into_iter().enumerate() {
            let Some(link) = rate_of(generator.from) else { continue };
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
                let link = rate_of(node).map_or_else(String::new, |rate| format!(" of {rate}"));
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
