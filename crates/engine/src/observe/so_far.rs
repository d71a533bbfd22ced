//! How components show their time series, by reference: during a run the values so far, at its end all of them.
//!
//! A component takes its samples when it next has something to do, so that series may have different lengths during a
//! run. Series that are sums of several parts, such as the connections of a browser, are made at the end.

use crate::packet::FlowId;
use crate::spec::LinkId;

/// The component that a series is of.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    Flow(FlowId),
    Sender(FlowId),
    Queue(QueueName<'a>),
    QueueFlow(QueueName<'a>, FlowId),
    Link(LinkId),
}

/// The name of a queue: mostly that of the link that it feeds.
#[derive(Clone, Copy)]
pub(crate) enum QueueName<'a> {
    OfLink(LinkId),
    Text(&'a str),
}

/// Takes a quantity of a component: its name, its values, and the names of these if they are states.
pub(crate) type Show<'a> = dyn FnMut(Of<'_>, &str, &[f64], &[&'static str]) + 'a;
