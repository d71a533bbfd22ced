//! Checks for Ethernets of either topology: memory and its watermarks, schemes and disciplines, and the sent frames.

use forebay_document::{Invalid, Path};

use std::collections::BTreeSet;

use forebay_switching::congestion::{CONTROL_FRAME_BYTES, CongestionManagement};
use forebay_switching::{
    Frame, MemoryFull, ParameterError, PathPolicyConfig, PauseConfig, SharedMemory, SharedMemoryConfig, headroom,
};
use forebay_units::{Bytes, QueueSize, Rate, Span};

use super::check::{DAY, Validity, check_span, require};
use crate::lan::{Cable, Lan, LanSwitch};
use crate::plan::{Plan, PlannedFlow, PlannedLink};
use crate::schema::{Arbiter, Pause, Reaction, ScenarioSpec, SharedMemorySwitch, SpanDistribution, Transport};

/// Packets of endpoints name a congestion point in ten bits, of which 0 is none.
const MOST_TAGGED_PORTS: usize = 1023;
/// Priorities of IEEE 802.1Q.
const MOST_CLASSES: u8 = SharedMemory::CLASSES as u8;

pub(super) fn check_constant(span: Span, path: &Path) -> Validity {
    check_span(&SpanDistribution::Constant(span), DAY, path)
}

/// Checks what the queue disciplines of the switches go together with.
pub(super) fn disciplines(lan: &Lan<'_>, path: &Path) -> Validity {
    for cable in &lan.cables {
        let Some(queue) = cable.queue else { continue };
        let at = match cable.link {
            Some(link) => path.key("links").index(link).key("queue"),
            None => path.key("queue"),
        };
        if let Some(scheme) = lan.congestion_management {
            let message =
                format!("both `queue` and `congestion_management`, `{}` and `{}`", queue.name(), scheme.name());
            return Err(Invalid::new(at, message, "expected one of them: either looks after the queue of an output"));
        }
        let mut switches = cable.ends.iter().filter_map(|name| lan.switch(name));
        let message = || format!("`queue = \"{}\"` at a switch with `arbiter = \"round_robin\"`", queue.name());
        let is_fifo = switches.all(|switch| switch.arbiter == Arbiter::Fifo);
        require(is_fifo, || at.clone(), message, "expected one of them: a discipline has an order of its own")?;
        let shares = || format!("{}: `flow_table = \"shared\"` in an Ethernet", queue.name());
        let label = "expected `flow_table = \"per_queue\"`: the outputs of an Ethernet switch share no table";
        require(!queue.shares_state(), || at.key(queue.name()).key("flow_table"), shares, label)?;
    }
    Ok(())
}

/// Checks that each group has a priority that frames have.
pub(super) fn classes_of_flows(spec: &ScenarioSpec, path: &Path) -> Validity {
    for (index, group) in spec.flows.iter().enumerate() {
        let class = || format!("`class` is {}", group.class);
        let at = || path.index(index).key("class");
        require(group.class < MOST_CLASSES, at, class, "expected a priority from 0 to 7")?;
    }
    Ok(())
}

