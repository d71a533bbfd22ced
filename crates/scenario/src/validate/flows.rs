//! Groups of flows.

use forebay_document::{Invalid, Path, did_you_mean};

use std::collections::BTreeMap;

use forebay_rdma::HomaConfig;
use forebay_tcp::TcpConfig;
use forebay_units::{Bytes, ParameterError, Span};

use super::check::{DAY, LONGEST_RUN, Validity, check_fraction, check_name, check_rate, check_span, require};
use super::reach::Reach;
use super::{frames, patterns, switch};
use crate::applications::Application;
use crate::plan::outline::Outline;
use crate::schema::{
    Enters, FlowGroup, HostJitter, OTHERS, Ping, PingInterval, RateStep, ScenarioSpec, SizeDistribution,
    SpanDistribution, Transport, Udp, UdpPattern, Voice,
};

const MOST_FLOWS: u64 = 1 << 24;
/// Far more than any host takes for a packet.
const LONGEST_PROCESSING: Span = Span::from_seconds(1);
/// The largest packet of IPv4.
const LARGEST_PACKET: u64 = 65_535;
/// Bounds of a ping: a lost packet is remembered until its timeout.
const SHORTEST_INTERVAL: Span = Span::from_microseconds(1);
const LONGEST_TIMEOUT: Span = Span::from_seconds(60);
const LONGEST_BUFFER: Span = Span::from_seconds(10);
const MOST_WAITING: u64 = 1_000_000;
/// On periods that a packet may take on average: each costs time.
const MOST_PERIODS: u64 = 1000;

pub(super) fn validate(outline: &Outline<'_>, path: &Path) -> Validity {
    let spec = outline.spec;
    require(
        !spec.flows.is_empty(),
        || path.clone(),
        || "a scenario without flows".into(),
        "expected at least one group",
    )?;
    let reach = Reach::new(outline);
    let mut total = 0_u64;
    for (index, group) in spec.flows.iter().enumerate() {
        let at = path.index(index);
        patterns::validate(group, outline, reach.as_ref(), &at)?;
        require(group.flows() > 0, || at.key("count"), || "a group without flows".into(), "expected at least 1")?;
        total = total.saturating_add(outline.count_of(group).saturating_mul(u64::from(group.flows_each())));
        require(
            total <= MOST_FLOWS,
            || at.key(if group.pattern.is_some() { "pattern" } else { "count" }),
            || format!("{total} flows are too many"),
            "expected at most 16777216 in all",
        )?;
        check_name(&group.name, &at.key("name"))?;
        crosses(group, outline, &at)?;
        times(group, spec.duration, &at)?;
        match &group.transport {
            Transport::Tcp(config) => tcp(group, config, &at)?,
            Transport::Uec(config) => rdma(group, config.validate(), &at)?,
            Transport::Ndp(config) => rdma(group, config.validate(), &at)?,
            Transport::Homa(config) => homa(group, config, outline, &at)?,
            Transport::Pfabric(config) => rdma(group, config.validate(), &at)?,
            Transport::Roce(config) => rdma(group, config.validate(), &at)?,
            Transport::Udp(udp) => self::udp(group, udp, &at)?,
            Transport::Cells(cells) => switch::cells(group, cells, outline, &at)?,
            Transport::Frames(frames) => frames::frames(group, frames, outline, &at)?,
        }
        if group.pattern.is_none() {
            place(group, outline, reach.as_ref(), &at)?;
            hosts_of(group, outline, index, &at)?;
        }
        host_jitter(group, &at)?;
    }
    unique_names(spec, path)?;
    if outline.ethernet.is_none() {
        return Ok(());
    }
    frames::unique_names(outline, path)?;
    frames::load(outline, path)
}

/// Cells and frames have no hosts that process them.
fn host_jitter(group: &FlowGroup, at: &Path) -> Validity {
    let Some(jitter) = group.host_jitter else { return Ok(()) };
    let at = || at.key("host_jitter");
    let has_hosts = matches!(group.transport, Transport::Tcp(_) | Transport::Udp(_));
    let message = || format!("`{}` has no hosts with a processing time", group.name);
    require(has_hosts, at, message, "expected it with `transport.tcp` or `transport.udp` only")?;
    processing_time(&jitter, &at())
}

