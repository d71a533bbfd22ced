//! How evenly equal paths are used.
//!
//! A set is the next hops of a node on paths of the same least metric. The counters of its links give their shares.
//! Under ECMP flows fall on the n links of a set as a multinomial distribution. If flows are many, the fullest link has
//! F/n + m sqrt(F/n) of F equal ones on average, where m is the mean of the largest of n normal variables; it is below
//! sqrt(2 ln n). Flows that differ count as (sum of sizes)² / (sum of squares) equal ones.

use std::collections::{BTreeMap, BTreeSet};

use forebay_engine::RunResult;
use forebay_records::{Column, StringColumn, Table};
use forebay_switching::PathPolicyConfig;

use crate::plan::found_paths::{FoundPaths, Paths};

/// The columns of the table.
#[derive(Default)]
struct EqualPaths {
    name: StringColumn,
    node: StringColumn,
    set: StringColumn,
    link: StringColumn,
    packets: Vec<u64>,
    bytes: Vec<u64>,
    over_mean: Vec<f64>,
    largest: Vec<f64>,
    expected: Vec<f64>,
}

/// Adds the table of equal paths, if packets choose among any.
pub(crate) fn add(found: &FoundPaths<'_>, result: &mut RunResult) {
    let Some(paths) = found.outline.paths.filter(|paths| **paths != PathPolicyConfig::default()) else { return };
    let Paths { plan, forwarding, edges } = found.get();
    let sets = forwarding.equal_hops();
    let (packets, bytes) = (result.links.counts("packets"), result.links.counts("bytes"));
    let taken = |links: &[u32]| links.iter().map(|&link| bytes[link as usize]).sum::<u64>();
    let used: Vec<&[u32]> = sets.iter().map(Vec::as_slice).filter(|links| taken(links) > 0).collect();
    let effective = match paths {
        PathPolicyConfig::Ecmp(_) => equal_flows(result, &used),
        _ => Vec::new(),
    };
    let mut table = EqualPaths::default();
    let mut of_node: BTreeMap<u32, u32> = BTreeMap::new();
    for (place, links) in used.iter().enumerate() {
        let node = edges[links[0] as usize].from;
        let number = of_node.entry(node).or_default();
        *number += 1;
        // A link may be in several sets.
        let suffix = if *number > 1 { format!(" ({number})") } else { String::new() };
        let name = &plan.nodes[node as usize].name;
        let (paths, mean) = (links.len() as f64, taken(links) as f64 / links.len() as f64);
        let over_mean = |&link: &u32| bytes[link as usize] as f64 / mean;
        let largest = links.iter().map(over_mean).fold(0.0, f64::max);
        let expected = effective.get(place).map_or(f64::NAN, |&flows| expected_over_mean(flows, paths));
        for link in *links {
            let name_of_link = &plan.links[*link as usize].name;
            table.name.push(&format!("{name_of_link}{suffix}"));
            table.node.push(name);
            table.set.push(&format!("{name}{suffix}"));
            table.link.push(name_of_link);
            table.packets.push(packets[*link as usize]);
            table.bytes.push(bytes[*link as usize]);
            table.over_mean.push(over_mean(link));
            table.largest.push(largest);
            table.expected.push(expected);
        }
    }
    if !table.bytes.is_empty() {
        result.equal_paths = table.finish();
    }
}

/// The expected share of the fullest of this many links, over the mean; NaN without flows.
fn expected_over_mean(flows: f64, paths: f64) -> f64 {
    if flows.is_nan() {
        return f64::NAN;
    }
    // A link cannot have more than everything.
    (1.0 + largest_normal(paths) * (paths / flows).sqrt()).min(paths)
}

/// The mean of the largest of this many standard normal variables: the integral of the probability that it exceeds x,
/// less that of the probability that it is below -x.
fn largest_normal(count: f64) -> f64 {
    const STEP: f64 = 1.0 / 64.0;
    let below = |x: f64| 0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2);
    let density = |x: f64| 1.0 - libm::pow(below(x), count) - libm::pow(below(-x), count);
    // Beyond, no count of ports makes a difference.
    (0..8 * 64).map(|step| density((f64::from(step) + 0.5) * STEP) * STEP).sum()
}

/// The number of equal flows that would spread over the links of each set as unevenly as those of the result. NaN where
/// ports have no queues, by which flows are counted, or where rows sum up several flows.
fn equal_flows(result: &RunResult, sets: &[&[u32]]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); sets.len()];
    let mut sets_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (links, set) in sets.iter().zip(0..) {
        for &link in *links {
            sets_of.entry(&result.links.texts("name")[link as usize]).or_default().push(set);
        }
    }
    let rows = &result.queue_flows;
    let ways = rows.texts("queue").iter().zip(rows.texts("flow").iter()).zip(rows.texts("direction").iter());
    let mut seen: BTreeSet<(usize, &str)> = BTreeSet::new();
    for (((queue, flow), direction), &packets) in ways.zip(rows.counts("packets_arrived")) {
        // ACKs are small.
        for &set in sets_of.get(queue).into_iter().flatten().filter(|_| direction == "data" && packets > 0) {
            let packets = if seen.insert((set, flow)) { packets as f64 } else { f64::NAN };
            sums[set].0 += packets;
            sums[set].1 += packets * packets;
        }
    }
    sums.into_iter().map(|(sum, squares)| sum * sum / squares).collect()
}

impl EqualPaths {
    fn finish(self) -> Table {
        let mut table = Table::default();
        table.push("name", Column::Text(self.name));
        table.push("node", Column::Text(self.node));
        table.push("set", Column::Text(self.set));
        table.push("link", Column::Text(self.link));
        table.push("packets", Column::Count(self.packets));
        table.push("bytes", Column::Count(self.bytes));
        table.push("over_mean", Column::Float(self.over_mean));
        table.push("largest_over_mean", Column::Float(self.largest));
        table.push("expected_over_mean", Column::Float(self.expected));
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_the_largest_normal_variable_is_that_of_tables() {
        // Harter, "Expected values of normal order statistics", Biometrika 48, 1961.
        for (count, expected) in [(2.0, 0.564_19), (4.0, 1.029_38), (8.0, 1.423_60), (16.0, 1.765_99), (64.0, 2.343_73)]
        {
            let mean = largest_normal(count);
            assert!((mean - expected).abs() < 2e-5, "{count}: {mean}");
            assert!(mean < (2.0 * libm::log(count)).sqrt());
        }
    }

    #[test]
    fn a_few_flows_load_no_link_with_more_than_everything() {
        assert_eq!(expected_over_mean(0.1, 2.0), 2.0);
        assert!((expected_over_mean(800.0, 8.0) - 1.142_36).abs() < 1e-5);
        assert!(expected_over_mean(f64::NAN, 4.0).is_nan());
    }
}
