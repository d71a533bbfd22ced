//! Links and their queues.

use forebay_document::{Invalid, Path};
use forebay_units::{QueueSize, Rate, Span};

use super::check::{DAY, LONGEST_RUN, Validity, check_fraction, check_rate, check_span, out_of_bounds, require};
use super::probes::watched_flow;
use forebay_rdma::{
    HOMA_HEADER_BYTES, HomaConfig, NDP_HEADER_BYTES, NdpConfig, PfabricConfig, UEC_HEADER_BYTES, UecConfig,
    telemetry_can_name,
};

use crate::plan::outline::{Links, Outline, Traffic};
use crate::schema::{
    DrawnLoss, FlowGroup, FourState, GilbertElliott, Impairments, LinkSpec, LossModel, LostPackets, Outage, QueueSpec,
    RateTrace, Reordering, ServicePeriod, SizeDistribution, SpanDistribution, Switch, Transport,
};

pub(super) fn validate(outline: &Outline<'_>) -> Validity {
    let largest = Largest::new(&outline.spec.flows);
    let mut checked = None;
    for direction in outline.links.iter().flat_map(Links::directions) {
        let Some(path) = &direction.path else { continue };
        // Both directions of a link, and all links of an Ethernet, may have one description.
        if checked != Some(path) {
            link(&direction.spec, largest.of(direction.traffic), outline, path)?;
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
            Transport::Uec(_) => u64::from(UEC_HEADER_BYTES),
            Transport::Ndp(_) => u64::from(NDP_HEADER_BYTES),
            Transport::Homa(_) => u64::from(HOMA_HEADER_BYTES),
            Transport::Pfabric(config) => config.header.0,
            Transport::Roce(config) => config.answer_bytes().into(),
            // The answers of a ping are as long as its packets.
            Transport::Udp(udp) if udp.is_ping() => udp.packet.mean().0,
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
        Transport::Uec(UecConfig { packet, .. })
        | Transport::Ndp(NdpConfig { packet, .. })
        | Transport::Homa(HomaConfig { packet, .. })
        | Transport::Pfabric(PfabricConfig { packet, .. }) => packet.0,
        Transport::Roce(config) => config.packet_bytes(),
        Transport::Udp(udp) => match udp.packet {
            SizeDistribution::Uniform(_, high) => high.0,
            SizeDistribution::Normal { mean, .. } => (2 * mean.0).min(u64::from(u16::MAX)),
            SizeDistribution::Cdf(ref sizes) => sizes.bounds()[1] as u64,
            ref drawn => drawn.mean().0,
        },
        Transport::Cells(cells) => cells.size.0,
        Transport::Frames(frames) => frames.size.0,
    }
}

fn link(spec: &LinkSpec, largest: u64, outline: &Outline<'_>, path: &Path) -> Validity {
    check_rate(spec.rate, &path.key("rate"))?;
    telemetry(spec.rate, &outline.spec.flows, path)?;
    check_span(&spec.delay, DAY, &path.key("delay"))?;
    service(&spec.service, &path.key("service"))?;
    if let Some(trace) = &spec.trace {
        let path = path.key("trace");
        let has_rates = spec.service.iter().any(|period| period.rate.is_some());
        let message = || "the link has a rate from `trace` and one from `service`".to_owned();
        require(!has_rates, || path.clone(), message, "expected one of the two")?;
        self::trace(trace, outline.spec.duration, &path)?;
    }
    if let Some(framing) = &spec.framing {
        framing.rule().map_err(|error| {
            let message = format!("framing: `{}` must {}", error.field, error.bound);
            Invalid::new(path.key("framing").key(error.field), message, format!("must {}", error.bound))
        })?;
    }
    outages(&spec.down, &path.key("down"))?;
    impairments(&spec.impairments, &path.key("impairments"))?;
    for (index, lost) in spec.impairments.lose.iter().enumerate() {
        lost_packets(lost, outline, &path.key("impairments.lose").index(index))?;
    }
    spec.queue.as_ref().map_or(Ok(()), |queue| self::queue(queue, spec, largest, &path.key("queue")))
}

/// Checks that telemetry can name the rate of a link, if flows take any.
fn telemetry(rate: Rate, flows: &[FlowGroup], path: &Path) -> Validity {
    let takes =
        |group: &&FlowGroup| matches!(&group.transport, Transport::Roce(config) if config.control.takes_telemetry());
    let Some(group) = flows.iter().find(takes) else { return Ok(()) };
    let message = || format!("a rate of {rate}, for which the telemetry of HPCC (`{}`) has no code", group.name);
    let label = "expected 25, 50, 100, 200 or 400 Gb/s";
    require(telemetry_can_name(rate), || path.key("rate"), message, label)
}

/// The bounds of the bytes of an opportunity.
const OPPORTUNITY_BYTES: std::ops::RangeInclusive<u64> = 1..=1 << 24;

/// Changes of a rate take 16 bytes each.
const MOST_CHANGES: u64 = 10_000_000;

fn trace(trace: &RateTrace, run: Span, path: &Path) -> Validity {
    match trace {
        RateTrace::File(_) => Ok(()),
        RateTrace::Steps(steps) => {
            let path = path.key("steps");
            let label = "expected a step with a rate above 0";
            require(
                steps.iter().any(|step| step.rate.0.is_some()),
                || path.clone(),
                || "a trace without a rate".into(),
                label,
            )?;
            for (index, step) in steps.iter().enumerate() {
                let at = path.index(index);
                step.rate.0.map_or(Ok(()), |rate| check_rate(rate, &at.key("rate")))?;
                let message = || format!("a step of {}", step.duration);
                let holds = step.duration > Span::ZERO && step.duration <= DAY;
                require(holds, || at.key("duration"), message, "expected more than 0 and at most 24 h")?;
            }
            let spans = steps.iter().map(|step| step.duration.picoseconds());
            let period = Span::from_picoseconds(spans.fold(0, u64::saturating_add));
            let changes = run.picoseconds() / period.picoseconds().max(1) * steps.len() as u64;
            let message = || format!("the rate changes {changes} times, since the trace repeats after {period}");
            require(changes <= MOST_CHANGES, || path.clone(), message, "expected at most ten million changes in a run")
        }
        RateTrace::Opportunities(trace) => {
            let path = path.key("opportunities");
            let at = || path.key("times_ms");
            let is_some = trace.times_ms.last().is_some_and(|&last| last > 0);
            let label = "expected times in milliseconds, the last one above 0";
            require(is_some, at, || "a trace without opportunities".into(), label)?;
            let decrease = trace.times_ms.windows(2).position(|pair| pair[0] > pair[1]);
            if let Some(index) = decrease {
                let (before, this) = (trace.times_ms[index], trace.times_ms[index + 1]);
                let message = format!("an opportunity at {this} ms after one at {before} ms");
                return Err(Invalid::new(at().index(index + 1), message, "expected times that do not decrease"));
            }
            let message = || format!("opportunities of {}", trace.bytes);
            let label = "expected 1 B to 16777216 B";
            require(OPPORTUNITY_BYTES.contains(&trace.bytes.0), || path.key("bytes"), message, label)
        }
    }
}

fn outages(outages: &[Outage], path: &Path) -> Validity {
    for (index, outage) in outages.iter().enumerate() {
        let at = path.index(index);
        times(outage.from, outage.to, "an outage", &at)?;
    }
    Ok(())
}

/// Checks that an Ethernet's link is up, and has one delay.
pub(super) fn ethernet_service(spec: &LinkSpec, path: &Path) -> Validity {
    let delays = spec.service.iter().any(|period| period.delay.is_some());
    for (key, given, label) in [
        ("trace", spec.trace.is_some(), "expected `service`, whose rates are at most the link's"),
        ("framing", spec.framing.is_some(), "expected none: frames have the lengths that their flows give"),
        ("down", !spec.down.is_empty(), "expected none: PAUSE keeps frames from loss only on links that are up"),
        ("service", delays, "expected periods without `delay`: headroom follows from it"),
    ] {
        require(!given, || path.key(key), || format!("`{key}` of a link of an Ethernet"), label)?;
    }
    Ok(())
}

/// Checks the periods in which a link has another rate or delay.
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
    let message = || "a service without a rate and a delay".to_owned();
    require(period.rate.is_some() || period.delay.is_some(), || path.clone(), message, "expected `rate` or `delay`")?;
    if let Some(rate) = period.highest_rate() {
        check_rate(rate, &path.key("rate"))?;
    }
    if let Some(delay) = period.delay {
        check_span(&SpanDistribution::Constant(delay), DAY, &path.key("delay"))?;
    }
    times(period.from, period.to, "a service", path)
}