/// Checks the scheme of congestion management, and what the adapters have for it.
pub(super) fn schemes(lan: &Lan<'_>, path: &Path) -> Validity {
    let adapter = path.key("adapter");
    let limiters = lan.adapter.rate_limiters;
    let none = || "adapters without rate limiters".to_owned();
    require(limiters != Some(0), || adapter.key("rate_limiters"), none, "expected at least 1")?;
    let Some(scheme) = lan.congestion_management else { return Ok(()) };
    let at = path.key("congestion_management").key(scheme.name());
    let is_single = *lan.paths == PathPolicyConfig::default();
    let message = || format!("`{}` with congestion management", lan.paths.name());
    let label = "expected `single`: the messages to a source go back the way that its frames came";
    require(is_single, || path.key("paths"), message, label)?;
    for rate in rates(lan) {
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

/// Checks that the packets of endpoints can name the congestion point that limits their flow, if they must.
pub(super) fn tags(lan: &Lan<'_>, spec: &ScenarioSpec, path: &Path) -> Validity {
    let Some(scheme) = lan.congestion_management.filter(|scheme| scheme.tags_frames()) else { return Ok(()) };
    let has_endpoints = spec.flows.iter().any(|group| !matches!(group.transport, Transport::Frames(_)));
    let ports = 2 * lan.cables.len() - lan.nodes.len();
    let at = || path.key("congestion_management").key(scheme.name());
    let message = || format!("{}: {ports} ports of switches, and flows of TCP or UDP", scheme.name());
    let label = "expected at most 1023 ports: packets have ten bits to name the one that limits their flow";
    require(!has_endpoints || ports <= MOST_TAGGED_PORTS, at, message, label)
}

/// Checks that the control frames that a scheme sends by the clock leave half of each link for data. Where they took
/// all of it, they would pile up at the adapters without end.
pub(super) fn control_frames(lan: &Lan<'_>, spec: &ScenarioSpec, path: &Path) -> Validity {
    let Some(scheme) = lan.congestion_management else { return Ok(()) };
    let Some(messages) = rates(lan).into_iter().filter_map(|rate| scheme.periodic_messages(rate)).next() else {
        return Ok(());
    };
    let plan = Plan::new(spec, 0);
    let (forwarding, edges) = plan.forwarding();
    let mut frames_on = vec![0_u64; plan.links.len()];
    for &PlannedFlow { source, destination, .. } in &plan.flows {
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
    let at = path.key("congestion_management").key(name).key(field);
    Err(Invalid::new(at, message, "expected an interval of at least twice that")
        .with_help(format!("half of a link must remain for data: set `{field} = \"{}\"` or more", busy * 2)))
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
    /// How long frames of a feeder still arrive, in addition to the propagation.
    reaction: Span,
    /// The link that feeds it.
    cable: &'a Cable<'a>,
}

/// Checks memory against the frames, which are known to be good: that there is room for them, and where PAUSE is on
/// that none of them can be lost.
pub(super) fn memory(lan: &Lan<'_>, spec: &ScenarioSpec, path: &Path) -> Validity {
    let (adapter, at_adapter) = (lan.adapter, path.key("adapter"));
    for switch in &lan.switches {
        switch_memory(switch, lan.cables_of(switch.name).count(), spec, &switch.path(path))?;
        reaction(lan, switch.name, switch.spec.reaction, &switch.path(path))?;
    }
    match adapter.voq_limit {
        Some(QueueSize::Packets(1..)) | None => {}
        Some(limit) => {
            let message = format!("`voq_limit` is {limit}");
            return Err(Invalid::new(at_adapter.key("voq_limit"), message, "expected a number of packets, at least 1"));
        }
    }
    for node in &lan.nodes {
        reaction(lan, node, adapter.reaction, &at_adapter)?;
    }
    // The effect of an order to stop: the reaction of the other end.
    let reaction_of = |name: &str, cable: &Cable<'_>| {
        let reaction = lan.switch(name).map_or(adapter.reaction, |switch| switch.reaction);
        reaction.on(cable.rate)
    };
    for switch in &lan.switches {
        let at = switch.path(path);
        let SharedMemorySwitch { memory, buffer: policy, pause, priority_pause, forwarding_delay, .. } = *switch.spec;
        let limited_outputs = policy.build().is_ok_and(|policy| policy.limits_outputs());
        for cable in lan.cables_of(switch.name) {
            let feeder = cable.ends[usize::from(cable.ends[0] == switch.name)];
            let input = Buffer {
                path: &at,
                key: "memory",
                memory,
                pause,
                priority_pause,
                limited_outputs,
                // Frames on their way to an output's queue when the high watermark is passed arrive as well.
                reaction: reaction_of(feeder, cable) + forwarding_delay,
                cable,
            };
            buffer(&input, spec)?;
        }
    }
    for cable in lan.nodes.iter().flat_map(|node| lan.cables_of(node)) {
        let feeder = cable.ends[usize::from(lan.switch(cable.ends[0]).is_none())];
        let egress = Buffer {
            path: &at_adapter,
            key: "egress_memory",
            memory: adapter.egress_memory,
            pause: adapter.pause,
            priority_pause: adapter.priority_pause,
            limited_outputs: false,
            reaction: reaction_of(feeder, cable),
            cable,
        };
        buffer(&egress, spec)?;
    }
    Ok(())
}

/// Checks how the memory of a switch is divided.
fn switch_memory(
    LanSwitch { spec: switch, .. }: &LanSwitch<'_>,
    ports: usize,
    spec: &ScenarioSpec,
    at: &Path,
) -> Validity {
    check_constant(switch.forwarding_delay, &at.key("forwarding_delay"))?;
    let (policy, at_buffer) = (switch.buffer, at.key("buffer"));
    policy.build().map_err(|error| refused(policy.name(), error, &at_buffer.key(policy.name())))?;
    let config = SharedMemoryConfig { share: switch.memory, policy };
    let mut memory = SharedMemory::new(ports.max(1), config).map_err(|error| refused("switch", error, at))?;
    let largest = spec.largest_packet();
    let admitted = memory.admit(Frame { input: 0, class: 0, output: 0, len_bytes: largest as u32 });
    let small = || format!("an output may never hold a frame of {}", Bytes(largest));
    require(admitted != Err(MemoryFull::Output), || at_buffer.clone(), small, "expected room for at least one frame")
}

/// Checks how long a station takes to obey an order to stop.
fn reaction(lan: &Lan<'_>, station: &str, reaction: Reaction, path: &Path) -> Validity {
    let mut rates = lan.cables_of(station).map(|cable| cable.rate);
    let Some(first) = rates.next() else { return Ok(()) };
    check_constant(reaction.on(first), &path.key("reaction"))?;
    let holds = matches!(reaction, Reaction::Time(_)) || rates.all(|rate| rate == first);
    let message = || format!("`reaction` is {reaction}, and the links of `{station}` differ in rate");
    require(holds, || path.key("reaction"), message, "expected a time: a quantum is 512 bits of one rate")
}

/// The rates of all links, each once.
pub(super) fn rates(lan: &Lan<'_>) -> BTreeSet<Rate> {
    lan.cables.iter().map(|cable| cable.rate).collect()
}

fn buffer(buffer: &Buffer<'_>, spec: &ScenarioSpec) -> Validity {
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
        let message = format!("`{key}` and a `buffer` with a limit for outputs: frames beyond the limit would be lost");
        return Err(Invalid::new(buffer.path.key("buffer"), message, "not lossless")
            .with_help(format!("choose another policy, or accept loss: `allow_loss = true` in `{key}`")));
    }
    let Cable { rate, delay, .. } = *buffer.cable;
    let headroom = headroom(rate, delay, largest, Bytes(CONTROL_FRAME_BYTES.into()), buffer.reaction);
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
