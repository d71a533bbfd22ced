//! Networks of htsim: files of the format `.topo`, and the one of a run without such a file.
//!
//! A file has `Nodes`, `Tiers` and `Podsize`, and then a section for each tier of switches, from the hosts upwards. The
//! links of a tier are those below its switches.

use std::ops::Range;

use forebay_units::{Rate, Span};

use super::options::Options;
use super::{whole, words};
use crate::from_tc::text::{Fault, Word};

/// The network of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Network {
    pub hosts: u32,
    pub shape: Shape,
    /// The links of each tier, from the hosts upwards.
    pub links: Vec<Link>,
    /// How many times slower the fabric is than its hosts.
    pub oversubscription: u32,
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    FatTree { k: u32, edge_oversubscription: u32, core_oversubscription: u32 },
    LeafSpine { leaves: u32, spines: u32, hosts: u32, parallel: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub rate: Rate,
    /// With half of the latency of the switches at its ends.
    pub delay: Span,
}

/// A section of a file. 0: not given.
#[derive(Clone, Debug, Default)]
struct Tier {
    span: Range<usize>,
    gbps: u64,
    radix_up: u64,
    radix_down: u64,
    bundle: u64,
    oversubscribed: u64,
    link_ns: u64,
    switch_ns: u64,
}

/// The head of a file.
#[derive(Clone, Debug, Default)]
struct Head {
    nodes: u64,
    nodes_span: Range<usize>,
    tiers: u64,
    pod: u64,
}

impl Network {
    /// The network of a run without a file: a fat-tree, or with two tiers a leaf-spine network, of all nodes.
    pub fn by_default(nodes: u32, options: &Options) -> Result<Self, Fault> {
        let (power, divisor) = if options.tiers == 3 { (3, 4) } else { (2, 2) };
        let k = (2..=1000_u32).step_by(2).find(|k| u64::from(*k).pow(power) / divisor >= u64::from(nodes));
        let k = k.filter(|k| u64::from(*k).pow(power) / divisor == u64::from(nodes)).ok_or_else(|| Fault {
            span: 0..0,
            message: format!("htsim has no network of {} tiers with {nodes} hosts", options.tiers),
            label: "expected a topology, with `-topo`".to_owned(),
            help: Some("without one, the matrix needs k^3/4 nodes for an even k; with `-tiers 2`, k^2/2".to_owned()),
        })?;
        let shape = match options.tiers {
            3 => Shape::FatTree { k, edge_oversubscription: 1, core_oversubscription: 1 },
            _ => Shape::LeafSpine { leaves: k, spines: k / 2, hosts: k / 2, parallel: 1 },
        };
        let latencies = vec![options.switch; options.tiers as usize];
        let hops = vec![(options.rate, options.hop); options.tiers as usize];
        Ok(Self { hosts: nodes, shape, links: links(&hops, &latencies), oversubscription: 1, notes: Vec::new() })
    }

    /// Reads a file, for a matrix with that number of nodes.
    pub fn parse(text: &str, nodes: u32) -> Result<Self, Fault> {
        let mut notes = Vec::new();
        let (head, tiers) = read(text, &mut notes)?;
        if head.nodes != u64::from(nodes) {
            let message = format!("the topology has {} nodes, and the matrix {nodes}", head.nodes);
            return Err(at(&head.nodes_span, message, "expected the nodes of the matrix"));
        }
        for (tier, above) in tiers.iter().zip(tiers.iter().skip(1).map(Some).chain([None])) {
            tier.check(above)?;
        }
        let shape = if head.tiers == 2 { leaf_spine(&head, &tiers) } else { fat_tree(&head, &tiers) }?;
        let hops: Vec<_> =
            tiers.iter().map(|tier| (Rate::megabits(tier.gbps * 1000), nanoseconds(tier.link_ns))).collect();
        let latencies: Vec<_> = tiers.iter().map(|tier| nanoseconds(tier.switch_ns)).collect();
        let oversubscription = tiers.iter().map(|tier| tier.oversubscribed.max(1)).product::<u64>() as u32;
        Ok(Self { hosts: nodes, shape, links: links(&hops, &latencies), oversubscription, notes })
    }
}

