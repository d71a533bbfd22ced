//! The names that follow from a scenario: of flows, of links, and of the queues at their sending ends, which have the
//! names of their links.

use forebay_units::Rate;

use crate::plan::Plan;
use crate::plan::outline::Outline;
use crate::schema::{FlowGroup, ScenarioSpec};

/// A link between two nodes that the scenario names, in the direction from `from` to `to`.
pub(crate) fn graph_link(from: &str, to: &str) -> String {
    format!("{from}->{to}")
}

/// Rate of the slowest of these links; `None` if there is none of them.
#[must_use]
pub fn slowest(spec: &ScenarioSpec, links: &[String]) -> Option<Rate> {
    let plan = Plan::new(spec, spec.seed);
    let wanted = plan.links.iter().filter(|candidate| links.contains(&candidate.name));
    wanted.map(|link| plan.spec(link).rate).min()
}

/// Names of all flows, group after group. Where the seed decides, it is the scenario's own.
#[must_use]
pub fn flows(spec: &ScenarioSpec) -> Vec<String> {
    Outline::new(spec).flow_names().collect()
}

/// Names of a group's flows under a seed.
#[must_use]
pub fn flows_of(spec: &ScenarioSpec, group: &FlowGroup, seed: u64) -> Vec<String> {
    Outline::new(spec).flows_under(group, seed).collect()
}

/// Number of all flows. Where the seed decides, it is the scenario's own.
#[must_use]
pub fn flow_count(spec: &ScenarioSpec) -> u64 {
    let outline = Outline::new(spec);
    let count = |group: &FlowGroup| match &group.pattern {
        Some(_) => outline.flows_of(group).count() as u64,
        None => outline.count_of(group),
    };
    spec.flows.iter().map(count).sum()
}

/// Names of all links; each direction is a link. A queue has the name of the link that it feeds.
#[must_use]
pub fn links(spec: &ScenarioSpec) -> Vec<String> {
    Outline::new(spec).link_names().collect()
}

/// Number of all links.
#[must_use]
pub fn link_count(spec: &ScenarioSpec) -> u64 {
    Outline::new(spec).link_count()
}
