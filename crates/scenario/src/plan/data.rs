//! The plan as data, for programs that size or replace a queue.

use std::collections::BTreeMap;

use forebay_units::{Rate, Span};

use super::outline::{Direction, Outline, Role, Traffic};
use super::{Plan, PlannedKind};
use crate::load::{Scenario, WrittenPaths};
use crate::schema::{Adapter, Fabric, ScenarioSpec, SharedMemorySwitch};

/// Nodes, links, queues and groups of flows of a scenario.
#[derive(Clone, Debug)]
pub struct PlanData {
    /// Name and kind of each node.
    pub nodes: Vec<(String, &'static str)>,
    /// The links; each direction is one.
    pub links: Vec<LinkData>,
    /// Places of queues that a key of the scenario describes, or could.
    pub queues: Vec<QueueData>,
    /// The groups of flows, each direction of a group apart.
    pub groups: Vec<GroupData>,
    /// The keys of the memory that the queues of Ethernet switches share.
    pub memory_paths: Vec<String>,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkData {
    /// Its name; a queue has the name of the link that it feeds.
    pub name: String,
    /// The sending and the receiving node, as indices of [`PlanData::nodes`].
    pub ends: [u32; 2],
    /// Its rate.
    pub rate: Rate,
    /// The greatest of its rates; `None` if it has no bound.
    pub fastest: Option<Rate>,
    /// Its propagation delay and jitter, the means of distributions.
    pub delay: Span,
    /// Its least propagation delay.
    pub least_delay: Span,
    /// The place of its queue, as an index of [`PlanData::queues`].
    pub queue: Option<usize>,
}

/// The queues that one key describes.
#[derive(Clone, Debug)]
pub struct QueueData {
    /// The name of the link, or else of the key.
    pub name: String,
    /// The key: the path of a link's queue; `None` at the inputs of a switch. In the paths elements of lists have
    /// numbers, in the second one names.
    pub paths: Option<[String; 2]>,
    /// `"bottleneck"`, `"input"`, `"inner"`, `"uplink"`, `"downlink"` or `"return"`.
    pub role: &'static str,
    /// Whether it is that of the way back of links.
    pub is_back: bool,
    /// The discipline, if one is described.
    pub discipline: Option<&'static str>,
    /// The key of the limit; `None` where the discipline has no limit of its own.
    pub limit_path: Option<String>,
    /// The limit, if there is one.
    pub limit: Option<String>,
    /// Names of the queues in results.
    pub queues: Vec<String>,
    /// Names of the links that take their data on.
    pub links: Vec<String>,
    /// How many of the queues together hold what waits for one link.
    pub queues_per_link: usize,
}

/// A group of flows.
#[derive(Clone, Debug)]
pub struct GroupData {
    /// Its name.
    pub name: String,
    /// The nodes where its flows begin, and those where they end, as indices of [`PlanData::nodes`].
    pub ends: [Vec<u32>; 2],
    /// The propagation there and back in seconds, the mean over its flows; `None` without a way back.
    pub rtt_s: Option<f64>,
}

/// The plan of a scenario as data.
#[must_use]
pub fn plan_data(scenario: &Scenario) -> PlanData {
    let spec = scenario.spec();
    let plan = Plan::new(spec, spec.seed);
    let written = scenario.written_paths();
    let (mut queues, places) = described_queues(&written, &plan.outline);
    let links = plan.links.iter().map(|link| {
        let spec = plan.spec(link);
        LinkData {
            name: link.name.clone(),
            ends: [link.from, link.to],
            rate: spec.rate,
            fastest: spec.fastest(),
            delay: spec.mean_delay(),
            least_delay: spec.least_delay(),
            queue: places.get(&(link.links as usize, link.is_back)).copied(),
        }
    });
    let links: Vec<LinkData> = links.collect();
    queues.extend(plan.outline.crossbars.iter().map(|crossbar| {
        let path = written.of(&crossbar.path, true);
        let (kind, key, name, limit, queues_per_link) = match &*crossbar.fabric {
            Fabric::Cioq(cioq) => ("cioq", "voq_limit", "voq", cioq.voq_limit, crossbar.ports),
            Fabric::InputQueued(fifos) => ("input_queued", "limit", "fifo", fifos.limit, 1),
            Fabric::OutputQueued => ("output_queued", "limit", "", None, 1),
        };
        let from_here = |link: &&LinkData| plan.nodes[link.ends[0] as usize].name == crossbar.name;
        let is_named = plan.outline.node(crossbar.name).is_some();
        QueueData {
            name: if is_named { format!("{}/{name}", crossbar.name) } else { name.to_owned() },
            paths: None,
            role: "input",
            is_back: false,
            discipline: None,
            limit_path: Some(format!("{path}.{kind}.{key}")),
            limit: limit.map(|limit| limit.to_string()),
            queues: (1..=crossbar.ports).map(|port| format!("{}/input-{port}", crossbar.name)).collect(),
            links: links.iter().filter(from_here).map(|link| link.name.clone()).collect(),
            queues_per_link,
        }
    }));
    let nodes = plan.nodes.iter().map(|node| (node.name.clone(), node.kind.name())).collect();
    let tables = plan.outline.ethernet_switches().map(|switch| written.of(&switch.path.key("memory"), true));
    let mut memory_paths: Vec<String> = tables.collect();
    memory_paths.dedup();
    PlanData { nodes, groups: groups(&plan), links, queues, memory_paths }
}

/// Properties of all adapters and of each Ethernet switch; `None` in a network without any.
#[must_use]
pub fn ethernet(spec: &ScenarioSpec) -> Option<(&Adapter, Vec<&SharedMemorySwitch>)> {
    let outline = Outline::new(spec);
    let switches = outline.ethernet_switches().map(|switch| switch.spec).collect();
    Some((outline.ethernet?.adapter, switches))
}

/// The queues of links; and by the index of links in the outline and their direction the place of their queue.
fn described_queues(
    written: &WrittenPaths<'_>,
    outline: &Outline<'_>,
) -> (Vec<QueueData>, BTreeMap<(usize, bool), usize>) {
    let mut queues: Vec<QueueData> = Vec::new();
    let (mut places, mut by_path) = (BTreeMap::new(), BTreeMap::new());
    for (index, links) in outline.links.iter().enumerate() {
        for (direction, is_back) in links.directions().zip([false, true]) {
            let Some(path) = &direction.path else { continue };
            let paths = [false, true].map(|by_name| written.of(path, by_name) + ".queue");
            let role = role(links.role, direction.traffic, is_back);
            let sender = links.ends.map(|ends| outline.kind(ends[usize::from(is_back)]));
            let is_of_ethernet = sender.is_some_and(PlannedKind::is_ethernet);
            let place = *by_path.entry(paths[0].clone()).or_insert_with(|| {
                queues.push(queue_at(paths, direction, role, is_back, is_of_ethernet));
                queues.len() - 1
            });
            places.insert((index, is_back), place);
            // A queue that both directions have is judged by the first, where most data is, and one of sources and
            // sinks by that of sources. In an Ethernet each direction may have most.
            let is_second = is_back && places.get(&(index, false)) == Some(&place) && !is_of_ethernet;
            if queues[place].role == role && !is_second {
                queues[place].links.extend(outline.names_of(links, direction));
            }
        }
    }
    for queue in &mut queues {
        queue.name = name(queue);
        queue.queues.clone_from(&queue.links);
    }
    (queues, places)
}

/// The place of a queue, still without a name and without links.
fn queue_at(
    paths: [String; 2],
    direction: &Direction<'_>,
    role: &'static str,
    is_back: bool,
    is_of_ethernet: bool,
) -> QueueData {
    let queue = direction.spec.queue.as_deref();
    let limit = queue.and_then(|queue| queue.limit());
    let discipline = queue.map(|queue| queue.name());
    // A link without a queue has a drop-tail one without limit, and an output of an Ethernet switch shares memory.
    let has_limit = limit.is_some() || (queue.is_none() && !is_of_ethernet);
    let limit_path = has_limit.then(|| format!("{}.{}.limit", paths[0], discipline.unwrap_or("drop_tail")));
    QueueData {
        name: String::new(),
        paths: Some(paths),
        role,
        is_back: is_back && !is_of_ethernet,
        discipline,
        limit_path,
        limit: limit.map(|limit| limit.to_string()),
        queues: Vec::new(),
        links: Vec::new(),
        queues_per_link: 1,
    }
}

/// The name of a place: the last key of its table, or of an element of a list its only link or its own name.
fn name(queue: &QueueData) -> String {
    let Some([path, named_path]) = &queue.paths else { return String::new() };
    let [table, named_table] = [path, named_path].map(|path| path.strip_suffix(".queue").unwrap_or(path));
    match (table == named_table, &queue.links[..]) {
        (false, [only]) => only.clone(),
        (false, _) => {
            let common = table.bytes().zip(named_table.bytes()).take_while(|(one, other)| one == other).count();
            named_table[common..].to_owned()
        }
        (true, _) => table.rsplit('.').next().unwrap_or(table).to_owned(),
    }
}

fn role(role: Role, traffic: Traffic, is_back: bool) -> &'static str {
    match role {
        _ if is_back && traffic == Traffic::Acks => "return",
        Role::Uplink => "uplink",
        Role::Inner => "inner",
        Role::Bottleneck => "bottleneck",
        Role::Downlink => "downlink",
    }
}

impl PlannedKind<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Adapter(_) => "adapter",
            Self::Router => "router",
            Self::Crossbar(_) => "crossbar",
            Self::EthernetSwitch(_) => "ethernet_switch",
        }
    }
}

