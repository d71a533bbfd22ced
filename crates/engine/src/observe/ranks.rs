//! The hosts of task graphs: when each had done its tasks, and the messages that never began.

use std::sync::Arc;

use forebay_qdisc::Time;
use forebay_records::{Column, StringColumn, Table, Warning};

use crate::observe::reported::FlowLabels;
use crate::packet::FlowId;
use crate::spec::NodeIndex;

/// The tasks of a graph at a host, at the end of a run.
pub(crate) struct RankReport {
    pub graph: Arc<str>,
    /// The place of the graph among all.
    pub number: u32,
    pub node: NodeIndex,
    pub tasks: u64,
    pub unfinished: u64,
    /// When the last task ended that did.
    pub end: Option<Time>,
    /// Messages that have not begun.
    pub waiting: u64,
    /// Why the first of them has not.
    pub blocked: Option<Blocked>,
}

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub message: FlowId,
    /// The message that it waits for; `None`: a computation.
    pub by: Option<FlowId>,
    /// Whether that one comes to the host.
    pub is_receive: bool,
}

/// Sorts the hosts by graph and number.
pub(crate) fn sort(ranks: &mut [RankReport]) {
    ranks.sort_by_key(|rank| (rank.number, rank.node));
}

/// A row for each host of a graph; no columns without any.
pub(crate) fn table(ranks: &[RankReport], nodes: &StringColumn) -> Table {
    let mut table = Table::default();
    if ranks.is_empty() {
        return table;
    }
    let host = |rank: &RankReport| nodes[rank.node as usize].to_owned();
    table.push("name", Column::Text(ranks.iter().map(|rank| format!("{} {}", rank.graph, host(rank))).collect()));
    table.push("group", Column::Text(ranks.iter().map(|rank| &*rank.graph).collect()));
    table.push("host", Column::Text(ranks.iter().map(host).collect()));
    table.push("tasks", Column::Count(ranks.iter().map(|rank| rank.tasks).collect()));
    table.push("unfinished", Column::Count(ranks.iter().map(|rank| rank.unfinished).collect()));
    let end = |rank: &RankReport| rank.end.filter(|_| rank.unfinished == 0).map_or(f64::NAN, Time::seconds);
    table.push("end_s", Column::Float(ranks.iter().map(end).collect()));
    table
}

/// A warning for each graph with messages that never began. `has_started` is that of flows.
pub(crate) fn waiting(ranks: &[RankReport], labels: &FlowLabels, has_started: impl Fn(FlowId) -> bool) -> Vec<Warning> {
    let of_graph = |ranks: &[RankReport]| {
        let waiting: u64 = ranks.iter().map(|rank| rank.waiting).sum();
        // Most hosts wait for messages that wait themselves: name one that has begun.
        let blocked = || ranks.iter().filter_map(|rank| rank.blocked);
        let Blocked { message, by, is_receive } =
            blocked().find(|it| it.by.is_none_or(&has_started)).or_else(|| blocked().next())?;
        let name = |flow| labels.name_of_flow(flow);
        let reason = match by {
            Some(flow) if is_receive => format!("all of `{}` has arrived", name(flow)),
            Some(flow) => format!("all of `{}` is acknowledged", name(flow)),
            None => "a computation has ended".to_owned(),
        };
        let count = match waiting {
            1 => format!("a message of `{}`", ranks[0].graph),
            more => format!("{more} messages of `{}`", ranks[0].graph),
        };
        Some(Warning {
            text: format!("{count} did not begin within the run: `{}` waits until {reason}", name(message)),
            remedy: "set a longer `duration`; if a flow stands still, look at its drops and timeouts".into(),
        })
    };
    ranks.chunk_by(|one, other| one.number == other.number).filter_map(of_graph).collect()
}
