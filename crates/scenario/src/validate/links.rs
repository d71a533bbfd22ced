//! Links and their queues.

use forebay_document::{Invalid, Path};
use forebay_units::QueueSize;

use super::check::{DAY, LONGEST_RUN, Validity, check_fraction, check_rate, check_span, out_of_bounds, require};
use crate::schema::{
    HostCount, Impairments, LinkSpec, QueueSpec, ScenarioSpec, ServicePeriod, SizeDistribution, SpanDistribution,
    Switch, Topology, Transport,
};

const MOST_HOSTS: u32 = 1 << 20;
/// A packet counts the links that it has passed in a byte; two of them lead to a chain and from it.
const MOST_HOPS: u32 = 250;

/// The largest packet that is known to cross a link in each direction.
#[derive(Clone, Copy)]
struct Largest {
    data: u64,
    acks: u64,
}

pub(super) fn validate(spec: &ScenarioSpec, path: &Path) -> Validity {
    let largest = largest(spec);
    for (index, group) in spec.flows.iter().enumerate() {
        if let Some(access) = &group.access {
            link(access, data_packet(&group.transport), &Path::default().key("flows").index(index).key("access"))?;
        }
    }
    match &spec.topology {
        Topology::Star(star) => {
            let path = path.key("star");
            link(&star.access, largest.data, &path.key("access"))?;
            link(&star.bottleneck, largest.data, &path.key("bottleneck"))?;
            optional(star.reverse.as_ref(), largest.acks, &path.key("reverse"))
        }
        Topology::Dumbbell(dumbbell) => {
            let path = path.key("dumbbell");
            for (key, hosts) in [("sources", dumbbell.sources), ("sinks", dumbbell.sinks)] {
                let holds = match hosts {
                    HostCount::PerFlow => true,
                    HostCount::Hosts(number) => number <= MOST_HOSTS,
                };
                require(holds, || path.key(key), || "too many hosts".into(), "expected at most 1048576")?;
            }
            link(&dumbbell.access, largest.data, &path.key("access"))?;
            optional(dumbbell.sink_access.as_ref(), largest.data, &path.key("sink_access"))?;
            link(&dumbbell.bottleneck, largest.data, &path.key("bottleneck"))?;
            optional(dumbbell.reverse.as_ref(), largest.acks, &path.key("reverse"))
        }
        Topology::Chain(chain) => {
            let path = path.key("chain");
            let message = || format!("a chain of {} hops", chain.hops);
            require((1..=MOST_HOPS).contains(&chain.hops), || path.key("hops"), message, "expected 1 to 250")?;
            link(&chain.access, largest.data, &path.key("access"))?;
            link(&chain.link, largest.data, &path.key("link"))
        }
        Topology::Switch(switch) => {
            let path = path.key("switch");
            for group in &spec.flows {
                super::switch::access(group, switch, &path)?;
            }
            optional(switch.access.as_ref(), largest.data, &path.key("access"))?;
            link(&switch.input, largest.data, &path.key("input"))?;
            link(&switch.output, largest.data, &path.key("output"))?;
            optional(switch.back.as_ref(), largest.acks, &path.key("back"))
        }
        Topology::Graph(graph) => {
            // Which flows cross which link is not looked at here: only what every flow's packets are too large for.
            let least = spec.flows.iter().map(|group| data_packet(&group.transport)).min().unwrap_or(0);
            for (index, graph_link) in graph.links.iter().enumerate() {
                let path = path.key("graph.links").index(index);
                link(&graph_link.forward(), least.min(largest.acks), &path)?;
                optional(graph_link.reverse.as_ref(), least.min(largest.acks), &path.key("reverse"))?;
            }
            Ok(())
        }
        // Its links are all alike, and checked with it; so are its queues.
        Topology::Ethernet(ethernet) => {
            let Some(queue) = &ethernet.queue else { return Ok(()) };
            let delay = SpanDistribution::Constant(ethernet.link.delay);
            let link = LinkSpec::of(ethernet.link.rate, delay);
            self::queue(queue, &link, largest.data.max(largest.acks), &path.key("ethernet.queue"))
        }
    }
}

/// The largest packets of all flows: those of the mean size, where sizes are drawn without bound.
fn largest(spec: &ScenarioSpec) -> Largest {
    let data = spec.flows.iter().map(|group| data_packet(&group.transport)).max().unwrap_or(0);
    let acks = spec.flows.iter().map(|group| match &group.transport {
        Transport::Tcp(config) => config.ack_bytes(),
        Transport::Udp(_) | Transport::Cells(_) | Transport::Frames(_) => 0,
    });
    Largest { data, acks: acks.max().unwrap_or(0) }
}

