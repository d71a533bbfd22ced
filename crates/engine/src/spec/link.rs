//! A link and the queue at its sending end.

use forebay_qdisc::{Queue, Rate, Span};

use crate::observe::trace::TraceSpec;
use crate::packet::{FlowId, Packet};
use crate::spec::{NodeIndex, ServiceStep};

/// Index of a link, in the order of [`NetworkBuilder::add_link`].
pub type LinkId = u32;

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
    /// The queue, with the discipline's name for the results. `None` is an unlimited FIFO without books.
    pub queue: Option<(String, Queue<Packet>)>,
    /// The queues of the classes from 1 on, at a port of an Ethernet switch that keeps classes apart: seven, if it has
    /// a `queue`, which is that of class 0 then.
    pub class_queues: Vec<Queue<Packet>>,
    /// Whether the queue shares state with others: then it must not run ahead of them, and holds its packets.
    pub shares_state: bool,
    /// Probability with which a data packet is lost on entering the link.
    pub loss: f64,
    /// Changes of the rate at which an Ethernet switch sends on it, in the order of time. None: its own rate
    /// throughout.
    pub service: Vec<ServiceStep>,
    /// Where its packets are recorded.
    pub trace: Option<TraceSpec>,
    /// Flows whose gauges at this queue become time series.
    pub watched_flows: Vec<FlowId>,
}