/// Checks the bounds of a period, `what`.
fn times(from: Span, to: Option<Span>, what: &str, path: &Path) -> Validity {
    for (key, span) in [("from", Some(from)), ("to", to)] {
        let Some(span) = span else { continue };
        check_span(&SpanDistribution::Constant(span), LONGEST_RUN, &path.key(key))?;
    }
    let until = to.unwrap_or(Span::MAX);
    let message = || format!("{what} from {from} to {until}");
    require(from < until, || path.key("to"), message, "expected more than `from`")
}

/// The error for periods that overlap. The later one in the file is at `path`.
pub(super) fn two_rates(place: &str, earlier: &ServicePeriod, later: &ServicePeriod, path: Path) -> Invalid {
    let message = format!("{place} has two rates at {}", later.from.max(earlier.from));
    Invalid::new(path, message, "overlaps with an earlier one")
        .with_help("set `to` of one so that it ends before the other begins".to_owned())
}

fn impairments(spec: &Impairments, path: &Path) -> Validity {
    loss(&spec.loss, &path.key("loss"))?;
    check_fraction(spec.duplication, true, &path.key("duplication"))?;
    let at_least_one = |value: Option<u64>, path: &Path| {
        require(value != Some(0), || path.clone(), || format!("`{}` is 0", path.name()), "expected at least 1")
    };
    at_least_one(spec.limit, &path.key("limit"))?;
    check_span(&spec.jitter, DAY, &path.key("jitter"))?;
    check_fraction(spec.jitter_correlation, false, &path.key("jitter_correlation"))?;
    let is_uniform = matches!(spec.jitter, SpanDistribution::Uniform(..));
    let message = || "`jitter_correlation` without a uniform `jitter`".to_owned();
    let label = "expected a `jitter` such as { uniform = [\"0 ms\", \"5 ms\"] }";
    require(spec.jitter_correlation == 0.0 || is_uniform, || path.key("jitter_correlation"), message, label)?;
    let varies = !matches!(spec.jitter, SpanDistribution::Constant(_));
    let (holds, message, label) = match spec.reordering {
        Reordering::ByDelay(reorders) => (
            !reorders || varies,
            "`reordering` without `jitter`",
            "expected a `jitter` that is drawn: packets with a short one overtake others",
        ),
        Reordering::Early(early) => {
            let path = path.key("reordering");
            check_fraction(early.probability, false, &path.key("probability"))?;
            check_fraction(early.correlation, false, &path.key("correlation"))?;
            at_least_one(Some(early.gap.into()), &path.key("gap"))?;
            (
                spec.have_jitter(),
                "`reordering` without `jitter`",
                "expected a `jitter`, which early packets do not have",
            )
        }
    };
    require(holds, || path.key("reordering"), || message.to_owned(), label)?;
    let Some(slots) = spec.slots else { return Ok(()) };
    let path = path.key("slots");
    for (key, span) in [("min", Some(slots.min)), ("max", slots.max)] {
        span.map_or(Ok(()), |span| check_span(&SpanDistribution::Constant(span), DAY, &path.key(key)))?;
    }
    let most = slots.max.unwrap_or(slots.min);
    let message = || format!("slots {} to {most} apart", slots.min);
    require(slots.min > Span::ZERO && slots.min <= most, || path.clone(), message, "expected 0 < `min` <= `max`")?;
    at_least_one(slots.packets, &path.key("packets"))?;
    at_least_one(slots.bytes.map(|bytes| bytes.0), &path.key("bytes"))
}

