//! Links: their queues, how fast they send, and what happens to packets on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use forebay_engine::{
    ChosenPackets, DelayStep, Impairments, Jitter, LinkSpec, LossModel, Opportunities, PacketOrder, RunError,
    ServiceStep, Slots, TraceSpec,
};
use forebay_qdisc::{Queue, Rate, Rng, Span, Time};
use forebay_records::random::stream;
use forebay_switching::SharedMemory;

use super::flows_named;
use crate::custom_classes::CustomClasses;
use crate::plan::outline::{Links, Outline};
use crate::plan::{Plan, PlannedLink};
use crate::schema::{self, DrawnLoss, QueueSpec, RateTrace, Reordering, ScenarioSpec, ServicePeriod, Switch};

/// The numbers of flows whose packets links lose, by the names that the scenario has for them.
pub(super) type LosingFlows = BTreeMap<String, Vec<u32>>;

pub(super) fn losing_flows(plan: &Plan<'_>, scenario: &ScenarioSpec) -> LosingFlows {
    let directions = plan.outline.links.iter().flat_map(Links::directions);
    let names: BTreeSet<&str> =
        directions.flat_map(|direction| &direction.spec.impairments.lose).map(|lost| lost.flow.as_str()).collect();
    let flows = |name: &str| (name.to_owned(), flows_named(&[name].into(), plan, scenario));
    names.into_iter().map(flows).collect()
}

pub(super) fn link_spec(
    link: PlannedLink,
    outline: &Outline<'_>,
    switch: &mut Switch<'_>,
    custom: Option<&dyn CustomClasses>,
    (watched_flows, losing): (Vec<u32>, &LosingFlows),
    seed: u64,
    out: Option<&Path>,
) -> Result<LinkSpec, RunError> {
    let direction = outline.direction(&link);
    let (described, metric) = (&direction.spec, outline.metric(&link));
    let shares_state = described.queue.as_ref().is_some_and(|queue| queue.shares_state());
    let (mut queue, mut class_queues) = (None, Vec::new());
    if let Some(spec) = &described.queue {
        let mut salts = stream(seed, &format!("link/{}/salt", link.name));
        switch.at_link(&link.name);
        // Validation has built every queue once before, but for its custom disciplines.
        let refused = |error| RunError::Custom(format!("the queue `{}`: {error}", link.name));
        let mut build = || spec.build_in(switch, described.rate, salts.next_u64()).map_err(refused);
        let built = build()?;
        let name = match (&**spec, custom) {
            (QueueSpec::Python(python), Some(custom)) => custom.name(python),
            _ => spec.name().to_owned(),
        };
        queue = Some((name, if shares_state { Queue::Discipline(built.into_discipline()) } else { built }));
        if outline.has_class_queues(link.from) {
            class_queues = (1..SharedMemory::CLASSES).map(|_| build()).collect::<Result<_, _>>()?;
        }
    }
    let trace = outline.spec.traces.iter().find(|trace| trace.link == link.name);
    Ok(LinkSpec {
        rate: described.rate,
        propagation: least_delay(described, link.propagation),
        queue,
        class_queues,
        shares_state,
        from: link.from,
        to: link.to,
        metric,
        service: service_steps(described, outline.spec.duration),
        opportunities: opportunities(described),
        framing: described.framing.and_then(|framing| framing.rule().ok()),
        impairments: impairments(described, link.propagation, losing),
        trace: out
            .zip(trace)
            .map(|(out, trace)| TraceSpec { path: out.join(trace.file_name()), snaplen: trace.snaplen }),
        watched_flows,
        name: link.name,
    })
}

/// The changes of a rate in periods, in the order of time. Validation refuses those that overlap.
pub(super) fn period_steps<'p>(rate: Rate, periods: impl IntoIterator<Item = &'p ServicePeriod>) -> Vec<ServiceStep> {
    let changes = periods.into_iter().filter_map(|period| Some((period, period.rate?.0)));
    steps(changes, Some(rate)).into_iter().map(|(from, rate)| ServiceStep { from, rate }).collect()
}

/// The values of a quantity that is `usual` outside of periods.
fn steps<'p, T>(periods: impl Iterator<Item = (&'p ServicePeriod, T)>, usual: T) -> Vec<(Time, T)>
where
    T: Copy,
{
    let mut periods: Vec<(&ServicePeriod, T)> = periods.collect();
    periods.sort_by_key(|(period, _)| period.from);
    let mut steps: Vec<(Time, T)> = Vec::new();
    for (period, value) in periods {
        let from = Time::ZERO + period.from;
        // Where one follows the other at once the usual value does not come between them.
        if steps.last().is_some_and(|step| step.0 == from) {
            steps.pop();
        }
        steps.push((from, value));
        steps.extend(period.to.map(|to| (Time::ZERO + to, usual)));
    }
    steps
}