fn groups(plan: &Plan<'_>) -> Vec<GroupData> {
    let (forwarding, edges) = plan.forwarding();
    let mut delays: BTreeMap<(u32, u32), Option<f64>> = BTreeMap::new();
    let mut delay_s = |from: u32, to: u32| {
        *delays.entry((from, to)).or_insert_with(|| {
            let path = forwarding.path(&edges, from, to)?;
            Some(path.iter().map(|&link| plan.spec(&plan.links[link as usize]).mean_delay().seconds()).sum())
        })
    };
    let mut ends = vec![[Vec::new(), Vec::new()]; plan.outline.spec.flows.len()];
    let mut rtts = vec![(0.0, Some(0.0)); ends.len()];
    for flow in &plan.flows {
        for (list, node) in ends[flow.group].iter_mut().zip([flow.source, flow.destination]) {
            list.push(node);
        }
        let rtt = delay_s(flow.source, flow.destination).zip(delay_s(flow.destination, flow.source));
        let (flows, sum) = &mut rtts[flow.group];
        *flows += 1.0;
        *sum = sum.zip(rtt).map(|(sum, (there, back))| sum + there + back);
    }
    let groups = plan.outline.spec.flows.iter().zip(ends).zip(rtts);
    groups
        .map(|((group, mut ends), (flows, sum))| {
            ends.iter_mut().for_each(|list| {
                list.sort_unstable();
                list.dedup();
            });
            GroupData { name: group.name.clone(), ends, rtt_s: sum.map(|sum| sum / flows) }
        })
        .collect()
}
