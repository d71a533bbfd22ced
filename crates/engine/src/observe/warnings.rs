//! Warnings: properties of a run that its user may not expect.

use std::collections::BTreeSet;

use forebay_qdisc::{Rate, Time};
use forebay_records::Warning;

use crate::observe::reported::{FlowLabels, PortReport};
use crate::observe::tables::{QueueFlowTable, QueueTable};
use crate::observe::transfers::TransferSummary;

/// Datagrams that a host's device queue dropped.
pub(crate) struct DeviceDrops {
    pub flow: String,
    pub uplink: String,
    /// Rate of the uplink.
    pub rate: Rate,
    pub dropped: u64,
}

/// One warning for all sources that are faster than the uplink of their host.
pub(crate) fn of_device_queues(drops: &[DeviceDrops]) -> Option<Warning> {
    let first = drops.iter().max_by_key(|drop| drop.dropped)?;
    let others = match drops.len() - 1 {
        0 => String::new(),
        1 => " (and one more flow)".into(),
        more => format!(" (and {more} more flows)"),
    };
    Some(Warning {
        text: format!(
            "`{}` sends faster than the uplink of its host: the device queue of `{}` ({}) dropped {} \
             packets{others}",
            first.flow, first.uplink, first.rate, first.dropped
        ),
        remedy: "give the host a faster access link or the source a lower rate; `host_queue` sets the limit".into(),
    })
}

/// A warning if a watchdog of PAUSE acted at any output.
pub(crate) fn of_storms(queues: &QueueTable) -> Option<Warning> {
    let first_of = |port: &PortReport| port.watchdog?.first;
    let mut storms: Vec<_> =
        queues.ports.iter().enumerate().filter_map(|(row, port)| Some((first_of(port)?, row))).collect();
    storms.sort_unstable();
    let ((time, class), row) = *storms.first()?;
    let others = match storms.len() - 1 {
        0 => String::new(),
        1 => " (and at one more output)".into(),
        more => format!(" (and at {more} more outputs)"),
    };
    Some(Warning {
        text: format!(
            "PAUSE stopped `{}` in class {class} without end: its watchdog acted at {} s{others}",
            &queues.name[row],
            time.since(Time::ZERO).seconds(),
        ),
        remedy: "links that stop each other in a ring need other routes; a node that takes no frames needs `service`"
            .into(),
    })
}

/// Transfers that waited because all connections were in use.
pub(crate) fn of_waiting_transfers(transfers: &TransferSummary, labels: &FlowLabels) -> Option<Warning> {
    let (row, waited, arrived) = transfers.most_waited()?;
    let flow = labels.name(row);
    Some(Warning {
        text: format!(
            "{waited} of {arrived} transfers of `{flow}` waited until one of its connections ended; their times \
             include the wait"
        ),
        remedy: "give its application more `connections`, or a longer `gap`".into(),
    })
}

/// Drops from which a queue is judged.
const LEAST_DROPS: u64 = 200;
/// The share of the queue's arrivals from which a flow is judged.
const LEAST_SHARE: f64 = 0.05;
/// The loss ratio from which a flow is judged that sends little, because it is locked out.
const LOCKED_OUT: f64 = 0.5;
/// How much loss ratios must differ.
const RATIO: f64 = 10.0;
/// The probability under independent drops below which they are not independent.
const SIGNIFICANCE: f64 = 1e-6;

/// A flow at a queue.
#[derive(Clone, Copy)]
struct Losses<'a> {
    flow: &'a str,
    group: u32,
    arrived: u64,
    dropped: u64,
}

impl Losses<'_> {
    fn ratio(&self) -> f64 {
        self.dropped as f64 / self.arrived as f64
    }
}

/// A warning for each drop-tail queue whose drops depend on the flow: flows in step meet the full queue with the same
/// packets again and again (Floyd and Jacobson 1992). Flows that `pauses` names send in bursts of their own, so that
/// their losses differ for other reasons.
pub(crate) fn of_lockstep(queues: &QueueTable, flows: &QueueFlowTable, pauses: &BTreeSet<&str>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    // The rows of a queue are one behind the other, in the order of the queues.
    let mut rows = 0..0;
    for (place, name) in queues.name.iter().enumerate() {
        let of_queue = (rows.end..flows.arrived.len()).take_while(|&row| &flows.queue[row] == name).count();
        rows = rows.end..rows.end + of_queue;
        if &queues.discipline[place] != "drop_tail" {
            continue;
        }
        let least = LEAST_SHARE * queues.arrived[place] as f64;
        let losses: Vec<Losses<'_>> = rows
            .clone()
            .filter(|&row| &flows.direction[row] == "data" && flows.arrived[row] > 0)
            .filter(|&row| !pauses.contains(&flows.flow[row]))
            .map(|row| Losses {
                flow: &flows.flow[row],
                group: flows.group[row],
                arrived: flows.arrived[row],
                dropped: flows.dropped[row],
            })
            .collect();
        let (large, small): (Vec<_>, Vec<_>) = losses.into_iter().partition(|losses| losses.arrived as f64 >= least);
        let in_step = if queues.dropped[place] < LEAST_DROPS { None } else { lockstep(name, &large, &large) };
        warnings.extend(in_step.or_else(|| {
            // Other groups may lose more for good reasons: a flood leaves little room for TCP.
            let is_locked_out =
                |loser: &Losses<'_>, winner: &Losses<'_>| loser.group == winner.group && loser.ratio() >= LOCKED_OUT;
            large.iter().find_map(|winner| {
                let losers: Vec<_> = small.iter().filter(|loser| is_locked_out(loser, winner)).copied().collect();
                lockstep(name, &[*winner], &losers)
            })
        }));
    }
    warnings
}

