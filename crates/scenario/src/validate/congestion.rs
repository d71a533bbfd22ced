//! Congestion management of an Ethernet, and the paths of flows where an Ethernet is next to other nodes.

use forebay_document::{Invalid, Path};

use std::collections::BTreeSet;

use forebay_engine::forwarding::{Edge, Forwarding};
use forebay_switching::PathPolicyConfig;
use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionManagement};
use forebay_units::Rate;

use super::buffers::refused;
use super::check::{Validity, require};
use crate::plan::outline::Outline;
use crate::plan::{EthernetPlan, Plan, PlannedFlow, PlannedKind, PlannedLink};
use crate::schema::{Arbiter, Transport};

/// Packets of endpoints name a congestion point in ten bits, of which 0 is none.
const MOST_TAGGED_PORTS: usize = 1023;

/// Checks what the queue disciplines of the switches go together with.
pub(super) fn disciplines(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    for ([from, _], direction) in outline.ways() {
        let Some(switch) = outline.kind(from).ethernet_switch() else { continue };
        let (Some(queue), Some(path)) = (&direction.spec.queue, &direction.path) else { continue };
        let at = path.key("queue");
        if let Some(scheme) = ethernet.congestion_management {
            let message =
                format!("both `queue` and `congestion_management`, `{}` and `{}`", queue.name(), scheme.name());
            return Err(Invalid::new(at, message, "expected one of them: either looks after the queue of an output"));
        }
        let message = || format!("`queue = \"{}\"` at a switch with `arbiter = \"round_robin\"`", queue.name());
        let is_fifo = switch.spec.arbiter == Arbiter::Fifo;
        require(is_fifo, || at.clone(), message, "expected one of them: a discipline has an order of its own")?;
        let policy = switch.spec.buffer;
        let pushes = || format!("`queue = \"{}\"` at a switch with `buffer = \"{}\"`", queue.name(), policy.name());
        let pushes_out = policy.build().is_ok_and(|policy| policy.pushes_out());
        require(!pushes_out, || at.clone(), pushes, "expected one of them: a discipline gives no frame back")?;
        let shares = || format!("{}: `flow_table = \"shared\"` in an Ethernet", queue.name());
        let label = "expected `flow_table = \"per_queue\"`: the outputs of an Ethernet switch share no table";
        require(!queue.shares_state(), || at.key(queue.name()).key("flow_table"), shares, label)?;
        let clears = || format!("{}: `wash = true` at a switch of an Ethernet", queue.name());
        let label = "expected false: the class of a frame is its priority, by which the switch counts its memory";
        require(!queue.changes_class(), || at.key(queue.name()), clears, label)?;
    }
    Ok(())
}

/// Checks the scheme of congestion management, and what the adapters have for it.
pub(super) fn schemes(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    let (path, adapter) = (&outline.path, outline.path.key("adapter"));
    let limiters = ethernet.adapter.rate_limiters;
    let none = || "adapters without rate limiters".to_owned();
    require(limiters != Some(0), || adapter.key("rate_limiters"), none, "expected at least 1")?;
    let Some(scheme) = ethernet.congestion_management else { return Ok(()) };
    let at = path.key("congestion_management").key(scheme.name());
    if let Some(paths) = outline.paths {
        let message = || format!("`{}` with congestion management", paths.name());
        let label = "expected `single`: the messages to a source go back the way that its frames came";
        require(*paths == PathPolicyConfig::default(), || path.key("paths"), message, label)?;
    }
    for rate in rates(outline) {
        scheme.check(rate).map_err(|error| refused(scheme.name(), error, &at))?;
    }
    if matches!(scheme, CongestionManagement::Fecn(_)) && limiters.is_some() {
        let message = "`fecn` with a limited number of rate limiters";
        let label = "expected none: with FECN every flow always has a limiter";
        return Err(Invalid::new(adapter.key("rate_limiters"), message, label)
            .with_help("leave `rate_limiters` out".to_owned()));
    }
    Ok(())
}

/// The rates of all links of switches and adapters, each once.
pub(super) fn rates(outline: &Outline<'_>) -> BTreeSet<Rate> {
    let of_ethernet = outline.ways().filter(|([from, _], _)| outline.kind(*from).is_ethernet());
    of_ethernet.map(|(_, direction)| direction.spec.rate).collect()
}

/// Checks that the packets of endpoints can name the congestion point that limits their flow, if they must.
pub(super) fn tags(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    let scheme = ethernet.congestion_management.filter(|scheme| scheme.tags_frames());
    let Some(scheme) = scheme else { return Ok(()) };
    let has_endpoints = outline.spec.flows.iter().any(|group| !matches!(group.transport, Transport::Frames(_)));
    let ports = outline.ways().filter(|([from, _], _)| outline.kind(*from).ethernet_switch().is_some()).count();
    let at = || outline.path.key("congestion_management").key(scheme.name());
    let message = || format!("{}: {ports} ports of switches, and flows of TCP or UDP", scheme.name());
    let label = "expected at most 1023 ports: packets have ten bits to name the one that limits their flow";
    require(!has_endpoints || ports <= MOST_TAGGED_PORTS, at, message, label)
}

