//! How many packets may be on their way or wait in buffers at once.

use std::borrow::Cow;

use forebay_engine::GENERATED_IN_ROUND;
use forebay_rdma::{HomaConfig, NdpConfig, PfabricConfig, RoceWindow, UecConfig};
use forebay_units::{Bytes, QueueSize, Rate};

use crate::applications::Application;
use crate::plan::outline::{Links, Outline, Role};
use crate::schema::{
    Adapter, Direction, FlowGroup, HostQueue, LinkSpec, OneOrMany, PingInterval, ScenarioSpec, Transport, Udp,
    UdpPattern, VOICE_BPS,
};

/// Of the packets on their way the buffers of access links and others hold some, too.
const BESIDE_THE_BOTTLENECK: f64 = 1.5;

/// The first window of NDP, and a few packets more for what waits in queues.
const RDMA_WINDOW_PACKETS: f64 = 64.0;

/// Links that flows share, and what is known of them together.
struct Shared<'a> {
    links: f64,
    narrowest: &'a LinkSpec,
}

/// An estimate of the most packets that exist at once: those of windows, or frames of an Ethernet; and those of other
/// sources that do not wait for answers.
pub(super) fn packets(outline: &Outline<'_>) -> (f64, f64) {
    let propagating = propagating(outline);
    if let Some(ethernet) = &outline.ethernet {
        return of_ethernet(outline, ethernet.adapter, propagating);
    }
    let (windows, excess) = waiting(outline);
    (windows, excess + propagating + generated(outline))
}

/// The packets that sources faster than their links generate in a round of the driver, before a queue drops them. A
/// host that receives, too, is ahead of the round by the propagation of the link that leads to it.
fn generated(outline: &Outline<'_>) -> f64 {
    let spec = outline.spec;
    let (mut packets, mut ahead) = (0.0, 0.0);
    for (number, group) in spec.flows.iter().enumerate() {
        let Transport::Udp(udp) = &group.transport else { continue };
        let sent_bps = f64::from(group.flows()) * peak_bps(udp);
        let excess_per_s = (sent_bps - uplinks_bps(outline, number)).max(0.0) / packet_bits(group);
        packets += excess_per_s * spec.duration.seconds();
        if group.from.iter().flat_map(|from| &from.0).any(|host| receives(spec, host)) {
            let delays = outline.links.iter().map(|links| links.there.spec.longest_delay().seconds());
            ahead += excess_per_s * delays.fold(0.0, f64::max).min(spec.duration.seconds());
        }
    }
    packets.min(GENERATED_IN_ROUND as f64) + ahead
}

/// Windows wait in their adapters, and so does what UDP sends beyond the rate of its node's link. Generated frames that
/// wait are numbers.
fn of_ethernet(outline: &Outline<'_>, adapter: &Adapter, propagating: f64) -> (f64, f64) {
    let spec = outline.spec;
    let limit = adapter.voq_limit.map_or(f64::INFINITY, |limit| match limit {
        QueueSize::Packets(packets) | QueueSize::Bytes(packets) => packets as f64,
    });
    let (mut windows, mut excess) = (0.0, 0.0);
    for (number, group) in spec.flows.iter().enumerate() {
        let count = outline.flows_at_once(group);
        match &group.transport {
            Transport::Udp(udp) => {
                let excess_bps = (count * udp_bps(udp) - uplinks_bps(outline, number)).max(0.0);
                let packets = excess_bps * spec.duration.seconds() / packet_bits(group);
                excess += packets.min(count * limit);
            }
            Transport::Cells(_) | Transport::Frames(_) => {}
            _ => windows += count * window(outline, group).min(limit),
        }
    }
    (windows, excess + propagating)
}

/// The delay of the way of a packet, as an estimate.
fn way_s(outline: &Outline<'_>) -> f64 {
    let delay_s = |links: &Links<'_>| links.crossings * links.there.spec.longest_delay().seconds();
    outline.links.iter().map(delay_s).sum()
}

