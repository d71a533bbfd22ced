//! Events that a run records one by one, for a part of its time.

use forebay_qdisc::Time;

use crate::spec::LinkId;

/// Whose packets a run records, and when. The matchings of crossbars and the states of links that PAUSE stops are
/// recorded in any case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The links whose queues are recorded. A link of a router or a host has a queue if its
    /// [`LinkSpec`](crate::LinkSpec) has one; at an Ethernet switch, each has.
    pub links: Vec<LinkId>,
    /// The begin.
    pub from: Time,
    /// The end, which is part of it.
    pub to: Time,
    /// The largest number of events of each log. A phase of a crossbar counts as one event for each input.
    pub most: usize,
}