/// The links of the tiers. A path takes each of its switches between two links, so each of these has half its latency.
fn links(hops: &[(Rate, Span)], latencies: &[Span]) -> Vec<Link> {
    let below = std::iter::once(Span::ZERO).chain(latencies.iter().copied());
    let of_tier = |((&(rate, delay), above), below): ((&(Rate, Span), &Span), Span)| Link {
        rate,
        delay: delay + Span::from_picoseconds((above.picoseconds() + below.picoseconds()) / 2),
    };
    hops.iter().zip(latencies).zip(below).map(of_tier).collect()
}

fn nanoseconds(ns: u64) -> Span {
    Span::from_picoseconds(ns * 1000)
}

fn at(span: &Range<usize>, message: String, label: &str) -> Fault {
    Fault { span: span.clone(), message, label: label.to_owned(), help: None }
}

/// The head and the sections of a file.
fn read(text: &str, notes: &mut Vec<String>) -> Result<(Head, Vec<Tier>), Fault> {
    let mut head = Head::default();
    let mut tiers: Vec<Option<Tier>> = vec![None; 3];
    let mut current = None;
    let mut offset = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let words = words(line, offset);
        offset += line.len();
        let Some(key) = words.first().filter(|key| !key.text.starts_with('#')) else { continue };
        let [_, value] = &words[..] else {
            return Err(key.fault("a line has a name and a number", "expected `Name number`"));
        };
        let name = key.text.to_lowercase();
        let set = |place: &mut u64, least: u64, most: u64| {
            let is_first = *place == 0;
            *place = whole(value, least..=most)?;
            if is_first { Ok(()) } else { Err(key.fault(format!("`{}` is given twice", key.text), "the second one")) }
        };
        if name == "tier" {
            let tier = whole(value, 0..=2)? as usize;
            if tiers[tier].replace(Tier { span: key.span.start..value.span.end, ..Tier::default() }).is_some() {
                return Err(key.fault(format!("tier {tier} is given twice"), "the second one"));
            }
            current = Some(tier);
            continue;
        }
        let Some(tier) = current.and_then(|tier| tiers[tier].as_mut()) else {
            match name.as_str() {
                "nodes" => {
                    set(&mut head.nodes, 1, 1_000_000)?;
                    head.nodes_span = value.span.clone();
                }
                "tiers" => set(&mut head.tiers, 2, 3)?,
                "podsize" => set(&mut head.pod, 1, 1_000_000)?,
                _ => return Err(unknown(key, "`Nodes`, `Tiers`, `Podsize` or `Tier`")),
            }
            continue;
        };
        match name.as_str() {
            "downlink_speed_gbps" => set(&mut tier.gbps, 1, 10_000)?,
            "radix_up" => set(&mut tier.radix_up, 1, 100_000)?,
            "radix_down" => set(&mut tier.radix_down, 1, 100_000)?,
            "bundle" => set(&mut tier.bundle, 1, 1000)?,
            "oversubscribed" => set(&mut tier.oversubscribed, 1, 1000)?,
            "downlink_latency_ns" => set(&mut tier.link_ns, 1, 1_000_000_000)?,
            "switch_latency_ns" => set(&mut tier.switch_ns, 0, 1_000_000_000)?,
            "queue_up" | "queue_down" => {
                whole(value, 0..=u64::MAX)?;
                notes.push(format!("line {number}, {}: htsim_uec replaces it by one size for all queues.", key.text));
            }
            _ => return Err(unknown(key, "a key of a tier, such as `Radix_Down`")),
        }
    }
    complete(text, head, tiers)
}

/// Checks that nothing is missing.
fn complete(text: &str, head: Head, tiers: Vec<Option<Tier>>) -> Result<(Head, Vec<Tier>), Fault> {
    let end = text.trim_end().len();
    let missing = |name: &str| at(&(end..end), format!("`{name}` is missing"), "the file ends here");
    for (name, value) in [("Nodes", head.nodes), ("Tiers", head.tiers), ("Podsize", head.pod)] {
        if value == 0 {
            return Err(missing(name));
        }
    }
    let mut found = Vec::new();
    for (tier, number) in tiers.into_iter().zip(0..head.tiers) {
        found.push(tier.ok_or_else(|| missing(&format!("Tier {number}")))?);
    }
    Ok((head, found))
}