/// The changes of a link's rate in a run of this `duration`.
fn service_steps(link: &schema::LinkSpec, duration: Span) -> Vec<ServiceStep> {
    let Some(RateTrace::Steps(trace)) = &link.trace else { return period_steps(link.rate, &link.service) };
    let mut from = Time::ZERO;
    let repeated = trace.iter().cycle().map(|step| {
        let this = ServiceStep { from, rate: step.rate.0 };
        from = from.saturating_add(step.duration);
        this
    });
    repeated.take_while(|step| step.from <= Time::ZERO + duration).collect()
}

fn opportunities(link: &schema::LinkSpec) -> Option<Opportunities> {
    let Some(RateTrace::Opportunities(trace)) = &link.trace else { return None };
    Some(Opportunities { times_ms: trace.times_ms.as_slice().into(), bytes: trace.bytes.0 as u32 })
}

/// The least of a link's propagation delays.
fn least_delay(link: &schema::LinkSpec, propagation: Span) -> Span {
    link.service.iter().filter_map(|period| period.delay).fold(propagation, Span::min)
}

fn impairments(link: &schema::LinkSpec, propagation: Span, losing: &LosingFlows) -> Impairments {
    let spec = &link.impairments;
    let least = least_delay(link, propagation);
    let delays = link.service.iter().filter_map(|period| Some((period, period.delay? - least)));
    let mut delays = steps(delays, propagation - least);
    if !delays.is_empty() && delays[0].0 > Time::ZERO {
        delays.insert(0, (Time::ZERO, propagation - least));
    }
    let at = |span| Time::ZERO.saturating_add(span);
    Impairments {
        outages: link.down.iter().map(|outage| (at(outage.from), at(outage.until()))).collect(),
        chosen: spec.lose.iter().flat_map(|lost| chosen(lost, losing)).collect(),
        duplication: spec.duplication,
        loss: loss(spec.loss),
        limit: spec.limit,
        delays: delays.into_iter().map(|(from, delay)| DelayStep { from, delay }).collect(),
        jitter: spec
            .have_jitter()
            .then(|| Jitter { distribution: spec.jitter.picoseconds(), correlation: spec.jitter_correlation }),
        order: match spec.reordering {
            Reordering::ByDelay(false) => PacketOrder::Kept,
            Reordering::ByDelay(true) => PacketOrder::ByDelay,
            Reordering::Early(schema::EarlyPackets { probability, correlation, gap }) => {
                PacketOrder::Early { probability, correlation, gap }
            }
        },
        slots: spec.slots.map(|slots| Slots {
            min: slots.min,
            max: slots.max.unwrap_or(slots.min),
            packets: slots.packets.unwrap_or(u64::MAX),
            bytes: slots.bytes.map_or(u64::MAX, |bytes| bytes.0),
        }),
    }
}

/// The packets of each flow of that name.
fn chosen(lost: &schema::LostPackets, losing: &LosingFlows) -> Vec<ChosenPackets> {
    let flows = losing.get(lost.flow.as_str()).map_or(&[][..], Vec::as_slice);
    let of_flow = |&flow: &u32| {
        [(false, &lost.packets), (true, &lost.acks)].map(|(acks, numbers)| {
            let mut numbers = numbers.clone();
            numbers.sort_unstable();
            numbers.dedup();
            ChosenPackets { flow, acks, numbers }
        })
    };
    flows.iter().flat_map(of_flow).filter(|chosen| !chosen.numbers.is_empty()).collect()
}

fn loss(model: schema::LossModel) -> LossModel {
    match model {
        schema::LossModel::Probability(probability) => LossModel::Random { probability, correlation: 0.0 },
        schema::LossModel::Drawn(DrawnLoss::Correlated(schema::CorrelatedLoss { probability, correlation })) => {
            LossModel::Random { probability, correlation }
        }
        schema::LossModel::Drawn(DrawnLoss::GilbertElliott(chain)) => {
            let schema::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good } = chain;
            LossModel::GilbertElliott { to_bad, to_good, loss_in_bad, loss_in_good }
        }
        schema::LossModel::Drawn(DrawnLoss::FourState(schema::FourState { p13, p31, p32, p23, p14 })) => {
            LossModel::FourState { p13, p31, p32, p23, p14 }
        }
    }
}
