//! A link and the queue at its sending end.

use std::sync::Arc;

use forebay_qdisc::framing::Framing;
use forebay_qdisc::{Queue, Rate, Span, Time};

use crate::observe::trace::TraceSpec;
use crate::packet::{FlowId, Packet};
use crate::spec::{Impairments, NodeIndex};

/// Index of a link, in the order of [`NetworkBuilder::add_link`](crate::NetworkBuilder::add_link).
pub type LinkId = u32;

/// From when on a link, or a node behind an adapter, has which rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceStep {
    /// From when on.
    pub from: Time,
    /// The rate; at an Ethernet no more than the link's. `None` for zero.
    pub rate: Option<Rate>,
}

/// When a link may send, as mahimahi's traces have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    /// The times of opportunities in milliseconds, not decreasing, the last one above 0. They repeat with this period.
    pub times_ms: Arc<[u32]>,
    /// Bytes that each carries.
    pub bytes: u32,
}

/// One direction of a link, with the queue at its sending end.
pub struct LinkSpec {
    /// Its name in results; also that of its random stream.
    pub name: String,
    /// The node that sends on it.
    pub from: NodeIndex,
    /// The node that receives from it. A node numbers its inputs, and its outputs, in the order of the links.
    pub to: NodeIndex,
    /// Its cost to forwarding.
    pub metric: u32,
    /// The rate.
    pub rate: Rate,
    /// Propagation delay.
    pub propagation: Span,
    /// The queue, with the discipline's name for the results. `None` is an unlimited FIFO without counters.
    pub queue: Option<(String, Queue<Packet>)>,
    /// The queues of the classes from 1 on, at a port of an Ethernet switch that keeps classes apart: seven, if it has
    /// a `queue`, which is that of class 0 then.
    pub class_queues: Vec<Queue<Packet>>,
    /// Whether the queue shares state with others: then it must not run ahead of them, and holds its packets.
    pub shares_state: bool,
    /// Changes of the rate, in the order of time. None: the same rate throughout. An Ethernet switch sends frames at
    /// the link's own rate, and paces them. An adapter has none.
    pub service: Vec<ServiceStep>,
    /// When it may send, in place of a rate. Not at an Ethernet.
    pub opportunities: Option<Opportunities>,
    /// The bytes that a packet takes on the link: at least its own. `None` for its own. Not at an Ethernet.
    pub framing: Option<Framing>,
    /// Loss, duplication and jitter on the way.
    pub impairments: Impairments,
    /// Where its packets are recorded.
    pub trace: Option<TraceSpec>,
    /// Flows whose gauges at this queue become time series.
    pub watched_flows: Vec<FlowId>,
}
