//! A link and the queue at its sending end.

use forebay_qdisc::{Queue, Rate, Span, Time};

use crate::observe::trace::TraceSpec;
use crate::packet::{FlowId, Packet};
use crate::spec::{Distribution, NodeIndex};

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

/// Loss, duplication and jitter of packets after their transmission, in the order of the fields. PAUSE frames are
/// spared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Probability that a packet comes twice.
    pub duplication: f64,
    /// Probability that a packet is lost, drawn for each copy.
    pub loss: f64,
    /// Additional delay in picoseconds, drawn for each copy.
    pub jitter: Option<Distribution>,
    /// Whether a packet with a short delay may overtake others. Otherwise it comes no earlier than those before it.
    pub reorders: bool,
}

impl Impairments {
    /// Whether there are any.
    #[must_use]
    pub fn are_some(&self) -> bool {
        self.duplication > 0.0 || self.loss > 0.0 || self.jitter.is_some()
    }
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
    /// Loss, duplication and jitter on the way.
    pub impairments: Impairments,
    /// Where its packets are recorded.
    pub trace: Option<TraceSpec>,
    /// Flows whose gauges at this queue become time series.
    pub watched_flows: Vec<FlowId>,
}
