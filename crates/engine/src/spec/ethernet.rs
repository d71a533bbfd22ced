//! Ethernet switches and adapters.

use forebay_qdisc::Span;
use forebay_switching::congestion::CongestionManagement;
use forebay_switching::{PauseConfig, SharedMemoryConfig};

use crate::spec::ServiceStep;

/// How a buffer stops its feeder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowControl {
    /// Not at all: a frame without room is lost.
    None,
    /// PAUSE (IEEE 802.3x): the whole link stops.
    Pause(PauseConfig),
    /// Priority flow control (IEEE 802.1Qbb): each class has its own watermarks and stops alone.
    Priority(PauseConfig),
}

/// In which order an output sends what its inputs have for it, within a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// In the order of arrival.
    Fifo,
    /// One frame of each input, round-robin.
    RoundRobin,
}

/// A switch whose ports share its memory. The links in both directions between it
/// and a neighbour are a port: its inputs and its outputs have the same order.
pub struct EthernetSwitchSpec {
    /// Its memory.
    pub memory: SharedMemoryConfig,
    /// How it stops its neighbours.
    pub flow_control: FlowControl,
    /// How long after an order to stop a port begins no more frames.
    pub reaction: Span,
    /// The order at an output.
    pub arbiter: Arbiter,
    /// Whether classes are served by strict priority, the highest first; else all are one or, where classes are stopped
    /// singly, take turns.
    pub strict_priority: bool,
    /// From the last bit of a frame to its place in its output's queue.
    pub forwarding_delay: Span,
    /// Congestion management, if any.
    pub congestion: Option<CongestionManagement>,
}

/// The adapter of a host.
pub struct AdapterSpec {
    /// Frames that each virtual output queue holds at most; `None` for no limit.
    pub voq_limit: Option<u32>,
    /// How many flows may have a rate limiter at a time; `None` for no limit.
    pub rate_limiters: Option<u32>,
    /// Memory for what has come and the node has not taken yet, in bytes.
    pub egress_bytes: u64,
    /// How it stops the switch.
    pub flow_control: FlowControl,
    /// How long after an order to stop the adapter begins no more frames.
    pub reaction: Span,
    /// At which rate the node takes frames. None: at the rate of its incoming link.
    pub service: Vec<ServiceStep>,
    /// Congestion management, if any.
    pub congestion: Option<CongestionManagement>,
}