fn unknown(key: &Word, expected: &str) -> Fault {
    key.fault(format!("unknown name `{}`", key.text), format!("expected {expected}"))
}

impl Tier {
    /// Links of a pair of switches.
    fn parallel(&self) -> u64 {
        self.bundle.max(1)
    }

    fn check(&self, above: Option<&Self>) -> Result<(), Fault> {
        let has_up = above.is_some();
        for (name, value) in [
            ("Downlink_speed_Gbps", self.gbps),
            ("Downlink_Latency_ns", self.link_ns),
            ("Radix_Down", self.radix_down),
            ("Radix_Up", if has_up { self.radix_up } else { 1 }),
        ] {
            if value == 0 {
                return Err(at(&self.span, format!("`{name}` of this tier is missing"), "in this section"));
            }
        }
        let stated = self.oversubscribed.max(1);
        if has_up && self.radix_down / self.radix_up != stated {
            let message = format!(
                "{} ports down and {} up are not oversubscribed {stated} times",
                self.radix_down, self.radix_up
            );
            return Err(at(&self.span, message, "expected `Oversubscribed` = `Radix_Down` / `Radix_Up`"));
        }
        Ok(())
    }
}

/// Whether a number of a file is the one that the others imply.
fn expect(tier: &Tier, name: &str, value: u64, expected: u64, why: &str) -> Result<(), Fault> {
    let message = || format!("`{name}` is {value}, and {why} need {expected}");
    if value == expected { Ok(()) } else { Err(at(&tier.span, message(), "in this section")) }
}

fn leaf_spine(head: &Head, tiers: &[Tier]) -> Result<Shape, Fault> {
    let [leaf, spine] = tiers else { return Err(at(&(0..0), "two tiers".to_owned(), "expected two")) };
    let leaves = head.nodes / leaf.radix_down;
    expect(leaf, "Radix_Down", leaf.radix_down, head.nodes / leaves.max(1), "whole leaves of all nodes")?;
    expect(leaf, "Podsize", head.pod, head.nodes, "two tiers")?;
    expect(leaf, "Bundle", leaf.parallel(), 1, "hosts")?;
    let spines = leaf.radix_up / spine.parallel();
    expect(spine, "Bundle", spine.parallel() * spines, leaf.radix_up, "the ports of a leaf")?;
    expect(spine, "Radix_Down", spine.radix_down, leaves * spine.parallel(), "the leaves")?;
    let [leaves, spines, hosts, parallel] =
        [leaves, spines, leaf.radix_down, spine.parallel()].map(|number| number as u32);
    Ok(Shape::LeafSpine { leaves, spines, hosts, parallel })
}

/// A scenario's fat-tree has k pods of k/2 edge switches with k/2 hosts. Other pods have no counterpart.
fn fat_tree(head: &Head, tiers: &[Tier]) -> Result<Shape, Fault> {
    let [edge, agg, core] = tiers else { return Err(at(&(0..0), "three tiers".to_owned(), "expected three")) };
    let half = edge.radix_down;
    let whole_tree = "`k` pods of k/2 edge switches with k/2 hosts, the fat-trees of a scenario,";
    expect(edge, "Podsize", head.pod, half * half, whole_tree)?;
    expect(edge, "Nodes", head.nodes, 2 * half * half * half, whole_tree)?;
    for tier in tiers {
        expect(tier, "Bundle", tier.parallel(), 1, "the single links of a scenario's fat-tree")?;
    }
    expect(agg, "Radix_Down", agg.radix_down, half, "the edge switches of a pod")?;
    expect(core, "Radix_Down", core.radix_down, 2 * half, "the pods")?;
    for (tier, up) in [(edge, edge.radix_up), (agg, agg.radix_up)] {
        expect(tier, "Radix_Up", half / up * up, half, "k/2 ports")?;
    }
    Ok(Shape::FatTree {
        k: 2 * half as u32,
        edge_oversubscription: (half / edge.radix_up) as u32,
        core_oversubscription: (half / agg.radix_up) as u32,
    })
}
