//! Ethernets: who is joined to what, memory and its watermarks, rates, and the frames that are sent.

use std::collections::{BTreeMap, BTreeSet};

use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionManagement};
use forebay_switching::{
    OutputLimit, ParameterError, PauseConfig, SHORTEST_FRAME, SharedMemory, SharedMemoryConfig, headroom,
};
use forebay_units::{Bytes, QueueSize, Span};
use petgraph::unionfind::UnionFind;

use super::{DAY, Invalid, LONGEST_RUN, Validity, check_name, check_rate, check_span, require};
use crate::document::Path;
use crate::error::did_you_mean;
use crate::layout::Layout;
use crate::names;
use crate::schema::{
    Application, Ethernet, FlowGroup, FrameOnOff, Frames, OTHERS, OneOrMany, Pause, ScenarioSpec, Service, ServiceAt,
    SpanDistribution, Transport,
};

/// More than any scenario has; there is a path for each pair of switches.
const MOST_STATIONS: usize = 4096;
/// Ports of a switch: the engine has a byte for the number of one.
const MOST_PORTS: usize = 256;
/// The longest length that a packet can have.
const LONGEST_FRAME: u64 = 65_535;
/// How many nodes a message names.
const NODES_LISTED: usize = 12;
/// Priorities of IEEE 802.1Q.
const MOST_CLASSES: u8 = SharedMemory::CLASSES as u8;

/// Checks the network. It comes before everything that asks for names of flows.
pub(super) fn validate(ethernet: &Ethernet, path: &Path) -> Validity {
    check_rate(ethernet.link.rate, &path.key("link.rate"))?;
    check_constant(ethernet.link.delay, &path.key("link.delay"))?;
    stations(ethernet, path)?;
    trunks(ethernet, path)?;
    ports(ethernet, path)?;
    services(ethernet, &path.key("service"))?;
    schemes(ethernet, path)
}

fn check_constant(span: Span, path: &Path) -> Validity {
    check_span(&SpanDistribution::Constant(span), DAY, path)
}