/// Checks a processing time of hosts.
pub(super) fn processing_time(jitter: &HostJitter, at: &Path) -> Validity {
    let (SpanDistribution::Constant(longest)
    | SpanDistribution::Uniform(_, longest)
    | SpanDistribution::Exponential(longest)
    | SpanDistribution::Normal { mean: longest, .. }) = jitter.0;
    let message = || format!("a processing time of {longest} is too long");
    require(longest <= LONGEST_PROCESSING, || at.clone(), message, "expected at most 1 s")
}

/// Cells are of a switch, and cross no Ethernet.
fn crosses(group: &FlowGroup, outline: &Outline<'_>, at: &Path) -> Validity {
    let is_cells = matches!(group.transport, Transport::Cells(_));
    let message = || "`cells` do not go over an Ethernet".to_owned();
    let holds = !is_cells || outline.ethernet.is_none();
    require(holds, || at.key("transport"), message, "expected `transport.frames`, `tcp` or `udp`")
}

/// No flow may have the name of another, nor a group that of another's flow.
fn unique_names(spec: &ScenarioSpec, path: &Path) -> Validity {
    let mut groups: BTreeMap<&str, &FlowGroup> = BTreeMap::new();
    for (index, group) in spec.flows.iter().enumerate() {
        let at = || path.index(index).key("name");
        let second = groups.insert(&group.name, group).is_some();
        require(!second, at, || format!("two groups are named `{}`", group.name), "the second one")?;
    }
    for (index, group) in spec.flows.iter().enumerate() {
        let Some((stem, number)) = group.name.rsplit_once('-') else { continue };
        let flow_of = |other: &FlowGroup| {
            number.parse::<u32>().is_ok_and(|number| {
                // The number of flows of a pattern may depend on the seed.
                let is_flow = other.pattern.is_some() || other.count.is_some_and(|count| number < count);
                is_flow && other.flow_name(number) == group.name
            })
        };
        let taken = groups.get(stem).is_some_and(|other| flow_of(other));
        let message = || format!("`{}` is also the name of a flow of group `{stem}`", group.name);
        require(!taken, || path.index(index).key("name"), message, "expected another name")?;
    }
    Ok(())
}

fn times(group: &FlowGroup, duration: Span, at: &Path) -> Validity {
    check_span(&group.start, LONGEST_RUN, &at.key("start"))?;
    let first = group.start.minimum();
    let late = || format!("`{}` starts at {first}, after the end of the run", group.name);
    require(first < duration, || at.key("start"), late, "expected less than `duration`")?;
    let starts = match group.transport {
        Transport::Frames(_) => group.generators() as u64,
        _ => u64::from(group.flows()),
    };
    let last = group.stagger.picoseconds().checked_mul(starts.saturating_sub(1));
    require(
        last.is_some_and(|last| last < duration.picoseconds()),
        || at.key("stagger"),
        || format!("the last of the {starts} flows would start after the end of the run"),
        "expected less than `duration` / (`count` - 1)",
    )?;
    if let Some(stop) = group.stop {
        let message = || format!("`{}` stops at {stop}, before it starts", group.name);
        require(stop > first, || at.key("stop"), message, "expected more than `start`")?;
    }
    Ok(())
}

fn tcp(group: &FlowGroup, config: &TcpConfig, at: &Path) -> Validity {
    let path = at.key("transport.tcp");
    config.validate().map_err(|error| {
        let message = format!("tcp: `{}` must {}", error.field, error.bound);
        Invalid::new(path.key(error.field), message, format!("must {}", error.bound))
    })?;
    check_packet(config.segment, &path.key("segment"))?;
    check_packet(config.ack_size, &path.key("ack_size"))?;
    require(
        !group.ecn.is_capable(),
        || at.key("ecn"),
        || "`ecn` of a group is for UDP".into(),
        "for TCP write `transport.tcp.ecn`",
    )?;
    let least = group.app.both_ways().map_or(0, |app| app.least_segment());
    require(
        u64::from(config.payload_bytes()) >= least,
        || path.key("segment"),
        || format!("a segment has room for {} B of a request", config.payload_bytes()),
        &format!("expected segments with {least} B of payload, since requests of `app` must not be cut"),
    )?;
    group.app.check(&at.key("app"))
}