/// An estimate of the packets that propagate at once of sources that do not wait for answers. A source's own link keeps
/// few of them: 0.8 s of it took a quarter of the memory of 0.8 s of shared links.
fn propagating(outline: &Outline<'_>) -> f64 {
    let spec = outline.spec;
    let way_s = way_s(outline).min(spec.duration.seconds());
    let of_group = |(number, group): (usize, &FlowGroup)| {
        let count = f64::from(group.flows());
        let rate_bps = match &group.transport {
            Transport::Udp(udp) => (count * udp_bps(udp)).min(uplinks_bps(outline, number)),
            Transport::Frames(frames) => {
                let duty = frames.on_off.as_ref().map_or(1.0, |on_off| on_off.duty);
                let rates = outline.adapters().map(|(_, adapter)| bps(adapter.line_rate));
                (count * bps(frames.rate) * duty).min(rates.sum())
            }
            Transport::Cells(cells) => {
                outline.cells.as_ref().map_or(0.0, |it| f64::from(it.lines) * bps(it.rate) * cells.load)
            }
            _ => 0.0,
        };
        rate_bps * way_s / packet_bits(group)
    };
    spec.flows.iter().enumerate().map(of_group).sum()
}

/// Whether a host with a name receives anything, if only ACKs.
fn receives(spec: &ScenarioSpec, host: &str) -> bool {
    spec.flows.iter().any(|group| {
        let is_among = |hosts: &Option<OneOrMany>| hosts.iter().flat_map(|hosts| &hosts.0).any(|name| name == host);
        let is_ping = matches!(&group.transport, Transport::Udp(udp) if udp.is_ping());
        let is_answered = group.transport.is_reliable() || is_ping;
        is_among(&group.to) || (is_answered && is_among(&group.from))
    })
}

/// The rate at which the sources of a group can send: that of their links together.
fn uplinks_bps(outline: &Outline<'_>, group: usize) -> f64 {
    let flows = &outline.spec.flows[group];
    if outline.nodes.is_empty() {
        return uplink(outline, group).map_or(f64::INFINITY, |link| f64::from(flows.flows()) * bps(link.rate));
    }
    let is_source = |node: &str| flows.from.as_ref().is_none_or(|from| from.0.iter().any(|name| name == node));
    let own = outline.ways().filter(|([from, _], _)| is_source(outline.name(*from)));
    own.map(|(_, direction)| bps(direction.spec.rate)).sum()
}

/// The link in front of the sources of a group, with the part of its rate that each flow has.
fn uplink<'a>(outline: &'a Outline<'_>, group: usize) -> Option<Cow<'a, LinkSpec>> {
    let groups = &outline.spec.flows;
    if groups[group].direction != Direction::Backward {
        return outline.uplink(group).map(|links| Cow::Borrowed(&*outline.links[links].there.spec));
    }
    let back = |role| outline.of_role(role).find_map(|links| links.back.as_ref());
    if let Some(own) = back(Role::Downlink) {
        return Some(Cow::Borrowed(&own.spec));
    }
    let backward = groups.iter().filter(|group| group.direction == Direction::Backward);
    let of_each = 1.0 / backward.map(|group| f64::from(group.flows())).sum::<f64>();
    let shared: &LinkSpec = &back(Role::Bottleneck)?.spec;
    Some(Cow::Owned(LinkSpec { rate: shared.rate.scaled(of_each), ..shared.clone() }))
}