/// Checks the names of switches and nodes, and that each node is joined to one switch.
fn stations(ethernet: &Ethernet, path: &Path) -> Validity {
    let switches = path.key("switches");
    let count = ethernet.switches.len() + ethernet.nodes().count();
    let many = || format!("{count} switches and nodes");
    require(count <= MOST_STATIONS, || switches.clone(), many, "expected at most 4096")?;
    let few = || "an Ethernet without two nodes".to_owned();
    require(ethernet.nodes().count() >= 2, || switches.clone(), few, "expected at least two in all")?;
    // Each name, and the switch that a node of that name is joined to.
    let mut known: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for (index, switch) in ethernet.switches.iter().enumerate() {
        let at = switches.index(index).key("name");
        check_station(&switch.name, &at)?;
        let second = known.insert(&switch.name, None).is_some();
        require(!second, || at, || format!("two switches are named `{}`", switch.name), "the second one")?;
    }
    for (index, switch) in ethernet.switches.iter().enumerate() {
        for (number, node) in switch.nodes.iter().enumerate() {
            let at = || switches.index(index).key("nodes").index(number);
            check_station(node, &at())?;
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

fn check_station(name: &str, path: &Path) -> Validity {
    check_name(name, path)?;
    let at = || path.clone();
    require(
        !name.contains("->"),
        at,
        || "a name contains `->`".into(),
        "`->` separates the names in the name of a link",
    )?;
    let message = || format!("`{OTHERS}` is not a name: in `to` it stands for every other node");
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
        known_node(ethernet, &service.node, &at.key("node"))?;
        check_rate(service.rate, &at.key("rate"))?;
        let link = ethernet.link.rate;
        let above = || format!("a service of {} over a link of {link}", service.rate);
        require(service.rate <= link, || at.key("rate"), above, "expected at most the link's rate")?;
        for (key, span) in [("from", Some(service.from)), ("to", service.to)] {
            let Some(span) = span else { continue };
            check_span(&SpanDistribution::Constant(span), LONGEST_RUN, &at.key(key))?;
        }
        let until = service.to.unwrap_or(Span::MAX);
        let message = || format!("a service from {} to {until}", service.from);
        require(service.from < until, || at.key("to"), message, "expected more than `from`")?;
        if let Some(earlier) = ethernet.service[..index].iter().find(|earlier| overlap(earlier, service)) {
            let place = match service.at {
                ServiceAt::Switch => format!("the port to node `{}`", service.node),
                ServiceAt::Node => format!("node `{}`", service.node),
            };
            let message = format!("{place} has two rates at {}", service.from.max(earlier.from));
            return Err(Invalid::new(at, message, "overlaps with an earlier one")
                .with_help("set `to` of one so that it ends before the other begins".to_owned()));
        }
    }
    Ok(())
}

fn overlap(one: &Service, other: &Service) -> bool {
    let until = |service: &Service| service.to.unwrap_or(Span::MAX);
    let together = one.from < until(other) && other.from < until(one);
    one.node == other.node && one.at == other.at && together
}

fn known_node(ethernet: &Ethernet, name: &str, path: &Path) -> Validity {
    if ethernet.nodes().any(|node| node == name) {
        return Ok(());
    }
    let (message, label) = (format!("there is no node `{name}`"), "expected a name from the `nodes` of a switch");
    let help = did_you_mean(name, ethernet.nodes()).unwrap_or_else(|| {
        let first: Vec<&str> = ethernet.nodes().take(NODES_LISTED).collect();
        let more = if ethernet.nodes().count() > NODES_LISTED { ", …" } else { "" };
        format!("nodes here: {}{more}", first.join(", "))
    });
    Err(Invalid::new(path.clone(), message, label).with_help(help))
}

/// Checks the scheme of congestion management, and what the adapters have for it.
fn schemes(ethernet: &Ethernet, path: &Path) -> Validity {
    let adapter = path.key("adapter");
    let limiters = ethernet.adapter.rate_limiters;
    let none = || "adapters without rate limiters".to_owned();
    require(limiters != Some(0), || adapter.key("rate_limiters"), none, "expected at least 1")?;
    let Some(scheme) = &ethernet.congestion_management else { return Ok(()) };
    let at = path.key("congestion_management").key(scheme.name());
    scheme.check(ethernet.link.rate).map_err(|error| refused(scheme.name(), error, &at))?;
    if matches!(scheme, CongestionManagement::Fecn(_)) && limiters.is_some() {
        let message = "`fecn` with a limited number of rate limiters";
        let label = "expected none: with FECN every flow always has a limiter";
        return Err(Invalid::new(adapter.key("rate_limiters"), message, label)
            .with_help("leave `rate_limiters` out".to_owned()));
    }
    Ok(())
}

/// Checks that the control frames that a scheme sends by the clock leave half of each link for data. Where they took
/// all of it, they would pile up at the adapters without end.
pub(super) fn control_frames(ethernet: &Ethernet, spec: &ScenarioSpec, path: &Path) -> Validity {
    let link = ethernet.link.rate;
    let Some(scheme) = &ethernet.congestion_management else { return Ok(()) };
    let Some(messages) = scheme.periodic_messages(link) else { return Ok(()) };
    let layout = Layout::new(spec, 0);
    let mut frames_on = vec![0_u64; layout.lines.len()];
    for route in &layout.routes {
        let to_destination = route.forward.iter().filter(|_| messages.to_destination);
        to_destination.chain(&route.backward).for_each(|line| frames_on[*line as usize] += 1);
    }
    let Some((&frames, line)) = frames_on.iter().zip(&layout.lines).max_by_key(|(frames, _)| **frames) else {
        return Ok(());
    };
    let busy = link.transmission_time(frames.saturating_mul(u64::from(CONTROL_FRAME_BYTES)));
    if messages.interval >= busy * 2 {
        return Ok(());
    }
    let (name, interval, field) = (scheme.name(), messages.interval, messages.field);
    let message = format!(
        "{name}: {frames} control frames in each {interval} on the link `{}`, where they take {busy}",
        line.name
    );
    let at = path.key("congestion_management").key(name).key(field);
    Err(Invalid::new(at, message, "expected an interval of at least twice that")
        .with_help(format!("half of a link has to remain for data: set `{field} = \"{}\"` or more", busy * 2)))
}

fn refused(what: &str, error: ParameterError, path: &Path) -> Invalid {
    let message = format!("{what}: `{}` must {}", error.field, error.bound);
    Invalid::new(path.key(error.field), message, format!("must {}", error.bound))
}

/// A buffer that frames are kept in, and what feeds it.
struct Buffer<'a> {
    /// The table that describes it.
    path: &'a Path,
    /// The key of its memory.
    key: &'static str,
    memory: Bytes,
    pause: Option<Pause>,
    priority_pause: Option<Pause>,
    limited_outputs: bool,
    /// How long what a feeder sends still comes, beside the propagation.
    reaction: Span,
}

/// Checks memory against the frames, which are known to be good: that there is room for them, and where PAUSE is on
/// that none of them can be lost.
pub(super) fn memory(ethernet: &Ethernet, spec: &ScenarioSpec, path: &Path) -> Validity {
    let (switch, adapter) = (&ethernet.switch, &ethernet.adapter);
    let (at_switch, at_adapter) = (path.key("switch"), path.key("adapter"));
    let of_switch = switch.reaction.on(ethernet.link.rate);
    let of_adapter = adapter.reaction.on(ethernet.link.rate);
    check_constant(of_switch, &at_switch.key("reaction"))?;
    check_constant(of_adapter, &at_adapter.key("reaction"))?;
    check_constant(switch.forwarding_delay, &at_switch.key("forwarding_delay"))?;
    let config = SharedMemoryConfig { partition: switch.memory, output_limit: switch.output_limit };
    SharedMemory::new(1, config).map_err(|error| refused("switch", error, &at_switch))?;
    if let Some(OutputLimit::Static(limit)) = switch.output_limit {
        let (largest, at) = (Bytes(spec.largest_packet()), || at_switch.key("output_limit.static"));
        let small = || format!("an output may hold {limit}, but there are frames of {largest}");
        require(limit >= largest, at, small, "expected room for at least one frame")?;
    }
    match adapter.voq_limit {
        Some(QueueSize::Packets(1..)) | None => {}
        Some(limit) => {
            let message = format!("`voq_limit` is {limit}");
            return Err(Invalid::new(at_adapter.key("voq_limit"), message, "expected a number of packets, at least 1"));
        }
    }
    // Nodes feed a switch and, over trunks, so do switches.
    let feeders = if ethernet.trunks.is_empty() { of_adapter } else { of_adapter.max(of_switch) };
    let input = Buffer {
        path: &at_switch,
        key: "memory",
        memory: switch.memory,
        pause: switch.pause,
        priority_pause: switch.priority_pause,
        limited_outputs: switch.output_limit.is_some(),
        // What is on its way to an output's queue when the high watermark is passed comes as well.
        reaction: feeders + switch.forwarding_delay,
    };
    let egress = Buffer {
        path: &at_adapter,
        key: "egress_memory",
        memory: adapter.egress_memory,
        pause: adapter.pause,
        priority_pause: adapter.priority_pause,
        limited_outputs: false,
        reaction: of_switch,
    };
    buffer(&input, ethernet, spec)?;
    buffer(&egress, ethernet, spec)
}

fn buffer(buffer: &Buffer<'_>, ethernet: &Ethernet, spec: &ScenarioSpec) -> Validity {
    let largest = Bytes(spec.largest_packet());
    let small = || format!("`{}` is {}, but there are frames of {largest}", buffer.key, buffer.memory);
    require(buffer.memory >= largest, || buffer.path.key(buffer.key), small, "expected room for at least one frame")?;
    let (key, pause, classes) = match (buffer.pause, buffer.priority_pause) {
        (None, None) => return Ok(()),
        (Some(pause), None) => ("pause", pause, 1),
        (None, Some(pause)) => ("priority_pause", pause, classes(spec)),
        (Some(_), Some(_)) => {
            let message = "both `pause` and `priority_pause`";
            return Err(Invalid::new(buffer.path.key("priority_pause"), message, "expected at most one of them"));
        }
    };
    let at = buffer.path.key(key);
    let watermarks = PauseConfig { high: pause.high, low: pause.low };
    watermarks.check().map_err(|error| refused(key, error, &at))?;
    let out_of_order = || format!("`high` is {}, beyond the {} of `{}`", pause.high, buffer.memory, buffer.key);
    require(pause.high <= buffer.memory, || at.key("high"), out_of_order, "would never stop the sender")?;
    if pause.allow_loss {
        return Ok(());
    }
    if buffer.limited_outputs {
        let message = format!("`{key}` and an `output_limit`: frames beyond the limit would be lost");
        return Err(Invalid::new(buffer.path.key("output_limit"), message, "not lossless")
            .with_help(format!("leave it out, or accept loss: `allow_loss = true` in `{key}`")));
    }
    let link = ethernet.link;
    let headroom = headroom(link.rate, link.delay, largest, Bytes(CONTROL_FRAME_BYTES.into()), buffer.reaction);
    let needed = Bytes((pause.high.0.saturating_add(headroom.0)).saturating_mul(classes));
    if needed <= buffer.memory {
        return Ok(());
    }
    let of_classes = if classes == 1 { String::new() } else { format!(" for each of {classes} classes") };
    let message = format!(
        "too little memory above `high`: {} and {headroom} of headroom{of_classes} are more than {}",
        pause.high, buffer.memory
    );
    let most = (buffer.memory.0 / classes).saturating_sub(headroom.0);
    let label = if most > pause.low.0 {
        format!("expected at most {}, or `{} = \"{needed}\"`", Bytes(most), buffer.key)
    } else {
        format!("expected `{} = \"{needed}\"` or more", buffer.key)
    };
    Err(Invalid::new(at.key("high"), message, label).with_help(format!(
        "headroom holds what arrives before the sender stops; `allow_loss = true` in `{key}` accepts lost frames"
    )))
}

/// How many classes the frames have.
fn classes(spec: &ScenarioSpec) -> u64 {
    spec.flows.iter().map(|group| group.class).collect::<BTreeSet<u8>>().len() as u64
}

/// Checks a group of frames, which goes with no topology but an Ethernet. The names of its nodes are known to be good.
pub(super) fn frames(group: &FlowGroup, frames: &Frames, spec: &ScenarioSpec, at: &Path) -> Validity {
    let path = at.key("transport.frames");
    let outside = || "frames need an Ethernet".to_owned();
    let Some(ethernet) = spec.topology.ethernet() else {
        return require(false, || path.clone(), outside, "expected `topology.ethernet`");
    };
    for (key, given, label) in [
        ("count", group.count.is_some(), "there is a flow for each name in `from` or `to`"),
        ("access", group.access.is_some(), "`topology.ethernet.link` describes every link"),
        ("app", !matches!(group.app, Application::Unlimited), "frames are sent at their `rate`"),
        ("ecn", group.ecn, "a scheme of congestion management that marks frames needs no key"),
    ] {
        require(!given, || at.key(key), || format!("`{key}` is not for frames"), label)?;
    }
    let class = || format!("`class` is {}", group.class);
    require(group.class < MOST_CLASSES, || at.key("class"), class, "expected a priority from 0 to 7")?;
    check_rate(frames.rate, &path.key("rate"))?;
    let size = || format!("no frame has {}", frames.size);
    let holds = (SHORTEST_FRAME.0..=LONGEST_FRAME).contains(&frames.size.0);
    require(holds, || path.key("size"), size, "expected 64 B to 65535 B")?;
    let link = ethernet.link.rate;
    let faster = || format!("`{}` would send {} over a link of {link}", group.name, frames.rate);
    require(frames.rate <= link, || path.key("rate"), faster, "expected at most the link's rate")?;
    if let Some(on_off) = &frames.on_off {
        self::on_off(on_off, link.transmission_time(frames.size.0), &path.key("on_off"))?;
    }
    set_point(frames, ethernet, &path.key("set_point"))
}

fn on_off(on_off: &FrameOnOff, slot: Span, path: &Path) -> Validity {
    check_constant(on_off.period, &path.key("period"))?;
    let duty = || format!("`duty` is {}", on_off.duty);
    let holds = on_off.duty > 0.0 && on_off.duty <= 1.0;
    require(holds, || path.key("duty"), duty, "expected more than 0, at most 1")?;
    let message = || format!("on for {}: too short for a frame of {slot}", on_off.on());
    require(on_off.on() >= slot, || path.key("period"), message, "expected a longer period")
}

fn set_point(frames: &Frames, ethernet: &Ethernet, path: &Path) -> Validity {
    let Some(set_point) = frames.set_point else { return Ok(()) };
    let own = ethernet.congestion_management.as_ref().and_then(|scheme| scheme.with_flow_set_point(set_point));
    let Some(own) = own else {
        let label = "expected `topology.ethernet.congestion_management.e2cm`";
        return Err(Invalid::new(path.clone(), "`set_point` is for E2CM", label));
    };
    own.check(ethernet.link.rate).map_err(|error| {
        let message = format!("with a `set_point` of {set_point}, `{}` would have to {}", error.field, error.bound);
        Invalid::new(path.clone(), message, "takes the place of `flow_set_point`")
    })
}

/// Checks where the flows of a group begin and end.
pub(super) fn ends(group: &FlowGroup, ethernet: &Ethernet, at: &Path) -> Validity {
    let missing = |key: &str| {
        Invalid::new(at.clone(), format!("missing key `{key}`"), format!("a flow of an Ethernet needs `{key}`"))
    };
    let from = group.from.as_ref().ok_or_else(|| missing("from"))?;
    let to = group.to.as_ref().ok_or_else(|| missing("to"))?;
    for (key, list) in [("from", from), ("to", to)] {
        if key == "to" && list.is_others() {
            continue;
        }
        for (index, name) in list.0.iter().enumerate() {
            known_node(ethernet, name, &at.key(key).index(index)).map_err(|invalid| {
                let alone = name == OTHERS && key == "to";
                let help = || "alone, `to = \"others\"` stands for every other node".to_owned();
                if alone { invalid.with_help(help()) } else { invalid }
            })?;
        }
    }
    let mut seen = BTreeSet::new();
    let mut place = |list: &OneOrMany, key: &str, index: usize, from: &str, to: &str| {
        let there = || at.key(key).index(index % list.0.len());
        let itself = || format!("`{}` would go from `{from}` to itself", group.name);
        require(from != to, there, itself, "expected another node")?;
        let again = || format!("`{}` would go from `{from}` to `{to}` twice", group.name);
        require(seen.insert((from.to_owned(), to.to_owned())), there, again, "the second one")
    };
    for (index, generator) in ethernet.generators(group).iter().enumerate() {
        for node in &generator.to {
            let (list, key) = if from.0.len() >= to.0.len() { (from, "from") } else { (to, "to") };
            place(list, key, index, generator.from, node)?;
        }
    }
    Ok(())
}

/// What one generator puts on its node's link.
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
pub(super) fn load(ethernet: &Ethernet, spec: &ScenarioSpec, path: &Path) -> Validity {
    let mut offers: BTreeMap<&str, Vec<Offer>> = BTreeMap::new();
    for (group, flows) in spec.flows.iter().enumerate() {
        let Transport::Frames(frames) = &flows.transport else { continue };
        let load = frames.load(ethernet.link.rate) * frames.on_off.map_or(1.0, |on_off| on_off.duty);
        for (index, generator) in ethernet.generators(flows).into_iter().enumerate() {
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
                format!("node `{node}` would send {part:.0} % of what its link of {} carries", ethernet.link.rate)
            };
            let at = || path.index(last.group).key("transport.frames.rate");
            // Sums of rates that fill the link exactly may be off by rounding.
            require(sum <= 1.0 + 1e-9, at, message, "expected at most the link's rate in all")?;
        }
    }
    Ok(())
}

/// No flow of a group may have the name of another's, nor that of another group.
pub(super) fn unique_names(spec: &ScenarioSpec, path: &Path) -> Validity {
    let mut names: BTreeMap<String, &str> = spec.flows.iter().map(|group| (group.name.clone(), &*group.name)).collect();
    for (index, group) in spec.flows.iter().enumerate() {
        for name in names::flows_of(spec, group) {
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