/// Checks a group of an RDMA transport, whose parameters are `checked`.
fn rdma(group: &FlowGroup, checked: Result<(), ParameterError>, at: &Path) -> Validity {
    let name = group.transport.name();
    checked.map_err(|error| {
        let message = format!("{name}: `{}` must {}", error.field, error.bound);
        Invalid::new(at.key("transport").key(name).key(error.field), message, format!("must {}", error.bound))
    })?;
    let sends = matches!(group.app, Application::Unlimited | Application::Fixed(_));
    let message = || format!("`{name}` has no such application");
    require(sends, || at.key("app"), message, "expected `unlimited` or `fixed`")?;
    let message = || format!("`{name}` sends its message as a whole");
    let is_message = group.stop.is_none() || group.pattern.is_some();
    require(is_message, || at.key("stop"), message, "expected `app.fixed` instead")?;
    let message = || format!("packets of `{name}` are ECN-capable");
    require(!group.ecn.is_capable(), || at.key("ecn"), message, "expected none")?;
    group.app.check(&at.key("app"))
}

/// Checks a group of Homa, whose packets have several classes.
fn homa(group: &FlowGroup, config: &HomaConfig, outline: &Outline<'_>, at: &Path) -> Validity {
    rdma(group, config.validate(), at)?;
    let stops_classes = outline.ethernet.as_ref().is_some_and(|ethernet| ethernet.stops_classes);
    let message = || "a message of `homa` has several classes, and `priority_pause` stops one".to_owned();
    let label = "expected `pause` in place of `priority_pause`: an adapter has one queue for a message";
    require(!stops_classes || config.priorities == 1, || at.key("transport.homa"), message, label)?;
    let highest = u8::MAX - (config.priorities - 1);
    let message = || format!("class {} and {} priorities exceed class 255", group.class, config.priorities);
    require(group.class <= highest, || at.key("class"), message, &format!("expected at most {highest}"))
}

fn udp(group: &FlowGroup, udp: &Udp, at: &Path) -> Validity {
    let unlimited = matches!(group.app, Application::Unlimited);
    require(unlimited, || at.key("app"), || "`app` is for TCP".into(), "a UDP flow sends according to its pattern")?;
    let path = at.key("transport.udp");
    let packet = path.key("packet");
    match udp.packet {
        SizeDistribution::Cdf(ref sizes) => check_packet(Bytes(sizes.bounds()[1] as u64), &packet)?,
        SizeDistribution::Constant(size) | SizeDistribution::Exponential(size) => check_packet(size, &packet)?,
        SizeDistribution::Uniform(low, high) => {
            check_packet(low, &packet)?;
            check_packet(high, &packet)?;
        }
        SizeDistribution::Normal { mean, .. } | SizeDistribution::Pareto { mean, .. } => check_packet(mean, &packet)?,
    }
    match &udp.pattern {
        UdpPattern::Constant(constant) => {
            let path = path.key("constant");
            check_rate(constant.rate, &path.key("rate"))?;
            check_fraction(constant.jitter, false, &path.key("jitter"))
        }
        UdpPattern::OnOff(on_off) => {
            let path = path.key("on_off");
            check_rate(on_off.rate, &path.key("rate"))?;
            check_span(&on_off.on, DAY, &path.key("on"))?;
            check_span(&on_off.off, DAY, &path.key("off"))?;
            let on = on_off.on.mean() >= Span::from_nanoseconds(1);
            require(
                on,
                || path.key("on"),
                || "`on` is zero: the flow would never send".into(),
                "expected at least 1 ns",
            )?;
            let (mean, size) = (on_off.on.mean(), udp.packet.mean());
            let packet = on_off.rate.transmission_time(size.0);
            let least = Span::from_picoseconds(packet.picoseconds().div_ceil(MOST_PERIODS));
            let message = || format!("a packet of {size} takes {packet} of on periods of {mean}");
            let label = format!("expected at least {least}");
            require(mean >= least, || path.key("on"), message, &label)
        }
        UdpPattern::Voice(voice) => call(*voice, &path.key("voice")),
        UdpPattern::Game(_) => Ok(()),
        UdpPattern::Ping(ping) => self::ping(ping, &path.key("ping")),
        UdpPattern::Poisson(poisson) => check_rate(poisson.rate, &path.key("poisson.rate")),
        UdpPattern::Steps(rates) => steps(rates, &path.key("steps")),
    }
}