/// A warning if one of `losers` loses far more of its packets than one of `winners`.
fn lockstep(queue: &str, winners: &[Losses<'_>], losers: &[Losses<'_>]) -> Option<Warning> {
    let least = *winners.iter().min_by(|one, other| one.ratio().total_cmp(&other.ratio()))?;
    let by_loss = |one: &&Losses<'_>, other: &&Losses<'_>| {
        one.ratio().total_cmp(&other.ratio()).then(one.dropped.cmp(&other.dropped))
    };
    let most = *losers.iter().max_by(by_loss)?;
    let pairs = (winners.len() * losers.len()) as f64;
    if most.ratio() < RATIO * least.ratio() || pairs * probability_of_fewer(least, most) >= SIGNIFICANCE {
        return None;
    }
    Some(Warning {
        text: format!(
            "flows at `{queue}` are in lockstep: `{}` loses {:.3} % of its packets, `{}` {:.3} %, which chance does \
             not explain",
            least.flow,
            100.0 * least.ratio(),
            most.flow,
            100.0 * most.ratio()
        ),
        remedy: "let packets of the hosts vary in time, as on real machines: \
                 host_jitter = { uniform = [\"0 us\", \"10 us\"] }"
            .into(),
    })
}

/// The probability that `one` loses as few packets as it did or fewer, if all packets of both flows are equally likely
/// to be dropped: the lower tail of the hypergeometric distribution (Fisher's exact test).
fn probability_of_fewer(one: Losses<'_>, other: Losses<'_>) -> f64 {
    let choose = |n: u64, k: u64| {
        let of = |value: u64| libm::lgamma(value as f64 + 1.0);
        of(n) - of(k) - of(n - k)
    };
    let (all, dropped) = (one.arrived + other.arrived, one.dropped + other.dropped);
    let least = dropped.saturating_sub(other.arrived);
    let term =
        |own: u64| libm::exp(choose(one.arrived, own) + choose(other.arrived, dropped - own) - choose(all, dropped));
    (least..=one.dropped).map(term).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(flow: &str, dropped: u64, arrived: u64) -> Losses<'_> {
        Losses { flow, group: 0, arrived, dropped }
    }

    #[test]
    fn the_tail_is_that_of_fishers_exact_test() {
        // One-sided: scipy.stats.fisher_exact([[1, 9], [11, 3]], "less"), the example of its documentation transposed.
        let p = probability_of_fewer(losses("a", 1, 10), losses("b", 11, 14));
        assert!((p - 0.001_379_728).abs() < 1e-8, "{p}");
        assert!((probability_of_fewer(losses("a", 5, 5), losses("b", 5, 5)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn only_a_difference_that_chance_does_not_explain_is_lockstep() {
        let warns = |all: &[Losses<'_>]| lockstep("q", all, all).is_some();
        assert!(warns(&[losses("a", 3, 10_000), losses("b", 300, 1000)]));
        assert!(!warns(&[losses("a", 100, 10_000), losses("b", 15, 1000)]), "less than tenfold");
        assert!(!warns(&[losses("a", 0, 100), losses("b", 4, 100)]), "chance");
        assert!(!warns(&[losses("a", 300, 1000)]), "one flow");
        let locked_out =
            |dropped, arrived| lockstep("q", &[losses("a", 12, 400_000)], &[losses("b", dropped, arrived)]);
        assert!(locked_out(13, 21).is_some(), "it sends little, because it loses most of it");
        assert!(locked_out(1, 2).is_none(), "chance");
        let (winner, loser) = (losses("a", 3, 10_000), losses("b", 300, 1000));
        let text = lockstep("q", &[winner], &[loser]).map(|warning| warning.text);
        assert!(text.is_some_and(|text| text.contains("`a` loses 0.030 %") && text.contains("`b` 30.000 %")));
    }
}
