//! Time series while a run goes on: the values so far, by reference.
//!
//! A component takes its samples when it next has something to do, so that series may have different lengths.
//! Components whose series are sums of several parts, such as the connections of a browser, show them at the end only;
//! so do the inputs of a crossbar.

use crate::packet::FlowId;
use crate::spec::LinkId;

/// The component that a series is of.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    Flow(FlowId),
    Sender(FlowId),
    Queue(LinkId),
    QueueFlow(LinkId, FlowId),
    Link(LinkId),
}

/// Takes a quantity of a component: its name, its values, and the names of these if they are states.
pub(crate) type Show<'a> = dyn FnMut(Of, &str, &[f64], &[&'static str]) + 'a;