/// Checks that the control frames that a scheme sends by the clock leave half of each link for data. Where they took
/// all of it, they would pile up at the adapters without end.
pub(super) fn control_frames(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    let Some(scheme) = ethernet.congestion_management else { return Ok(()) };
    let Some(messages) = rates(outline).into_iter().filter_map(|rate| scheme.periodic_messages(rate)).next() else {
        return Ok(());
    };
    let plan = Plan::new(outline.spec, 0);
    let (forwarding, edges) = plan.forwarding();
    let mut frames_on = vec![0_u64; plan.links.len()];
    let is_managed = |flow: &&PlannedFlow| plan.nodes[flow.source as usize].kind.is_ethernet();
    for &PlannedFlow { source, destination, .. } in plan.flows.iter().filter(is_managed) {
        let to_destination = (source, destination);
        let to_source = (destination, source);
        for (from, to) in [Some(to_source), messages.to_destination.then_some(to_destination)].into_iter().flatten() {
            let path = forwarding.path(&edges, from, to);
            path.iter().flatten().for_each(|&link| frames_on[link as usize] += 1);
        }
    }
    let busy = |frames: u64, link: &PlannedLink| {
        plan.spec(link).rate.transmission_time(frames.saturating_mul(u64::from(CONTROL_FRAME_BYTES)))
    };
    let busiest = frames_on.iter().zip(&plan.links).max_by_key(|(frames, link)| busy(**frames, link));
    let Some((&frames, link)) = busiest else { return Ok(()) };
    let busy = busy(frames, link);
    if messages.interval >= busy * 2 {
        return Ok(());
    }
    let (name, interval, field) = (scheme.name(), messages.interval, messages.field);
    let message = format!(
        "{name}: {frames} control frames in each {interval} on the link `{}`, where they take {busy}",
        link.name
    );
    let at = outline.path.key("congestion_management").key(name).key(field);
    Err(Invalid::new(at, message, "expected an interval of at least twice that")
        .with_help(format!("half of a link must remain for data: set `{field} = \"{}\"` or more", busy * 2)))
}

/// Checks the paths of flows where some nodes are of an Ethernet and some are not. Frames cross Ethernet switches only,
/// and so do the flows that congestion management limits: no other node passes on its messages. The tag of a limiter
/// also has the place of CSFQ's label.
pub(super) fn paths(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    let scheme = ethernet.congestion_management;
    let has_frames = outline.spec.flows.iter().any(|group| matches!(group.transport, Transport::Frames(_)));
    let is_mixed = outline.nodes.iter().any(|node| !node.kind.is_ethernet());
    if !is_mixed || (scheme.is_none() && !has_frames) {
        return Ok(());
    }
    let plan = Plan::new(outline.spec, 0);
    let (forwarding, edges) = plan.forwarding();
    let mut seen = BTreeSet::new();
    for flow in &plan.flows {
        let group = &outline.spec.flows[flow.group];
        let are_frames = matches!(group.transport, Transport::Frames(_));
        if (!are_frames && scheme.is_none()) || !seen.insert((flow.group, flow.source, flow.destination)) {
            continue;
        }
        let nodes = reached(outline, &forwarding, &edges, flow);
        let other = nodes.iter().copied().find(|&node| !outline.kind(node).is_ethernet());
        let has_switch = nodes.iter().any(|&node| outline.kind(node).ethernet_switch().is_some());
        let Some(other) = other.filter(|_| are_frames || has_switch) else { continue };
        let at = Path::default().key("flows").index(flow.group).key("to");
        let (name, other) = (&flow.name, named(outline, other));
        return Err(match scheme {
            Some(scheme) if !are_frames => {
                let message = format!("the path of `{name}` has {other}, and congestion points of `{}`", scheme.name());
                let label = "expected hosts with adapters, and Ethernet switches alone between them";
                let help = "a rate limiter is in an adapter, and only Ethernet nodes pass on messages to it: keep the \
                            flow within the Ethernet, or leave `congestion_management` out";
                Invalid::new(at, message, label).with_help(help.to_owned())
            }
            _ => {
                let message = format!("the path of the frames `{name}` has {other}");
                let label = "expected Ethernet switches alone between the adapters";
                Invalid::new(at, message, label)
                    .with_help("`transport.tcp` and `transport.udp` cross nodes of any kind".to_owned())
            }
        });
    }
    Ok(())
}

/// A node as a message names it.
fn named(outline: &Outline<'_>, node: u32) -> String {
    let name = outline.name(node);
    match outline.kind(node) {
        PlannedKind::Host => format!("`{name}`, a host without an adapter"),
        PlannedKind::Router => format!("the router `{name}`"),
        PlannedKind::Crossbar(_) => format!("the crossbar `{name}`"),
        PlannedKind::Adapter(_) | PlannedKind::EthernetSwitch(_) => format!("`{name}`"),
    }
}

/// The nodes that packets of a flow may come to, its ends among them.
fn reached(outline: &Outline<'_>, forwarding: &Forwarding, edges: &[Edge], flow: &PlannedFlow) -> BTreeSet<u32> {
    let is_single = outline.paths.is_none_or(|paths| *paths == PathPolicyConfig::default());
    let mut reached = BTreeSet::from([flow.source]);
    let (mut next, number) = (vec![flow.source], forwarding.number(flow.destination));
    while let (Some(node), Some(number)) = (next.pop(), number) {
        if node == flow.destination {
            continue;
        }
        let hops = forwarding.next_hops(node, number);
        for &link in &hops[..if is_single { hops.len().min(1) } else { hops.len() }] {
            let to = edges[link as usize].to;
            if reached.insert(to) {
                next.push(to);
            }
        }
    }
    reached
}
