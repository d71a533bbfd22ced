//! Memory of Ethernet switches and adapters, PAUSE, and the headroom that follows from it.

use forebay_document::{Invalid, Path};

use std::collections::BTreeSet;

use forebay_switching::congestion::CONTROL_FRAME_BYTES;
use forebay_switching::{
    Arriving, Frame, MemoryFull, ParameterError, PauseConfig, SharedMemory, SharedMemoryConfig, headroom,
};
use forebay_units::{Bytes, QueueSize, Rate, Span, Time};

use super::check::{DAY, Validity, check_span, require};
use super::headroom::{self, pool};
use crate::plan::outline::Outline;
use crate::plan::{EthernetPlan, PlannedKind, PlannedSwitch};
use crate::schema::{
    LinkSpec, Pause, Reaction, ScenarioSpec, SharedMemorySwitch, SpanDistribution, Transport, Watchdog,
};

/// Priorities of IEEE 802.1Q.
const MOST_CLASSES: u8 = SharedMemory::CLASSES as u8;

pub(super) fn check_constant(span: Span, path: &Path) -> Validity {
    check_span(&SpanDistribution::Constant(span), DAY, path)
}

/// Checks that each group has a priority that frames have.
pub(super) fn classes_of_flows(spec: &ScenarioSpec, path: &Path) -> Validity {
    for (index, group) in spec.flows.iter().enumerate() {
        let class = || format!("`class` is {}", group.class);
        let at = || path.index(index).key("class");
        require(group.class < MOST_CLASSES, at, class, "expected a priority from 0 to 7")?;
        let Transport::Homa(config) = &group.transport else { continue };
        let message =
            || format!("packets of `{}` have {} priorities from {}", group.name, config.priorities, group.class);
        let fits = u16::from(group.class) + u16::from(config.priorities) <= u16::from(MOST_CLASSES);
        require(fits, at, message, "expected priorities from 0 to 7: a smaller `class` or fewer `priorities`")?;
    }
    Ok(())
}

pub(super) fn refused(what: &str, error: ParameterError, path: &Path) -> Invalid {
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
    /// Whether the buffer policy decides when the feeder stops.
    decides_itself: bool,
    /// How long frames of a feeder still arrive, in addition to the propagation.
    reaction: Span,
    /// The link that feeds it.
    link: &'a LinkSpec,
}

/// Checks memory against the frames, which are known to be good: that there is room for them, and where PAUSE is on
/// that none of them can be lost.
pub(super) fn memory(outline: &Outline<'_>, ethernet: &EthernetPlan<'_>) -> Validity {
    let (spec, adapter, at_adapter) = (outline.spec, ethernet.adapter, outline.path.key("adapter"));
    for (node, number) in outline.nodes.iter().zip(0_u32..) {
        if let PlannedKind::EthernetSwitch(switch) = &node.kind {
            let into = outline.ways().filter(|([_, to], _)| *to == number);
            let rates: Vec<Rate> = into.map(|(_, direction)| direction.spec.rate).collect();
            switch_memory(switch, &rates, spec)?;
        }
    }
    match adapter.voq_limit {
        Some(QueueSize::Packets(1..)) | None => {}
        Some(limit) => {
            let message = format!("`voq_limit` is {limit}");
            return Err(Invalid::new(at_adapter.key("voq_limit"), message, "expected a number of packets, at least 1"));
        }
    }
    for ([from, to], direction) in outline.ways() {
        if let Some((reaction, line_rate)) = reaction_of(outline, from) {
            let path = match outline.kind(from) {
                PlannedKind::EthernetSwitch(switch) => &switch.path,
                _ => &at_adapter,
            };
            self::reaction(outline.name(from), reaction, [direction.spec.rate, line_rate], path)?;
        }
        let reaction = effect_of_order(outline, from, direction.spec.rate);
        match outline.kind(to) {
            PlannedKind::EthernetSwitch(switch) => {
                if !outline.kind(from).is_ethernet() {
                    no_pause(switch, [to, from].map(|node| outline.name(node)))?;
                }
                let SharedMemorySwitch { memory, buffer: policy, pause, priority_pause, forwarding_delay, .. } =
                    *switch.spec;
                let input = Buffer {
                    path: &switch.path,
                    key: "memory",
                    memory,
                    pause,
                    priority_pause,
                    limited_outputs: policy.build().is_ok_and(|policy| policy.limits_outputs()),
                    decides_itself: pool(switch.spec).is_some(),
                    // Frames on their way to an output's queue when the high watermark is passed arrive as well.
                    reaction: reaction + forwarding_delay,
                    link: &direction.spec,
                };
                buffer(&input, spec)?;
            }
            PlannedKind::Adapter(_) => {
                let egress = Buffer {
                    path: &at_adapter,
                    key: "egress_memory",
                    memory: adapter.egress_memory,
                    pause: adapter.pause,
                    priority_pause: adapter.priority_pause,
                    limited_outputs: false,
                    decides_itself: false,
                    reaction,
                    link: &direction.spec,
                };
                buffer(&egress, spec)?;
            }
            PlannedKind::Host | PlannedKind::Router | PlannedKind::Crossbar(_) => {}
        }
    }
    headroom::check(outline)
}