fn data_packet(transport: &Transport) -> u64 {
    match transport {
        Transport::Tcp(config) => config.segment.0,
        Transport::Udp(udp) => match udp.packet {
            SizeDistribution::Uniform(_, high) => high.0,
            drawn => drawn.mean().0,
        },
        Transport::Cells(cells) => cells.size.0,
        Transport::Frames(frames) => frames.size.0,
    }
}

fn optional(spec: Option<&LinkSpec>, largest: u64, path: &Path) -> Validity {
    spec.map_or(Ok(()), |spec| link(spec, largest, path))
}

fn link(spec: &LinkSpec, largest: u64, path: &Path) -> Validity {
    check_rate(spec.rate, &path.key("rate"))?;
    check_span(&spec.delay, DAY, &path.key("delay"))?;
    service(&spec.service, &path.key("service"))?;
    impairments(&spec.impairments, &path.key("impairments"))?;
    spec.queue.as_ref().map_or(Ok(()), |queue| self::queue(queue, spec, largest, &path.key("queue")))
}

/// Checks the periods in which a link has another rate.
pub(super) fn service(periods: &[ServicePeriod], path: &Path) -> Validity {
    for (index, period) in periods.iter().enumerate() {
        let at = path.index(index);
        service_period(period, &at)?;
        if let Some(earlier) = periods[..index].iter().find(|earlier| earlier.overlaps(period)) {
            return Err(two_rates("the link", earlier, period, at));
        }
    }
    Ok(())
}

/// Checks a period by itself.
pub(super) fn service_period(period: &ServicePeriod, path: &Path) -> Validity {
    if let Some(rate) = period.rate {
        check_rate(rate, &path.key("rate"))?;
    }
    for (key, span) in [("from", Some(period.from)), ("to", period.to)] {
        let Some(span) = span else { continue };
        check_span(&SpanDistribution::Constant(span), LONGEST_RUN, &path.key(key))?;
    }
    let message = || format!("a service from {} to {}", period.from, period.until());
    require(period.from < period.until(), || path.key("to"), message, "expected more than `from`")
}

/// The error for periods that overlap. The later one in the file is at `path`.
pub(super) fn two_rates(place: &str, earlier: &ServicePeriod, later: &ServicePeriod, path: Path) -> Invalid {
    let message = format!("{place} has two rates at {}", later.from.max(earlier.from));
    Invalid::new(path, message, "overlaps with an earlier one")
        .with_help("set `to` of one so that it ends before the other begins".to_owned())
}

pub(super) fn impairments(spec: &Impairments, path: &Path) -> Validity {
    check_fraction(spec.loss, true, &path.key("loss"))?;
    check_fraction(spec.duplication, true, &path.key("duplication"))?;
    check_span(&spec.jitter, DAY, &path.key("jitter"))?;
    let message = || "`reordering` without `jitter`".to_owned();
    let varies = !matches!(spec.jitter, SpanDistribution::Constant(_));
    let label = "expected a `jitter` that is drawn: packets with a short one overtake others";
    require(!spec.reordering || varies, || path.key("reordering"), message, label)
}

/// Checks that the impairments of an Ethernet's link are losses alone.
pub(super) fn ethernet_impairments(spec: &Impairments, path: &Path) -> Validity {
    impairments(spec, path)?;
    for (key, given, label) in [
        ("duplication", spec.duplication > 0.0, "expected none: headroom has no room for frames that come twice"),
        ("jitter", spec.have_jitter(), "expected none: headroom follows from the delay"),
    ] {
        require(!given, || path.key(key), || format!("`{key}` of a link of an Ethernet"), label)?;
    }
    Ok(())
}

fn queue(queue: &QueueSpec, link: &LinkSpec, largest: u64, path: &Path) -> Validity {
    queue
        .check::<forebay_engine::Packet>(&Switch::of_stand_ins(), link.rate)
        .map_err(|error| out_of_bounds(&error, path))?;
    let path = path.key(queue.name());
    match queue.limit() {
        Some(QueueSize::Bytes(limit)) if limit < largest => {
            let message = format!("a queue of {limit} B has no room for a packet of {largest} B");
            Err(Invalid::new(path.key("limit"), message, format!("expected at least {largest} B")))
        }
        _ => Ok(()),
    }
}
