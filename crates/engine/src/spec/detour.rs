//! Routes that change during a run.

use std::collections::BTreeSet;

use forebay_qdisc::Time;

use crate::spec::LinkId;

/// From a time on, the links that no route takes while another one leads to a destination. It holds until the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChange {
    /// Packets that come to a node from here on take the new routes.
    pub from: Time,
    /// The links to avoid; none for the usual routes.
    pub avoided: BTreeSet<LinkId>,
}
