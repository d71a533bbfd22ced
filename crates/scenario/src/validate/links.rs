//! Links and their queues.

use forebay_document::{Invalid, Path};
use forebay_units::QueueSize;

use super::check::{DAY, LONGEST_RUN, Validity, check_fraction, check_rate, check_span, out_of_bounds, require};
use crate::plan::outline::{Links, Outline, Traffic};
use crate::schema::{
    FlowGroup, Impairments, LinkSpec, QueueSpec, ServicePeriod, SizeDistribution, SpanDistribution, Switch, Transport,
};

pub(super) fn validate(outline: &Outline<'_>) -> Validity {
    let largest = Largest::new(&outline.spec.flows);
    let mut checked = None;
    for direction in outline.links.iter().flat_map(Links::directions) {
        let Some(path) = &direction.path else { continue };
        // Both directions of a link, and all links of an Ethernet, may have one description.
        if checked != Some(path) {
            link(&direction.spec, largest.of(direction.traffic), path)?;
            checked = Some(path);
        }
    }
    Ok(())
}

/// The largest packet that is known to cross a link.
struct Largest<'s> {
    groups: &'s [FlowGroup],
    data: u64,
    /// Data of the group with the smallest packets.
    least_data: u64,
    acks: u64,
}

impl<'s> Largest<'s> {
    fn new(groups: &'s [FlowGroup]) -> Self {
        let data = groups.iter().map(|group| data_packet(&group.transport));
        let acks = groups.iter().map(|group| match &group.transport {
            Transport::Tcp(config) => config.ack_bytes(),
            Transport::Udp(_) | Transport::Cells(_) | Transport::Frames(_) => 0,
        });
        let least_data = data.clone().min().unwrap_or(0);
        Self { groups, data: data.max().unwrap_or(0), least_data, acks: acks.max().unwrap_or(0) }
    }

    fn of(&self, traffic: Traffic) -> u64 {
        match traffic {
            Traffic::Data => self.data,
            Traffic::DataOf(group) => data_packet(&self.groups[group].transport),
            Traffic::Acks => self.acks,
            Traffic::Both => self.data.max(self.acks),
            Traffic::Some => self.least_data.min(self.acks),
        }
    }
}

/// The largest packet of a flow; that of the mean size, where sizes are drawn without bound.
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
    if let Some(longest) = queue.longest_packet(link.rate).filter(|longest| longest.0 < largest) {
        let message =
            format!("`{}` drops packets of more than {longest}, and there are some of {largest} B", queue.name());
        return Err(Invalid::new(path, message, "expected room for the largest packet"));
    }
    match queue.limit() {
        Some(QueueSize::Bytes(limit)) if limit < largest => {
            let message = format!("a queue of {limit} B has no room for a packet of {largest} B");
            Err(Invalid::new(path.key("limit"), message, format!("expected at least {largest} B")))
        }
        _ => Ok(()),
    }
}
