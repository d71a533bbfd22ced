//! Tasks of hosts that wait for each other: messages that depend on others, and computations.

use forebay_qdisc::{Span, Time};

use crate::packet::FlowId;
use crate::spec::NodeIndex;

/// Tasks and their dependencies. Both tasks of a dependency are at the same host, which sees the others by their
/// messages only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskGraph {
    /// Its name in results.
    pub name: String,
    /// The tasks; dependencies have their places.
    pub tasks: Vec<Task>,
    /// Which task waits for which.
    pub dependencies: Vec<Dependency>,
}

/// A task of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The host.
    pub node: NodeIndex,
    /// The work.
    pub action: Action,
    /// When it starts, if it depends on no other task.
    pub start: Time,
}

/// The work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the message of a flow that begins at the host, and ends when all of it is acknowledged. The flow itself
    /// has no start.
    Send(FlowId),
    /// Receives the message of a flow that ends at the host. It ends when all of the message has arrived, but not
    /// before it starts.
    Receive(FlowId),
    /// Takes some time.
    Compute {
        /// The time.
        time: Span,
        /// A processor of the host, which does one computation at a time; `None`: it waits for no other one.
        processor: Option<u32>,
    },
}

/// A task starts only after this event of another task of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The task that waits.
    pub task: u32,
    /// The task it waits for.
    pub on: u32,
    /// The event.
    pub event: TaskEvent,
}

/// An event of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// It starts.
    Start,
    /// It ends.
    End,
}