fn call(voice: Voice, path: &Path) -> Validity {
    let Some(buffer) = voice.jitter_buffer else { return Ok(()) };
    let message = || format!("a jitter buffer of {buffer} is out of bounds");
    let holds = (SHORTEST_INTERVAL..=LONGEST_BUFFER).contains(&buffer);
    require(holds, || path.key("jitter_buffer"), message, "expected 1 us to 10 s, such as \"60 ms\"")
}

fn ping(ping: &Ping, path: &Path) -> Validity {
    if let PingInterval::Every(interval) = ping.interval {
        let message = || format!("an interval of {interval} is out of bounds");
        let holds = (SHORTEST_INTERVAL..=DAY).contains(&interval);
        require(holds, || path.key("interval"), message, "expected 1 us to 24 h")?;
    }
    let message = || format!("a timeout of {} is out of bounds", ping.timeout);
    let holds = (SHORTEST_INTERVAL..=LONGEST_TIMEOUT).contains(&ping.timeout);
    require(holds, || path.key("timeout"), message, "expected 1 us to 60 s")?;
    let PingInterval::Every(interval) = ping.interval else { return Ok(()) };
    let waiting = ping.timeout.picoseconds() / interval.picoseconds().max(1);
    let message = || format!("{waiting} packets are sent within the timeout of {}", ping.timeout);
    require(waiting <= MOST_WAITING, || path.key("timeout"), message, "expected at most 1000000 packets within it")
}

fn steps(steps: &[RateStep], path: &Path) -> Validity {
    let none = || "no steps: the flow would never send".to_owned();
    require(!steps.is_empty(), || path.clone(), none, "expected at least one")?;
    for (index, step) in steps.iter().enumerate() {
        let at = path.index(index);
        check_rate(step.rate, &at.key("rate"))?;
        check_span(&SpanDistribution::Constant(step.from), LONGEST_RUN, &at.key("from"))?;
        let ascends = index == 0 || steps[index - 1].from < step.from;
        let message = || format!("a step at {} does not come after the one before it", step.from);
        require(ascends, || at.key("from"), message, "expected steps in ascending order of time")?;
    }
    Ok(())
}

pub(super) fn check_packet(size: Bytes, path: &Path) -> Validity {
    let holds = (1..=LARGEST_PACKET).contains(&size.0);
    require(holds, || path.clone(), || format!("no packet has {} B", size.0), "expected 1 B to 65535 B")
}

/// Checks the keys that say where the group's flows begin and end.
fn place(group: &FlowGroup, outline: &Outline<'_>, reach: Option<&Reach<'_>>, at: &Path) -> Validity {
    let key = || at.key("enters");
    if let Some(hops) = outline.entries {
        let (last, message) = match group.enters.unwrap_or_default() {
            Enters::At(router) => (router, format!("there is no router {router}: the chain has {hops}")),
            Enters::Each => {
                let flows = group.flows();
                (flows, format!("{flows} flows enter at routers of their own: the chain has {hops}"))
            }
        };
        require(last <= hops, key, || message, "expected at most `hops`")?;
    } else {
        let elsewhere = || "`enters` is for a chain".to_owned();
        require(group.enters.is_none(), key, elsewhere, "this topology is not a chain")?;
    }
    match reach {
        Some(reach) => ends(group, outline, reach, at),
        None => no_ends(group, at),
    }
}