/// The data in buffers, and the windows in flight, which may wait in them.
fn waiting(outline: &Outline<'_>) -> (f64, f64) {
    let spec = outline.spec;
    let Some(shared) = shared(outline) else { return (0.0, 0.0) };
    let flows: f64 = spec.flows.iter().map(|group| outline.flows_at_once(group)).sum();
    let rate = bps(shared.narrowest.rate) * shared.links;
    let access = outline.of_role(Role::Uplink).next();
    let on_the_way = access.map_or(0.0, |access| 2.0 * in_flight(shared.narrowest.rate, &access.there.spec));
    let seconds = spec.duration.seconds();
    let smallest = spec.flows.iter().map(packet_bits).fold(f64::INFINITY, f64::min);
    let room = shared.links * (self::room(shared.narrowest) + on_the_way);
    // Packets that a queue without description would send only after the end of the run are not kept.
    let room = if room.is_finite() { room * BESIDE_THE_BOTTLENECK } else { rate * seconds / smallest };
    let (mut windows, mut excess_bits) = (0.0, -rate * seconds);
    let (mut windows_apart, mut excess_apart) = (0.0, 0.0);
    for (number, group) in spec.flows.iter().enumerate() {
        let count = outline.flows_at_once(group);
        let access = uplink(outline, number);
        let access_bps = access.as_ref().map_or(f64::INFINITY, |link| bps(link.rate));
        let size = packet_bits(group);
        let before_access = access.as_deref().map(self::room).filter(|room| room.is_finite());
        let before_access = before_access.unwrap_or(access_bps * seconds / size);
        match &group.transport {
            Transport::Udp(udp) => {
                let sent_bps = udp_bps(udp);
                let waiting = match spec.host_queue {
                    HostQueue::Packets(packets) if access.as_ref().is_some_and(|access| access.queue.is_none()) => {
                        before_access.min(packets.into())
                    }
                    _ => before_access,
                };
                excess_apart += count * ((sent_bps - access_bps).max(0.0) * seconds / size).min(waiting);
                excess_bits += count * sent_bps.min(access_bps) * seconds;
            }
            Transport::Cells(_) | Transport::Frames(_) => {}
            _ => {
                let window = window(outline, group);
                // Where the access link is the narrowest, the window waits before it. A backward one waits apart.
                if access_bps < rate / flows || group.direction == Direction::Backward {
                    windows_apart += count * window.min(before_access);
                } else {
                    windows += count * window;
                }
            }
        }
    }
    // Packets beyond the narrowest link's room are dropped.
    let windows = windows.min(room);
    let excess = (excess_bits.max(0.0) / smallest).min(room - windows);
    (windows + windows_apart, excess + excess_apart)
}

fn shared<'a>(outline: &'a Outline<'_>) -> Option<Shared<'a>> {
    let all = || outline.of_role(Role::Bottleneck);
    let narrowest = all().map(|links| &*links.there.spec).min_by_key(|link| link.rate)?;
    Some(Shared { links: all().map(|links| outline.count(links) as f64).sum(), narrowest })
}

/// The mean length of a group's packets.
fn packet_bits(group: &FlowGroup) -> f64 {
    let bytes = match &group.transport {
        Transport::Tcp(config) => config.segment,
        Transport::Uec(UecConfig { packet, .. }) | Transport::Ndp(NdpConfig { packet, .. }) => *packet,
        Transport::Homa(HomaConfig { packet, .. }) | Transport::Pfabric(PfabricConfig { packet, .. }) => *packet,
        Transport::Roce(config) => Bytes(config.packet_bytes()),
        Transport::Udp(udp) => udp.packet.mean(),
        Transport::Cells(cells) => cells.size,
        Transport::Frames(frames) => frames.size,
    };
    bits(bytes.0.max(1) as f64)
}

/// How many packets a link and its queue hold; infinite without a limit.
fn room(link: &LinkSpec) -> f64 {
    let packets = |limit: &QueueSize| match *limit {
        QueueSize::Packets(packets) => packets as f64,
        QueueSize::Bytes(bytes) => bytes as f64 / 500.0,
    };
    let queued = match link.queue.as_ref().map(|queue| queue.limits()) {
        Some(Some(limits)) => limits.iter().map(packets).sum(),
        // A custom discipline has an unknown limit.
        Some(None) => 10_000.0,
        None => f64::INFINITY,
    };
    queued + 2.0 * in_flight(link.rate, link)
}