fn loss(model: &LossModel, path: &Path) -> Validity {
    let fractions = |path: &Path, values: &[(&str, f64)]| {
        values.iter().try_for_each(|(key, value)| check_fraction(*value, false, &path.key(key)))
    };
    let above_zero = |path: Path, value: f64| {
        let message = format!("`{}` is 0", path.name());
        require(value > 0.0, || path, || message, "expected more than 0, or the state never ends")
    };
    match model {
        LossModel::Probability(probability) => check_fraction(*probability, true, path),
        LossModel::Drawn(DrawnLoss::Correlated(loss)) => {
            let path = path.key("correlated");
            check_fraction(loss.probability, true, &path.key("probability"))?;
            check_fraction(loss.correlation, true, &path.key("correlation"))
        }
        LossModel::Drawn(DrawnLoss::GilbertElliott(chain)) => {
            let path = path.key("gilbert_elliott");
            let GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } = *chain;
            let keys = [("to_bad", to_bad), ("to_good", to_good)];
            fractions(&path, &keys)?;
            fractions(&path, &[("loss_in_bad", loss_in_bad), ("loss_in_good", loss_in_good)])?;
            above_zero(path.key("to_good"), to_good)
        }
        LossModel::Drawn(DrawnLoss::FourState(chain)) => {
            let path = path.key("four_state");
            let FourState { p13, p31, p32, p23, p14 } = *chain;
            fractions(&path, &[("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)])?;
            for (one, other, sum) in [("p13", "p14", p13 + p14), ("p31", "p32", p31 + p32)] {
                let message = || format!("`{one}` and `{other}` add up to {sum}");
                require(sum <= 1.0, || path.key(one), message, "expected at most 1")?;
            }
            above_zero(path.key("p31"), p31)?;
            above_zero(path.key("p23"), p23)
        }
    }
}

fn lost_packets(lost: &LostPackets, outline: &Outline<'_>, path: &Path) -> Validity {
    watched_flow(&lost.flow, outline, &path.key("flow"))?;
    let numbers = lost.packets.iter().chain(&lost.acks);
    let is_some = numbers.clone().next().is_some() && !numbers.clone().any(|&number| number == 0);
    let message = || "packets to lose need numbers from 1 on".to_owned();
    require(is_some, || path.clone(), message, "expected `packets` or `acks` such as [1, 5]")
}

/// Checks that the impairments of an Ethernet's link are losses alone.
pub(super) fn ethernet_impairments(spec: &Impairments, path: &Path) -> Validity {
    impairments(spec, path)?;
    for (key, given, label) in [
        ("limit", spec.limit.is_some(), "expected none: the delay of an Ethernet holds every frame"),
        ("slots", spec.slots.is_some(), "expected none: headroom follows from the delay"),
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
