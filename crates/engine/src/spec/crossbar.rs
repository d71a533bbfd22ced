//! A crossbar.

use forebay_qdisc::Span;
use forebay_switching::{InputFifos, Scheduler, Speedup, VirtualOutputQueues};

use crate::packet::Packet;

/// Where packets wait for the fabric.
pub enum Inputs {
    /// A queue for each output at each input, and who chooses among them.
    VirtualOutputQueues(VirtualOutputQueues<Packet>, Box<dyn Scheduler>),
    /// One queue at each input, whose first packet blocks those behind it.
    Fifos(InputFifos<Packet>),
}

impl Inputs {
    /// The name of the inputs' discipline in results.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::VirtualOutputQueues(..) => "voq",
            Self::Fifos(_) => "input_fifo",
        }
    }
}

/// A router whose packets cross a fabric, from the inputs by which they come to the outputs on which they leave.
pub struct CrossbarSpec {
    /// How many inputs, and how many outputs.
    pub ports: usize,
    /// Where packets wait.
    pub inputs: Inputs,
    /// Time of a packet on the line.
    pub slot: Span,
    /// Phases in a slot.
    pub speedup: Speedup,
}