/// Checks a group whose flows have the hosts of an earlier group.
fn hosts_of(group: &FlowGroup, outline: &Outline<'_>, index: usize, at: &Path) -> Validity {
    let Some(name) = &group.hosts_of else { return Ok(()) };
    let at_key = || at.key("hosts_of");
    let elsewhere = || "`hosts_of` is for a star, a dumbbell or a chain".to_owned();
    require(outline.shares_hosts, at_key, elsewhere, "this topology is none of them")?;
    let before = || outline.spec.flows[..index].iter().filter(|it| it.hosts_of.is_none());
    let Some(owner) = before().find(|it| it.name == *name) else {
        let message = format!("no group `{name}` with hosts of its own comes before `{}`", group.name);
        let help = did_you_mean(name, before().map(|it| it.name.as_str()));
        return Err(Invalid::new(at_key(), message, "expected the name of such a group").with_help(help));
    };
    let fewer = || format!("`{name}` has {} flows, fewer than `{}`", owner.flows(), group.name);
    require(group.flows() <= owner.flows(), at_key, fewer, "expected a group with at least as many flows")?;
    let access = || format!("the hosts of `{name}` have their access links");
    require(group.access.is_none(), || at.key("access"), access, "expected none with `hosts_of`")?;
    let elsewhere = || format!("`{name}` enters elsewhere");
    require(group.enters == owner.enters, || at.key("enters"), elsewhere, "expected the same with `hosts_of`")
}

/// Checks that the group does not say where its flows begin and end.
fn no_ends(group: &FlowGroup, at: &Path) -> Validity {
    for (key, given) in [("from", &group.from), ("to", &group.to)] {
        let message = || format!("`{key}` is for a free graph or an Ethernet");
        require(given.is_none(), || at.key(key), message, "this topology has its own sources and sinks")?;
    }
    Ok(())
}

/// Checks where the flows of a group begin and end.
fn ends(group: &FlowGroup, outline: &Outline<'_>, reach: &Reach<'_>, at: &Path) -> Validity {
    let none = || "this topology has no access links".to_owned();
    let label = "expected none: hosts have the links that `topology` describes";
    require(group.access.is_none(), || at.key("access"), none, label)?;
    let missing = |key: &str| {
        Invalid::new(at.clone(), format!("missing key `{key}`"), format!("a flow of this topology needs `{key}`"))
    };
    let from = group.from.as_ref().ok_or_else(|| missing("from"))?;
    let to = group.to.as_ref().ok_or_else(|| missing("to"))?;
    let are_frames = matches!(group.transport, Transport::Frames(_));
    if !are_frames && to.is_others() {
        let message = format!("`to = \"{OTHERS}\"` is for frames");
        return Err(Invalid::new(at.key("to"), message, "expected the name of a host, or a list of hosts"));
    }
    for (key, list) in [("from", from), ("to", to)] {
        for (index, name) in list.0.iter().enumerate().filter(|_| key == "from" || !list.is_others()) {
            reach.check_host(name, &at.key(key).index(index)).map_err(|invalid| {
                let help = || "alone, `to = \"others\"` means every other host".to_owned();
                if name == OTHERS && key == "to" { invalid.with_help(help()) } else { invalid }
            })?;
        }
    }
    if are_frames {
        return frames::ends(group, outline, reach, at);
    }
    // After the product of the two lengths the pairs repeat.
    for index in 0..(from.0.len() * to.0.len()).min(group.flows() as usize) {
        let (source, sink) = (&from.0[index % from.0.len()], &to.0[index % to.0.len()]);
        let there = || at.key("to").index(index % to.0.len());
        let message = || format!("`{}` would go from `{source}` to itself", group.flow_name(index as u32));
        require(source != sink, there, message, "expected another host")?;
        reachable(reach, source, sink, there)?;
    }
    Ok(())
}

/// Checks that there is a way between two hosts.
pub(super) fn reachable(reach: &Reach<'_>, source: &str, sink: &str, at: impl Fn() -> Path) -> Validity {
    if reach.reaches(source, sink) {
        return Ok(());
    }
    let message = format!("`{sink}` cannot be reached from `{source}`");
    let help = "hosts do not forward packets: the path must lead through routers or switches";
    Err(Invalid::new(at(), message, "no path of links and routers leads here").with_help(help.to_owned()))
}
