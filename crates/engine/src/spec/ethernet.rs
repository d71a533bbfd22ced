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
    /// One of the two, as the buffer policy of a switch decides.
    OfBuffer {
        /// Whether each class stops alone.
        by_class: bool,
    },
}

impl FlowControl {
    /// Whether single classes are stopped.
    #[must_use]
    pub fn is_by_class(self) -> bool {
        matches!(self, Self::Priority(_) | Self::OfBuffer { by_class: true })
    }
}

/// When a stopped output is in a storm of PAUSE, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogSpec {
    /// Time between two looks at the outputs.
    pub poll: Span,
    /// Time without a frame from which on a stopped class with frames is in a storm.
    pub detection: Span,
    /// Time without PAUSE after which a storm is over.
    pub restoration: Span,
    /// Whether frames of the class are dropped in a storm; else the output ignores PAUSE.
    pub drops: bool,
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
    /// Frees outputs that its neighbours stop without end.
    pub watchdog: Option<WatchdogSpec>,
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