/// How many packets are in flight, there and back, at a rate over the length of a link.
fn in_flight(rate: Rate, link: &LinkSpec) -> f64 {
    2.0 * bps(rate) * link.longest_delay().seconds() / bits(1500.0)
}

/// The packets of 1.5 bandwidth-delay products of the fastest link and the longest path; without a window, of the whole
/// run.
fn rdma_window(outline: &Outline<'_>, group: &FlowGroup) -> f64 {
    let rate_bps = outline.links.iter().map(|links| bps(links.there.spec.rate)).fold(0.0, f64::max);
    let seconds = outline.spec.duration.seconds();
    let in_flight_s = match &group.transport {
        Transport::Roce(config) if config.window == RoceWindow::None => seconds,
        // All bytes that a receiver may expect, for one message, and the unscheduled ones.
        Transport::Homa(config) => ((f64::from(config.max_overcommit) / 2.0 + 1.0) * 2.0 * way_s(outline)).min(seconds),
        _ => (1.5 * 2.0 * way_s(outline)).min(seconds),
    };
    RDMA_WINDOW_PACKETS + rate_bps * in_flight_s / packet_bits(group)
}

/// The most packets of a flow that are in flight: of TCP as it is set, of RDMA transports by rate and delay.
fn window(outline: &Outline<'_>, group: &FlowGroup) -> f64 {
    let (window, payload_bytes) = match &group.transport {
        Transport::Tcp(config) => {
            let segments = config.max_window_segments.min(config.max_congestion_window_segments.unwrap_or(u32::MAX));
            (f64::from(segments), f64::from(config.payload_bytes().max(1)))
        }
        // Headers are a small part of such packets.
        _ => (rdma_window(outline, group), packet_bits(group) / 8.0),
    };
    let segments = |bytes: u64| bytes as f64 / payload_bytes + 1.0;
    let (asked, connections) = match (&group.app, group.app.both_ways()) {
        // A flow under way is a large one, rather than a mean one.
        _ if group.pattern.is_some() => {
            let sizes = group.pattern.as_ref().and_then(|pattern| pattern.traffic().size());
            let largest = sizes.and_then(|sizes| sizes.largest());
            (largest.map_or(f64::INFINITY, |largest| segments(largest.0)), 1)
        }
        (_, Some(app)) => (segments(app.message_bytes()), app.connections()),
        (Application::Transfers(transfers), None) => (segments(transfers.size.mean().0), transfers.connections),
        (Application::Fixed(fixed), None) => (segments(fixed.size.mean().0), 1),
        (_, None) => (f64::INFINITY, 1),
    };
    window.min(asked) * f64::from(connections)
}

/// The rate of a source in the long run, or the greatest that it has.
fn udp_bps(udp: &Udp) -> f64 {
    match &udp.pattern {
        UdpPattern::Constant(constant) => bps(constant.rate),
        UdpPattern::Voice(_) => VOICE_BPS,
        UdpPattern::Game(game) => game.bps(),
        UdpPattern::Ping(ping) => match ping.interval {
            PingInterval::Every(interval) => bits(udp.packet.mean().0 as f64) / interval.seconds(),
            // One packet at a time.
            PingInterval::OnAnswer => 0.0,
        },
        UdpPattern::Poisson(poisson) => bps(poisson.rate),
        UdpPattern::OnOff(on_off) => {
            let (on, off) = (on_off.on.mean().seconds(), on_off.off.mean().seconds());
            bps(on_off.rate) * if on + off > 0.0 { on / (on + off) } else { 1.0 }
        }
        UdpPattern::Steps(steps) => steps.iter().map(|step| bps(step.rate)).fold(0.0, f64::max),
    }
}

/// The greatest rate of a source.
fn peak_bps(udp: &Udp) -> f64 {
    if let UdpPattern::OnOff(on_off) = &udp.pattern { bps(on_off.rate) } else { udp_bps(udp) }
}

fn bps(rate: Rate) -> f64 {
    rate.bits_per_second() as f64
}

fn bits(bytes: f64) -> f64 {
    bytes * 8.0
}