/// The reaction of a node that obeys PAUSE, and the rate of its fastest link.
fn reaction_of(outline: &Outline<'_>, node: u32) -> Option<(Reaction, Rate)> {
    match outline.kind(node) {
        PlannedKind::EthernetSwitch(switch) => Some((switch.spec.reaction, switch.line_rate)),
        PlannedKind::Adapter(adapter) => Some((adapter.spec.reaction, adapter.line_rate)),
        _ => None,
    }
}

/// How long `node` begins frames on a link of this rate after an order to stop.
pub(super) fn effect_of_order(outline: &Outline<'_>, node: u32, rate: Rate) -> Span {
    reaction_of(outline, node).map_or(Span::ZERO, |(reaction, _)| reaction.on(rate))
}

/// The bytes that may arrive on a link after the order to stop, which takes effect after `reaction`.
pub(super) fn arriving_after_order(link: &LinkSpec, reaction: Span, spec: &ScenarioSpec) -> Bytes {
    let (largest, control_frame) = (Bytes(spec.largest_packet()), Bytes(CONTROL_FRAME_BYTES.into()));
    headroom(link.rate, link.delay.mean(), largest, control_frame, reaction)
}

/// Checks that a switch does not stop a neighbour that obeys no PAUSE.
fn no_pause(switch: &PlannedSwitch<'_>, [name, neighbour]: [&str; 2]) -> Validity {
    let SharedMemorySwitch { pause, priority_pause, .. } = switch.spec;
    for (key, given) in [("pause", pause), ("priority_pause", priority_pause)] {
        if given.is_some() {
            let message = format!("`{key}` at `{name}`, next to `{neighbour}`, which does not obey it");
            let label = "expected none: PAUSE works between Ethernet switches and adapters only";
            let help = format!("put an Ethernet switch without `{key}` between `{name}` and `{neighbour}`");
            return Err(Invalid::new(switch.path.key(key), message, label).with_help(help));
        }
    }
    Ok(())
}

/// Checks how the memory of a switch, which is fed by links of these rates, is divided.
fn switch_memory(
    PlannedSwitch { spec: switch, path: at, line_rate, .. }: &PlannedSwitch<'_>,
    rates: &[Rate],
    spec: &ScenarioSpec,
) -> Validity {
    check_constant(switch.forwarding_delay, &at.key("forwarding_delay"))?;
    if let Some(watchdog) = &switch.watchdog {
        check_watchdog(watchdog, &at.key("watchdog"))?;
    }
    let (policy, at_buffer) = (switch.buffer, at.key("buffer"));
    policy.build().map_err(|error| refused(policy.name(), error, &at_buffer.key(policy.name())))?;
    let config = SharedMemoryConfig { share: switch.memory, policy };
    let memory = SharedMemory::new(rates.len().max(1), config).map_err(|error| refused("switch", error, at))?;
    if let Some(pool) = pool(switch) {
        headroom::fits(pool, rates, memory.capacity(), at)?;
    }
    let mut memory = if rates.is_empty() { memory } else { memory.fed_by(rates, switch.priority_pause.is_some()) };
    let largest = spec.largest_packet();
    let frame = Frame { input: 0, class: 0, output: 0, len_bytes: largest as u32 };
    let admitted = memory.admit(frame, Arriving { now: Time::ZERO, flow: 0, rate: *line_rate });
    let small = |what: &str| format!("an {what} may never hold a frame of {}", Bytes(largest));
    let what = match admitted {
        Err(MemoryFull::Output) => "output",
        Err(_) if pool(switch).is_some() => "input",
        _ => return Ok(()),
    };
    Err(Invalid::new(at_buffer, small(what), "expected room for at least one frame"))
}

fn check_watchdog(watchdog: &Watchdog, path: &Path) -> Validity {
    let times = [("poll", watchdog.poll()), ("detection", watchdog.detection), ("restoration", watchdog.restoration)];
    for (key, time) in times {
        check_constant(time, &path.key(key))?;
        require(time > Span::ZERO, || path.key(key), || format!("`{key}` is {time}"), "expected more than 0")?;
    }
    Ok(())
}

/// Checks how long a node takes to obey an order to stop. The rates are those of one of its links and of its fastest.
fn reaction(node: &str, reaction: Reaction, [rate, line_rate]: [Rate; 2], path: &Path) -> Validity {
    check_constant(reaction.on(rate), &path.key("reaction"))?;
    let holds = matches!(reaction, Reaction::Time(_)) || rate == line_rate;
    let message = || format!("`reaction` is {reaction}, and the links of `{node}` differ in rate");
    require(holds, || path.key("reaction"), message, "expected a time: a quantum is 512 bits of one rate")
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
    let Some(watermarks) = watermarks(buffer, key, pause)? else { return Ok(()) };
    watermarks.check().map_err(|error| refused(key, error, &at))?;
    let (high, low) = (watermarks.high, watermarks.low);
    let out_of_order = || format!("`high` is {high}, beyond the {} of `{}`", buffer.memory, buffer.key);
    require(high <= buffer.memory, || at.key("high"), out_of_order, "would never stop the sender")?;
    if pause.allow_loss {
        return Ok(());
    }
    if buffer.limited_outputs {
        let message = format!("`{key}` and a `buffer` with a limit for outputs: frames beyond the limit would be lost");
        return Err(Invalid::new(buffer.path.key("buffer"), message, "not lossless")
            .with_help(format!("choose another policy, or accept loss: `allow_loss = true` in `{key}`")));
    }
    let headroom = arriving_after_order(buffer.link, buffer.reaction, spec);
    let needed = Bytes((high.0.saturating_add(headroom.0)).saturating_mul(classes));
    if needed <= buffer.memory {
        return Ok(());
    }
    let of_classes = if classes == 1 { String::new() } else { format!(" for each of {classes} classes") };
    let message = format!(
        "too little memory above `high`: {high} and {headroom} of headroom{of_classes} are more than {}",
        buffer.memory
    );
    let most = (buffer.memory.0 / classes).saturating_sub(headroom.0);
    let label = if most > low.0 {
        format!("expected at most {}, or `{} = \"{needed}\"`", Bytes(most), buffer.key)
    } else {
        format!("expected `{} = \"{needed}\"` or more", buffer.key)
    };
    Err(Invalid::new(at.key("high"), message, label).with_help(format!(
        "headroom holds what arrives before the sender stops; `allow_loss = true` in `{key}` accepts lost frames"
    )))
}

/// The watermarks of a buffer; none where its policy decides.
fn watermarks(buffer: &Buffer<'_>, key: &str, pause: Pause) -> Result<Option<PauseConfig>, Invalid> {
    let levels = [("high", pause.high), ("low", pause.low)];
    let wrong = levels.iter().find(|(_, level)| level.is_some() == buffer.decides_itself);
    let Some((level, _)) = wrong else { return Ok(pause.watermarks()) };
    let at = buffer.path.key(key);
    Err(if buffer.decides_itself {
        let message = format!("`{level}` of `{key}` and the buffer policy `headroom_pool`");
        let label = format!("expected none: the policy decides when to stop the sender; write `{key} = {{}}`");
        Invalid::new(at.key(level), message, label)
    } else {
        let label = format!("expected `{level}`, a number of bytes");
        Invalid::new(at, format!("`{key}` without `{level}`"), label)
            .with_help("only at a switch with `buffer = \"headroom_pool\"` PAUSE has no watermarks".to_owned())
    })
}

/// How many classes the frames have.
pub(super) fn classes(spec: &ScenarioSpec) -> u64 {
    spec.flows.iter().map(|group| group.class).collect::<BTreeSet<u8>>().len() as u64
}
